"""The scorecard: what the papers claim, and whether it holds in the results that are here."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from math import isfinite, isinf, nan
from pathlib import Path
from typing import TYPE_CHECKING

from lab.catalogue.registry import entries
from lab.catalogue.shipped import RESULTS
from lab.errors import ArgumentError, LabError, check_path, shortened
from lab.papers.agreement import agreement
from lab.papers.claims import ABSENT, FAILS, HOLDS, UNDECIDED, Claim
from lab.papers.entry import Entry
from lab.scale import check_scale

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 98  # characters of a line
PREFERRED = ("paper", "laptop")  # at smoke scale numbers mean nothing: it is scored on request alone
NUMBERS = ("effect", "low", "high", "above", "below")


def scorecard(scale: str | None = None, results: str | Path = RESULTS) -> pd.DataFrame:
    """Every claim of the catalogue, one row each: entry, claim, scale, verdict, effect, low, high (95 %), above, below
    (where the claim says that the effect lies), unit, n, over (what n counts), case (which of several decides).

    scale: of the results; default: for each entry the paper's, where these results are here, else the laptop's.
    results: a folder with a table in ENTRY/SCALE, such as `lab figure` writes into `out`.

    >>> card = scorecard("laptop")
    >>> set(card["verdict"]) <= {"holds", "does not hold", "not decided", "not measured here"}
    True
    """
    import pandas as pd

    return pd.DataFrame(score(scale, results)["claims"])


def score(scale: str | None = None, results: str | Path = RESULTS) -> dict[str, list[dict]]:
    """Rows of `claims` (see `scorecard`) and of `numbers`, one for each entry with printed numbers: entry, scale,
    verdict (of being measured), cells, clear, signs, spearman, low, high (see `lab.papers.agreement`)."""
    folder = check_path("results", results)
    if scale is not None:
        check_scale(scale)
    if not folder.is_dir():
        said = shortened(str(folder))
        raise ArgumentError(f"--results {said}: no such folder; name one that `lab figure` wrote into, such as out")
    found: dict[str, list[dict]] = {"claims": [], "numbers": []}
    for entry in entries().values():
        if entry.claims or entry.printed:
            where, table = _table(entry, scale, folder)
            try:
                found["claims"] += [_claim(entry, claim, where, table) for claim in entry.claims]
                found["numbers"] += [_numbers(entry, where, table)] if entry.printed else []
            except (LookupError, ValueError, TypeError) as error:  # of a table of other columns
                raise LabError(
                    f"{folder / entry.name / str(where)}/table.csv does not fit {entry.name} ({error!r}); "
                    f"make it again: lab figure {entry.name} --scale {where}"
                ) from error
    return found


def _table(entry: Entry, scale: str | None, folder: Path) -> tuple[str, pd.DataFrame | None]:
    """The scale that is read, and its table, if it is here."""
    import pandas as pd

    for name in [scale] if scale else PREFERRED:
        path = folder / entry.name / name / "table.csv"
        if path.is_file():
            try:
                return name, pd.read_csv(path)
            except (OSError, ValueError) as error:
                raise LabError(f"{path} cannot be read ({error}); bring it back, or make it again") from error
    return scale or PREFERRED[-1], None


def _claim(entry: Entry, claim: Claim, scale: str, table: pd.DataFrame | None) -> dict:
    row = {"entry": entry.name, "claim": claim.says, "scale": scale, "verdict": ABSENT}
    if table is None:
        return row | dict.fromkeys(NUMBERS, nan) | {"unit": "", "n": 0, "over": "", "case": ""}
    found = claim.measure(table)
    facts = asdict(found)
    return row | {"verdict": found.word} | {name: facts[name] for name in (*NUMBERS, "unit", "n", "over", "case")}


def _numbers(entry: Entry, scale: str, table: pd.DataFrame | None) -> dict:
    row = {"entry": entry.name, "scale": scale}
    cells = None if table is None else entry.printed(table)
    if cells is None or not len(cells):  # also where the cells that are printed are not among those trained
        unknown = dict.fromkeys(("signs", "spearman", "low", "high"), nan)
        return row | {"measured": False, "cells": 0, "clear": 0} | unknown
    return row | {"measured": True} | agreement(cells).to_dict()


def as_json(found: dict[str, list[dict]]) -> str:
    """The rows as JSON; what is not finite (an open end, a missing interval) is null."""
    plain = {kind: [{name: _plain(row[name]) for name in row} for row in rows] for kind, rows in found.items()}
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not isfinite(value) else value


def as_text(found: dict[str, list[dict]]) -> str:
    """The rows to be read: verdict, entry, claim; below, what was measured."""
    lines, room = [], " " * (max(map(len, (HOLDS, FAILS, UNDECIDED, ABSENT))) + 2)
    for row in found["claims"]:
        told = textwrap.wrap(f"{row['entry']}, {row['scale']}: {row['claim']}", WIDTH - len(room))
        if row["verdict"] != ABSENT:
            told += textwrap.wrap(_measured(row), WIDTH - len(room))
        lines += [(row["verdict"].ljust(len(room)) if not number else room) + line for number, line in enumerate(told)]
    lines.append("")
    for row in found["numbers"]:
        lines += textwrap.wrap(_beside(row), WIDTH, subsequent_indent="  ")
    return "\n".join([*lines, "", _sum(found["claims"]), "In brackets: 95 % intervals."])


def _measured(row: dict) -> str:
    """Effect, interval, what n is, what was claimed."""
    unit = f" {row['unit']}" if row["unit"] else ""
    if not isfinite(row["effect"]):
        return "nothing to measure it on" + (f" ({row['case']})" if row["case"] else "")
    where = f"{row['case']}: " if row["case"] else ""
    words = f"{where}{_number(row['effect'])}{unit}"
    if row["over"] != "counts":
        interval = f"[{_number(row['low'])}, {_number(row['high'])}]" if isfinite(row["low"]) else "without an interval"
        words += f" {interval}, {row['n']:,} {row['over'] if row['n'] != 1 else row['over'].removesuffix('s')}"
    bounds = [f"{name} {_number(row[name])}" for name in ("above", "below") if not isinf(row[name])]
    return f"{words}; the claim: {' and '.join(bounds)}"


def _beside(row: dict) -> str:
    """Agreement with printed numbers, in a line."""
    head = f"{row['entry']}, {row['scale']}, beside the printed numbers: "
    if not row["measured"]:
        return head + ABSENT
    signs = f", signs agree in {100 * row['signs']:.0f} % of {row['clear']}" if row["clear"] else ""
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if isfinite(row["low"]) else " (too few for an interval)"
    rho = f"Spearman {row['spearman']:.2f}{interval}" if isfinite(row["spearman"]) else "Spearman unknown"
    return f"{head}{rho} over {row['cells']} cells{signs}".replace("-0.00", "0.00")


def _sum(rows: list[dict]) -> str:
    counts = {word: sum(row["verdict"] == word for row in rows) for word in (HOLDS, FAILS, UNDECIDED, ABSENT)}
    told = ", ".join(f"{word} {count}" for word, count in counts.items())
    return f"{len(rows)} claims: {told}."


def _number(value: float) -> str:
    """Three digits; whole from 1,000 on.

    >>> _number(12.345), _number(-0.0), _number(0.0123)
    ('12.3', '0', '0.0123')
    """
    return f"{value + 0.0:.3g}" if abs(value) < 1000 else f"{value:,.0f}"  # + 0: no -0
