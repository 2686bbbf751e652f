"""What an entry of the catalogue is: what a figure shows, what it needs, how its table is measured and drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lab.errors import ArgumentError, check_choice, listed
from lab.papers.claims import Claim
from lab.papers.origin import Origin
from lab.run import Run
from lab.scale import SCALES
from lab.spec import RunSpec

if TYPE_CHECKING:  # pandas and plotly are imported where they are used
    import pandas as pd

    from lab.plots import go

SEEDS = {"smoke": 2, "laptop": 6, "paper": 6}  # runs of each kind, by scale, where an entry does not say
_NUMBERED = re.compile(r"\w+/(fig|table)([A-Z]?)(\d+)([a-z]?)")  # "hypernetwork/figA9", "hypernetwork/fig2c"
Planned = tuple[dict, RunSpec]  # labels (task, method, …) of a run, and the run


@dataclass(frozen=True)
class Entry:
    """A figure or table of a paper."""

    name: str  # "transformers/fig5"
    section: str  # of the paper
    title: str
    shows: str
    paper_says: str
    # from an empty store, by scale: sums of single runs on 2 idle cores; `paper` is a guess. It has these scales
    minutes: dict[str, float]
    plan: Callable[[str, int], list[Planned]]  # (scale, seeds) → runs with their labels; none where nothing is trained
    # (runs) → tidy table, one row per run and measurement; (runs, examples) where `examples` has their number
    measure: Callable[..., pd.DataFrame]
    plot: Callable[..., go.Figure]  # pure
    tasks: tuple[str, ...]  # tasks it trains on, or measures
    origin: Origin  # of its settings
    seeds: dict[str, int] = field(default_factory=lambda: dict(SEEDS))  # runs of each kind, by scale
    notes: Callable[[str], list[str]] = lambda scale: []  # departures from the paper that the settings do not show
    summary: Callable[[pd.DataFrame], str] = lambda table: ""  # the result in a sentence, its numbers from the table
    functions_summary: Callable[[pd.DataFrame], str] | None = None  # of the table of functions: stands before `summary`
    # what the sentence has no room for: further numbers of the table, for the folded notes
    numbers: Callable[[pd.DataFrame], str] = lambda table: ""
    examples: dict[str, int] | None = None  # that `measure` looks at, by scale
    # a second table, which `plot` then takes, too: the functions that were trained with, point by point
    functions: Callable[[Sequence[tuple[dict, Run]]], pd.DataFrame] | None = None
    claims: tuple[Claim, ...] = ()  # what the paper says, as functions of the table (`lab scorecard`)
    # (table) → the numbers that the paper prints, beside ours: columns that name a cell, ours, theirs; and `clear`
    # where both have a sign, whether ours is clear of the noise of seeds
    printed: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    curves: bool = False  # keep the learning curves beside the table, where the table holds one step of them
    histories: bool = False  # `measure` reads learning curves alone: `spec`, `steps`, `accuracy`, `diverged` of runs
    # among the entries of its paper: kind, letter of the appendix, number, part; where its name has these, it says so
    place: tuple[str, str, int, str] | None = None

    def __post_init__(self):
        if self.place is None and _NUMBERED.fullmatch(self.name) is None:
            raise ValueError(f"{self.name} has no number to stand in order by; give place=('fig', '', 1, '') or so")

    def for_tasks(self, tasks: Sequence[str]) -> Entry:
        """The same figure of some of its tasks.

        Raises ArgumentError for a task that it has not, and where it is one picture of all its tasks.

        >>> from lab.catalogue.registry import entry
        >>> len(entry("transformers/fig10").for_tasks(["add", "mano"]).plan("smoke", 1))
        6
        """
        restricted = self.origin.for_tasks
        if restricted is None or len(self.tasks) < 2:
            raise ArgumentError(f"{self.name} cannot be restricted to tasks; make it without naming any")
        for task in tasks:
            check_choice("task", task, self.tasks)
        chosen = tuple(task for task in self.tasks if task in tasks)
        if not chosen:
            raise ArgumentError(f"tasks={list(tasks)}: give one or more of {listed(self.tasks)}")

        def plan(scale: str, seeds: int) -> list[Planned]:
            return [(labels, spec) for labels, spec in self.plan(scale, seeds) if labels["task"] in chosen]

        return replace(self, tasks=chosen, plan=plan, origin=restricted(chosen))

    @property
    def scales(self) -> tuple[str, ...]:
        """The scales that it has, the smallest first.

        >>> from lab.catalogue.registry import entry
        >>> entry("hypernetwork/fig2b").scales, entry("transformers/fig2").scales
        (('smoke', 'laptop', 'overnight', 'paper'), ('smoke', 'laptop', 'paper'))
        """
        return tuple(scale for scale in SCALES if scale in self.minutes)

    @property
    def durations(self) -> str:
        """How long each scale takes from an empty store, in words.

        >>> from lab.catalogue.registry import entry
        >>> entry("transformers/rates").durations
        'smoke 0.5 min, laptop 2 h, paper 15 h on a GPU (a guess)'
        """
        times = {scale: f"{scale} {_in_words(minutes)}" for scale, minutes in self.minutes.items()}
        if self.minutes["paper"] > 1:  # less is no training
            times["paper"] += " on a GPU (a guess)"
        return ", ".join(times.values())

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Sorts the entries of a paper: figures before tables, those of the appendix last.

        >>> from lab.catalogue.registry import entries
        >>> [entry.order for entry in entries("hypernetwork").values()][::10]
        [('fig', '', 2, 'b'), ('fig', '', 5, 'f'), ('table', 'A', 1, '')]
        """
        if self.place is not None:
            return self.place
        parts = _NUMBERED.fullmatch(self.name)
        assert parts is not None, f"{self.name} has neither a place nor a number"  # __post_init__ refuses it
        kind, appendix, number, part = parts.groups()
        return kind, appendix, int(number), part


def _in_words(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < 120 else f"{minutes / 60:.3g} h"
