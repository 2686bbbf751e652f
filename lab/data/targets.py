"""Targets: classes or values, by their type, or as said; and which of them count."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data.arrays import are_labels, array, check_finite, in_float32, indistinct_columns, is_missing, plain
from lab.data.files import numerals
from lab.data.measures import IGNORED
from lab.errors import ArgumentError, check_choice, check_whole

KINDS = ("classification", "regression")
MOST_LABELS = 20  # different ones that are classes whatever the number of rows
MANY = 0.2  # share of the rows: with more different whole numbers than that, they may be classes or values


@dataclass(frozen=True, eq=False)
class Targets:
    """values: int64 ids below the number of `classes` (their labels), `IGNORED` where none counts; or float64."""

    values: Tensor
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_classes(self) -> bool:
        return not self.values.is_floating_point()


def column(y: Any) -> np.ndarray:
    answers = array(y, "y")
    answers = np.char.decode(answers, "utf-8", "backslashreplace") if answers.dtype.kind == "S" else answers
    return answers[:, 0] if answers.ndim == 2 and answers.shape[1] == 1 else answers


def order_of(y: Any) -> tuple[Any, ...]:
    """The categories of an ordered column of pandas, in their order, unused ones too; none of others.

    >>> import pandas as pd
    >>> order_of(pd.Categorical(["big", "small"], ["small", "mid", "big"], ordered=True)), order_of(["big", "small"])
    (('small', 'mid', 'big'), ())
    """
    y = y.iloc[:, 0] if getattr(y, "ndim", 1) == 2 and hasattr(y, "iloc") and y.shape[1] == 1 else y
    kind: Any = getattr(y, "dtype", None)
    return tuple(kind.categories) if getattr(kind, "ordered", False) else ()


def labelled(y: np.ndarray, kind: str | None, ignore_index: int) -> np.ndarray:
    """Which rows of y (N,) have a target, (N,) bool; all of y (N, …), whose classes are ignored one by one.

    Values and words of -100 stay unless another number was asked for: it is torch's own, for class numbers.
    """
    check_whole("ignore_index", ignore_index, -(2**31))
    numbers = plain(y)
    values = kind == "regression" or (numbers.dtype.kind == "f" and kind is None and y.dtype != object)
    if y.ndim == 1 and (ignore_index != IGNORED or (not values and numbers.dtype.kind in "iuf")):
        return ~_ignored(numbers, ignore_index)
    if values and ignore_index != IGNORED and (count := int(_ignored(numbers, ignore_index).sum())):
        said = f"y has {count} values that are {ignore_index}, and only classes are ignored one by one"
        raise ArgumentError(f"{said}; leave these rows out, or give a loss= that does not count them")
    return np.ones(len(y), bool)


def _ignored(y: np.ndarray, ignore_index: int) -> np.ndarray:
    """Which of these numbers, or of words that say them, stand for no target."""
    if y.dtype.kind in "OUS":
        return np.isin(np.char.strip(y.astype(str)), (str(ignore_index), f"{ignore_index}.0"))
    return np.asarray(y == ignore_index) if y.dtype.kind in "iuf" else np.zeros(y.shape, bool)


def targets(
    y: Any, kind: str | None = None, ignore_index: int = IGNORED, order: Sequence[Any] | None = None
) -> Targets:
    """Classes (whole numbers, booleans, words) get ids in the order of their labels; other numbers are values.

    order: of labels, where they have one of their own; those that y has get ids. Default: see `order_of`.

    >>> targets(["no", "yes", "no"]).values, targets(["no", "yes", "no"]).classes
    (tensor([0, 1, 0]), ('no', 'yes'))
    >>> targets(["10", "2", "2"]).classes
    ('2', '10')
    """
    if kind is not None:
        check_choice("kind", kind, KINDS)
    order = order_of(y) if order is None else order
    kind = "classification" if kind is None and order else kind
    answers = column(y)
    notes: tuple[str, ...] = ()
    if answers.dtype == object:
        _check_there([at for at, value in enumerate(answers.ravel().tolist()) if is_missing(value)])
        answers = plain(answers)
        if answers.dtype.kind == "f" and kind is None and are_labels(answers):
            answers = answers.astype(np.int64)  # whole ones are labels, as words are
    if answers.dtype.kind in "US":
        _check_there(np.flatnonzero(np.char.strip(answers.astype(str)).ravel() == ""))
    if answers.dtype.kind in "OUS" and kind != "classification":
        answers, notes = _numbers(answers, kind)
    if kind is None and _is_one_hot(answers):
        cure = f"give y.argmax(1), a class a row (or kind='regression', to predict {answers.shape[1]} values)"
        raise ArgumentError(f"y of shape {answers.shape} is one-hot; {cure}")
    if answers.dtype.kind in "fiub" and kind == "regression" or (answers.dtype.kind == "f" and kind is None):
        return _values(answers, kind, notes)
    if answers.dtype.kind not in "fiubOUS":
        raise ArgumentError(f"y holds {answers.dtype}; give classes (words, whole numbers) or numbers to predict")
    if kind == "regression":
        raise ArgumentError("kind='regression', and y holds words; give numbers, or kind='classification'")
    if answers.dtype.kind == "f":
        check_finite(torch.from_numpy(answers.astype(np.float64)), "y")
    return _classes(answers, kind, ignore_index, notes, order)


def _check_there(gaps: Any) -> None:
    if len(gaps):
        raise ArgumentError(f"y has {len(gaps)} targets missing, the first in row {gaps[0]}; drop these rows")


def _numbers(y: np.ndarray, kind: str | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """The numbers that words say, where they are no labels, and a line; else the words.

    Plain numbers in words are labels, as '3' is, unless they are many and not whole.
    """
    read, labels = numerals(y.ravel()), len(set(y.ravel().tolist()))
    if read is None or (read.is_plain and kind is None and (read.is_whole or labels <= MOST_LABELS)):
        return y, ()
    if read.wrong:
        if labels <= MOST_LABELS and kind is None:
            return y, ()
        cure = "write plain numbers and drop rows without one, or say kind='classification'"
        raise ArgumentError(f"y holds numbers, and {read}; {cure}")
    values = read.values.reshape(y.shape)
    said = f", {read}" if read.marks else ""
    return values.astype(np.int64) if read.is_whole and kind is None else values, (f"y was read as numbers{said}",)


def _is_one_hot(y: np.ndarray) -> bool:
    """Whether each row has a single one among zeros, in two columns or more, and more rows than columns.

    >>> _is_one_hot(np.eye(3)[[0, 1, 2, 2]]), _is_one_hot(np.ones((4, 3)))
    (True, False)
    """
    numeric = y.ndim == 2 and 2 <= y.shape[1] < len(y) and y.dtype.kind in "fiub"
    return numeric and bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())


def _values(y: np.ndarray, kind: str | None, notes: tuple[str, ...]) -> Targets:
    values = torch.from_numpy(y.astype(np.float64))
    check_finite(values, "y")
    if not bool((values != values[:1]).any()):
        raise ArgumentError(f"y has one value, {float(values.flatten()[0]):g}, in every row; there is nothing to learn")
    whole = kind is None and y.size > 2 and are_labels(y)
    if whole and len(np.unique(y)) <= max(MOST_LABELS, MANY * y.size):
        notes += ("y holds floating-point numbers: values to predict; kind='classification' makes them classes",)
    if y.ndim == 2 and y.shape[1] > 1 and bool((y >= 0).all() and np.allclose(y.sum(1), 1)):
        notes += (
            "the rows of y sum to 1, as shares of classes do: values to predict by mean squared error; "
            "loss=torch.nn.CrossEntropyLoss() takes them as shares of classes",
        )
    return Targets(values, (), notes)


def as_float32(values: Tensor) -> Tensor:
    """float64 values to predict as float32; ArgumentError where one is too large, or that loses what they
    differ in."""
    small = in_float32(values.numpy(), "y")
    if indistinct_columns(values.numpy()).any():
        cure = "give y - y.mean(), or lab.Data.read, which shifts and scales"
        raise ArgumentError(f"float32 cannot tell apart the values of y; {cure}")
    return small


def _classes(
    y: np.ndarray, kind: str | None, ignore_index: int, notes: tuple[str, ...], order: Sequence[Any]
) -> Targets:
    text = y.astype(str) if y.dtype == object else y
    counts = ~_ignored(y, ignore_index) if y.ndim > 1 or y.dtype.kind in "iuf" else np.ones(y.shape, bool)
    labels, ids = np.unique(text[counts], return_inverse=True)
    if order or text.dtype.kind in "US":
        labels, ids = in_order(labels, ids, order)
    if len(labels) < 2:
        one = f"one class, {labels[0]!s}" if len(labels) else "no class"
        raise ArgumentError(f"y has {one}; give two or more, or kind='regression'")
    if kind is None and y.dtype.kind in "iu":
        _check_unclear(y, labels)
    if (left := int((~counts).sum())) and y.ndim > 1:
        notes += (f"{left} of {y.size} targets are {ignore_index} and do not count",)
    if text.dtype.kind in "US":
        notes += _nearly_equal(labels.tolist())
    values = np.full(y.shape, IGNORED, np.int64)
    if y.ndim > 1 and y.dtype.kind in "iu" and labels[0] >= 0:  # tokens: their numbers are their ids
        values[counts] = y[counts]
        return Targets(torch.from_numpy(values), tuple(map(str, range(int(labels[-1]) + 1))), notes)
    values[counts] = ids.reshape(-1)
    return Targets(torch.from_numpy(values), tuple(map(str, labels.tolist())), notes)


def in_order(labels: np.ndarray, ids: np.ndarray, given: Sequence[Any] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Labels in the order that is given; else class numbers that are words, by their numbers. ids: places among them.

    >>> in_order(np.array(["1", "10", "2"]), np.array([1, 2]))[0].tolist()
    ['1', '2', '10']
    """
    try:
        places = {_said(label): place for place, label in enumerate(given)}
        numbers = np.array([places[_said(label)] for label in labels]) if given else labels.astype(np.float64)
        order = np.lexsort((labels, numbers))
    except ValueError:
        return labels, ids
    return labels[order], np.argsort(order)[ids]


def _nearly_equal(labels: Sequence[str]) -> tuple[str, ...]:
    """A line on the first classes that differ by spaces, capitals or how a number is written alone."""
    plain_ones: dict[str, str] = {}
    for label in labels:
        plain_one = " ".join(label.split()).casefold()
        with suppress(ValueError):
            plain_one = str(float(plain_one))
        if (other := plain_ones.setdefault(plain_one, label)) != label:
            return (f"{other!r} and {label!r} are two classes; write them alike, if they are one",)
    return ()


def _said(label: Any) -> str:
    """1 and 1.0 are one label."""
    return str(int(label) if isinstance(label, (float, np.floating)) and label.is_integer() else label)


def _check_unclear(y: np.ndarray, labels: np.ndarray) -> None:
    """Whole numbers that may be something else than classes."""
    if y.ndim == 1 and len(labels) > max(MOST_LABELS, MANY * y.size):
        said = f"y has {len(labels)} different whole numbers in {y.size} rows"
        raise ArgumentError(f"{said}; say kind='classification' or kind='regression'")
    last, before = int(labels[-1]), int(labels[-2])
    if labels[0] == -1 and last == len(labels) - 2 > 0:
        what, odd = f"-1 beside 0 to {last}", -1
    elif y.ndim > 1 and last == 255 and before < 200:
        what, odd = f"255 and none from {before + 1} to 254", 255
    else:
        return
    cure = f"where {odd} is no class, give ignore_index={odd}, else kind='classification'"
    raise ArgumentError(f"y has {int((y == odd).sum())} targets {what}; {cure}")
