"""What an entry of the catalogue is: what a figure shows, what it needs, how it is measured and drawn, and where its
settings are from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import pandas as pd

from lab.data import datasets
from lab.errors import ArgumentError, check_choice, check_type, listed
from lab.papers.claims import Claim
from lab.papers.tables import best_rates, per_run
from lab.plots import go
from lab.run import Run
from lab.scale import SCALES
from lab.spec import RunSpec
from lab.store import Store

SILENT = object()  # the paper's value where it has none


@dataclass(frozen=True)
class Field:
    """A number here and in the paper.

    source: where it is from. other: the same where it is not the paper's, if it is not just smaller. in_caption:
    whether captions say that it differs. task: of an entry that has numbers for each of its tasks.
    """

    name: str
    value: object
    paper: object
    source: str
    other: str = ""
    in_caption: bool = True
    task: str = ""

    @property
    def differs(self) -> bool:
        """Whether the paper has another value."""
        return self.paper is not SILENT and self.value != self.paper


def beside_paper(field: Field) -> str:
    """How a field differs from what the paper prints.

    >>> beside_paper(Field("width", 64, 256, "App. E.4"))
    'width 64 (paper 256)'
    """
    return f"{field.name} {field.value} (paper {field.paper})"


def beside_scale(field: Field) -> str:
    """How a field differs from scale paper, which has guesses, too."""
    return f"{field.name} {field.value} (paper scale {field.paper})"


@dataclass(frozen=True)
class Origin:
    """What captions and provenance tell of an entry's settings, each at a scale.

    data: sources, each with a name, where it is from, and a digest where it is a file or could be one. facts: numbers,
    and sentences where no number shows a departure, in the order in which captions have them. guesses: what was chosen
    where the paper is silent. for_tasks: the origin of a figure of some of its tasks, where it can tell of them alone.
    words: how a field differs. merged: tasks that differ in the same way have one sentence.

    >>> origin = Origin(lambda scale: [], lambda scale: ["no test set", Field("width", 64, 256, "App. E", task="add")])
    >>> origin.departures("laptop"), origin.hyperparameters("laptop")
    (['no test set', 'add: width 64 (paper 256)'], {'add: width': {'value': 64, 'from': 'reduced for scale laptop'}})
    """

    data: Callable[[str], list[dict]]
    facts: Callable[[str], Iterable[Field | str]] = lambda scale: ()
    guesses: Sequence[str] = ()
    for_tasks: Callable[[Sequence[str]], Origin] | None = None
    words: Callable[[Field], str] = beside_paper
    merged: bool = False

    def hyperparameters(self, scale: str) -> dict[str, dict]:
        """Every number, and where it comes from."""
        return {
            f"{fact.task}: {fact.name}" if fact.task else fact.name: {
                "value": fact.value,
                "from": (fact.other or f"reduced for scale {scale}") if fact.differs else fact.source,
            }
            for fact in self.facts(scale)
            if isinstance(fact, Field)
        }

    def departures(self, scale: str) -> list[str]:
        """How the scale differs from the paper, in words."""
        notes: dict[str, list[str]] = {}  # what is said, and the tasks of which it is said
        for task, facts in groupby(self.facts(scale), lambda fact: fact.task if isinstance(fact, Field) else None):
            sentences = [fact if isinstance(fact, str) else self.words(fact) for fact in facts if _in_caption(fact)]
            if task is None:
                notes |= {note: [] for note in sentences}
            elif sentences:
                words = ", ".join(sentences)
                key = words if self.merged or not task else f"{task}: {words}"
                notes.setdefault(key, []).extend([task] if self.merged else [])
        return [f"{', '.join(tasks)}: {words}" if tasks else words for words, tasks in notes.items()]


def _in_caption(fact: Field | str) -> bool:
    return isinstance(fact, str) or (fact.in_caption and fact.differs)


def sizes_beside_paper(departures: Sequence[str], room: int = 230) -> str:
    """The first departures that have the paper's value beside ours, or that of scale paper, where the paper may be
    silent, and what is left out; as far as there is room (characters).

    >>> sizes_beside_paper(["no test set", "width 64 (paper 256), rates 1 (paper [1, 2])", "batch 8 (paper 16)"], 50)
    "Not the paper's: width 64 (paper 256), rates 1 (paper [1, 2]); more in provenance.json."
    >>> sizes_beside_paper(["left out: SVHN (not open)", "left out: a+b (mod 53), ab (mod 53)", "batch 8 (paper 16)"])
    "Not the paper's: left out: SVHN; batch 8 (paper 16)."
    """
    said, more = "", False
    for departure in departures:
        left_out = re.fullmatch(r"(left out: [^()]+) \([^()]*\)", departure)  # with a reason, which details have
        for number, part in enumerate([left_out[1]] if left_out else re.split(r"(?<=\)), ", departure)):
            compares = re.search(r"\(paper (?!:)", part) and not re.search(r"(\S+) \(paper \1\)", part)
            if not (left_out or compares):
                continue
            longer = said + (", " if number and said else "; " if said else "") + part
            more |= len(longer) > room
            said = longer if not more else said
    theirs = "the paper's, or those of scale paper" if "(paper scale " in said else "the paper's"
    return f"Not {theirs}: {said}{'; more in provenance.json' * more}." if said else ""


def compared(numbers: Callable[[str], Mapping[str, tuple[object, str]]], scale: str) -> list[Field]:
    """Numbers of a scale, by name a value and its source, next to those of scale paper."""
    paper = numbers("paper")
    return [Field(name, value, paper[name][0], source) for name, (value, source) in numbers(scale).items()]


def shipped(names: Iterable[str]) -> list[dict]:
    """Data sets as sources, with the digests of their content: where the catalogue states none, of what is here."""
    sources = []
    for known in map(datasets.entry, names):
        digest = known.digest or (datasets.digest(known.name) if datasets.find(known.name) else None)
        place = known.installed.describe() if known.installed else known.name
        sources.append({"name": known.name, "from": f"{place} ({known.licence})", "sha256": digest})
    return sources


def counted(data_from: str, fields: Sequence[Field] = (), name: str = "sraven") -> Origin:
    """Of what is counted or estimated, and not trained. name: of the task."""
    return Origin(lambda scale: [{"name": name, "from": data_from}], lambda scale: fields)


SEEDS = {"smoke": 2, "laptop": 6, "paper": 6}  # runs of each kind, by scale, where an entry does not say
_NUMBERED = re.compile(r"\w+/(fig|table)([A-Z]?)(\d+)([a-z]?)")  # "hypernetwork/figA9", "hypernetwork/fig2c"
Planned = tuple[dict, RunSpec]  # labels (task, method, …) of a run, and the run


@dataclass(frozen=True)
class Tuned:
    """Each kind of runs at its own rate: a plan has all of them at every rate, and those on `test` are trained at the
    rate alone that is best on `val`.

    kinds: labels that tell kinds apart. score: of a run on `val`; the highest mean is best, as `best_rates` has it.
    full: scales at which every run of the plan is trained.
    """

    kinds: tuple[str, ...]
    score: Callable[[Run], float]
    full: tuple[str, ...] = ()

    def known(self, plan: Sequence[Planned], store: Store) -> tuple[list[Planned], list[Planned]]:
        """As `Entry.known`, of a plan. A kind without runs on `val` has nothing to choose."""
        each = [(tuple(labels[name] for name in self.kinds), labels, spec) for labels, spec in plan]
        whole = {kind: True for kind, _, spec in each if spec.tuning}  # whether all of these are here
        whole |= {kind: False for kind, _, spec in each if spec.tuning and not store.has(spec)}
        val = [(labels, Run(spec, store)) for kind, labels, spec in each if spec.tuning and whole[kind]]
        best = best_rates(per_run(val, lambda run: {"score": self.score(run)}), self.kinds, "score") if val else {}
        known, later, first = [], [], dict[tuple, float]()
        for kind, labels, spec in each:
            if spec.tuning or kind not in whole or labels["rate"] == best.get(kind):
                known.append((labels, spec))
            elif not whole[kind] and labels["rate"] == first.setdefault(kind, labels["rate"]):
                later.append((labels, spec))
        return known, later


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
    # (scale, seeds) → runs with their labels, where `tuned` at every rate; none where nothing is trained
    plan: Callable[[str, int], list[Planned]]
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
    timed: tuple[str, ...] = ()  # columns of the table that `measure` times anew, and on what
    tuned: Tuned | None = None  # of which runs of its plan the figure is made
    # among the entries of its paper: kind, letter of the appendix, number, part; where its name has these, it says so
    place: tuple[str, str, int, str] | None = None

    def __post_init__(self):
        _ = self.order  # refuses an entry that has none
        if self.tuned and self.histories:
            raise ValueError(f"{self.name}: a rate is chosen by runs in the store, not by shipped learning curves")

    def known(self, scale: str, seeds: int, store: Store) -> tuple[list[Planned], list[Planned]]:
        """The runs of its plan that the figure is made of, as far as the store tells; and others that stand for those
        still to be chosen, by runs on `val` that are missing: those at the first rate, as many as at the best."""
        plan = self.plan(scale, seeds)
        return self.tuned.known(plan, store) if self.tuned and scale not in self.tuned.full else (plan, [])

    def stages(self, scale: str, seeds: int, store: Store) -> Iterator[tuple[list[Planned], list[Planned]]]:
        """What is `known`; where more is still to be chosen, all of it again once the caller has trained this."""
        yield (known := self.known(scale, seeds, store))
        if known[1]:
            yield self.known(scale, seeds, store)

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
        named = [tasks] if isinstance(tasks, str) else tasks
        for task in check_type("tasks", named, (list, tuple), "a list of names"):
            check_choice("task", task, self.tasks)
        chosen = tuple(task for task in self.tasks if task in named)
        if not chosen:
            raise ArgumentError(f"tasks={list(named)}: give one or more of {listed(self.tasks)}")

        def plan(scale: str, seeds: int) -> list[Planned]:
            return [(labels, spec) for labels, spec in self.plan(scale, seeds) if labels["task"] in chosen]

        return replace(self, tasks=chosen, plan=plan, origin=restricted(chosen))

    def settings(self, scale: str) -> dict:
        """What is said of the runs of its plan, a function of their settings alone: hyper-parameters, each with its
        value and where it is from; departures from the paper; guesses. As JSON has them."""
        said = {
            "hyperparameters": self.origin.hyperparameters(scale),
            "departures": [*self.notes(scale), *self.origin.departures(scale)],
            "guesses": self.origin.guesses,
        }
        return json.loads(json.dumps(said, allow_nan=False))

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
        times = {
            scale: f"{scale} {minutes:g} min" if minutes < 120 else f"{scale} {minutes / 60:.3g} h"
            for scale, minutes in self.minutes.items()
        }
        if self.minutes["paper"] > 1:  # less is no training
            times["paper"] += " on a GPU (a guess)"
        return ", ".join(times.values())

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Sorts the entries of a paper: figures before tables, those of the appendix last. ValueError where neither
        place nor name says it.

        >>> from lab.catalogue.registry import entries
        >>> [entry.order for entry in entries("hypernetwork").values()][::10]
        [('fig', '', 2, 'b'), ('fig', '', 5, 'f'), ('table', 'A', 1, '')]
        """
        if self.place is not None:
            return self.place
        if (parts := _NUMBERED.fullmatch(self.name)) is None:
            raise ValueError(f"{self.name} has no number to stand in order by; give place=('fig', '', 1, '') or so")
        kind, appendix, number, part = parts.groups()
        return kind, appendix, int(number), part
