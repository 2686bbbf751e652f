"""A job, one call's worth of work; how specs are grouped into jobs, and how a job is done."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from lab.errors import ArgumentError
from lab.spec import needs
from lab.store import Spec, Store

WAIT = 0.5  # seconds between two looks at what another process trains
Tell = Callable[..., None]  # (steps done, where it stands in words)


@dataclass(frozen=True)
class Job:
    """One call's worth of work: specs that are trained together."""

    specs: tuple[Spec, ...]
    device: str
    store: str

    @property
    def steps(self) -> int:
        """Training steps, for the progress bar; those of a fleet count once for each run."""
        return work(self.specs[0]).steps(self.specs)

    @property
    def size(self) -> float:
        """Rough number of values that a step's layers compute, over all steps."""
        return work(self.specs[0]).size(self.specs)

    @property
    def name(self) -> str:
        """What the progress bar calls it."""
        return work(self.specs[0]).name(self.specs)


class Work(ABC):
    """What the engine must know of a kind of spec. specs: those of one job."""

    rank = 0  # kinds of a lower rank are trained first
    nouns = ("search", "searches")  # one, and several

    @abstractmethod
    def check(self, spec: Any) -> None:
        """Raise ArgumentError where it cannot be trained, before anything is."""

    def batch_key(self, spec: Any) -> object:
        """Equal for specs that may be in one job."""
        return spec

    def threads(self, spec: Any) -> int:
        """Those of torch that it is trained with on a CPU: in its identity where it may be another number than 1."""
        return getattr(spec.recipe, "threads", 1)

    def most(self, spec: Any, device: str) -> int:
        """How many may be in one job."""
        return 1

    def counted(self, specs: Sequence[Any]) -> str:
        """How many these are, in words; of any number of tasks."""
        return f"{len(specs):,} {self.nouns[len(specs) != 1]}"

    @abstractmethod
    def steps(self, specs: Sequence[Any]) -> int:
        """As `Job.steps`."""

    @abstractmethod
    def size(self, specs: Sequence[Any]) -> float:
        """As `Job.size`."""

    @abstractmethod
    def name(self, specs: Sequence[Any]) -> str:
        """As `Job.name`."""

    @abstractmethod
    def train(self, job: Job, store: Store, report: Tell) -> None:
        """Train, from the last checkpoint where there is one, and store the results."""


@singledispatch
def work(spec: object) -> Work:
    """What this kind of spec is to the engine; each kind registers its own."""
    raise ArgumentError(f"{type(spec).__name__} is nothing that the lab can train; give a run or a search")


def in_words(specs: Sequence[Any]) -> str:
    """What is trained, of all together: "addmod: 6 runs"; of several tasks "2 searches and 54 runs"."""
    kinds: dict[type, list[Any]] = {}
    for spec in specs:
        kinds.setdefault(type(work(spec)), []).append(spec)
    words = " and ".join(work(several[0]).counted(several) for several in kinds.values())
    tasks = {spec.task_name for spec in specs}
    return f"{tasks.pop()}: {words}" if len(tasks) == 1 else words


def jobs_of(specs: Sequence[Spec], device: str, store: Store) -> list[Job]:
    """Group specs into jobs. Fleets that were under way when the process ended go on as they were: their results then
    have the bits of an uninterrupted training, in whatever company they are asked for now."""
    asked, left, jobs = set(specs), set(specs), []
    for members in store.checkpoints():
        # where a function they train with is gone, they cannot go on: runs whose search is gone start again
        if left & set(members) and all(store.has(need) or need in asked for spec in members for need in needs(spec)):
            jobs.append(Job(members, device, str(store.folder)))
            left -= set(members)
    groups: dict[object, list[Spec]] = {}
    for spec in specs:
        if spec in left:
            groups.setdefault(work(spec).batch_key(spec), []).append(spec)
    for group in groups.values():
        size = work(group[0]).most(group[0], device)
        jobs += [Job(tuple(group[i : i + size]), device, str(store.folder)) for i in range(0, len(group), size)]
    # the longest first, so that no core waits at the end; searches before what needs them
    return sorted(jobs, key=lambda job: (work(job.specs[0]).rank, bool(needs(job.specs[0])), -job.steps))


def perform(job: Job, report: Tell | None = None) -> bool:
    """Do a job, from its last checkpoint where there is one, and store its results. report(steps done, in words).

    False: another process trains one of its specs, or has trained some of them since the job was planned.
    """
    store, report = Store(job.store), report or (lambda steps, words="": None)
    with store.lease(job.specs) as free:
        there = [store.has(spec) for spec in job.specs]
        if all(there):  # another process was faster
            report(job.steps)
            return True
        if not free or (any(there) and store.checkpoint(job.specs) is None):
            return False
        work(job.specs[0]).train(job, store, report)
        return True


def wait(specs: Sequence[Spec], store: Store, tell: Callable[[str], object]) -> None:
    """Wait a moment for other processes that train these, with a word about one of them."""
    tell(f"waits for {store.holder(specs)}")
    time.sleep(WAIT)
