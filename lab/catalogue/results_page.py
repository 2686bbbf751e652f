"""RESULTS.md: what holds of each paper, what does not, what is open and what would decide it, from the scorecard."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from lab.catalogue.registry import entries
from lab.catalogue.scorecard import described, measured, on_stand_in, total
from lab.papers.claims import ABSENT, FAILS, HOLDS, ON_STAND_IN, UNDECIDED

HEADINGS = {
    HOLDS: "Holds",
    FAILS: "Does not hold",
    ON_STAND_IN[HOLDS]: "Holds on a stand-in: another text, data set or size than the paper's",
    ON_STAND_IN[FAILS]: "Does not hold on a stand-in: another text, data set or size than the paper's",
    UNDECIDED: "Not decided: the interval has both answers in it",
    ABSENT: "Not measured here",
}
OWN = "crossing"  # what no paper claims
PAPERS = {
    "transformers": "Optimized non-linearities in transformers",
    "hypernetwork": "Attention as a hypernetwork",
    "simplicity": "Activation functions and the simplicity bias",
    "activations": "Adaptive activation functions in language models",
    OWN: "Across the papers: questions of the lab's own",
}
INTRODUCTION = """# Results

What the papers claim, next to what the results that ship with the lab say. This page is written by
`lab scorecard --markdown > RESULTS.md`; `lab scorecard` prints the same with the region that each claim names and what
each interval covers. Brackets: 95 % intervals, wider where the worst or the best of several cases is taken. What is
measured on a stand-in (a text, a data set or a size that is not the paper's) counts by itself, never as holds.
"""


def as_markdown(card: dict[str, list[dict]]) -> str:
    """The page RESULTS.md. card: what `lab.catalogue.scorecard.score` returned."""
    return "\n".join(_lines(card))


def _lines(card: dict[str, list[dict]]) -> Iterator[str]:
    yield INTRODUCTION
    ours = sum(row["entry"].startswith(f"{OWN}/") for row in card["claims"])
    yield f"{total(card['claims'])} {ours} of them are questions of the lab's own, that no paper claims."
    titles = {name: one.title for name, one in entries().items()}
    for paper, title in PAPERS.items():
        rows = [row for row in card["claims"] if row["entry"].startswith(f"{paper}/")]
        yield f"\n## {title} (`{paper}`)\n\n{total(rows)}"
        for verdict, heading in HEADINGS.items():
            chosen = [row for row in rows if row["verdict"] == verdict]
            if chosen:
                yield f"\n### {heading}\n"
            for row in chosen:
                yield _item(row, titles[row["entry"]])
        numbers = [row for row in card["numbers"] if row["entry"].startswith(f"{paper}/") and row["measured"]]
        if numbers:
            yield "\n### Beside the printed numbers\n"
            yield from (f"- {described(row)}" for row in numbers)


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
        hours = f" ({row['hours']:g} hours of two cores)" if isfinite(row["hours"]) else ""
        parts.append(f"Would decide it: {row['decides']}{hours}.")
    return " ".join(parts)
