"""The tables of the tabular benchmark (Grinsztajn et al., 2022), as the simplicity paper uses them (Section 3.3, E.4).

Two classes, equally frequent. The split is the benchmark's at its "medium" size: 70 % of the rows for training, at
most 10,000; of the rest 30 % for validation and 70 % for testing, each at most 50,000. The paper does not print its
own. Each column is shifted and scaled to [-1, 1], from the training rows alone: in others, values may lie outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from lab import datasets
from lab.errors import ArgumentError, check_whole, listed, shown
from lab.tasks.table import TableSplit, TableTask, random_parts

TRAINING, VALIDATION = 0.7, 0.3  # of all rows; of those that are left
MOST_TRAINING, MOST_OTHERS = 10_000, 50_000


@dataclass(frozen=True)
class Tabular(TableTask):
    """A table of `lab.datasets`, e.g. "bank-marketing", "MagicTelescope" or "covertype_sample".

    The seed of a split is what the benchmark calls a fold: another permutation of the rows.

    >>> task = Tabular("bank-marketing")
    >>> task.inputs, task.outputs, {name: len(split) for name, split in task.split(0).items()}
    (7, 2, {'train': 7404, 'val': 952, 'test': 2222})
    """

    name: str

    classes: ClassVar[int] = 2
    loss_name: ClassVar[str] = "cross_entropy"

    def __post_init__(self):
        known = [name for name, entry in datasets.CATALOGUE.items() if entry.kind == "table"]
        if not isinstance(self.name, str) or self.name not in known:
            raise ArgumentError(f"unknown table {shown(self.name)}; choose one of {listed(known, self.name)}")

    @property
    def inputs(self) -> int:
        """Number of columns."""
        return datasets.load(self.name).arrays["inputs"].shape[1]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, where the source has them."""
        arrays = datasets.load(self.name).arrays
        return tuple(arrays["columns"].tolist()) if "columns" in arrays else tuple(map(str, range(self.inputs)))

    @property
    def sources(self) -> tuple[str, ...]:
        """The data set."""
        return (self.name,)

    def split(self, seed: int = 0) -> Mapping[str, TableSplit]:
        """train, val and test, at random from `seed`. latents: row, the index in the data set."""
        return _split(self, check_whole("seed", seed, 0))


def sizes(rows: int) -> dict[str, int]:
    """How many rows each split has.

    >>> sizes(38_474), sizes(566_602)
    ({'train': 10000, 'val': 8542, 'test': 19932}, {'train': 10000, 'val': 50000, 'test': 50000})
    """
    train = min(int(rows * TRAINING), MOST_TRAINING)
    val = int((rows - train) * VALIDATION)
    return {"train": train, "val": min(val, MOST_OTHERS), "test": min(rows - train - val, MOST_OTHERS)}


def scale(training: Tensor, rows: Tensor) -> Tensor:
    """Rows (N, D) shifted and scaled so that each column of `training` covers [-1, 1]; one that is constant becomes 0.

    >>> scale(torch.tensor([[0.0, 5.0], [4.0, 5.0]]), torch.tensor([[1.0, 5.0], [8.0, 5.0]]))
    tensor([[-0.5000,  0.0000],
            [ 3.0000,  0.0000]])
    """
    whole = training.isfinite().all(0) & rows.isfinite().all(0)
    if not whole.all():
        places = ", ".join(map(str, (~whole).nonzero().flatten().tolist()[:9]))
        raise ArgumentError(f"values that are missing or infinite, in columns {places}; give whole rows")
    low, high = training.double().amin(0), training.double().amax(0)
    span = torch.where(high > low, high - low, torch.inf)
    result = (rows.double() - low) / span * 2 - 1
    return torch.where(high > low, result, 0.0).float()


@lru_cache(maxsize=32)  # 110,000 rows of covertype are 4 MB, of Higgs 11 MB
def _split(task: Tabular, seed: int) -> Mapping[str, TableSplit]:
    arrays = datasets.load(task.name).arrays
    inputs, labels = arrays["inputs"], torch.from_numpy(arrays["labels"].astype(np.int64))
    parts = random_parts(len(labels), sizes(len(labels)), torch.Generator().manual_seed(seed))
    rows = {name: torch.from_numpy(inputs[part.numpy()]) for name, part in parts.items()}
    return MappingProxyType(
        {
            name: TableSplit(scale(rows["train"], rows[name]), labels[part], {"row": part})
            for name, part in parts.items()
        }
    )
