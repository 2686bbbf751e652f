"""A data set of one's own: arrays with disjoint splits, what is predicted and how it is measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data import arrays, measures, splits, targets
from lab.errors import ArgumentError, check_type, check_whole, shown

Inputs = Tensor | Mapping[str, Tensor]
DEFAULT_SPLITS = {"search": 0.2, "val": 0.1, "test": 0.1}


@dataclass(frozen=True, eq=False)
class Data:
    """Examples with disjoint splits; make it with `from_arrays`, `read`, `from_dataset` or `from_text`.

    name     of the data set
    inputs   (N, …), float32 or int64; or several of these by the names of the model's arguments
    targets  (N,) or (N, …): int64 classes, or float32 values
    rows     by split the indices of its examples: "train", "search" (what a learned function follows), "val" (which
             settings), "test" (what is reported)
    classes  labels in the order of their ids; none where values are predicted
    loss     "cross_entropy", "mse", "mae" or a function (outputs, targets) → a number, the mean over examples
    metrics  what is followed, the first of which counts: names, or functions by name for which more is better
    notes    what was done to the data, a line each
    """

    name: str
    inputs: Inputs
    targets: Tensor
    rows: Mapping[str, Tensor]
    classes: tuple[str, ...] = ()
    loss: str | measures.Function = "cross_entropy"
    metrics: Mapping[str, str | measures.Function] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        name: str = "data",
        splits: Mapping[str, Any] | None = None,
        seed: int = 0,
        kind: str | None = None,
        groups: Any = None,
        loss: str | measures.Function | None = None,
        metrics: Sequence[str] | Mapping[str, str | measures.Function] | None = None,
    ) -> Data:
        """Arrays, tensors, lists or data frames as they are, in memory.

        X: (N, …) numbers, or a dict of such by the names of the model's arguments. Floating-point numbers become
            float32, bytes (images) float32 from 0 to 1, whole numbers int64, as tokens are.
        y: (N,) or (N, …). Words, booleans and whole numbers are classes, other numbers values to predict.
        splits: by name a share of the rows, a number of rows, or the rows themselves (indices or a mask); what is left
            is "train". Default: search .2, val .1, test .1. Disjoint; with the same shares of classes in each.
        groups: (N,), whatever tells which rows belong together (patients, documents): no group is in two splits, and
            shares are of groups.
        kind: "classification" or "regression", where y does not say it.
        loss, metrics: see `Data`; default: cross-entropy and accuracy, or mean squared error and R².

        Raises ArgumentError for values that are not finite, one class, other lengths, splits that have too few rows.

        >>> import numpy as np
        >>> X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 4
        >>> data = Data.from_arrays(X, y, name="blobs")
        >>> data
        Data 'blobs': 200 examples of (5,), 4 classes; search 40, val 20, test 20, train 120
        >>> data.split("val")[0].shape
        torch.Size([20, 5])
        """
        check_type("name", name, str, "a name, such as 'digits'")
        check_whole("seed", seed, 0)
        inputs, notes = arrays.inputs(X)
        found = targets.targets(y, kind)
        count = arrays.count(inputs)
        if len(found.values) != count:
            raise ArgumentError(f"X has {count} rows and y {len(found.values)}; give one target a row")
        arrays.check_finite(inputs, "X")
        given = DEFAULT_SPLITS if splits is None else splits
        rows = _divide(given, found, groups, seed)
        measured = measures.chosen(found.is_classes, loss, metrics)
        return cls(name, inputs, found.values, rows, found.classes, *measured, (*notes, *found.notes))

    def __len__(self) -> int:
        return len(self.targets)

    def split(self, name: str) -> tuple[Inputs, Tensor]:
        """Inputs and targets of a split, copies."""
        if name not in self.rows:
            raise ArgumentError(f"{self.name} has no split {shown(name)}; it has {', '.join(self.rows)}")
        return take(self.inputs, self.rows[name]), self.targets[self.rows[name]]

    @property
    def is_classification(self) -> bool:
        """Whether classes are predicted, and not values."""
        return not self.targets.is_floating_point()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of inputs, targets, splits and measures: what the data set is, whatever it is called."""
        found = hashlib.sha256()
        parts = {"inputs": self.inputs} if isinstance(self.inputs, Tensor) else dict(self.inputs)
        splits = {f"split {name}": rows for name, rows in self.rows.items()}
        for name, tensor in sorted({**parts, "targets": self.targets, **splits}.items()):
            found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            found.update(tensor.contiguous().numpy().tobytes())
        said = [measures.named(self.loss), *(f"{name} {measures.named(m)}" for name, m in self.metrics.items())]
        found.update("\n".join([*said, *self.classes]).encode())
        return found.hexdigest()

    def __repr__(self) -> str:
        parts = {"": self.inputs} if isinstance(self.inputs, Tensor) else self.inputs
        shapes = ", ".join(f"{name} {tuple(part.shape[1:])}".strip() for name, part in parts.items())
        what = f"{len(self.classes)} classes" if self.classes else "values to predict"
        sizes = ", ".join(f"{name} {len(rows):,}" for name, rows in self.rows.items())
        return f"Data {self.name!r}: {len(self):,} examples of {shapes}, {what}; {sizes}"


def take(inputs: Inputs, index: Tensor) -> Inputs:
    """The examples at an index of any shape."""
    return inputs[index] if isinstance(inputs, Tensor) else {name: part[index] for name, part in inputs.items()}


def _divide(given: Mapping[str, Any], found: targets.Targets, groups: Any, seed: int) -> dict[str, Tensor]:
    labels = found.values.numpy() if found.is_classes and found.values.ndim == 1 else None
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (len(found.values),):
            raise ArgumentError(f"groups has shape {groups.shape}; give one for each of {len(found.values)} rows")
    return {
        name: torch.from_numpy(rows)
        for name, rows in splits.divide(given, len(found.values), labels, groups, seed, found.classes).items()
    }
