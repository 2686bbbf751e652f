"""Data sets that are here, shipped, in the cache or in a folder of the user's: finding, reading and verifying them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from lab.datasets import cache, convert
from lab.datasets.catalogue import BENCHMARK, CATALOGUE, Dataset
from lab.datasets.download import SourceError, short
from lab.datasets.folder import candidates
from lab.errors import ArgumentError, LabError, listed, shown

SHIPPED = cache.CHECKOUT / "data" / "samples"
MOST_NAMED = 6  # files of a set that a message lists


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
    if not isinstance(name, str) or name not in CATALOGUE:
        raise ArgumentError(f"unknown data set {shown(name)}; choose one of {listed(CATALOGUE, name)}")
    return CATALOGUE[name]


def find(name: str) -> Path | None:
    """The file or folder that the set would be read from, without reading it; None if it is not here."""
    known = entry(name)
    try:
        for path in (_shipped(name), cache_path(known)):
            if path.is_file():
                return path
        if known.installed:
            return known.installed.folder
        return next((path for path, _ in candidates(known)), None)
    except OSError as error:
        text = f"{error.filename} cannot be read ({error.strerror}); let LAB_CACHE and LAB_DATA name folders of yours"
        raise LabError(text) from error


def best(name: str) -> str | None:
    """The set itself where it is here, else its sample, else None. Which one it is should be said in words.

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
    if path == _shipped(name):
        return _whole(name, path, f"`git checkout data/samples/{path.name}` restores it")
    if path == cache_path(known := entry(name)):
        return _whole(name, path, f"remove it, and `lab data fetch {name}` gets it again")
    if known.installed:
        return accept(known, known.installed.read(), known.installed.describe())
    return _from_folder(name)


def digest(name: str) -> str:
    """SHA-256 of the content of a set that is here; a file in the cache is not read for it. MissingError as for `load`.

    >>> digest("moby_dick") == load("moby_dick").digest
    True
    """
    known = entry(name)
    if find(name) == cache_path(known) and (said := cache.digest(cache_path(known))):
        return said
    return known.digest if known.digest and find(name) else load(name).digest


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


def _whole(name: str, path: Path, remedy: str) -> Data:
    """What is shipped or in the cache, compared with the catalogue and with the digest that it had."""
    known = entry(name)
    try:
        arrays, origin, stored_digest = cache.read(path, known.shape.bytes)
        sha256, expected = convert.digest(arrays), known.digest or stored_digest
        wrong = known.shape.misfit(arrays)
    except Exception as error:  # whatever numpy and zipfile raise at a damaged file
        raise LabError(f"{path} is damaged and cannot be read ({short(error)}); {remedy}") from error
    if sha256 != expected:
        said = f"not {expected[:12]}…" if expected else "and nothing says which one it had"
        raise LabError(f"{path} is damaged: its content has SHA-256 {sha256[:12]}…, {said}; {remedy}")
    if wrong:
        raise LabError(f"{path} is not {name}: {wrong}; {remedy}")
    return _data(name, arrays, sha256, "shipped sample" if path == _shipped(name) else origin)


def _from_folder(name: str) -> Data:
    """The first file in LAB_DATA that fits. Kept only where its digest is the catalogue's: else it stays the user's."""
    known, refused = entry(name), []
    for place, read in candidates(known):
        try:
            arrays = read()
            wrong = known.shape.misfit(arrays)
        except Exception as error:  # whatever numpy, pandas, scipy and the readers of archives raise at other files
            refused.append(f"{place} cannot be read ({short(error)})")
            continue
        sha256, origin = convert.digest(arrays), f"{place.name} in the folder LAB_DATA"
        if wrong:
            refused.append(f"{place} is another data set: {wrong}")
        elif known.digest is None:
            return _data(name, arrays, sha256, origin)
        elif known.digest == sha256:
            cache.keep(cache_path(known), arrays, origin)
            return _data(name, arrays, sha256, origin)
        else:
            refused.append(f"{place} is another data set (SHA-256 {sha256[:12]}…, not {known.digest[:12]}…)")
    raise MissingError(f"{name} is not here: {'; '.join(refused)}; {_advice(known)}")


def accept(known: Dataset, arrays: convert.Arrays, origin: str) -> Data:
    """What a source gave, once it is stored in the cache. SourceError where it is something else."""
    sha256 = convert.digest(arrays)
    if known.digest not in (None, sha256):
        raise SourceError(f"{origin} gave other data (SHA-256 {sha256[:12]}…, not {known.digest[:12]}…)")
    if wrong := known.shape.misfit(arrays):
        raise SourceError(f"{origin} gave other data: {wrong}")
    cache.keep(cache_path(known), arrays, origin)
    return _data(known.name, arrays, sha256, origin)


def _shipped(name: str) -> Path:
    return SHIPPED / f"{name}.npz"


def cache_path(known: Dataset) -> Path:
    """Its file in the cache; of what comes with the interpreter, for each version."""
    return cache.path(f"{known.name}-{known.installed.version}" if known.installed else known.name)


def _data(name: str, arrays: convert.Arrays, digest: str, origin: str) -> Data:
    for array in arrays.values():
        array.flags.writeable = False
    return Data(name, arrays, digest, origin)


def _advice(known: Dataset) -> str:
    return f"`lab data fetch {known.name}` gets it ({known.megabytes:g} MB). {by_hand(known)}"


def by_hand(known: Dataset) -> str:
    """Which files would satisfy it, and where to put them."""
    options = [
        " + ".join(files) if len(files) <= MOST_NAMED else f"{files[0]} and the {len(files) - 1} files like it"
        for files in known.files
    ]
    if known.kind == "table" and known.name in BENCHMARK:
        options.append(f"{known.name}.parquet")
    return f"By hand: put {' or '.join(dict.fromkeys(options))} into a folder and let LAB_DATA name it"
