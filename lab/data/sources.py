"""Data from data sets of torch and Hugging Face, and from text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from lab.data.arrays import check_unmasked, is_half, is_missing, is_numbering
from lab.data.files import reading
from lab.data.measures import IGNORED
from lab.errors import ArgumentError, check_choice, check_path, check_whole, listed, shortened, shown

SPLITS = {"train": "train", "search": "search", "test": "test"}
SPLITS |= dict.fromkeys(("validation", "valid", "val", "dev"), "val")
LABELS = ("label", "labels", "target", "y")
TOKENS = ("char", "byte")


class Read(NamedTuple):
    """Of a data set: X, by name where there are several inputs; y; what was left out, a line each; the names of X."""

    X: Any
    y: np.ndarray
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def examples(dataset: Any, inputs: str | Sequence[str] | None, target: str | None, of: str = "") -> Read:
    """X and y of a map-style data set: of pairs, or of dictionaries, whose parts are named. of: a split, in errors."""
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise ArgumentError(f"dataset={shown(dataset)} has no length or no index; give a map-style one, or pairs")
    if not len(dataset):
        raise ArgumentError("the data set has no examples; give one that has some")
    rows: list = []
    try:
        for number in range(len(dataset)):
            rows.append(dataset[number])
    except Exception as error:  # of the user's code, or of a file that it reads
        said = f"{type(error).__name__} ({shortened(str(error))})"
        raise ArgumentError(f"example {len(rows)} fails with {said}; fix the data set") from error
    if isinstance(rows[0], Mapping):
        return _named(rows, inputs, target, of)
    if not isinstance(rows[0], (tuple, list)) or len(rows[0]) != 2:
        raise ArgumentError(f"an example is {shown(rows[0])}; give pairs (input, target), or dictionaries")
    if target is not None or inputs is not None:
        raise ArgumentError("inputs= and target= name parts of dictionaries, and examples are pairs; leave them out")
    return Read(_stacked([row[0] for row in rows], "inputs"), _stacked([row[1] for row in rows], "targets"))


def names_classes(dataset: Any, target: str | None) -> bool:
    """Whether a data set of Hugging Face has names for its classes: a -1 is no class then."""
    features = getattr(dataset, "features", None) or {}
    names = [target] if target else [name for name in LABELS if name in features]
    return bool(names) and hasattr(features.get(names[0]) if hasattr(features, "get") else None, "names")


def parts_of(dataset: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The splits that a data set brings along, by the lab's names, and a line on those of other names; none where it is
    one."""
    if not isinstance(dataset, Mapping):
        return {}, ()
    parts: dict[str, Any] = {}
    known = {str(name): SPLITS.get(str(name).lower()) for name in dataset}
    for split, part in zip(known.values(), dataset.values(), strict=True):
        if split in parts:
            twice = listed([one for one, meant in known.items() if meant == split])
            raise ArgumentError(f"the data set has the splits {twice}, each of which is {split!r}; give one of them")
        if split is not None:
            parts[split] = part
    if "train" not in parts:
        raise ArgumentError(f"the data set has the splits {listed(list(known))}; give one with 'train'")
    others = [name for name, split in known.items() if split is None]
    said = f"splits left out: {listed(others)}; those of a data set are train, search, validation and test"
    return parts, (said,) if others else ()


def joined(
    parts: Mapping[str, Any], inputs: str | Sequence[str] | None, target: str | None
) -> tuple[Read, dict[str, np.ndarray]]:
    """X and y of all splits, one after the other, and by split the rows that are its own; those of "train" are the
    others. A split without labels is left out."""
    given = {"train": examples(parts["train"], inputs, target)}
    X, y, notes, names = given["train"]
    for split, part in parts.items():
        if split == "train":
            continue
        read = examples(part, names or None, target, f" of {split!r}")
        if _has_no_label(read.y) and not _has_no_label(y):
            notes += (f"split {split!r} has no labels, and is left out: what splits= says is drawn in its place",)
        else:
            _check_alike(given["train"], read, split)
            given[split] = read
    every = [read.X for read in given.values()]
    if isinstance(X, dict):
        X = {key: np.concatenate([part[key] for part in every]) for key in X}
    else:
        X = np.concatenate(every)
    y = np.concatenate([read.y for read in given.values()])
    rows = np.split(np.arange(len(y)), np.cumsum([len(read.y) for read in given.values()])[:-1])
    return Read(X, y, notes), dict(list(zip(given, rows, strict=True))[1:])


def _has_no_label(y: np.ndarray) -> bool:
    """Whether all targets of a split are -1, -100, empty or missing."""
    if y.dtype.kind in "iuf":
        return bool(np.isin(y, (-1, IGNORED)).all() or (y != y).all())
    return y.dtype.kind in "OUS" and all(is_missing(one) or not str(one).strip() for one in y.ravel().tolist())


def _check_alike(train: Read, other: Read, split: str) -> None:
    """ArgumentError where two splits do not fit together: other names, shapes or kinds."""
    one, two = (
        {**(read.X if isinstance(read.X, dict) else {"inputs": read.X}), "targets": read.y} for read in (train, other)
    )
    for name in one:
        shapes = [part[name].shape[1:] for part in (one, two)]
        if shapes[0] != shapes[1]:
            raise ArgumentError(f"{name} of 'train' have shape {shapes[0]}, and of {split!r} {shapes[1]}; pad")
        kinds = ["words" if part[name].dtype.kind in "OUS" else "numbers" for part in (one, two)]
        if kinds[0] != kinds[1] or (name == "targets" and (train.y.dtype.kind == "f") != (other.y.dtype.kind == "f")):
            types = [f"{kind} ({part[name].dtype})" for kind, part in zip(kinds, (one, two), strict=True)]
            raise ArgumentError(f"{name} of 'train' are {types[0]}, and of {split!r} {types[1]}; give one kind")


def windows(text: str | bytes, context: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Windows (N, context) of token ids, the token after each of theirs, and what the ids stand for; no overlap."""
    check_whole("context", context, 2)
    if isinstance(text, str):
        letters, stream = np.unique(np.frombuffer(text.encode("utf-32-le"), "<u4"), return_inverse=True)
        vocabulary = [chr(letter) for letter in letters]
    else:
        stream = np.frombuffer(text, np.uint8).astype(np.int64)
        vocabulary = [str(number) for number in range(256)]
    count = (len(stream) - 1) // context
    if count < 10:
        said = f"the text has {len(stream)} tokens, {max(count, 0)} windows of {context}"
        raise ArgumentError(f"{said}; give more, or a shorter context")
    cut = count * context
    return stream[:cut].reshape(count, context), stream[1 : cut + 1].reshape(count, context), tuple(vocabulary)


def text_of(source: str | Path, tokens: str) -> tuple[str | bytes, str]:
    """The characters or the bytes of a file, as they are, and the file's name."""
    path = check_path("source", source)
    check_choice("tokens", tokens, TOKENS)
    with reading(path, "a text", "a text in UTF-8, or tokens='byte'"):
        content = path.read_bytes()
        return content if tokens == "byte" else content.decode("utf-8-sig"), path.stem


def _named(rows: list, inputs: str | Sequence[str] | None, target: str | None, of: str) -> Read:
    names = list(rows[0])
    if target is None:
        target = next((name for name in LABELS if name in names), None)
    if target is None or target not in names:
        raise ArgumentError(f"target={shown(target)}: examples{of} have {listed(names)}; name the one to predict")
    chosen = [inputs] if isinstance(inputs, str) else inputs
    notes: tuple[str, ...] = ()
    if chosen is None:
        chosen = [name for name in names if name != target and not isinstance(rows[0][name], str)]
        counting = [name for name in chosen if is_numbering(name, [row.get(name) for row in rows])]
        chosen = [name for name in chosen if name not in counting]
        said = f"what only numbers the examples was left out: {', '.join(counting)}; inputs= names what the model reads"
        notes = (said,) if counting else ()
    if not chosen or not set(chosen) <= set(names):
        said = f"inputs={shown(inputs)}: examples{of} have {listed(names)}"
        raise ArgumentError(f"{said}; name those that the model reads")
    columns = {name: _stacked(_column(rows, name), name) for name in chosen}
    y = _stacked(_column(rows, target), target)
    return Read(next(iter(columns.values())) if len(columns) == 1 else columns, y, notes, tuple(chosen))


def _column(rows: list, name: str) -> list:
    lacking = next((number for number, row in enumerate(rows) if name not in row), None)
    if lacking is not None:
        raise ArgumentError(f"example {lacking} has no {name!r}, which others have; give it to each")
    return [row[name] for row in rows]


def _stacked(values: list, name: str) -> np.ndarray:
    check_unmasked(values, name)
    try:
        values = [part.float() if is_half(part) else part for part in values]
        parts = [part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part) for part in values]
        return np.stack(parts)
    except (ValueError, TypeError, RuntimeError) as error:
        said = shortened(str(error))
        raise ArgumentError(f"{name} do not stack ({said}); let all examples have one shape (pad them)") from error
