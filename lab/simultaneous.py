"""Several groups against one, with intervals that hold for all of them together, and p-values of any interval."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import nan, sqrt
from typing import TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr, ndtri, stdtrit

from lab.estimates import Estimate, compare, finite, is_alike, missing, pooled

K = TypeVar("K", bound=Hashable)
POINTS = 64  # of a quadrature in each direction: 12 digits
Z, Z_WEIGHTS = np.polynomial.hermite_e.hermegauss(POINTS)
POWER = 0.8  # of the seeds that a row is said to need


@dataclass(frozen=True)
class Together(Estimate):
    """One of several effects whose intervals hold together. p: of an effect of 0, for all of them together."""

    p: float = nan


def p_value(estimate: Estimate) -> float:
    """Two-sided p-value of an effect of 0: 1 minus the level at which an interval reaches it; NaN where there is none.

    >>> from lab.estimates import mean
    >>> round(p_value(mean([1.0, 2.0, 3.0])), 10)  # scipy.stats.ttest_1samp([1, 2, 3], 0)
    0.0741799002
    """
    if isinstance(estimate, Together):
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
    nodes, weights = np.polynomial.legendre.leggauss(2 * POINTS)
    low = max(1e-9, middle - half)
    s = low + (middle + half - low) * (nodes + 1) / 2
    log_density = (1 - df / 2) * np.log(2) + df / 2 * np.log(df) - gammaln(df / 2)
    density = np.exp(log_density + (df - 1) * np.log(s) - df * s**2 / 2)
    root, rest = np.sqrt(shares), np.sqrt(1 - np.array(shares))
    z, c = Z[:, None, None] * root, limit * s[:, None]
    inside = (ndtr((z + c) / rest) - ndtr((z - c) / rest)).prod(-1)  # (z, s)
    return float((Z_WEIGHTS / sqrt(2 * np.pi)) @ inside @ (weights * density) * (middle + half - low) / 2)


@lru_cache(maxsize=64)
def dunnett_quantile(level: float, shares: tuple[float, ...], df: float) -> float:
    """The limit within which all |t| are with probability `level`. shares, df: as in `all_within`.

    >>> round(dunnett_quantile(0.95, (0.5, 0.5, 0.5), 20), 2)  # Dunnett's table
    2.54
    """
    single = float(stdtrit(df, 0.5 + level / 2))
    if len(shares) == 1:
        return single
    together = float(stdtrit(df, 0.5 + (1 - (1 - level) / len(shares)) / 2))
    return brentq(lambda limit: all_within(limit, shares, df) - level, single, together, xtol=1e-12)


def against(groups: Mapping[K, Iterable[float]], control: K, covers: str = "seeds") -> dict[K, Estimate]:
    """How far the mean of each group is above the control's, with intervals that hold together.

    groups: independent values (seeds,), by any key. Where nothing is known against equal variances (Bartlett's test),
    Dunnett's intervals, by a variance pooled over all groups; else Welch's t, or with few runs a pooled one, each wide
    enough for the number of groups (Bonferroni). What is made how is said in `covers`.

    >>> found = against({"a": [3.0, 4.0, 5.0], "b": [0.0, 1.0, 2.0], "c": [1.0, 2.0, 3.0]}, "b")
    >>> [round(end, 2) for end in found["a"].interval(0.95)], found["a"].covers
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

            p = 1 - all_within(abs(effect) / error, shares, df) if error else nan
            return Together(effect, interval, min(n, sizes[0]), "seeds", f"{said} (Dunnett)", max(p, 0.0))

        return {key: estimate(key) for key in others}
    pairs = {str(number): (key, control) for number, key in enumerate(others)}
    alone = compare(known, pairs, covers)
    return {key: at_once(alone[number], len(others), covers) for number, (key, _) in pairs.items()}


def at_once(estimate: Estimate, number: int, covers: str = "") -> Estimate:
    """The same with an interval wide enough for a number of comparisons (Bonferroni)."""
    said = f"{covers or estimate.covers}, {number} comparisons together (Bonferroni)"
    p = min(1.0, number * p_value(estimate))
    wide = Together(estimate.effect, estimate.interval, estimate.n, estimate.over, said, p)
    return replace(wide, interval=lambda level: estimate.interval(1 - (1 - level) / number))


def seeds_needed(estimate: Estimate, level: float = 0.95) -> int | None:
    """About how many seeds on each side let the interval leave 0 out four times in five, if effect and spread are what
    they look like; None where it does already, or where that cannot be told: an effect of 0, or no interval.

    >>> from lab.estimates import compare
    >>> found = compare({"a": [1.0, 2.0, 3.0], "b": [0.5, 1.5, 2.5]}, {"": ("a", "b")})[""]
    >>> seeds_needed(found)
    127
    """
    low, high = estimate.interval(level)
    half = (high - low) / 2
    if not np.isfinite(half) or half == 0 or low > 0 or high < 0 or round(estimate.effect, 9) == 0:
        return None
    wider = 1 + ndtri(POWER) / ndtri(0.5 + level / 2)  # than what the interval itself needs
    return max(estimate.n + 1, int(np.ceil(estimate.n * (wider * half / estimate.effect) ** 2)))
