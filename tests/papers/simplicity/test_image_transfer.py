"""Simplicity paper, Table 4 and Figure 19, at smoke scale: whose function is where, and what the numbers are of."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.catalogue.shipped import shipped_results
from lab.kinds import check_run as check_rows
from lab.papers.simplicity import image_transfer
from lab.papers.simplicity.image_transfer import ALL, DEEP, shared_search
from lab.papers.simplicity.images.settings import REGRESSION, RELU, images, present
from lab.plots.caption import signed
from lab.run import Run
from lab.scale import COMMON
from lab.spec import Learned, replace
from lab.store import Store
from lab.training import episodes
from tests.papers.plans import planned

NAMES = ("simplicity/table4", "simplicity/fig19")
every_scale = pytest.mark.parametrize("scale", COMMON)


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in NAMES}


@every_scale
def test_every_model_is_that_of_its_set_with_the_function_of_its_source(scale):
    for name in NAMES:
        for labels, spec in planned(name, scale, 2):
            base = images(scale, labels["target"], REGRESSION).runs(RELU, labels["layers"], 2)
            assert replace(spec, model=replace(spec.model, phi="relu")) in base
            check_rows(spec)
            if labels["source"] == RELU:
                assert spec in base
            else:
                search = shared_search(scale, labels["source"])
                assert spec.model.phi == Learned(search, "phi") and search.model.layers == DEEP
                episodes.check(search)


@every_scale
def test_the_function_of_all_sets_has_as_many_episodes_on_each(scale):
    both, one = shared_search(scale, ALL), [shared_search(scale, name) for name in present(scale)]
    assert both.tasks == tuple(search.task for search in one)
    assert both.episodes == sum(search.episodes for search in one)
    assert both.inner_steps(both.episodes - 1) == one[0].inner_steps(one[0].episodes - 1)
    assert replace(both, task=one[0].task, episodes=one[0].episodes) == one[0]
    assert "test" not in {*both.pool, both.objective, both.retrain.watch}


def test_the_figures_share_their_deepest_models():
    four = {spec for labels, spec in planned(NAMES[0], "laptop", 2) if labels["source"] != ALL}
    assert four < {spec for _, spec in planned(NAMES[1], "laptop", 2)}


@pytest.mark.parametrize("name", NAMES)
def test_accuracies_are_those_of_the_stored_weights(made, name):
    for (labels, spec), row in zip(planned(name, "smoke", 2), made[name].table.itertuples(), strict=True):
        test = spec.task.split(0)["test"]
        right = spec.task.scores(Run(spec, Store()).model()(test.inputs[None]), test.targets)["accuracy"]
        assert (row.source, row.target, row.layers) == tuple(labels.values())
        assert row.accuracy == pytest.approx(float(right), abs=2e-3)


def test_cells_are_gains_over_relu_on_the_same_set():
    values = {
        (RELU, "mnist"): (0.5, 0.7),
        ("mnist", "mnist"): (0.8, 0.6),
        (RELU, "cifar10"): (0.2, 0.2),
        ("mnist", "cifar10"): (0.1, np.nan),
    }
    rows = [(*pair, 4, seed, value) for pair, both in values.items() for seed, value in enumerate(both)]
    table = pd.DataFrame(rows, columns=["source", "target", "layers", "seed", "accuracy"])
    table = table.assign(diverged=table["accuracy"].isna())
    told = image_transfer.printed(table)
    assert told["ours"].tolist() == pytest.approx([10, -10])
    assert told["theirs"].tolist() == pytest.approx([79.7 - 76.7, 18.2 - 16.1])
    cells = image_transfer.means(table)
    assert cells["lost"].tolist() == [0, 0, 0, 1]
    assert cells.loc[cells["source"] == "mnist", "gain"].mean() == pytest.approx(0)
    assert image_transfer.table4(table).data[0].z.tolist() == [[0, 0], pytest.approx([10, -10])]


def test_printed_cells_have_the_printed_means_and_are_compared_over_the_same_sets():
    table = np.array(list(image_transfer.PRINTED.values()))
    found = dict(zip(image_transfer.PRINTED, (table - table[0]).mean(1), strict=True))
    last_column = {"mnist": 0.6, "fashion_mnist": -1.7, "svhn": -0.5, "cifar10": -3.5, ALL: 0.4}
    for source, gain in last_column.items():
        assert found[source] == pytest.approx(gain, abs=0.06)
    shipped = shipped_results("simplicity/table4", "overnight").table()
    assert set(shipped["target"]) == {"mnist", "fashion_mnist"}
    ours = 100 * shipped[~shipped["diverged"]].groupby(["source", "target"])["accuracy"].mean().unstack().reindex(found)
    two = ours.columns.map(list(last_column)[:4].index)
    gains = pd.DataFrame({"ours": (ours - ours.loc[RELU]).mean(axis=1), "theirs": (table - table[0])[:, two].mean(1)})
    for source, name in (("mnist", "learned on MNIST"), (ALL, "all sets (here 2 of 4)")):
        words = "{} {} (paper {})".format(name, *map(signed, gains.loc[source]))
        assert words in image_transfer._mean_gains(shipped), "over MNIST and Fashion-MNIST alone"


def test_marks_are_gains_over_relu_with_as_many_layers(made):
    table = made["simplicity/fig19"].table
    means = (100 * table.groupby(["source", "layers", "target"])["accuracy"].mean()).unstack("target")
    marks = {trace.legendgroup: trace for trace in made["simplicity/fig19"].plot.data}
    assert set(marks) == {"mnist", "fashion_mnist"}
    for source, trace in marks.items():
        gains = means.loc[source] - means.loc[RELU]
        assert list(trace.x) == pytest.approx(gains["mnist"].tolist())
        assert list(trace.y) == pytest.approx(gains["fashion_mnist"].tolist())


@pytest.mark.parametrize("name", NAMES)
def test_captions_provenance_and_files(made, name, tmp_path):
    one = made[name]
    check(one.provenance)
    for word in ("Scale smoke", "left out: SVHN, CIFAR-10", "parts of ", "Departures from the paper"):
        assert word in one.caption
    assert not re.search(r"\bnan\b", one.full_caption)
    one.write(tmp_path, images=False, page=False)
    again = entry(name).plot(pd.read_csv(tmp_path / "table.csv"))
    assert json.loads(again.to_json()) == json.loads(one.plot.to_json())


def test_searches_differ_as_far_as_table_1_says():
    """What claims take for the difference between searches is the standard deviation of the shipped ones."""
    table = pd.read_csv(shipped_results("simplicity/table1", "overnight").folder / "table.csv.gz")
    means = 100 * table[table["chosen"]].groupby("search")["accuracy"].mean()
    assert (round(means.std(), 1), len(means)) == (image_transfer.BETWEEN_SEARCHES, image_transfer.SEARCHES_OF_TABLE_1)


def test_a_correlation_of_three_models_has_no_interval():
    rises = {"mnist": [0.1, 0.2, 0.4], "fashion_mnist": [0.1, 0.3, 0.4]}
    rows = [(target, RELU, 1, 0, 0.5) for target in rises]
    rows += [(target, f"function {n}", 1, 0, 0.5 + rise) for target in rises for n, rise in enumerate(rises[target])]
    table = pd.DataFrame(rows, columns=["target", "source", "layers", "seed", "accuracy"])
    said = image_transfer._correlation(table)
    assert said.endswith("over learned functions and depths: 0.93."), said
