"""Leases: processes share the work on a store, nobody trains what another trains, no death blocks anybody."""

import os
import signal
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from lab import engine
from lab.errors import LabError
from lab.files import lock
from lab.jobs.job import Job, perform
from lab.spec import key
from lab.store import Store
from lab.store import leases as module
from tests.test_engine import LEARNED, MANO, RUNS, SEARCH, TRAIN, digests, linux, trained, uninterrupted  # noqa: F401

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")

# A process that says what it saves, and stops in the middle of training until the file `go` is there.
SLOW = """
import time
from pathlib import Path
from threading import Event, Thread
from lab import engine
from lab.jobs import job, trainers
from lab.store import Store
from tests.test_engine import *
save = Store.save
def saved(self, spec, *rest):
    print("saves", key(spec), flush=True)
    save(self, spec, *rest)
Store.save = saved
job.CHECKPOINT_SECONDS = -1.0
carry = job.run_with_checkpoints
def slow(job, store, state, loop, tell, *steps):
    print("trains", " ".join(map(key, job.specs)), flush=True)
    while not Path({go!r}).exists():
        time.sleep(0.01)
    return carry(job, store, state, loop, tell, *steps)
trainers.run_with_checkpoints = slow
engine.complete({specs}, Store(), "cpu", {workers}, lambda done, total, what: print(what, flush=True))
print("ended", flush=True)
"""


def start(nursery, folder: Path, specs: str, go: Path, workers: int = 1):
    return nursery.start(SLOW.format(go=str(go), specs=specs, workers=workers), LAB_STORE=folder)


def said(ended, word: str) -> list[str]:
    return [name for line in ended.out.splitlines() if line.startswith(word) for name in line.split()[1:]]


@linux
def test_two_starts_of_one_command_train_nothing_twice(nursery, tmp_path, uninterrupted):  # noqa: F811
    store, go = tmp_path / "store", tmp_path / "go"
    pair = [start(nursery, store, "[*LEARNED, *RUNS, MANO]", go) for _ in range(2)]
    for child in pair:
        child.has_said("trains")  # both are at something, at the same time
    go.touch()
    ended = [child.wait() for child in pair]
    assert [e.code for e in ended] == [0, 0], ended
    saves = [name for e in ended for name in said(e, "saves")]
    assert len(saves) == len(set(saves)) == 8
    assert all(said(e, "trains") for e in ended)
    assert digests(Store(store)) == uninterrupted and Store(store).verify() == []
    assert not list((store / "leases").iterdir())


@linux
def test_who_has_nothing_else_to_do_waits_with_a_word_and_uses_the_result(nursery, tmp_path, uninterrupted):  # noqa: F811
    store, go = tmp_path / "store", tmp_path / "go"
    first = start(nursery, store, "LEARNED", go)
    first.has_said(f"trains {key(SEARCH)}")
    second = start(nursery, store, "LEARNED", tmp_path)  # would never stop to wait
    second.has_said(f"waits for process {first.pid} on ")
    go.touch()
    first, second = first.wait(), second.wait()
    assert first.code == second.code == 0, (first, second)
    saves = said(first, "saves") + said(second, "saves")
    assert len(saves) == len(set(saves)) == 4 and digests(Store(store)).items() <= uninterrupted.items()


@linux
def test_a_lease_ends_with_the_death_of_its_owner(nursery, tmp_path, uninterrupted):  # noqa: F811
    store, go = tmp_path / "store", tmp_path / "go"
    first = start(nursery, store, "RUNS", go)
    first.has_said("trains")
    assert [lease.process for lease in Store(store).leases()] == [first.pid]
    second = start(nursery, store, "RUNS", tmp_path)
    second.has_said("waits for")
    first.kill()
    assert second.wait().code == 0
    assert digests(Store(store)) == {key(spec): uninterrupted[key(spec)] for spec in RUNS}
    assert Store(store).leases() == [] and Store(store).clean() != [] and Store(store).clean() == []


@linux
def test_a_stopped_owner_blocks_nobody_for_long(nursery, tmp_path, uninterrupted):  # noqa: F811
    """Ctrl-Z: its lock is there, its pulse is not."""
    store, go = tmp_path / "store", tmp_path / "go"
    first = start(nursery, store, "RUNS", go)
    first.has_said("trains")
    first.kill(signal.SIGSTOP)
    (path,) = (store / "leases").iterdir()
    os.utime(path, (time.time() - 2 * module.LOST,) * 2)
    assert start(nursery, store, "RUNS", tmp_path).wait().code == 0
    go.touch()
    first.kill(signal.SIGCONT)
    assert first.wait().code == 0, "what it trains once more changes nothing"
    assert digests(Store(store)) == {key(spec): uninterrupted[key(spec)] for spec in RUNS}


@linux
def test_worker_processes_hold_their_own_leases(nursery, tmp_path, uninterrupted):  # noqa: F811
    """Two commands with two workers each."""
    code = "from lab import engine\nengine.SMALL = 0.0\nimport torch\n" + TRAIN.replace(', "cpu", 1)', ', "cpu", 2)')
    code = code.format(count=0, folder="", specs="[*LEARNED, *RUNS, MANO]")
    pair = [nursery.start(code, LAB_STORE=tmp_path) for _ in range(2)]
    for child in pair:
        ended = child.wait()
        assert ended.code == 0 and ended.err == "", ended.err
    assert digests(Store(tmp_path)) == uninterrupted and not list((tmp_path / "leases").iterdir())


def test_what_another_process_trains_is_not_planned(tmp_path):
    store = Store(tmp_path)
    with store.lease([SEARCH]) as free:
        assert free and store.free([SEARCH, *LEARNED, *RUNS]) == RUNS
    assert store.free([SEARCH, *LEARNED, *RUNS]) == [SEARCH, *LEARNED, *RUNS]


def test_a_fleet_whose_members_another_process_has_finished_is_planned_anew(tmp_path, uninterrupted):  # noqa: F811
    """Not trained again in whole: one run was there when its turn came."""
    store = Store(tmp_path)
    trained(tmp_path, RUNS[:1])
    before = digests(store)
    job = Job(tuple(RUNS), "cpu", str(tmp_path))
    assert perform(job) is False and digests(store) == before
    engine.complete(RUNS, store, "cpu", 1)
    assert all(map(store.has, RUNS)) and digests(store).items() >= before.items()


def test_a_lease_is_on_each_of_its_specs(tmp_path):
    store = Store(tmp_path)
    with store.lease(RUNS[:2]) as first, store.lease(RUNS[1:]) as second, store.lease(RUNS[2:]) as third:
        assert (first, second, third) == (True, False, True)
        assert sorted(map(len, (lease.keys for lease in store.leases()))) == [1, 2]
    with store.lease(RUNS) as free:
        assert free
    assert store.leases() == [] and not list((tmp_path / "leases").iterdir())


def test_ctrl_c_ends_what_writes_a_lease(tmp_path, monkeypatch):
    """The disk's errors are no reason not to train; this is one."""

    def stop(path, data):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", stop)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).lease(RUNS).__enter__()
    assert not list((tmp_path / "leases").iterdir())


def test_a_lease_ends_with_an_error_too(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(LabError), store.lease(RUNS):
        raise LabError("no")
    assert store.leases() == [] and not list((tmp_path / "leases").iterdir())


@linux
def test_a_pulse_keeps_a_lease_that_lasts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PULSE", 0.01)
    store = Store(tmp_path)
    with store.lease(RUNS):
        (path,) = (tmp_path / "leases").iterdir()
        for _ in range(3):
            os.utime(path, (0, 0))
            end = time.monotonic() + 30
            while not store.leases():
                assert time.monotonic() < end
                time.sleep(0.005)


def test_a_lease_counts_for_less_than_its_time(tmp_path, monkeypatch):
    store = Store(tmp_path)
    with store.lease(RUNS):
        (path,) = (tmp_path / "leases").iterdir()
        os.utime(path, (1000, 1000))
        for age in (0.0, module.LOST - 1, module.LOST):
            monkeypatch.setattr(time, "time", lambda age=age: 1000 + age)
            assert len(store.leases()) == (age < module.LOST)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"process": 1}'])
def test_a_lease_that_cannot_be_read_counts_as_none_and_is_swept(tmp_path, content):
    store, path = Store(tmp_path), tmp_path / "leases" / f"{'0' * 16}.json"
    path.parent.mkdir()
    path.write_bytes(content)
    handle = lock(path)
    assert store.leases() == [] and store.sweep() == []
    os.close(handle)
    assert store.sweep() == [f"leases/{path.name}"]


def test_without_locks_everybody_trains(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.files.fcntl", None)
    store = Store(tmp_path)
    with store.lease(RUNS) as first, store.lease(RUNS) as second:
        assert first and second and store.leases() == []
    assert not list((tmp_path / "leases").iterdir())
    engine.complete(RUNS, store, "cpu", 1)
    assert all(map(store.has, RUNS)) and store.clean() == []


@linux
def test_a_lease_is_not_handed_on_to_programs_that_its_owner_starts(nursery, tmp_path):
    """A compiler or a browser may outlive the process that called it."""
    code = """
import os, signal, subprocess
from tests.test_engine import *
with Store().lease(RUNS):
    print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = nursery.run(code, LAB_STORE=tmp_path)
    try:
        assert ended.code == -signal.SIGKILL and Store(tmp_path).leases() == [] and len(Store(tmp_path).sweep()) == 1
    finally:
        os.kill(int(ended.out), signal.SIGKILL)


def test_who_looks_takes_no_lease_from_who_writes_one(tmp_path):
    """To look at a lease is to try its lock."""
    store, ended = Store(tmp_path), Event()

    def look() -> None:
        while not ended.is_set():
            store.leases()

    watchers = [Thread(target=look) for _ in range(2)]
    for thread in watchers:
        thread.start()
    try:
        for _ in range(300):
            with store.lease(RUNS):
                assert [path.suffix for path in (tmp_path / "leases").iterdir()] == [".json"]
    finally:
        ended.set()
        for thread in watchers:
            thread.join()


def test_a_lease_that_its_process_had_no_time_to_write_is_swept(tmp_path):
    path = tmp_path / "leases" / f"{'0' * 16}.new"
    path.parent.mkdir()
    path.touch()
    assert Store(tmp_path).foreign() == [] and Store(tmp_path).sweep() == [f"leases/{path.name}"]


@linux
def test_what_cannot_be_swept_keeps_nobody_from_training(nursery, tmp_path):
    """In a store of several users it is somebody else's."""
    code = """
from tests.processes import like_an_ordinary_user
from tests.test_engine import *
like_an_ordinary_user()
engine.complete(RUNS, Store(), "cpu", 1)
"""
    left = tmp_path / "forced" / ".tmp-0123456789abcdef"
    left.mkdir(parents=True)
    left.parent.chmod(0o555)
    ended = nursery.run(code, LAB_STORE=tmp_path)
    left.parent.chmod(0o755)
    assert ended.code == 0 and all(map(Store(tmp_path).has, RUNS)), ended.err
