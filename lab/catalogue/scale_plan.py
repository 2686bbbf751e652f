"""What the catalogue costs at a scale, and how it spreads over workers: by simulation, from recorded step times.

For each kind of model, seconds of a step = overhead + multiplications × rate. Both are fitted to the totals that the
provenance of shipped results has (`training_seconds`), each total with the same relative weight; then all are scaled
so that half of the results took less than the fit says. (Least squares alone are too low: what takes half as long as
the fit says counts more than what takes twice as long.)
"""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from lab import kinds
from lab.catalogue.registry import entries
from lab.catalogue.shipped import shipped_plan, shipped_results
from lab.errors import LabError
from lab.jobs.job import CHECKPOINT_SECONDS, Job, trainer
from lab.jobs.trainers import fleet_size
from lab.kinds import Sizes
from lab.scale import SCALES, check_scale
from lab.spec import FineTuning, RunSpec, all_needs, is_search, key, needs
from lab.store import Store

RECORDED = ("laptop", "overnight")  # scales whose step times are fitted
WORKERS = (1, 8, 64)
HOUR = 3600.0
NUMBER = 4  # bytes
STATE = 3 * NUMBER  # bytes of a parameter in a checkpoint: itself, and what Adam remembers of it
HISTORY = 20e3  # bytes of a result besides its weights, roughly
BACKWARD = 3  # forward and backward, in multiples of forward
ROWS, INPUTS, WORDS = 4000, 784, 10_000  # of data that are not here: rows, numbers in one, different words of a text


@dataclass(frozen=True)
class Record:
    """A shipped result: seconds of all its runs, and for each run its kind, steps and multiplications a step."""

    entry: str
    scale: str
    seconds: float
    runs: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class StepTimes:
    """overhead, rate: by kind of model, in seconds a step and seconds a multiplication."""

    records: tuple[Record, ...]

    @cached_property
    def fitted(self) -> dict[str, tuple[float, float]]:
        """Overhead and rate of each kind that is recorded."""
        from scipy.optimize import nnls

        names = sorted({name for record in self.records for name, *_ in record.runs})
        rows = np.zeros((len(self.records), len(names), 2))
        for row, record in zip(rows, self.records, strict=True):
            for name, steps, multiplications in record.runs:
                row[names.index(name)] += np.array([steps, steps * multiplications]) / record.seconds
        for i, name in enumerate(names):  # of steps of one size, nothing tells what is overhead
            if len({run[2] for record in self.records for run in record.runs if run[0] == name}) == 1:
                rows[:, i, 0] = 0.0
        flat = rows.reshape(len(self.records), -1)
        size = np.abs(flat).max(0, initial=0.0)
        size[size == 0] = 1.0
        values = nnls(flat / size, np.ones(len(flat)))[0] / size
        values /= np.median(flat @ values) if len(flat) else 1.0
        return {name: (float(a), float(b)) for name, (a, b) in zip(names, values.reshape(-1, 2), strict=True)}

    @cached_property
    def ratios(self) -> list[float]:
        """Of each record: seconds by the fit, as a share of those that it took."""
        return [sum(self.of_steps(*run) for run in record.runs) / record.seconds for record in self.records]

    def of_steps(self, kind: str, steps: float, multiplications: float) -> float:
        """Seconds on a core. A kind without records counts as the slowest of those that have some."""
        overhead, rate = self.fitted.get(kind) or tuple(map(max, zip(*self.fitted.values(), strict=True)))
        return steps * (overhead + rate * multiplications)


def recorded() -> StepTimes:
    """From the results that are shipped, as far as they have the runs that the entries plan now and a CPU alone trained
    them. Figures that show the same runs count once."""
    records: dict[frozenset[str], Record] = {}
    for entry in entries().values():
        for scale in RECORDED:
            facts = shipped_results(entry.name, scale).facts if scale in entry.scales else {}
            if not facts:
                continue
            planned = dict.fromkeys(spec for _, spec in shipped_plan(entry, facts))
            keys = frozenset(map(key, planned))
            # of joined runs the seconds are not known
            whole = keys == set(facts["runs"]) and "joined" not in facts and facts["device"] == "cpu"
            if facts.get("training_seconds") and whole and not guessed_sizes(planned):
                runs = tuple(cost(spec) for spec in planned)
                records.setdefault(keys, Record(entry.name, scale, float(facts["training_seconds"]), runs))
    return StepTimes(tuple(records.values()))


def cost(spec: Any) -> tuple[str, float, float]:
    """Kind of model, steps, and multiplications of a step. Searches count the steps of all their models."""
    if several := getattr(spec, "searches", ()):  # of several tasks at once
        costs = [cost(search) for search in several]
        steps = sum(each for _, each, _ in costs)
        return costs[0][0], steps, sum(each * size for _, each, size in costs) / steps
    ((single, task),) = _tasks(spec)
    sizes = _sizes(task, single.task_seed)
    if isinstance(spec, FineTuning):
        tuning = spec.tuning
        sizes = replace(sizes, length=tuning.length, trained=None, outputs=2)
        steps, batch = tuning.epochs * (spec.examples or ROWS) / tuning.batch, tuning.batch
    elif isinstance(spec, RunSpec):
        steps, batch = spec.recipe.last, spec.recipe.batch
    elif spec.by.startswith("episodes"):
        restarts = len(spec.restarts)
        steps = sum(spec.inner_steps(episode) for episode in range(spec.episodes)) * restarts
        steps, batch = steps + restarts * spec.retrain_seeds * spec.retrain.last, spec.inner.batch
    else:  # a step of the weights, and one of the function
        steps, batch = 2 * spec.models * spec.recipe.last, spec.recipe.batch
    return type(spec.model).__name__, steps, _step(spec.model, sizes, batch)


def parameters(model: Any, sizes: Sizes) -> float:
    """Weights of a model, those that products are taken with; embeddings of tokens count once."""
    if sizes.form == "row":
        between = max(0, model.layers - 1) * model.width**2
        return sizes.inputs * model.width + between + model.width * sizes.outputs
    attention = getattr(model, "heads", 1) * getattr(model, "head_width", 0) or getattr(model, "key_width", model.width)
    inner = getattr(model, "mlp_width", None) or getattr(model, "inner", None) or 4 * model.width
    experts = max(1, getattr(model, "experts", 0))
    return model.layers * model.width * (4 * attention + 2 * inner * experts) + model.width * sizes.outputs


def weights(spec: Any) -> float:
    """Parameters of the model of a run or a search."""
    return sum(parameters(single.model, _sizes(task, single.task_seed)) for single, task in _tasks(spec))


def _step(model: Any, sizes: Sizes, batch: int | None) -> float:
    """Multiplications of a step."""
    rows, each = batch or sizes.examples or ROWS, parameters(model, sizes)
    if sizes.form == "row":
        return BACKWARD * rows * each
    length = sizes.trained or sizes.length
    return BACKWARD * rows * length * (each + 2 * model.layers * length * getattr(model, "key_width", model.width))


def _sizes(task: Any, seed: int) -> Sizes:
    """What the examples of a task look like; guessed where its data are not here."""
    known, task = _known_sizes(task, seed), getattr(task, "text", task)
    if known is None and hasattr(task, "context"):
        words = 100 if task.tokens == "char" else WORDS
        return Sizes("tokens", words, words, task.context)
    return known or Sizes("row", INPUTS, 10, examples=ROWS)


@cache
def _known_sizes(task: Any, seed: int) -> Sizes | None:
    return _or(lambda: kinds.sizes(task, seed), None)


def guessed_sizes(specs: Iterable[Any]) -> bool:
    """Whether the size of some data is guessed, because they are not here."""
    tasks = {(task, single.task_seed) for spec in specs for single, task in _tasks(spec)}
    return any(_known_sizes(*task) is None for task in tasks)


def _tasks(spec: Any) -> list[tuple[Any, Any]]:
    """The searches or the run that a spec is, each with its task; of a search by episodes, the first one."""
    several = [spec.pretrained] if isinstance(spec, FineTuning) else getattr(spec, "searches", (spec,))
    return [(single, single.tasks[0] if hasattr(single, "tasks") else single.task) for single in several]


@dataclass(frozen=True)
class Row:
    """An entry, or all of them. Minutes of a GPU as the catalogue guesses them; bytes written.

    guessed: whether sizes of data that are not here are guessed. spreads: by workers.
    """

    name: str
    runs: int
    searches: int
    gpu_minutes: float
    spreads: tuple[Spread, ...]
    results: float
    checkpoints: float
    guessed: bool


def rows(scale: str = "paper", times: StepTimes | None = None, names: Sequence[str] | None = None) -> list[Row]:
    """A row for each entry for which something is trained, and a last one for all together, runs they share once."""
    check_scale(scale, SCALES)
    times, table, together, minutes = times or recorded(), [], dict[Any, None](), 0.0
    for entry in entries().values():
        planned, later = entry.known(scale, entry.seeds[scale], Store()) if scale in entry.scales else ([], [])
        specs = list(dict.fromkeys(spec for _, spec in [*planned, *later]))
        specs = list(dict.fromkeys([*(each for spec in specs for each in all_needs(spec)), *specs]))  # searches first
        if specs and (names is None or entry.name in names):
            table.append(_row(entry.name, specs, entry.minutes[scale], times))
            together |= dict.fromkeys(specs)
            minutes += entry.minutes[scale]
    return table + ([_row("all together", list(together), minutes, times)] if names is None else [])


def _row(name: str, specs: list[Any], gpu_minutes: float, times: StepTimes) -> Row:
    jobs = _jobs(specs)
    place = {spec: index for index, job in enumerate(jobs) for spec in job}
    after = [{place[need] for spec in job for need in needs(spec)} for job in jobs]
    seconds = [sum(times.of_steps(*cost(spec)) for spec in job) for job in jobs]
    state = [STATE * sum(map(weights, job)) for job in jobs]
    return Row(
        name=name,
        runs=sum(isinstance(spec, RunSpec) for spec in specs),
        searches=sum(map(is_search, specs)),
        gpu_minutes=gpu_minutes,
        spreads=tuple(spread(seconds, after, count) for count in WORKERS),
        results=sum(NUMBER * weights(spec) + HISTORY for spec in specs),
        checkpoints=sum(int(time / CHECKPOINT_SECONDS) * bytes for time, bytes in zip(seconds, state, strict=True)),
        guessed=guessed_sizes(specs),
    )


def _jobs(specs: list[Any]) -> list[tuple[Any, ...]]:
    """Fleets and searches as the engine makes them on CPUs, in its order."""
    groups: dict[object, list[Any]] = {}
    for spec in specs:
        groups.setdefault(_or(partial(trainer(spec).batch_key, spec), spec), []).append(spec)
    jobs = []
    for first, *others in groups.values():
        guess = fleet_size(first.model, first.recipe.batch or ROWS, 1, "cpu") if isinstance(first, RunSpec) else 1
        most = _or(partial(trainer(first).most, first, "cpu"), guess)
        jobs += [tuple([first, *others][i : i + most]) for i in range(0, 1 + len(others), most)]

    def place(job: tuple[Any, ...]) -> tuple:
        return trainer(job[0]).rank, bool(needs(job[0])), -_or(lambda: Job(job, "cpu", "").steps, 0)

    return sorted(jobs, key=place)


def _or(ask: Callable[[], Any], otherwise: Any) -> Any:
    """What is asked, or something else where it takes data that are not here."""
    try:
        return ask()
    except LabError:
        return otherwise


def text(rows: Iterable[Row], times: StepTimes) -> str:
    """The table, in Markdown."""
    names = ["entry", "runs", "searches", "GPU-minutes, guessed", "CPU-hours"]
    names += [f"hours, {count} worker{'s' if count > 1 else ''}" for count in WORKERS]
    names += ["longest chain, hours", "results, GB", "checkpoints, GB"]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for row in rows:
        first, hours = row.spreads[0], [_short(one.lasts / HOUR, 3) for one in row.spreads]
        cells = [f"`{row.name}`{' *' if row.guessed else ''}", str(row.runs), str(row.searches), f"{row.gpu_minutes:g}"]
        cells += [_short(first.total / HOUR, 3), *hours, _short(first.critical / HOUR, 3)]
        cells += [_short(row.results / 1e9, 2), _short(row.checkpoints / 1e9, 2)]
        lines.append(f"| {' | '.join(cells)} |")
    low, middle, high = statistics.quantiles(times.ratios, n=4) if len(times.ratios) > 1 else [float("nan")] * 3
    fit = f"Step times are fitted to {len(times.ratios)} shipped results: what the fit says of them is {middle:.2f}"
    return "\n".join([*lines, "", f"{fit} times what they took (quartiles {low:.2f} and {high:.2f})."])


def _short(number: float, digits: int) -> str:
    """With so many digits that say something.

    >>> _short(115_213.0, 3), _short(0.0412, 2)
    ('115,000', '0.041')
    """
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


@dataclass(frozen=True)
class Spread:
    """Seconds. total: of one worker. critical: of the longest chain of jobs that wait for each other, however many
    workers there are. lasts: from the first job's begin to the last one's end.
    """

    total: float
    critical: float
    lasts: float
    workers: int

    @property
    def busy(self) -> float:
        """Share of the workers' time in which they train, 0 to 1."""
        return self.total / (self.lasts * self.workers) if self.lasts else 1.0


def spread(seconds: Sequence[float], after: Sequence[set[int]], workers: int) -> Spread:
    """Let workers take the jobs in the order given, each as soon as those before it are done.

    seconds: of each job. after: for each, the indices of those that it waits for.

    >>> spread([3.0, 1.0, 1.0, 2.0], [set(), set(), {0}, set()], 2)
    Spread(total=7.0, critical=4.0, lasts=4.0, workers=2)
    """
    left = [len(before) for before in after]
    then: list[list[int]] = [[] for _ in seconds]
    for index, before in enumerate(after):
        for other in before:
            then[other].append(index)
    ready = [index for index, count in enumerate(left) if not count]
    ends: list[tuple[float, int]] = []  # of what is under way, and its index
    heapq.heapify(ready)
    now = 0.0
    while ready or ends:
        while ready and len(ends) < workers:
            index = heapq.heappop(ready)
            heapq.heappush(ends, (now + seconds[index], index))
        now, index = heapq.heappop(ends)
        for other in then[index]:
            left[other] -= 1
            if not left[other]:
                heapq.heappush(ready, other)
    if any(left):
        raise ValueError("jobs wait for each other in a circle")
    return Spread(float(sum(seconds)), _critical(seconds, after), now, workers)


def _critical(seconds: Sequence[float], after: Sequence[set[int]]) -> float:
    """The longest chain: as if there were a worker for each job."""
    ends: dict[int, float] = {}
    for index in range(len(seconds)):
        stack = [index]
        while stack:
            at = stack[-1]
            waiting = [other for other in after[at] if other not in ends]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            ends.setdefault(at, seconds[at] + max((ends[other] for other in after[at]), default=0.0))
    return max(ends.values(), default=0.0)
