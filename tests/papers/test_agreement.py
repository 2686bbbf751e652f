"""Verdicts of several cases and readings, and how far printed numbers agree, against scipy's own."""

from dataclasses import replace
from math import isnan

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lab.estimates import exact, mean
from lab.papers.claims import (
    ABSENT,
    FAILS,
    HOLDS,
    RESAMPLES,
    UNDECIDED,
    Verdict,
    _resampled,
    absent,
    agreement,
    all_of,
    any_of,
    on_every_reading,
    spearman,
    text_in_place_of,
)


def test_of_cases_that_fail_the_nearest_is_named_and_of_others_the_clearest():
    failing = [Verdict(mean(np.array([-0.1, 0.0, 0.1]) - size), above=0.0, case=f"{size}") for size in (5, 2, 9)]
    assert any_of(failing).case == "2" and any_of(failing).word == FAILS
    holding = [Verdict(mean(np.array([-0.1, 0.0, 0.1]) + size), above=0.0, case=f"{size}") for size in (5, 2, 9)]
    assert any_of([*holding, *failing]).case == "9" and all_of(holding).case == "2"
    assert all_of([*holding, *failing]).case == "9" and all_of([*holding, *failing]).word == FAILS
    gone = absent("no run", case="x")
    assert any_of([*failing, gone]).word == all_of([*holding, gone]).word == ABSENT
    assert any_of([*holding, gone]).word == HOLDS and all_of([*failing, gone]).word == FAILS


def test_a_reading_that_is_not_measured_does_not_count():
    one, gone = Verdict(mean([5.0, 5.1]), above=4.0), absent("no run")
    assert on_every_reading({"a": gone, "b": one}) is one and on_every_reading({"a": gone}) is gone
    assert on_every_reading({}).word == ABSENT


def test_a_text_of_the_papers_own_stands_in_for_nothing():
    stands_in = text_in_place_of("Moby-Dick", ["moby_dick char"])
    assert stands_in(pd.DataFrame({"task": ["moby_dick char"]}), "paper") == ""
    smaller = "smaller models, trained on less, in place of the paper's"
    assert stands_in(pd.DataFrame({"task": ["moby_dick char"]}), "laptop") == smaller
    assert stands_in(pd.DataFrame({"task": ["shakespeare char"]}), "paper") == "Shakespeare, char in place of Moby-Dick"


def test_ranks_correlate_as_scipy_says():
    rng = np.random.default_rng(0)
    for size in (2, 3, 5, 30):
        a, b = rng.integers(6, size=size) + np.arange(size) % 2, rng.normal(size=size).round(1)
        known = stats.spearmanr(a, b).statistic if np.ptp(a) and np.ptp(b) else np.nan
        assert spearman(a, b) == pytest.approx(known, nan_ok=True)
    assert isnan(spearman(np.ones(4), np.arange(4))) and isnan(spearman(np.ones(1), np.ones(1)))
    assert spearman(np.arange(9), -np.arange(9)) == -1


def cells(rows, columns, noise, seed=0):
    rng = np.random.default_rng(seed)
    names = [(f"a{row}", f"t{column}") for row in range(rows) for column in range(columns)]
    theirs = rng.normal(size=len(names))
    frame = pd.DataFrame(names, columns=["architecture", "task"])
    return frame.assign(ours=theirs + noise * rng.normal(size=len(names)), theirs=theirs)


def test_agreement_counts_signs_that_are_clear_and_correlates_all_cells():
    table = cells(4, 5, 1.0).assign(clear=[True, False] * 10)
    table.loc[0, "theirs"], table.loc[2, "ours"], table.loc[4, "clear"] = 0.0, np.nan, True
    found, known = agreement(table), table.dropna()
    signs = known[known["clear"] & (known["theirs"] != 0)]
    assert found.cells == 19 and found.clear == len(signs) == 8
    assert found.signs == (np.sign(signs["ours"]) == np.sign(signs["theirs"])).mean()
    assert found.spearman == pytest.approx(stats.spearmanr(known["ours"], known["theirs"]).statistic)
    assert found.low < found.spearman < found.high
    alone = agreement(table.drop(columns="clear"))
    assert alone.clear == 0 and isnan(alone.signs) and alone.spearman == found.spearman


def test_the_interval_of_agreement_is_wider_where_rows_have_something_in_common():
    exact_ = agreement(cells(4, 5, 0.0))
    assert (exact_.spearman, exact_.low, exact_.high) == (1, pytest.approx(1), pytest.approx(1))
    table = cells(5, 6, 1.0)
    whole, flat = (
        agreement(table),
        agreement(table.assign(task=table["architecture"] + table["task"])[["task", "ours", "theirs"]]),
    )
    assert whole.spearman == flat.spearman and whole.high - whole.low > flat.high - flat.low > 0.1
    few = agreement(cells(1, 3, 0.0))
    assert few.cells == 3 and isnan(few.low) and isnan(few.high) and few.spearman == 1
    assert agreement(cells(1, 4, 1.0, seed=3)).cells == 4 and not isnan(agreement(cells(2, 2, 1.0)).low)
    none = agreement(cells(1, 3, 0.0).iloc[:0])
    assert none.cells == 0 and isnan(none.spearman) and isnan(none.signs)


def between(low, high, **claimed):
    """A verdict whose interval has these ends."""
    middle = exact((low + high) / 2, 3, "seeds")
    return Verdict(replace(middle, interval=lambda level: (low, high)), **claimed)


def test_a_margin_counts_half_widths_inside_the_claimed_region():
    assert between(2, 4, above=0.0).margin == 2 and between(2, 4, above=0.0, below=5.0).margin == 1
    assert between(2, 6, above=0.0).margin == 1 and between(8, 9, above=0.0, below=10.0).margin == 2
    assert between(2, 4, above=3.0).margin == -1 and between(2, 2, above=1.0).margin == np.inf
    assert between(2, 2, above=3.0).margin == -np.inf and between(2, 2, above=2.0).margin == 0
    assert between(np.nan, np.nan, above=0.0).margin == -np.inf


def test_a_verdict_is_where_its_interval_ends():
    for ends, word in {(1, 2): HOLDS, (0, 2): UNDECIDED, (-1, 0): FAILS, (-1, 1): UNDECIDED, (3, 4): UNDECIDED}.items():
        assert between(*ends, above=0.0, below=4.0).word == word, ends
    assert between(4, 5, above=0.0, below=4.0).word == FAILS
    wide = {"above": 0.0, "below": 4.0, "refuted_below": -2.0, "refuted_above": 6.0}
    for ends, word in {(-1, 0): UNDECIDED, (-3, -2): FAILS, (4, 5): UNDECIDED, (6, 7): FAILS, (1, 2): HOLDS}.items():
        assert between(*ends, **wide).word == word, ends
    assert between(1, 2, above=0.0, reason="none").word == ABSENT


def test_a_hole_of_a_matrix_stays_one_in_every_resample():
    table = cells(2, 3, 1.0).iloc[:5]
    drawn, holes = _resampled(table, ["architecture", "task"], np.random.default_rng(0))
    assert drawn.shape == holes.shape == (RESAMPLES, 6) and set(np.unique(drawn[~holes])) == set(range(5))
    assert abs(holes.mean() - 1 / 6) < 0.02 and (drawn[holes] < 0).all()
