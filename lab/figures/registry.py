"""The catalogue: which figures there are, what each shows, what it needs, how its table is measured and drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.errors import check_choice
from lab.figures.claims import Claim
from lab.figures.origin import Origin
from lab.figures.settings import SEEDS
from lab.run import Run
from lab.spec import RunSpec

if TYPE_CHECKING:  # pandas and plotly are imported where they are used
    import pandas as pd
    import plotly.graph_objects as go

PAPERS = ("transformers", "hypernetwork", "simplicity")
Planned = tuple[dict, RunSpec]  # labels (task, method, …) of a run, and the run


@dataclass(frozen=True)
class Entry:
    """A figure or table of a paper."""

    name: str  # "transformers/fig5"
    section: str  # of the paper
    title: str
    shows: str
    paper_says: str
    minutes: dict[str, float]  # from an empty store, by scale: sums of single runs on 2 idle cores; `paper` is a guess
    plan: Callable[[str, int], list[Planned]]  # (scale, seeds) → runs with their labels; none where nothing is trained
    # (runs) → tidy table, one row per run and measurement; (runs, examples) where `examples` has their number
    measure: Callable[..., pd.DataFrame]
    plot: Callable[..., go.Figure]  # pure
    tasks: tuple[str, ...]  # tasks it trains on, or measures
    origin: Origin  # of its settings
    seeds: dict[str, int] = field(default_factory=lambda: dict(SEEDS))  # runs of each kind, by scale
    notes: Callable[[str], list[str]] = lambda scale: []  # departures from the paper that the settings do not show
    summary: Callable[[pd.DataFrame], str] = lambda table: ""  # the result in a sentence, its numbers from the table
    examples: dict[str, int] | None = None  # that `measure` looks at, by scale
    # a second table, which `plot` then takes, too: the functions that were trained with, point by point
    functions: Callable[[Sequence[tuple[dict, Run]]], pd.DataFrame] | None = None
    claims: tuple[Claim, ...] = ()  # what the paper says, as functions of the table (`lab scorecard`)
    # (table) → the numbers that the paper prints, beside ours: columns that name a cell, ours, theirs; and `clear`
    # where both have a sign, whether ours is clear of the noise of seeds
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    curves: bool = False  # keep the learning curves beside the table, where the table holds one step of them


def entries() -> dict[str, Entry]:
    """All entries by name, in the order of the papers."""
    from lab.figures import (
        ablations,
        algorithmic,
        compatibility,
        complexity,
        counted,
        depth,
        fuzzy,
        fuzzy_codes,
        grokking,
        image_sets,
        image_transfer,
        landscapes,
        operations,
        raven,
        reshaped,
        reused,
        searches,
        shortcut,
        tabular,
        transfer,
        variation,
    )

    modules = (algorithmic, compatibility, reshaped, fuzzy, fuzzy_codes, raven, depth, variation, ablations, counted)
    modules += (complexity, operations, grokking, image_sets, searches, image_transfer, tabular, reused, landscapes)
    modules += (shortcut, transfer)
    found = [entry for module in modules for entry in module.ENTRIES]
    return {entry.name: entry for entry in sorted(found, key=lambda entry: _place(entry.name))}


def _place(name: str) -> tuple:
    """Where an entry stands: by paper, figures before tables, those of the appendix last.

    >>> sorted(["hypernetwork/figA9", "hypernetwork/fig2c", "transformers/fig10", "transformers/fig2"], key=_place)
    ['transformers/fig2', 'transformers/fig10', 'hypernetwork/fig2c', 'hypernetwork/figA9']
    """
    paper, kind, appendix, number, part = re.fullmatch(r"(\w+)/(fig|table)([A-Z]?)(\d+)([a-z]?)", name).groups()
    return PAPERS.index(paper), kind, appendix, int(number), part


def entry(name: str) -> Entry:
    """The entry of that name.

    >>> entry("transformers/fig5").section
    '3.2'
    """
    known = entries()
    return known[check_choice("figure", name, known)]
