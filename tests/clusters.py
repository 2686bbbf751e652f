"""Real schedulers and workers, each a process that a test may kill."""

from __future__ import annotations

import secrets
from pathlib import Path

from tests.processes import Child, Ended, Nursery

SCHEDULER = """
import asyncio
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address=":0") as scheduler:
        print("at", scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""
# Keeps a checkpoint at every step; with a file `hold`, it stops in each fleet after so many steps until that is gone.
WORKER = """
import asyncio, os, time
from pathlib import Path
from distributed import Worker
from lab.cluster import workers
from lab.jobs import job, trainers
{more}
job.CHECKPOINT_SECONDS = -1.0
workers.LOOK = 0.05
carry, hold, at = job.run_with_checkpoints, Path({hold!r}), {at}
def slow(job, store, state, loop, tell, *steps):
    count = [0]
    def told(state):
        time.sleep({slow})
        tell(state)
        count[0] += 1
        if count[0] == at and hold.exists():
            print("holds", flush=True)
            while hold.exists():
                time.sleep(0.01)
    print("trains from", "a checkpoint" if store.checkpoint(job.specs) else "the start", flush=True)
    try:
        return carry(job, store, state, loop, told, *steps)
    finally:
        print("ends", flush=True)
trainers.run_with_checkpoints = slow
async def main():
    async with Worker({address!r}, nthreads=1, dashboard_address=":0", local_directory={folder!r}):
        print("here", flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
CLIENT = """
from distributed import Client
from lab import engine
from lab.cli import _failed
from lab.cluster import connected
from lab.errors import LabError
from tests.test_engine import *
try:
    with connected({address!r}) as client:
        engine.complete({specs}, Store(), "auto", None, lambda *told: print(*told, flush=True), cluster=client)
except LabError as error:
    raise SystemExit(_failed(error, 1))
except KeyboardInterrupt:
    print("interrupted")
"""


def trains(worker: Child) -> bool:
    """Whether a worker is in the middle of a job."""
    said = worker.out
    return said.count("trains from") > said.count("ends\n")


class Cluster:
    """A scheduler, and workers as they are asked for. hold: see WORKER. environment: of workers and commands."""

    def __init__(self, nursery: Nursery, folder: Path, **environment: str):
        self.nursery, self.folder, self.hold, self.environment = nursery, folder, folder / "hold", environment
        self.children: list[Child] = []
        self.scheduler = self._keep(nursery.start(SCHEDULER))
        self.scheduler.has_said("at ")
        self.address = next(line.split()[1] for line in self.scheduler.out.splitlines() if line.startswith("at "))

    def worker(self, more: str = "", at: int = 3, slow: float = 0.0) -> Child:
        """A new one, which is there. more: code that it runs first. at: steps after which it holds. slow: seconds that
        a step lasts longer."""
        own = self.folder / secrets.token_hex(4)
        own.mkdir()
        code = WORKER.format(more=more, hold=str(self.hold), at=at, address=self.address, folder=str(own), slow=slow)
        child = self._keep(self.nursery.start(code, **self.environment))
        child.has_said("here")
        return child

    def start(self, specs: str, store: Path | str) -> Child:
        """A process that wants these specs of tests/test_engine.py."""
        code = CLIENT.format(address=self.address, specs=specs)
        return self._keep(self.nursery.start(code, LAB_STORE=store, **self.environment))

    def complete(self, specs: str, store: Path) -> Ended:
        """The end of such a process."""
        return self.start(specs, store).wait()

    def close(self) -> None:
        """End all processes."""
        for child in self.children:
            child.end()

    def _keep(self, child: Child) -> Child:
        self.children.append(child)
        return child
