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
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import torch

from lab import kinds
from lab.errors import ArgumentError, LabError, check_choice, check_whole
from lab.nonlinearity import op
from lab.nonlinearity.part import reshape
from lab.spec import (
    EpisodeSpec,
    HyperModel,
    Knots,
    KnotTable,
    Learned,
    ModelSpec,
    Part,
    Perceptron,
    Resolved,
    RunSpec,
    SearchSpec,
    Shaped,
    TwoLossSpec,
    is_search,
    needs,
)
from lab.store import Store
from lab.training import episodes, table_search
from lab.training.descent_fleet import fleet_of
from lab.training.episodes import Episodes
from lab.training.fleet import Fleet
from lab.training.loop import train as train_fleet
from lab.training.table_search import two_losses
from lab.training.two_loss import Search
from lab.training.two_loss import search as run_search
from lab.versions import trained_with
from lab.workers import Progress, in_processes, in_this_process

CHECKPOINT_SECONDS = 30.0
WAIT = 0.5  # seconds between two looks at what another process trains
CPU_FLEET_TOKENS = 4_000  # see fleet_size
GPU_BYTES = (
    400  # memory a fleet needs for each token × layer × channel of a step: activations kept for the backward pass
)
DEVICES = ("auto", "cpu", "cuda")
SMALL = 3e6  # work (see Job) that is over before a second process has started
Spec = RunSpec | SearchSpec | EpisodeSpec | TwoLossSpec
Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Job:
    """One call's worth of work: a search, or a fleet of runs."""

    specs: tuple[Spec, ...]
    device: str
    store: str

    @property
    def steps(self) -> int:
        """Training steps, for the progress bar; those of a fleet count once for each run."""
        first = self.specs[0]
        if isinstance(first, EpisodeSpec):
            return episodes.steps(first)
        models = first.models if two_losses(first) else 1
        return sum(spec.recipe.last for spec in self.specs) * models

    @property
    def work(self) -> float:
        """Rough number of values that a step's layers compute, over all steps."""
        first = self.specs[0]
        if isinstance(first, EpisodeSpec):
            return float(self.steps * episodes.pool(first) * first.model.width * first.model.layers)
        shapes = ((spec.model, spec.recipe, kinds.batch_size(spec)) for spec in self.specs)
        return sum(float(r.last * batch * m.width * max(1, m.layers)) for m, r, batch in shapes)

    @property
    def name(self) -> str:
        """What the progress bar calls it."""
        spec = self.specs[0]
        if isinstance(spec, EpisodeSpec):
            return f"{spec.task_name}: search by episodes"
        if isinstance(spec, TwoLossSpec):
            return f"{spec.task_name}: search by two losses"
        if isinstance(spec, SearchSpec):
            return f"{spec.task}: search {' + '.join(spec.learn)}"
        return f"{spec.task_name}: {len(self.specs)} runs"


def complete(specs: Iterable[Spec], store: Store, device: str = "auto", workers: int | None = None,
             report: Report | None = None) -> None:  # fmt: skip
    """Train whatever is missing, searches before the runs that need them. Everything finished is kept at once.

    What another process trains at this moment is left to it, and waited for when nothing else is to be done.
    workers: processes on a CPU (default: one a core). report(done, total, what) counts training steps.
    """
    device, workers, specs = choose_device(device), workers or _workers(), list(dict.fromkeys(specs))
    for spec in specs:
        if isinstance(spec, RunSpec):
            kinds.check_run(spec)
    before = dict.fromkeys(search for spec in specs for search in _all_searches(spec))
    for spec in before:
        if isinstance(spec, EpisodeSpec):
            episodes.check(spec)
        if isinstance(spec, TwoLossSpec):
            table_search.check(spec)
    wanted, done = list(dict.fromkeys([*before, *specs])), 0
    missing = [spec for spec in wanted if not store.has(spec)]
    if missing:
        store.check_writable()
        with suppress(LabError):  # what another user's process has left
            store.sweep()
        store.drop_needless()
    while missing:
        jobs = _jobs(store.free(missing), device, store)
        found_by = {spec: index for index, job in enumerate(jobs) for spec in job.specs}
        after = [{found_by[need] for spec in job.specs for need in needs(spec) if need in found_by} for job in jobs]
        ended = _perform(jobs, after, device, workers, _counter(jobs, done, report))
        done += sum(jobs[i].steps for i in ended)
        missing = [spec for spec in missing if not store.has(spec)]
        if missing and not ended:
            left = sum(job.steps for job in jobs)
            _wait(missing, store, lambda words, done=done, left=left: report and report(done, done + left, words))


def choose_device(device: str) -> str:
    """Where to train: "auto" is cuda where torch finds it, else cpu."""
    if check_choice("device", device, DEVICES) == "cuda" and not torch.cuda.is_available():
        raise ArgumentError("device 'cuda' was asked for, but torch finds no CUDA device; use cpu or auto")
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def resolve(part: Part, store: Store) -> Resolved:
    """A non-linearity with its values: what a search found is read from the store."""
    if isinstance(part, Shaped):
        return reshape(resolve(part.of, store), part.shape, part.degree)
    if not isinstance(part, Learned):
        return part
    _, weights, _ = store.load(part.search)
    search = part.search
    if part.part not in weights:
        raise ArgumentError(f"this search found no {part.part!r}; it found {', '.join(weights)}")
    values = weights[part.part].tolist()
    if isinstance(values[0], list):  # one function an input dimension
        return KnotTable(search.low, search.high, tuple(map(tuple, values)))
    return Knots(search.low, search.high, tuple(values))


def fleet_size(model: ModelSpec | HyperModel | Perceptron, batch: int, length: int, device: str) -> int:
    """How many runs of this shape train side by side fastest.

    CPU: stacking saves Python's overhead, which matters only while a step's tensors are small; past CPU_FLEET_TOKENS
    (tokens × width / 32; `benchmarks/fleet.py` measures the crossing) one run after the other is as fast, and
    leaves more fleets to share between the processes.
    """
    if device == "cuda":
        memory = torch.cuda.get_device_properties(0).total_memory
        return max(1, int(0.7 * memory / (GPU_BYTES * batch * length * max(1, model.layers) * model.breadth(length))))
    return max(1, int(CPU_FLEET_TOKENS / (batch * length * model.width / 32)))


def perform(job: Job, report: Callable[..., None] | None = None) -> bool:
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
        _train(job, store, report)
        return True


def _train(job: Job, store: Store, report: Callable[..., None]) -> None:
    first = job.specs[0]
    if isinstance(first, EpisodeSpec):
        return _episodes(job, store, report)
    if two_losses(first):
        given = {part: known for part, known in first.model.parts.items() if not table_search.learns(first, part)}
        given = {part: resolve(known, store) for part, known in given.items()}
        state, loop = table_search.searching(first, job.device, given), run_search
    else:
        parts = [tuple(resolve(part, store) for part in spec.model.parts.values()) for spec in job.specs]
        state, loop = fleet_of(job.specs, parts, job.device), train_fleet
    notes = _carry(job, store, state, loop, lambda fleet: report(fleet.step * len(fleet.specs)))
    if two_losses(first):
        _save_search(store, state, notes)
    else:
        if len(job.specs) > 1:  # a kill between two of the saves below must not leave the rest to another fleet
            store.keep_checkpoint(job.specs, state.state())
        _save_runs(store, state, notes)
    store.drop_checkpoint(job.specs)
    report(job.steps)


def _carry(job: Job, store: Store, state: Fleet | Episodes, loop: Callable, tell: Callable) -> dict:
    """Run a loop to its end, from its last checkpoint where there is one, keeping new ones; notes of what it took."""
    saved = store.checkpoint(job.specs)
    if saved is not None:
        state.restore(saved)
    kernel = op.kernel_name(job.device)  # before there is anything to lose: one that is asked for may not be there
    start, clock = time.perf_counter(), [time.monotonic()]

    def each_step(state: Fleet | Episodes) -> bool:
        tell(state)
        if time.monotonic() - clock[0] > CHECKPOINT_SECONDS and not state.over:
            store.keep_checkpoint(job.specs, state.state())
            clock[0] = time.monotonic()
        return True

    loop(state, each_step)
    return {
        "device": job.device,
        "device_name": device_name(job.device),
        "kernel": kernel,
        **trained_with(),
        "seconds": time.perf_counter() - start,
    }


def _episodes(job: Job, store: Store, report: Callable[..., None]) -> None:
    """A search by episodes, then the runs that decide between its restarts, which stay in the store like any other."""
    spec: EpisodeSpec = job.specs[0]
    given = {name: resolve(part, store) for name, part in spec.model.parts.items() if not episodes.learns(spec, name)}
    state = Episodes(spec, job.device, given)
    notes = _carry(job, store, state, episodes.search, lambda state: report(state.steps, state.words()))
    store.keep_checkpoint(job.specs, state.state())  # a kill among the runs below must not bring the search back
    start, found = time.perf_counter(), state.found()
    listed = episodes.contest(spec, found, given)
    wanted, done = [run for runs in listed for run in runs], episodes.steps(spec) - episodes.contest_steps(spec)
    while missing := [run for run in wanted if not store.has(run)]:
        ended = False
        for members in _jobs(store.free(missing), job.device, store):
            if perform(members, lambda steps, words="", done=done: report(done + steps, "trains with what was found")):
                ended, done = True, done + members.steps
        if not ended:
            _wait(missing, store, lambda words, done=done: report(done, words))
    results = []
    for runs in listed:
        stored = [store.load(run) for run in runs]
        results.append([episodes.result(run, s[0], s[2]["kept"]) for run, s in zip(runs, stored, strict=True)])
    winner = episodes.best(results)
    weights = {name: torch.tensor(part.values) for name, part in found[winner].items()}
    weights |= {f"{n}@{r}": torch.tensor(part.values) for r, parts in enumerate(found) for n, part in parts.items()}
    history = state.arrays() | {"died": state.died, "stopped": state.stopped, "results": np.array(results)}
    notes |= {"winner": winner, "seconds": notes["seconds"] + time.perf_counter() - start}
    store.save(spec, history, weights, notes)
    store.drop_checkpoint(job.specs)
    report(job.steps)


def device_name(device: str) -> str:
    """The device in words."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {os.cpu_count()} cores"


def _save_search(store: Store, state: Search, notes: dict) -> None:
    knots = {part: spline.values.detach().cpu() for part, spline in state.splines.items()}
    history = state.history.arrays() | {"search_loss": torch.tensor(state.search_loss).numpy(), "died": state.died}
    store.save(state.spec, history, knots, notes)


def _save_runs(store: Store, fleet: Fleet, notes: dict) -> None:
    arrays = fleet.history.arrays()
    for run, spec in enumerate(fleet.specs):
        history = {name: array if name == "steps" else array[:, run] for name, array in arrays.items()}
        diverged = None if fleet.died[run] < 0 else [int(fleet.died[run]), repr(float(fleet.last_value[run]))]
        own = notes | {"seconds": notes["seconds"] / len(fleet.specs), "fleet": len(fleet.specs), "diverged": diverged}
        own |= fleet.run_notes(run)
        if not store.has(spec):
            store.save(spec, history, fleet.run_weights(run), own)


def _wait(specs: Sequence[Spec], store: Store, tell: Callable[[str], object]) -> None:
    """Wait a moment for other processes that train these, with a word about one of them."""
    tell(f"waits for {store.holder(specs)}")
    time.sleep(WAIT)


def _all_searches(spec: Spec) -> list[SearchSpec | EpisodeSpec]:
    below = [search for need in needs(spec) for search in [*_all_searches(need), need]]
    return below + ([spec] if is_search(spec) else [])


def _jobs(specs: Sequence[Spec], device: str, store: Store) -> list[Job]:
    """Group specs into jobs. Fleets that were under way when the process ended go on as they were: their results then
    have the bits of an uninterrupted training, in whatever company they are asked for now."""
    asked, left, jobs = set(specs), set(specs), []
    for members in store.checkpoints():
        # where a function they train with is gone, they cannot go on: whoever is asked for of them starts anew
        if left & set(members) and all(store.has(need) or need in asked for spec in members for need in needs(spec)):
            jobs.append(Job(members, device, str(store.folder)))
            left -= set(members)
    fleets: dict[object, list[Spec]] = {}
    for spec in specs:
        if spec in left:
            fleets.setdefault(spec if is_search(spec) else kinds.shared(spec), []).append(spec)
    for members in fleets.values():
        size, first = 1, members[0]
        if isinstance(first, RunSpec):
            shape = kinds.sizes(first.task, first.task_seed)
            size = fleet_size(first.model, kinds.batch_size(first), shape.trained or shape.length, device)
        jobs += [Job(tuple(members[i : i + size]), device, str(store.folder)) for i in range(0, len(members), size)]
    # the longest first, so that no core waits at the end
    return sorted(jobs, key=lambda job: (_rank(job.specs[0]), -job.steps))


def _rank(spec: Spec) -> int:
    """Searches before what needs them."""
    return 2 if isinstance(spec, RunSpec) else len(needs(spec)) > 0


def _counter(jobs: Sequence[Job], before: int, report: Report | None) -> Progress:
    """Adds up the steps of the jobs, and those done before, and tells the sum."""
    done, total = [0] * len(jobs), before + sum(job.steps for job in jobs)

    def progress(index: int, steps: int, words: str) -> None:
        done[index] = steps
        if report is not None:
            report(before + sum(done), total, f"{jobs[index].name}, {words}" if words else jobs[index].name)

    return progress


def _workers() -> int:
    """Processes on a CPU: `LAB_WORKERS`, or one a core."""
    asked = os.environ.get("LAB_WORKERS") or os.cpu_count() or 1
    return check_whole("LAB_WORKERS", int(asked) if str(asked).isdecimal() and len(str(asked)) < 10 else asked)


def _perform(jobs: Sequence[Job], after: Sequence[set[int]], device: str, workers: int, progress: Progress) -> set[int]:
    """Do jobs; the indices of those that were done."""
    count = min(len(jobs), workers)
    if device == "cpu" and count > 1 and sum(job.work for job in jobs) > SMALL:
        return in_processes(jobs, perform, count, progress, after)
    return in_this_process(jobs, perform, 1 if device == "cpu" else torch.get_num_threads(), progress, after)
