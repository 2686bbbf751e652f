"""Making a figure: train what is missing, measure, draw; or take results that are shipped with the lab."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from lab.catalogue import registry
from lab.catalogue.figure import Figure, draw
from lab.catalogue.shipped import (
    ShippedHistory,
    copy_searches,
    read,
    resolve_scale,
    shipped_histories,
    shipped_results,
    trained,
)
from lab.cluster.connection import connected
from lab.devices import choose_device, device_name
from lab.errors import ArgumentError, check_whole, listed, shown
from lab.papers.entry import Entry, Planned
from lab.papers.tables import curves
from lab.places import SHIPPED
from lab.plots.caption import counted
from lab.plots.style import method_title
from lab.progress import lasting
from lab.run import MOST_SEEDS, Run, complete
from lab.scale import BEST
from lab.spec import RunSpec, key, needs
from lab.store import UNNOTED, MixedRevisionsError, Store, as_store
from lab.versions import versions

if TYPE_CHECKING:
    from distributed import Client

LONG, LOOSE = 0.25, 8  # minutes of training that are announced
# A provenance has all of these
KEYS = tuple("entry scale device device_name versions seeds runs data seconds made".split())
KEYS += ("hyperparameters", "departures", "guesses")
# Facts that are lists of what the notes of runs say, and what is said of runs that are older than the note
NOTED = {"kernels": "kernel", "commits": "commit", "instructions": "instructions"}
NOTED |= {"arithmetic": "arithmetic", "numerics": "numerics"}


def figure(
    name: str,
    scale: str = "laptop",
    device: str = "auto",
    seeds: int | None = None,
    force: bool = False,
    shipped: bool = True,
    store: Store | None = None,
    progress: bool = True,
    tasks: Sequence[str] | None = None,
    cluster: Client | str | Path | None = None,
) -> Figure:
    """A figure of the catalogue, with its table and provenance. What the store lacks is trained.

    scale: one of the entry's, or "best": the largest whose results are here, shipped or trained, else "laptop"; these
        results are drawn as they are, so that it goes with neither `seeds` nor `force`.
    seeds: runs of each configuration; tasks: show only these of the entry's. Default: the entry's own number, and all
        tasks (of shipped results, all that they have).
    force: train again even what the store has. An interrupted call continues when it is repeated, with `force` or not:
        what it had forgotten stays marked in the store (`Store.force`) until all of it is trained.
    shipped: take results that the store lacks from data/results, if they are there. The provenance says so. Where some
        tasks are shipped and others not, naming them all trains the others and draws them together.
    cluster: a `distributed.Client`, or what `lab figure --cluster` takes; its workers train, and must see the store.
    Raises ArgumentError for a wrong argument, LabError where data are not here.

    >>> figure("transformers/fig6", scale="smoke", progress=False).table.columns.tolist()
    ['task', 'x', 'value', 'density', 'accuracy']
    """
    entry, store = registry.entry(name, tasks), as_store(store)
    meant = resolve_scale(entry, scale, store)
    if cluster is None:
        choose_device(device)
    if seeds is not None:
        check_whole("seeds", seeds, 1, MOST_SEEDS)
    if scale == BEST and (force or seeds is not None):  # what is best may be a scale that takes days
        asked = f"seeds={seeds}" if seeds is not None else "force=True"
        *most, last = (f"{one!r}" for one in entry.scales if one != "smoke")
        raise ArgumentError(
            f"{asked}: scale 'best' draws the results that are here and trains none anew; to train, give "
            f"scale={', '.join(most)} or {last}"
        )
    join = shipped and seeds is None and not force
    here = shipped_results(name, meant).tasks(entry) if join else ()
    enough = here == entry.tasks if tasks is not None else here
    if enough and not trained(entry, meant, store):  # shipped results are drawn where nothing better is here
        if progress and here != entry.tasks:
            name_missing(entry, meant, [task for task in entry.tasks if task not in here])
        return read(entry, meant)
    table, facts, extras = measured(entry, meant, device, seeds, force, store, progress, cluster, join)
    if tasks is not None:
        facts["tasks"] = list(entry.tasks)  # of the entry's, where not all
    if seeds is not None and seeds != entry.seeds[meant]:
        facts["seeds_asked"] = seeds
    return draw(entry, meant, table, facts, extras)


def measured(
    entry: Entry,
    scale: str,
    device: str = "auto",
    seeds: int | None = None,
    force: bool = False,
    store: Store | None = None,
    progress: bool = True,
    cluster: Client | str | Path | None = None,
    join: bool = False,
) -> tuple[pd.DataFrame, dict, dict[str, pd.DataFrame]]:
    """Train what a figure needs and measure it: its table, provenance and further tables; nothing is drawn.

    join: do not train runs whose learning curves are shipped, if the figure is drawn from learning curves alone; nor
        search for functions whose searches are shipped.
    """
    store, name, seeds = as_store(store), entry.name, seeds or entry.seeds[scale]
    every = dict.fromkeys(spec for _, spec in entry.plan(scale, seeds))
    forced = [*every, *(search for spec in every for search in needs(spec))]
    goes_on = force and store.force(forced) and progress
    start = time.perf_counter()
    with connected(cluster) as client:
        for planned, later in entry.stages(scale, seeds, store):
            specs = list(dict.fromkeys(spec for _, spec in planned))
            total = len(specs) + len(later)
            absent = [spec for spec in specs if not store.has(spec)] if join and entry.histories else []
            joined = shipped_histories(name.partition("/")[0], scale, absent) if absent else {}
            others = [spec for spec in specs if spec not in joined]
            missing = [spec for spec in others if not store.has(spec)]
            if goes_on:
                again = f"{total - len(later) - len(missing)} of {total} runs trained again"
                print(f"{name}: an interrupted --force goes on; {again}", file=sys.stderr)
            place = device if cluster is None else ""
            said = progress and announce(entry, scale, total, len(missing) + len(later), place)
            if join:
                copy_searches(missing, store)
            store.check_one_revision(specs)  # those that are joined are of today's
            complete(others, store, device, progress, cluster=client, announce=not said)
    store.end_force(forced)
    runs: list[tuple[dict, Any]] = [(labels, joined.get(spec) or Run(spec, store)) for labels, spec in planned]
    table = entry.measure(runs, entry.examples[scale]) if entry.examples else entry.measure(runs)
    extras = {"curves": curves(runs).drop(columns="read").round(4)} if entry.curves else {}
    if entry.functions:
        extras["functions"] = entry.functions(runs)
    return table, provenance(entry, scale, [run for _, run in runs], time.perf_counter() - start), extras


def announce(entry: Entry, scale: str, runs: int, missing: int, device: str = "auto") -> bool:
    """Say so before a training that nobody would wait for unprepared; whether it was said. device: that trains; none
    for a cluster."""
    place = choose_device(device) if device else ""
    slow = scale == "paper" and place == "cpu" and entry.minutes[scale] > 1  # less is no training
    minutes = entry.minutes[scale] * missing / max(1, runs)
    # at smoke scale an entry's minutes are many times too long: its pace says it (lab.progress)
    long_one = minutes >= (LOOSE if scale == "smoke" else 1) * LONG or slow and missing > 0
    if long_one:
        where = "on a GPU" if scale == "paper" else "on 2 CPU cores"  # which an entry's minutes are for
        if scale == "paper" and place == "cpu":
            where += "; here it is a CPU, which takes many times as long"
        elif scale != "paper" and place == "cuda":
            where += "; here it is a GPU"
        text = f"{entry.name}, scale {scale}: {missing} of {runs} runs have to be trained, about "
        text += f"{lasting(60 * minutes)} {where}."
        text += " You can interrupt: what is trained is stored, and the next call goes on from there."
        print(text, file=sys.stderr, flush=True)
    return long_one


def name_missing(entry: Entry, scale: str, missing: list[str]) -> None:
    """Say which tasks of an entry have no shipped results, and how to train them."""
    text = f"{entry.name}, scale {scale}: no results of {', '.join(missing)} are shipped; to train them:"
    text += f" lab.figure({entry.name!r}, {scale!r}, tasks={missing})"
    text += "; with all tasks named, they are drawn together" if entry.histories else ""
    print(text, file=sys.stderr, flush=True)


def provenance(entry: Entry, scale: str, runs: Sequence[Run | ShippedHistory], seconds: float) -> dict:
    """Where a figure comes from that is measured on these runs, trained here or elsewhere, or joined from shipped
    tables. As JSON has it.

    hyperparameters: by name, each {"value": …, "from": "paper" | "sweep" | "guess" | any words that say more}. runs:
    their keys in the store. seconds: of training, by the clock.
    """
    stored = list({run.key: run for run in runs if isinstance(run, Run)}.values())
    joined = list({run.key: run for run in runs if isinstance(run, ShippedHistory)}.values())
    devices = {(run.notes["device"], run.notes["device_name"]) for run in stored}
    devices |= {(run.facts["device"], run.facts["device_name"]) for run in joined}
    machines = sorted(devices or {("cpu", device_name("cpu"))})
    facts = {
        "entry": entry.name,
        "scale": scale,
        "device": ", ".join(sorted({kind for kind, _ in machines})),
        "device_name": ", ".join(name for _, name in machines),
        "versions": versions(),
        "seeds": sorted({run.spec.seed for run in runs if not run.spec.tuning}),
        "runs": {run.key: f"{run.spec.task_name}, seed {run.spec.seed}" for run in runs},
        "data": entry.origin.data(scale),
        "seconds": round(seconds, 1),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **entry.settings(scale),
        **({"examples": entry.examples[scale]} if entry.examples else {}),
        "searches": {key(search): search.task_name for run in runs for search in needs(run.spec)},
        "training_seconds": round(sum(run.notes["seconds"] for run in stored)),
        "diverged": sorted({run.key for run in runs if run.diverged}),
    }
    # of the spline, the code and the processor, over all runs; what was trained before this was noted has none
    for name, note in NOTED.items():
        noted = {run.notes.get(note, UNNOTED if note == "arithmetic" else "unknown") for run in stored}
        facts[name] = sorted(noted.union(*(run.facts.get(name, ()) for run in joined)))
    if joined:  # from which shipped figure; `training_seconds` are those of the other runs
        facts["joined"] = {run.key: run.source for run in joined}
    return check(facts)


def check(facts: Mapping[str, Any]) -> dict:
    """The facts of a figure as JSON has them. ValueError unless each of `KEYS` is there, each number has a source, and
    JSON can hold it all."""
    if missing := [name for name in KEYS if name not in facts]:
        raise ValueError(f"the provenance of a figure lacks {', '.join(missing)}")
    for name, value in facts["hyperparameters"].items():
        if "value" not in value or not value.get("from"):
            raise ValueError(f"hyperparameter {name!r} needs a value and where it is from; it has {value!r}")
    try:
        return json.loads(json.dumps(facts, allow_nan=False))
    except TypeError as error:
        raise ValueError(f"the provenance of a figure must be JSON: {error}") from error


@dataclass(frozen=True, eq=False, repr=False)
class EntryRuns:
    """A figure's runs at a scale, as `lab.entry` gives them.

    labels: what each of them is labelled with (task, method, …), and its seed: one row a run.
    """

    name: str
    scale: str
    seeds: int
    _entry: Entry
    _planned: Sequence[Planned]

    @property
    def labels(self) -> pd.DataFrame:
        """What each run is labelled with, and its seed: one row a run."""
        return pd.DataFrame([row for row, _ in self._planned])

    @property
    def table(self) -> pd.DataFrame:
        """What the figure measures of its runs, with all its seeds: the table of `lab.figure`, which the plot and the
        caption are made from. Of a scale that is not shipped the runs are trained first."""
        is_shipped = bool(shipped_results(self.name, self.scale).tasks(self._entry))
        return figure(self.name, self.scale, progress=not is_shipped).table

    def runs(self, by: str = "method", trained: bool = True, progress: bool = True, **labels: object) -> dict[str, Run]:
        """Runs by their label `by`. They are read from the store, or as they came with the lab (data/runs); what
        neither has is trained, which is announced. All are of one revision of the lab's arithmetic: where what came
        with the lab is of an earlier one than what has to be trained, it is trained again, too, as a line says.

        trained: False for runs as they are planned, of which `lab.train(like=run, …)` makes others.
        labels: of those that are wanted, one value or several, as task="shakespeare char". Raises ArgumentError for a
        label that no run has, and where two runs would have one name; MixedRevisionsError where the store has runs of
        another revision than those that are missing.

        >>> list(entry("hypernetwork/fig6").runs(method=("linear", "hyla")))
        ['linear attention', 'HYLA']
        """
        store, planned = as_store(None, shipped=SHIPPED), self._planned
        for label, values in labels.items():
            self._check("label", label)
            known = list(dict.fromkeys(str(row.get(label)) for row, _ in planned))
            wanted = [str(value) for value in (values if isinstance(values, (list, tuple)) else (values,))]
            for value in wanted:
                if value not in known:
                    raise ArgumentError(f"{label}={shown(value)}: there are {listed(known, value)}")
            planned = [one for one in planned if str(one[0].get(label)) in wanted]
        self._check("by", by)
        named = _by_name(planned, by)
        store = _of_one_revision([spec for _, spec in named.values()], store) if trained else store
        specs = [spec for _, spec in named.values() if store.home(spec) is store] if trained else []
        missing, said = sum(not store.has(spec) for spec in specs), False
        if missing and progress:
            whole, later = self._entry.known(self.scale, self._entry.seeds[self.scale], store)
            said = announce(self._entry, self.scale, len({spec for _, spec in whole}) + len(later), missing)
        complete(specs, store, progress=progress, announce=not said)
        return {title: Run(spec, store.home(spec)) for title, (_, spec) in named.items()}

    def _check(self, name: str, label: str) -> None:
        known = list(dict.fromkeys(one for row, _ in self._planned for one in row))
        if label not in known:
            has = listed(known) or "no labels: none learns"
            raise ArgumentError(f"{name}={shown(label)}: the figure's runs have {has}")

    def __repr__(self) -> str:
        names = ", ".join(self.labels)
        return f"{len(self._planned)} runs of {self.name}, scale {self.scale}, by {names} (.labels, .runs(), .table)"


def entry(name: str, scale: str = "laptop", seeds: int = 1) -> EntryRuns:
    """The runs that a figure is made of, one by one; nothing is trained before they are asked for.

    name, scale: as for `lab.figure`. seeds: runs of each configuration.

    >>> entry("simplicity/fig30", "smoke")
    3 runs of simplicity/fig30, scale smoke, by prefactor, seed (.labels, .runs(), .table)
    """
    of = registry.entry(name)
    scale = resolve_scale(of, scale, as_store(None))
    plan = of.plan(scale, check_whole("seeds", seeds, 1, MOST_SEEDS))
    planned = [(labels | {"seed": spec.seed}, spec) for labels, spec in plan]
    if not planned:
        raise ArgumentError(f"nothing is trained for {name}; lab.figure({name!r}) makes it")
    return EntryRuns(name, scale, seeds, of, planned)


def _of_one_revision(specs: Sequence[RunSpec], store: Store) -> Store:
    """The store, or, where these runs would be of two revisions, the same without what came with the lab."""
    try:
        store.check_one_revision(specs)
        return store
    except MixedRevisionsError:
        alone = as_store(None)
        shipped = sum(store.has(spec) and not alone.has(spec) for spec in dict.fromkeys(specs))
        if not shipped:
            raise
    alone.check_one_revision(specs)
    again = f"{shipped} of these {counted(len(specs), 'run')} came with the lab, of another revision of its arithmetic"
    print(f"{again}: trained again, so that all can be compared", file=sys.stderr)
    return alone


def _by_name(planned: Sequence[Planned], by: str) -> dict[str, Planned]:
    """Runs by their label's title. ArgumentError where two have the same: it names the label that tells them apart."""
    named: dict[str, Planned] = {}
    for row, spec in planned:
        title = method_title(str(row[by])).replace("_", " ")
        other, same = named.setdefault(title, (row, spec))
        if same != spec:
            label = next((label for label in row if label != by and row[label] != other.get(label)), by)
            values = listed(list(dict.fromkeys(str(one[label]) for one, _ in planned)))
            raise ArgumentError(
                f"several runs are {title}: choose one {label}, as {label}={other[label]!r}; of {values}"
            )
    return named
