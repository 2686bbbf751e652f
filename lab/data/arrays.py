"""Inputs as tensors: which numbers they are, and whether all of them are there."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data.measures import IGNORED
from lab.errors import ArgumentError, shortened, shown

NUMBERS_ROWS = re.compile(
    r"(^|[^a-z])(unnamed \d+|idx|index|id|ids|uuid|guid|row ?(id|names|number|num|nr|no)|(s|sr|sl|serial) ?no)$"
)


def inputs(X: Any, name: str = "X") -> tuple[Tensor | Mapping[str, Tensor], tuple[str, ...]]:
    """X as a tensor (N, …), or several by name; and what was done to it, a line each. name: of X, in messages."""
    if isinstance(X, Mapping):
        if not X or not all(isinstance(key, str) for key in X):
            raise ArgumentError(f"{name}={shown(X)}: give arrays by the names of the model's arguments")
        parts = {key: _tensor(part, f"{name}[{key!r}]", key) for key, part in X.items()}
        if len(lengths := {len(tensor) for tensor, _ in parts.values()}) > 1:
            said = ", ".join(map(str, sorted(lengths)))
            raise ArgumentError(f"the parts of {name} have {said} rows; give as many of each")
        notes = tuple(f"{key}: {note}" for key, (_, note) in parts.items() if note)
        made = {key: tensor for key, (tensor, _) in parts.items()}
        return made, (*notes, *_numbering({key: part.numpy() for key, part in made.items() if part.ndim == 1}))
    tensor, note = _tensor(X, name)
    columns = list(map(str, getattr(X, "columns", ()))) if tensor.ndim == 2 else []
    if twice := next((key for key in columns if columns.count(key) > 1), None):
        raise ArgumentError(f"two columns of {name} are called {shown(twice)}; give each a name of its own")
    table = {key: X.iloc[:, number] if hasattr(X, "iloc") else X[key] for number, key in enumerate(columns)}
    if not table and tensor.ndim == 2 and len(tensor) > 1 < tensor.shape[1]:
        step = (tensor[1] - tensor[0]).abs() == 1  # few columns are looked at
        table = {f"column {key}": tensor[:, key].numpy() for key in step.nonzero().flatten().tolist()}
    return tensor, (*((note,) if note else ()), *_numbering(table))


def check_finite(inputs: Tensor | Mapping[str, Tensor], name: str) -> None:
    """Raise ArgumentError where a number is missing or infinite, with the first place; not in one of several inputs
    that is 0 and -inf alone, a mask that is added."""
    parts = {name: inputs} if isinstance(inputs, Tensor) else {f"{name}[{key!r}]": part for key, part in inputs.items()}
    for said, part in parts.items():
        if part.is_floating_point() and not bool((finite := part.isfinite()).all()):
            if not isinstance(inputs, Tensor) and bool(((part == 0) | (part == -torch.inf)).all()):
                continue
            bad = (~finite).nonzero()
            first = bad[0].tolist()
            where = f"row {first[0]}" + (f", column {first[1]}" if part.ndim == 2 else "")
            raise ArgumentError(
                f"{said} has {len(bad)} values that are NaN or infinite, the first in {where}; drop these rows or fill "
                "them (lab.Data.read fills the gaps of a table)"
            )


def check_unmasked(values: Any, name: str) -> None:
    """Raise ArgumentError where a masked array, or one in a list, masks an entry: numpy would read what is below."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    number = next((number for number, part in enumerate(parts) if np.ma.is_masked(part)), None)
    if number is None:
        return
    count = sum(int(np.ma.getmaskarray(part).sum()) for part in parts if np.ma.isMaskedArray(part))
    first = np.argwhere(np.ma.getmaskarray(parts[number]))
    at = number if parts is values else int(first[0][0]) if first.size else 0
    cure = f".filled({IGNORED}), which counts nowhere among classes" if name == "y" else ".filled(0)"
    raise ArgumentError(f"{name} has {count} masked values, the first in row {at}; drop these rows, or give {cure}")


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or the NA of pandas, which answers no comparison.

    >>> is_missing(None), is_missing(float("nan")), is_missing("no")
    (True, True, False)
    """
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def array(values: Any, name: str) -> np.ndarray:
    """Whatever was given as an array with one row an example."""
    if isinstance(values, Tensor) and values.layout != torch.strided:
        raise ArgumentError(f"{name} is a sparse tensor; give {name}.to_dense()")
    if isinstance(values, Tensor) and values.is_meta:
        raise ArgumentError(f"{name} has no numbers (device='meta'); give a tensor that has some")
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = values.float() if is_half(values) else values
    if values is None or isinstance(values, (str, bytes, Mapping)):
        raise ArgumentError(f"{name}={shown(values)}: give an array with one row an example")
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise ArgumentError(f"{name} is a sparse matrix; give {name}.toarray()")
    check_unmasked(values, name)
    if isinstance(values, (list, tuple)):
        values = [part.detach().cpu().float() if is_half(part) else part for part in values]
    try:
        result = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{name} makes no array ({shortened(str(error))}); give rows of one length") from error
    if not result.ndim or not result.size:
        raise ArgumentError(f"{name} has shape {result.shape}; give an array with one row an example")
    return quiet(result)


def is_half(value: object) -> bool:
    """Whether this is a tensor of half precision, which numpy does not know or rounds in."""
    return isinstance(value, Tensor) and value.dtype in (torch.bfloat16, torch.float16)


def quiet(values: np.ndarray) -> np.ndarray:
    """With every NaN as numpy's own: a damaged file can have signaling ones, at which sums and conversions warn."""
    if values.dtype.kind != "f" or not (missing := np.isnan(values)).any():
        return values
    return np.where(missing, values.dtype.type(np.nan), values)


def plain(content: np.ndarray) -> np.ndarray:
    """An array of Python's numbers, as data frames of several types and data bases give them, as one of numpy's, with
    NaN for what is missing; others as they are.

    >>> plain(np.array([1, 2.5], dtype=object)).dtype, plain(np.array([Decimal("1"), None], dtype=object))
    (dtype('float64'), array([ 1., nan]))
    """
    if content.dtype != object:
        return content
    flat = [np.nan if is_missing(value) else value for value in content.ravel().tolist()]
    if not all(isinstance(value, (bool, int, float, np.number, np.bool_, Decimal, Fraction)) for value in flat):
        return content
    numbers = [float(value) if isinstance(value, (Decimal, Fraction)) else value for value in flat]
    return np.array(numbers).reshape(content.shape)


def indistinct_columns(values: np.ndarray) -> np.ndarray:
    """In which columns float32 cannot tell apart what float64 does: its rounding is a hundredth of their spread or
    more.

    >>> indistinct_columns(np.array([[-4e5, 0.0], [-4e5 + 0.05, 0.05]]))
    array([ True, False])
    """
    if values.dtype != np.float64 or len(values) < 2:
        return np.zeros(values.shape[1:], bool)
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large becomes infinite: `check_finite` names it
        rounding = np.abs(values.astype(np.float32) - values).max(0)
        return np.asarray((rounding > 0.01 * values.std(0)) & (values != values[:1]).any(0))


def _coarse(values: np.ndarray) -> str:
    """A line where float32 cannot tell apart numbers (N, …): of a column, or of a place in a sequence or an image."""
    if values.ndim == 2:
        far = np.flatnonzero(indistinct_columns(values)).tolist()
        return f"float32 cannot tell apart the numbers of column {far[0]}; subtract its mean" if far else ""
    flat = values.reshape(-1, values.shape[-1] if values.ndim > 2 else 1)  # features are on the last axis
    coarse = bool(indistinct_columns(values).any() or indistinct_columns(flat).any())
    return "float32 cannot tell apart what these numbers differ in; subtract their mean" if coarse else ""


def is_numbering(name: str, values: Iterable) -> bool:
    """Whether a column numbers the rows and says nothing else: by its name ("idx", "Unnamed: 0", "PassengerId") and no
    value twice.

    >>> is_numbering("PassengerId", [7, 9, 8]), is_numbering("paid", [7, 9, 8]), is_numbering("id", [7, 7, 8])
    (True, False, False)
    """
    words = re.sub(r"[^a-z0-9]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).lower()).strip()
    if words and not NUMBERS_ROWS.search(words):
        return False
    values = [value.item() if isinstance(value, Tensor) and value.ndim == 0 else value for value in values]
    if len(values) < 2 or np.ndim(values[0]):
        return False
    numbers = plain(np.array(values, dtype=object))
    is_whole = numbers.dtype.kind != "f" or are_labels(numbers)
    return is_whole and len(set(map(str, values))) == len(values)


def are_labels(values: np.ndarray) -> bool:
    """Whether these numbers, of any shape, are whole and small enough to be labels in int64.

    >>> are_labels(np.array([3.0, -1.0])), are_labels(np.array([3.5])), are_labels(np.array([1e19, 2e19]))
    (True, False, False)
    """
    return bool((values == np.round(values)).all() and (np.abs(values) < 2.0**63).all())


def counts_rows(values: np.ndarray) -> bool:
    """Whether whole numbers (N,) go up or down one by one, of ten rows or more.

    >>> counts_rows(np.arange(12)), counts_rows(np.arange(12.0)[::-1]), counts_rows(np.arange(12) / 4)
    (True, True, False)
    """
    values = plain(values)
    if values.dtype.kind not in "iuf" or len(values) < 10 or values[0] != np.round(values[0]):
        return False
    steps = np.diff(values.astype(np.float64 if values.dtype.kind == "f" else np.int64))
    return bool(abs(steps[0]) == 1 and (steps == steps[0]).all())


def _numbering(columns: Mapping[str, Any]) -> tuple[str, ...]:
    names = [name for name, values in columns.items() if is_numbering(name, values) or counts_rows(np.asarray(values))]
    return (f"what numbers the rows is among the inputs: {', '.join(names)}",) if names else ()


def in_float32(content: np.ndarray, name: str) -> Tensor:
    """Numbers as float32. ArgumentError where one is too large for it."""
    with np.errstate(over="ignore"):  # as in `indistinct_columns`
        small = np.array(content, dtype=np.float32, order="C")
    if len(large := np.argwhere(np.isinf(small) & np.isfinite(content))):
        first, row = content[tuple(large[0])], large[0][0]
        said = f"{name} has {len(large)} numbers that float32 does not hold, the first, {first:g}, in row {row}"
        raise ArgumentError(f"{said}; divide {name} by a power of ten, or correct them")
    return torch.from_numpy(small)


def _tensor(values: Any, name: str, key: str | None = None) -> tuple[Tensor, str]:
    """key: of one of several inputs."""
    content = plain(array(values, name))
    if content.dtype.kind not in "fiub":
        kind = "words" if content.dtype.kind in "OUS" else str(content.dtype)
        raise ArgumentError(f"{name} holds {kind}; give numbers (lab.Data.read makes numbers of a table's categories)")
    if content.dtype == bool and key is not None:  # a mask, which a model may index with
        return torch.from_numpy(content.copy()), ""
    if content.dtype == np.uint8 and content.max() > 1 and not (key or "").endswith(("ids", "mask")):
        return torch.from_numpy(content.astype(np.float32) / 255), "bytes were divided by 255"
    if content.dtype.kind in "fb" or (content.dtype == np.uint8 and key is None):
        return in_float32(content, name), _coarse(content)
    if content.dtype.kind == "u" and content.max(initial=0) > np.iinfo(np.int64).max:
        raise ArgumentError(f"{name} holds whole numbers above 2^63; give smaller ones")
    return torch.from_numpy(np.array(content, dtype=np.int64, order="C")), "whole numbers stayed whole, as tokens are"
