"""What the lab gives without training, as short digests: a change that must not change results is held to them.

    python tests/oracle.py            which names differ from tests/oracle.json: added, gone or changed
    python tests/oracle.py --write    write that file anew, after a change that is meant; with a paper, its part
    python tests/oracle.py --show "transformers/fig5 laptop figure"     the text behind one digest, to compare checkouts

Names, of each entry of the catalogue: "NAME entry" (title, tasks, scales, seeds) and "NAME claim CLAIM" (the
verdict of `lab.scorecard()`). At each scale: "plan" (labels, key and JSON of each run in order, keys of the searches
that they need) and "settings" (numbers and where each is from, departures, guesses, data). At each scale with shipped
results: "figure" (Plotly's JSON with the caption), "words" (captions, summary, further numbers), "provenance",
"printed" (the paper's numbers beside ours), "agreement" and a "claim CLAIM" for each claim. "scorecard" has no entry:
the text of `lab scorecard`.

Floats have six digits, so that another processor's rounding is no change; arrays and lists of equal numbers are equal.
Nothing here depends on the machine, the time, or what the user's own folders have.
"""

import argparse
import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout's lab, not one that is installed

import numpy as np

import lab
from lab.catalogue.registry import PAPERS, entries
from lab.catalogue.results import Results
from lab.catalogue.scorecard import as_text, score
from lab.scale import SCALES
from lab.spec import key, needs, to_json

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "oracle.json"
RESULTS = ROOT / "data" / "results"
DRAWN = ("figure", "words", "provenance", "printed")  # what takes the figure: nine tenths of the time
# In the provenance of shipped results: of the machine, the versions and the time, and not of the figure.
OF_MACHINE = {
    "arithmetic",
    "commits",
    "device",
    "device_name",
    "instructions",
    "kernels",
    "made",
    "numerics",
    "seconds",
    "training_seconds",
    "versions",
}


def digests(paper: str | None = None, draws: bool = True) -> dict[str, str]:
    """Digests by name; of one paper, if it is given. draws: with those of figures that are shipped."""
    names = [name for name in entries() if paper in (None, name.partition("/")[0])]
    parts = {name: digest(value) for one in names for name, value in values(one, draws)}
    return parts if paper else parts | {"scorecard": digest(scorecard())}


def digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


def differences(expected: dict[str, str], actual: dict[str, str]) -> list[str]:
    """A line for each name that only one has, or whose digests differ."""
    return [
        f"{'added' if name not in expected else 'gone' if name not in actual else 'changed'}: {name}"
        for name in sorted(expected.keys() | actual.keys())
        if expected.get(name) != actual.get(name)
    ]


def written() -> dict[str, str]:
    """The digests in the file."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def is_drawn(name: str) -> bool:
    """Whether it is a part of a figure that is shipped."""
    _, *rest = name.split()
    return len(rest) == 2 and rest[0] in SCALES and rest[1] in DRAWN


def shipped(name: str) -> list[str]:
    """The scales at which results of an entry are shipped, the smallest first."""
    return [scale for scale in entries()[name].scales if Results(RESULTS / name / scale).files]


def values(name: str, draws: bool = True) -> Iterator[tuple[str, object]]:
    """Everything of one entry that has a digest, by name, as JSON has it."""
    entry = entries()[name]
    yield f"{name} entry", plain(_described(entry))
    yield from ((f"{name} claim {claim}", row) for claim, row in verdicts(name, None))
    for scale in entry.scales:
        yield f"{name} {scale} plan", _plan(entry, scale)
        yield f"{name} {scale} settings", plain(_settings(entry, scale))
    for scale in shipped(name):
        yield from ((f"{name} {scale} claim {claim}", row) for claim, row in verdicts(name, scale))
        if entry.printed:
            yield f"{name} {scale} agreement", [plain(row) for row in scores(scale)["numbers"] if row["entry"] == name]
        if draws:
            figure = lab.figure(name, scale, progress=False)
            yield from ((f"{name} {scale} {part}", value) for part, value in drawn(entry, figure))


def _described(entry) -> dict:
    attributes = ("section", "title", "shows", "paper_says", "minutes", "tasks", "seeds", "examples", "order")
    attributes += ("curves", "histories", "scales", "durations")
    return {name: getattr(entry, name) for name in attributes}


def _plan(entry, scale: str) -> dict:
    planned = entry.plan(scale, entry.seeds[scale])
    return {
        "runs": [f"{key(spec)} {json.dumps(labels, ensure_ascii=False)} {to_json(spec)}" for labels, spec in planned],
        "searches": [key(one) for one in dict.fromkeys(one for _, spec in planned for one in needs(spec))],
    }


def _settings(entry, scale: str) -> dict:
    sources = [dict(source) for source in entry.origin.data(scale)]
    for source in sources:
        if " of Python " in source["from"]:  # whichever runs this
            source["from"] = re.sub(r" of Python [\d.]+", " of Python", source["from"])
            source.pop("sha256", None)
    return {
        "hyperparameters": entry.origin.hyperparameters(scale),
        "notes": entry.notes(scale),
        "departures": entry.origin.departures(scale),
        "guesses": entry.origin.guesses,
        "data": sources,
    }


def drawn(entry, figure) -> Iterator[tuple[str, object]]:
    """What a figure that is drawn from shipped tables consists of."""
    yield "figure", plain(json.loads(figure.to_json(), object_hook=unpacked))
    words = {name: getattr(figure, name) for name in ("full_caption", "short_caption", "details", "summary")}
    yield "words", words | {"numbers": entry.numbers(figure.table)}
    yield "provenance", plain({name: fact for name, fact in figure.provenance.items() if name not in OF_MACHINE})
    if entry.printed:
        cells = entry.printed(figure.table)
        yield "printed", None if cells is None else plain(cells.to_dict("split", index=False))


def verdicts(name: str, scale: str | None) -> list[tuple[str, dict]]:
    """The scorecard's rows of an entry, by the claim's name."""
    rows = [row for row in scores(scale)["claims"] if row["entry"] == name]
    return [(row["id"].removeprefix(f"{name}/"), plain(row)) for row in rows]


@cache
def scores(scale: str | None) -> dict[str, list[dict]]:
    return score(scale)


def scorecard() -> list[str]:
    """The lines of `lab scorecard`."""
    return as_text(scores(None)).splitlines()


def plain(value):
    """As JSON: tuples are lists; floats have six digits, none is -0, whole ones are integers, NaN and infinity
    are words."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        short = float(f"{value:.6g}")
        return str(value) if not isfinite(value) else int(short) if short.is_integer() else short
    return value


def unpacked(value: dict) -> object:
    """Numbers of what Plotly writes as base64; any other value as it is."""
    if "bdata" not in value:
        return value
    numbers = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
    shape = [int(size) for size in str(value.get("shape", numbers.size)).split(",")]
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else False
    return np.where(missing, None, numbers.astype(object)).reshape(shape).tolist()  # as JSON has them in a list


def main() -> int:
    parser = argparse.ArgumentParser(description="Digests of what the lab gives without training.")
    parser.add_argument("paper", nargs="?", choices=PAPERS, help="one paper alone, in a fifth of the time")
    parser.add_argument("--write", action="store_true", help=f"write tests/{FILE.name} anew")
    parser.add_argument("--show", metavar="NAME", help="the text behind a digest")
    chosen = parser.parse_args()
    with TemporaryDirectory() as empty:
        os.environ |= {"LAB_STORE": f"{empty}/store", "LAB_CACHE": f"{empty}/cache"}
        for variable in ("LAB_DATA", "LAB_ZOO"):
            os.environ.pop(variable, None)
        return answer(chosen)


def answer(chosen: argparse.Namespace) -> int:
    """What the script prints; 1 where something differs."""
    if chosen.show:
        return show(chosen.show)
    actual = digests(chosen.paper)
    if chosen.write:
        others = written() if chosen.paper else {}
        actual |= {name: one for name, one in others.items() if name.partition("/")[0] != chosen.paper}
        lines = json.dumps(actual, indent=0, sort_keys=True, ensure_ascii=False)
        FILE.write_text(f"{lines}\n", encoding="utf-8")
        print(f"{len(actual)} digests")
        return 0
    before = {name: one for name, one in written().items() if chosen.paper in (None, name.partition("/")[0])}
    different = differences(before, actual)
    print("\n".join([*different, f"{len(different)} of {len(actual)} names differ"]))
    return bool(different)


def show(name: str) -> int:
    entry = name.partition(" ")[0]
    parts = {"scorecard": scorecard()} if name == "scorecard" else dict(values(entry)) if entry in entries() else {}
    if name not in parts:
        print(f"no such name; there are {', '.join(parts or entries())}", file=sys.stderr)
        return 2
    print(json.dumps(parts[name], indent=1, sort_keys=True, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
