"""A job, one call's worth of work; how specs are grouped into jobs, and how a job is done."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from lab.devices import device_name
from lab.errors import ArgumentError
from lab.jobs.course import Course
from lab.nonlinearity import native, op
from lab.spec import needs, sources
from lab.store import Spec, Store
from lab.store.sources import digests
from lab.versions import ARITHMETIC, arithmetic, trained_with

WAIT = 0.5  # seconds between two looks at what another process trains
Report = Callable[..., None]  # (steps done, where it stands in words)


@dataclass(frozen=True)
class Job:
    """One call's worth of work: specs that are trained together. keep: how many checkpoints of each, if any."""

    specs: tuple[Spec, ...]
    device: str
    store: str
    keep: int | None = None

    @property
    def steps(self) -> int:
        """Training steps, for the progress bar; those of a fleet count once for each run."""
        return sum(map(trainer(self.specs[0]).steps, self.specs))

    @property
    def size(self) -> float:
        """Rough number of values that a step's layers compute, over all steps."""
        return sum(map(trainer(self.specs[0]).size, self.specs))

    @property
    def name(self) -> str:
        """What the progress bar calls it."""
        return f"{self.specs[0].task_name}: {trainer(self.specs[0]).words(self.specs)}"


@dataclass(frozen=True, eq=False)
class Trainer:
    """How specs of one type are checked, grouped into jobs, described and trained.

    check: raises ArgumentError where a spec cannot be trained, before anything is. steps, size: of a spec, as of a
    `Job`. words: of the specs of a job. counted: how many specs these are, of any number of tasks, in words. train:
    from the last checkpoint where there is one; it stores the results.

    batch_key: specs with equal keys train in one fleet. most: how many of these, on a device. rank: types of a lower
    one are trained first. threads: those of torch that a spec is trained with on a CPU: in its identity where it may be
    another number than 1.
    """

    check: Callable[[Any], None]
    steps: Callable[[Any], int]
    size: Callable[[Any], float]
    words: Callable[[Sequence[Any]], str]
    counted: Callable[[Sequence[Any]], str]
    train: Callable[[Job, Store, Report], None]
    batch_key: Callable[[Any], object] = lambda spec: spec
    most: Callable[[Any, str], int] = lambda spec, device: 1
    rank: int = 0
    threads: Callable[[Any], int] = lambda spec: getattr(spec.recipe, "threads", 1)


TRAINERS: dict[type, Trainer] = {}  # by the class of specs; `lab.jobs.trainers` has them


def trainer(spec: object) -> Trainer:
    """How specs of this type are trained. ArgumentError for what is none."""
    for kind in type(spec).__mro__:
        if kind in TRAINERS:
            return TRAINERS[kind]
    raise ArgumentError(f"{type(spec).__name__} is nothing that the lab can train; give a run or a search")


def in_words(specs: Sequence[Any]) -> str:
    """What is trained, of all together: "addmod: 6 runs"; of several tasks "2 searches and 54 runs"."""
    groups: dict[Callable[[Sequence[Any]], str], list[Any]] = {}
    for spec in specs:
        groups.setdefault(trainer(spec).counted, []).append(spec)
    words = " and ".join(counted(several) for counted, several in groups.items())
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
            groups.setdefault(trainer(spec).batch_key(spec), []).append(spec)
    for group in groups.values():
        size = trainer(group[0]).most(group[0], device)
        jobs += [Job(tuple(group[i : i + size]), device, str(store.folder)) for i in range(0, len(group), size)]
    # the longest first, so that no core waits at the end; searches before what needs them
    return sorted(jobs, key=lambda job: (trainer(job.specs[0]).rank, bool(needs(job.specs[0])), -job.steps))


def perform(job: Job, report: Report | None = None) -> bool:
    """Do a job, from its last checkpoint where there is one, and store its results. report(steps done, in words).

    False: another process trains one of its specs, or has trained some of them since the job was planned.
    """
    store, report = Store(job.store), report or (lambda steps, words="": None)
    with store.lease(job.specs) as free:
        there = [store.has(spec, job.keep) for spec in job.specs]
        if all(there):  # another process was faster
            report(job.steps)
            return True
        if not free or (any(there) and store.checkpoint(job.specs) is None):
            return False
        trainer(job.specs[0]).train(job, store, report)
        store.drop_checkpoint(job.specs)
        report(job.steps)
        return True


def wait(specs: Sequence[Spec], store: Store, tell: Callable[[str], object]) -> None:
    """Wait a moment for other processes that train these, with a word about one of them."""
    tell(f"waits for {store.holder(specs)}")
    time.sleep(WAIT)


CHECKPOINT_SECONDS = 30.0
NOTES = "notes"  # name of the tensor with the notes so far, in a checkpoint


class State(Protocol):
    """What a loop works on."""

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""

    def state(self) -> dict[str, Tensor]:
        """Everything that a bit-for-bit continuation needs."""

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that `state` gave."""


def run_with_checkpoints(
    job: Job, store: Store, state: State, loop: Callable, tell: Callable[[Any], None], steps: Callable[[], str] = str
) -> dict:
    """Run a loop to its end, from its last checkpoint where there is one, keeping new ones; notes of what it took, in
    all processes that worked on it. One of another revision of the arithmetic, or of other data, is left: its result
    would be of two.

    steps: how steps were taken here, behind the name of the kernel.
    """
    before: Mapping[str, Any] = {}
    is_there = job.keep is None or all(store.has_course(spec, job.keep) for spec in job.specs)
    course = None if is_there else Course(job.specs, cast(int, job.keep))
    saved, revision, data = store.checkpoint(job.specs), arithmetic(job.specs[0]), digests(sources(tuple(job.specs)))
    written = None if saved is None else saved.pop(NOTES, None)
    said = {} if written is None else json.loads(bytes(written.tolist()))
    if (other := said.get("arithmetic", revision)) != revision:
        left = f"a checkpoint of revision {other} of the lab's arithmetic is left, today's is {revision}"
        print(f"{left}: training begins again", file=sys.stderr)
    elif saved is not None and said.get("data", data) != data:
        print(f"a checkpoint of another {', '.join(data)} is left: training begins again", file=sys.stderr)
    elif saved is not None and (course is None or course.restore(saved)):
        before = said
        state.restore(saved)
    # the kernel before there is anything to lose: one that is asked for may not be there
    here = {"device_name": device_name(job.device), "kernel": op.kernel_name(job.device)} | trained_with()
    here |= {"arithmetic": revision, "numerics": numerics(job.device)}
    start, clock = time.perf_counter(), [time.monotonic()]

    def so_far() -> dict:
        notes = _continued(before, here | {"kernel": here["kernel"] + steps()}) | ({"data": data} if data else {})
        return {"device": job.device} | notes | {"seconds": before.get("seconds", 0.0) + time.perf_counter() - start}

    def each_step(state: State) -> bool:
        tell(state)
        if course is not None:
            course.look(state)
        resumes = getattr(state, "resumes", True)
        if resumes and time.monotonic() - clock[0] > CHECKPOINT_SECONDS and not state.over:
            keep(job, store, state, so_far(), course)
            clock[0] = time.monotonic()
        return True

    if course is not None:
        course.look(state)
    loop(state, each_step)
    if course is not None:  # before the result: a kill between the two brings neither back
        course.save(store)
    return so_far()


def keep(job: Job, store: Store, state: State, notes: Mapping[str, Any], course: Course | None = None) -> None:
    """Write a checkpoint: a state, the notes, and the course so far."""
    written = torch.frombuffer(bytearray(json.dumps(dict(notes)).encode()), dtype=torch.uint8)
    store.keep_checkpoint(job.specs, state.state() | {NOTES: written} | (course.state() if course else {}))


def _continued(before: Mapping[str, Any], here: Mapping[str, str]) -> dict[str, str]:
    """Notes of a training that goes on here; what differs is named in its order: "AVX2, then AVX512"."""
    joined = {}
    for name, word in here.items():
        words = before.get(name, word).split(", then ")
        joined[name] = ", then ".join(words if words[-1] == word else [*words, word])
    return joined


@functools.cache
def numerics(device: str = "cpu") -> str:
    """Digest of how numbers are rounded here: of the bits of some products of matrices, sums, functions, splines and
    their gradients, in float32 with one thread, of the revision of the lab's arithmetic, and of how its kernels in C,
    which take steps, too, are compiled. 12 hexadecimal digits.

    Training can be chaotic: runs of one spec are sure to agree to their last step only where this agrees.

    >>> numerics() == numerics(), len(numerics())
    (True, 12)
    """
    angles = torch.linspace(-300, 300, 96 * 96, dtype=torch.float64)
    values = angles.sin().float().reshape(96, 96).to(device)
    threads, digest = torch.get_num_threads(), hashlib.sha256(str(ARITHMETIC).encode())
    if op.kernel_name(device) == "native":
        digest.update(native.build().encode())
    torch.set_num_threads(1)
    try:
        for rows in (1, 7, 33, 96):
            with torch.inference_mode(False), torch.enable_grad():
                x, knots = (part.clone().requires_grad_() for part in (values[:rows], values[0, :41]))
                y = torch.nn.functional.layer_norm(x @ values, (96,)).softmax(-1) + torch.nn.functional.gelu(x).tanh()
                (y.logsumexp(-1).sum() + op.spline(x, knots, -1.0, 1.0).square().mean()).backward()
            for part in (y.detach(), x.grad, knots.grad):
                digest.update(b"" if part is None else part.cpu().contiguous().numpy().tobytes())
    finally:
        torch.set_num_threads(threads)
    return digest.hexdigest()[:12]
