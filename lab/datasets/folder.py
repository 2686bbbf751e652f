"""The folder that LAB_DATA names: which of the user's files could be a data set, and reading them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from lab import environment
from lab.datasets import convert, text
from lab.datasets.convert import Arrays
from lab.datasets.dataset import Dataset
from lab.datasets.unpack import plain
from lab.errors import ArgumentError

DEPTH = 3  # levels of folders, LAB_DATA itself the first, that are searched


def candidates(known: Dataset) -> Iterator[tuple[Path, Callable[[], Arrays]]]:
    """What could be this set by the names of its files, each with what reads it. Nothing where LAB_DATA is not set."""
    most = known.shape.bytes
    for files in _folders():
        if path := files.get(f"{known.name}.npz"):
            named = {"images": convert.named_images, "table": convert.named_table}.get(known.kind, convert.npz)
            yield path, partial(_read, partial(named, most=most), [path], most)
        if known.kind == "text" and (path := files.get(f"{known.name}.txt")):
            yield path, partial(_read, text.plain, [path], most)
        for source in known.sources:
            wanted = [member.removesuffix(".gz") for member in source.members]
            if wanted and all(member in files for member in wanted):
                paths = [files[member] for member in wanted]
                yield paths[0], partial(_read, source.read, paths, most)
        if known.kind == "table":
            for name, path in files.items():
                if _is_benchmark(name, known.name):
                    yield path, partial(_read, convert.benchmark_table, [path], most)


def _folders() -> Iterator[dict[str, Path]]:
    """The files of LAB_DATA and of each folder in it: paths by name, without .gz."""
    top = environment.folder("LAB_DATA")
    if not top:
        return
    if not top.is_dir():
        raise ArgumentError(f"LAB_DATA={top} is no folder; let it name the one that has your data")
    for place, folders, names in os.walk(top, followlinks=True):
        below = len(Path(place).relative_to(top).parts)
        folders[:] = sorted(folders) if below < DEPTH - 1 else []
        paths = (Path(place, name) for name in sorted(names))
        yield {path.name.removesuffix(".gz"): path for path in paths if path.is_file()}


def _read(read: Callable, paths: list[Path], most: int) -> Arrays:
    for path in paths:
        if (size := path.stat().st_size) > most:
            raise ValueError(f"it has {size / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB that the set can need")
        if path.suffix == ".parquet":
            _check_parquet(path, most)
    return read(plain({path.name: path.read_bytes() for path in paths}, most))


def _check_parquet(path: Path, most: int) -> None:
    """Raise ValueError where a Parquet file unpacks to more than `most` bytes: a column of one value takes none."""
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(path)
    if (size := 8 * metadata.num_rows * metadata.num_columns) > most:
        raise ValueError(f"it unpacks to {size / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB that it can need")


def _is_benchmark(file: str, name: str) -> bool:
    """Whether the file is called like the benchmark's table, as CSV or Parquet, maybe with something in front."""
    stem, dot, ending = file.lower().replace("-", "_").rpartition(".")
    return ending in ("csv", "parquet") and f"_{stem}".endswith("_" + name.lower().replace("-", "_"))
