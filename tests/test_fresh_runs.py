"""Runs on fresh tasks from spec to store and back: fleets, kills, what a stored model is."""

import numpy as np
import pytest
import torch

from lab import engine
from lab.errors import ArgumentError
from lab.models.hyper import method
from lab.run import Run, Runs
from lab.spec import AdamTrapezoid, AdamWCosine, HyperModel, Knots, Learned, ModelSpec, RunSpec, SearchSpec, replace
from lab.store import Store
from lab.tasks import Logic, Sraven
from lab.tasks.stream import Stream
from tests.test_engine import digests

MODEL = HyperModel(layers=1, heads=2, width=8, key_width=4, mlp_width=8)
RECIPE = AdamWCosine(steps=20, rate=0.003, batch=8, warmup=2, every=10, examples=32)
BASE = RunSpec(Logic(length=6), method("hyla", MODEL), RECIPE, 0, ("val", "ood"))
RUNS = [replace(BASE, seed=seed) for seed in range(3)]
SEARCH = SearchSpec("memorize", ModelSpec(layers=1, width=8), AdamTrapezoid(6, 0.003, 8, every=2), models=2, knots=21)


def trained(folder, specs, **settings):
    store = Store(folder)
    engine.complete(specs, store, "cpu", 1, **settings)
    assert store.verify() == []
    return store


def test_a_stored_run_gives_its_scores_and_its_model(tmp_path):
    """The model, read from the store, scores on the examples of an evaluation what the history says."""
    run = Run(RUNS[1], trained(tmp_path, RUNS))
    assert run.steps.tolist() == [10, 20] and run.diverged is None and run.notes["fleet"] == 3
    assert set(run.scores) == {f"{s}_{split}" for split in ("val", "ood") for s in ("mse", "r2", "r2_paper")}
    assert run.score("r2", "ood").tolist() == run.scores["r2_ood"].tolist()
    model, stream = run.model(), Stream(BASE.task, [1], 2, "ood")
    assert not any(p.requires_grad for p in model.parameters())
    drawn = [stream.at(i) for i in range(16)]
    error = torch.cat([(model(part.inputs)[..., 0] - part.targets).square() for part in drawn], 1)
    assert run.scores["mse_ood"][-1] == pytest.approx(error.mean().item(), rel=1e-5)


def test_runs_stack_their_scores(tmp_path):
    store = trained(tmp_path, RUNS)
    runs = Runs([Run(spec, store) for spec in RUNS])
    assert runs.scores["r2_val"].shape == (3, 2)
    assert np.array_equal(runs.scores["r2_val"][2], runs[2].scores["r2_val"])


def test_scores_that_were_not_measured_are_said(tmp_path):
    run = Run(RUNS[0], trained(tmp_path, RUNS[:1]))
    with pytest.raises(ArgumentError, match="'test' was not evaluated"):
        run.score("r2", "test")
    with pytest.raises(ArgumentError, match="not measured by 'accuracy'; there are: mse, r2_paper, r2"):
        run.accuracy_on("val")


def test_the_grid_travels_in_one_fleet_and_other_shapes_do_not(tmp_path):
    grid = [
        *RUNS,
        replace(BASE, recipe=replace(RECIPE, rate=0.001)),
        replace(BASE, recipe=replace(RECIPE, decay=0.03)),
        replace(BASE, recipe=replace(RECIPE, warmup=5)),
        replace(BASE, task=replace(BASE.task, held_out=0.3)),
    ]
    functions = [
        replace(BASE, model=replace(BASE.model, phi=Knots(-1.0, 1.0, values))) for values in ((0.0, 1.0), (1.0, 0.5))
    ]
    others = [
        replace(BASE, task=Logic(length=7)),
        replace(BASE, task=Logic(variables=5, length=6)),
        replace(BASE, task=Sraven(features=1)),
        replace(BASE, model=method("softmax", MODEL)),
        replace(BASE, model=replace(BASE.model, causal=True)),
        replace(BASE, recipe=replace(RECIPE, steps=21)),
        replace(BASE, evaluate=("val",)),
    ]
    store = trained(tmp_path, [*others, *grid, *functions])
    fleets = [Run(run, store).notes["fleet"] for run in (*grid, *functions, *others)]
    assert fleets == [7] * 7 + [2] * 2 + [1] * 7


def test_a_killed_fleet_ends_with_the_same_bits(nursery, tmp_path):
    """Killed at several moments with a checkpoint at every step, then asked for the same again."""
    code = """
from lab import engine
from lab.jobs import job
from lab.store import Store
from tests.processes import kill_at
from tests.test_fresh_runs import RUNS
job.CHECKPOINT_SECONDS = -1.0
kill_at({count}, {folder!r})
engine.complete(RUNS, Store(), "cpu", 1)
"""
    whole = digests(trained(tmp_path / "whole", RUNS))
    for count in (60, 80, 110):
        folder = tmp_path / str(count)
        ended = nursery.run(code.format(count=count, folder=str(folder)), LAB_STORE=folder)
        assert ended.code != 0 and list(Store(folder).checkpoints()) == [tuple(RUNS)], "pick another moment"
        assert digests(trained(folder, RUNS)) == whole


def test_a_searched_function_serves_as_value_network(tmp_path):
    """The search is trained first; the run's model has its function, and so has the run named by values."""
    spec = replace(BASE, model=replace(BASE.model, phi=Learned(SEARCH)))
    store = trained(tmp_path, [spec])
    assert store.has(SEARCH)
    values = store.load(SEARCH)[1]["mlp"]
    assert torch.equal(Run(spec, store).model().blocks[0].attention.phi.values, values)
    by_values = replace(BASE, model=replace(BASE.model, phi=Knots(SEARCH.low, SEARCH.high, tuple(values.tolist()))))
    trained(tmp_path, [by_values])
    assert Run(by_values, store).scores["r2_ood"].tolist() == Run(spec, store).scores["r2_ood"].tolist()


def test_what_does_not_fit_together_is_said_before_training(tmp_path):
    with pytest.raises(ArgumentError, match="no split 'search'"):
        engine.complete([*RUNS, replace(BASE, evaluate=("search",))], Store(tmp_path), "cpu", 1)
    assert not list(tmp_path.rglob("*"))


def test_a_learned_function_of_the_runs_own_does_not_hide_missing_weights(tmp_path):
    """All weights of a stored model come from the store: an initial one that stayed would be another model."""
    run = Run(RUNS[0], trained(tmp_path, RUNS[:1]))
    kept = run.store.load(run.spec)[1]
    found = dict(run.model().named_parameters())
    assert kept.keys() == found.keys() and all(torch.equal(found[name], kept[name]) for name in kept)
