"""A store in a bucket in memory: what it reads and writes, and leases without locks. On a server: `test_buckets`."""

import json
import random
import time
from datetime import UTC, datetime
from itertools import count
from threading import Event

import pytest
import torch

from lab.errors import ArgumentError, LabError
from lab.store import DamagedError, Store, leases, objects, results
from lab.store.checkpoints import COURSE
from tests.test_store import FLEET, HISTORY, NOTES, RUN, SEARCH, WEIGHTS, course_of

pytest.importorskip("upath", reason="pip install 'lab-nonlinearities[cloud]'")
NUMBERS = count()


@pytest.fixture
def store():
    return Store(f"memory://objects-{next(NUMBERS)}/store")


def names(store):
    return sorted(name.removeprefix(store.folder.path + "/") for name in store.folder.fs.find(store.folder.path))


def put_lease(store, keys, began=0.0, number=0):
    path = store.folder / "leases" / f"{number:016x}.json"
    objects.put(path, json.dumps({"process": 7, "host": "there", "began": began, "keys": sorted(keys)}).encode())
    return path


def test_a_result_is_four_objects_and_the_first_one_stays(store, capsys):
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    before = names(store)
    assert [name.rpartition("/")[2].split(".")[0] for name in before] == ["done", "history", "spec", "weights"]
    store.save(RUN, HISTORY, {"other": torch.ones(1)}, {})
    assert "with other numbers; these stay" in capsys.readouterr().err and names(store) == before
    history, weights, notes = store.load(RUN)
    assert weights.keys() == WEIGHTS.keys() and history.keys() == HISTORY.keys() and notes == NOTES
    assert store.verify() == store.foreign() == store.clean() == []
    store.forget([RUN])
    assert names(store) == []


def test_of_two_writers_at_once_the_first_has_the_result(store, monkeypatch):
    """The second has looked before, has written its files, and finds `done.json` there."""
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    before, real = names(store), objects.is_there
    monkeypatch.setattr(objects, "is_there", lambda path: monkeypatch.setattr(objects, "is_there", real))
    results.place(results.pack(RUN, HISTORY, {"other": torch.ones(1)}, {}), store.path(RUN))
    assert names(store) == before and store.load(RUN)[1].keys() == WEIGHTS.keys()


def test_files_that_were_forgotten_while_the_result_was_written_are_written_again(store, monkeypatch):
    real = objects.create

    def create(path, data):
        assert len(list(objects.listed(store.path(RUN)))) == 3, "files come first: nobody sees `done.json` without them"
        for one, _ in list(objects.listed(store.path(RUN))):
            objects.remove(one)
        return real(path, data)

    monkeypatch.setattr(objects, "create", create)
    store.save(RUN, HISTORY, WEIGHTS, NOTES)
    assert store.verify() == [] and store.load(RUN)[2] == NOTES


def test_the_fleet_of_a_state_is_known_by_its_first_bytes(store, monkeypatch):
    """A state may be large, and far away."""
    store.keep_checkpoint(FLEET, {"a": torch.zeros(1_000_000)})
    ends, real = [], objects.read
    monkeypatch.setattr(objects, "read", lambda path, end=None: ends.append(end) or real(path, end))
    assert list(store.checkpoints()) == [FLEET]
    assert ends and None not in ends and max(ends) < 5_000


def test_what_is_needed_of_states_stays_and_damage_is_found(store):
    store.keep_checkpoint(FLEET, {COURSE + "keep": torch.tensor(20), **WEIGHTS})
    store.save_course(RUN, course_of())
    with store.lease([RUN]):
        assert store.clean() == []
        store.save(RUN, HISTORY, WEIGHTS, NOTES)
    store.save(FLEET[1], HISTORY, WEIGHTS, NOTES)
    assert store.clean() == [] and store.has(RUN, 20) and not store.has(FLEET[1], 20)
    store.save_course(FLEET[1], course_of())
    assert store.clean() == [f"checkpoints/{store._checkpoint(FLEET).name}"] and store.clean() == []
    path = store._course(RUN)
    objects.put(path, objects.read(path)[:-1] + b"?")
    with pytest.raises(DamagedError, match="lab store clean"):
        store.course(RUN)
    assert len(store.verify()) == 1 and store.clean() == [f"courses/{path.name}"] and store.verify() == []


def test_a_lease_counts_for_less_than_its_time_and_is_swept_from_then_on(store, monkeypatch):
    path, now = put_lease(store, ["a"]), time.time()
    path.fs.store[path.path].created = datetime.fromtimestamp(now, UTC)
    for age in (0.0, leases.LOST - 1, leases.LOST, leases.LOST + 1):
        monkeypatch.setattr(time, "time", lambda age=age: round(now, 6) + age)
        assert [len(store.leases()), len(leases.abandoned(path.parent))] == ([1, 0] if age < leases.LOST else [0, 1])


def test_who_cannot_have_a_lease_goes_on_without_and_leaves_the_bucket_alone(store, monkeypatch):
    monkeypatch.setattr(leases, "BUCKET_PULSE", 0.001)

    def refuse(path, data):
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(objects, "put", refuse)
        block = store.lease([RUN])
        assert block.__enter__() is True
    time.sleep(0.05)
    assert names(store) == []
    block.__exit__(None, None, None)


def test_a_lease_is_renewed_until_it_ends(store, monkeypatch):
    monkeypatch.setattr(leases, "BUCKET_PULSE", 0.001)
    with store.lease([RUN]) as free:
        assert free
        for _ in range(2):
            (name,) = names(store)
            objects.remove(store.folder / name)
            end = time.monotonic() + 30
            while names(store) == []:
                assert time.monotonic() < end
                time.sleep(0.001)
    assert names(store) == []
    with pytest.raises(LabError), store.lease([RUN]):
        raise LabError("no")
    assert names(store) == []


def test_no_sign_of_life_comes_after_the_end(store, monkeypatch):
    """One that was under way would bring the lease back for as long as it counts."""
    begun, real = Event(), objects.put

    def put(path, data):
        if names(store):
            begun.set()
            time.sleep(0.1)
        real(path, data)

    monkeypatch.setattr(leases, "BUCKET_PULSE", 0.001)
    monkeypatch.setattr(objects, "put", put)
    with store.lease([RUN]):
        assert begun.wait(30)
    time.sleep(0.2)
    assert names(store) == []


def test_who_meets_an_older_lease_steps_back_and_two_that_came_at_once_try_again(store, monkeypatch):
    slept, puts, real = [], [], objects.put
    keys = [store.path(RUN).name]
    put_lease(store, keys, time.time() + 3600)
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(objects, "put", lambda path, data: puts.append(path) or real(path, data))
    random.seed(0)
    with store.lease([RUN]) as free, store.lease([SEARCH]) as other:
        assert not free and other and len(puts) == leases.TRIES + 1
    assert len(slept) == leases.TRIES and 0 < sum(slept) <= 0.3 * leases.TRIES
    put_lease(store, keys, time.time() - 10, 1)
    puts.clear()
    with store.lease([RUN]) as free:
        assert not free and len(puts) == 1
    assert len(names(store)) == 2, "those of others"


@pytest.mark.parametrize("url", ["s3://", "memory://", "gs:///", "file://"])
def test_a_url_without_a_bucket_names_no_store(url):
    with pytest.raises(ArgumentError, match="names no place; give a folder"):
        Store(url)
