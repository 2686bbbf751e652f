"""Examples that are in two splits: a test that includes them measures what was remembered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

LARGEST = 50_000_000, 200_000  # numbers and rows: what is looked through in a second
SEEN = ("train", "search")  # the splits that models train on


def repeats(inputs: Tensor | Mapping[str, Tensor], rows: Mapping[str, Tensor]) -> tuple[str, ...]:
    """A line where inputs of `test` are also in `train` or `search`. Nothing is looked for in large data.

    >>> import torch
    >>> inputs = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    >>> repeats(inputs, {"train": torch.tensor([0]), "test": torch.tensor([1, 2])})
    ('1 of 2 test examples has inputs that are in train, too',)
    """
    parts = [inputs] if isinstance(inputs, Tensor) else list(inputs.values())
    trained = [name for name in SEEN if name in rows]
    if not trained or "test" not in rows:
        return ()
    if sum(part.numel() for part in parts) > LARGEST[0] or len(parts[0]) > LARGEST[1]:
        return ()
    known = set().union(*(_hashes(parts, rows[name]) for name in trained))
    tested = _hashes(parts, rows["test"])
    if not (count := sum(one in known for one in tested)):
        return ()
    have = "has" if count == 1 else "have"
    where = " or ".join(trained)
    return (f"{count} of {len(tested)} test examples {have} inputs that are in {where}, too",)


def _hashes(parts: list[Tensor], index: Tensor) -> list[int]:
    """A number for each of these rows, the same for equal rows."""
    columns = [np.ascontiguousarray(part[index].reshape(len(index), -1).numpy()) for part in parts]
    return [hash(tuple(column[row].tobytes() for column in columns)) for row in range(len(index))]
