"""Rates are chosen on val alone, and each method is compared at its own."""

import pytest

from lab.papers.transformers.rates import at_best, at_printed, best_rates, plan, rates, summary
from lab.papers.transformers.settings import BASELINE, MLP, printed_rate, setting
from lab.papers.transformers.sweep import SEEDS
from tests.papers.transformers.planted import rates as planted


def test_the_best_rate_is_that_of_val_whatever_test_says():
    table = planted(True)
    table.loc[(table["split"] == "test") & (table["rate"] == 0.001), "accuracy"] = 1.0
    assert set(best_rates(table).values()) == {0.01}
    assert set(at_best(table)["rate"]) == {0.01} and set(at_best(table)["split"]) == {"test"}
    assert set(at_printed(table)["rate"]) == {0.005}


def test_each_method_has_its_own_rate_and_a_rate_that_diverges_is_out():
    table = planted(True)
    val = table["split"] == "val"
    table.loc[val & (table["method"] == MLP) & (table["rate"] == 0.01), "diverged"] = True
    best = best_rates(table)
    assert best["add", BASELINE] == 0.01 and best["add", MLP] == 0.005
    rows = at_best(table)
    assert rows.groupby("method")["rate"].unique().map(list).to_dict() == {BASELINE: [0.01], MLP: [0.005]}
    assert "(0.01 and 0.005)" in summary(table)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_both_methods_have_every_rate_and_seeds_of_val_are_no_figures(scale):
    planned = plan(scale, 2)
    for task in ("memorize", "add"):
        kinds = {(labels["method"], labels["rate"]) for labels, _ in planned if labels["task"] == task}
        assert kinds == {(method, rate) for method in (BASELINE, MLP) for rate in rates(task, scale)}
        assert setting(task, scale).recipe.rate in rates(task, scale)
        assert scale == "smoke" or printed_rate(task) in rates(task, scale)
    for labels, spec in planned:
        assert spec.recipe.rate == labels["rate"]
        assert (spec.seed in SEEDS, spec.evaluate == ("val",)) == ((labels["split"] == "val",) * 2)
