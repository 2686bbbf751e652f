"""Tables as files: plain or packed they are the same table, and one that is not what its provenance tells is named."""

import gzip
import re
import shutil
from hashlib import sha256

import pandas as pd
import pytest

from lab.catalogue import results, scorecard, shipped
from lab.catalogue.registry import entry
from lab.errors import LabError
from lab.places import RESULTS

NAME = "transformers/fig5"  # with learning curves beside its table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of shipped results, in place of those."""
    copy = tmp_path / NAME / "laptop"
    shutil.copytree(RESULTS / NAME / "laptop", copy)
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path)
    return copy


def unpack(folder):
    for path in folder.glob("*.csv.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()


def edit(folder, old, new):
    packed = folder / "table.csv.gz"
    content = gzip.decompress(packed.read_bytes())
    assert old in content
    packed.write_bytes(gzip.compress(content.replace(old, new, 1)))


def test_plain_and_packed_are_the_same_table(folder):
    packed = [shipped.shipped_results(NAME, "laptop").table(which) for which in ("table", "curves")]
    pd.testing.assert_frame_equal(packed[0], pd.read_csv(folder / "table.csv.gz"))
    unpack(folder)
    assert {path.name for path in folder.glob("*.csv*")} == {"table.csv", "curves.csv"}
    for which, table in zip(("table", "curves"), packed, strict=True):
        pd.testing.assert_frame_equal(shipped.shipped_results(NAME, "laptop").table(which), table)


def test_packing_keeps_every_byte_and_gives_the_same_bytes_again(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    unpack(folder)
    results.pack(folder)
    assert {path.name for path in folder.iterdir()} == set(before)
    now = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in ("table.csv.gz", "curves.csv.gz"):
        assert gzip.decompress(now[name]) == gzip.decompress(before[name])
        assert now[name][4:8] == bytes(4), "the time of packing is in it"
    unpack(folder)
    results.pack(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == now


def test_digests_are_of_the_bytes_of_the_plain_tables(folder):
    stated = results.Results(folder).facts["tables"]
    assert stated.keys() == {"table", "curves"}
    for name, digest in stated.items():
        assert sha256(gzip.decompress((folder / f"{name}.csv.gz").read_bytes())).hexdigest() == digest


def test_tables_of_earlier_versions_have_today_s_names_of_methods(tmp_path):
    name, former = "transformers/fig8", {now: old for old, now in results.FORMER.items()}
    now = shipped.shipped_results(name, "laptop").table()
    old = now.assign(method=now["method"].replace(former))
    assert "GELU + ours MLP" in set(old["method"])
    old.to_csv(tmp_path / "table.csv", index=False)
    pd.testing.assert_frame_equal(results.Results(tmp_path).table(), now)


def test_an_edited_table_is_named_and_neither_drawn_nor_scored(folder, tmp_path):
    edit(folder, b"0.", b"1.")
    for use in (lambda: shipped.read(entry(NAME), "laptop"), lambda: scorecard.score("laptop", tmp_path)):
        with pytest.raises(LabError, match=r"fig5/laptop/table\.csv\.gz.*lab figure transformers/fig5") as caught:
            use()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["table.csv.gz", "curves.csv.gz", "provenance.json.gz"])
def test_a_damaged_file_is_named(folder, name):
    path = folder / name
    whole = path.read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:middle], b"", b"nonsense", whole[:middle] + b"damage" + whole[middle + 6 :]):
        path.write_bytes(damaged)
        with pytest.raises(LabError, match=rf"fig5/laptop/{re.escape(name)}.*bring it back") as caught:
            shipped.read(entry(NAME), "laptop")
        assert "\n" not in str(caught.value)


def test_a_table_that_is_missing_is_named(folder):
    (folder / "table.csv.gz").unlink()
    with pytest.raises(LabError, match=r"no table\.csv.*lab figure transformers/fig5"):
        shipped.read(entry(NAME), "laptop")


def test_a_provenance_that_cannot_be_read_is_named(folder):
    (folder / "provenance.json").write_text("{")
    with pytest.raises(LabError, match=r"laptop/provenance\.json.*bring it back"):
        shipped.shipped_results(NAME, "laptop").table()


def test_a_figure_that_is_written_over_packed_ones_replaces_them(folder):
    made = shipped.read(entry(NAME), "laptop")
    made.write(folder, images=False, page=False)
    assert {path.name for path in folder.iterdir()} == {"table.csv", "curves.csv", "figure.json", "provenance.json"}
    pd.testing.assert_frame_equal(shipped.read(entry(NAME), "laptop").table, made.table)
    results.pack(folder)
    pd.testing.assert_frame_equal(shipped.read(entry(NAME), "laptop").table, made.table)


def test_redrawing_keeps_the_tables_and_their_digests(folder):
    def kept():
        facts = results.Results(folder).facts
        return facts["tables"], {path.name: gzip.decompress(path.read_bytes()) for path in folder.glob("*.csv.gz")}

    before = kept()
    unpack(folder)
    (folder / "figure.png").unlink()
    try:
        shipped.redraw(NAME)
    except LabError as error:
        if "no images" not in str(error):
            raise
        pytest.skip(str(error))
    assert kept() == before
    assert {path.name for path in folder.iterdir()} == {
        "table.csv.gz",
        "curves.csv.gz",
        "figure.json.gz",
        "figure.png",
        "provenance.json.gz",
    }
    edit(folder, b"0.", b"1.")
    with pytest.raises(LabError, match="damaged or was edited"):
        shipped.redraw(NAME)


def test_a_table_without_provenance_is_read_as_it_is(folder):
    (folder / "provenance.json.gz").unlink()
    edit(folder, b"0.", b"1.")
    assert len(shipped.shipped_results(NAME, "laptop").table())
