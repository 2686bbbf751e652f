"""Several groups against one, with intervals that hold for all of them together, and p-values of any interval."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, isnan, nan, pi, sqrt
from typing import TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, nctdtr, ndtr, ndtri, stdtr, stdtrit

from lab.estimates import Estimate, compare, finite, is_alike, missing, pooled

K = TypeVar("K", bound=Hashable)
DUNNETT, BONFERRONI = "Dunnett", "Bonferroni"
POINTS = 128  # of a quadrature over the standard deviation: 12 digits
TAIL, MOST_POINTS = 8.5, 1 << 14  # standard deviations, and points of a quadrature over the control's mean
UNITS = ("seeds", "searches")  # of which there can be more
POWER = 0.8  # of the seeds that a row is said to need
MANY = 10_000  # degrees of freedom, from which on t is taken as normal


@dataclass(frozen=True)
class Simultaneous(Estimate):
    """One of several effects whose intervals hold together.

    p: of an effect of 0, for all of them together. method: Dunnett or Bonferroni. error, df: standard error of the
    effect, and its degrees of freedom.
    """

    p: float = nan
    method: str = ""
    error: float = nan
    df: float = nan

    def mapped(self, f: Callable[[float], float]) -> Estimate:
        """As of any estimate; the p-value is that of another 0, and is had from the interval."""
        return Estimate(self.effect, self.interval, self.n, self.over, self.covers).mapped(f)

    def erring(self, share: float) -> "Simultaneous":
        """The same with intervals that err with this share of the probability alone (Bonferroni, for 1 / share)."""
        wide = replace(self, p=p_of_all(self.p, 1 / share))
        return replace(wide, interval=lambda level: self.interval(level_of_each(level, 1 / share)))


def level_of_each(level: float, number: float) -> float:
    """The level of each of several intervals with which all of them hold together at `level` (Bonferroni)."""
    return 1 - (1 - level) / number


def p_of_all(p: float, number: float) -> float:
    """A p-value for several comparisons together (Bonferroni); NaN stays."""
    return p if isnan(p) else min(1.0, number * p)


def p_value(estimate: Estimate) -> float:
    """Two-sided p-value of an effect of 0: 1 minus the level at which an interval reaches it; NaN where there is none.

    >>> from lab.estimates import mean
    >>> round(p_value(mean([1.0, 2.0, 3.0])), 10)  # scipy.stats.ttest_1samp([1, 2, 3], 0)
    0.0741799002
    """
    if isinstance(estimate, Simultaneous) and not isnan(estimate.p):
        return estimate.p
    low, high = estimate.interval(0.95)
    if not np.isfinite([low, high]).all() or low == high:
        return nan

    def beyond(level: float) -> float:
        low, high = estimate.interval(level)
        return low if estimate.effect > 0 else -high

    least, most = 1e-15, 1 - 1e-15
    if estimate.effect == 0 or beyond(least) <= 0:
        return 1.0
    return float(1 - brentq(beyond, least, most, xtol=1e-15, rtol=1e-14)) if beyond(most) < 0 else 0.0


def all_within(limit: float, shares: tuple[float, ...], df: float) -> float:
    """The probability that every |t| of groups against one control is at most `limit` (Dunnett, 1955).

    shares: n / (n + n of the control) of each group: of two, the correlation is the root of the product. df: degrees of
    freedom of the variance that all share.
    """
    # over s, the estimate of the standard deviation in multiples of its own: χ with df, over √df
    middle, half = 1.0, 9 / sqrt(2 * df)
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    low = max(1e-9, middle - half)
    s = low + (middle + half - low) * (nodes + 1) / 2
    log_density = (1 - df / 2) * np.log(2) + df / 2 * np.log(df) - gammaln(df / 2)
    density = np.exp(log_density + (df - 1) * np.log(s) - df * s**2 / 2)
    # over z, the control's mean, by equal steps: with `steepness`, how steep the product is where a group leaves the
    # limit, the error falls as exp(-(2π / step)² / 2 / steepness)
    steepness = 1 + sum(share / (1 - share) for share in shares)
    points = min(ceil(2 * TAIL * sqrt(60 * steepness) / (2 * pi)), MOST_POINTS) + 1
    z = np.linspace(-TAIL, TAIL, points)
    inside = np.ones((points, POINTS))  # (z, s)
    for share, number in Counter(shares).items():
        middles, c, rest = z[:, None] * sqrt(share), limit * s, sqrt(1 - share)
        inside *= (ndtr((middles + c) / rest) - ndtr((middles - c) / rest)) ** number
    z_weights = np.exp(-(z**2) / 2) / sqrt(2 * pi) * (z[1] - z[0])
    return float(z_weights @ inside @ (weights * density) * (middle + half - low) / 2)


@lru_cache(maxsize=64)
def dunnett_quantile(level: float, shares: tuple[float, ...], df: float) -> float:
    """The limit within which all |t| are with probability `level`. shares, df: as in `all_within`.

    >>> round(dunnett_quantile(0.95, (0.5, 0.5, 0.5), 20), 2)  # Dunnett's table
    2.54
    """
    single = float(stdtrit(df, 0.5 + level / 2))
    if len(shares) == 1:
        return single
    together = float(stdtrit(df, 0.5 + level_of_each(level, len(shares)) / 2))
    return brentq(lambda limit: all_within(limit, shares, df) - level, single, together, xtol=1e-12)


def against(groups: Mapping[K, Iterable[float]], control: K, covers: str = "seeds") -> dict[K, Estimate]:
    """How far the mean of each group is above the control's, with intervals that hold together.

    groups: independent values (seeds,), by any key. Where nothing is known against equal variances (Bartlett's test),
    Dunnett's intervals, by a variance pooled over all groups; else Welch's t, or with few runs a pooled one, each wide
    enough for the number of groups (Bonferroni). What is made how is said in `covers`.

    >>> effects = against({"a": [3.0, 4.0, 5.0], "b": [0.0, 1.0, 2.0], "c": [1.0, 2.0, 3.0]}, "b")
    >>> [round(end, 2) for end in effects["a"].interval(0.95)], effects["a"].covers
    ([0.66, 5.34], 'seeds, 2 comparisons together (Dunnett)')
    """
    known = {key: finite(values) for key, values in groups.items()}
    others = [key for key in known if key != control]
    measured = [key for key in others if len(known[key])]
    said = f"{covers}, {len(others)} comparisons together"
    sizes = [len(known[key]) for key in (control, *measured)]
    spread, df = pooled([known[key] for key in (control, *measured)])
    if sizes[0] and measured and df and is_alike([known[key] for key in (control, *measured)]):
        shares = tuple(size / (size + sizes[0]) for size in sizes[1:])

        def estimate(key: K) -> Estimate:
            if key not in measured:
                return missing()
            n = len(known[key])
            effect, error = float(known[key].mean() - known[control].mean()), spread * sqrt(1 / n + 1 / sizes[0])

            def interval(level: float) -> tuple[float, float]:
                half = dunnett_quantile(level, shares, df) * error
                return effect - half, effect + half

            p = max(1 - all_within(abs(effect) / error, shares, df), 0.0) if error else nan
            covered, least = f"{said} ({DUNNETT})", min(n, sizes[0])
            return Simultaneous(effect, interval, least, "seeds", covered, p, DUNNETT, error, df)

        return {key: estimate(key) for key in others}
    pairs = {str(number): (key, control) for number, key in enumerate(others)}
    alone = compare(known, pairs, covers)
    return {key: at_once(alone[number], len(others), covers) for number, (key, _) in pairs.items()}


def at_once(estimate: Estimate, number: int, covers: str = "") -> Simultaneous:
    """The same, which has Student's interval, with one wide enough for a number of comparisons (Bonferroni)."""
    said = f"{covers or estimate.covers}, {number} comparisons together ({BONFERRONI})"
    alone = (estimate.effect, estimate.interval, estimate.n, estimate.over, said, p_value(estimate), BONFERRONI)
    return Simultaneous(*alone, *_error_and_df(estimate)).erring(1 / number)


def _error_and_df(estimate: Estimate) -> tuple[float, float]:
    """Standard error and degrees of freedom of an estimate with Student's interval, from its widths at two levels."""

    def half(level: float) -> float:
        low, high = estimate.interval(level)
        return (high - low) / 2

    def ratio(df: float) -> float:
        return float(stdtrit(df, 0.995) / stdtrit(df, 0.75))

    if not np.isfinite(half(0.99)) or half(0.5) == 0:
        return nan, nan
    width, least, most = half(0.99) / half(0.5), 0.5, 1e6
    if ratio(most) < width < ratio(least):
        df = brentq(lambda df: ratio(df) - width, least, most)
    else:
        df = most if width <= ratio(most) else least
    return half(0.5) / float(stdtrit(df, 0.75)), df


def units_needed(estimate: Estimate, level: float = 0.95) -> int | None:
    """About how many seeds on each side, or searches, let the interval leave 0 out four times in five, if effect and
    spread are what they look like; None where it does already, or where that is unknown: an effect of 0, no interval.
    Other units, such as tasks, are not drawn anew: None.

    By the noncentral t at the degrees of freedom that so many seeds have, as a power analysis does it.

    >>> from lab.estimates import compare
    >>> effect = compare({"a": [1.0, 2.0, 3.0], "b": [0.5, 1.5, 2.5]}, {"": ("a", "b")})[""]
    >>> units_needed(effect)
    64
    """
    low, high = estimate.interval(level)
    half = (high - low) / 2
    if not np.isfinite(half) or half == 0 or low > 0 or high < 0 or round(estimate.effect, 9) == 0:
        return None
    known = (estimate.error, estimate.df) if isinstance(estimate, Simultaneous) else (nan, nan)
    error, df = _error_and_df(estimate) if isnan(known[0]) else known
    if estimate.over not in UNITS or isnan(error):
        return None
    n, signal = estimate.n, abs(estimate.effect) / error  # of n seeds, in standard errors
    outside = float(stdtr(df, -half / error))  # on each side, of one comparison alone

    def freedom(seeds: float) -> float:
        return df * (seeds - 1) / (n - 1) if n > 1 else df * seeds

    def is_enough(seeds: int) -> bool:
        limit, far = -float(stdtrit(freedom(seeds), outside)), signal * sqrt(seeds / n)
        return 1 - nctdtr(freedom(seeds), far, limit) >= POWER

    most = max(n + 1, ceil(n * ((ndtri(POWER) - ndtri(outside)) / signal) ** 2))  # of a normal distribution
    if freedom(most) > MANY:
        return most
    least = n
    while not is_enough(most) and freedom(most) < MANY:
        least, most = most, 2 * most
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if is_enough(middle) else (middle, most)
    return most
