"""What a training step costs, from the seconds that shipped results took: a part for a step, a part for its products.

For each kind of model, seconds of a step = overhead + multiplications × rate. Both are fitted to the totals that the
provenance of shipped results has (`training_seconds`), each total with the same relative weight; then all are scaled
so that half of the results took less than the fit says. (Least squares alone are too low: what takes half as long as
the fit says counts more than what takes twice as long.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from lab import kinds
from lab.catalogue.registry import entries
from lab.catalogue.shipped import has_results, provenance_of, shipped_plan
from lab.errors import LabError
from lab.kinds import Sizes
from lab.papers.entry import Entry
from lab.spec import FineTuning, RunSpec, is_search, key

SCALES = ("laptop", "overnight")
BACKWARD = 3  # forward and backward, in multiples of forward
ROWS, INPUTS, WORDS = (
    4000,
    784,
    10_000,
)  # of data that are not here: rows, numbers in one, and different words of a text


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
        rows = np.array([self._row(record, names) for record in self.records])
        for i, name in enumerate(names):  # of steps of one size, nothing tells what is overhead
            if len({run[2] for record in self.records for run in record.runs if run[0] == name}) == 1:
                rows[:, 2 * i] = 0.0
        size = np.abs(rows).max(0, initial=0.0)
        size[size == 0] = 1.0
        solution, _ = nnls(rows / size, np.ones(len(rows)))
        values = solution / size
        values /= np.median(rows @ values) if len(rows) else 1.0
        return {name: (float(values[2 * i]), float(values[2 * i + 1])) for i, name in enumerate(names)}

    @cached_property
    def ratios(self) -> list[float]:
        """Of each record: seconds by the fit, as a share of those that it took."""
        return [sum(self.of_steps(*run) for run in record.runs) / record.seconds for record in self.records]

    def of_steps(self, kind: str, steps: float, multiplications: float) -> float:
        """Seconds on a core. A kind without records counts as the slowest of those that have some."""
        known = self.fitted.get(kind) or tuple(map(max, zip(*self.fitted.values(), strict=True)))
        return steps * (known[0] + known[1] * multiplications)

    def of(self, spec: Any) -> float:
        """Seconds that a run or a search takes on a core."""
        return self.of_steps(*cost(spec))

    @staticmethod
    def _row(record: Record, names: list[str]) -> list[float]:
        row = [0.0] * (2 * len(names))
        for name, steps, multiplications in record.runs:
            row[2 * names.index(name)] += steps / record.seconds
            row[2 * names.index(name) + 1] += steps * multiplications / record.seconds
        return row


def recorded(entries_read: Iterable[Entry] | None = None) -> StepTimes:
    """From the results that are shipped, as far as they have the runs that the entries plan now. Figures that show the
    same runs count once."""
    records: dict[frozenset[str], Record] = {}
    for entry in entries_read or entries().values():
        for scale in SCALES:
            if scale not in entry.scales or not has_results(entry.name, scale):
                continue
            facts = provenance_of(entry.name, scale)
            planned = dict.fromkeys(spec for _, spec in shipped_plan(entry, facts))
            keys = frozenset(map(key, planned))
            whole = keys == set(facts["runs"]) and "joined" not in facts  # of joined runs the seconds are not known
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
    kind = type(spec.model).__name__
    if isinstance(spec, FineTuning):
        tuning, run = spec.tuning, spec.pretrained
        sizes = replace(_sizes(run.task, run.task_seed), length=tuning.length, trained=None, outputs=2)
        steps = tuning.epochs * (spec.examples or ROWS) / tuning.batch
        return kind, steps, _step(spec.model, sizes, tuning.batch)
    if isinstance(spec, RunSpec):
        return kind, spec.recipe.last, _step(spec.model, _sizes(spec.task, spec.task_seed), spec.recipe.batch)
    assert is_search(spec)
    if spec.by.startswith("episodes"):
        task = spec.tasks[0]
        inner = sum(spec.inner_steps(episode) for episode in range(spec.episodes)) * len(spec.restarts)
        inner += len(spec.restarts) * spec.retrain_seeds * spec.retrain.last
        return kind, inner, _step(spec.model, _sizes(task, spec.task_seed), spec.inner.batch)
    twice = 2  # a step of the weights, and one of the function
    sizes = _sizes(spec.task, spec.task_seed)
    return kind, twice * spec.models * spec.recipe.last, _step(spec.model, sizes, spec.recipe.batch)


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
    return sum(parameters(of_task.model, _sizes(task, of_task.task_seed)) for of_task, task in _tasks(spec))


def _step(model: Any, sizes: Sizes, batch: int | None) -> float:
    rows = batch or sizes.examples or ROWS
    length = sizes.trained or sizes.length
    if sizes.form == "row":
        return BACKWARD * rows * parameters(model, sizes)
    between = 2 * model.layers * length * getattr(model, "key_width", model.width)
    return BACKWARD * rows * length * (parameters(model, sizes) + between)


@cache
def _looked_up(task: Any, seed: int) -> Sizes | None:
    try:
        return kinds.sizes(task, seed)
    except LabError:  # its data are not here
        return None


def _sizes(task: Any, seed: int) -> Sizes:
    return _looked_up(task, seed) or _guessed(getattr(task, "text", task))


def _guessed(task: Any) -> Sizes:
    if hasattr(task, "context"):
        words = 100 if task.tokens == "char" else WORDS
        return Sizes("tokens", words, words, task.context)
    return Sizes("row", INPUTS, 10, examples=ROWS)


def guessed_sizes(specs: Iterable[Any]) -> bool:
    """Whether the size of some data is guessed, because they are not here."""
    tasks = {(task, of_task.task_seed) for spec in specs for of_task, task in _tasks(spec)}
    return any(_looked_up(*task) is None for task in tasks)


def _tasks(spec: Any) -> list[tuple[Any, Any]]:
    """The searches or the run that a spec is, each with its task; of a search by episodes, the first one."""
    several = [spec.pretrained] if isinstance(spec, FineTuning) else getattr(spec, "searches", (spec,))
    return [(single, single.tasks[0] if hasattr(single, "tasks") else single.task) for single in several]
