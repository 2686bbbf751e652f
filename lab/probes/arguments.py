"""What probes are given, as numpy arrays: numbers, labels, masks. What they cannot use they name in one line."""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.data.arrays import is_missing
from lab.data.measures import IGNORED
from lab.errors import ArgumentError, LabError, described, shortened, shown


def _memory() -> int:
    """Bytes of this machine; where it does not say, as many as most have."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return 2**34


FAR = 1e150  # beyond, squares are infinite
SAID = 150  # characters of another's error in a message
ROOM = _memory()  # bytes of this machine


def array(name: str, values: object, expected: str) -> np.ndarray:
    """The array of a tensor on any device, an array, codes, a data frame's column, a list. expected: in words.

    >>> array("points", torch.ones(2, dtype=torch.bfloat16), "numbers")
    array([1., 1.], dtype=float32)
    """
    words = f"{name} is {described(values)}; give {expected}"
    if values is None or isinstance(values, (str, bytes, Mapping, type, nn.Module)):
        raise ArgumentError(words)
    if np.ma.is_masked(values):  # numpy would read what is below the mask
        raise ArgumentError(f"{name} has masked values; leave these examples out, or fill them, as with .filled(0)")
    try:
        if isinstance(values, Tensor):
            half = values.dtype in (torch.bfloat16, torch.float16)  # numpy does not know the first, few do the second
            return (values.detach().float() if half else values.detach()).cpu().numpy()
        converted = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{words} (it makes no array: {shortened(str(error), SAID)})") from error
    if converted.dtype == object and not converted.ndim:
        raise ArgumentError(words)
    return converted


def numbers(name: str, values: object, expected: str, least: int = 1) -> np.ndarray:
    """Real numbers as float64, of any shape; how many at least.

    >>> numbers("points", [[1, 2]], "numbers of shape (points, inputs)")
    array([[1., 2.]])
    """
    numeric = array(name, values, expected)
    if numeric.dtype.kind == "c":
        raise ArgumentError(f"{name} is {described(numeric)}; give real numbers: its .real, or its absolute value")
    if numeric.dtype.kind not in "fiub" or numeric.size < least:
        raise ArgumentError(f"{name} is {described(numeric)}; give {expected}")
    return numeric.astype(np.float64)


def finite(name: str, values: object, expected: str, axes: int | None = None) -> np.ndarray:
    """`numbers`, none of which is NaN or infinite, or has an infinite square. axes: how many it must have.

    >>> finite("points", [[1, 2]], "numbers of shape (points, inputs)").shape
    (1, 2)
    """
    numeric = numbers(name, values, expected)
    if axes is not None and numeric.ndim != axes:
        raise ArgumentError(f"{name} has shape {numeric.shape}; give {expected}")
    if bad := int((~np.isfinite(numeric)).sum()):
        raise ArgumentError(f"{name} has numbers that are not finite, {bad} of {numeric.size}; give finite ones")
    if (largest := np.abs(numeric).max()) > FAR:
        raise ArgumentError(f"{name} has numbers up to {largest:.3g}, whose squares are infinite; divide them by that")
    return numeric


def labels(name: str, values: object, count: int, columns: str = "") -> np.ndarray:
    """Names of `count` examples, of any type that has an order: (count,), or (count, C) where `columns` are allowed.

    NaN, None, dates that are none, and −100, as torch marks what does not count, are no label: they would be a class
    of their own, or one each.

    >>> labels("labels", ["a", "b"], 2).tolist()
    ['a', 'b']
    """
    shapes = f"({count},)" + (f" or ({count}, {columns})" if columns else "")
    names = array(name, values, f"one for each of {count} examples, {shapes}")
    if names.shape[:1] != (count,) or names.ndim > 1 + bool(columns) or not names.size:
        raise ArgumentError(f"{name} have shape {names.shape}; give one for each of {count} examples, {shapes}")
    if names.dtype.kind == "c":
        raise ArgumentError(f"{name} are complex numbers; give whole numbers or text")
    if missing := int(_missing(names).sum()):
        missing_words = f"{missing} of {names.size} {name} are missing (NaN, None or {IGNORED})"
        raise ArgumentError(f"{missing_words}; leave these examples out")
    try:
        np.unique(names)
    except TypeError as error:
        raise ArgumentError(f"{name} mix types that have no order; give all as numbers or all as text") from error
    return names


def mask(name: str, values: object, count: int) -> np.ndarray:
    """Who of `count` examples belongs to something, (count,) bool, somebody at least.

    >>> mask("train", [True, False], 2).tolist()
    [True, False]
    """
    members = array(name, values, f"bool ({count},)")
    if members.dtype != bool or members.shape != (count,) or not members.any():
        raise ArgumentError(f"{name} is {members.dtype} of shape {members.shape}; give bool ({count},), some True")
    return members


def module(name: str, value: object) -> nn.Module:
    """The value, if it is a module; a run of `lab.train` is told to give its model.

    >>> module("model", nn.ReLU())
    ReLU()
    """
    if not isinstance(value, nn.Module):
        hint = "its .model()" if callable(getattr(value, "model", None)) else "a torch.nn.Module, as run.model() is one"
        raise ArgumentError(f"{name} is {described(value)}; give {hint}")
    return value


def functions(name: str, values: object, example: str) -> Mapping[str, Callable]:
    """Functions by name, at least one.

    >>> sorted(functions("measures", {"loss": len}, "{'loss': probes.Loss(inputs, targets)}"))
    ['loss']
    """
    if not isinstance(values, Mapping) or not values:
        given = f"no {name}" if values is not None and isinstance(values, Mapping) else f"{name} is {described(values)}"
        raise ArgumentError(f"{given}; give at least one function by name, for example {example}")
    for key, value in values.items():
        if not isinstance(key, str) or not callable(value) or isinstance(value, type):
            given = f"{described(value)} under {shown(key)}"
            raise ArgumentError(f"{name} has {given}; give functions by name, as {example}")
    return values


def pair(name: str, values: Any, expected: str) -> Sequence:
    """The value, if it is a sequence of two.

    >>> pair("dims", (0, 1), "two numbers")
    (0, 1)
    """
    if isinstance(values, (str, bytes)) or not hasattr(values, "__getitem__") or not hasattr(values, "__len__"):
        raise ArgumentError(f"{name}={described(values)}: give {expected}")
    if isinstance(values, Mapping) or len(values) != 2:
        raise ArgumentError(f"{name}={shown(values)}: give {expected}")
    return values


def check_room(name: str, *sizes: int) -> None:
    """ArgumentError where an array of float64 of these sizes has no place in this machine's memory. name: of the
    argument that makes it large.

    >>> check_room("grid", 200, 200)
    """
    needed = 8 * math.prod(int(size) for size in sizes)
    if needed > ROOM:
        shape = " x ".join(f"{size:,}" for size in sizes)
        raise ArgumentError(
            f"{name}={sizes[0]:,}: {shape} numbers take {needed / 2**30:,.0f} GiB, and this machine has"
            f" {ROOM / 2**30:,.0f}; give a smaller {name}"
        )


@contextmanager
def calling(what: str, hint: str) -> Iterator[None]:
    """What fails inside, in somebody's function, becomes one line that quotes it and gives a hint; the cause stays.

    >>> try:
    ...     with calling("the model", "give another"):
    ...         1 / 0
    ... except ArgumentError as error:
    ...     print(error)
    the model failed (ZeroDivisionError: division by zero); give another
    """
    try:
        yield
    except (LabError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {shortened(str(error), SAID)}".rstrip(": ")
        raise ArgumentError(f"{what} failed ({words}); {hint}") from error


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O":
        return np.array([is_missing(value) for value in values.ravel()], dtype=bool)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "f":
        return np.isnan(values)
    return values == IGNORED if values.dtype.kind == "i" else np.zeros(1)
