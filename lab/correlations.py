"""Correlations of two measures over units, with intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import atanh, nan, sqrt, tanh

import numpy as np

from lab.estimates import Estimate, missing

LEAST = 5  # units, below which there is no interval


def rank_correlation(x: Iterable[float], y: Iterable[float], over: str) -> Estimate:
    """Spearman's, with the interval of its Fisher transform (variance by Bonett and Wright, 2000).

    x, y: (units,). No interval for fewer than `LEAST` units.
    """
    first, second = _ranks(x, y)
    return _correlation(first, second, over, spearman=True)


def correlation(x: Iterable[float], y: Iterable[float], over: str) -> Estimate:
    """Pearson's, with the interval of its Fisher transform."""
    return _correlation(np.asarray(list(x), float), np.asarray(list(y), float), over, spearman=False)


def apart(first: Estimate, second: Estimate) -> Estimate:
    """The difference of two independent estimates with intervals that are not symmetric, such as correlations (the
    method of variance estimates recovery: Zou, 2007)."""

    def interval(level: float) -> tuple[float, float]:
        (a, b), (c, d) = first.interval(level), second.interval(level)
        below = sqrt((first.effect - a) ** 2 + (d - second.effect) ** 2)
        above = sqrt((b - first.effect) ** 2 + (second.effect - c) ** 2)
        return first.effect - second.effect - below, first.effect - second.effect + above

    return replace(first, effect=first.effect - second.effect, interval=interval, n=min(first.n, second.n))


def _ranks(*sides: Iterable[float]) -> list[np.ndarray]:
    import pandas as pd

    return [pd.Series(list(side), dtype=float).rank().to_numpy() for side in sides]


def _correlation(x: np.ndarray, y: np.ndarray, over: str, spearman: bool) -> Estimate:
    n = len(x)
    if n < 3 or not (np.ptp(x) and np.ptp(y)):
        return replace(missing(over), n=n)
    r = float(np.corrcoef(x, y)[0, 1].clip(-1, 1))
    z = atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    error = sqrt((1 + spearman * r**2 / 2) / (n - 3)) if n >= LEAST else nan

    def interval(level: float) -> tuple[float, float]:
        from scipy.special import ndtri

        half = float(ndtri(0.5 + level / 2)) * error
        return tanh(z - half), tanh(z + half)

    return Estimate(r, interval, n, over, over)
