"""All figures of a scale, those first whose open claims cost least; for as many hours as there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab import engine
from lab.catalogue.build import figure
from lab.catalogue.registry import entries
from lab.catalogue.scorecard import score
from lab.cluster.connection import connected
from lab.data import datasets
from lab.devices import choose_device
from lab.errors import check_number
from lab.papers.claims import OPEN
from lab.papers.entry import Entry
from lab.scale import SCALES, check_scale
from lab.store import MixedRevisionsError, Spec, Store

if TYPE_CHECKING:
    from distributed import Client

LEAST = 1.0  # minutes: what takes less is not put before others for being even shorter


class OutOfTime(BaseException):
    """The hours are over. Not an Exception: like an interruption it is nobody's to handle but the caller's."""


@dataclass(frozen=True)
class Waiting:
    """A figure with runs that are missing from the store. minutes: what the catalogue says that these runs take."""

    entry: Entry
    runs: int
    missing: int
    minutes: float
    open_claims: int

    @property
    def worth(self) -> float:
        """Open claims a minute."""
        return self.open_claims / max(self.minutes, LEAST)


def waiting(scale: str, store: Store, papers: Iterable[str] = ()) -> list[Waiting]:
    """What is to be trained, in the order of open claims a minute; then the shortest first.

    >>> from lab.store import Store
    >>> queue = waiting("smoke", Store(), ["hypernetwork"])
    >>> [one.worth for one in queue] == sorted((one.worth for one in queue), reverse=True)
    True
    """
    check_scale(scale, SCALES)
    rows = score()["claims"]
    open_claims = [row["entry"] for row in rows if row["verdict"] in OPEN]
    queue = []
    for paper in papers or [""]:
        for entry in entries(paper or None).values():
            if scale not in entry.scales:
                continue
            specs = {spec for _, spec in entry.plan(scale, entry.seeds[scale])}
            missing = sum(not store.has(spec) for spec in specs)
            if missing:
                minutes = entry.minutes[scale] * missing / len(specs)
                queue.append(Waiting(entry, len(specs), missing, minutes, open_claims.count(entry.name)))
    return sorted(queue, key=lambda one: (-one.worth, one.minutes))


def train_all(
    scale: str,
    hours: float,
    out: Path,
    device: str = "auto",
    papers: Iterable[str] = (),
    store: Store | None = None,
    say: Callable[[str], object] = print,
    cluster: Client | str | Path | None = None,
) -> list[Waiting]:
    """Train what is missing of every figure and write each that is complete to out/NAME/SCALE; what is left.

    It can be interrupted or run out of time at any moment, and goes on from there when it is called again. Figures
    whose data are not here are named and left out. cluster: as `lab.figure` has it; its workers take the runs of all
    figures at once, in the same order.
    """
    store, device = store or Store(), choose_device(device) if cluster is None else device
    end = time.monotonic() + 3600 * check_number("hours", hours, 0)

    def in_time(done: int, total: int, what: str) -> None:
        if time.monotonic() > end:
            raise OutOfTime

    queue = _of_one_revision(_with_data(waiting(scale, store, papers), scale, say), scale, store, say)
    try:
        with connected(cluster) as client:
            if client is not None:
                queue = _complete_together(queue, scale, store, device, in_time, client, say)
            for one in queue:
                if client is None:
                    say(f"{one.entry.name}: {one.missing} of {one.runs} runs, about {one.minutes:.0f} minutes")
                    in_time(0, 0, "")
                    engine.complete(_specs(one, scale), store, device, report=in_time)
                made = figure(one.entry.name, scale, shipped=False, store=store, progress=False)
                made.write(out / one.entry.name / scale)
                say(f"  {made.summary}" if client is None else f"{one.entry.name}: {made.summary}")
    except OutOfTime:
        say(f"{hours:g} hours are over; the same command goes on from here.")
    left = waiting(scale, store, papers)
    if left:
        say(f"Left: {', '.join(f'{one.entry.name} ({one.missing} of {one.runs} runs)' for one in left)}")
    return left


def absent_data(entry: Entry, scale: str) -> list[str]:
    """The data sets that a figure trains on and that are not here.

    >>> from lab.catalogue.registry import entry
    >>> absent_data(entry("simplicity/fig5"), "laptop")
    []
    """
    names = [source["name"] for source in entry.origin.data(scale)]
    return [name for name in names if name in datasets.CATALOGUE and not datasets.find(name)]


def _with_data(queue: list[Waiting], scale: str, say: Callable[[str], object]) -> list[Waiting]:
    absent = {one.entry.name: absent_data(one.entry, scale) for one in queue}
    for name, sets in absent.items():
        if sets:
            say(f"{name}: left out, not here: {', '.join(sets)}; `lab data fetch {sets[0]}` gets the first of them")
    return [one for one in queue if not absent[one.entry.name]]


def _of_one_revision(queue: list[Waiting], scale: str, store: Store, say: Callable[[str], object]) -> list[Waiting]:
    whole = []
    for one in queue:
        try:
            store.check_one_revision(_specs(one, scale))
            whole.append(one)
        except MixedRevisionsError as error:
            say(f"{one.entry.name}: left out: {error}")
    return whole


def _specs(one: Waiting, scale: str) -> list[Spec]:
    return [spec for _, spec in one.entry.plan(scale, one.entry.seeds[scale])]


def _complete_together(
    queue: list[Waiting],
    scale: str,
    store: Store,
    device: str,
    report: engine.Report,
    client: Client,
    say: Callable[[str], object],
) -> list[Waiting]:
    """Train the runs of all figures on a cluster, as long as there is time; the figures that are complete then."""
    specs = {one.entry.name: _specs(one, scale) for one in queue}
    urgency = {spec: one.worth for one in reversed(queue) for spec in specs[one.entry.name]}
    say(f"{len(queue)} figures, {sum(not store.has(spec) for spec in urgency)} of {len(urgency)} runs to be trained")
    with suppress(OutOfTime):
        report(0, 0, "")
        engine.complete(list(urgency), store, device, report=report, cluster=client, urgency=urgency)
    return [one for one in queue if all(map(store.has, specs[one.entry.name]))]
