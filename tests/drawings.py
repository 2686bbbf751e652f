"""Comparing drawings made on two machines: numbers to the rounding of floating point, all else exactly.

Another instruction set rounds a logarithm or a sum differently in the last bits; it changes no word, no count, no kind
of trace. The tolerance is a millionth of what a screen shows, and millions of times the rounding of one operation.
"""

import base64

import numpy as np

TOLERANCE = {"f4": 1e-5, "f8": 1e-9}  # relative to the largest number of an array: differences may cancel to nothing
NOTHING = 1e-12  # of a number that stands alone, and has no larger one beside it


def differences(made, wanted, path: str = "") -> list[str]:
    """Where two documents of Plotly (parsed from JSON) differ: places, with both values. Empty where they are the same.

    Arrays may be packed, as Plotly does with NumPy's. Not-a-number equals itself.
    """
    if type(made) is not type(wanted):
        return [f"{path}: {made!r:.80}, not {wanted!r:.80}"]
    if isinstance(made, float):
        close = np.isclose(made, wanted, rtol=TOLERANCE["f8"], atol=NOTHING, equal_nan=True)
        return [] if close else [f"{path}: {made!r}, not {wanted!r}"]
    if isinstance(made, list):
        if len(made) != len(wanted):
            return [f"{path}: {len(made)} values, not {len(wanted)}"]
        pairs = zip(range(len(made)), made, wanted, strict=True)
        return [found for place, *both in pairs for found in differences(*both, f"{path}[{place}]")]
    if not isinstance(made, dict):
        return [] if made == wanted else [f"{path}: {made!r:.80}, not {wanted!r:.80}"]
    if made.keys() != wanted.keys():
        return [f"{path}: {sorted(made)}, not {sorted(wanted)}"]
    if "bdata" in made:
        return _of_arrays(made, wanted, path)
    return [found for name in made for found in differences(made[name], wanted[name], f"{path}.{name}")]


def _of_arrays(made: dict, wanted: dict, path: str) -> list[str]:
    kinds = [{name: value for name, value in packed.items() if name != "bdata"} for packed in (made, wanted)]
    if kinds[0] != kinds[1]:
        return [f"{path}: {kinds[0]}, not {kinds[1]}"]
    one, other = (np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"]) for packed in (made, wanted))
    if one.shape != other.shape:
        return [f"{path}: {one.size} values, not {other.size}"]
    tolerance = TOLERANCE.get(made["dtype"], 0)
    if tolerance == 0:
        apart = one != other
    else:
        largest = np.abs(other[np.isfinite(other)]).max(initial=0)
        apart = ~np.isclose(one, other, rtol=0, atol=tolerance * largest, equal_nan=True)
    if not apart.any():
        return []
    first = int(apart.argmax())
    return [f"{path}[{first}]: {one[first]!r}, not {other[first]!r}; {apart.sum()} of {apart.size} differ"]
