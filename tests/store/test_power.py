"""A power cut after any call of the system, and an error of the disk at any of them: absent or whole, and never lost
once it was reported as kept."""

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.errors import LabError
from lab.files import PREFIX
from lab.spec import key
from lab.store import DamagedError, Store, contents, results
from lab.testing import SPECS, FileCalls
from lab.testing.calls import Killed
from lab.testing.machine import MEMORY
from tests.store.disk import Disk, write

ONE, TWO = SPECS[:2]
FLEET = (ONE, TWO)


def save(store, spec=ONE, n=1):
    store.save(spec, {"n": np.array(n)}, {"n": torch.tensor(n)}, {"n": n})


def keep(store, n):
    store.keep_checkpoint(FLEET, {"n": torch.tensor(n)})


def half_removed(store):
    save(store)
    (store.path(ONE) / "done.json").unlink()


def with_a_file_of_somebody(store):
    half_removed(store)
    (store.path(ONE) / "notes").write_bytes(b"mine")


def with_a_state(store):
    save(store, TWO)
    keep(store, 1)


def damaged(store):
    save(store)
    (store.path(ONE) / "history.npz").write_bytes(b"")


def with_a_part(store):
    save(store)
    keep(store, 1)


def nothing(store):
    pass


# what was there before, what is done, and what is there once it was reported: ONE, the state of the fleet
DEEDS = {
    "the first": (nothing, save, True, None),
    "another": (with_a_state, save, True, 1),
    "over a half removed one": (half_removed, save, True, None),
    "beside a file of somebody": (with_a_file_of_somebody, save, True, None),
    "a state": (with_a_state, lambda store: keep(store, 2), False, 2),
    "forgotten": (save, lambda store: store.forget([ONE]), False, None),
    "forced": (save, lambda store: store.force([ONE]), False, None),
    "cleaned": (damaged, lambda store: store.clean(), False, None),
    "looked through": (with_a_part, lambda store: store.clean(), True, 1),
    "exported": (save, lambda store: store.export(key(ONE)[:8], store.folder / "out"), True, None),
}


@pytest.fixture
def place():
    """A folder in memory: what is tested is the order of calls, and no disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY if Path(MEMORY).is_dir() else None) as name:
        yield Path(name)


def state(store):
    found = store.checkpoint(FLEET)
    return None if found is None else int(found["n"])


def whole(store, spec=ONE):
    """Whether a result is there; then it is as it was written."""
    if not store.has(spec):
        return False
    assert store.load(spec)[2] == {"n": 1} and store.load(spec)[1]["n"] == 1
    return True


@pytest.mark.parametrize("name", DEEDS)
def test_whenever_the_power_is_cut_a_result_is_absent_or_whole(place, name, capsys):
    before, deed, there, last = DEEDS[name]
    root = place / "disk"
    root.mkdir()
    store = Store(root / "new" / "store")
    with FileCalls(root) as first:
        before(store)
    was = state(store)
    with FileCalls(root) as calls:
        deed(store)
    disk, cuts, seen = Disk(str(root)), 0, set()
    for call in first.done:
        disk.add(*call)
    disk.synced = set(range(len(disk.changes)))
    for number, call in enumerate([("nothing", str(root)), *calls.done]):
        if not disk.add(*call) and number:
            continue
        ended = not any(call[0] != "stat" for call in calls.done[number:])
        for tree in disk.after_a_cut():
            kept = {path: data for path, data in tree.items() if PREFIX not in path.rpartition("/")[0]}
            if (seal := (ended, frozenset(kept.items()))) in seen:
                continue
            seen.add(seal)
            cuts += 1
            write(tree, place / str(cuts))
            left = Store(place / str(cuts) / "new" / "store")
            is_there, then = whole(left) if name != "cleaned" else left.has(ONE), state(left)
            assert then in (was, last), "a state is the older one or the newer one"
            if ended:
                assert is_there == there and then == last, "what was reported is so"
            if name in ("the first", "another", "exported"):
                assert left.verify() == []
            if name == "exported":
                assert Store(left.folder / "out").verify() == [] and (not ended or whole(Store(left.folder / "out")))
            left.clean()
            assert left.verify() == left.sweep() == [] and (name == "cleaned" or left.has(ONE) == is_there)
            if name == "forced":
                assert not left.force([ONE]) or not is_there, "it would go on with a result of before"
            deed(left)
            assert state(left) in (last, None) and left.verify() == []
    assert cuts > 3 or name == "looked through", "some cuts differ"


@pytest.mark.parametrize("name", DEEDS)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EINTR, errno.EMFILE], ids=errno.errorcode.get)
def test_an_error_at_any_call_is_one_line_and_the_next_time_it_works(place, name, error, capsys):
    before, deed, there, last = DEEDS[name]
    at, calls = 0, None
    while calls is None or calls.count >= at:
        at += 1
        store = Store(place / str(at))
        before(store)
        was, calls = state(store), FileCalls(store.folder, at, error)
        stays = there and store.has(ONE)
        try:
            with calls:
                deed(store)
        except LabError as refused:
            assert "\n" not in str(refused) and str(store.folder) in str(refused), refused
        finally:
            assert not calls.handles, "no lock stays"
        assert name == "cleaned" or whole(store) or not stays, "what cannot be read now is not removed"
        assert state(store) in (was, last)
        if name == "exported":
            assert Store(store.folder / "out").verify() == []
        store.sweep()
        deed(store)
        assert (name == "forced" or whole(store) == there) and state(store) == last and store.verify() == []
        assert not list(store.folder.rglob(f"{PREFIX}*")), "nothing is left"
    assert at > 10


def test_an_export_beside_a_file_of_somebody_looks_finished_when_it_is(place):
    """Wherever it is killed."""
    at, calls = 0, None
    while calls is None or calls.dead:
        at += 1
        store, out = Store(place / str(at)), Store(place / str(at) / "out")
        save(store)
        out.path(ONE).mkdir(parents=True)
        (out.path(ONE) / "notes").write_bytes(b"mine")
        with suppress(Killed), FileCalls(out.folder, at) as calls:
            store.export(key(ONE), out.folder)
        assert whole(out) or calls.dead
    assert at > 10


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE], ids=errno.errorcode.get)
def test_what_was_saved_again_stays_where_it_cannot_be_read(place, error, monkeypatch):
    """It was damaged when it was looked at; another process has saved it again since, and then a disk fails."""
    at, calls, check = 0, None, results.check

    def was_damaged(folder, advice):
        if PREFIX not in str(folder):
            raise DamagedError("before it was saved again")
        return check(folder, advice)

    while calls is None or calls.count >= at:
        at += 1
        store = Store(place / str(at))
        save(store)
        calls = FileCalls(store.folder, at, error, owners=[(os, "open fsync")])
        with suppress(OSError), monkeypatch.context() as patch, calls:
            patch.setattr(results, "check", was_damaged)
            contents.remove(store.path(ONE))
        assert whole(store)
    assert at > 5


def test_what_is_saved_again_in_the_meantime_stays(place):
    """Also beside a file of somebody."""
    for before in (nothing, with_a_file_of_somebody):
        store = Store(place / before.__name__)
        before(store)
        save(store)
        results.remove(store.path(ONE), damaged=True)
        assert whole(store)
