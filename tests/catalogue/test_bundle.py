"""A bundle has all of a figure, is checked without a store, and what was changed in it is named."""

import json
import zipfile
from hashlib import sha256

import numpy as np
import pytest

from lab.catalogue import bundle
from lab.catalogue.build import figure
from lab.catalogue.bundle import CRATE, MANIFEST, manifest, open_figure, verify, write
from lab.catalogue.results import sealed
from lab.cli import main
from lab.errors import ArgumentError, LabError

NAME = "simplicity/fig30"  # three runs at smoke scale


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    from lab.store import Store

    folder = tmp_path_factory.mktemp("bundle")
    store = Store(folder / "store")
    made = figure(NAME, "smoke", store=store, shipped=False, progress=False)
    said = write(made, folder / "figure.zip", store)
    return made, folder / "figure.zip", said


def files(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def test_a_bundle_has_the_figure_its_runs_and_the_versions(packed):
    made, path, said = packed
    content = files(path)
    assert "3 of 3 runs and searches" in said
    folder = f"results/{NAME}/smoke"
    assert {f"{folder}/{name}" for name in ("table.csv", "figure.json", "provenance.json")} <= set(content)
    assert {name.split("/")[2] for name in content if name.startswith("store/runs/")} == set(made.provenance["runs"])
    assert b"lab-nonlinearities==" in content["requirements.txt"] and b"torch==" in content["requirements.txt"]
    graph = {one["@id"]: one for one in json.loads(content[CRATE])["@graph"]}
    listed = {one["@id"] for one in graph["./"]["hasPart"]}
    assert listed == set(content) - {CRATE, MANIFEST} and listed < set(graph)
    assert {graph["./"][name]["@id"] for name in ("license", "mentions")} < set(graph), "what it refers to is in it"


def test_it_is_verified_and_drawn_without_the_store(packed, monkeypatch, tmp_path):
    made, path, _ = packed
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "empty"))
    assert verify(path) == (True, f"{path}: {NAME}, scale smoke: 1 table and 3 runs are whole, and give its plot")
    again = open_figure(path)
    assert again.plot.to_json() == made.plot.to_json() and again.summary == made.summary


def test_the_same_figure_gives_the_same_tables_and_digests(packed, tmp_path):
    made, path, _ = packed
    write(made, tmp_path / "again.zip")
    one, other = files(path), files(tmp_path / "again.zip")
    name = f"results/{NAME}/smoke/table.csv"
    assert one[name] == other[name]


def test_commands(packed, tmp_path, capsys, monkeypatch):
    _, path, _ = packed
    monkeypatch.chdir(tmp_path)
    main(["bundle", "transformers/fig6", "a.zip"])
    assert "transformers/fig6, scale paper" in capsys.readouterr().out
    main(["verify", "a.zip", str(path)])
    assert capsys.readouterr().out.count("whole, and give its plot") == 2
    main(["figure", str(path)])
    assert (tmp_path / "out" / NAME / "smoke" / "table.csv").is_file()


@pytest.mark.parametrize("where", ["table.csv", "provenance.json", "figure.json", "weights.safetensors"])
def test_a_file_that_was_changed_is_named(packed, tmp_path, where):
    content = files(packed[1])
    name = next(name for name in content if name.endswith(where))
    content[name] = content[name][:-1] + b"9"
    path = pack(tmp_path / "a.zip", content)
    for use in (verify, open_figure):
        with pytest.raises(LabError, match=rf"changed or is damaged: {name} does not have its SHA-256"):
            use(path)


def test_checksums_that_were_made_anew_do_not_hide_a_change(packed, tmp_path):
    content = files(packed[1])
    name = f"results/{NAME}/smoke/table.csv"
    content[name] = content[name].replace(b"0.", b"1.", 1)
    content[MANIFEST] = manifest({n: sha256(data).hexdigest() for n, data in content.items() if n != MANIFEST})
    with pytest.raises(LabError, match="table.csv is damaged or was edited"):
        verify(pack(tmp_path / "a.zip", content))


def test_an_added_file_a_missing_one_and_a_newer_format_are_named(packed, tmp_path):
    content = files(packed[1])
    with pytest.raises(LabError, match="extra.txt is in the archive or in its manifest alone"):
        verify(pack(tmp_path / "a.zip", content | {"extra.txt": b""}))
    with pytest.raises(LabError, match="requirements.txt is in the archive or in its manifest alone"):
        verify(pack(tmp_path / "a.zip", {name: data for name, data in content.items() if name != "requirements.txt"}))
    newer = json.loads(content[CRATE])
    next(one for one in newer["@graph"] if one["@id"] == "./")["version"] = 99
    with pytest.raises(LabError, match="of a newer lab, format 99; this one reads up to 1"):
        verify(pack(tmp_path / "a.zip", content | {CRATE: json.dumps(newer).encode()}))


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt"])
def test_nothing_is_written_outside(packed, tmp_path, name):
    content = files(packed[1]) | {name: b""}
    content[MANIFEST] += manifest({name: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"})
    with pytest.raises(LabError, match="leads out of its folder"):
        verify(pack(tmp_path / "a.zip", content))


def test_what_is_no_bundle_is_said_in_a_line(tmp_path):
    (tmp_path / "text.zip").write_text("text")
    pack(tmp_path / "other.zip", {"a.txt": b"a"})
    pack(tmp_path / "strange.zip", {CRATE: b"[]", MANIFEST: b"x"})
    for name in ("text.zip", "other.zip", "strange.zip", "nowhere.zip"):
        with pytest.raises(LabError, match="cannot be read as a bundle") as caught:
            open_figure(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(ArgumentError, match="give the name of a ZIP file"):
        bundle.write(figure("transformers/fig6", progress=False), tmp_path / "a.tar")


def test_a_bundle_cut_short_is_said(packed, tmp_path):
    content = packed[1].read_bytes()
    for size in (10, len(content) // 2, len(content) - 5):
        (tmp_path / "a.zip").write_bytes(content[:size])
        with pytest.raises(LabError, match=r"a\.zip"):
            verify(tmp_path / "a.zip")


def resealed(path, content):
    """The bundle with checksums that fit."""
    rest = {name: data for name, data in content.items() if name != MANIFEST}
    return pack(path, rest | {MANIFEST: manifest({name: sha256(data).hexdigest() for name, data in rest.items()})})


def test_damage_anywhere_is_said_in_a_line(packed, tmp_path):
    content, random = packed[1].read_bytes(), np.random.default_rng(0)
    for place in random.integers(len(content), size=60):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(random.integers(8))
        (tmp_path / "a.zip").write_bytes(flipped)
        try:
            same, said = verify(tmp_path / "a.zip")
            assert same, said  # in what the archive says of itself, as a time
        except LabError as error:
            assert "\n" not in str(error) and str(tmp_path / "a.zip") in str(error)


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("runs"),
        lambda facts: facts.update(scale="huge"),
        lambda facts: facts.update(entry="mine/fig1"),
        lambda facts: facts.update(seeds=3),
        lambda facts: facts.update(tables=3),
        lambda facts: facts.clear(),
    ],
)
def test_results_of_another_version_are_named(packed, tmp_path, change):
    content = files(packed[1])
    name = f"results/{NAME}/smoke/provenance.json"
    facts = json.loads(content[name])
    facts.pop("sha256")
    change(facts)
    path = resealed(tmp_path / "a.zip", content | {name: sealed(facts)})
    for use in (verify, open_figure):
        with pytest.raises(LabError, match=r"a\.zip") as caught:
            use(path)
        assert "/tmp/tmp" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_plot_that_is_none_is_named(packed, tmp_path):
    content = files(packed[1])
    for data in (b"{}", b"text"):
        with pytest.raises(LabError, match="do not fit this lab"):
            verify(resealed(tmp_path / "a.zip", content | {f"results/{NAME}/smoke/figure.json": data}))


def test_the_name_of_the_file_is_checked_before_anything_is_made(capsys):
    with pytest.raises(SystemExit):
        main(["bundle", "simplicity/fig11", "out.tar", "--scale", "paper"])  # whose runs take days
    assert "give the name of a ZIP file, as out.zip" in capsys.readouterr().err
