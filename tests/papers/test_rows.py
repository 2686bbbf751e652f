"""Intervals that cover the rows of a test split, readings of a claim, and bounds that a paper does not print."""

from math import sqrt

import numpy as np
import pandas as pd
import pytest

from lab.estimates import ALIKE, compare, mean, on_rows, ratio_of_means
from lab.papers.claims import FAILS, HOLDS, UNDECIDED, Verdict, absent, all_of, on_every_reading
from lab.papers.simplicity.tables.complexity import CHANCE
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, RELU, TANH, rows_tested
from lab.papers.tables import gains_on_rows
from lab.places import RESULTS
from lab.tasks.table import sizes


def test_an_interval_over_rows_holds_the_truth_where_one_over_seeds_does_not():
    """Two models of equal accuracy whose errors agree on all but 17 % of what independent ones have: five seeds of each
    answer one draw of 1,000 rows. The truth is a difference of 0."""
    rng, rows, seeds, share = np.random.default_rng(3), 1_000, 5, 0.8
    alone, wide, draws = 0, 0, 200
    for _ in range(draws):
        shared = rng.random(rows) < share  # what both models get right
        own = [np.where(rng.random(rows) < 1 - sqrt(1 - ALIKE), rng.random(rows) < share, shared) for _ in range(2)]
        sides = [[100 * np.mean(one ^ (rng.random(rows) < 0.001)) for _ in range(seeds)] for one in own]
        gap = compare({"a": sides[0], "b": sides[1]}, {"": ("a", "b")})[""]
        covered = on_rows(gap, (100 * share, 100 * share), rows)
        alone += np.prod(gap.interval(0.95)) < 0
        wide += np.prod(covered.interval(0.95)) < 0
    assert alone / draws < 0.5 and 0.9 < wide / draws <= 1.0


def test_networks_err_on_the_same_rows():
    """The share of independent models' variance over rows, from how far gains on test and on validation rows differ.
    With more seeds less of that is their own noise: the share that three give is rather too large than too small."""
    table = pd.read_csv(RESULTS / "simplicity/fig20/overnight/table.csv.gz").fillna({"start": ""})
    table = table[table["accuracy_train"] > CHANCE]
    three, every = _shares(table[table["seed"] < 3]), _shares(table)
    assert np.mean(three) == pytest.approx(ALIKE, abs=0.01) and np.mean(every) < np.mean(three)
    assert np.median(three) < ALIKE, "of most tables it is less: the interval is rather too wide than too narrow"


def _shares(table):
    """That share by method and table."""
    settings = ["table", "method", "start", "layers", "prefactor"]
    means = table.groupby(settings, sort=False)[["accuracy", "accuracy_val"]].mean().reset_index()
    relu = means[means["method"] == RELU].set_index(["table", "layers"])
    found = []
    for method in (TANH, LEARNED, IAFS):
        for name, rows in means[means["method"] == method].groupby("table", sort=False):
            base = relu.loc[name].loc[rows["layers"]].reset_index()
            count = sizes(_rows(name))
            ours, theirs = rows["accuracy"].to_numpy(), base["accuracy"].to_numpy()
            between = (ours - theirs) - (rows["accuracy_val"].to_numpy() - base["accuracy_val"].to_numpy())
            alone = (ours * (1 - ours) + theirs * (1 - theirs)) * (1 / count["test"] + 1 / count["val"])
            found.append(np.mean(between**2 / alone))
    return found


def _rows(name):
    from lab.data import datasets

    return datasets.entry(name).shape.rows


def test_rows_are_those_of_the_split():
    assert [rows_tested(name) for name in ("credit", "heloc", "house_16H")] == [4700, 2100, 2833]


def test_other_tables_say_nothing_of_the_noise_of_one():
    """A gain with noisy runs on one table, and none with runs without noise on another: pooled, the gain is clear."""
    groups = {"a": [3.0, 1.0, -1.0], "b": [0.0, 0.2, -0.2], "c": [0.1, 0.2, 0.15], "d": [0.1, 0.1, 0.2]}
    pairs = {"noisy": ("a", "b"), "calm": ("c", "d")}
    found = gains_on_rows(groups, pairs, {"noisy": 10**9, "calm": 10**9}, above=0.0)
    for verdict, (case, pair) in zip(found, pairs.items(), strict=True):
        alone = compare(groups, {case: pair})[case]
        assert [verdict.low, verdict.high] == pytest.approx(alone.interval(0.95), rel=1e-3)
    assert found[0].covers.endswith("rows of the test split")


def around(values, **claimed):
    return Verdict(mean(values), **claimed)


@pytest.mark.parametrize(
    ("middle", "word"),
    [(0.0, HOLDS), (1.9, UNDECIDED), (3.0, UNDECIDED), (4.5, FAILS), (-3.0, UNDECIDED), (-5.0, FAILS)],
)
def test_between_the_labs_bound_and_twice_that_far_nothing_is_decided(middle, word):
    bounds = {"above": -2.0, "below": 2.0, "refuted_below": -4.0, "refuted_above": 4.0}
    assert around([middle - 0.1, middle, middle + 0.1], **bounds).word == word


def test_readings_that_agree_decide_and_others_do_not():
    high, higher, low = ([value, value + 0.1, value + 0.2] for value in (8.0, 9.0, 5.0))
    verdicts = {name: around(values, above=7.0) for name, values in (("a", high), ("b", higher), ("c", low))}
    agreed = on_every_reading({name: verdicts[name] for name in "ab"})
    assert (agreed.word, agreed.case) == (HOLDS, "") and agreed.low == verdicts["a"].low
    apart = on_every_reading(verdicts)
    assert (apart.word, apart.case) == (UNDECIDED, "a 8.1, b 9.1, c 5.1")
    assert (apart.low, apart.high) == (verdicts["c"].low, verdicts["b"].high)
    nothing = absent("no run", case="d")
    assert on_every_reading({"d": nothing, "c": verdicts["c"]}).word == FAILS
    assert on_every_reading({"d": nothing}).reason == "no run" and on_every_reading({}).reason


def test_the_worst_of_cases_within_cases_is_corrected_for_all_of_them():
    one = around([-1.0, -1.1, -0.9], above=0.0)
    assert one.corrected(3).corrected(2).level == pytest.approx(1 - 0.05 / 6)
    nested = all_of([all_of([one, around([1.0, 1.1, 0.9], above=0.0)]), around([1.0, 1.1, 0.9], above=0.0)])
    assert (nested.word, nested.level) == (FAILS, pytest.approx(1 - 0.05 / 4))


def test_a_ratio_of_means_covers_the_truth_and_knows_nothing_where_the_second_may_be_zero():
    rng, inside = np.random.default_rng(5), 0
    for _ in range(300):
        second = 4 + rng.normal(size=10)
        low, high = ratio_of_means(0.5 * second + 0.5 * rng.normal(size=10), second, "tables").interval(0.95)
        inside += low < 0.5 < high
    assert 0.91 < inside / 300 < 0.98
    assert ratio_of_means([1.0, 1.1, 0.9], [0.1, -0.2, 0.3], "tables").interval(0.95) == (-np.inf, np.inf)
    assert np.isnan(ratio_of_means([1.0], [2.0], "tables").interval(0.95)).all()
    assert ratio_of_means([], [], "tables").n == 0
