"""What runs on a worker: it says what it is, and does one job at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import torch

from lab.errors import LabError
from lab.jobs.job import Job, perform
from lab.spec import needs
from lab.store import Spec, Store
from lab.versions import source_digest

PATIENCE = 60.0  # seconds in which a store must show what another machine has written
LOOK = 0.5  # seconds between two looks, and between two words about the progress
BUSY = Lock()  # fleets have torch's threads and the process's memory to themselves


class Cancelled(BaseException):
    """Nobody wants the result any more. Not an Exception: nothing on the way may take it for a failure."""


@dataclass(frozen=True)
class Version:
    """What decides the bits of a result: the lab's own code, and torch."""

    code: str
    torch: str

    def __str__(self) -> str:
        return f"lab {self.code[:8]} with torch {self.torch}"


@dataclass(frozen=True)
class Order:
    """A job for a worker. topic: where it tells its progress, under the job's index."""

    job: Job
    index: int
    topic: str
    version: Version


def version() -> Version:
    """That of this process."""
    return Version(source_digest(), str(torch.__version__))


def busy() -> bool:
    """Whether this process trains something."""
    return BUSY.locked()


async def introduce(folder: str, marker: str) -> dict[str, Any]:
    """What a worker is: version, GPU memory in bytes (0: no GPU), and whether it sees `marker` in the store.

    A coroutine, so that the worker answers others while the store is slow.
    """
    end, store = time.monotonic() + PATIENCE, Store(folder)
    while not (sees := store.has_marker(marker)) and time.monotonic() < end:
        await asyncio.sleep(LOOK)
    memory = torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else 0
    return {"version": version(), "gpu_memory": memory, "sees": sees}


def do(order: Order, *before: object) -> bool | str:
    """Do a job. before: what the jobs that it waits for have given.

    False: it cannot be done at this moment (see `perform`). A text: this worker is no place for it, and why.
    """
    if not all(given is True for given in before):
        return False
    if (mine := version()) != order.version:
        return other_version(mine, order.version)
    report = _Reporter(order)
    with _alone(report):
        store = Store(order.job.store)
        wait_for([need for spec in order.job.specs for need in needs(spec)], store, report.check)
        return perform(order.job, report)


def other_version(theirs: Version, ours: Version) -> str:
    """Why a worker is left out."""
    return f"it has another version ({theirs}; here {ours}): install the same there"


def wait_for(specs: list[Spec], store: Store, check: Any = lambda: None) -> None:
    """Wait until results that were finished elsewhere are visible here. LabError after PATIENCE."""
    end = time.monotonic() + PATIENCE
    for spec in dict.fromkeys(specs):
        while not store.has(spec):
            if time.monotonic() > end:
                raise LabError(
                    f"the store {store.folder} does not show what another machine has written there {PATIENCE:.0f} "
                    "seconds ago; name a folder with LAB_STORE that all machines share"
                )
            check()
            time.sleep(LOOK)


class _Reporter:
    """Reports the progress of a job, as `perform` wants it, and ends a job that was cancelled."""

    def __init__(self, order: Order):
        from distributed import get_worker
        from distributed.worker import thread_state

        self._worker, self._key, self._order, self._clock = get_worker(), thread_state.key, order, 0.0

    def __call__(self, steps: int, words: str = "") -> None:
        if time.monotonic() - self._clock > LOOK:
            self._clock = time.monotonic()
            self.check()
            message = {
                "job": self._order.index,
                "steps": steps,
                "words": words,
                "worker": str(self._worker.name).partition("://")[2] or str(self._worker.name),
            }
            self._worker.log_event(self._order.topic, message)

    def check(self) -> None:
        """Raise Cancelled where this task is wanted no more: its thread cannot be ended from outside."""
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise Cancelled


@contextmanager
def _alone(report: _Reporter) -> Iterator[None]:
    """With one thread of torch, as the engine's own processes, and no other job in this process."""
    while not BUSY.acquire(timeout=LOOK):
        report.check()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        BUSY.release()
