"""Simplicity paper, Tables 1 to 3 and Figure 15, at smoke scale: shared runs, stored accuracies, and who saw what."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lab.catalogue.build import check, figure
from lab.catalogue.registry import entry
from lab.estimates import ALIKE
from lab.kinds import check_run as check_rows
from lab.papers.simplicity.images.settings import RELU
from lab.papers.simplicity.interpolations import SEARCHES, relu, search, setting
from lab.papers.simplicity.search import TABLE3, means, printed
from lab.papers.simplicity.settings import LEARNED
from lab.plots.caption import reading
from lab.run import Run
from lab.scale import COMMON
from lab.search_results import EpisodeResult
from lab.spec import from_json, needs, replace, to_json
from lab.store import Store
from lab.training import episodes
from tests.papers.plans import planned

TABLES = tuple(f"simplicity/table{number}" for number in (1, 2, 3))
EVERY = (*TABLES, "simplicity/fig15")
every_scale = pytest.mark.parametrize("scale", COMMON)


@pytest.fixture(scope="module")
def made():
    return {name: figure(name, "smoke", progress=False) for name in EVERY}


@every_scale
def test_plans_compare_like_with_like_and_share_runs(scale):
    base = setting(scale).runs(RELU, 1, 2)
    for name in EVERY:
        for labels, spec in planned(name, scale, 2):
            assert replace(spec, model=replace(spec.model, phi="relu")) in base
            assert (spec in base) == (labels["method"] == RELU)
            check_rows(spec)
            assert from_json(to_json(spec)) == spec
            for need in needs(spec):
                episodes.check(need)
    two, three = (dict.fromkeys(spec for _, spec in planned(name, scale, 2)) for name in TABLES[1:])
    fifteen = [spec for _, spec in planned("simplicity/fig15", scale, 2)]
    assert set(fifteen) == set(two) - set(base) and len(set(two) & set(three)) == 4, "ReLU, and the function as it is"
    searches = {need for name in EVERY for _, spec in planned(name, scale, 2) for need in needs(spec)}
    assert len(searches) == 5, "one for each interpolation and each objective"


@every_scale
def test_only_the_cheating_row_sees_the_test_split(scale):
    for name in EVERY:
        for labels, spec in planned(name, scale, 2):
            assert spec.recipe.watch == "val"
            for need in needs(spec):
                seen = {*need.pool, need.objective, need.retrain.watch}
                assert ("test" in seen) == (labels["method"] == "test")


def test_restarts_start_from_relu_and_from_zero():
    assert {restart.start for restart in search("laptop").restarts} == {"relu", "zero"}
    assert len(search("laptop").restarts) == 4, "as Table 1"


@pytest.mark.parametrize("name", TABLES)
def test_accuracies_are_those_of_the_stored_weights(made, name):
    table = made[name].table
    for (labels, spec), row in zip(planned(name, "smoke", 2), table.itertuples(), strict=True):
        model, data = Run(spec, Store()).model(), spec.task.split(0)
        assert (row.method, row.seed) == (labels["method"], spec.seed)
        for value, split in ((row.accuracy, "test"), (row.accuracy_val, "val")):
            right = spec.task.scores(model(data[split].inputs[None]), data[split].targets)["accuracy"]
            assert value == pytest.approx(float(right), abs=2e-3)


def test_the_best_restart_is_the_one_the_search_chose(made):
    table, found = made["simplicity/table1"].table, EpisodeResult(search("smoke"), Store())
    assert table.loc[table["chosen"], "restart"].unique().tolist() == [found.winner]
    assert found.winner == np.lexsort((found.results[:, 0, 1], -found.results[:, 0, 0]))[0]
    best = made["simplicity/table2"].table
    best = best.loc[best["method"] == "linear", "accuracy"].to_numpy()
    assert table.loc[table["chosen"], "accuracy"].to_numpy() == pytest.approx(best, abs=2e-3)


def test_rows_are_means_and_standard_deviations():
    values = {(RELU, -1): (0.3, 0.5), (LEARNED, 0): (0.4, 0.6), (LEARNED, 1): (0.8, np.nan)}
    rows = [
        (method, restart, seed, value, restart == 1)
        for (method, restart), pair in values.items()
        for seed, value in enumerate(pair)
    ]
    table = pd.DataFrame(rows, columns=["method", "restart", "seed", "accuracy", "chosen"])
    table = table.assign(start="relu", rate=0.1, diverged=table["accuracy"].isna())
    found = means(table).set_index("key")
    assert found["mean"].to_dict() == pytest.approx(
        {RELU: 40, "average": 60, "best": 80, "restart 0": 50, "restart 1": 80}
    )
    assert found.loc["average", "error"] == pytest.approx(20) and found.loc["average", "lost"] == 1
    told = printed(table)
    assert told["theirs"].tolist() == [53.1, 56.6, 57.2] and told["ours"].tolist() == pytest.approx([40, 60, 80])


def test_functions_are_what_the_searches_found(made):
    table = made["simplicity/fig15"].table
    for kind, rows in table.groupby("method"):
        found = EpisodeResult(search("smoke", kind), Store())
        assert rows.loc[rows["chosen"], "restart"].unique().tolist() == [found.winner]
        for number, part in rows.groupby("restart"):
            assert part["value"].to_numpy() == pytest.approx(found.of_restart(number)["phi"].values.numpy(), abs=1e-4)
    assert len(table[table["method"] == "cubic"]) > 8 * len(table[table["method"] == "linear"])
    assert "Above: 1 of the functions" in reading(made["simplicity/fig15"].plot), "there is one search a kind"


@pytest.mark.parametrize("name", EVERY)
def test_captions_provenance_and_files(made, name, tmp_path):
    one = made[name]
    check(one.provenance)
    for word in ("Scale smoke", "Fashion-MNIST as regression", "parts of ", "seeds are those of the models"):
        assert word in one.full_caption
    assert not re.search(r"\bnan\b", one.full_caption) and "<br>" not in one.caption
    one.write(tmp_path, images=False, page=False)
    again = entry(name).plot(pd.read_csv(tmp_path / "table.csv", keep_default_na=True))
    assert json.loads(again.to_json()) == json.loads(one.plot.to_json())


def test_relu_is_trained_as_in_the_figures_of_the_image_sets():
    assert relu("laptop", 3) == setting("laptop").runs(RELU, 1, 3)


def test_of_several_searches_each_is_a_unit():
    """Five searches for each objective, whose means are known: Welch's t of these means, and not of fifty runs; and the
    noise of 10,000 test images."""
    generator = np.random.default_rng(0)
    rows = [
        {"method": method, "search": search, "seed": seed, "accuracy": center + jump + noise, "diverged": False}
        for method, center in (("val", 0.5), ("train", 0.45))
        for search, jump in enumerate(generator.normal(0, 0.02, 5))
        for seed, noise in enumerate(generator.normal(0, 0.001, 10))
    ]
    rows += [{"method": RELU, "search": -1, "seed": n, "accuracy": 0.4, "diverged": False} for n in range(10)]
    table = pd.DataFrame(rows)
    estimate = next(claim for claim in TABLE3 if claim.name == "train").measure(table).estimate
    means = 100 * table.groupby(["method", "search"])["accuracy"].mean()
    found = stats.ttest_ind(means["val"], means["train"]).confidence_interval(0.95)  # variances alike: pooled
    assert estimate.covers == "searches and seeds, and the rows of the test split" and estimate.n == 5
    percent = means.groupby("method").mean()[["val", "train"]]
    images = 1.959964 * (ALIKE * sum(one * (100 - one) for one in percent) / 10_000) ** 0.5
    low, high = (np.hypot(end - estimate.effect, images) for end in (found.low, found.high))
    assert estimate.interval(0.95) == pytest.approx((estimate.effect - low, estimate.effect + high), abs=1e-4)
    said = entry("simplicity/table3").summary
    assert "training data worse, " in said(table) and said(table).endswith("ReLU has 40.0 % (paper 53.1).")
    one = said(table[table["seed"] == 0].drop_duplicates("method").drop(columns="search"))
    assert "training data −" in one and "too near" not in one, "one seed tells nothing"


def test_the_searches_of_a_night_have_nothing_in_common_but_their_setting():
    every = [search("overnight", number=number) for number in range(SEARCHES["overnight"])]
    seeds = [restart.seed for one in every for restart in one.restarts]
    assert len(set(seeds)) == len(seeds) and every[0] == search("laptop")
    numbered = {labels["search"] for labels, _ in planned("simplicity/table1", "overnight", 1)}
    assert numbered == {-1, *range(len(every))}
