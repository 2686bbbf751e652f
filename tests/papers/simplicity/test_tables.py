"""Models on tables (simplicity paper, Sec. 3.3): what is chosen, fitted and drawn; numbers are those of the models."""

import numpy as np
import pandas as pd
import pytest

from lab import probes
from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.data import datasets
from lab.papers.simplicity.tables import accuracy, complexity
from lab.papers.simplicity.tables.settings import (
    IAFS,
    LEARNED,
    LINEAR,
    METHODS,
    NETWORKS,
    PREFACTORS,
    RELU,
    TANH,
    rate_of,
    tables,
)
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import COMMON
from lab.spec import needs, replace
from lab.store import Store
from lab.tasks import Tabular
from tests.papers.plans import planned

FIG5, FIG20, FIG22 = "simplicity/fig5", "simplicity/fig20", "simplicity/fig22"


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in (FIG5, FIG22)}


@pytest.mark.parametrize("scale", COMMON)
def test_networks_differ_in_what_their_labels_say_alone(scale):
    rest = set()
    for labels, spec in planned(FIG5, scale):
        model = spec.model
        assert spec.task.name == labels["table"] and model.layers == labels["layers"] and spec.recipe.watch == "val"
        assert (model.prefactor, labels["method"] == TANH) == (labels["prefactor"], model.phi == "tanh")
        assert labels["method"] in (LEARNED, TANH) or model.phi == "relu"
        assert (model.inputs is not None) == (labels["method"] == IAFS)
        for search in needs(spec):
            assert search.pool == ("train",) and search.objective == "val" and search.retrain.watch == "val"
            assert {restart.start for restart in search.restarts} == {labels["start"]}
        rest.add(replace(spec, seed=0, task=None, model=replace(model, layers=1, phi="", inputs=None, prefactor=1.0)))
    assert len(rest) == 1
    assert {labels["method"] for labels, _ in planned(FIG5, scale)} == {LINEAR, *NETWORKS}
    for name in (FIG20, FIG22, "simplicity/fig6", "simplicity/fig23"):
        assert {spec for _, spec in planned(name, scale)} <= {spec for _, spec in planned(FIG5, scale)}
    assert scale != "paper" or (rest.pop().recipe.batch, max(PREFACTORS[scale])) == (4096, 8.0)


def test_networks_of_a_night_have_the_rate_of_their_table_and_method():
    for labels, spec in planned(FIG5, "overnight"):
        kinds = [labels[name] for name in ("table", "method", "start")]
        assert spec.recipe.rate == rate_of("overnight", *kinds)
        assert (spec.model.width, spec.recipe.steps) == (256, 3_000)
        assert all(search.retrain.rate == rate_of("laptop", kinds[0]) for search in needs(spec))
    kinds = {(LINEAR, ""): 0.01, (RELU, ""): 0.01, (TANH, ""): 0.01, (IAFS, "identity"): 0.01}
    kinds |= {(LEARNED, "relu"): 0.003, (LEARNED, "zero"): 0.001}
    rates = {kind: rate_of("overnight", "eye_movements", *kind) for kind in kinds}
    assert rates == kinds, "docs/log.md has the sweep"


def test_paper_scale_has_the_tables_that_are_here_and_names_the_others(monkeypatch):
    monkeypatch.setattr(datasets, "best", lambda name: {"pol": "pol", "covertype": "covertype_sample"}.get(name))
    assert tables("paper") == ("covertype_sample", "pol")
    told = entry(FIG5).origin.departures("paper")
    assert told[0].startswith("covertype_sample stands for covertype")
    assert told[1].startswith("2 of the paper's 16 tables; left out: credit, electricity, house_16H")
    assert told[2:] == ["one learning rate for all tables, chosen with ReLU (paper: one for each table)"]
    assert all(name not in told[1] for name in ("covertype", "pol,"))


def test_the_setting_with_the_best_validation_accuracy_is_chosen():
    rows = [
        ("a", "TanH", "", layers, alpha, seed, value, 1 - value)
        for (layers, alpha), values in {(1, 1.0): (0.7, 0.7), (2, 1.0): (0.6, 0.9), (2, 8.0): (0.99, np.nan)}.items()
        for seed, value in enumerate(values)
    ]
    rows += [("b", "TanH", "", 1, 1.0, 0, np.nan, 0.5), ("b", "k-NN", "", 0, 1.0, 0, 0.1, 0.9)]
    names = ["table", "method", "start", "layers", "prefactor", "seed", "accuracy_val", "accuracy"]
    found = accuracy.is_chosen(pd.DataFrame(rows, columns=names))
    assert found.tolist() == [False, False, True, True, False, False, True, True], "means decide; test does not"


def test_numbers_are_those_of_the_stored_models(made):
    table = made[FIG22].table
    assert set(table["method"]) == set(METHODS) and not table["diverged"].any()
    keys = ["table", "method", "start", "layers", "prefactor", "seed"]
    rows = table.set_index(keys)
    for labels, spec in planned(FIG22)[::7]:
        run, own = Run(spec, Store()), rows.loc[(*(labels[name] for name in keys[:-1]), spec.seed)]
        model, splits = run.model(), spec.task.split()
        for column, name in (("accuracy", "test"), ("accuracy_val", "val"), ("accuracy_train", "train")):
            right = model(splits[name].inputs[None])[0].argmax(-1) == splits[name].targets
            assert own[column] == pytest.approx(right.double().mean().item(), abs=2e-5)

        def odds(x, model=model):
            shares = model(x[None])[0].double().softmax(-1)
            return (shares[:, 1] / shares[:, 0]).log()

        one = probes.total_variation(odds, splits["train"].inputs, splits["train"].targets)
        assert own["tv"] == pytest.approx(one.value, abs=1e-4, rel=1e-3) and own["tv_low"] <= own["tv"]
    found, splits = accuracy.baseline("bank-marketing", "trees", 1), Tabular("bank-marketing").split()["train"]

    def odds_of_trees(x):
        shares = found.estimator.predict_proba(x)
        return np.log(shares[:, 1] / shares[:, 0])

    one = probes.total_variation(odds_of_trees, splits.inputs.numpy(), splits.targets)
    of = table.set_index("method")["tv"]
    assert of["boosted trees"] == pytest.approx(one.value, rel=1e-3) and np.isnan(of["k-NN"]), "whose odds are infinite"
    shared = [name for name in made[FIG5].table if not name.startswith("tv")]
    pd.testing.assert_frame_equal(made[FIG5].table, table[shared])


def test_baselines_are_fitted_on_train_and_chosen_on_val(made):
    for kind, method in (("knn", "k-NN"), ("trees", "boosted trees")):
        found = accuracy.baseline("bank-marketing", kind, 1)
        own = made[FIG5].table.set_index("method").loc[[method]]
        test = Tabular("bank-marketing").split()["test"]
        right = found.estimator.predict(test.inputs.numpy()) == test.targets.numpy()
        assert own["accuracy"].tolist() == pytest.approx([right.mean()], abs=2e-5)
        assert own["chosen"].all() and len(found.tried) == 1


def test_figure_6_has_nothing_but_networks_and_fits_nothing_else(made):
    runs = [(labels, Run(spec, Store())) for labels, spec in planned("simplicity/fig6")]
    table, whole = accuracy.measure(runs, complexity=True), made[FIG22].table
    pd.testing.assert_frame_equal(table, whole[whole["method"].isin((RELU, LEARNED))].reset_index(drop=True))


def test_ranks_and_normalized_accuracies_by_hand():
    rows = [
        (name, method, seed, value, True)
        for name, values in {
            "a": {"ReLU": (0.5, 0.7), "IAFs": (0.8, 0.8), "k-NN": (0.7,)},
            "b": {"ReLU": (0.6, 0.6), "IAFs": (0.5, 0.5), "k-NN": (0.7,)},
        }.items()
        for method, own in values.items()
        for seed, value in enumerate(own)
    ]
    rows.append(("a", "ReLU", 0, 0.0, False))
    table = pd.DataFrame(rows, columns=["table", "method", "seed", "accuracy", "chosen"])
    found = accuracy.mean_scores(table).set_index(["method", "seed"])
    assert found["normalized"].round(6).to_dict() == {
        ("ReLU", 0): 0.0,
        ("ReLU", 1): 0.5,
        ("IAFs", 0): 0.5,
        ("IAFs", 1): 0.5,
        ("k-NN", 0): 0.75,
    }
    assert found["rank"].to_dict() == {
        ("ReLU", 0): 2.5,
        ("ReLU", 1): 2.25,
        ("IAFs", 0): 2.0,
        ("IAFs", 1): 2.0,
        ("k-NN", 0): 1.5,
    }


def test_plots_hold_every_model(made):
    table = made[FIG22].table
    table = table.assign(accuracy_train=table["accuracy_train"].clip(lower=0.6))  # at this scale some are at chance
    two = table[table["method"].isin((RELU, LEARNED))]
    for x, own in (("training", table), ("times", two)):
        drawn = complexity.marks(own, x)
        shown = own[own["method"] != LINEAR]
        if x == "times":
            relu = shown.loc[(shown["method"] == RELU) & shown["chosen"].astype(bool), "tv"].mean()
            kinds = ["method", "start", "layers", "prefactor"]
            shown = shown[shown.groupby(kinds)["tv"].transform("mean") > complexity.LEAST * relu]
        means = shown.groupby(["table", "method", "start", "layers", "prefactor"])[["accuracy", "chosen"]].agg("mean")
        for small in (True, False):
            expected = 100 * means.loc[means["chosen"].eq(0) == small, "accuracy"]
            assert sorted(_numbers(drawn, small)) == pytest.approx(sorted(expected))
        _compare_places(drawn, 4 if x == "training" else 3, 1.0 if x == "training" else relu)
        assert len({trace.name for trace in drawn.data if trace.name}) == len(shown.groupby(["method", "start"])) + 1
    table = table.assign(accuracy=table["accuracy"].where(table.index != 0), diverged=table.index == 0)
    runs = (table["method"] == table["method"][0]).sum()
    said = f"Diverged runs (not drawn): {table['table'][0]}, {table['method'][0]}: 1 of {runs}."
    assert said in reading(complexity.marks(table, "training"))
    one = table.index == table.index[table["method"] == RELU][0]
    same = table.assign(accuracy_train=table["accuracy_train"].where(~one, 0.5))
    drawn = complexity.marks(same, "training")
    assert (
        len(_numbers(drawn, True) + _numbers(drawn, False))
        == len(
            _numbers(complexity.marks(table, "training"), True) + _numbers(complexity.marks(table, "training"), False)
        )
        - 1
    ), "a model of which a run is at chance"
    assert "at chance on training rows or with no variation: 1 of " in reading(drawn)
    none = complexity.marks(table[table["method"] == RELU].assign(accuracy_train=0.5, chosen=False))
    assert not _numbers(none, True) + _numbers(none, False) and none.layout.annotations, "an empty panel with its name"
    panels = accuracy.fig20(table).data
    assert [trace.name for trace in panels] == [*METHODS]


def _numbers(drawn, small):
    """Accuracies of the marks of single networks or of means, wherever these stand."""
    traces = [trace for trace in drawn.data if trace.customdata is not None and (trace.marker.size < 10) == small]
    return [row[-1] for trace in traces for row in trace.customdata]


def _compare_places(drawn, at, unit):
    """Marks stand at their numbers, of which that of the horizontal axis, in its unit, is number `at` of what they
    point at, and inside the axes, with the whiskers of large ones."""
    traces = [one for one in drawn.data if one.customdata is not None and len(one.customdata)]
    assert traces
    for trace in traces:
        panel = drawn.get_subplot(1, 1)
        (low, high), (left, right) = panel.yaxis.range, panel.xaxis.range
        for x, y, row in zip(trace.x, trace.y, trace.customdata, strict=True):
            assert (x, y) == pytest.approx((row[at] / unit, row[-1])), trace.name
            assert low < y < high and left < (np.log10(x) if panel.xaxis.type == "log" else x) < right
        half = np.nan_to_num(np.asarray(trace.error_y.array if trace.error_y.array is not None else 0.0, float))
        assert (np.asarray(trace.y) - half > low).all() and (np.asarray(trace.y) + half < high).all()


def test_the_best_other_network_stands_above_its_panel_and_tables_where_it_gains_most_come_first():
    rows = [
        (name, method, "", 1, 1.0, seed, value, 0.9, 0.9, False, True, tv)
        for name, gain in (("heloc", -2.0), ("credit", 4.0))
        for method, level, tv in ((RELU, 70.0, 2.0), (TANH, 65.0, 1.0), (IAFS, 70.0 + gain, 8.0))
        for seed, value in enumerate((level - 1) / 100 + 0.01 * np.arange(3))
    ]
    names = ["table", "method", *accuracy.SETTING, "seed", "accuracy", "accuracy_val", "accuracy_train", "diverged"]
    table = pd.DataFrame(rows, columns=[*names, "chosen", "tv"])
    drawn = complexity.marks(table, "tv")
    heads = [note.text for note in drawn.layout.annotations]
    assert heads[0].startswith("<b>credit</b><br>IAFs over ReLU: +4.0 [")
    assert heads[1].startswith("<b>heloc</b><br>IAFs over ReLU: −2.0 [")
    (line,) = [trace for trace in drawn.data if trace.mode == "lines" and len(trace.x) == 2 and trace.xaxis == "x"]
    assert (tuple(line.x), tuple(line.y)) == ((2.0, 8.0), pytest.approx((70.0, 74.0)))
    other = (table["method"] == TANH) & (table["table"] == "heloc")
    outside = complexity.outside_front(table.assign(accuracy_train=table["accuracy_train"].where(~other, 0.95)))
    assert [*outside.itertuples(name=None)] == [(IAFS, 1, 1), (TANH, 1, 0)], "it is better in training alone"
    rings = [trace for trace in complexity.marks(table).data if trace.name == complexity.RINGED]
    assert [(one.x[0], one.y[0]) for one in rings] == [pytest.approx(at) for at in ((4.0, 74.0), (1.0, 70.0))]


def test_captions_and_provenance_name_what_is_absent(made):
    one, facts = made[FIG5], made[FIG5].provenance
    check(facts)
    assert "left out: credit, electricity" in one.caption and one.summary in one.full_caption
    assert [source["name"] for source in facts["data"]] == list(tables("smoke"))
    assert set(facts["runs"]) == {Run(spec, Store()).key for _, spec in planned(FIG5)}
