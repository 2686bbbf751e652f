"""What lies in a store and is not the lab's: it is reported and never touched."""

import hashlib
import json
import os

import pytest

from lab.cli import main
from lab.doctor import examine
from lab.errors import ArgumentError, LabError
from lab.spec import key, replace, to_json
from lab.store import Store
from tests.test_store import FLEET, HISTORY, NOTES, RUN, WEIGHTS, flip


@pytest.fixture
def store(store_folder):
    """A store with one run."""
    made = Store()
    made.save(RUN, HISTORY, WEIGHTS, NOTES)
    return made


def strangers(store: Store) -> list[str]:
    """Put files of other programs, and a result of another version of the lab, into the store; where they lie."""
    for name in (
        "runs/exp1/events.out.tfevents",
        "runs/readme.txt",
        "runs/.tmp-mine/file",
        "checkpoints/model.pt",
        "searches/lightning/last.ckpt",
        f"runs/{'a' * 64}/blob",
        f"checkpoints/{'c' * 64}/part",
    ):
        path = store.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"precious")
    other = store.folder / "runs" / hashlib.sha256(f"2\n{to_json(RUN)}".encode()).hexdigest()
    store.path(RUN).rename(other)  # the same files, by the name that a later version gives them
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    return [
        "checkpoints/" + "c" * 64,
        "checkpoints/model.pt",
        "runs/.tmp-mine",
        "runs/" + "a" * 64,
        "runs/exp1",
        "runs/readme.txt",
        "searches/lightning",
        f"runs/{other.name}",
    ]


def files(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_cleaning_takes_damage_and_leaves_what_other_programs_wrote(store):
    names = strangers(store)
    store.keep_checkpoint(FLEET, WEIGHTS)
    before = files(store.folder)
    assert store.verify() == [] and store.clean() == [] and files(store.folder) == before
    assert [path.name for path in store.results()] == [key(RUN)]
    assert len(store.foreign()) == len(names)
    for name in names:
        (line,) = [line for line in store.foreign() if line.startswith(f"{name}: ")]
        assert "\n" not in line and ("version" in line) == (len(name) == 69 and name[-1:] * 64 not in name)
    flip(store.path(RUN) / "history.npz")
    assert store.clean() == [f"runs/{key(RUN)}"]
    left = {name: data for name, data in before.items() if key(RUN) not in name}
    assert files(store.folder) == left


def test_a_damaged_result_takes_no_strange_file_along(store):
    (store.path(RUN) / "notes.txt").write_text("precious")
    assert store.load(RUN)[2] == NOTES
    flip(store.path(RUN) / "weights.safetensors")
    assert store.clean() == [f"runs/{key(RUN)}"]
    assert files(store.path(RUN)) == {"notes.txt": b"precious"} and not store.has(RUN)
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    assert store.load(RUN)[2] == NOTES and (store.path(RUN) / "notes.txt").read_text() == "precious"


def test_a_result_of_unknown_types_is_of_another_version(store):
    """Whole by its own digests, and named by a specification that this version cannot read."""
    text = to_json(RUN).replace('"type":"RunSpec"', '"type":"LaterSpec"')
    assert text != to_json(RUN)
    folder = store.path(RUN)
    (folder / "spec.json").write_text(text)
    done = json.loads((folder / "done.json").read_text())
    done.pop("digest")
    done["files"]["spec.json"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "done.json").write_text(json.dumps(done))
    folder = folder.rename(folder.with_name("b" * 64))
    assert store.verify() == [] and store.clean() == [] and folder.exists()
    assert "another version" in store.foreign()[0]


def test_a_whole_state_of_another_version_stays(store, monkeypatch):
    store.keep_checkpoint(FLEET, WEIGHTS)
    path = store._checkpoint(FLEET)
    path.rename(path.with_name("d" * 64))
    assert store.clean() == [] and "another version" in store.foreign()[0]


def test_the_command_reports_strangers_and_calls_them_no_damage(store, capsys):
    names = strangers(store)
    main(["store", "verify"])
    out = capsys.readouterr().out
    assert all(name in out for name in names) and "as it was written" in out
    main(["store", "clean"])
    out = capsys.readouterr().out
    assert all(name in out for name in names) and "nothing to remove" in out
    main(["store", "list"])
    out, err = capsys.readouterr()
    stored = [line for line in out.splitlines()[1:] if "(shipped)" not in line]
    assert len(stored) == 1 and f"{len(names)} things" in err and "lab store verify" in err
    health = examine()["store health"]
    assert "as it was written" in health and f"{len(names)} things" in health


# A store that is no folder, and paths of the environment.


@pytest.mark.parametrize("words", ["store verify", "store list", "store clean", "figures", "search memorize"])
@pytest.mark.parametrize("place", ["file", "file/below", "link"])
def test_a_store_that_is_no_folder_is_said(tmp_path, monkeypatch, capsys, words, place):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("LAB_STORE", str(tmp_path / place))
    with pytest.raises(SystemExit) as end:
        main(words.split())
    said = capsys.readouterr().err
    assert end.value.code == 2 and said.count("\n") == 1 and "LAB_STORE" in said and str(tmp_path / place) in said
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("variable", ["LAB_STORE", "LAB_ZOO", "LAB_CACHE", "LAB_DATA"])
def test_the_doctor_names_a_path_that_is_a_file(tmp_path, monkeypatch, variable):
    (tmp_path / "file").write_text("precious")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    found = examine()
    (line,) = [text for text in found.values() if variable in text]
    assert str(tmp_path / "file") in line and "\n" not in line


def test_every_path_of_the_environment_may_begin_at_home(tmp_path, monkeypatch):
    from lab.data import datasets
    from lab.nonlinearity.zoo import zoo_names

    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("LAB_STORE", "LAB_ZOO", "LAB_CACHE", "LAB_DATA"):
        (tmp_path / variable).mkdir()
        monkeypatch.setenv(variable, f"~/{variable}")
    assert Store().folder == tmp_path / "LAB_STORE"
    assert datasets.cache.folder() == tmp_path / "LAB_CACHE"
    assert datasets.find("covertype") is None
    assert zoo_names()
    main(["search", "memorize", "--scale", "smoke"])
    assert (tmp_path / "LAB_ZOO/memorize.json").is_file() and "mine/memorize" in zoo_names()
    assert not os.path.lexists("~")  # noqa: PTH110
    monkeypatch.setenv("LAB_STORE", "~nobody-of-this-name/store")
    with pytest.raises(ArgumentError, match="LAB_STORE"):
        Store()


# Links.


def test_forgetting_a_linked_result_removes_the_link(store, tmp_path):
    other = Store(tmp_path / "other")
    for spec in (replace(RUN, seed=1), replace(RUN, seed=2)):
        other.save(spec, HISTORY, WEIGHTS, NOTES)
        store.path(spec).symlink_to(other.path(spec))
        assert store.has(spec)
    store.forget(FLEET)
    assert other.has(FLEET[1]) and other.verify() == [] and not store.path(FLEET[1]).is_symlink()
    spec = replace(RUN, seed=2)
    flip(other.path(spec) / "history.npz")
    assert store.clean() == [f"runs/{key(spec)}"] and other.path(spec).is_dir() and not store.path(spec).is_symlink()


def test_a_link_to_nothing_makes_room(store, tmp_path):
    spec = replace(RUN, seed=1)
    store.path(spec).symlink_to(tmp_path / "gone")
    assert not store.has(spec) and "link" in store.foreign()[0] and store.verify() == []
    store.save(spec, HISTORY, WEIGHTS, NOTES)
    assert store.load(spec)[2] == NOTES and store.foreign() == []


# Training again by force.


def test_a_forced_training_goes_on_where_it_was_interrupted(store):
    specs = [replace(RUN, seed=seed) for seed in range(3)]
    for spec in specs[1:]:
        store.save(spec, HISTORY, WEIGHTS, NOTES)
    assert store.force(specs) is False and not any(map(store.has, specs))
    store.save(specs[0], HISTORY, WEIGHTS, {"again": 1})
    store.keep_checkpoint(specs[1:], WEIGHTS)
    again = Store()
    assert again.force(specs[::-1]) is True
    assert again.load(specs[0])[2] == {"again": 1} and again.checkpoint(specs[1:]) is not None
    for spec in specs[1:]:
        store.save(spec, HISTORY, WEIGHTS, {"again": 1})
    store.end_force(specs)
    assert not [path for path in (store.folder / "forced").iterdir()]
    assert store.force(specs) is False and not any(map(store.has, specs))


def test_a_forced_training_that_was_finished_otherwise_is_not_taken_for_interrupted(store):
    assert store.force([RUN]) is False
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    assert store.force([RUN]) is False and not store.has(RUN)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"keys": []}'])
def test_a_damaged_marker_starts_over(store, text):
    store.force(FLEET)
    (marker,) = (store.folder / "forced").iterdir()
    marker.write_text(text)
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    assert store.force(FLEET) is False and not store.has(RUN)


def test_a_store_that_cannot_be_written_refuses_force_in_one_line(tmp_path):
    store = Store(tmp_path)
    (tmp_path / "forced").write_text("a file where a folder should be")
    with pytest.raises(LabError, match="LAB_STORE"):
        store.force([RUN])
