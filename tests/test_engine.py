"""The engine: what is missing is trained, once, in the right order; a kill costs no bit; one bad run costs no other."""

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from lab import engine
from lab.errors import ArgumentError, LabError
from lab.jobs.job import jobs_of
from lab.jobs.trainers import fleet_size
from lab.nonlinearity.spline import Spline
from lab.run import Run
from lab.spec import AdamTrapezoid, Coefficients, Knots, Learned, ModelSpec, RunSpec, SearchSpec, Shaped, key, replace
from lab.store import DamagedError, Store
from lab.training.fleet import build
from tests.test_workers import gone

MODEL = ModelSpec(layers=1, width=8)
RECIPE = AdamTrapezoid(steps=6, rate=0.003, batch=8, every=2)
SEARCH = SearchSpec("memorize", MODEL, RECIPE, models=2, knots=21)
RUNS = [RunSpec("memorize", MODEL, RECIPE, seed) for seed in range(3)]
LEARNED = [replace(run, model=replace(MODEL, mlp=Learned(SEARCH))) for run in RUNS]
OTHER = replace(SEARCH, seed=1)
PAIR = [LEARNED[0], replace(LEARNED[0], model=replace(MODEL, mlp=Learned(OTHER)))]
MANO = RunSpec("mano", MODEL, RECIPE, 0)
linux = pytest.mark.skipif(sys.platform != "linux", reason="mounts, signals and /proc are Linux's")


def digests(store: Store) -> dict[str, str]:
    """What a store holds, by key: digests of spec, history and weights."""
    return {
        folder.name: json.dumps(json.loads((folder / "done.json").read_text())["files"], sort_keys=True)
        for folder in store.results()
    }


def trained(folder, specs, workers=1, **settings) -> dict[str, str]:
    """Train specs in a store of their own."""
    store = Store(folder)
    engine.complete(specs, store, "cpu", workers, **settings)
    assert store.verify() == []
    return digests(store)


@pytest.mark.parametrize("kernel", ["numba", "torch"])
def test_a_run_says_which_kernel_it_was_trained_with(kernel, tmp_path, monkeypatch):
    """Kernels round in their own ways, and a search ends at another function for that."""
    monkeypatch.setenv("LAB_KERNEL", kernel)
    trained(tmp_path, LEARNED[:1])
    assert {Store(tmp_path).load(spec)[2]["kernel"] for spec in (SEARCH, LEARNED[0])} == {kernel}


def close(one: Store, other: Store, specs) -> None:
    """The same runs, trained in different company: sums of float32 are taken in another order."""
    for spec in specs:
        a, b = one.load(spec)[1], other.load(spec)[1]
        for name in a:
            torch.testing.assert_close(a[name], b[name], rtol=0, atol=2e-5)


# What is missing, and in which order.


def test_only_what_is_missing_is_trained(store_folder):
    store, told = Store(), []
    engine.complete(RUNS[:2], store, "cpu", 1)
    before = {folder.name: (folder / "done.json").stat().st_ino for folder in store.results()}
    engine.complete([*RUNS, *RUNS], store, "cpu", 1, lambda *what: told.append(what))
    assert told[-1][:2] == (6, 6), "one run of six steps was missing"
    assert {n: (store.folder / "runs" / n / "done.json").stat().st_ino for n in before} == before
    told.clear()
    engine.complete(RUNS, store, "cpu", 1, lambda *what: told.append(what))
    assert told == [] and len(list(store.results())) == 3


def test_searches_come_before_the_runs_that_need_them(store_folder):
    store, told = Store(), []
    engine.complete([*LEARNED, RUNS[0]], store, "cpu", 1, lambda *what: told.append(what))
    assert {what for *_, what in told} == {"memorize: 1 search of 2 models and 4 runs"}
    ends = {spec: (store.path(spec) / "done.json").stat().st_mtime_ns for spec in (SEARCH, *LEARNED)}
    assert min(ends, key=ends.get) is SEARCH
    found = store.load(SEARCH)[1]["mlp"]
    assert torch.equal(Run(LEARNED[0], store).model().blocks[0].phi.values, found)
    assert all(map(store.has, [SEARCH, *LEARNED, RUNS[0]]))


def test_a_shape_of_a_learned_function_waits_for_it_and_is_made_from_it(store_folder):
    store, found = Store(), Learned(SEARCH)
    shapes = [Shaped(found, "symmetrized"), Shaped(found, "polynomial", 3), Shaped(found, "chebyshev", 8)]
    specs = [replace(run, model=replace(MODEL, mlp=part)) for part in shapes for run in RUNS[:2]]
    engine.complete(specs, store, "cpu", 1)
    phi = Spline(store.load(SEARCH)[1]["mlp"], SEARCH.low, SEARCH.high)
    wanted, x = [phi.symmetrized().spline, phi.polynomial(3), phi.chebyshev(8)], torch.linspace(-25, 25, 500)
    for spec, same in zip(specs, (w for w in wanted for _ in range(2)), strict=True):
        assert torch.equal(Run(spec, store).model().blocks[0].phi(x), same(x))
        assert store.load(spec)[2]["fleet"] == 2, "seeds travel together"


def test_only_equal_polynomials_travel_together(store_folder):
    """A symmetrized function is a spline on the knots of its original, and goes with it."""
    first, second = Learned(SEARCH), Learned(OTHER)
    parts = [
        first,
        second,
        Shaped(second, "symmetrized"),
        *(Shaped(f, "chebyshev", d) for f in (first, second) for d in (3, 4)),
    ]
    parts += [Coefficients(-1.0, 1.0, (0.0, 1.0), "powers"), Coefficients(-1.0, 1.0, (0.0, 2.0), "powers")]
    specs = [replace(run, model=replace(MODEL, mlp=part)) for part in parts for run in RUNS[:2]]
    jobs = jobs_of(specs, "cpu", Store())
    fleets = [{spec.model.mlp for spec in job.specs} for job in jobs]
    assert sorted(map(len, fleets)) == [1] * 6 + [3]
    with pytest.raises(ArgumentError, match="one polynomial"):
        build(parts[-2:])


def test_a_search_with_a_learned_function_waits_for_it(store_folder):
    store = Store()
    second = replace(SEARCH, learn=("attention",), model=replace(MODEL, mlp=Learned(SEARCH)))
    engine.complete([second], store, "cpu", 1)
    assert store.has(SEARCH) and store.has(second) and store.load(second)[1].keys() == {"attention"}


def test_a_lost_search_is_made_again_where_its_runs_are_still_there(store_folder):
    store = Store()
    engine.complete(LEARNED, store, "cpu", 1)
    before = digests(store)
    store.forget([SEARCH])
    engine.complete(LEARNED, store, "cpu", 1)
    assert digests(store) == before


def test_runs_that_differ_in_seed_and_values_travel_together(store_folder):
    """And only they: another shape, recipe, grid or task is another fleet."""
    knots = [
        replace(RUNS[0], model=replace(MODEL, mlp=Knots(-1.0, 1.0, values))) for values in ((0.0, 1.0), (1.0, 0.5))
    ]
    others = [
        MANO,
        replace(RUNS[0], model=replace(MODEL, mlp="relu")),
        replace(RUNS[0], model=replace(MODEL, mlp=Knots(-2.0, 1.0, (0.0, 1.0)))),
        replace(RUNS[0], model=replace(MODEL, mlp=Knots(-1.0, 1.0, (0.0, 1.0, 0.0)))),
        replace(RUNS[0], model=replace(MODEL, width=16)),
        replace(RUNS[0], recipe=replace(RECIPE, stop=4)),
        replace(RUNS[0], evaluate=("val",)),
        replace(RUNS[0], task_seed=1),
    ]
    store = Store()
    engine.complete([*others, *RUNS, *knots], store, "cpu", 1)
    assert [Run(run, store).notes["fleet"] for run in (*RUNS, *knots, *others)] == [3] * 3 + [2] * 2 + [1] * 8


def test_a_large_shape_travels_in_small_fleets():
    sizes = [fleet_size(replace(MODEL, width=width), 64, 10, "cpu") for width in (8, 32, 64, 1024)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 1 and sizes[0] > 1


def test_a_fleet_on_a_gpu_has_room_for_the_logits_of_a_large_vocabulary(monkeypatch):
    """GPT-2's 50,257 tokens: logits alone, with their gradients, would not fit where they are not counted."""
    memory = 80_000_000_000
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda device: SimpleNamespace(total_memory=memory))
    with_them, without = (fleet_size(replace(MODEL, width=128), 64, 256, "cuda", size) for size in (50_257, 0))
    needed = 64 * 256 * 50_257 * 4 * 3
    assert with_them * needed < memory < without * needed


# The same bits, whoever trains.


def test_results_do_not_depend_on_the_number_of_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "SMALL", 0.0)  # processes even for these small jobs
    specs = [*RUNS, *LEARNED, MANO]
    told = []
    two = trained(tmp_path / "2", specs, workers=2, report=lambda *what: told.append(what))
    assert two == trained(tmp_path / "1", specs)
    assert told[-1][:2] == (54, 54), "a search of two models and seven runs, six steps each"
    assert [done for done, *_ in told] == sorted(done for done, *_ in told) and {total for _, total, _ in told} == {54}


def test_results_do_not_depend_on_the_order_of_specs(tmp_path):
    specs = [*RUNS, *LEARNED, MANO]
    assert trained(tmp_path / "1", specs) == trained(tmp_path / "2", specs[::-1])


def test_company_changes_no_more_than_rounding(tmp_path):
    trained(tmp_path / "together", RUNS)
    for run in RUNS:
        trained(tmp_path / "alone", [run])
    close(Store(tmp_path / "together"), Store(tmp_path / "alone"), RUNS)


# Kills.

TRAIN = """
from lab import engine
from lab.jobs import job
from lab.store import Store
from tests.processes import kill_at
from tests.test_engine import *
job.CHECKPOINT_SECONDS = -1.0  # at every step
kill_at({count}, {folder!r})
engine.complete({specs}, Store(), "cpu", 1)
"""
MOMENTS = 8  # every so many operations on files; every single one takes a minute, and was tried


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Results of the searches and runs below, by key, trained in one go."""
    return trained(tmp_path_factory.mktemp("uninterrupted"), [*LEARNED, *RUNS, MANO])


def killed(nursery, folder: Path, count: int, specs: str) -> bool:
    """Whether training of these specs was killed at its `count`th operation on a file of the store."""
    code = TRAIN.format(count=count, folder=str(folder), specs=specs)
    ended = nursery.run(code, LAB_STORE=folder)
    assert ended.code in (0, -signal.SIGKILL), ended.err
    return ended.code != 0


def test_a_kill_at_any_moment_costs_no_bit(nursery, tmp_path, uninterrupted):
    """Killed just before each kind of thing that training does to the store, then asked for the same again."""
    keys = {key(spec) for spec in (SEARCH, *LEARNED)}
    for count in range(1, 10_000, MOMENTS):
        folder = tmp_path / str(count)
        going_on = killed(nursery, folder, count, "LEARNED")
        store = Store(folder)
        assert store.verify() == [], "what was killed looks finished"
        there = digests(store)
        assert there.items() <= uninterrupted.items()
        engine.complete(LEARNED, store, "cpu", 1)
        assert digests(store) == {name: uninterrupted[name] for name in keys}, f"killed at operation {count}"
        left = [spec for members in store.checkpoints() for spec in members]
        assert all(map(store.has, left)), "a state that is needless may be left by the last kill, and no other"
        if not going_on:
            break
    assert count > 18 * MOMENTS


@pytest.mark.parametrize("count", [70, 100])
def test_a_killed_fleet_goes_on_whatever_is_asked_next(nursery, tmp_path, uninterrupted, count):
    """One of its runs and a run of another figure: the fleet is taken up whole, so its runs have the same bits."""
    assert killed(nursery, tmp_path, count, "RUNS")
    store = Store(tmp_path)
    assert list(store.checkpoints()) == [tuple(RUNS)] and not any(map(store.has, RUNS)), "pick another moment"
    engine.complete([MANO, RUNS[2]], store, "cpu", 1)
    assert digests(store) == {key(spec): uninterrupted[key(spec)] for spec in (MANO, *RUNS)}


def test_a_fleet_whose_functions_are_gone_is_not_taken_up(nursery, tmp_path):
    """It trained with the functions of two searches. One is lost, and a run is wanted that needs the other alone."""
    store = Store(tmp_path)
    engine.complete([SEARCH, OTHER], store, "cpu", 1)
    assert killed(nursery, tmp_path, 70, "PAIR")
    assert list(store.checkpoints()) == [tuple(PAIR)]
    store.path(OTHER).rename(tmp_path / "lost")
    engine.complete(PAIR[:1], store, "cpu", 1)
    assert store.has(PAIR[0]) and not store.has(OTHER) and not store.has(PAIR[1])
    engine.complete(PAIR, store, "cpu", 1)
    assert store.has(OTHER) and store.has(PAIR[1])


def test_kill_after_kill_comes_to_an_end(nursery, tmp_path, uninterrupted):
    """Always killed a little later than where it went on: every call must save what it has done."""
    kills = 0
    while killed(nursery, tmp_path, 95, "LEARNED"):
        kills += 1
        assert kills < 50, "it does not get on"
    assert kills > 3
    assert digests(Store(tmp_path)) == {key(spec): uninterrupted[key(spec)] for spec in (SEARCH, *LEARNED)}


def test_a_damaged_checkpoint_is_ignored(nursery, tmp_path, uninterrupted):
    assert killed(nursery, tmp_path, 60, "RUNS")
    (state,) = (tmp_path / "checkpoints").glob("[!.]*")
    data = bytearray(state.read_bytes())
    data[-9] ^= 4
    state.write_bytes(data)
    engine.complete(RUNS, Store(tmp_path), "cpu", 1)
    assert digests(Store(tmp_path)) == {key(spec): uninterrupted[key(spec)] for spec in RUNS}


@linux
def test_ctrl_c_ends_workers_and_is_one_line(nursery, tmp_path):
    """SIGINT goes to all processes in the foreground, as a terminal sends it."""
    for workers in (1, 2):
        store = tmp_path / str(workers)
        child = nursery.start(LONG, LAB_STORE=store, LAB_WORKERS=workers)
        child.has_said("training")
        child.kill(signal.SIGINT, group=True)
        ended = child.wait()  # with 0 had it trained on to its end
        assert ended.code == 1 and ended.said == [SAID], ended.err
        pids = tmp_path / f"{workers}.pid"
        pids.mkdir()
        for pid in children(child.pid):
            (pids / f"{pid}.pid").write_text(str(pid))
        assert not list(pids.iterdir()) or gone(pids, 3.0), "workers are still there"
        assert Store(store).verify() == []


SAID = "lab: stopped; what was finished is kept, and the same command goes on from there"
LONG = """
import lab.cli, lab.run
from lab import engine
known = engine.complete
def complete(specs, store, device, workers, report, *more):
    def say(*what):
        report(*what)
        if what[0] > 20:
            print("training", flush=True)
    known(specs, store, device, workers, say, *more)
engine.complete = complete
lab.cli.main("sweep memorize --scale laptop --device cpu".split())
"""


def children(group: int) -> list[int]:
    """Processes of a process group, from /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = path.read_text().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(process_group) == group and state != "Z":
            found.append(int(path.parent.name))
    return found


def test_two_processes_that_want_the_same_both_end_well(nursery, tmp_path, uninterrupted):
    code = TRAIN.format(count=0, folder="", specs="[*LEARNED, *RUNS, MANO]")
    pair = [nursery.start(code, LAB_STORE=tmp_path) for _ in range(2)]
    for child in pair:
        ended = child.wait()
        assert ended.code == 0 and ended.err == "", ended.err
    assert digests(Store(tmp_path)) == uninterrupted and Store(tmp_path).verify() == []
    assert not list(tmp_path.glob("*/.tmp-*")) and not list(Store(tmp_path).checkpoints())


# What goes wrong.


def test_a_run_that_is_not_finite_is_kept_and_harms_no_other(tmp_path, uninterrupted):
    wild = replace(RUNS[0], recipe=replace(RECIPE, rate=1e38))
    store = Store(tmp_path)
    engine.complete([wild, replace(wild, seed=1), *RUNS], store, "cpu", 1)
    for spec in (wild, replace(wild, seed=1)):
        run = Run(spec, store)
        step, value = run.diverged
        assert 0 < step < 6 and not np.isfinite(value)
        assert np.isnan(run.accuracy[-1]) and np.isfinite(run.accuracy[run.steps <= step]).all()
        assert len(run.steps) == 3
    assert [Run(run, store).diverged for run in RUNS] == [None] * 3
    assert store.verify() == [] and digests(store).items() >= {key(s): uninterrupted[key(s)] for s in RUNS}.items()


def test_a_damaged_search_is_named_and_costs_no_other_work(tmp_path):
    store = Store(tmp_path)
    engine.complete([SEARCH], store, "cpu", 1)
    file = store.path(SEARCH) / "weights.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedError, match=key(SEARCH)):
        engine.complete([*RUNS, *LEARNED], store, "cpu", 1)
    assert not any(map(store.has, LEARNED)), "nothing was trained with a damaged function"
    store.clean()
    engine.complete(LEARNED, store, "cpu", 1)
    assert store.verify() == []


def test_there_is_a_worker_a_core_where_nothing_else_is_asked_for(monkeypatch):
    monkeypatch.delenv("LAB_WORKERS")
    assert engine._workers() == os.cpu_count()


@pytest.mark.parametrize("count", ["two", "-1", "0", "1.5"])
def test_a_wrong_number_of_workers_is_said_before_training(store_folder, monkeypatch, count):
    monkeypatch.setenv("LAB_WORKERS", count)
    with pytest.raises(ArgumentError, match=f"LAB_WORKERS={count!r}|LAB_WORKERS={count}"):
        engine.complete(RUNS, Store(), "cpu")
    assert not list(store_folder.rglob("*"))


def test_an_unknown_or_missing_device_is_said_before_training(store_folder):
    with pytest.raises(ArgumentError, match="'tpu'; known: auto, cpu, cuda"):
        engine.complete(RUNS, Store(), "tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ArgumentError, match="no CUDA device"):
            engine.complete(RUNS, Store(), "cuda")
    assert engine.choose_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    assert not list(store_folder.rglob("*"))


def test_a_store_that_takes_nothing_is_said_before_training(tmp_path):
    (tmp_path / "file").touch()
    told = []
    with pytest.raises(LabError, match="LAB_STORE"):
        engine.complete(RUNS, Store(tmp_path / "file"), "cpu", 1, lambda *what: told.append(what))
    assert told == []
