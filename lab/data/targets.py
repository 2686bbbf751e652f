"""Targets: classes or values, by their type, or as said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data.arrays import array, check_finite
from lab.errors import ArgumentError, check_choice

KINDS = ("classification", "regression")
MANY = 0.2  # share of the rows: with more different whole numbers than that, they may be classes or values


@dataclass(frozen=True, eq=False)
class Targets:
    """values: int64 ids below the number of `classes` (their labels), or float32."""

    values: Tensor
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_classes(self) -> bool:
        """Whether classes are predicted."""
        return not self.values.is_floating_point()


def targets(y: Any, kind: str | None = None) -> Targets:
    """Classes (whole numbers, booleans, words) get ids in the order of their labels; other numbers are values.

    >>> targets(["no", "yes", "no"]).values, targets(["no", "yes", "no"]).classes
    (tensor([0, 1, 0]), ('no', 'yes'))
    """
    if kind is not None:
        check_choice("kind", kind, KINDS)
    found = array(y, "y")
    if found.dtype == object:
        missing = [at for at, value in enumerate(found.ravel().tolist()) if value is None or value != value]
        if missing:
            raise ArgumentError(f"y has {len(missing)} targets missing, the first in row {missing[0]}; drop these rows")
    if found.dtype.kind in "fiub" and kind == "regression" or (found.dtype.kind == "f" and kind is None):
        return _values(found, kind)
    if found.dtype.kind not in "fiubOUS":
        raise ArgumentError(f"y holds {found.dtype}; give classes (words, whole numbers) or numbers to predict")
    if kind == "regression":
        raise ArgumentError("kind='regression', and y holds words; give numbers, or kind='classification'")
    if found.dtype.kind == "f":
        check_finite(torch.from_numpy(found.astype(np.float64)), "y")
    return _classes(found, kind)


def _values(found: np.ndarray, kind: str | None) -> Targets:
    values = torch.from_numpy(found.astype(np.float32))
    check_finite(values, "y")
    if not bool((values != values[:1]).any()):
        raise ArgumentError(f"y has one value, {float(values.flatten()[0]):g}, in every row; there is nothing to learn")
    whole = kind is None and found.size > 2 and bool((found == np.round(found)).all())
    few = whole and len(np.unique(found)) <= max(20, MANY * found.size)
    notes = ("y holds floating-point numbers: values to predict; kind='classification' makes them classes",)
    return Targets(values, (), notes if few else ())


def _classes(found: np.ndarray, kind: str | None) -> Targets:
    text = found.astype(str) if found.dtype == object else found
    labels, ids = np.unique(text, return_inverse=True)
    if len(labels) < 2:
        raise ArgumentError(f"y has one class, {labels[0]!s}; give two or more, or kind='regression'")
    if kind is None and found.dtype.kind in "iu" and found.ndim == 1 and len(labels) > max(20, MANY * found.size):
        raise ArgumentError(
            f"y has {len(labels)} different whole numbers in {found.size} rows; say kind='classification' or "
            "kind='regression'"
        )
    if found.ndim > 1 and found.dtype.kind in "iu" and labels[0] >= 0:  # tokens: their numbers are their ids
        names = tuple(map(str, range(int(labels[-1]) + 1)))
        return Targets(torch.from_numpy(found.astype(np.int64)), names)
    return Targets(torch.from_numpy(ids.reshape(found.shape).astype(np.int64)), tuple(map(str, labels.tolist())))
