"""The catalogue: which figures there are, what each shows, what it needs, how its table is measured and drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.errors import ArgumentError
from lab.figures.settings import SEEDS
from lab.run import Run
from lab.spec import RunSpec

if TYPE_CHECKING:  # pandas and plotly are imported where they are used
    import pandas as pd
    import plotly.graph_objects as go

Planned = tuple[dict, RunSpec]  # labels (task, method, …) of a run, and the run


@dataclass(frozen=True)
class Entry:
    """A figure of a paper."""

    name: str  # "transformers/fig5"
    section: str  # of the paper
    title: str
    shows: str
    paper_says: str
    minutes: dict[str, float]  # from an empty store, by scale: sums of single runs on 2 idle cores; `paper` is a guess
    plan: Callable[[str, int], list[Planned]]  # (scale, seeds) → runs with their labels
    measure: Callable[[Sequence[tuple[dict, Run]]], pd.DataFrame]  # tidy: one row per run and measurement
    plot: Callable[..., go.Figure]  # pure
    tasks: tuple[str, ...]  # tasks it trains on
    seeds: dict[str, int] = field(default_factory=lambda: dict(SEEDS))  # runs of each kind, by scale
    notes: Callable[[str], list[str]] = lambda scale: []  # departures from the paper that the settings do not show
    summary: Callable[[pd.DataFrame], str] = lambda table: ""  # the result in a sentence, its numbers from the table
    # a second table, which `plot` then takes, too: the functions that were trained with, point by point
    functions: Callable[[Sequence[tuple[dict, Run]]], pd.DataFrame] | None = None
    curves: bool = False  # keep the learning curves beside the table, where the table holds one step of them


def entries() -> dict[str, Entry]:
    """All entries by name, in the order of the papers."""
    from lab.figures import algorithmic, compatibility, reshaped

    found = [*algorithmic.ENTRIES, *compatibility.ENTRIES, *reshaped.ENTRIES]
    return {
        entry.name: entry
        for entry in sorted(found, key=lambda e: (e.name.split("fig")[0], int(e.name.split("fig")[1])))
    }


def entry(name: str) -> Entry:
    """The entry of that name.

    >>> entry("transformers/fig5").section
    '3.2'
    """
    known = entries()
    if name not in known:
        raise ArgumentError(f"unknown figure {name!r}; known: {', '.join(known)}")
    return known[name]
