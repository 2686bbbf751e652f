"""Training on a Dask cluster: real schedulers and workers, which are killed; the bits are those of one process."""

import signal
import time
from pathlib import Path
from threading import Timer

import pytest

from lab import engine
from lab.cluster import connected, workers
from lab.errors import ArgumentError, LabError
from lab.spec import key
from lab.store import Store
from tests.clusters import Cluster
from tests.test_engine import LEARNED, RUNS, SEARCH, digests, linux, uninterrupted  # noqa: F401

pytest.importorskip("distributed", reason="pip install 'lab-nonlinearities[cluster]'")
ALL = "[*LEARNED, *RUNS, MANO]"


@pytest.fixture
def cluster(nursery, tmp_path):
    made = Cluster(nursery, tmp_path)
    yield made
    made.close()


def idle(cluster: Cluster, seconds: float = 30.0) -> bool:
    """Whether no worker trains any more, soon."""
    from distributed import Client

    end = time.monotonic() + seconds
    with Client(cluster.address) as client:
        while any(client.run(workers.busy).values()):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
    return True


@linux
def test_a_killed_worker_costs_no_bit_and_another_goes_on_from_its_checkpoint(cluster, tmp_path, uninterrupted):  # noqa: F811
    store, pair = tmp_path / "store", [cluster.worker(), cluster.worker()]
    cluster.hold.touch()
    call = cluster.start(ALL, store)
    for worker in pair:
        worker.has_said("holds")  # each is in the middle of a fleet or a search
    call.has_said("; worker ")  # both are named while they work
    pair[0].kill()
    cluster.hold.unlink()
    ended = call.wait()
    assert ended.code == 0, ended.err
    assert digests(Store(store)) == uninterrupted and Store(store).verify() == []
    assert "trains from a checkpoint" in pair[1].out and "trains from the start" in pair[0].out
    assert not list((store / "leases").iterdir()) or Store(store).sweep() and Store(store).leases() == []
    assert not list((store / "checkpoints").iterdir())
    words = ended.out.splitlines()
    assert any("; worker " in line and "%" in line for line in words), "both are named while they work"
    done = [tuple(map(int, line.split()[:2])) for line in words]
    assert done[-1][0] == done[-1][1] and max(total for _, total in done) == done[-1][1]


@linux
def test_a_killed_scheduler_is_named_and_the_next_call_goes_on(nursery, cluster, tmp_path, uninterrupted):  # noqa: F811
    store, worker = tmp_path / "store", cluster.worker()
    cluster.hold.touch()
    call = cluster.start(ALL, store)
    worker.has_said("holds")
    cluster.scheduler.kill()
    ended = call.wait()
    assert ended.code == 1
    assert ended.said[-1:] == [
        f"lab: the scheduler at {cluster.address} is gone; what was finished is kept, and with a scheduler there the "
        "same command goes on"
    ], ended.err
    worker.kill()
    (tmp_path / "next").mkdir()
    following = Cluster(nursery, tmp_path / "next")
    try:
        second = following.worker()
        ended = following.complete(ALL, store)
        assert ended.code == 0, ended.err
        assert "trains from a checkpoint" in second.out
    finally:
        following.close()
    assert digests(Store(store)) == uninterrupted and Store(store).verify() == []


OTHER_CODE = "import lab.versions\nworkers.source_digest = lambda: 'f' * 64\n"


@linux
def test_workers_of_another_version_or_without_the_store_are_left_out(cluster, tmp_path, uninterrupted):  # noqa: F811
    store = tmp_path / "store"
    store.mkdir()
    other = cluster.worker(OTHER_CODE)
    ended = cluster.complete("RUNS", store)
    assert ended.code == 1 and len(ended.said) == 2, ended.err
    assert "another version (lab ffffffff with torch" in ended.said[0] and "is left out" in ended.said[0]
    assert ended.said[1].startswith("lab: no worker can be used. ")
    away = f"from tests.processes import on_a_disk_of\nworkers.PATIENCE = 0.2\non_a_disk_of('1m', {str(store)!r})\n"
    try:
        blind = cluster.worker(away)
    except AssertionError:
        pytest.skip("this machine does not allow mounts")
    good = cluster.worker()
    ended = cluster.complete(ALL, store)
    assert ended.code == 0 and sorted(line.split(": ")[1][:12] for line in ended.said) == [
        "it does not ",
        "it has anoth",
    ]
    assert digests(Store(store)) == uninterrupted
    assert "trains" in good.out and "trains" not in other.out + blind.out


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_stays_busy_after_its_command_ended(number, cluster, tmp_path):
    workers = [cluster.worker(), cluster.worker()]
    call = cluster.start(
        "[replace(r, recipe=replace(RECIPE, steps=10**6, every=10**6)) for r in [*RUNS, MANO]]", tmp_path
    )
    for worker in workers:
        worker.has_said("trains")
    call.kill(number)
    ended = call.wait()
    assert ended.out.endswith("interrupted\n") if number == signal.SIGINT else ended.code == -signal.SIGKILL
    assert idle(cluster) and Store(tmp_path).leases() == []


def test_a_file_names_the_class_of_a_cluster(tmp_path, store_folder, uninterrupted):  # noqa: F811
    path = tmp_path / "cluster.yaml"
    options = "{processes: false, n_workers: 0, threads_per_worker: 1, dashboard_address: null}"
    path.write_text(f"class: distributed.LocalCluster\noptions: {options}\nworkers: 1\n")
    with connected(path) as client:
        engine.complete(RUNS, Store(), cluster=client)
        assert connected(client).__enter__() is client
        # a slow file system shows results late, and is waited for
        late, shown = Store().path(RUNS[0]), store_folder / "elsewhere"
    late.rename(shown)
    Timer(0.3, shown.rename, [late]).start()
    workers.wait_for([RUNS[0]], Store())
    assert digests(Store()) == {key(spec): uninterrupted[key(spec)] for spec in RUNS}


def test_a_store_that_never_shows_a_result_is_waited_for_with_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "PATIENCE", 0.1)
    with pytest.raises(LabError, match="does not show what another machine has written"):
        workers.wait_for([SEARCH], Store(tmp_path))


@pytest.mark.parametrize(
    "given, said",
    [
        ("local:0", "local=0: give a whole number"),
        ("local:many", "local='many'"),
        ("somewhere", "give local:4, the address"),
        (3, "give local:4, the address"),
        ("missing.yaml", "cannot be read"),
    ],
)
def test_what_is_no_cluster_is_refused(given, said):
    with pytest.raises(ArgumentError, match=said), connected(given):
        pass


@pytest.mark.parametrize(
    "text, said",
    [
        ("[1]", "give class"),
        ("class: distributed.LocalCluster\nworkers: 1\nspeed: 3", "give class"),
        ("class: distributed.NoSuchCluster\nworkers: 1", "there is no class"),
        ("class: distributed.LocalCluster\nworkers: many", "give a whole number"),
        ("class: [", "no YAML"),
        ("class: 2020-13-45\nworkers: 1", "no YAML"),
        (f"class: {'[' * 5000}", "no YAML"),
        ("class: [a]\nworkers: 1", "give a name"),
        ("class: subprocess.Popen\nworkers: 1\noptions: {args: [touch, started]}", "no class of a Dask cluster"),
        ("class: os.system\nworkers: 1\noptions: {command: touch started}", "no class of a Dask cluster"),
    ],
)
def test_a_file_that_names_no_cluster_is_refused(text, said, tmp_path: Path, monkeypatch):
    path = tmp_path / "cluster.yml"
    path.write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=said), connected(path):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["cluster.yml"]


def test_no_scheduler_at_an_address(monkeypatch):
    from lab.cluster import connection

    monkeypatch.setattr(connection, "PATIENCE", 0.3)
    with (
        pytest.raises(LabError, match="no scheduler answers at tcp://127.0.0.1:9; start one"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
