"""Making a figure: train what is missing, measure, draw; or take results that are shipped with the lab."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.catalogue import registry
from lab.catalogue.announcements import announce, name_missing
from lab.catalogue.drawing import draw, read
from lab.catalogue.figure import Figure
from lab.catalogue.provenance import of_runs
from lab.catalogue.shipped import best_scale, copy_searches, has_results, shipped_tasks
from lab.catalogue.shipped_histories import shipped_histories
from lab.cluster.connection import connected
from lab.devices import choose_device
from lab.errors import ArgumentError, check_whole
from lab.papers.entry import Entry
from lab.papers.tables import curves
from lab.run import MOST_SEEDS, Run, complete
from lab.scale import BEST, check_scale
from lab.spec import needs
from lab.store import Store, as_store

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client


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
        what it had forgotten stays marked in the store (`lab.store.forced`) until all of it is trained.
    shipped: take results that the store lacks from data/results, if they are there. The provenance says so. Where some
        tasks are shipped and others not, naming them all trains the others and draws them together.
    cluster: a `distributed.Client`, or what `lab figure --cluster` takes; its workers train, and must see the store.
    Raises ArgumentError for a wrong argument, LabError where data are not here.

    >>> figure("transformers/fig6", scale="smoke", progress=False).table.columns.tolist()
    ['task', 'x', 'value', 'density', 'accuracy']
    """
    store = as_store(store)
    entry, scale = _checked(name, scale, device, seeds, force, tasks, cluster, store)
    join = shipped and seeds is None and not force
    if join and is_read(entry, scale, store, tasks is not None):
        missing = [task for task in entry.tasks if task not in shipped_tasks(entry, scale)]
        if missing and progress:
            name_missing(entry, scale, missing)
        return read(entry, scale)
    return draw(entry, scale, *measured(name, scale, device, seeds, force, store, progress, tasks, cluster, join))


def is_read(entry: Entry, scale: str, store: Store, whole: bool = False) -> bool:
    """Whether shipped results are drawn, as nothing better is here: the store lacks runs. whole: of all its tasks.

    >>> is_read(registry.entry("transformers/fig6"), "laptop", Store())
    True
    """
    if not has_results(entry.name, scale) or trained(entry, scale, store):
        return False
    return not whole or set(entry.tasks) <= set(shipped_tasks(entry, scale))


def measured(
    name: str,
    scale: str,
    device: str = "auto",
    seeds: int | None = None,
    force: bool = False,
    store: Store | None = None,
    progress: bool = True,
    tasks: Sequence[str] | None = None,
    cluster: Client | str | Path | None = None,
    join: bool = False,
) -> tuple[pd.DataFrame, dict, dict[str, pd.DataFrame]]:
    """Train what a figure needs and measure it: its table, provenance and further tables; nothing is drawn.

    join: do not train runs whose learning curves are shipped, if the figure is drawn from learning curves alone; nor
        search for functions whose searches are shipped.
    """
    store = as_store(store)
    entry, scale = _checked(name, scale, device, seeds, force, tasks, cluster, store)
    planned = entry.plan(scale, seeds or entry.seeds[scale])
    specs = list(dict.fromkeys(spec for _, spec in planned))
    absent = [spec for spec in specs if not store.has(spec)] if join and entry.histories else []
    joined = shipped_histories(name.partition("/")[0], scale, absent) if absent else {}
    others = [spec for spec in specs if spec not in joined]
    forced = [*specs, *(search for spec in specs for search in needs(spec))]
    if force and store.force(forced) and progress:
        again = sum(map(store.has, specs))
        print(f"{name}: an interrupted --force goes on; {again} of {len(specs)} runs trained again", file=sys.stderr)
    said = False
    if progress:
        place = device if cluster is None else ""
        said = announce(entry, scale, len(specs), sum(not store.has(spec) for spec in others), place)
    if join:
        copy_searches([spec for spec in others if not store.has(spec)], store)
    start = time.perf_counter()
    with connected(cluster) as client:
        complete(others, store, device, progress, cluster=client, announce=not said)
    store.end_force(forced)
    runs: list[tuple[dict, Any]] = [(labels, joined.get(spec) or Run(spec, store)) for labels, spec in planned]
    table = entry.measure(runs, entry.examples[scale]) if entry.examples else entry.measure(runs)
    extras = {"curves": curves(runs).drop(columns="read").round(4)} if entry.curves else {}
    if entry.functions:
        extras["functions"] = entry.functions(runs)
    facts = of_runs(entry, scale, [run for _, run in runs], time.perf_counter() - start)
    if tasks is not None:
        facts["tasks"] = list(entry.tasks)  # of the entry's, where not all
    return table, facts, extras


def chosen(name: str, scale: str, tasks: Sequence[str] | None = None, store: Store | None = None) -> tuple[Entry, str]:
    """The entry, or the part of it that shows these tasks, and the scale that is meant by `scale`."""
    entry = registry.entry(name)
    if tasks is not None:
        entry = entry.for_tasks([tasks] if isinstance(tasks, str) else tasks)
    scale = check_scale(scale, (*entry.scales, BEST))
    return entry, _largest_here(entry, as_store(store)) if scale == BEST else scale


def _largest_here(entry: Entry, store: Store) -> str:
    """The largest scale at which an entry is shipped or all of it is trained; laptop where there is none."""
    shipped = best_scale(entry)
    larger = entry.scales[entry.scales.index(shipped) + 1 :]
    return next((scale for scale in reversed(larger) if trained(entry, scale, store)), shipped)


def _checked(
    name: str,
    scale: str,
    device: str,
    seeds: int | None,
    force: bool,
    tasks: Sequence[str] | None,
    cluster: object,
    store: Store,
) -> tuple[Entry, str]:
    entry, meant = chosen(name, scale, tasks, store)
    if cluster is None:
        choose_device(device)
    if seeds is not None:
        check_whole("seeds", seeds, 1, MOST_SEEDS)
    if scale == BEST and (force or seeds is not None):  # what is best may be a scale that takes days
        asked = f"seeds={seeds}" if seeds is not None else "force=True"
        named = [f"{name!r}" for name in entry.scales if name != "smoke"]
        raise ArgumentError(
            f"{asked}: scale 'best' draws the results that are here and trains none anew; to train, give "
            f"scale={', '.join(named[:-1])} or {named[-1]}"
        )
    return entry, meant


def trained(entry: Entry, scale: str, store: Store) -> bool:
    """Whether the store has all runs of an entry; never where there are none to train."""
    planned = entry.plan(scale, entry.seeds[scale])
    return bool(planned) and all(store.has(spec) for _, spec in planned)
