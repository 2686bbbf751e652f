"""A store in a bucket, on a real S3 server: the promises of a folder, without renames and locks."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from threading import Barrier, Thread

import numpy as np
import pytest
import torch

from lab import engine
from lab.errors import LabError
from lab.spec import key, replace
from lab.store import DamagedError, Store, leases, objects, results
from tests.clusters import Cluster
from tests.test_engine import LEARNED, MANO, RUNS, SEARCH, digests, linux, uninterrupted  # noqa: F401

for package in ("s3fs", "upath", "moto"):
    pytest.importorskip(package, reason="pip install 'lab-nonlinearities[cloud,dev]'")
SERVER = """
import logging, time
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
server.start()
print("at", *server.get_host_and_port(), flush=True)
time.sleep(10**6)
"""
NUMBERS = count()


@contextmanager
def s3_server():
    """Settings by which S3's own clients find the server."""
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    host, port = next(line.split()[1:] for line in process.stdout if line.startswith("at "))
    settings = {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    yield settings
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def server():
    with s3_server() as settings:
        yield settings


@pytest.fixture
def url(server, monkeypatch):
    """A store that nobody else uses."""
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    made = objects.opened(f"s3://bucket{next(NUMBERS)}/store")
    made.fs.mkdir(made.parts[0].strip("/"))
    return str(made)


def names(store: Store) -> list[str]:
    """Every object of a store."""
    return sorted(path.removeprefix(store.folder.path + "/") for path in store.folder.fs.find(store.folder.path))


def test_what_is_trained_has_the_bits_of_a_folder_and_is_trained_once(url, tmp_path, uninterrupted):  # noqa: F811
    store, told = Store(url), []
    engine.complete([*LEARNED, *RUNS, MANO], store, "cpu", 1)
    assert digests(store) == uninterrupted and store.verify() == store.foreign() == store.clean() == []
    assert len(names(store)) == 4 * len(uninterrupted), "four objects each, and nothing else"
    engine.complete([*LEARNED, *RUNS], store, "cpu", 1, lambda *what: told.append(what))
    assert told == []
    local = Store(tmp_path)
    for name in uninterrupted:
        store.export(name, tmp_path)
    assert digests(local) == uninterrupted and local.verify() == []
    back = Store(f"{url}/copy")
    local.export(key(SEARCH), str(back.folder))
    assert back.load(SEARCH)[2] == store.load(SEARCH)[2]
    store.forget(RUNS)
    assert not any(map(store.has, RUNS)) and store.has(MANO)


KILLED = """
import os, signal
from lab import engine
from lab.jobs import job
from lab.store import leases, objects
from tests.test_engine import *
leases.LOST = {lost}
job.CHECKPOINT_SECONDS = -1.0
keep, done = objects.{function}, [0]
def killed(path, data):
    done[0] += {part!r} in str(path)
    if done[0] == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    return keep(path, data)
objects.{function} = killed
print("from", *[len(m) for m in Store().checkpoints()], flush=True)
engine.complete(RUNS, Store(), "cpu", 1)
"""


@linux
@pytest.mark.parametrize(
    "function, part, at", [("put", "checkpoints/", 4), ("put", "runs/", 2), ("create", "runs/", 2)]
)
def test_a_kill_leaves_nothing_that_looks_finished_and_costs_no_bit(
    function,
    part,
    at,
    url,
    server,
    nursery,
    monkeypatch,
    uninterrupted,  # noqa: F811
):
    settings = {"function": function, "part": part, "lost": 60}
    ended = nursery.run(KILLED.format(at=at, **settings), LAB_STORE=url, **server)
    assert ended.code == -signal.SIGKILL, ended.err
    store = Store(url)
    assert store.verify() == [] and len(digests(store) if function == "put" else []) == 0
    assert len(store.leases()) == 1 and store.leases()[0].keys == set(map(key, RUNS))
    ended = nursery.run(KILLED.format(at=10**6, **settings | {"lost": 0.0}), LAB_STORE=url, **server)
    assert ended.code == 0 and ended.out == "from 3\n", ended
    assert digests(store) == {key(spec): uninterrupted[key(spec)] for spec in RUNS} and store.verify() == []
    monkeypatch.setattr(leases, "LOST", 0.0)
    store.clean()
    assert not [name for name in names(store) if not name.startswith("runs/")]


def test_what_nobody_finishes_is_damaged_after_a_while(url, monkeypatch):
    store = Store(url)
    objects.put(store.path(MANO) / "spec.json.0123456789abcdef", b"{}")
    assert not store.has(MANO) and store.verify() == [] == store.clean()
    monkeypatch.setattr(objects, "UNFINISHED", -1.0)
    assert len(store.verify()) == 1 and store.clean() == [f"runs/{key(MANO)}"] and names(store) == []


def test_what_is_saved_again_before_it_is_removed_as_damaged_stays(url):
    store = Store(url)
    store.save(MANO, {}, {"w": torch.ones(1)}, {})
    results.remove(store.path(MANO), damaged=True)
    assert store.has(MANO) and store.verify() == []


def test_of_two_writers_one_result_stays_whole(url):
    """They differ in every file but the spec, as on two processors."""
    store, barrier = Store(url), Barrier(3)

    def save(number: int, spec) -> None:
        barrier.wait()
        store.save(spec, {"loss": np.full(9, number)}, {"w": torch.full((9,), float(number))}, {"number": number})

    for seed in range(8):
        spec = replace(MANO, seed=seed)
        threads = [Thread(target=save, args=(number, spec)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        history, weights, notes = store.load(spec)
        assert set(history["loss"]) == {notes["number"]} == set(weights["w"].tolist())
    assert store.verify() == [] and len(names(store)) == 4 * 8, "what was not taken is gone"


def test_a_damaged_object_is_named_and_trained_again(url, uninterrupted):  # noqa: F811
    store = Store(url)
    engine.complete(RUNS[:1], store, "cpu", 1)
    (path,) = (path for path in store.path(RUNS[0]).iterdir() if path.name.startswith("weights"))
    objects.put(path, objects.read(path)[:-1] + b"?")
    with pytest.raises(DamagedError, match="weights.safetensors is damaged"):
        store.load(RUNS[0])
    assert len(store.verify()) == 1 and store.clean() == [f"runs/{key(RUNS[0])}"] and names(store) == []
    objects.put(store.path(MANO) / "done.json", b"{")
    with pytest.raises(DamagedError, match="done.json is damaged|spec.json is not there"):
        store.load(MANO)


def test_a_lease_is_had_by_one_at_a_time(url):
    store, other = Store(url), Store(url)
    with store.lease(RUNS[:2]) as first, other.lease(RUNS[1:]) as second, other.lease(RUNS[2:]) as third:
        assert (first, second, third) == (True, False, True)
        assert store.free([*RUNS, MANO]) == [MANO] and f"process {os.getpid()} on " in store.holder(RUNS)
    assert store.leases() == [] and names(store) == []
    barrier, held, most = Barrier(3), [], []

    def ask() -> None:
        barrier.wait()
        for _ in range(4):
            with Store(url).lease(RUNS) as free:
                if free:
                    held.append(1)
                    most.append(len(held))
                    time.sleep(0.02)
                    held.pop()

    threads = [Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1} and store.leases() == []


def test_a_lease_without_a_sign_of_life_counts_no_more(url, monkeypatch):
    store = Store(url)
    monkeypatch.setattr(leases, "LOST", 2.0)  # S3 tells whole seconds
    monkeypatch.setattr(leases, "BUCKET_PULSE", 0.1)
    with store.lease(RUNS):
        time.sleep(2.5)
        assert len(store.leases()) == 1, "its pulse keeps it"
        objects.put(store.folder / "leases" / f"{'0' * 16}.json", json.dumps({"keys": []}).encode())
        monkeypatch.setattr(leases, "LOST", -1.0)
        assert store.leases() == [] and len(store.sweep()) == 2


@linux
def test_workers_of_a_cluster_share_a_bucket_and_go_on_where_one_was_killed(
    url,
    server,
    nursery,
    tmp_path,
    uninterrupted,  # noqa: F811
):
    pytest.importorskip("distributed", reason="pip install 'lab-nonlinearities[cluster]'")
    cluster = Cluster(nursery, tmp_path, **server)
    try:
        first = cluster.worker()
        cluster.hold.touch()
        call = cluster.start("RUNS", url)
        first.has_said("holds")
        second = cluster.worker("from lab.store import leases\nleases.LOST = 2.0\n")
        first.kill()
        cluster.hold.unlink()
        ended = call.wait()
        assert ended.code == 0, ended.err
        assert "trains from a checkpoint" in second.out
    finally:
        cluster.close()
    assert digests(Store(url)) == {key(spec): uninterrupted[key(spec)] for spec in RUNS} and Store(url).verify() == []


def test_a_store_that_does_not_answer_is_named(url, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setitem(objects.OPTIONS["s3"], "config_kwargs", {"retries": {"max_attempts": 1}})
    for act in (lambda: Store(url).has(MANO), lambda: engine.complete(RUNS, Store(url), "cpu", 1)):
        with pytest.raises(LabError, match=f"the store {url} cannot be read .*; fix that, or name another folder"):
            act()


def test_a_bucket_that_is_not_there_is_named(url):
    with pytest.raises(LabError, match="cannot be written .*bucket does not exist"):
        engine.complete(RUNS, Store("s3://nobodys/store"), "cpu", 1)
