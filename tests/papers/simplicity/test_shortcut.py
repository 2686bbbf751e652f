"""Simplicity paper, Figures 9, 25 and 26, at smoke scale: drawn is what was trained, and nothing saw test."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.kinds import check_run as check_rows
from lab.papers.simplicity.settings import RELU
from lab.papers.simplicity.shortcut import figures, measures
from lab.papers.simplicity.shortcut.measures import ALONE, CIFAR, FOR, SHIPPED, SVHN, shortcut
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import COMMON
from lab.search_results import EpisodeResult
from lab.spec import from_json, needs, replace, to_json
from lab.store import Store
from lab.tasks.collage import TILES
from lab.training import episodes
from tests.papers.plans import planned

NAMES = ("simplicity/fig9", "simplicity/fig25", "simplicity/fig26")
KEYS = ["spectral", "method"]


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_plans_fit_together_and_differ_in_the_function_alone(scale):
    specs = {name: {spec for _, spec in planned(name, scale, 2)} for name in NAMES}
    assert specs["simplicity/fig9"] == specs["simplicity/fig26"] < specs["simplicity/fig25"], "one set of runs"
    for labels, spec in planned("simplicity/fig25", scale, 2):
        check_rows(spec)
        assert from_json(to_json(spec)) == spec and spec.model.spectral == labels["spectral"]
        for search in needs(spec):
            episodes.check(search)
            assert replace(search.model, phi=spec.model.phi) == spec.model and search.inner.rate == spec.recipe.rate
        if labels["method"] not in ALONE.values():
            relu = shortcut(scale, labels["spectral"]).runs(RELU, 2)[spec.seed]
            assert replace(spec, model=replace(spec.model, phi="relu")) == relu, "the same care"


def test_paper_scale_is_the_papers():
    for task, names in ((CIFAR, NAMES[:2]), (SVHN, NAMES[2:])):
        assert {
            spec.task
            for name in names
            for labels, spec in planned(name, "paper", 2)
            if labels["method"] not in ALONE.values()
        } == {task}
    found = shortcut("paper")
    recipe = found.recipe
    assert (found.model.layers, found.model.width, recipe.optimizer, recipe.rate, recipe.batch) == (
        1,
        32,
        "sgd",
        0.01,
        4096,
    )
    for name in NAMES:
        assert not entry(name).origin.departures("paper") and not entry(name).notes("paper")
        assert "is not shipped (paper: MNIST and " in entry(name).origin.departures("laptop")[0]


@pytest.mark.parametrize("scale", COMMON)
def test_a_search_sees_validation_rows_of_its_tile_and_no_test_split(scale):
    for tile in TILES:
        search = shortcut(scale).search(tile)
        assert search.objective == search.retrain.watch == f"val_{tile}" and search.pool == ("train",)


@pytest.mark.parametrize("name", NAMES)
def test_trajectories_begin_with_the_initial_weights_and_end_with_the_stored_model(made, name):
    table = made[name].table
    for labels, spec in planned(name, "smoke", 2):
        run = Run(spec, Store())
        rows = table[(table[list(labels)] == pd.Series(labels)).all(axis=1) & (table["seed"] == spec.seed)]
        assert rows["step"].tolist() == [0, *run.steps]
        splits = spec.task.split()
        with torch.no_grad():
            for column, split in (("accuracy", "test"), ("easy", "test_easy"), ("val_hard", "val_hard")):
                answers = run.model()(splits[split].inputs[None])[0].argmax(1)
                right = (answers == splits[split].targets).double().mean().item()
                assert rows[column].iloc[-1] == pytest.approx(right, abs=2e-3)
    first = table[(table["step"] == 0) & ~table["method"].isin(ALONE.values())]
    same = first.groupby(["spectral", "seed"])["easy"]
    assert (same.max() - same.min()).max() < 0.2, "one seed, one set of initial weights; functions differ"


@pytest.mark.parametrize("name", NAMES)
def test_functions_are_what_the_searches_found(made, name):
    functions = made[name].extras["functions"]
    searches = {
        (labels["spectral"], labels["method"]): search
        for labels, spec in planned(name, "smoke", 2)
        for search in needs(spec)
    }
    assert set(functions.groupby(KEYS).groups) == set(searches)
    for keys, rows in functions.groupby(KEYS):
        found = EpisodeResult(searches[keys], Store())
        assert rows.loc[rows["chosen"], "restart"].unique().tolist() == [found.winner]
        for restart, part in rows.groupby("restart"):
            kept = found.of_restart(restart)["phi"].values.numpy().ravel()
            assert part["value"].to_numpy() == pytest.approx(kept, abs=1e-5)


def test_early_stopping_looks_at_the_validation_column_alone():
    steps = np.arange(0, 50, 10)
    rows = pd.DataFrame({"seed": 0, "step": steps, "easy": steps / 100, "hard": 1 - steps / 100, "diverged": False})
    rows = pd.concat([rows.assign(val=[0.9, 0.1, 0.3, 0.3, 0.2]), rows.assign(seed=1, val=[0, 0, 0, 0, 0.1])])
    found = measures.stopped(rows, "val")
    assert found["step"].tolist() == [20, 40], "of equal ones the first, and never the initial weights"
    assert found["easy"].tolist() == [0.2, 0.4]
    assert measures.stopped(rows.assign(diverged=rows["seed"] == 1), "val")["easy"].isna().tolist() == [False, True]


@pytest.mark.parametrize("name", NAMES)
def test_captions_and_drawings(made, name, tmp_path):
    one = made[name]
    check(one.provenance)
    for word in ("Scale smoke", "is not shipped", "rate 0.1 (paper 0.01)", "fashion_mnist_sample", "Departures"):
        assert word in one.caption
    assert reading(one.plot) and set(one.provenance["searches"].values()) == {SHIPPED.name}
    told = {trace.name for trace in one.plot.data if trace.showlegend}
    assert {"ReLU", "learned for MNIST", "learned for Fashion-MNIST"} <= told
    assert ("ReLU trained on Fashion-MNIST alone" in told) == (name == "simplicity/fig25")
    one.write(tmp_path, images=False, page=False)
    table, functions = (pd.read_csv(tmp_path / f"{part}.csv") for part in ("table", "functions"))
    assert json.loads(entry(name).plot(table, functions).to_json()) == json.loads(one.plot.to_json())
    assert set(functions["method"]) == set(FOR.values())


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        (
            {"easy": (5, 6, 7), "hard": (-3, -2.9, -2.8)},
            "Only the function for A clearly steers to its tile, B's steers away (A",
        ),
        ({"easy": (5, 6, 7), "hard": (5, 6, 7)}, "Each function steers to its tile (A"),
        ({"easy": (-9, 0, 9), "hard": (-9, 0, 9)}, "Neither function clearly steers to its tile (A"),
        ({"easy": (5,), "hard": (6,)}, "A +5.0, B +6.0 points over ReLU to its tile."),
    ],
)
def test_a_function_steers_where_its_interval_says_so(monkeypatch, gains, words):
    monkeypatch.setattr(measures, "steering", lambda table, tile: pd.Series(gains[tile]))
    monkeypatch.setattr(figures, "names_of", lambda task: {"easy": "A", "hard": "B"})
    said = figures._steering(pd.DataFrame({"task": ["A over B"], "spectral": True}))
    assert said.startswith(words) and ("away" in said) == (gains["hard"][0] == -3), said
