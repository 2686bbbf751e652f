"""What non-linearities of runs that train side by side have in common."""

from __future__ import annotations

from lab.spec.canonical import to_json
from lab.spec.parts import Coefficients, KnotTable, Learned, ModuleFunction, Part, Shaped


def form(part: Part) -> str:
    """A text that is equal for two parts whose values can stand side by side along the run axis.

    >>> from lab.spec import Knots
    >>> form("gelu"), form(Knots(-1.0, 1.0, (0.0, 1.0, 0.0))) == form(Knots(-1.0, 1.0, (0.0, 0.0, 2.0)))
    ('gelu', True)
    """
    if isinstance(part, Shaped) and part.shape == "symmetrized":
        part = part.of  # on the same knots
    if isinstance(part, str):
        return part
    if isinstance(part, (Coefficients, Shaped, ModuleFunction)):
        return to_json(part)  # a polynomial has no run axis: one fleet, one function
    if isinstance(part, KnotTable):
        return f"table {part.low} {part.high} {len(part.values)} {len(part.values[0])}"
    if not isinstance(part, Learned):
        return f"spline {part.low} {part.high} {len(part.values)}"
    count = getattr(part.search, "knots", None)
    if count is None:
        return to_json(part)  # how many knots the best restart of a search by episodes has is not known before
    return f"spline {part.search.low} {part.search.high} {count}"
