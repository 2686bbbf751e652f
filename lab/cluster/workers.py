"""The workers of a cluster: what runs on one, which does one job at a time; and which of them are of this version and
see the store, and on what device they train."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch

from lab.devices import DEVICES
from lab.errors import LabError, check_choice
from lab.jobs.job import Job, perform
from lab.spec import needs
from lab.store import Spec, Store
from lab.versions import source_digest

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 60.0  # seconds in which a store must show what another machine has written
ARRIVE = 60.0  # seconds in which a first worker must come
GPU = "GPU"  # the resource by which Dask knows a worker with a GPU: `dask worker --resources GPU=1`
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


class Members:
    """Who trains. device: of all jobs, "cuda" where a worker offers the resource GPU. gpu_memory: the least, in bytes.

    A worker that is left out is named on stderr. Raises LabError where none remains.
    """

    def __init__(self, client: Client, device: str, store: Store):
        self.client, self.store, self.version = client, store, version()
        self.good: dict[str, dict] = {}
        self.bad: dict[str, str] = {}
        check_choice("device", device, DEVICES)
        end = time.monotonic() + ARRIVE
        while not self._workers():
            if time.monotonic() > end:
                where = client.scheduler.address  # type: ignore[union-attr]  # it is connected
                raise LabError(f"no worker came in {ARRIVE:.0f} seconds; start one with `dask worker {where}`")
            time.sleep(0.05)
        self.look()
        if not self.good:
            reasons = "; ".join(f"{address}: {reason}" for address, reason in list(self.bad.items())[:3])
            raise LabError(f"no worker can be used. {reasons}")
        offers = {address for address in self.good if self._offers(address)}
        if device == "cuda" and not offers:
            raise LabError(f"device 'cuda' was asked for, but no worker offers it; start them with --resources {GPU}=1")
        self.device = "cuda" if offers and device != "cpu" else "cpu"
        self.gpu_memory = min((self.good[address]["gpu_memory"] for address in offers), default=0)

    @property
    def where(self) -> dict[str, Any]:
        """Where Dask may put a job: options of `Client.submit`."""
        options: dict[str, Any] = {"resources": {GPU: 1}} if self.device == "cuda" else {}
        if self.bad:  # else whoever comes may take it
            options["workers"] = sorted(self.good)
        return options

    def look(self) -> None:
        """Ask the workers who are here now and were not asked yet."""
        new = [address for address in self._workers() if address not in self.good and address not in self.bad]
        if not new:
            return
        with self.store.marker() as marker:
            folder = str(self.store.folder)
            answers = self.client.run(introduce, folder, marker, workers=new, on_error="return")
        for address, answer in answers.items():
            reason = self._reason(address, answer)
            if reason is None:
                self.good[address] = answer
            else:
                self.leave_out(address, reason)

    def leave_out(self, address: str, reason: str) -> None:
        """Give this worker no jobs."""
        self.good.pop(address, None)
        if self.bad.get(address) != reason:
            self.bad[address] = reason
            print(f"worker {address} is left out: {reason}", file=sys.stderr, flush=True)

    def _reason(self, address: str, answer: Any) -> str | None:
        if isinstance(answer, BaseException):
            return f"it has no lab, or an older one ({type(answer).__name__}: {answer})"
        if answer["version"] != self.version:
            return other_version(answer["version"], self.version)
        if not answer["sees"]:
            return f"it does not see the store {self.store.folder}; name one with LAB_STORE that all machines share"
        if self._offers(address) and not answer["gpu_memory"]:
            return f"it offers {GPU}, but its torch finds none"
        return None

    def _workers(self) -> dict[str, dict]:
        """What Dask knows of each worker, by address."""
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def _offers(self, address: str) -> bool:
        return bool(self._workers().get(address, {}).get("resources", {}).get(GPU))
