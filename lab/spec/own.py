"""What a user brings along: data, tasks, tables of numbers; and the objects that specs stand for.

Data and code stand in no JSON. A spec has their digest or layout, and the process that made it has the rest
(`register_object`): what is stored can be read by all, and trained where data and code are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lab.errors import ArgumentError, LabError
from lab.tasks import Task
from lab.tasks.table import REQUIRED_SPLITS, TableSplit, TableTask

if TYPE_CHECKING:  # functions alone do without pandas
    from lab.data import Data

LOSSES = ("cross_entropy", "mse")
_objects: dict[object, Any] = {}


def register_object(spec: object, thing: Any) -> None:
    """Keep the object that a spec's digest names, as long as this process lives; the last one counts."""
    _objects[spec] = thing


def object_of(spec: object) -> Any:
    """The object that a spec's digest names in this process. LabError where it has not seen it."""
    if spec not in _objects:
        raise LabError(f"{spec} is not known in this process; make the data and call lab.search or lab.compare again")
    return _objects[spec]


def known_here_alone(spec: object) -> bool:
    """Whether a spec stands for something, in any of its parts, that no other process knows."""
    if isinstance(spec, tuple):
        return any(map(known_here_alone, spec))
    if not is_dataclass(spec):
        return False
    return spec in _objects or any(known_here_alone(getattr(spec, field.name)) for field in fields(spec))


@dataclass(frozen=True)
class DataSpec:
    """A `lab.Data`."""

    name: str
    digest: str  # of its content


@dataclass(frozen=True)
class OwnTask:
    """A `lab.Task` that the user has made."""

    name: str
    digest: str  # of its content


@dataclass(frozen=True)
class OwnTable(TableTask):
    """A `lab.Data`, known by its content; `own_table` makes it. Its splits are those of the data, whatever the seed."""

    name: str
    digest: str

    @property
    def data(self) -> Data:
        """What it stands for. LabError where this process has not seen it."""
        return object_of(self)

    @property
    def inputs(self) -> int:
        """Number of columns."""
        return self.split()["train"].inputs.shape[1]

    @property
    def classes(self) -> int:
        """Number of classes; none where a value is predicted."""
        return len(self.data.classes)

    @property
    def classification(self) -> bool:
        """Whether the answer is a class, and not a value."""
        return self.data.is_classification

    @property
    def loss_name(self) -> str:
        """As the data has it."""
        return str(self.data.loss)

    @property
    def metric_signs(self) -> dict[str, int]:
        """Of values it is R² on a split; the data's first metric comes first."""
        signs = {"accuracy" if self.classification else "r2": 1, self.loss_name: -1}
        first = next(iter(self.data.metrics.values()), "")
        return dict(sorted(signs.items(), key=lambda item: item[0] != first))

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """The data's splits; "train" has the rows of its "search", too: searches divide it themselves."""
        return _splits(self)

    def scores(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Accuracy and cross-entropy of classes, as of other tables; of values the mean squared error."""
        if self.classification:
            return super().scores(outputs, targets)
        return {self.loss_name: self.loss(outputs, targets).double()}

    def of_split(self, scores: Mapping[str, Tensor], targets: Tensor) -> dict[str, Tensor]:
        """R² next to the error: 1 minus its ratio to the variance of the targets (N,) or (R, N)."""
        if self.classification:
            return dict(scores)
        error = scores[self.loss_name]
        return {"r2": 1 - error / targets.double().var(-1, correction=0)} | dict(scores)


def own_task(task: Task) -> OwnTask:
    """A `lab.Task` as specs name it, registered for training."""
    spec = OwnTask(task.name, task.digest)
    register_object(spec, task)
    return spec


def own_table(data: Data) -> OwnTable:
    """The table of a `lab.Data`, registered for training. ArgumentError where perceptrons cannot read it.

    >>> from lab.data import Data
    >>> X = torch.randn(90, 3, generator=torch.Generator().manual_seed(0))
    >>> task = own_table(Data.from_arrays(X, X[:, 0] > 0, name="signs"))
    >>> task.inputs, task.outputs, {name: len(split) for name, split in task.split().items()}
    (3, 2, {'train': 72, 'val': 9, 'test': 9})
    """
    what, advice = "", "give model= and replace= for a model of your own"
    if not isinstance(data.inputs, Tensor) or data.inputs.ndim != 2:
        what, advice = "has inputs of another shape", f"give X as (rows, columns), X.reshape(len(X), -1), or {advice}"
    elif not data.inputs.is_floating_point():
        what, advice = "has whole numbers, which may be tokens", f"give X as floats, or {advice}"
    elif data.targets.ndim != 1:
        what, advice = f"has targets of shape {tuple(data.targets.shape)}", f"give one target a row, or {advice}"
    elif data.loss not in LOSSES:
        what = f"has a loss of its own; the lab's perceptrons have {' and '.join(LOSSES)}"
    elif other := [name for name, metric in data.metrics.items() if metric not in (data.loss, "accuracy", "r2")]:
        what = f"has the metric {other[0]!r}; the lab's perceptrons follow accuracy or R², and the loss"
        advice = f"leave metrics= out, or {advice}"
    elif missing := [name for name in REQUIRED_SPLITS if name not in data.rows]:
        what, advice = f"has no split {missing[0]!r}", "give splits={'val': .1, 'test': .1}"
    if what:
        raise ArgumentError(f"the data {data.name!r} {what}; a perceptron reads rows of numbers: {advice}")
    task = OwnTable(data.name, data.digest)
    register_object(task, data)
    return task


@lru_cache(maxsize=8)
def _splits(task: OwnTable) -> Mapping[str, TableSplit]:
    data, splits = task.data, {}
    for name in REQUIRED_SPLITS:
        rows = data.rows[name]
        if name == "train" and "search" in data.rows:
            rows = torch.cat([rows, data.rows["search"]])
        splits[name] = TableSplit(data.inputs[rows], data.targets[rows], {"row": rows})  # type: ignore[index]
    return MappingProxyType(splits)
