"""Effects with intervals: laws, scipy's own numbers, and how often an interval holds the truth."""

from dataclasses import replace
from functools import partial
from math import exp, isnan, log, sqrt

import numpy as np
import pytest
from scipy import stats

from lab import estimates
from lab.estimates import (
    FEW,
    apart,
    compare,
    correlation,
    count_ratio,
    crossed,
    exact,
    mean,
    nested,
    pooled_means,
    proportion,
    rank_correlation,
    spread_ratio,
)

LEVELS = (0.8, 0.95, 1 - 0.05 / 8)
DRAWS = 600


def ends(estimate, level=0.95):
    return list(estimate.interval(level))


def covered(draw, truth, seed=0, draws=DRAWS):
    """How often the 95 % interval of what `draw(rng)` gives holds the truth."""
    rng = np.random.default_rng(seed)
    found = [draw(rng).interval(0.95) for _ in range(draws)]
    return np.mean([low <= truth <= high for low, high in found])


NOISE = 3.5 * sqrt(0.05 * 0.95 / DRAWS)  # of a share of 95 %


@pytest.mark.parametrize("level", LEVELS)
def test_one_group_has_students_interval(level):
    values = np.random.default_rng(0).normal(size=7)
    known = stats.ttest_1samp(values.round(9), 0).confidence_interval(level)
    assert ends(mean(values), level) == pytest.approx(list(known))


@pytest.mark.parametrize("level", LEVELS)
def test_two_groups_have_welchs_interval(level):
    rng = np.random.default_rng(1)
    groups = {"a": rng.normal(1, 1, FEW), "b": rng.normal(0, 3, FEW + 3)}
    found = compare(groups, {"": ("a", "b")})[""]
    known = stats.ttest_ind(groups["a"].round(9), groups["b"].round(9), equal_var=False)
    assert ends(found, level) == pytest.approx(list(known.confidence_interval(level)))
    assert found.effect == pytest.approx(groups["a"].mean() - groups["b"].mean())


def test_two_small_groups_have_students_interval_with_equal_variances():
    a, b = np.array([0.3, 1.4, 2.0]), np.array([-1.0, 0.1, 0.6])
    found = compare({"a": a, "b": b}, {"": ("a", "b")})[""]
    assert ends(found) == pytest.approx(list(stats.ttest_ind(a, b).confidence_interval()))


def test_the_variance_is_pooled_over_all_groups_of_the_pairs():
    """As in an analysis of variance; a group of no pair is not in it."""
    groups = {"a": [0.3, 1.4, 2.0], "b": [-1.0, 0.1, 0.6], "c": [4.0, 4.5, 5.7], "d": [0.0, 9.0, 9.0]}
    groups = {name: np.array(values) for name, values in groups.items()}
    found = compare(groups, {"ab": ("a", "b"), "cb": ("c", "b")})
    within = np.mean([groups[name].var(ddof=1) for name in "abc"])
    half = stats.t.ppf(0.975, 6) * sqrt(within * 2 / 3)
    assert (ends(found["cb"])[1] - ends(found["cb"])[0]) / 2 == pytest.approx(half)
    assert found["cb"].covers == "seeds, by a variance pooled over 3 groups"
    wide = compare(groups, {"ab": ("a", "b")})["ab"].interval(0.95)
    assert (wide[1] - wide[0]) / 2 == pytest.approx(
        stats.t.ppf(0.975, 4) * sqrt(np.mean([groups[name].var(ddof=1) for name in "ab"]) * 2 / 3)
    )


def test_variances_that_differ_are_not_pooled():
    quiet, loud = np.array([0.0, 0.01, -0.01]), np.array([-5.0, 0.0, 5.0])
    found = compare({"a": quiet, "b": quiet + 1, "c": loud}, {"ab": ("b", "a"), "ac": ("c", "a")})
    known = stats.ttest_ind(quiet + 1, quiet, equal_var=False).confidence_interval()
    assert ends(found["ab"]) == pytest.approx(list(known)) and found["ab"].covers == "seeds"


def test_a_pooled_interval_is_too_narrow_where_few_runs_hide_that_variances_differ():
    """What pooling costs: a pair whose runs vary three times as much as those of four other groups, three of each."""

    def draw(rng):
        groups = {name: rng.normal(0, 3 if name in "ab" else 1, 3) for name in "abcdef"}
        return compare(groups, {"": ("a", "b"), "cd": ("c", "d"), "ef": ("e", "f")})[""]

    assert 0.8 < covered(draw, 0.0) < 0.92


def test_pooled_means_share_their_variance():
    groups = dict(zip("ab", np.random.default_rng(4).normal(size=(2, 3)).round(9), strict=True))
    found = pooled_means(groups)
    spread = sqrt(np.mean([group.var(ddof=1) for group in groups.values()]))
    for name, group in groups.items():
        half = stats.t.ppf(0.975, 4) * spread / sqrt(3)
        assert ends(found[name]) == pytest.approx([group.mean() - half, group.mean() + half])


@pytest.mark.parametrize("cases", [1, 3, 8])
def test_bonferroni_widths_are_scipys(cases):
    values = np.random.default_rng(5).normal(size=6).round(9)
    level = 1 - 0.05 / cases
    low, high = mean(values).interval(level)
    known = stats.t.ppf(1 - 0.025 / cases, 5) * stats.sem(values)
    assert (high - low) / 2 == pytest.approx(known)


def test_welchs_interval_holds_the_truth():
    def draw(rng):
        return compare({"a": rng.normal(1, 3, 6), "b": rng.normal(0, 1, 8)}, {"": ("a", "b")})[""]

    assert covered(draw, 1.0) == pytest.approx(0.95, abs=NOISE)


def test_the_pooled_interval_holds_the_truth():
    def draw(rng):
        groups = {name: rng.normal(name == "a", 1, 3) for name in "abcd"}
        return compare(groups, {"": ("a", "b"), "cd": ("c", "d")})[""]

    assert covered(draw, 1.0) == pytest.approx(0.95, abs=NOISE)


@pytest.mark.parametrize("searches", [2, 4])
def test_searches_and_seeds_are_both_covered(searches):
    """Searches differ by 2, seeds by 1: the interval of the seeds of one search would hold the truth far too seldom."""

    def draw(rng):
        return nested([rng.normal(2 * rng.normal(), 1, 6) for _ in range(searches)])

    def naive(rng):
        return mean(rng.normal(2 * rng.normal(), 1, 6))

    def resampled(rng):
        """Searches, then seeds: what `nested` is not, because it is too narrow for a handful."""
        own = [rng.normal(2 * rng.normal(), 1, 6) for _ in range(searches)]
        picks = rng.integers(0, searches, (99, searches))
        means = [np.mean([rng.choice(own[i], 6).mean() for i in pick]) for pick in picks]
        return estimates.Estimate(0, lambda level: tuple(np.quantile(means, [0.025, 0.975])), 1, "", "")

    assert covered(draw, 0.0) == pytest.approx(0.95, abs=NOISE)
    assert covered(naive, 0.0) < 0.6
    assert covered(resampled, 0.0, draws=150) < 0.9


def test_searches_against_a_baseline():
    def draw(rng):
        return nested([rng.normal(1 + rng.normal(), 1, 6) for _ in range(4)], rng.normal(0, 1, 6))

    assert covered(draw, 1.0) > 0.95 - NOISE
    one = nested([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], [0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
    assert one.covers == "seeds, of one search" and one.n == 6
    known = stats.ttest_ind([1, 2, 3, 4, 5, 6], [0, 1, 0, 1, 0, 1], equal_var=False).confidence_interval()
    assert ends(one) == pytest.approx(list(known))


@pytest.mark.parametrize(("rows", "columns", "noise"), [(1, 1, 1), (1, 0, 1), (0, 1, 1), (1, 1, 0.1), (0, 0, 1)])
@pytest.mark.parametrize("diagonal", [True, False])
def test_rows_and_columns_of_a_matrix_are_both_covered_and_noise_counts_once(rows, columns, noise, diagonal):
    """Counted twice, as rows and as columns, noise alone would be covered in 99.5 %."""

    def draw(rng):
        effects = rows * rng.normal(size=(8, 1)) + columns * rng.normal(size=(1, 8)) + noise * rng.normal(size=(8, 8))
        return crossed(effects if diagonal else np.where(np.eye(8, dtype=bool), np.nan, effects), "tasks", "both")

    assert 0.95 - NOISE < covered(draw, 0.0) < 0.992


def test_cells_that_are_left_out_of_a_matrix_do_not_count():
    matrix = np.array([[np.nan, 1.0, 2.0], [3.0, np.nan, 4.0], [5.0, 6.0, np.nan]])
    assert crossed(matrix, "", "").effect == pytest.approx(3.5)
    assert crossed(np.full((2, 2), np.nan), "", "").n == 0
    wide = np.vstack([np.column_stack([matrix, np.full(3, np.nan)]), np.full(4, np.nan)])
    assert ends(crossed(wide, "", "")) == pytest.approx(ends(crossed(matrix, "", "")))


@pytest.mark.parametrize(("measure", "rho"), [(correlation, 0.0), (rank_correlation, 0.0), (correlation, 0.7)])
def test_the_interval_of_a_correlation_holds_the_truth(measure, rho):
    def draw(rng):
        x, y = rng.normal(size=(2, 13))
        return measure(x, rho * x + sqrt(1 - rho**2) * y, "models")

    assert covered(draw, rho) == pytest.approx(0.95, abs=NOISE)


def test_correlations_are_scipys():
    x, y = np.random.default_rng(6).normal(size=(2, 20))
    found, known = correlation(x, y, "models"), stats.pearsonr(x, y)
    assert found.effect == pytest.approx(known.statistic)
    assert ends(found) == pytest.approx(list(known.confidence_interval()))
    assert rank_correlation(x, y, "models").effect == pytest.approx(stats.spearmanr(x, y).statistic)
    assert rank_correlation(x, np.exp(y), "models").interval(0.9) == rank_correlation(x, y, "models").interval(0.9)


def test_few_models_or_equal_ones_have_no_correlation():
    assert isnan(ends(correlation([1, 2, 3, 4], [1, 3, 2, 4], ""))[0])
    assert isnan(correlation([1, 2, 3, 4, 5], [1, 1, 1, 1, 1], "").effect)
    perfect = correlation(range(9), range(9), "")
    assert ends(perfect) == pytest.approx([1.0, 1.0])


def test_the_difference_of_two_correlations_holds_the_truth():
    def draw(rng):
        x, y, u, v = rng.normal(size=(4, 13))
        return apart(correlation(x, 0.6 * x + 0.8 * y, ""), correlation(u, v, ""))

    assert covered(draw, 0.6) == pytest.approx(0.95, abs=NOISE)


def test_a_share_has_the_exact_interval():
    found = proportion(3, 8, "tasks")
    low, high = stats.beta.ppf(0.025, 3, 6), stats.beta.ppf(0.975, 4, 5)  # Clopper and Pearson
    assert ends(found) == pytest.approx([low, high]) and found.effect == 3 / 8
    assert ends(proportion(0, 8, ""))[0] == 0 and ends(proportion(8, 8, ""))[1] == 1
    assert proportion(0, 0, "").n == 0


def test_the_interval_of_a_share_ends_where_shares_do():
    shares = mean([90.0, 100.0, 100.0])
    low, high = shares.cut(0, 100).interval(0.95)
    assert low == shares.interval(0.95)[0] and shares.interval(0.95)[1] > 100 == high
    assert shares.cut(0, 100).effect == shares.effect and np.isnan(mean([]).cut(0, 100).effect)


def test_a_ratio_of_counts_is_the_exact_test():
    """The interval leaves 1 out where the binomial test of equal rates says so."""
    for a, b in [(10, 1), (10, 3), (5, 4), (237, 263), (12, 2)]:
        low, high = ends(count_ratio(a, b, 4096, 4096, ""))
        beta = stats.beta.ppf(0.025, a, b + 1), stats.beta.ppf(0.975, a + 1, b)
        assert [low, high] == pytest.approx([share / (1 - share) for share in beta])
    assert count_ratio(10, 10, 1000, 2000, "").effect == pytest.approx(2.0)
    back = count_ratio(10, 3, 1, 1, "").interval(0.9)
    assert [1 / end for end in back[::-1]] == pytest.approx(list(count_ratio(3, 10, 1, 1, "").interval(0.9)))


def test_the_ratio_of_two_spreads_holds_the_truth():
    def draw(rng):
        return spread_ratio([rng.normal(i, 2, 6) for i in range(4)], [rng.normal(0, 1, 6)])

    assert covered(draw, 2.0) == pytest.approx(0.95, abs=NOISE)
    assert isnan(spread_ratio([[1.0]], [[1.0, 2.0]]).effect)


def test_a_ratio_is_the_same_both_ways():
    values = np.log([1.5, 2.0, 2.5])
    there, back = mean(values).exp(), mean(-values).exp()
    assert there.effect == pytest.approx(1 / back.effect)
    assert ends(there) == pytest.approx([1 / end for end in ends(back)[::-1]])
    assert there.effect == pytest.approx(exp(np.mean([log(1.5), log(2.0), log(2.5)])))


def test_what_is_not_finite_is_left_out_and_one_run_has_no_interval():
    assert mean([1.0, np.nan, np.inf, 3.0]).n == 2
    assert isnan(ends(mean([1.0]))[0]) and mean([]).n == 0 and isnan(mean([]).effect)
    assert isnan(ends(compare({"a": [1.0], "b": [2.0]}, {"": ("a", "b")})[""])[0])
    assert compare({"a": [np.nan], "b": [2.0]}, {"": ("a", "b")})[""].n == 0
    assert ends(exact(3.0, 1, "counts")) == [3.0, 3.0]


@pytest.mark.parametrize("groups", [{"a": [2.0, 1.0, 4.0], "b": [0.0, 7.0, 1.0]}])
def test_the_order_of_runs_does_not_matter(groups):
    one = compare(groups, {"": ("a", "b")})[""]
    other = compare({name: values[::-1] for name, values in groups.items()}, {"": ("a", "b")})[""]
    assert ends(one) == pytest.approx(ends(other))


def test_variances_are_alike_as_bartletts_test_says():
    rng, said = np.random.default_rng(0), []
    for sizes in [(4, 5), (3, 7, 4), (9, 2), (6, 6, 6, 3)] * 40:
        groups = [rng.normal(0, rng.uniform(0.3, 3), size) for size in sizes]
        said.append(estimates.is_alike([*groups, np.ones(1)]))
        assert said[-1] == (stats.bartlett(*groups).pvalue >= estimates.UNEQUAL)
    assert 20 < sum(said) < 140
    flat = np.ones(3)
    assert estimates.is_alike([flat, np.ones(1)]) and estimates.is_alike([flat, flat]) and estimates.is_alike([])
    assert not estimates.is_alike([flat, np.arange(3.0)])


def test_a_pooled_spread_is_that_of_deviations_from_their_means():
    groups = [np.array([1.0, 3.0]), np.array([5.0]), np.array([0.0, 0.0, 6.0]), np.zeros(0)]
    assert estimates.pooled(groups) == (pytest.approx(sqrt((2 + 24) / 3)), 3)
    spread, df = estimates.pooled([np.ones(1)])
    assert isnan(spread) and df == 0


def test_what_rounding_leaves_is_no_difference():
    assert np.ptp(estimates.finite([0.0, 4e-10])) == 0 < np.ptp(estimates.finite([0.0, 6e-10]))
    same, near = exact(0.5, 3, "seeds"), mean([0.5, 0.5 + 1e-6])
    assert isnan(ends(estimates.unless_equal(same))[0]) and ends(estimates.unless_equal(near)) == ends(near)
    assert isnan(ends(estimates.unless_equal(mean([0.25, 0.25, 0.25])))[0])
    sizes = [1e-30, 1e-7, 1.0, 1e5, 1e30]
    assert all(1 <= estimates.power([size]) * size < 1e6 or estimates.power([size]) == 1 for size in sizes)
    assert estimates.power([]) == estimates.power([0.0]) == estimates.power([np.inf, 2.0]) == 1


def test_a_mean_over_one_split_has_the_variance_of_its_rows_too():
    seeds, rows = [0.6, 0.7, 0.65, 0.75], 200
    parts = np.array([np.var(seeds, ddof=1) / 4, 0.675 * 0.325 / rows])
    df = parts.sum() ** 2 / (parts**2 / [3, rows - 1]).sum()
    found = estimates.mean_on_sample([*seeds, np.nan], rows)
    assert ends(found) == pytest.approx(list(stats.t.interval(0.95, df, 0.675, sqrt(parts.sum()))))
    assert (found.n, found.covers) == (4, "seeds and the rows of the test split")
    assert estimates.mean_on_sample([], rows).n == 0 and isnan(ends(estimates.mean_on_sample([0.5], rows))[0])
    assert isnan(ends(estimates.mean_on_sample([1.0, 1.0], rows))[0]), "nothing varies, and nothing is known"


def test_a_ratio_of_means_has_fiellers_interval():
    """Its ends are the ratios r of which a - r b has an interval that just touches 0."""
    ratio, rng = partial(estimates.ratio_of_means, over="units"), np.random.default_rng(3)
    a, b = rng.normal(2, 0.5, 9), rng.normal(4, 0.5, 9)
    found = ratio([*a, np.nan], [*b, 1.0])
    assert found.effect == pytest.approx(a.mean() / b.mean()) and found.n == 9
    low, high = found.interval(0.9)
    assert low < found.effect < high
    for end in (low, high):
        touching = stats.ttest_1samp(a - end * b, 0).confidence_interval(0.9)
        assert min(map(abs, touching)) == pytest.approx(0, abs=1e-9)
    assert ends(ratio(a, b - b.mean())) == [-np.inf, np.inf]
    assert ratio([np.nan], [1.0]).n == 0 and isnan(ends(ratio([1.0], [2.0]))[0])
    assert isnan(ratio([1.0, 2.0], [0.0, 0.0]).effect)
    assert ends(ratio(2 * b, b)) == pytest.approx([2, 2], abs=1e-6)


def test_the_unit_is_the_search_where_there_are_several():
    one, two = nested([[1.0, 2.0, 4.0]]), nested([[1.0, 2.0], [3.0], [np.nan]])
    assert (one.over, one.n, one.covers) == ("seeds", 3, "seeds, of one search")
    assert (two.over, two.n, two.covers) == ("searches", 2, "searches and seeds")
    assert ends(two) == pytest.approx(ends(mean([1.5, 3.0])))
    against = nested([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0])
    assert against.over == "searches" and against.n == 2 and against.effect == 2
    assert nested([[np.nan]]).n == 0 and nested([[np.nan]]).over == "searches"


@pytest.mark.parametrize("hole", [True, False])
def test_noise_is_taken_off_a_matrix_where_cells_can_tell_it(hole):
    matrix = np.array([[1.0, 2.0], [4.0, 7.0]])
    if hole:
        matrix[1, 1] = np.nan
    rows, columns, middle = np.nanmean(matrix, 1), np.nanmean(matrix, 0), np.nanmean(matrix)
    parts = np.var(rows, ddof=1) / 2, np.var(columns, ddof=1) / 2
    noise = 0 if hole else ((matrix - rows[:, None] - columns + middle) ** 2).sum() / 4  # 1 degree of freedom, 4 cells
    known = stats.t.interval(0.95, 1, middle, sqrt(max(sum(parts) - noise, *parts)))
    assert ends(crossed(matrix, "tasks", "both")) == pytest.approx(list(known))


def test_a_difference_of_estimates_has_zous_interval():
    first, second = (
        correlation(range(8), [0, 2, 1, 3, 5, 4, 7, 6], "units"),
        correlation(range(8), [5, 3, 7, 1, 6, 2, 8, 4], "units"),
    )
    (a, b), (c, d), gap = first.interval(0.9), second.interval(0.9), first.effect - second.effect
    low, high = apart(first, second).interval(0.9)
    assert low == pytest.approx(gap - np.hypot(first.effect - a, d - second.effect))
    assert high == pytest.approx(gap + np.hypot(b - first.effect, second.effect - c))
    assert apart(first, replace(second, n=5)).n == 5


def test_three_units_have_a_correlation_and_two_have_none():
    assert correlation([1, 2, 3], [2, 1, 3], "units").effect == pytest.approx(0.5)
    assert isnan(correlation([1, 2], [1, 2], "units").effect) and isnan(
        ends(correlation([1, 2, 3], [2, 1, 3], "units"))[0]
    )
    for sign in (1, -1):
        low, high = ends(correlation(range(9), [sign * x for x in range(9)], "units"))
        assert -1 <= low <= high <= 1 and high - low < 1e-9 and sign * low > 0.99


def test_ranks_have_the_variance_of_bonett_and_wright():
    x, y = list(range(12)), [1, 0, 3, 2, 6, 4, 5, 9, 7, 8, 11, 10]
    found, plain = rank_correlation(x, y, "units"), correlation(x, y, "units")
    r = stats.spearmanr(x, y).statistic
    for estimate, more in ((found, 1 + r**2 / 2), (plain, 1)):
        half = stats.norm.ppf(0.975) * sqrt(more / 9)
        assert ends(estimate) == pytest.approx([np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)])


def test_an_interval_says_over_how_many_groups_its_variance_is_pooled():
    groups = {key: [0.0, 1.0, 2.0 + number] for number, key in enumerate("abc")}
    (two,), (three, _) = (
        compare(groups, pairs).values() for pairs in ({"": ("a", "b")}, {"": ("a", "b"), "c": ("a", "c")})
    )
    assert two.covers == "seeds" and three.covers == "seeds, by a variance pooled over 3 groups"
