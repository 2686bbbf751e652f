"""Shares of a count, and ratios of two counts, with exact intervals."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from lab.estimates import Estimate, missing


def proportion(hits: int, n: int, over: str) -> Estimate:
    """A share, 0 to 1, with the exact interval of Clopper and Pearson."""
    from scipy.special import betaincinv

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
