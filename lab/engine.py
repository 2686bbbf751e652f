"""The engine: which runs are missing from the store, and training them.

Specs that differ only in what runs of a fleet may differ in (`lab.training.fleet`) form one. On a GPU a whole fleet
trains at once; on a CPU, processes with one thread each take fleets of the size that is fastest for their shape. Two
torch processes with two threads each would stall each other tenfold, and with one thread the number of cores changes
no bit.

Several processes may work on one store. Each takes a lease on what it trains (`lab.store.leases`); the others train
something else meanwhile, or wait for the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from lab.cluster import Members, in_cluster
from lab.devices import choose_device, planned_for_gpu
from lab.errors import LabError, check_whole
from lab.jobs.job import Job, in_words, jobs_of, perform, trainer, wait
from lab.spec import all_needs, is_search, known_here_alone, needs
from lab.store import Spec, Store
from lab.training.fleet import torch_defaults
from lab.workers import Progress, in_processes, in_this_process

if TYPE_CHECKING:
    from distributed import Client

SMALL = 3e6  # size of jobs that are over before a second process has started
Report = Callable[[int, int, str], None]


@torch_defaults()
def complete(
    specs: Iterable[Spec],
    store: Store,
    device: str = "auto",
    workers: int | None = None,
    report: Report | None = None,
    cluster: Client | None = None,
    urgency: Mapping[Spec, float] | None = None,
    keep: int | None = None,
) -> None:
    """Train whatever is missing, searches before the runs that need them. Everything finished is kept at once.

    What another process trains at this moment is left to it, and waited for when nothing else is to be done.
    workers: processes on a CPU (default: one a core). report(done, total, what) counts training steps. cluster: whose
    workers do the work instead (`lab.cluster`), on the device that they offer; `store` must be seen by all of them.
    urgency: of specs that go before others there. keep: how many checkpoints of each of `specs` are kept; what has
    none is trained again.
    """
    workers, specs = workers or _workers(), list(dict.fromkeys(specs))
    report = report or (lambda done, total, what: None)
    device = choose_device(device) if cluster is None else device
    before = dict.fromkeys(each for spec in specs for each in [*all_needs(spec), *filter(is_search, [spec])])
    for spec in (*specs, *before):
        trainer(spec).check(spec)
    wanted, done = list(dict.fromkeys([*before, *specs])), 0
    keep_of = dict.fromkeys(specs, keep)
    missing = [spec for spec in wanted if not store.has(spec, keep_of.get(spec))]
    if missing:
        store.check_writable()
        with suppress(LabError):  # what another user's process has left
            store.sweep()
        store.drop_checkpoints_of_stored(missing)
    what = in_words(missing)
    members = Members(cluster, device, store) if missing and cluster is not None else None
    while missing:
        with planned_for_gpu(members.gpu_memory) if members and members.gpu_memory else nullcontext():
            jobs = jobs_of(store.free(missing), members.device if members else device, store)
        jobs = [
            replace(job, keep=max((keep_of.get(spec) or 0 for spec in job.specs), default=0) or None) for job in jobs
        ]
        found_by = {spec: index for index, job in enumerate(jobs) for spec in job.specs}
        after = [{found_by[need] for spec in job.specs for need in needs(spec) if need in found_by} for job in jobs]
        if members:
            ended = _in_cluster(jobs, after, members, _counter(jobs, done, report, ""), urgency or {})
        else:
            ended = _perform(jobs, after, device, workers, _counter(jobs, done, report, what))
        done += sum(jobs[i].steps for i in ended)
        missing = [spec for spec in missing if not store.has(spec, keep_of.get(spec))]
        if missing and not ended:
            left = sum(job.steps for job in jobs)
            wait(missing, store, partial(report, done, done + left))


def _in_cluster(
    jobs: Sequence[Job], after: Sequence[set[int]], members: Members, progress: Progress, urgency: Mapping[Spec, float]
) -> set[int]:
    """As `_perform`, on the workers of a cluster. A search is as urgent as what waits for it."""
    urgent = [max((urgency.get(spec, 0.0) for spec in job.specs), default=0.0) for job in jobs]
    known: list[float] = []
    while known != urgent:  # a search that waits for a search passes it on
        known = list(urgent)
        for index, before in enumerate(after):
            for i in before:
                urgent[i] = max(urgent[i], urgent[index])
    return in_cluster(jobs, members, progress, after, urgent)


def _counter(jobs: Sequence[Job], before: int, report: Report, what: str) -> Progress:
    """Adds up the steps of the jobs, and those done before, and tells the sum. what: all that is counted, in words,
    which come before those of the job that is under way; empty where those say all."""
    done, total = [0] * len(jobs), before + sum(job.steps for job in jobs)

    def progress(index: int, steps: int, words: str) -> None:
        done[index] = steps
        report(before + sum(done), total, ", ".join(filter(None, [what, words])) or jobs[index].name)

    return progress


def _workers() -> int:
    """Processes on a CPU: `LAB_WORKERS`, or one a core."""
    asked: Any = os.environ.get("LAB_WORKERS") or os.cpu_count() or 1
    return check_whole("LAB_WORKERS", int(asked) if str(asked).isdecimal() and len(str(asked)) < 10 else asked)


def _perform(jobs: Sequence[Job], after: Sequence[set[int]], device: str, workers: int, progress: Progress) -> set[int]:
    """Do jobs; the indices of those that were done."""
    count = min(len(jobs), workers)
    here = any(known_here_alone(spec) for job in jobs for spec in job.specs)
    if device == "cpu" and count > 1 and not here and sum(job.size for job in jobs) > SMALL:
        return in_processes(jobs, perform, count, progress, after)
    as_asked = [trainer(job.specs[0]).threads(job.specs[0]) for job in jobs]
    threads = as_asked if device == "cpu" else [torch.get_num_threads()] * len(jobs)
    return in_this_process(jobs, perform, threads, progress, after)
