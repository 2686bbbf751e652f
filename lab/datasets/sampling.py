"""Which rows of an original a sample has.

They are those of numpy's PCG64 with seed 0: a permutation of the rows of each split (of a table: of each class), its
first rows, in ascending order. They are kept in the file, so a sample can be compared with its original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.datasets import convert

if TYPE_CHECKING:
    from lab.datasets.local import Data

IMAGES = {"train": 5_000, "test": 1_000}
ROWS = 20_000
FIRST = {"train": 4_000, "test": 1_000}  # of cifar10_4k1k


def take(name: str, whole: Data) -> convert.Arrays:
    """The sample of that name from its original."""
    random = np.random.Generator(np.random.PCG64(0))
    if name == "cifar10_4k1k":
        return {
            f"{part}_{what}": whole.arrays[f"{part}_{what}"][:count]
            for part, count in FIRST.items()
            for what in ("images", "labels")
        }
    if "inputs" in whole.arrays:
        classes = (np.flatnonzero(whole.arrays["labels"] == label) for label in (0, 1))
        rows = np.sort(np.concatenate([of[_rows(random, len(of), ROWS // 2)] for of in classes])).astype(np.int32)
        columns = {"columns": whole.arrays["columns"]} if "columns" in whole.arrays else {}
        return {key: whole.arrays[key][rows] for key in ("inputs", "labels")} | columns | {"rows": rows}
    arrays: dict[str, np.ndarray] = {}
    for part, count in IMAGES.items():
        rows = _rows(random, len(whole.arrays[f"{part}_images"]), count)
        arrays |= {f"{part}_{what}": whole.arrays[f"{part}_{what}"][rows] for what in ("images", "labels")}
        arrays[f"{part}_rows"] = rows
    return arrays


def _rows(random: np.random.Generator, total: int, count: int) -> np.ndarray:
    return np.sort(random.permutation(total)[:count]).astype(np.int32)
