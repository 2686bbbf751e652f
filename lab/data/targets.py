"""Targets: classes or values, by their type, or as said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data.arrays import array, check_finite, is_missing, plain
from lab.data.numerals import numerals
from lab.errors import ArgumentError, check_choice

KINDS = ("classification", "regression")
MOST_LABELS = 20  # different ones that are classes whatever the number of rows
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
    answers = array(y, "y")
    if answers.dtype == object:
        missing = [at for at, value in enumerate(answers.ravel().tolist()) if is_missing(value)]
        if missing:
            raise ArgumentError(f"y has {len(missing)} targets missing, the first in row {missing[0]}; drop these rows")
        numbers = plain(answers)
        if kind == "regression" or (numbers.dtype.kind == "f" and bool((numbers != np.round(numbers)).any())):
            answers = numbers  # whole ones are labels, as words are
    if kind is None and _is_one_hot(answers):
        raise ArgumentError(
            f"y of shape {answers.shape} is one-hot; give y.argmax(1), a class for each row (or kind='regression', to"
            f" predict {answers.shape[1]} values)"
        )
    if answers.dtype.kind in "fiub" and kind == "regression" or (answers.dtype.kind == "f" and kind is None):
        return _values(answers, kind)
    if answers.dtype.kind not in "fiubOUS":
        raise ArgumentError(f"y holds {answers.dtype}; give classes (words, whole numbers) or numbers to predict")
    if kind == "regression":
        raise ArgumentError("kind='regression', and y holds words; give numbers, or kind='classification'")
    if answers.dtype.kind == "f":
        check_finite(torch.from_numpy(answers.astype(np.float64)), "y")
    return _classes(answers, kind)


def _is_one_hot(y: np.ndarray) -> bool:
    """Whether each row has a single one among zeros, in two columns or more, and more rows than columns.

    >>> _is_one_hot(np.eye(3)[[0, 1, 2, 2]]), _is_one_hot(np.ones((4, 3)))
    (True, False)
    """
    numeric = y.ndim == 2 and 2 <= y.shape[1] < len(y) and y.dtype.kind in "fiub"
    return numeric and bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())


def _values(y: np.ndarray, kind: str | None) -> Targets:
    values = torch.from_numpy(y.astype(np.float32))
    check_finite(values, "y")
    if not bool((values != values[:1]).any()):
        raise ArgumentError(f"y has one value, {float(values.flatten()[0]):g}, in every row; there is nothing to learn")
    whole = kind is None and y.size > 2 and bool((y == np.round(y)).all())
    few = whole and len(np.unique(y)) <= max(MOST_LABELS, MANY * y.size)
    notes = ("y holds floating-point numbers: values to predict; kind='classification' makes them classes",)
    return Targets(values, (), notes if few else ())


def _classes(y: np.ndarray, kind: str | None) -> Targets:
    text = y.astype(str) if y.dtype == object else y
    labels, ids = np.unique(text, return_inverse=True)
    if kind is None and text.dtype.kind in "US" and len(labels) > MOST_LABELS and (read := numerals(text.ravel())):
        raise ArgumentError(
            f"y holds numbers, and {read}; write plain numbers and drop rows without one, or say kind='classification'"
        )
    if len(labels) < 2:
        raise ArgumentError(f"y has one class, {labels[0]!s}; give two or more, or kind='regression'")
    if kind is None and y.dtype.kind in "iu" and y.ndim == 1 and len(labels) > max(MOST_LABELS, MANY * y.size):
        raise ArgumentError(
            f"y has {len(labels)} different whole numbers in {y.size} rows; say kind='classification' or "
            "kind='regression'"
        )
    if y.ndim > 1 and y.dtype.kind in "iu" and labels[0] >= 0:  # tokens: their numbers are their ids
        names = tuple(map(str, range(int(labels[-1]) + 1)))
        return Targets(torch.from_numpy(y.astype(np.int64)), names)
    return Targets(torch.from_numpy(ids.reshape(y.shape).astype(np.int64)), tuple(map(str, labels.tolist())))
