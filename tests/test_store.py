"""The store: what goes in comes out, damage is named and never used, a failing disk costs no finished work."""

import errno
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.errors import ArgumentError, LabError
from lab.files import temporary
from lab.places import SHIPPED
from lab.run import Run
from lab.spec import (
    AdamTrapezoid,
    AdamWCosine,
    HyperModel,
    ModelSpec,
    RunSpec,
    SearchSpec,
    from_json,
    key,
    replace,
    to_json,
)
from lab.store import DamagedError, Store, checkpoints, objects
from lab.store.store import as_store
from lab.tasks import Sraven
from lab.testing.calls import FileCalls

RUN = RunSpec("memorize", ModelSpec(layers=1, width=8), AdamTrapezoid(steps=6, rate=0.003, batch=8), seed=0)
SEARCH = SearchSpec("memorize", ModelSpec(layers=1, width=8), AdamTrapezoid(steps=6, rate=0.003, batch=8))
HISTORY = {"steps": np.array([2, 4, 6]), "accuracy_test": np.array([0.25, np.nan, 1.0])}
WEIGHTS = {"a.weight": torch.tensor([[1.5, float("nan")], [-0.0, 1e-40]]), "b": torch.arange(3.0)[:, None].mT}
NOTES = {"seconds": 1.25, "diverged": [3, "inf"]}
FILES = ("spec.json", "history.npz", "weights.safetensors", "done.json")
linux = pytest.mark.skipif(sys.platform != "linux", reason="mounts and capabilities are Linux's")


@pytest.fixture
def store(store_folder):
    """A store with one run."""
    made = Store()
    assert made.folder == store_folder
    made.save(RUN, HISTORY, WEIGHTS, NOTES)
    return made


def flip(path: Path, place: int = -1, bit: int = 0) -> None:
    """Turn one bit round."""
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


def named(store: Store, *words: str) -> None:
    """The damaged run is named by `verify` and refused by `load`, each in one line that has these words."""
    (line,) = store.verify()
    with pytest.raises(DamagedError) as raised:
        store.load(RUN)
    for text in (line, str(raised.value)):
        assert "\n" not in text
        for word in (key(RUN), "lab store clean", *words):
            assert word in text


def test_a_run_of_earlier_relative_positions_is_not_used(store):
    """Its spec is the same, its weights would be others today."""
    spec = RunSpec(Sraven(features=3), HyperModel(), AdamWCosine(steps=6, rate=0.003, batch=8), seed=0)
    store.save(spec, HISTORY, WEIGHTS, NOTES)
    assert store.has(spec) and store.verify() == []
    once = hashlib.sha256(f"1\n{to_json(spec)}".encode()).hexdigest()
    store.path(spec).rename(store.path(spec).with_name(once))
    assert not store.has(spec)
    (line,) = store.foreign()
    assert once in line and "another version of the lab" in line and store.verify() == []


# What goes in comes out.


def test_what_was_saved_is_loaded_to_the_bit(store):
    history, weights, notes = Store().load(RUN)
    assert history.keys() == HISTORY.keys() and weights.keys() == WEIGHTS.keys() and notes == NOTES
    for name, array in HISTORY.items():
        assert array.dtype == history[name].dtype and array.tobytes() == history[name].tobytes()
    for name, tensor in WEIGHTS.items():
        assert torch.equal(tensor.contiguous().view(torch.int32), weights[name].view(torch.int32))


def test_a_result_is_a_folder_named_by_the_key_of_its_spec(store):
    """As design section 4 says it, computed here from the words."""
    name = hashlib.sha256(f"1\n{to_json(RUN)}".encode()).hexdigest()
    folder = store.folder / "runs" / name
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert (folder / "spec.json").read_text() == to_json(RUN)
    done = json.loads((folder / "done.json").read_text())
    assert done["files"] == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES if name != "done.json"
    }
    store.save(SEARCH, {}, {}, {})
    assert (store.folder / "searches" / key(SEARCH) / "done.json").is_file()
    assert store.has(RUN) and store.has(SEARCH) and not store.has(replace(RUN, seed=1))
    assert [path.name for path in store.results()] == [key(SEARCH), key(RUN)]


def test_nothing_is_pickled(store):
    with pytest.raises(ValueError, match="objects"):
        store.save(replace(RUN, seed=1), {"odd": np.array([{}, []], dtype=object)}, {}, {})
    assert not store.has(replace(RUN, seed=1))


def test_the_first_of_two_results_stays(store):
    """Another process was faster: a spec has one result, and who read the first must not see it change."""
    store.save(RUN, HISTORY, {"other": torch.ones(1)}, {})
    assert store.load(RUN)[1].keys() == WEIGHTS.keys()
    assert store.verify() == [] and not list(store.folder.glob("*/.tmp-*"))


@pytest.mark.skipif(sys.platform == "win32", reason="no folder is synced there")
def test_the_name_of_a_result_that_another_process_has_saved_is_on_the_disk_too(store):
    """That process may have died before it had the disk write it."""
    with FileCalls(store.folder) as calls:
        store.save(RUN, HISTORY, WEIGHTS, NOTES)
    assert ("fsync", str(store.path(RUN).parent)) in calls.done


def test_a_half_removed_result_is_not_there_and_makes_room(store):
    (store.path(RUN) / "done.json").unlink()
    assert not store.has(RUN)
    store.save(RUN, HISTORY, {"other": torch.ones(1)}, {})
    assert store.load(RUN)[1].keys() == {"other"} and store.verify() == []


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "named"))
    assert Store().folder == tmp_path / "named" and Store(tmp_path).folder == tmp_path
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_STORE", "below/here")
    made = Store()
    monkeypatch.chdir("/")
    assert made.folder == tmp_path / "below/here", "a worker with another working folder must find the same store"
    monkeypatch.delenv("LAB_STORE")
    assert Store().folder == Path(__file__).parents[1] / "data" / "store"


def test_a_store_that_is_given_is_used_and_else_the_user_s_own(store, tmp_path):
    other = Store(tmp_path / "other")
    assert as_store(other) is other and as_store(None).folder == store.folder
    with pytest.raises(ArgumentError, match="leave it out"):
        as_store(str(tmp_path))


def test_results_can_be_read_by_whom_the_umask_lets(store_folder):
    """A store is shared between users of a machine: nothing keeps it to one of them but his umask."""
    before = os.umask(0o027)
    try:
        Store().save(RUN, HISTORY, WEIGHTS, NOTES)
    finally:
        os.umask(before)
    folder = Store().path(RUN)
    assert folder.stat().st_mode & 0o777 == 0o750
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o640}


# Damage.


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("place", [0, 0.3, 0.7, -1])
def test_a_flipped_bit_is_named_and_removed_on_request(store, file, place):
    path = store.path(RUN) / file
    flip(path, place if place in (0, -1) else int(place * path.stat().st_size), bit=2)
    named(store)
    assert store.clean() == [f"runs/{key(RUN)}"]
    assert store.verify() == [] and not store.has(RUN) and not store.path(RUN).exists()
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    store.load(RUN)


@settings(max_examples=60)
@given(file=st.sampled_from(FILES), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_is_overlooked(tmp_path_factory, file, place, bit):
    store = Store(tmp_path_factory.mktemp("flipped"))
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    path = store.path(RUN) / file
    flip(path, int(place * path.stat().st_size), bit)
    named(store)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("what", ["missing", "empty", "cut", "folder"])
def test_a_file_that_is_not_whole_is_named(store, file, what):
    path = store.path(RUN) / file
    data = path.read_bytes()
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what != "missing":
        path.write_bytes(data[: len(data) // 2 if what == "cut" else 0])
    named(store, file)
    assert store.clean() == [f"runs/{key(RUN)}"] and store.verify() == []


@pytest.mark.parametrize("text", ["{}", "[]", '{"files": {}, "notes": {}}', '{"files": [], "notes": {}}', "null"])
def test_a_done_that_says_nothing_is_damage(store, text):
    (store.path(RUN) / "done.json").write_text(text)
    named(store, "done.json")


def test_a_result_under_the_name_of_another_is_not_used(store):
    other = replace(RUN, seed=1)
    store.path(RUN).rename(store.path(other))
    with pytest.raises(DamagedError, match="another spec"):
        store.load(other)
    assert "another spec" in store.verify()[0]
    assert store.clean() == [f"runs/{key(other)}"]


def test_pickled_numbers_whose_digests_fit_are_refused(store, tmp_path):
    """Others can write them; reading them would run what is in them."""

    class Program:
        def __reduce__(self):
            return Path.touch, (tmp_path / "run",)

    packed = io.BytesIO()
    np.savez(packed, steps=np.array([Program()], dtype=object))
    folder = store.path(RUN)
    done = json.loads((folder / "done.json").read_bytes())
    done["files"]["history.npz"] = hashlib.sha256(packed.getvalue()).hexdigest()
    del done["digest"]
    (folder / "history.npz").write_bytes(packed.getvalue())
    (folder / "done.json").write_text(json.dumps(done))
    assert store.verify() == [], "the files are as `done.json` says"
    with pytest.raises(DamagedError, match="it cannot be read"):
        store.load(RUN)
    assert not (tmp_path / "run").exists()


def test_results_from_before_notes_had_a_digest_are_still_read(store):
    path = store.path(RUN) / "done.json"
    done = json.loads(path.read_text())
    path.write_text(json.dumps({"files": done["files"], "notes": done["notes"]}))
    assert store.verify() == [] and store.load(RUN)[2] == NOTES


def test_what_was_never_trained_is_not_called_damaged(store):
    with pytest.raises(LabError, match="not in the store") as raised:
        store.load(SEARCH)
    assert not isinstance(raised.value, DamagedError) and str(store.folder) in str(raised.value)


def test_an_undamaged_store_stays_as_it_is(store):
    store.save(SEARCH, {}, {}, {})
    assert store.verify() == [] and store.clean() == []
    assert store.has(RUN) and store.has(SEARCH)


# Checkpoints.

FLEET = (RUN, replace(RUN, seed=1))


def test_a_checkpoint_is_found_by_its_fleet(store):
    store.keep_checkpoint(FLEET, {"w": torch.ones(2)})
    store.keep_checkpoint(FLEET, WEIGHTS)
    assert torch.equal(store.checkpoint(FLEET)["a.weight"].nan_to_num(7), WEIGHTS["a.weight"].nan_to_num(7))
    assert list(store.checkpoints()) == [FLEET]
    assert store.checkpoint(FLEET[:1]) is None
    store.drop_checkpoint(FLEET)
    store.drop_checkpoint(FLEET)
    assert store.checkpoint(FLEET) is None and list(store.checkpoints()) == []


@settings(max_examples=30)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_damaged_checkpoint_counts_as_none(tmp_path_factory, place, bit):
    store = Store(tmp_path_factory.mktemp("flipped"))
    store.keep_checkpoint(FLEET, WEIGHTS)
    (path,) = (store.folder / "checkpoints").iterdir()
    flip(path, int(place * path.stat().st_size), bit)
    assert store.checkpoint(FLEET) is None and list(store.checkpoints()) == []
    assert store.clean() == [f"checkpoints/{path.name}"] and not path.exists()


@pytest.mark.parametrize("keep", [0, 10, 32, 50])
def test_a_cut_checkpoint_counts_as_none(store, keep):
    store.keep_checkpoint(FLEET, WEIGHTS)
    (path,) = (store.folder / "checkpoints").iterdir()
    path.write_bytes(path.read_bytes()[:keep])
    assert store.checkpoint(FLEET) is None and list(store.checkpoints()) == []


@pytest.mark.parametrize("old", ['"steps":6', '"type":"Recipe"'])
def test_a_checkpoint_of_another_version_of_the_lab_is_left_alone(store, monkeypatch, old):
    """Whole, but its specs have a field or a type that is no longer known."""
    path = store._checkpoint(FLEET)
    older = old.replace('":', 'Older":', 1)
    monkeypatch.setattr("lab.store.checkpoints.to_json", lambda spec: to_json(spec).replace(old, older))
    store.keep_checkpoint(FLEET, WEIGHTS)
    monkeypatch.undo()
    assert list(store.checkpoints()) == []
    assert store.clean() == [] and "another version" in store.foreign()[0] and path.exists()


def test_cleaning_costs_no_training_under_way(store):
    """Checkpoints go when nothing needs them any more, temporary folders when their process has ended."""
    store.keep_checkpoint(FLEET, WEIGHTS)
    left = store.folder / "searches/.tmp-0123456789abcdef"
    left.mkdir(parents=True)
    (left / "spec.json").write_text("{")
    with temporary(store.folder / "runs") as written:
        os.utime(written, (time.time() - 7200,) * 2)
        assert list(store.results()) == [store.path(RUN)] and store.verify() == [] and store.foreign() == []
        assert store.clean() == ["searches/.tmp-0123456789abcdef"]
        assert store.checkpoint(FLEET) is not None and written.exists() and not left.exists()
    store.save(FLEET[1], HISTORY, WEIGHTS, NOTES)
    assert store.clean() == [f"checkpoints/{store._checkpoint(FLEET).name}"]


def test_cleaning_takes_no_state_that_is_written_again_meanwhile(store, monkeypatch):
    """A damaged one does not say whose it is: its training may put a whole one in its place at any moment."""
    path, real, looks = store._checkpoint(FLEET), Store._is_needless, []
    store.keep_checkpoint(FLEET, WEIGHTS)
    flip(path)

    def looked(self, state):
        looks.append(real(self, state))
        if len(looks) == 2:  # the last one, just before it goes
            store.keep_checkpoint(FLEET, WEIGHTS)
        return looks[-1]

    monkeypatch.setattr(Store, "_is_needless", looked)
    assert store.clean() == [] and store.checkpoint(FLEET) is not None
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def course_of(number=20, size=3):
    return {"keep": torch.tensor(number), "steps": torch.arange(size), "of a": torch.zeros(size, 2)}


def test_cleaning_takes_no_checkpoints_whose_result_is_about_to_be_saved(store):
    """Checkpoints are written first. Whose process was killed in between has neither: they are recorded again."""
    spec = FLEET[1]
    with store.lease([spec]):
        store.save_course(spec, course_of())
        assert store.clean() == [] and store.has_course(spec, 20)
    assert store.clean() == [f"courses/{store._course(spec).name}"]
    with store.lease([spec]):
        store.save_course(spec, course_of())
        store.save(spec, HISTORY, WEIGHTS, NOTES)
    assert store.clean() == [] and store.has(spec, 20)


def test_the_state_of_runs_that_are_trained_again_for_checkpoints_is_needed(store):
    store.save(FLEET[1], HISTORY, WEIGHTS, NOTES)
    name = f"checkpoints/{store._checkpoint(FLEET).name}"
    for state in ({checkpoints.COURSE + "keep": torch.tensor(20)}, {}):
        store.keep_checkpoint(FLEET, WEIGHTS | state)
        with store.lease(FLEET[:1]):
            assert store.clean() == []
            store.drop_checkpoints_of_stored()
            assert store.checkpoint(FLEET) is not None
        if state:
            store.save_course(FLEET[0], course_of())
            store.save_course(FLEET[1], course_of(19))
            store.drop_checkpoints_of_stored()
            assert store.clean() == [] and list(store.checkpoints()) == [FLEET]
            store.save_course(FLEET[1], course_of(21))
        assert store.clean() == [name]
    store.keep_checkpoint(FLEET, WEIGHTS)
    store.drop_checkpoints_of_stored(FLEET[1:])
    assert list(store.checkpoints()) == [FLEET], "one is trained once more"
    store.drop_checkpoints_of_stored([SEARCH])
    assert list(store.checkpoints()) == []


def test_forgotten_results_take_their_checkpoints_along(store):
    store.keep_checkpoint(FLEET, WEIGHTS)
    store.keep_checkpoint((SEARCH,), WEIGHTS)
    store.forget([FLEET[1]])
    assert store.has(RUN) and list(store.checkpoints()) == [(SEARCH,)]
    store.forget([RUN])
    assert not store.has(RUN)


# Disks that fail.

FULL = """
import sys
from tests.processes import on_a_disk_of
from tests.test_store import *
store = Store()
runs = [replace(RUN, seed=seed) for seed in range(30)]
big = {"weight": torch.ones(2000)}  # 8 kB
def until_full(size):
    on_a_disk_of(size, str(store.folder))
    said = None
    try:
        for run in runs:
            store.has(run) or %s
    except LabError as error:
        said = str(error)
    left = [str(p) for p in store.folder.glob("*/.tmp-*")]
    return {"said": said, "there": sum(map(store.has, runs)), "damaged": store.verify(), "left": left}
try:
    print(json.dumps([until_full(size) for size in ("100k", "4m")]))
except PermissionError as error:
    print(json.dumps({"refused": str(error)}))
"""
SAVE, CHECKPOINT = "store.save(run, HISTORY, big, NOTES)", "store.keep_checkpoint((run,), big)"


@linux
@pytest.mark.parametrize("deed", [SAVE, CHECKPOINT], ids=["results", "checkpoints"])
def test_a_full_disk_costs_nothing_that_was_finished(nursery, store_folder, deed):
    ended = nursery.run(FULL % deed, LAB_STORE=store_folder)
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    if "refused" in found:
        pytest.skip(f"this machine lets nobody mount a small disk: {found['refused']}")
    full, roomy = found
    assert str(store_folder) in full["said"] and "LAB_STORE" in full["said"] and "is full" in full["said"]
    assert "\n" not in full["said"]
    assert full["damaged"] == [] and full["left"] == []
    assert roomy["said"] is None and roomy["damaged"] == []
    if deed == SAVE:
        assert 0 < full["there"] < 30 and roomy["there"] == 30


def test_a_file_that_may_not_grow_is_named_too(nursery, store_folder):
    """A quota by another name, for machines where no disk can be mounted: RLIMIT_FSIZE."""
    code = """
import resource
from tests.test_store import *
Store().save(RUN, HISTORY, WEIGHTS, NOTES)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    Store().save(replace(RUN, seed=1), HISTORY, {"weight": torch.ones(2000)}, NOTES)
except LabError as error:
    print(error)
"""
    ended = nursery.run(code, LAB_STORE=store_folder)
    assert "LAB_STORE" in ended.out and str(store_folder) in ended.out and ended.code == 0, ended
    store = Store()
    assert store.verify() == [] and store.has(RUN) and len(list(store.results())) == 1
    assert not list(store.folder.glob("*/.tmp-*"))


@linux
def test_a_store_that_cannot_be_written_can_still_be_read(nursery, store):
    code = """
from tests.processes import like_an_ordinary_user
from tests.test_store import *
like_an_ordinary_user()
store = Store()
print(store.load(RUN)[2]["seconds"], store.has(replace(RUN, seed=1)), store.verify())
deeds = (lambda: store.save(SEARCH, {}, {}, {}), lambda: store.keep_checkpoint((RUN,), {}), store.check_writable,
         lambda: store.forget([RUN]), lambda: store.drop_checkpoint(FLEET), store.clean)
for deed in deeds:
    try:
        deed()
        print("done")
    except LabError as error:
        print(error)
"""
    store.keep_checkpoint(FLEET, WEIGHTS)
    flip(store._checkpoint(FLEET))  # so that there is something to clean
    for folder in (store.path(RUN), store.folder / "runs", store.folder / "checkpoints", store.folder):
        folder.chmod(0o555)
    ended = nursery.run(code, LAB_STORE=store.folder)
    for folder in (store.folder, store.folder / "runs", store.folder / "checkpoints", store.path(RUN)):
        folder.chmod(0o755)
    first, *rest = ended.out.splitlines()
    assert ended.code == 0 and ended.err == "", ended.err
    assert first == f"{NOTES['seconds']} False []"
    assert len(rest) == 6
    for line in rest:
        assert str(store.folder) in line and "LAB_STORE" in line and "Permission denied" in line
    store.load(RUN)


@linux
def test_a_store_that_cannot_be_read_is_one_line(nursery, store):
    code = """
from tests.processes import like_an_ordinary_user
from tests.test_store import *
like_an_ordinary_user()
store = Store()
for deed in (lambda: store.has(RUN), store.verify, store.clean, lambda: list(store.checkpoints())):
    try:
        print(deed())
    except LabError as error:
        print(error)
"""
    store.folder.chmod(0)
    ended = nursery.run(code, LAB_STORE=store.folder)
    store.folder.chmod(0o755)
    assert ended.code == 0, ended.err
    for line in ended.out.splitlines()[:3]:
        assert str(store.folder) in line and "LAB_STORE" in line and "Permission denied" in line


def test_a_store_that_is_a_file_is_one_line(tmp_path):
    store = Store(tmp_path / "file")
    (tmp_path / "file").write_text("precious")
    deeds = (lambda: store.save(RUN, HISTORY, WEIGHTS, NOTES), store.check_writable, lambda: Store(tmp_path / "file"))
    for deed in deeds:
        with pytest.raises(LabError, match="LAB_STORE") as raised:
            deed()
        assert "\n" not in str(raised.value)
    assert (tmp_path / "file").read_text() == "precious"


def test_checking_leaves_nothing_behind(tmp_path):
    store = Store(tmp_path / "new" / "store")
    store.check_writable()
    assert not any(path.is_file() for path in store.folder.rglob("*")) and store.clean() == []
    shutil.rmtree(store.folder)


# Runs that come with the lab.


def test_a_shipped_run_is_read_where_the_store_lacks_it(store, tmp_path):
    shipped, other = tmp_path / "shipped", replace(RUN, seed=1)
    Store(shipped).save(other, HISTORY, WEIGHTS, NOTES)
    Store(shipped).save(SEARCH, HISTORY, WEIGHTS, NOTES)
    before = {path: path.read_bytes() for path in shipped.rglob("*") if path.is_file()}
    both = Store(shipped=shipped)
    assert both.has(RUN) and both.has(other) and not both.has(SEARCH) and not store.has(other)
    assert both.load(other)[2] == NOTES and np.array_equal(both.load(other)[0]["steps"], HISTORY["steps"])
    with pytest.raises(LabError, match="not in the store"):
        store.load(other)
    both.save(other, HISTORY, {"mine": torch.ones(1)}, {})
    assert both.load(other)[1].keys() == {"mine"}, "one's own goes first"
    both.forget([other])
    assert both.load(other)[1].keys() == WEIGHTS.keys(), "what is shipped stays"
    assert [path.name for path in both.results()] == [key(RUN)] and both.verify() == [] and both.clean() == []
    assert before == {path: path.read_bytes() for path in shipped.rglob("*") if path.is_file()}


def test_a_run_is_read_where_the_functions_are_that_it_was_trained_with(store, tmp_path):
    """A search of one's own, by another processor, may have found another function: a shipped run has its own."""
    shipped, lent = Store(tmp_path / "shipped"), replace(RUN, seed=1)
    for spec in (RUN, lent, SEARCH):
        shipped.save(spec, HISTORY, WEIGHTS, NOTES)
    store.save(SEARCH, HISTORY, {"mine": torch.ones(1)}, NOTES)
    both = store.lending(shipped.folder)
    assert store.shipped is None and both.lending(tmp_path) is both
    assert both.home(RUN) is both and both.home(lent).load(SEARCH)[1].keys() == WEIGHTS.keys()
    assert both.home(replace(RUN, seed=2)) is both, "what neither has will be trained here"
    assert both.look_up(key(lent)[:12]) == (lent, both.home(lent)) and both.look_up(key(RUN)[:12]) == (RUN, both)
    assert both.look_up(key(SEARCH)) == (SEARCH, both)
    for place in (store, both):
        with pytest.raises(ArgumentError, match="0 results have a key that begins with 'nothing'"):
            place.look_up("nothing")
    with pytest.raises(ArgumentError, match="0 results"):
        store.look_up(key(lent))


def test_a_damaged_shipped_run_is_named_and_not_used(store, tmp_path):
    other = replace(RUN, seed=1)
    Store(tmp_path / "shipped").save(other, HISTORY, WEIGHTS, NOTES)
    flip(Store(tmp_path / "shipped").path(other) / "weights.safetensors")
    with pytest.raises(DamagedError, match="weights.safetensors is damaged.*bring it back"):
        Store(shipped=tmp_path / "shipped").load(other)


def test_a_run_is_exported_as_it_is(store, tmp_path):
    store.save(replace(RUN, seed=1), HISTORY, WEIGHTS, NOTES)
    target = store.export(key(RUN)[:12], tmp_path / "data")
    assert target == tmp_path / "data" / "runs" / key(RUN)
    for name in FILES:
        assert (target / name).read_bytes() == (store.path(RUN) / name).read_bytes()
    assert Store(tmp_path / "data").verify() == [] and store.export(key(RUN), tmp_path / "data") == target
    for unclear in ("", "nothing"):
        with pytest.raises(ArgumentError, match="lab store list"):
            store.export(unclear, tmp_path / "data")
    flip(store.path(RUN) / "weights.safetensors")
    with pytest.raises(DamagedError):
        store.export(key(RUN), tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_shipped_is_as_it_was_written_and_can_be_used():
    shipped = Store(SHIPPED)
    assert shipped.verify() == []
    for folder in SHIPPED.glob("runs/*"):
        spec = from_json((folder / "spec.json").read_text())
        assert spec.seed == 0 and Run(spec, shipped).model() is not None


def test_a_state_is_known_by_its_beginning_whatever_is_damaged_in_it(store):
    store.keep_checkpoint(FLEET, WEIGHTS)
    (path,) = (store.folder / "checkpoints").iterdir()
    data = path.read_bytes()
    for length, brace, known in ((data[32:40], b"{", True), (b"\xff" * 8, b"{", True), (data[32:40], b"x", True)):
        path.write_bytes(data[:32] + length + brace + data[41:])
        assert checkpoints.is_state(path) == known and store.foreign() == []
    path.write_bytes(data[:32] + b"\xff" * 8 + b"x" + data[41:])
    assert not checkpoints.is_state(path) and len(store.foreign()) == 1 and store.clean() == [] and path.exists()
    assert not checkpoints.is_state(path.with_name("0" * 64))


def test_a_link_to_a_result_is_that_result(store, tmp_path):
    path = store.path(RUN)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert store.foreign() == store.verify() == store.clean() == [] and store.load(RUN)[2] == NOTES
    (tmp_path / "elsewhere").rename(tmp_path / "gone")
    assert store.foreign() == [f"runs/{path.name}: a link to nothing"] and store.clean() == [] and path.is_symlink()


@pytest.mark.parametrize(
    "files, ours",
    [
        ({"weights.safetensors": b"1"}, True),  # somebody was about to remove it
        ({"spec.json": b'{"type": "RunSpec"}'}, True),
        ({"done.json": b'{"files": {"spec.json": "0"}}'}, True),
        ({"spec.json": b'{"a": 1}', "weights.safetensors": b"1"}, False),
        ({"done.json": b"{}"}, False),
        ({"done.json": b"[1]", "spec.json": b"[1]"}, False),
        ({"notes.txt": b"1"}, False),
    ],
)
def test_a_folder_with_a_result_s_name_is_one_where_its_files_say_so(store, files, ours):
    folder = store.path(FLEET[1])
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    assert (store.foreign() == []) == ours == (len(store.verify()) == 1)
    assert (store.clean() == [f"runs/{folder.name}"]) == ours == (not folder.exists())


def test_a_folder_that_cannot_be_written_is_named(store, monkeypatch):
    assert store.problem() is None

    def refuse(dir):  # root may write everywhere
        raise OSError(errno.EROFS, "Read-only file system", str(dir))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert (
        store.problem()
        == f"{store.folder} cannot be written (read-only file system); name another store with LAB_STORE"
    )


def test_what_stands_in_a_folder_s_place_is_named(store):
    place = store.folder / "courses"
    place.write_text("mine")
    assert store.problem() == f"{place} is no folder: move it away, or name another store with LAB_STORE"
    assert store.foreign() == ["courses: not a folder"] and place.read_text() == "mine"
    place.unlink()
    place.symlink_to(store.folder / "nowhere")
    assert str(place) in store.problem() and store.foreign() == ["courses: not a folder"]


def test_a_result_in_place_of_a_damaged_one_is_whole(store):
    for name in FILES[:3]:
        (store.path(RUN) / name).write_bytes(b"damaged")
    (store.path(RUN) / "done.json").unlink()
    store.save(RUN, HISTORY, {"other": torch.ones(1)}, {})
    assert store.load(RUN)[1].keys() == {"other"} and store.verify() == [] and store.foreign() == []


def test_force_forgets_once_and_goes_on_where_it_was_interrupted(store):
    store.save(FLEET[1], HISTORY, WEIGHTS, NOTES)
    assert store.force(FLEET) is False and not any(map(store.has, FLEET))
    store.save(FLEET[0], HISTORY, WEIGHTS, NOTES)
    assert store.force([*FLEET[::-1], FLEET[0]]) is True and store.has(FLEET[0]), "the same set, in any order"
    assert store.force(FLEET[:1]) is False and not store.has(FLEET[0]), "another set has a marker of its own"
    for spec in FLEET:
        store.save(spec, HISTORY, WEIGHTS, NOTES)
    assert store.force(FLEET) is False and not any(map(store.has, FLEET)), "all were back"
    store.save(FLEET[1], HISTORY, WEIGHTS, NOTES)
    (marker,) = [path for path in (store.folder / "forced").iterdir() if str(key(FLEET[1])) in path.read_text()]
    marker.write_bytes(b"damaged")
    assert store.force(FLEET) is False and not store.has(FLEET[1])
    store.end_force(FLEET)
    assert not marker.exists() and store.force(FLEET) is False


def test_a_force_that_was_killed_does_not_go_on_with_results_of_before(store, monkeypatch):
    """All are back after one `force`; the next one is killed in the middle of forgetting."""
    store.save(FLEET[1], HISTORY, WEIGHTS, NOTES)
    assert store.force(FLEET) is False
    for spec in FLEET:
        store.save(spec, HISTORY, WEIGHTS, NOTES)

    def forget(specs):
        Store.forget(store, FLEET[:1])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store, "forget", forget)
        store.force(FLEET)
    assert not store.has(FLEET[0]) and store.has(FLEET[1])
    assert store.force(FLEET) is False and not store.has(FLEET[1])


def test_a_course_is_kept_by_its_run(store):
    course = {"keep": torch.tensor(20), "steps": torch.arange(3)}
    assert store.course(RUN) is None and not store.has_course(RUN, 1)
    store.save_course(RUN, course)
    assert torch.equal(store.course(RUN)["steps"], course["steps"]) and store.course(FLEET[1]) is None
    assert store.has_course(RUN, 20) and store.has_course(RUN, 5) and not store.has_course(RUN, 21)


def test_whether_checkpoints_are_there_is_asked_without_reading_them(store):
    """They may have gigabytes. Damage is found where they are read, as in results."""
    store.save_course(RUN, course_of(size=1_000_000))
    path, done = store._course(RUN), []
    with mock.patch.object(objects, "read", lambda path, end, real=objects.read: done.append(end) or real(path, end)):
        assert store.has_course(RUN, 20) and done and max(done) < 1_000
    flip(path)
    assert store.has_course(RUN, 20)
    (line,) = store.verify()
    with pytest.raises(DamagedError) as raised:
        store.course(RUN)
    assert line == str(raised.value) and "lab store clean" in line
    assert store.clean() == [f"courses/{path.name}"] and not store.has_course(RUN, 1)
    store.save_course(RUN, course_of())
    for length in (0, 20, 41, 60, path.stat().st_size - 80):
        path.write_bytes(path.read_bytes()[:length])
        assert not store.has_course(RUN, 1)
    path.write_bytes(b"0" * 32 + b"\xff" * 8 + b"{")
    assert not store.has_course(RUN, 1)


def test_a_marker_is_there_within_its_block(store):
    with store.marker() as name:
        assert store.has_marker(name) and not store.has_marker(f"{name}0")
    assert not store.has_marker(name)
