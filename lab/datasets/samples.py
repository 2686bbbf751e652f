"""Samples: random parts of the original sets, small enough to ship. `python -m lab.datasets.samples` makes them again.

The rows are those of numpy's PCG64 with seed 0: a permutation of the rows of each split (of a table: of each class),
its first rows, in ascending order. They are kept in the file, so a sample can be compared with its original. Tables
that are small and free enough are shipped whole. Licences and sources stand in `data/samples/README.md`.
"""

from __future__ import annotations

import numpy as np

from lab import datasets
from lab.datasets import Data, convert

IMAGES = {"train": 5_000, "test": 1_000}
ROWS = 20_000
FIRST = {"train": 4_000, "test": 1_000}  # of cifar10_4k1k
SHIPPED = ("mnist_sample", "fashion_mnist_sample", "covertype_sample", "bank-marketing", "MagicTelescope")


def take(name: str, whole: Data) -> convert.Arrays:
    """The sample of that name from its original."""
    random = np.random.Generator(np.random.PCG64(0))
    if name == "cifar10_4k1k":
        return {f"{part}_{what}": whole.arrays[f"{part}_{what}"][:count]
                for part, count in FIRST.items() for what in ("images", "labels")}  # fmt: skip
    if "inputs" in whole.arrays:
        classes = (np.flatnonzero(whole.arrays["labels"] == label) for label in (0, 1))
        rows = np.sort(np.concatenate([of[_rows(random, len(of), ROWS // 2)] for of in classes])).astype(np.int32)
        columns = {"columns": whole.arrays["columns"]} if "columns" in whole.arrays else {}
        return {key: whole.arrays[key][rows] for key in ("inputs", "labels")} | columns | {"rows": rows}
    found = {}
    for part, count in IMAGES.items():
        rows = _rows(random, len(whole.arrays[f"{part}_images"]), count)
        found |= {f"{part}_{what}": whole.arrays[f"{part}_{what}"][rows] for what in ("images", "labels")}
        found[f"{part}_rows"] = rows
    return found


def _rows(random: np.random.Generator, total: int, count: int) -> np.ndarray:
    return np.sort(random.permutation(total)[:count]).astype(np.int32)


def main() -> None:
    """Fetch the originals, write the samples, print their digests."""
    for name in SHIPPED:
        known = datasets.entry(name)
        arrays = take(name, datasets.fetch(known.sample_of)) if known.sample_of else datasets.fetch(name).arrays
        datasets.write(datasets.SHIPPED / f"{name}.npz", arrays)
        print(name, convert.digest(arrays))


if __name__ == "__main__":
    main()
