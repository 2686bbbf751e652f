"""All figures of a scale, those first whose open claims cost least; for as many hours as there are."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from lab import engine
from lab.catalogue.build import figure
from lab.catalogue.registry import entries
from lab.catalogue.scorecard import score
from lab.catalogue.shipped import trained
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
    """A figure with runs that are missing from the store. specs: those that are known. runs: how many it is made of.
    minutes: what the catalogue says that the missing ones take."""

    entry: Entry
    specs: tuple[Spec, ...]
    runs: int
    missing: int
    minutes: float
    open_claims: int

    @property
    def worth(self) -> float:
        """Open claims a minute."""
        return self.open_claims / max(self.minutes, LEAST)


def waiting(scale: str, store: Store, papers: Iterable[str] = (), only: str = "") -> list[Waiting]:
    """What is to be trained, in the order of open claims a minute; then the shortest first. only: this figure.

    >>> queue = waiting("smoke", Store(), ["hypernetwork"])
    >>> [one.worth for one in queue] == sorted((one.worth for one in queue), reverse=True)
    True
    """
    check_scale(scale, SCALES)
    queue = []
    for entry in (entry for paper in tuple(papers) or (None,) for entry in entries(paper).values()):
        if scale not in entry.scales or only not in ("", entry.name):
            continue
        planned, later = entry.known(scale, entry.seeds[scale], store)
        specs = tuple(dict.fromkeys(spec for _, spec in planned))
        if missing := sum(not store.has(spec) for spec in specs) + len(later):
            runs = len(specs) + len(later)
            minutes = entry.minutes[scale] * missing / runs
            queue.append(Waiting(entry, specs, runs, missing, minutes, _open_claims()[entry.name]))
    return sorted(queue, key=lambda one: (-one.worth, one.minutes))


@cache
def _open_claims() -> Counter[str]:
    """How many claims of each entry are open in the shipped results: two seconds, and no training changes it."""
    return Counter(row["entry"] for row in score()["claims"] if row["verdict"] in OPEN)


def train_all(
    scale: str,
    hours: float,
    out: Path,
    device: str = "auto",
    papers: Iterable[str] = (),
    store: Store | None = None,
    say: Callable[[str], object] = print,
    cluster: Client | str | Path | None = None,
    only: str = "",
) -> list[Waiting]:
    """Train what is missing of every figure and write each that is complete to out/NAME/SCALE; what is left.

    It can be interrupted or run out of time at any moment, and goes on from there when it is called again. Figures
    whose data are not here, and those with runs of another revision of the arithmetic, are named and left out. cluster:
    as `lab.figure` has it; its workers take the runs of all figures at once, in the same order. only: this figure.
    """
    store, device = store or Store(), choose_device(device) if cluster is None else device
    end = time.monotonic() + 3600 * check_number("hours", hours, 0)

    def in_time(done: int, total: int, what: str) -> None:
        if time.monotonic() > end and (done < total or not total):  # a figure whose runs are all there is drawn, too
            raise OutOfTime

    queue = [one for one in waiting(scale, store, papers, only) if _can_train(one, scale, store, say)]
    try:
        with connected(cluster) as client:
            if client is not None:
                stages = (one.entry.stages(scale, one.entry.seeds[scale], store) for one in queue)
                with suppress(OutOfTime):
                    for stage in zip_longest(*stages, fillvalue=([], [])):
                        known = [
                            (one, spec) for one, (planned, _) in zip(queue, stage, strict=True) for _, spec in planned
                        ]
                        urgency: dict[Spec, float] = {spec: one.worth for one, spec in reversed(known)}
                        missing = sum(not store.has(spec) for spec in urgency)
                        figures = len({one.entry.name for one, _ in known})
                        say(f"{figures} figures, {missing} of {len(urgency)} runs to be trained")
                        in_time(0, 0, "")
                        engine.complete(list(urgency), store, device, report=in_time, cluster=client, urgency=urgency)
                queue = [one for one in queue if trained(one.entry, scale, store)]
            for one in queue:
                name = one.entry.name
                if client is None:
                    say(f"{name}: {one.missing} of {one.runs} runs, about {one.minutes:.0f} minutes")
                    if not all(map(store.has, one.specs)):  # another figure may have trained them all
                        in_time(0, 0, "")
                    for planned, _ in one.entry.stages(scale, one.entry.seeds[scale], store):
                        engine.complete([spec for _, spec in planned], store, device, report=in_time)
                made = figure(name, scale, shipped=False, store=store, progress=False)
                made.write(out / name / scale)
                say(f"  {made.summary}" if client is None else f"{name}: {made.summary}")
    except OutOfTime:
        say(f"{hours:g} hours are over; the same command goes on from here.")
    if left := waiting(scale, store, papers, only):
        say(f"Left: {', '.join(f'{one.entry.name} ({one.missing} of {one.runs} runs)' for one in left)}")
    return left


def _can_train(one: Waiting, scale: str, store: Store, say: Callable[[str], object]) -> bool:
    """Whether the data of a figure are here, and its runs of one revision; else why not is said."""
    names = [source["name"] for source in one.entry.origin.data(scale)]
    if absent := [name for name in names if name in datasets.CATALOGUE and not datasets.find(name)]:
        get = f"`lab data fetch {absent[0]}` gets the first of them"
        say(f"{one.entry.name}: left out, not here: {', '.join(absent)}; {get}")
        return False
    try:
        store.check_one_revision(one.specs)
    except MixedRevisionsError as error:
        say(f"{one.entry.name}: left out: {error}")
        return False
    return True
