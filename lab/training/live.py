"""Training that is watched: fleets in a thread of this process, with one torch thread, which can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from lab.spec import RunSpec
from lab.training.defaults import torch_defaults
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import Fleet
from lab.training.loop import train

Report = Callable[[int, Fleet], None]
End = Callable[[Exception | None], None]
EVERY = 0.2  # seconds between two reports


class Live:
    """The training of one or more fleets, a little of each in turn; nothing of it is kept in the store.

    fleets: for each its runs, which differ in seed and values of the non-linearities only; these are names or Knots.
    report(number, fleet) is called from the thread, several times a second; end(error) once, when the training is over,
    with what went wrong or None.
    """

    def __init__(self, fleets: Sequence[Sequence[RunSpec]], report: Report, end: End):
        self.fleets, self._report, self._end = [list(specs) for specs in fleets], report, end
        self._stop = threading.Event()
        # daemon: an interpreter that wants to end does not wait for it
        self._thread = threading.Thread(target=self._run, name="lab live training", daemon=True)

    def start(self) -> Live:
        """Begin; returns at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ask it to end after the step that it is in; returns at once."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, for `timeout` seconds at most; whether it is over."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error = None
        try:
            with one_thread(), torch_defaults():
                self._train()
        except Exception as caught:  # a thread has nobody above it who would see it
            error = caught
        self._end(error)

    def _train(self) -> None:
        fleets = [fleet_of(specs, [tuple(spec.model.parts.values()) for spec in specs]) for specs in self.fleets]
        for number, fleet in enumerate(fleets):
            self._report(number, fleet)
        while not self._stop.is_set() and min(map(_done, fleets)) < 1:
            number = min(range(len(fleets)), key=lambda i: _done(fleets[i]))  # the one that is furthest behind
            self._turn(fleets[number])
            self._report(number, fleets[number])

    def _turn(self, fleet: Fleet) -> None:
        """Train a fleet until it is time to report."""
        clock = time.monotonic()

        def each_step(_) -> bool:
            return not self._stop.is_set() and time.monotonic() - clock < EVERY

        train(fleet, each_step)


def _done(fleet: Fleet) -> float:
    return fleet.step / fleet.recipe.last


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one core here; the others are for the page. torch keeps this number for each thread, and one for new
    threads, which gets its old value back when the last of several trainings ends."""
    with _lock:
        if _threads["users"] == 0:
            _threads["before"] = torch.get_num_threads()
        _threads["users"] += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _threads["users"] -= 1
            if _threads["users"] == 0:
                torch.set_num_threads(_threads["before"])


_lock, _threads = threading.Lock(), {"users": 0, "before": 1}
