"""Simplicity paper, Figures 2, 3, 4, 16, 17 and 18, at smoke scale: drawn is what was trained; nothing saw test."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

from lab import probes
from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.data import datasets
from lab.errors import ArgumentError, LabError
from lab.kinds import check_run as check_rows
from lab.papers.simplicity.images import settings
from lab.papers.simplicity.images.accuracy import fig17, retained
from lab.papers.simplicity.images.settings import BASE, FROM_ZERO, METHODS, PER_LAYER, RELU, SETS, TARGETS, images
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import COMMON
from lab.search_results import EpisodeResult
from lab.spec import from_json, needs, replace, to_json
from lab.store import Store
from lab.training import episodes
from tests.papers.plans import planned

FIG2, FIG3, FIG4, FIG16, FIG17, FIG18 = EVERY = [f"simplicity/fig{number}" for number in (2, 3, 4, 16, 17, 18)]
ACCURACIES, FUNCTIONS = (FIG2, FIG17, FIG4, FIG18), (FIG3, FIG16)
every_scale = pytest.mark.parametrize("scale", COMMON)
each = pytest.mark.parametrize("name", EVERY)


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in EVERY}


@every_scale
def test_methods_differ_in_their_functions_alone(scale):
    for mode in TARGETS:
        setting = images(scale, "mnist", mode)
        for layers in (2, BASE[scale]):
            runs = {method: setting.runs(method, layers, 2) for method in METHODS}
            plain = [replace(run, model=replace(run.model, phi="relu")) for run in runs[RELU]]
            for method, specs in runs.items():
                assert [replace(run, model=replace(run.model, phi="relu")) for run in specs] == plain, method
                assert len(specs[0].model.phi) == layers if method == PER_LAYER else len(needs(specs[0])) < 2
                for run in specs:
                    check_rows(run)
                    assert from_json(to_json(run)) == run
        rates = {setting.recipe.rate, setting.base.inner.rate, setting.base.retrain.rate}
        assert len(rates) == 1, "the function is learned for the rate that it is used with"


@every_scale
def test_searches_and_early_stopping_never_see_the_test_split(scale):
    for mode in TARGETS:
        setting = images(scale, "mnist", mode)
        assert (setting.recipe.keep, setting.recipe.watch) == ("best", "val")
        for method in METHODS[1:]:
            search = setting.search(method)
            episodes.check(search)
            assert (search.pool, search.objective, search.retrain.watch) == (("train",), "val", "val")
            assert search.task == setting.task, "its validation rows are part of the training split"


@every_scale
def test_figures_share_their_runs_and_searches(scale):
    sets = {name: {spec for _, spec in planned(name, scale, 2)} for name in EVERY}
    assert sets[FIG2] == sets[FIG17] == sets[FIG18] and sets[FIG4] < sets[FIG2]
    assert sets[FIG16] < sets[FIG18] and sets[FIG3] < sets[FIG4]
    searches = {search for spec in sets[FIG2] for search in needs(spec)}
    assert searches >= {search for spec in sets[FIG16] for search in needs(spec)}
    assert {spec for _, spec in planned(FIG2, scale, 1)} < sets[FIG2]
    told = [json.dumps(labels) + f" seed {spec.seed}" for labels, spec in planned(FIG2, scale)]
    assert len(set(told)) == len(told), "labels and seed name a run"


def test_one_search_serves_every_depth_but_for_layers():
    for labels, spec in planned(FIG2, "laptop", 1):
        for search in needs(spec):
            own = labels["layers"] if labels["method"] == PER_LAYER else BASE["laptop"]
            assert search.model.layers == own and search.task == spec.task


def test_sets_that_have_no_data_are_refused_with_a_word(monkeypatch):
    with pytest.raises(ArgumentError, match="SVHN has no data for scale laptop; take one of mnist, fashion_mnist"):
        images("laptop", "svhn")
    with pytest.raises(ArgumentError, match="'letters'"):
        images("laptop", "letters")
    with pytest.raises(ArgumentError, match="nothing is learned for 'ReLU'"):
        images("laptop").search(RELU)
    monkeypatch.setattr(datasets, "find", lambda name: None)
    with pytest.raises(LabError, match="svhn is not here"):
        images("paper", "svhn")


def test_paper_scale_takes_the_whole_sets_that_are_here(monkeypatch):
    monkeypatch.setattr(datasets, "best", {"mnist": "mnist", "cifar10": "cifar10"}.get)
    origin = entry(FIG2).origin
    assert {spec.task.source for _, spec in planned(FIG2, "paper", 1)} == {"mnist", "cifar10"}
    assert origin.departures("paper") == ["left out: Fashion-MNIST, SVHN (they are not here)"]
    monkeypatch.setattr(datasets, "best", {name: name for name in SETS}.get)
    assert origin.departures("paper") == []
    found = images("paper", "mnist", "regression")
    assert (found.recipe.batch, found.recipe.average, found.model.residual) == (4_096, 50, True)
    assert {restart.rate for restart in found.search(PER_LAYER).restarts} <= {0.02, 0.05, 0.1, 0.2}


@pytest.mark.parametrize("name", ACCURACIES)
def test_accuracies_are_those_of_the_stored_models(made, name):
    table, store = made[name].table, Store()
    listed = planned(name)
    assert len(table) == len(listed) and not table["diverged"].any()
    for number in range(0, len(listed), 5):
        (labels, spec), row = listed[number], table.iloc[number]
        assert {key: row[key] for key in labels} == labels and row["seed"] == spec.seed
        model, splits = Run(spec, store).model(), spec.task.split(0)
        for column, split in (("accuracy", "test"), ("accuracy_train", "train"), ("accuracy_val", "val")):
            answer = model(splits[split].inputs[None])[0]
            if labels["mode"] == "regression":
                answer = -(answer - torch.linspace(-1, 1, 10)).abs()  # the nearest class id
            right = answer.argmax(1) == splits[split].latents["label"]
            assert row[column] == pytest.approx(float(right.double().mean()), abs=1e-6)


def test_complexity_is_that_of_probabilities_or_class_ids(made):
    """Measured another way: one output at a time, averaged over classes drawn path by path, by the landscapes'
    measure for the one output of a regression."""
    table, examples = made[FIG4].table, entry(FIG4).examples["smoke"]
    done = set()
    for (labels, spec), row in zip(planned(FIG4), table.itertuples(), strict=True):
        assert row.tv_low <= row.tv <= row.tv_high
        if labels["mode"] in done or labels["method"] != RELU:
            continue
        done.add(labels["mode"])
        train, model = spec.task.split(0)["train"], Run(spec, Store()).model()
        asked = {"paths": examples // 2, "samples": 100, "seed": 0}
        if labels["mode"] == "regression":
            found = probes.Variation(train.inputs, train.latents["label"], **asked)(model)
            assert row.tv == pytest.approx(float(found), rel=1e-4)
        else:

            def bounded(x, model=model):
                return model(x[None])[0].exp() / model(x[None])[0].exp().sum(1, keepdim=True)

            found = probes.total_variation(bounded, train.inputs, train.latents["label"], **asked)
            assert row.tv == pytest.approx(found.value, rel=1e-4) and row.tv < 2
    assert done == set(TARGETS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_what_the_searches_found(made, name):
    table, functions, store = made[name].table, made[name].extras["functions"], Store()
    for labels, spec in planned(name):
        search = needs(spec)[0]
        found = EpisodeResult(search, store)
        where = np.logical_and.reduce([functions[key] == value for key, value in labels.items()])
        for (restart, layer), part in functions[where].groupby(["restart", "layer"]):
            kept = list(found.of_restart(restart).values())[layer - 1].values.numpy().ravel()
            assert part["value"].to_numpy() == pytest.approx(kept, abs=1e-5)
            assert set(part["chosen"]) == {restart == found.winner}
            density = part["density"].sum(skipna=True)
            assert density == pytest.approx(1 if restart == found.winner else 0, abs=1e-3)
        rows = table[np.logical_and.reduce([table[key] == value for key, value in labels.items()])]
        wanted = {
            (restart, layer + 1)
            for restart in range(len(found.results))
            for layer in range(len(found.of_restart(restart)))
        }
        assert set(zip(rows["restart"], rows["layer"], strict=True)) == wanted
        for row in rows.itertuples():
            assert row.accuracy == pytest.approx(found.results[row.restart, :, 0].mean(), abs=1e-5)


def test_inputs_are_what_a_layer_receives(made):
    """Of the first layer, by hand."""
    functions = made[FIG16].extras["functions"]
    labels, spec = next(pair for pair in planned(FIG16) if pair[0]["method"] == PER_LAYER)
    where = np.logical_and.reduce([functions[key] == value for key, value in labels.items()])
    rows = functions[where & functions["chosen"] & (functions["layer"] == 1)]
    weights = dict(Run(spec, Store()).model().named_parameters())
    test = spec.task.split(0)["test"].inputs
    received = test @ weights["layers.0.weight"][0] + weights["layers.0.bias"][0].view(1, -1)
    half = (rows["x"].iloc[1] - rows["x"].iloc[0]) / 2
    edges = np.append(rows["x"] - half, rows["x"].iloc[-1] + half)
    number = np.histogram(received.detach().double().numpy().clip(-5, 5), edges)[0]
    assert rows["density"].to_numpy() == pytest.approx(number / number.sum(), abs=2e-3)


def test_a_thin_line_is_the_average_of_the_thick_one(made):
    thick, thin = [], 0
    for trace in made[FIG3].plot.data:
        if trace.name == FROM_ZERO:
            thick.append(np.array(trace.y))
        elif trace.name == "averaged":
            assert np.array(trace.y)[2:-2] == pytest.approx(sliding_window_view(thick[-1], 5).mean(axis=1))
            thin += 1
    assert thin == 2, "of both modes"


@each
def test_captions_and_provenance_name_the_data_and_what_departs(made, name):
    one = made[name]
    check(one.provenance)
    for words in ("parts of MNIST (5,000 + 1,000 images", "(paper scale", "searches", "2 hidden layers"):
        assert words in one.caption
    gone = "left out: SVHN, CIFAR-10 (they have no open licence" in one.caption
    assert gone == (name not in (FIG3, FIG4)), "the main paper's are of MNIST alone"
    assert all(len(source["sha256"]) == 64 for source in one.provenance["data"])
    assert one.summary in one.full_caption and reading(one.plot) in one.full_caption
    assert one.provenance["hyperparameters"]["rate"]["from"] == settings.RATE_FROM


@each
def test_a_figure_is_drawn_anew_from_its_files(made, name, tmp_path):
    one = made[name]
    one.write(tmp_path, images=False, page=False)
    parts = ("table", "functions") if name in FUNCTIONS else ("table",)
    read = [pd.read_csv(tmp_path / f"{part}.csv") for part in parts]
    assert json.loads(entry(name).plot(*read).to_json()) == json.loads(one.plot.to_json())


def test_the_best_number_of_layers_is_that_of_validation_data(made):
    table = made[FIG2].table
    kept = retained(table)
    for (name, mode, method), rows in table.groupby(["set", "mode", "method"]):
        means = rows.groupby("layers")["accuracy_val"].mean()
        own = kept[(kept["set"] == name) & (kept["mode"] == mode) & (kept["method"] == method)]
        assert own["layers"].unique().tolist() == [means.idxmax()] and len(own) == rows["seed"].nunique()
    rings = [trace for trace in fig17(table).data if trace.name == "best on validation data"]
    drawn = [(round(x), y) for one in rings for x, y in zip(one.x, one.y, strict=True)]
    means = kept.groupby(["set", "mode", "method"])[["layers", "accuracy"]].mean()
    np.testing.assert_allclose(sorted(drawn), sorted((layers, 100 * right) for _, layers, right in means.itertuples()))
    better = table.assign(accuracy=table["accuracy"].iloc[::-1].to_numpy())
    assert retained(better)["layers"].tolist() == kept["layers"].tolist(), "test accuracy decides nothing"


@pytest.mark.parametrize("name", ACCURACIES)
def test_plots_hold_every_run(made, name):
    table, drawn = made[name].table, made[name].plot
    table = retained(table) if name == FIG2 else table
    points = [y for trace in drawn.data if "one run" in trace.name for y in trace.y]
    wanted = 100 * table["accuracy"]
    if name in (FIG4, FIG18):
        drawn_twice = (
            wanted if name == FIG18 else wanted[:0]
        )  # against training accuracy: those without complexity, too
        wanted = pd.concat([wanted[table["tv"] > 0], drawn_twice])
    assert sorted(points) == pytest.approx(sorted(wanted))


def test_a_rank_correlation_is_that_of_the_claim_and_of_the_large_marks(made):
    table = made[FIG18].table
    table = table[(table["mode"] == "regression") & (table["set"] == "mnist") & (table["tv"] > 0)]
    drawn = entry(FIG18).plot(table)
    marks = [trace for trace in drawn.data if "one run" not in trace.name and trace.xaxis == "x2"]
    x, y = (np.concatenate([trace[axis] for trace in marks]) for axis in "xy")
    known = pd.Series(x).corr(pd.Series(y), method="spearman")
    (said,) = [note.text for note in drawn.layout.annotations if "ρ" in note.text]
    assert f"{known:.2f}".replace("-", "−") in said and said.removeprefix("ρ = ") in entry(FIG18).numbers(table)


def test_a_run_that_diverged_is_counted_and_not_drawn(made):
    table = made[FIG17].table.copy()
    table.loc[0, ["diverged", "accuracy", "accuracy_val"]] = [True, np.nan, np.nan]
    for name in (FIG2, FIG17):
        drawn = entry(name).plot(table)
        assert "Diverged runs (left out): MNIST, classification, ReLU: 1 of 4" in reading(drawn)


def test_captions_say_where_functions_from_zero_are_surely_above_relu_and_where_below():
    rows = [
        (name, mode, method, layers, seed, 0.5 + sign * 0.2 * (method == FROM_ZERO) + 0.001 * seed, layers)
        for name, mode, sign in (("mnist", "regression", 1), ("fashion_mnist", "regression", 0), ("mnist", "class", -1))
        for method in (RELU, FROM_ZERO)
        for layers in (1, 2)
        for seed in range(3)
    ]
    table = pd.DataFrame(rows, columns=["set", "mode", "method", "layers", "seed", "accuracy", "tv"])
    told = "functions from zero (1 to 2 layers) are surely more accurate in regression (MNIST), less in class."
    assert told in entry(FIG18).summary(table.assign(diverged=False))
    assert "nowhere surely" in entry(FIG18).summary(table[table["set"] != "mnist"].assign(diverged=False))
