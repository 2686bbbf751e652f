"""Training that is watched: a fleet in a thread of this process, with one torch thread, which can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from lab.spec import RunSpec
from lab.training.fleet import Fleet
from lab.training.loop import train

Report = Callable[[Fleet], None]
End = Callable[[Exception | None], None]
EVERY = 0.2  # seconds between two reports


class Live:
    """The training of runs that differ in seed only; nothing of it is kept in the store.

    specs: their non-linearities are names or Knots. report(fleet) is called from the thread, several times a second;
    end(error) once, when the training is over, with what went wrong or None.
    """

    def __init__(self, specs: Sequence[RunSpec], report: Report, end: End):
        self.specs, self._report, self._end = list(specs), report, end
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
            with _one_thread():
                self._train()
        except Exception as caught:  # a thread has nobody above it who would see it
            error = caught
        self._end(error)

    def _train(self) -> None:
        parts = [tuple(spec.model.parts.values()) for spec in self.specs]
        fleet = Fleet(self.specs, parts)
        self._report(fleet)
        clock = time.monotonic()

        def each_step(fleet: Fleet) -> bool:
            nonlocal clock
            if time.monotonic() - clock > EVERY:
                clock = time.monotonic()
                self._report(fleet)
            return not self._stop.is_set()

        with torch.enable_grad():
            train(fleet, each_step)
        self._report(fleet)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one core here; the others are for the page. torch keeps this number for each thread, and one for new
    threads, which gets its old value back when the last of several trainings ends."""
    with _threads["lock"]:
        if _threads["users"] == 0:
            _threads["before"] = torch.get_num_threads()
        _threads["users"] += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _threads["lock"]:
            _threads["users"] -= 1
            if _threads["users"] == 0:
                torch.set_num_threads(_threads["before"])


_threads = {"lock": threading.Lock(), "users": 0, "before": 1}
