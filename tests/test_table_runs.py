"""Runs on tables and searches by episodes, from spec to store and back: fleets, interruptions, what is read."""

import numpy as np
import pytest
import torch

from lab import engine
from lab.data import Data
from lab.errors import ArgumentError
from lab.jobs import job
from lab.nonlinearity import native
from lab.resolve import resolve
from lab.run import Run
from lab.search_results import EpisodeResult
from lab.spec import (
    ConstantRate,
    EpisodeSpec,
    KnotTable,
    Learned,
    Perceptron,
    Restart,
    RunSpec,
    from_json,
    own_table,
    replace,
)
from lab.store import Store
from lab.tasks import Operation
from tests.test_engine import digests

TASK = Operation("a+b", modulus=5)
RECIPE = ConstantRate(20, 0.5, every=5, average=5, trajectory=10)
MODEL = Perceptron(width=8)
RUNS = [RunSpec(TASK, MODEL, RECIPE, seed, ("train", "test")) for seed in range(3)]
RESTARTS = (Restart(0, 0.05, 9, 2, "noise"), Restart(1, 0.1, 7, 3, "relu"))
SEARCH = EpisodeSpec(
    TASK, MODEL, ConstantRate(4, 0.5), RECIPE, RESTARTS, low=-2.0, high=2.0, episodes=5, retrain_width=12
)
METRICS = ("accuracy", "cross_entropy")
LEARNED = [replace(RUNS[0], model=replace(MODEL, phi=Learned(SEARCH, part))) for part in ("phi", "phi@0", "phi@1")]


def trained(folder, specs, **settings):
    store = Store(folder)
    engine.complete(specs, store, "cpu", 1, **settings)
    assert store.verify() == []
    return store


def test_a_stored_run_gives_its_scores_its_model_and_its_way(tmp_path):
    run = Run(RUNS[1], trained(tmp_path, RUNS))
    assert run.steps.tolist() == [5, 10, 15, 20] and run.notes["fleet"] == 3 and run.notes["stopped"] is None
    assert set(run.scores) == {f"{s}_{split}" for split in ("train", "val", "test") for s in ("accuracy", "mse")}
    model, rows = run.model(), TASK.split(0)["test"]
    error = TASK.loss(model(rows.inputs[None]), rows.targets)
    kept = run.steps.tolist().index(run.notes["kept"])
    assert run.scores["mse_test"][kept] == pytest.approx(float(error), rel=1e-5)
    steps, path = run.trajectory
    weights = [p for p in run.model().parameters()]
    assert steps.tolist() == [0, 10, 20] and path.shape == (3, sum(w.numel() for w in weights))
    with pytest.raises(ArgumentError, match="trajectory="):
        plain = replace(RUNS[0], recipe=replace(RECIPE, trajectory=None))
        _ = Run(plain, trained(tmp_path, [plain])).trajectory


def test_runs_travel_together_where_they_may(tmp_path):
    grid = [
        *RUNS,
        replace(RUNS[0], recipe=replace(RECIPE, rate=0.1)),
        replace(RUNS[0], model=replace(MODEL, prefactor=2.0)),
        replace(RUNS[0], task_seed=1),
        replace(RUNS[0], task=Operation("ab", modulus=5)),
    ]
    others = [
        replace(RUNS[0], task=Operation("a+b", modulus=6)),
        replace(RUNS[0], model=replace(MODEL, phi="tanh")),
        replace(RUNS[0], model=replace(MODEL, layers=2)),
        replace(RUNS[0], recipe=replace(RECIPE, batch=4)),
    ]
    store = trained(tmp_path, [*others, *grid])
    assert [Run(run, store).notes["fleet"] for run in (*grid, *others)] == [7] * 7 + [1] * 4


def test_company_whose_first_score_is_another_does_not_decide_which_weights_are_kept(tmp_path):
    X, noise = np.random.default_rng(0).normal(size=(2, 400, 6))
    data = {name: Data.from_arrays(X, X[:, 0] + 1.5 * noise[:, 0] > 0, name=name, metrics=[name]) for name in METRICS}
    recipe = ConstantRate(400, 0.01, optimizer="adam", average=1, every=5)
    specs = [RunSpec(own_table(one), Perceptron(width=64), recipe, 0, ("test",)) for one in data.values()]
    together = trained(tmp_path / "together", specs)
    alone = [trained(tmp_path / "alone", [spec]).notes(spec)["kept"] for spec in specs]
    assert [together.notes(spec)["kept"] for spec in specs] == alone and len(set(alone)) == 2


def test_a_search_by_episodes_serves_the_runs_that_name_it(tmp_path):
    words = []
    store = trained(tmp_path, LEARNED, report=lambda done, total, what: words.append((done, total, what)))
    found = EpisodeResult(SEARCH, store)
    assert found.results.shape == (2, 1, 2) and found.history["loss"].shape == (5, 2)
    order = [(-accuracy, loss) for accuracy, loss in found.results[:, 0]]
    assert found.winner == order.index(min(order))
    for run, restart in zip(LEARNED, (found.winner, 0, 1), strict=True):
        values = Run(run, store).model().phi.values
        assert torch.equal(values, found.of_restart(restart)["phi"].values)
    assert torch.equal(found.spline.values, found.of_restart(found.winner)["phi"].values)
    assert [s["phi"].values.shape for s in map(found.of_restart, (0, 1))] == [(9,), (7,)]
    steps = [done for done, _, _ in words]
    assert steps == sorted(steps) and words[-1][0] == words[-1][1]
    assert any("episode 3 of 5, 4 inner steps, best 0." in what for _, _, what in words)
    assert found.provenance["winner"] == found.winner


@pytest.mark.parametrize("learn", ["layers", "inputs"])
def test_functions_of_layers_and_inputs_are_read_by_their_names(tmp_path, learn):
    model = Perceptron(layers=2, width=6)
    search = replace(SEARCH, learn=learn, model=model, retrain_width=None)
    names = ("phi0", "phi1") if learn == "layers" else ("inputs",)
    parts = tuple(Learned(search, name) for name in names)
    model = replace(model, phi=parts) if learn == "layers" else replace(model, inputs=parts[0])
    spec = replace(RUNS[0], model=model)
    run = Run(spec, trained(tmp_path, [spec]))
    found = EpisodeResult(search, run.store).splines
    assert tuple(found) == names
    for name, spline in found.items():
        module = run.model().inputs.phi if name == "inputs" else run.model().phi[int(name[-1])]
        assert torch.equal(module.values, spline.values)
    assert learn == "layers" or isinstance(resolve(parts[0], run.store), KnotTable)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("count", [3, 5, 12, 40, 90])
def test_an_interrupted_search_ends_with_the_same_bits(tmp_path, monkeypatch, count):
    """Among its episodes, among the runs that decide, and among those that use what it found."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", -1.0)
    whole = digests(trained(tmp_path / "whole", LEARNED))
    told = [0]

    def report(done, total, what):
        told[0] += 1
        if told[0] == count:
            raise Interrupted

    with pytest.raises(Interrupted):
        trained(tmp_path / "cut", LEARNED, report=report)
    assert digests(Store(tmp_path / "cut")).items() < whole.items()
    assert digests(trained(tmp_path / "cut", LEARNED)) == whole


@pytest.mark.parametrize("steps", ["plain", "kernel"])
def test_a_search_says_how_its_steps_were_taken(tmp_path, monkeypatch, steps):
    monkeypatch.setenv("LAB_STEPS", steps)
    monkeypatch.delenv("LAB_KERNEL", raising=False)
    notes, by_kernel = trained(tmp_path, [SEARCH]).notes(SEARCH), steps == "kernel" and native.why_not() is None
    assert notes["kernel"].endswith(", one call a step") == by_kernel
    assert notes["arithmetic"] == str(EpisodeSpec.arithmetic)


def test_what_a_search_did_not_find_is_said(tmp_path):
    store = trained(tmp_path, [SEARCH])
    with pytest.raises(ArgumentError, match="no 'mlp'; it found phi"):
        resolve(Learned(SEARCH), store)


def test_what_cannot_be_done_is_said_before_training(tmp_path):
    for spec in (replace(SEARCH, learn="all"), replace(RUNS[0], recipe=replace(RECIPE, keep="first"))):
        with pytest.raises(ArgumentError):
            engine.complete([RUNS[0], spec], Store(tmp_path), "cpu", 1)
    assert not list(tmp_path.rglob("*"))


def test_the_runs_that_decide_are_not_those_of_figures(tmp_path):
    store = trained(tmp_path, [SEARCH])
    seeds = [run.seed for run in _stored(store)]
    assert len(seeds) == 2 and min(seeds) > 1_000_000
    assert all(run.model.width == 12 and "test" not in run.evaluate for run in _stored(store))
    assert np.isfinite(EpisodeResult(SEARCH, store).results).all()


def _stored(store):
    found = [from_json((folder / "spec.json").read_text()) for folder in store.results()]
    return [spec for spec in found if isinstance(spec, RunSpec)]
