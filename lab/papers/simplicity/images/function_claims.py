"""What the simplicity paper claims of the functions that are learned for image sets (Section 3.1, Fig. 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_RELU, FROM_ZERO, REGRESSION

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

NEAR_RELU = 0.99  # share of a function's variance that ReLU explains, above which the search has not left it


def _known(table: pd.DataFrame, method: str) -> pd.DataFrame:
    return table[(table["method"] == method) & table["accuracy"].notna()]


def _more_irregular(method: str) -> Callable[[pd.DataFrame], Verdict]:
    """Ups and downs of functions learned for regression less those for classification; a restart of a set makes a
    pair, whose functions have nothing in common but the set."""

    def measure(table: pd.DataFrame) -> Verdict:
        means = _known(table, method).groupby(["set", "restart", "mode"], sort=False)["turns"].mean().unstack("mode")
        pairs = means.reindex(columns=[CLASSIFICATION, REGRESSION])
        gaps = pairs[REGRESSION] - pairs[CLASSIFICATION]
        return Verdict(estimates.mean(gaps, "functions", "restarts of a search, and sets"), above=0.0)

    return measure


def left_relu(table: pd.DataFrame, scale: str) -> str:
    """Functions learned from ReLU for regression that are no longer it."""
    rows = _known(table[table["mode"] == REGRESSION], FROM_RELU)
    still = rows["relu"] > NEAR_RELU
    return f"{still.sum()} of {len(rows)} functions did not leave ReLU (R² above {NEAR_RELU})" if still.any() else ""


def can_tell_gelu(table: pd.DataFrame, scale: str) -> str:
    """Functions nearer to ReLU or GELU than these two are to each other."""
    rows = _known(table[table["mode"] == CLASSIFICATION], FROM_RELU)
    rest, apart_by = float((1 - rows[["gelu", "relu"]].max(axis=1)).mean()), relu_without_gelu()
    words = f"ReLU and GELU differ by {apart_by:.4f} of their variance, the functions from either by {rest:.4f}"
    return words if rest > apart_by else ""


def relu_without_gelu() -> float:
    """Share of ReLU's variance on the knots' range [-5, 5] that GELU does not explain.

    >>> round(relu_without_gelu(), 4)
    0.0012
    """
    from scipy.special import ndtr

    x = np.linspace(-5, 5, 51)
    return float(1 - np.corrcoef(np.maximum(x, 0), x * ndtr(x))[0, 1] ** 2)


def _like_gelu(table: pd.DataFrame) -> Verdict:
    """Share of variance that GELU explains less that of ReLU, of functions learned from ReLU for classification."""
    rows = _known(table[table["mode"] == CLASSIFICATION], FROM_RELU)
    gaps = estimates.mean(rows["gelu"] - rows["relu"], "functions", "restarts of a search, and sets")
    return Verdict(gaps, above=0.0)


def _wavelet(table: pd.DataFrame) -> Verdict:
    """Ups and downs of functions learned from zero for classification; a monotone one has 1."""
    rows = _known(table[table["mode"] == CLASSIFICATION], FROM_ZERO)
    return Verdict(estimates.mean(rows["turns"], "functions", "restarts of a search, and sets"), above=2.0)


FIG16 = (
    Claim(
        "irregular",
        "Functions for regression have more irregularities (learned from zeros)",
        _more_irregular(FROM_ZERO),
    ),
    Claim(
        "irregular-relu",
        "Functions for regression have more irregularities (learned from a ReLU)",
        _more_irregular(FROM_RELU),
        left_relu,
        "searches of 400 episodes at rates above .2, where more functions leave ReLU",
        1.0,
    ),
    Claim(
        "gelu",
        "For classification, the activation learned from a ReLU resembles GELU (more than ReLU)",
        _like_gelu,
        can_tell_gelu,
        "searches whose functions are as near to GELU as ReLU is: more episodes, fewer knots",
        1.0,
    ),
    Claim("wavelets", "For classification, functions learned from zeros rise and fall, as wavelets do", _wavelet),
)
