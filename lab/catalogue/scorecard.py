"""The scorecard: what the papers claim, and whether it holds in the results that are here."""

import json
import textwrap
from dataclasses import asdict
from math import isfinite, nan
from pathlib import Path

import pandas as pd

from lab.catalogue.figure import EARLIER, Figure
from lab.catalogue.registry import ACROSS, entries, papers
from lab.catalogue.results import Results
from lab.errors import ArgumentError, LabError, check_path, shortened
from lab.papers.claims import (
    ABSENT,
    FAILS,
    HOLDS,
    ON_STAND_IN,
    OPEN,
    UNDECIDED,
    WORDS,
    Claim,
    agreement,
    both,
    claimed,
    effect_found,
)
from lab.papers.entry import Entry
from lab.places import RESULTS
from lab.scale import SCALES, check_scale
from lab.statistics import LEVEL

WIDTH = 98  # characters of a line
PREFERRED = ("paper", "overnight", "laptop")  # at smoke scale numbers mean nothing: it is scored on request alone
LEGEND = "In brackets: 95 % intervals, wider where corrected for several cases. Hours are of two cores."
HEADINGS = {
    HOLDS: "Holds",
    FAILS: "Does not hold",
    ON_STAND_IN[HOLDS]: "Holds on a stand-in: another text, data set or size than the paper's",
    ON_STAND_IN[FAILS]: "Does not hold on a stand-in: another text, data set or size than the paper's",
    UNDECIDED: "Not decided: the interval has both answers in it",
    ABSENT: "Not measured here",
}
INTRODUCTION = """# Results

What the papers claim, next to what the results that ship with the lab say. This page is written by
`lab scorecard --markdown > RESULTS.md`; `lab scorecard` prints the same with the region that each claim names and what
each interval covers. Brackets: 95 % intervals, wider where the worst or the best of several cases is taken. What is
measured on a stand-in (a text, a data set or a size that is not the paper's) counts by itself, never as holds.
"""


def scorecard(scale: str | None = None, results: str | Path = RESULTS) -> pd.DataFrame:
    """Every claim of the papers, one row each, with its verdict in the results that are here.

    scale: of the results. Default: for each entry the largest at which results of all its tasks are here, else the
        largest at which some are.
    results: a folder with tables in ENTRY/SCALE, as `lab figure` writes into `out`. Default: the shipped results.

    Columns: id, entry, claim, scale; verdict, reason (why it is not measured) and stand_in (what was measured in place
    of the paper's text, data or size; else ""); effect, with its interval from low to high at a level (.95, or more
    where it is corrected for several cases), and unit; above, below: where the claim says that the effect lies;
    refuted_below, refuted_above: beyond which it is refuted, where those bounds are the lab's own number for a word as
    "similar" (else NaN); n, over: how many units there are, and of what; covers: what the interval is about; case:
    which of several decides. For a claim that is open, or has a stand-in alone, decides: what would decide it, and
    hours: on a machine of two cores (NaN where that takes a GPU, or data that are not here).

    Raises ArgumentError for an unknown scale or folder, LabError for a table that does not fit its entry.

    >>> card = scorecard("laptop")
    >>> words = {"holds", "does not hold", "holds on a stand-in", "does not hold on a stand-in", "not decided"}
    >>> set(card["verdict"]) <= {*words, "not measured here"}
    True
    """
    return pd.DataFrame(score(scale, results)["claims"])


def score(scale: str | None = None, results: str | Path = RESULTS) -> dict[str, list[dict]]:
    """Rows of `claims` (see `scorecard`) and of `numbers`, one for each entry with printed numbers: entry, scale,
    verdict (of being measured), cells, clear, signs, spearman, low, high (see `lab.papers.claims`)."""
    folder = check_path("results", results)
    if scale is not None:
        check_scale(scale, SCALES)
    if not folder.is_dir():
        said = shortened(str(folder))
        raise ArgumentError(f"there is no folder {said} with results; name one of `lab figure`, such as out")
    card: dict[str, list[dict]] = {"claims": [], "numbers": []}
    for entry in entries().values():
        if entry.claims or entry.printed:
            where, tables = _tables(entry, scale, folder)
            table = tables.get("table")
            try:
                earlier = Results(folder / entry.name / where).facts.get(EARLIER, "") if tables else ""
                card["claims"] += [_claim(entry, claim, where, tables, earlier) for claim in entry.claims]
                card["numbers"] += [_numbers(entry, where, table)] if entry.printed else []
            except (LookupError, ValueError, TypeError) as error:  # of a table of other columns
                raise LabError(
                    f"{Results(folder / entry.name / where).files['table']} does not fit {entry.name} ({error!r}); "
                    f"make it again: lab figure {entry.name} --scale {where}"
                ) from error
    return card


def _tables(entry: Entry, scale: str | None, folder: Path) -> tuple[str, dict[str, pd.DataFrame]]:
    """The scale that is read, and its tables by name, those that are here: "table" and, for some, "functions"."""
    of_scale = {name: Results(folder / entry.name / name) for name in ([scale] if scale else PREFERRED)}
    here = {name: results for name, results in of_scale.items() if "table" in results.files}
    if not here:
        return scale or PREFERRED[-1], {}
    whole = (name for name, results in here.items() if results.tasks(entry) == entry.tasks)
    chosen = next(whole, next(iter(here)))  # a claim that speaks of many tasks is not read from some
    names = ["table", *(["functions"] if any(claim.of_functions for claim in entry.claims) else [])]
    with pd.option_context("mode.string_storage", "python"):  # arrow's strings are slow to loop over, as claims do
        tables = {one: here[chosen].table(one) for one in names if one in here[chosen].files}
    for other in {claim.with_entry for claim in entry.claims if claim.with_entry}:
        if "table" in (theirs := _tables(entries()[other], scale, folder)[1]):
            tables[other] = both(entry.name, tables["table"], other, theirs["table"])
    return chosen, tables


def _claim(entry: Entry, claim: Claim, scale: str, tables: dict[str, pd.DataFrame], earlier: str = "") -> dict:
    verdict = claim.judged(tables, scale, earlier)
    named = {"id": f"{entry.name}/{claim.name}", "entry": entry.name, "claim": claim.says, "scale": scale}
    open_ = {"decides": claim.decides, "hours": claim.hours} if verdict.word in OPEN else {"decides": "", "hours": nan}
    return named | verdict.row() | open_


def next_to_shipped(made: Figure) -> list[str]:
    """How the numbers of a figure agree with the shipped ones of its scale: a line for each claim of its entry.

    Where a claim is of two figures, the other one's numbers are the shipped ones.
    """
    entry, lines = entries()[made.name], []
    _, shipped = _tables(entry, made.scale, RESULTS)
    tables = {"table": made.table, **made.extras}
    for other in {claim.with_entry for claim in entry.claims} & set(shipped):
        tables[other] = both(made.name, made.table, other, shipped[other].query("entry == @other"))
    for claim in entry.claims if shipped else ():
        here, there = pair = [_claim(entry, claim, made.scale, each) for each in (tables, shipped)]
        if here["reason"] or there["reason"]:
            said = "not measured " + ("here" if here["reason"] else "in the shipped results")
        elif pd.Series(here)[["effect", "low", "high"]].equals(pd.Series(there)[["effect", "low", "high"]]):
            said = "the same numbers"
        elif not all(isfinite(row["high"] - row["low"]) for row in pair):
            said = "without an interval nothing is said of the difference"
        else:
            overlap = here["low"] <= there["high"] and there["low"] <= here["high"]
            said = "the intervals overlap" if overlap else "the intervals do not overlap"
        numbers = " / ".join(f"{row['effect']:.3g} [{row['low']:.3g}, {row['high']:.3g}]" for row in pair)
        lines.append(f"{claim.says}: {numbers} {here['unit']}: {said}")
    return lines


def _numbers(entry: Entry, scale: str, table: pd.DataFrame | None) -> dict:
    row = {"entry": entry.name, "scale": scale}
    cells = None if table is None or entry.printed is None else entry.printed(table)
    cells = None if cells is None else cells.dropna(subset=["ours", "theirs"])
    if cells is None or not len(cells):  # also where the cells that are printed are not among those trained
        unknown = dict.fromkeys(("signs", "spearman", "low", "high"), nan)
        return row | {"measured": False, "cells": 0, "clear": 0} | unknown
    return row | {"measured": True} | asdict(agreement(cells))


def as_json(card: dict[str, list[dict]]) -> str:
    """The rows as JSON; what is not finite (an open end, a missing interval) is null."""

    def plain(value: object) -> object:
        return None if isinstance(value, float) and not isfinite(value) else value

    rows = {kind: [{name: plain(row[name]) for name in row} for row in rows] for kind, rows in card.items()}
    return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False)


def as_text(card: dict[str, list[dict]]) -> str:
    """The rows to be read: verdict, id, claim; below, what was measured, on what, why it does not count, what would
    decide."""
    lines, room = [], " " * (max(map(len, WORDS)) + 2)
    for row in card["claims"]:
        block = _wrapped(f"{row['id']}, {row['scale']}: {row['claim']}", len(room))
        why = row["reason"] and f"not measured: {row['reason']}"
        for words in (measured(row), on_stand_in(row), why, _decides(row)):
            block += _wrapped(words, len(room))
        lines += [(row["verdict"].ljust(len(room)) if not number else room) + line for number, line in enumerate(block)]
    lines.append("")
    for row in card["numbers"]:
        lines += textwrap.wrap(described(row), WIDTH, subsequent_indent="  ")
    return "\n".join([*lines, "", *_wrapped(total(card["claims"])), LEGEND])


def _wrapped(words: str, taken: int = 0) -> list[str]:
    """In lines that have so many characters less than a page."""
    return textwrap.wrap(words, WIDTH - taken, break_on_hyphens=False)


def measured(row: dict, covers: bool = True) -> str:
    """Effect, interval, what n is, what was claimed, with `covers` what the interval covers; nothing where there is no
    number."""
    if not isfinite(row["effect"]):
        return "" if row["reason"] else effect_found(row)
    words = f"{effect_found(row)}, {row['n']:,} {row['over'] if row['n'] != 1 else row['over'].removesuffix('s')}"
    level = f" at {100 * row['level']:.1f} %" if row["level"] > LEVEL else ""
    words += f"; the claim: {claimed(row)}"
    if covers:
        return f"{words}; the interval{level} covers {row['covers']}"
    return f"{words}; one search" if "of one search" in row["covers"] else words


def on_stand_in(row: dict) -> str:
    """What was measured in place of what the paper speaks of; nothing where it is the paper's own."""
    return f"measured on {row['stand_in']}" if row["stand_in"] else ""


def _decides(row: dict) -> str:
    """What would decide an open claim, and how long it takes."""
    hours = f" ({row['hours']:g} h)" if isfinite(row["hours"]) else ""
    return f"would decide it: {row['decides']}{hours}" if row["decides"] else ""


def described(row: dict) -> str:
    """Agreement with printed numbers, in a line."""
    head = f"{row['entry']}, {row['scale']}, beside the printed numbers: "
    if not row["measured"]:
        return head + ABSENT
    signs = f", signs agree in {100 * row['signs']:.0f} % of {row['clear']}" if row["clear"] else ""
    interval = f" [{row['low']:.2f}, {row['high']:.2f}]" if isfinite(row["low"]) else " (too few for an interval)"
    rho = f"Spearman {row['spearman']:.2f}{interval}" if isfinite(row["spearman"]) else "Spearman unknown"
    return f"{head}{rho} over {row['cells']} cells{signs}".replace("-0.00", "0.00")


def total(rows: list[dict]) -> str:
    counts = {word: sum(row["verdict"] == word for row in rows) for word in WORDS}
    verdicts = ", ".join(f"{word} {count}" for word, count in counts.items())
    return f"{len(rows)} claims: {verdicts}."


def as_markdown(card: dict[str, list[dict]]) -> str:
    """The page RESULTS.md. card: what `score` returned."""
    ours = sum(row["entry"].startswith(f"{ACROSS}/") for row in card["claims"])
    lines = [INTRODUCTION]
    lines.append(f"{total(card['claims'])} {ours} of them are questions of the lab's own, that no paper claims.")
    titles = {name: one.title for name, one in entries().items()}
    for paper, title in papers().items():
        rows = [row for row in card["claims"] if row["entry"].startswith(f"{paper}/")]
        lines.append(f"\n## {title} (`{paper}`)\n\n{total(rows)}")
        for verdict, heading in HEADINGS.items():
            items = [_item(row, titles[row["entry"]]) for row in rows if row["verdict"] == verdict]
            lines += [f"\n### {heading}\n", *items] if items else []
        numbers = [row for row in card["numbers"] if row["entry"].startswith(f"{paper}/") and row["measured"]]
        lines += ["\n### Beside the printed numbers\n"] if numbers else []
        lines += [f"- {described(row)}" for row in numbers]
    return "\n".join(lines)


def _item(row: dict, title: str) -> str:
    """One claim: the sentence, the number, why it is open and what would decide it."""
    parts = [f"- **{row['claim']}.** {title} (`{row['entry']}`, {row['scale']})."]
    if isfinite(row["effect"]) and not row["reason"]:
        parts.append(f"{measured(row, covers=False)}.")
    if words := on_stand_in(row):
        parts.append(f"{words[0].upper()}{words[1:]}.")
    if row["reason"]:
        parts.append(f"{row['reason'][0].upper()}{row['reason'][1:]}.")
    if row["decides"]:
        hours = f" ({row['hours']:g} hour{'s' * (row['hours'] != 1)} of two cores)" if isfinite(row["hours"]) else ""
        parts.append(f"Would decide it: {row['decides']}{hours}.")
    return " ".join(parts)
