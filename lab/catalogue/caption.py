"""What stands under a figure: what it shows, its result, how it was made, and how it departs from the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.entry import Entry
from lab.plots.caption import counted, true_minus

if TYPE_CHECKING:
    import pandas as pd


EARLIER = "earlier_settings"  # in the provenance of shipped results: what is different now, until they are made anew


def headline(entry: Entry, summary: str, facts: dict) -> str:
    """Two lines: what the figure shows; its result in a sentence, with what the paper says. A third where other figures
    of the same tasks have other settings."""
    parts = [f"{entry.shows}.", f"{f'{summary} ' if summary else ''}Paper: {entry.paper_says}.", *_earlier(facts)]
    return true_minus("\n".join(parts))


def caption(entry: Entry, summary: str, table: pd.DataFrame, facts: dict) -> str:
    """What the figure shows, its result in a sentence, further numbers, how it was made, and every departure from the
    paper."""
    parts = [f"{entry.shows}.", summary, f"Paper: {entry.paper_says}.", entry.numbers(table), _made(entry, facts)]
    parts += _earlier(facts)
    departed = f"Departures from the paper: {'; '.join(facts['departures']) or 'none known'}."
    departed += " Where the paper is silent, see `guesses` in provenance.json." if facts["guesses"] else ""
    return true_minus("\n".join(part for part in [*parts, departed] if part))


def _earlier(facts: dict) -> list[str]:
    return [f"These runs have earlier settings than figures have now: {facts[EARLIER]}."] if EARLIER in facts else []


def _made(entry: Entry, facts: dict) -> str:
    """Scale, device, seeds, runs, steps, data."""
    words = f"Scale {facts['scale']}, {facts['device_name']}"
    if facts["runs"]:
        searches = f" and {counted(len(facts['searches']), 'search', 'searches')}" if facts["searches"] else ""
        first, last = facts["seeds"][0], facts["seeds"][-1]
        seeds = f"seeds {first} to {last}" if last > first else f"seed {first}"
        words += f", {seeds}, {counted(len(facts['runs']), 'run')}{searches}."
        diverged = len(facts["diverged"])
        words += f" {diverged} of them diverged (their loss was no longer finite)." if diverged else ""
        words += f" Steps: {_steps(entry, facts['scale'])}."
    else:
        words += ". Nothing is trained."
    looked = f" Probes looked at {facts['examples']:,} examples." if facts["runs"] and "examples" in facts else ""
    return f"{words}{looked} Data: {'; '.join(dict.fromkeys(source['from'] for source in facts['data']))}."


def _steps(entry: Entry, scale: str) -> str:
    """Steps that are really taken, by task."""
    lengths: dict[str, set[int]] = {}
    for _, spec in entry.plan(scale, 1):
        lengths.setdefault(spec.task_name, set()).add(spec.recipe.last)
    each = {task: " and ".join(f"{steps:,}" for steps in sorted(taken)) for task, taken in lengths.items()}
    return ", ".join(f"{task} {steps}" for task, steps in each.items())
