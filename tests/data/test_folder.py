"""Files in LAB_DATA: what only has a set's name is named and not used; what fits is read, and stays the user's."""

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest

from lab.data import convert, datasets
from lab.data.dataset import DIGESTS
from lab.data.sentence_sets import blimp_pairs
from lab.errors import ArgumentError, LabError
from tests.probes.test_minimal_pairs import blimp_files


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An empty LAB_DATA, and an empty cache beside it."""
    monkeypatch.setenv("LAB_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def electricity(rows=38_474, columns=7):
    """A table of the size of electricity, with its balance of classes."""
    inputs = np.random.default_rng(0).integers(0, 99, (rows, columns))
    return pd.DataFrame(inputs, columns=[f"x{n}" for n in range(columns)]).assign(label=np.arange(rows) % 2)


def refused(name="electricity"):
    with pytest.raises(datasets.MissingError) as caught:
        datasets.load(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_that_only_has_the_name_of_a_set_is_not_taken_for_it(own, tmp_path):
    electricity(50, 2).to_csv(own / "my_electricity.csv", index=False)
    said = refused()
    assert "my_electricity.csv is another data set: 50 rows, not 38,474; 2 columns of inputs, not 7;" in said
    assert not (tmp_path / "cache").exists()


def test_one_that_fits_is_read_from_where_it_is_and_goes_with_its_file(own, tmp_path):
    table = electricity()
    table.to_csv(own / "electricity.csv", index=False)
    data = datasets.load("electricity")
    assert (data.arrays["inputs"] == table.iloc[:, :7]).all(axis=None)
    assert data.origin == "electricity.csv in the folder LAB_DATA" and datasets.find("electricity").parent == own
    (own / "electricity.csv").unlink()
    assert datasets.find("electricity") is None
    with pytest.raises(datasets.MissingError):
        datasets.load("electricity")


def test_classes_that_are_not_balanced_are_said(own):
    electricity().assign(label=lambda table: np.arange(len(table)) == 7).to_csv(own / "electricity.csv", index=False)
    assert "38,473 rows of one class and 1 of the other, not as many of each" in refused()


def test_missing_values_are_counted_and_not_made_zeros(own):
    table = electricity().astype({"x3": float})
    table.loc[:499, "x3"] = np.nan
    table.to_csv(own / "electricity.csv", index=False)
    assert "500 values missing or infinite in column 'x3'" in refused()
    table.assign(x3=0, label=table.label.where(table.index > 2)).to_csv(own / "electricity.csv", index=False)
    assert "3 of 38,474 labels are missing" in refused()


def test_parquet_is_read_as_csv_is(own):
    table = electricity()
    table.to_parquet(own / "electricity.parquet")
    found = datasets.load("electricity").arrays
    wanted = convert.benchmark_table({"electricity.csv": table.to_csv(index=False).encode()})
    assert all((found[name] == wanted[name]).all() for name in wanted) and found["inputs"].dtype == np.float32


def test_parquet_that_unpacks_to_too_much_is_not_unpacked(own):
    pd.DataFrame({"x": np.zeros(40_000_000, np.int8)}).to_parquet(own / "electricity.parquet")
    assert (own / "electricity.parquet").stat().st_size < 1_000_000
    assert "unpacks to 320 MB, more than the 44 MB that it can need" in refused()


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(own):
    bomb = b"".join(gzip.compress(bytes(50_000_000)) for _ in range(4))  # members one after the other are one file
    (own / "electricity.csv.gz").write_bytes(bomb)
    assert "unpacks to more than 44 MB" in refused()
    np.savez_compressed(own / "electricity.npz", inputs=np.zeros((38_474, 1000), np.float32))
    assert "its content has 154 MB, more than the 44 MB it can need" in refused()


def test_a_publishers_folder_is_read_as_a_zip_file_too(own, monkeypatch):
    files = blimp_files()

    def put(names, more=b""):
        with zipfile.ZipFile(own / "blimp.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data/README", more)
            for name in names:
                archive.writestr(f"data/{name}", files[name])

    assert "or blimp.zip into a folder" in refused("blimp")
    put(list(files)[:-1])
    assert f"blimp.zip cannot be read (it has no {list(files)[-1]})" in refused("blimp")
    put(files, bytes(100_000_000))
    assert "more than the 60 MB it can need" in refused("blimp")
    put(files)
    assert "blimp.zip is another data set (SHA-256" in refused("blimp")
    monkeypatch.delitem(DIGESTS, "blimp")  # that of the publisher's own sentences
    found = datasets.load("blimp")
    assert found.origin == "blimp.zip in the folder LAB_DATA" and datasets.find("blimp") == own / "blimp.zip"
    assert (found.arrays["text"] == blimp_pairs(files)["text"]).all()


WRONG = {
    "empty.csv": b"",
    "header_only.csv": b"x,label\n",
    "one_column.csv": b"label\n0\n1\n",
    "not_text.csv": b"x,label\n\xff\xfe1,0\n",
    "utf_16.csv": "x,label\n1,0\n2,1\n".encode("utf-16"),
    "words.csv": b"x,label\nred,0\nblue,1\n",
    "one_class.csv": b"x,label\n1,0\n2,0\n",
    "a_class_a_row.csv": b"x,label\n1,0\n2,1\n3,2\n",
    "too_large_a_number.csv": b"x,label\n1e300,0\n2,1\n",
    "ragged.csv": b"x,label\n1,0\n2,1,3\n",
    "quote_left_open.csv": b'x,label\n"1,0\n2,1\n',
    "nul.csv": b"\0" * 500,
    "no.parquet": b"PAR1 and no more",
    "empty.parquet": b"",
    "no_archive.csv.gz": b"x,label\n1,0\n",
    "cut_short.csv.gz": gzip.compress(b"x,label\n" * 500)[:40],
    "no.npz": b"PK\3\4 and no more",
    "empty.npz": b"",
}


@pytest.mark.parametrize("file", WRONG)
def test_a_file_that_is_no_table_is_said_in_one_line(own, file, tmp_path):
    path = own / f"electricity{file[file.index('.') :]}"
    path.write_bytes(WRONG[file])
    said = refused()
    assert str(path) in said and "lab data fetch electricity" in said and "Traceback" not in said
    assert not (tmp_path / "cache").exists()


def test_a_folder_where_a_file_is_expected_is_no_file(own):
    (own / "electricity.csv").mkdir()
    (own / "electricity.npz").mkdir()
    (own / "electricity.parquet").symlink_to(own / "nowhere")
    assert datasets.find("electricity") is None and "is not here" in refused()


@pytest.mark.parametrize("variable", ["LAB_DATA", "LAB_CACHE"])
@pytest.mark.parametrize("value", ["x" * 300, "/" + "long/" * 2000, "~nobody-of-that-name/data"])
def test_a_variable_that_can_name_no_folder_is_named(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    for ask in (lambda: datasets.load("electricity"), datasets.listing, lambda: datasets.fetch("electricity")):
        with pytest.raises(ArgumentError, match=f"{variable}='.*: .*; give another path") as caught:
            ask()
        assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


def test_a_cache_that_is_a_file_is_said_before_anything_is_fetched(own, tmp_path, monkeypatch):
    (tmp_path / "cache").write_bytes(b"")
    with pytest.raises(LabError, match=r"LAB_CACHE=.*cache is a file; name a folder"):
        datasets.fetch("electricity")


@pytest.mark.parametrize("name", [None, 5, [], "x" * 5000, 10**5000, b"mnist", "mnist\n", ""], ids=lambda _: "name")
def test_what_is_no_name_is_said_shortly(name):
    for ask in (datasets.load, datasets.fetch, datasets.find, datasets.verify, datasets.best, datasets.entry):
        with pytest.raises(ArgumentError, match="unknown data set .*; choose one of mnist") as caught:
            ask(name)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
