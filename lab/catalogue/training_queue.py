"""All figures of a scale, those first whose open claims cost least; for as many hours as there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from lab import engine
from lab.catalogue.build import figure
from lab.catalogue.registry import entries
from lab.catalogue.scorecard import score
from lab.devices import choose_device
from lab.errors import check_number
from lab.papers.claims import ABSENT, UNDECIDED
from lab.papers.entry import Entry
from lab.scale import SCALES, check_scale
from lab.store import Store

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
    open_claims = [row["entry"] for row in rows if row["verdict"] in (UNDECIDED, ABSENT)]
    found = []
    for paper in papers or [""]:
        for entry in entries(paper or None).values():
            if scale not in entry.scales:
                continue
            specs = {spec for _, spec in entry.plan(scale, entry.seeds[scale])}
            missing = sum(not store.has(spec) for spec in specs)
            if missing:
                minutes = entry.minutes[scale] * missing / len(specs)
                found.append(Waiting(entry, len(specs), missing, minutes, open_claims.count(entry.name)))
    return sorted(found, key=lambda one: (-one.worth, one.minutes))


def train_all(
    scale: str,
    hours: float,
    out: Path,
    device: str = "auto",
    papers: Iterable[str] = (),
    store: Store | None = None,
    say: Callable[[str], object] = print,
) -> list[Waiting]:
    """Train what is missing of every figure and write each that is complete to out/NAME/SCALE; what is left.

    It can be interrupted or run out of time at any moment, and goes on from there when it is called again.
    """
    store, device = store or Store(), choose_device(device)
    end = time.monotonic() + 3600 * check_number("hours", hours, 0)

    def in_time(done: int, total: int, what: str) -> None:
        if time.monotonic() > end:
            raise OutOfTime

    try:
        for one in waiting(scale, store, papers):
            say(f"{one.entry.name}: {one.missing} of {one.runs} runs, about {one.minutes:.0f} minutes")
            in_time(0, 0, "")
            specs = [spec for _, spec in one.entry.plan(scale, one.entry.seeds[scale])]
            engine.complete(specs, store, device, report=in_time)
            made = figure(one.entry.name, scale, device, shipped=False, store=store, progress=False)
            made.write(out / one.entry.name / scale)
            say(f"  {made.summary}")
    except OutOfTime:
        say(f"{hours:g} hours are over; the same command goes on from here.")
    left = waiting(scale, store, papers)
    if left:
        say(f"Left: {', '.join(f'{one.entry.name} ({one.missing} of {one.runs} runs)' for one in left)}")
    return left
