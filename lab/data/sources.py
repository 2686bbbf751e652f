"""Data from data sets of torch and Hugging Face, and from text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from lab.data.arrays import check_unmasked
from lab.errors import ArgumentError, LabError, check_choice, check_path, check_whole, listed, shortened, shown

SPLITS = {"train": "train", "validation": "val", "valid": "val", "val": "val", "dev": "val", "test": "test"}
LABELS = ("label", "labels", "target", "y")
TOKENS = ("char", "byte")


def examples(dataset: Any, inputs: str | Sequence[str] | None, target: str | None) -> tuple[Any, np.ndarray]:
    """X and y of a map-style data set: of pairs, or of dictionaries, whose parts are named."""
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise ArgumentError(
            f"dataset={shown(dataset)} has no length or no index; give a map-style data set, or a list of pairs"
        )
    if not len(dataset):
        raise ArgumentError("the data set has no examples; give one that has some")
    rows = [_example(dataset, number) for number in range(len(dataset))]
    if isinstance(rows[0], Mapping):
        return _named(rows, inputs, target)
    if not isinstance(rows[0], (tuple, list)) or len(rows[0]) != 2:
        raise ArgumentError(f"an example is {shown(rows[0])}; give pairs (input, target), or dictionaries")
    return _stacked([row[0] for row in rows], "inputs"), _stacked([row[1] for row in rows], "targets")


def parts_of(dataset: Any) -> dict[str, Any]:
    """The splits that a data set brings along, by the lab's names; none where it is one."""
    if not isinstance(dataset, Mapping):
        return {}
    parts = {SPLITS[str(name)]: part for name, part in dataset.items() if str(name) in SPLITS}
    if "train" not in parts:
        raise ArgumentError(f"the data set has the splits {listed(list(map(str, dataset)))}; give one with 'train'")
    return parts


def joined(
    parts: Mapping[str, Any], inputs: str | Sequence[str] | None, target: str | None
) -> tuple[Any, np.ndarray, dict[str, np.ndarray]]:
    """X and y of all splits, one after the other, and by split the rows that are its own; those of "train" are the
    others."""
    given = {split: examples(part, inputs, target) for split, part in parts.items()}
    every = [X for X, _ in given.values()]
    X = (
        {key: np.concatenate([part[key] for part in every]) for key in every[0]}
        if isinstance(every[0], dict)
        else np.concatenate(every)
    )
    ends = np.cumsum([len(y) for _, y in given.values()])
    rows = {split: np.arange(end - len(y), end) for (split, (_, y)), end in zip(given.items(), ends, strict=True)}
    return (
        X,
        np.concatenate([y for _, y in given.values()]),
        {key: index for key, index in rows.items() if key != "train"},
    )


def windows(text: str, tokens: str, context: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Windows (N, context) of token ids, the token after each of theirs, and what the ids stand for; no overlap."""
    check_choice("tokens", tokens, TOKENS)
    check_whole("context", context, 2)
    if tokens == "char":
        vocabulary = sorted(set(text))
        known = {letter: number for number, letter in enumerate(vocabulary)}
        stream = np.fromiter((known[c] for c in text), np.int64, len(text))
    else:
        stream = np.frombuffer(text.encode(), np.uint8).astype(np.int64)
        vocabulary = [str(number) for number in range(256)]
    count = (len(stream) - 1) // context
    if count < 10:
        raise ArgumentError(
            f"the text has {len(stream)} tokens, {max(count, 0)} windows of {context}; give more, or a shorter context"
        )
    cut = count * context
    return stream[:cut].reshape(count, context), stream[1 : cut + 1].reshape(count, context), tuple(vocabulary)


def text_of(source: str | Path) -> tuple[str, str]:
    """The text in a file, and the file's name."""
    path = check_path("source", source)
    try:
        return path.read_text(encoding="utf-8"), path.stem
    except FileNotFoundError as error:
        raise LabError(f"there is no file {path}; give the path of a text") from error
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path} cannot be read ({shortened(str(error))}); give a text in UTF-8") from error


def _example(dataset: Any, number: int) -> Any:
    try:
        return dataset[number]
    except Exception as error:  # of the user's code, or of a file that it reads
        raise ArgumentError(
            f"example {number} fails with {type(error).__name__} ({shortened(str(error))}); fix the data set"
        ) from error


def _named(rows: list, inputs: str | Sequence[str] | None, target: str | None) -> tuple[Any, np.ndarray]:
    names = list(rows[0])
    if target is None:
        target = next((name for name in LABELS if name in names), None)
    if target is None or target not in names:
        raise ArgumentError(f"target={shown(target)}: examples have {listed(names)}; name the one to predict")
    chosen = [inputs] if isinstance(inputs, str) else inputs
    if chosen is None:
        chosen = [name for name in names if name != target and not isinstance(rows[0][name], str)]
    if not chosen or not set(chosen) <= set(names):
        raise ArgumentError(f"inputs={shown(inputs)}: examples have {listed(names)}; name those that the model reads")
    columns = {name: _stacked([row[name] for row in rows], name) for name in chosen}
    y = _stacked([row[target] for row in rows], target)
    return next(iter(columns.values())) if isinstance(inputs, str) or len(columns) == 1 else columns, y


def _stacked(values: list, name: str) -> np.ndarray:
    check_unmasked(values, name)
    try:
        parts = [part.detach().cpu().numpy() if isinstance(part, Tensor) else np.asarray(part) for part in values]
        return np.stack(parts)
    except (ValueError, TypeError, RuntimeError) as error:
        said = shortened(str(error))
        raise ArgumentError(f"{name} do not stack ({said}); let all examples have one shape (pad them)") from error
