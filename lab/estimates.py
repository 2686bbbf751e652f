"""Effects with their intervals. What an interval covers is part of it: seeds, tasks, searches and their seeds.

Runs are taken as independent: a seed makes a pair only where it fixes what is measured, a split of the data as in the
hypernetwork paper, or the batches that training perplexity is of (`mean` of differences, `pooled_means`). Elsewhere two
groups of runs are compared by Welch's t, and groups of few runs by a variance pooled over all groups of a claim
(`compare`). Correlations, shares of a count and ratios of counts are here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import atanh, exp, floor, inf, log10, nan, sqrt, tanh
from typing import TypeVar

import numpy as np
import pandas as pd
from scipy.special import betaincinv, chdtrc, fdtri, ndtri, stdtrit  # scipy.stats takes a second to import

K = TypeVar("K", bound=Hashable)  # of a group
Interval = Callable[[float], tuple[float, float]]
LEAST = 5  # units, below which a correlation has no interval
ORDINARY = (1e-3, 1e6)  # largest sizes of numbers that are compared as they are
SIZE = 4  # power of ten of the largest of others while they are compared: `finite` leaves them 13 digits
FEW = 6  # runs, below which a group's own variance says little, and that of all groups is pooled
# p-value of Bartlett's test below which variances are not pooled. Of two groups of three runs that vary three times as
# much as four others, 95 % intervals hold the truth 80 % of the time at .01, 85 % at .1; where all vary alike, 96 %.
UNEQUAL = 0.1
# Two networks err on much the same rows. Of the variance over rows that the difference of two independent models would
# have, so much is left: the mean over the ten tables and three methods of Figure 20 of the simplicity paper, from how
# far a gain on test rows is from the same gain on validation rows (`tests/papers/test_rows.py`), of networks that are
# above chance, with three seeds; with six, less of which is the seeds' own noise, .18; over its image sets .09.
ALIKE = 0.21


@dataclass(frozen=True)
class Estimate:
    """An effect, and its interval at any level.

    n, over: how many units there are, and what one is. covers: what would differ in a repetition that the interval is
    about.
    """

    effect: float  # NaN: nothing to measure it on
    interval: Interval  # level → (low, high); NaN where there is none, as for one run
    n: int
    over: str
    covers: str

    def exp(self) -> Estimate:
        """Of a logarithm: the ratio."""
        return self.mapped(exp)

    def scaled(self, factor: float) -> Estimate:
        """In other units; `factor` is above 0."""
        return self.mapped(lambda value: factor * value)

    def shifted(self, by: float) -> Estimate:
        """From another zero."""
        return self.mapped(lambda value: value + by)

    def cut(self, low: float, high: float) -> Estimate:
        """With an interval that ends at these numbers: of a share, which lies between 0 and 1, or 0 and 100 %."""
        return self.mapped(lambda value: min(max(value, low), high) if value == value else value)

    def negated(self) -> Estimate:
        """Of the other sign."""

        def interval(level: float) -> tuple[float, float]:
            low, high = self.interval(level)
            return -high, -low

        return replace(self, effect=-self.effect, interval=interval)

    def mapped(self, f: Callable[[float], float]) -> Estimate:
        """The effect and both ends of its interval through `f`, which must grow."""

        def interval(level: float) -> tuple[float, float]:
            low, high = self.interval(level)
            return f(low), f(high)

        return replace(self, effect=f(self.effect), interval=interval)


def unless_equal(estimate: Estimate) -> Estimate:
    """The same, without an interval where it is a point: equal values do not say how far others would be from them."""
    low, high = estimate.interval(0.95)
    is_point = high - low <= 1e-12 * max(abs(low), abs(high)) < inf  # what rounding leaves is no spread
    return replace(estimate, interval=lambda level: (nan, nan)) if is_point else estimate


def missing(over: str = "seeds") -> Estimate:
    """Of nothing."""
    return Estimate(nan, lambda level: (nan, nan), 0, over, "")


def exact(effect: float, n: int, over: str, covers: str = "nothing: exact") -> Estimate:
    """A number that has no noise."""
    return Estimate(effect, lambda level: (effect, effect), n, over, covers)


def mean(values: Iterable[float], over: str = "seeds", covers: str = "") -> Estimate:
    """The mean of independent values with Student's interval; what is not finite (of diverged runs) is left out.

    >>> found = mean([1.0, 2.0, 3.0])
    >>> found.effect, found.covers, [round(end, 3) for end in found.interval(0.95)]
    (2.0, 'seeds', [-0.484, 4.484])
    """
    known = finite(values)
    if not len(known):
        return missing(over)
    error = float(np.std(known, ddof=1)) / sqrt(len(known)) if len(known) > 1 else nan
    return _student(float(known.mean()), error, len(known) - 1, len(known), over, covers or over)


def mean_on_sample(accuracies: Iterable[float], rows: int, over: str = "seeds") -> Estimate:
    """The mean accuracy (0 to 1) of runs that share one test split of so many rows: its interval covers the runs and
    the rows, whose variances are added (degrees of freedom after Welch and Satterthwaite).

    >>> alone, on_rows = mean([0.14, 0.14, 0.15]), mean_on_sample([0.14, 0.14, 0.15], rows=1000)
    >>> [[round(end, 3) for end in one.interval(0.95)] for one in (alone, on_rows)]
    [[0.129, 0.158], [0.121, 0.166]]
    """
    known = finite(accuracies)
    if not len(known):
        return missing(over)
    share = float(known.mean())
    parts = [(share * (1 - share) / rows, rows - 1)]
    if len(known) > 1:
        parts.append((float(np.var(known, ddof=1)) / len(known), len(known) - 1))
    total, squares = sum(part for part, _ in parts), sum(part**2 / df for part, df in parts)
    df = total**2 / squares if squares and len(known) > 1 else 0.0
    return _student(share, sqrt(total), df, len(known), over, f"{over} and the rows of the test split")


def on_rows(points: Estimate, percent: Sequence[float], rows: int, alike: float = ALIKE) -> Estimate:
    """A difference of two accuracies, in points, as a statement about all rows that a test split could have had.

    percent: the accuracies. rows: of the split, the same for both. alike: share of the variance of two models that err
    independently (1) which is left; of two networks `ALIKE`. Both errors are taken together as those of independent
    estimates are (Zou, 2007).

    >>> gain = mean([0.9, 1.0, 1.1])
    >>> [round(end, 2) for end in gain.interval(0.95)]
    [0.75, 1.25]
    >>> [round(end, 2) for end in on_rows(gain, (81.0, 80.0), rows=2_810).interval(0.95)]
    [0.02, 1.98]
    """
    error = 100 * sqrt(alike * sum(share * (1 - share) for share in (min(one / 100, 1.0) for one in percent)) / rows)

    noise = Estimate(0.0, lambda level: (-_normal(level) * error, _normal(level) * error), points.n, "rows", "rows")
    return replace(apart(points, noise), covers=f"{points.covers}, and the rows of the test split")


def ratio_of_means(first: Iterable[float], second: Iterable[float], over: str, covers: str = "") -> Estimate:
    """The mean of one value of each unit over the mean of another, with Fieller's interval: from -inf to inf where the
    second mean may be 0, so that the ratio can be anything.

    >>> found = ratio_of_means([1.0, 2.0, 3.0, 2.0], [4.0, 4.1, 3.9, 4.0], "tables")
    >>> found.effect, [round(float(end), 2) for end in found.interval(0.95)]
    (0.5, [0.17, 0.84])
    """
    pairs = np.column_stack([list(first), list(second)]).astype(float)
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    n = len(pairs)
    if not n:
        return missing(over)
    a, b = pairs.mean(axis=0)
    (aa, ab), (_, bb) = np.cov(pairs.T, ddof=1) / n if n > 1 else np.full((2, 2), nan)

    def interval(level: float) -> tuple[float, float]:
        if n < 2:
            return nan, nan
        t = _quantile(n - 1, level) ** 2
        width, middle, ends = b * b - t * bb, a * b - t * ab, a * a - t * aa
        if width <= 0:
            return -inf, inf
        root = sqrt(max(middle**2 - width * ends, 0.0))
        return float((middle - root) / width), float((middle + root) / width)

    return Estimate(float(a / b) if b else nan, interval, n, over, covers or over)


def envelope(readings: Sequence[Estimate]) -> Estimate:
    """The first of several, with an interval around those of all: which of them is meant is not known."""

    def interval(level: float) -> tuple[float, float]:
        ends = [one.interval(level) for one in readings]
        return min(low for low, _ in ends), max(high for _, high in ends)

    return replace(readings[0], interval=interval)


def compare(
    groups: Mapping[K, Iterable[float]], pairs: Mapping[str, tuple[K, K]], covers: str = "seeds"
) -> dict[str, Estimate]:
    """Differences of means, first minus second, by case; one interval each.

    groups: independent values (seeds,), by any key. pairs: by case, the keys of two groups. Where a group has fewer
    than `FEW` values, the variance is pooled over all groups of the pairs, unless Bartlett's test says that it
    differs; else Welch's t is taken.

    >>> groups = {"a": [3.0, 4.0, 5.0], "b": [0.0, 1.0, 2.0], "c": [1.0, 2.0, 3.0]}
    >>> found = compare(groups, {"a - b": ("a", "b"), "c - b": ("c", "b")})
    >>> [round(end, 3) for end in found["a - b"].interval(0.95)]  # t of 6 degrees of freedom, √(2/3)
    [1.002, 4.998]
    """
    known = {key: finite(groups[key]) for pair in pairs.values() for key in pair}
    shared = pooled(known.values()) if is_pooled(list(known.values())) else (nan, 0)
    covers += _pooling(len(known)) if shared[1] and len(known) > 2 else ""
    return {case: _difference(known[a], known[b], shared, covers) for case, (a, b) in pairs.items()}


def is_pooled(groups: Sequence[np.ndarray]) -> bool:
    """Whether `compare` takes one variance for all of these groups of finite values.

    >>> is_pooled([np.array([1.0, 2.0]), np.array([2.0, 3.0])]), is_pooled([np.arange(6.0), np.arange(6.0)])
    (True, False)
    """
    return min(map(len, groups), default=0) < FEW and is_alike(groups)


def pooled_means(groups: Mapping[K, Iterable[float]], covers: str = "seeds") -> dict[K, Estimate]:
    """The mean of each group, by a variance pooled over all (one of their own where Bartlett's test says that they
    differ)."""
    known = {case: finite(values) for case, values in groups.items()}
    error, df = pooled(known.values())
    if not is_alike(list(known.values())):
        return {case: mean(values, covers=covers) for case, values in known.items()}
    covers += _pooling(len(known)) if df and len(known) > 1 else ""
    return {
        case: _student(float(values.mean()), error / sqrt(len(values)), df, len(values), "seeds", covers)
        if len(values)
        else missing()
        for case, values in known.items()
    }


def nested(searches: Sequence[Iterable[float]], base: Iterable[float] | None = None) -> Estimate:
    """Seeds within searches, minus a `base` that is not searched for.

    searches: for each search the values of its seeds. The unit is the search: Student's interval of the searches'
    means, which differ by seeds, too. (Resampling searches and seeds is narrower than it should be for a handful of
    searches.) Of one search, the interval covers seeds alone, and says so.

    >>> nested([[1.0, 2.0], [3.0, 4.0]]).covers, nested([[1.0, 2.0]]).covers
    ('searches and seeds', 'seeds, of one search')
    """
    known = [values for values in map(finite, searches) if len(values)]
    if not known:
        return missing("searches")
    several = len(known) > 1
    units = np.array([values.mean() for values in known]) if several else known[0]
    covers = "searches and seeds" if several else "seeds, of one search"
    over = "searches" if several else "seeds"
    if base is None:
        return mean(units, over, covers)
    return replace(_difference(units, finite(base), (nan, 0), covers), n=len(units), over=over)


def crossed(matrix: np.ndarray, over: str, covers: str) -> Estimate:
    """The mean of a matrix (functions × tasks, NaN where a cell is left out) whose rows and columns both are samples.

    The variances of the means of rows and of columns are added, and that of the cells' noise, which is in both of them,
    is taken off once: what row and column leave of a cell. Degrees of freedom: those of the shorter side.

    >>> found = crossed(np.add.outer([0.0, 1.0, 2.0], [0.0, 0.5, 1.0]), "tasks", "functions and tasks")
    >>> found.effect, [round(end, 3) for end in found.interval(0.95)]  # no noise: both variances, 1/3 and 1/12
    (1.5, [-1.277, 4.277])
    """
    known = np.isfinite(matrix)
    matrix = matrix[known.any(axis=1)][:, known.any(axis=0)]
    if not matrix.size:
        return missing(over)
    sides = [np.nanmean(matrix, axis=axis) for axis in (0, 1)]
    shorter = min(map(len, sides))
    error = nan
    if shorter > 1:
        parts = [float(np.var(side, ddof=1)) / len(side) for side in sides]
        residual = matrix - sides[1][:, None] - sides[0] + np.nanmean(matrix)
        cells = int(np.isfinite(matrix).sum())
        left = cells - sum(matrix.shape) + 1  # degrees of freedom
        noise = float(np.nansum(residual**2)) / left / cells if left > 0 else 0.0
        error = sqrt(max(sum(parts) - noise, *parts))  # a side's own share is known; taking off more is chance
    return _student(float(np.nanmean(matrix)), error, shorter - 1, shorter, over, covers)


def spread_ratio(first: Sequence[Iterable[float]], second: Sequence[Iterable[float]]) -> Estimate:
    """Standard deviation within the groups of `first` over that within the groups of `second`, with the interval of the
    F distribution (normal values)."""
    (a, df_a), (b, df_b) = (pooled([finite(group) for group in side]) for side in (first, second))
    n = df_a + len(first)
    if not (df_a and df_b and a > 0 and b > 0):
        return replace(missing(), n=n)

    def end(level: float) -> float:
        return a / b / sqrt(fdtri(df_a, df_b, 0.5 + level / 2))

    return Estimate(a / b, lambda level: (end(level), end(-level)), n, "seeds", "seeds")


def finite(values: Iterable[float]) -> np.ndarray:
    """The finite ones, (values,); equal accuracies differ by 0, not by rounding."""
    known = np.asarray(list(values), float)
    return known[np.isfinite(known)].round(9)


def power(values: Iterable[float]) -> float:
    """The power of ten by which very small or large values are multiplied before `finite` rounds them; 1 for others.

    >>> power([3.31, 3.28]), power([2e-9, 1e-9]), power([1e8, 0.1])
    (1.0, 10000000000000.0, 0.0001)
    """
    sizes = np.abs(np.asarray(list(values), float))
    largest = float(sizes.max(initial=0, where=np.isfinite(sizes)))
    if not largest or ORDINARY[0] <= largest <= ORDINARY[1]:
        return 1.0
    return float(f"1e{SIZE - max(floor(log10(largest)), -300)}")


def _student(effect: float, error: float, df: float, n: int, over: str, covers: str) -> Estimate:
    def interval(level: float) -> tuple[float, float]:
        half = _quantile(df, level) * error if df > 0 else nan
        return effect - half, effect + half

    return Estimate(effect, interval, n, over, covers)


def _quantile(df: float, level: float) -> float:
    return float(stdtrit(df, 0.5 + level / 2))


def _normal(level: float) -> float:
    return float(ndtri(0.5 + level / 2))


def _difference(a: np.ndarray, b: np.ndarray, shared: tuple[float, float], covers: str) -> Estimate:
    """Welch's where no variance is shared: (standard deviation, degrees of freedom)."""
    n = min(len(a), len(b))
    if not n:
        return missing()
    spread, df = shared
    if df:
        error = spread * sqrt(1 / len(a) + 1 / len(b))
    elif n < 2:
        error = nan
    else:
        parts = [float(np.var(side, ddof=1)) / len(side) for side in (a, b)]
        squares = parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1)
        error, df = sqrt(sum(parts)), sum(parts) ** 2 / squares if squares else 1.0
    return _student(float(a.mean() - b.mean()), error, df, n, "seeds", covers)


def _pooling(groups: int) -> str:
    return f", by a variance pooled over {groups} groups"


def pooled(groups: Iterable[np.ndarray]) -> tuple[float, int]:
    """Standard deviation within groups, and its degrees of freedom."""
    several = [values for values in groups if len(values) > 1]
    df = sum(len(values) - 1 for values in several)
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in several)
    return (sqrt(squares / df), df) if df else (nan, 0)


def is_alike(groups: Sequence[np.ndarray]) -> bool:
    """Whether nothing is known against equal variances (Bartlett's test)."""
    several = [values for values in groups if len(values) > 1]
    if len(several) < 2:
        return True
    if any(np.ptp(values) == 0 for values in several):
        return all(np.ptp(values) == 0 for values in several)
    free = np.array([len(values) - 1 for values in several])
    variances = np.array([values.var(ddof=1) for values in several])
    pooled = (free * variances).sum() / free.sum()
    statistic = free.sum() * np.log(pooled) - (free * np.log(variances)).sum()
    statistic /= 1 + ((1 / free).sum() - 1 / free.sum()) / (3 * (len(several) - 1))
    return bool(chdtrc(len(several) - 1, statistic) >= UNEQUAL)


def rank_correlation(x: Iterable[float], y: Iterable[float], over: str) -> Estimate:
    """Spearman's, with the interval of its Fisher transform (variance by Bonett and Wright, 2000).

    x, y: (units,). No interval for fewer than `LEAST` units.
    """
    first, second = (pd.Series(list(side), dtype=float).rank().to_numpy() for side in (x, y))
    return _correlation(first, second, over, spearman=True)


def correlation(x: Iterable[float], y: Iterable[float], over: str, ddof: int = 0) -> Estimate:
    """Pearson's, with the interval of its Fisher transform. ddof: degrees of freedom that were taken out of x and y
    before, not counting their means: of groups whose means were subtracted, their number less one."""
    return _correlation(np.asarray(list(x), float), np.asarray(list(y), float), over, spearman=False, ddof=ddof)


def apart(first: Estimate, second: Estimate) -> Estimate:
    """The difference of two independent estimates with intervals that are not symmetric, such as correlations (the
    method of variance estimates recovery: Zou, 2007)."""

    def interval(level: float) -> tuple[float, float]:
        (a, b), (c, d) = first.interval(level), second.interval(level)
        below = sqrt((first.effect - a) ** 2 + (d - second.effect) ** 2)
        above = sqrt((b - first.effect) ** 2 + (second.effect - c) ** 2)
        return first.effect - second.effect - below, first.effect - second.effect + above

    return replace(first, effect=first.effect - second.effect, interval=interval, n=min(first.n, second.n))


def _correlation(x: np.ndarray, y: np.ndarray, over: str, spearman: bool, ddof: int = 0) -> Estimate:
    n = len(x)
    if n < 3 or not (np.ptp(x) and np.ptp(y)):
        return replace(missing(over), n=n)
    r = float(np.corrcoef(x, y)[0, 1].clip(-1, 1))
    z = atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    error = sqrt((1 + spearman * r**2 / 2) / (n - 3 - ddof)) if n - ddof >= LEAST else nan

    def interval(level: float) -> tuple[float, float]:
        half = _normal(level) * error
        return tanh(z - half), tanh(z + half)

    return Estimate(r, interval, n, over, over)


def proportion(hits: int, n: int, over: str) -> Estimate:
    """A share, 0 to 1, with the exact interval of Clopper and Pearson."""
    if not n:
        return missing(over)

    def interval(level: float) -> tuple[float, float]:
        low = betaincinv(hits, n - hits + 1, (1 - level) / 2) if hits else 0.0
        high = betaincinv(hits + 1, n - hits, (1 + level) / 2) if hits < n else 1.0
        return float(low), float(high)

    return Estimate(hits / n, interval, n, over, over)


def count_ratio(a: int, b: int, size_a: int, size_b: int, over: str) -> Estimate:
    """The ratio of two rates of rare events, a of size_a to b of size_b, exact: given their sum, `a` is binomial.

    >>> found = count_ratio(10, 1, 4096, 4096, "problems")
    >>> round(found.effect, 2), [round(end, 2) for end in found.interval(0.95)]
    (10.0, [1.42, 433.98])
    """

    def odds(share: float) -> float:
        return inf if share == 1 else share / (1 - share) * size_b / size_a

    share = proportion(a, a + b, over).mapped(odds)
    return replace(share, n=min(size_a, size_b))
