"""What the simplicity paper claims of the functions that are learned for image sets (Section 3.1, Fig. 16).

A search moves knots by steps of a fixed length, which leaves noise of single knots: the smaller a function is, the more
irregular it looks. So what goes up and down more has to do so smoothed, too, and not over its own range alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, on_every_reading
from lab.papers.simplicity.images.functions import r_squared, relative_variation
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_RELU, FROM_ZERO, REGRESSION
from lab.plots.functions import gelu

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

NEAR_RELU = 0.99  # share of a function's variance that ReLU explains, above which the search has not left it
SMOOTHED = {"as they are": 1, "over 3 knots": 3, "over 5 knots": 5}
ONE_FUNCTION = ["set", "restart", "mode"]
_COVERS = "restarts of a search, and sets"


def smooth(y: np.ndarray, knots: int) -> np.ndarray:
    """Means over so many knots, an odd number; the function goes on beyond its ends as it does in a network, constant.

    >>> smooth(np.array([0.0, 3.0, 0.0, 0.0]), 3).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    return np.convolve(np.pad(y, knots // 2, mode="edge"), np.ones(knots) / knots, "valid")


def _by_function(functions: pd.DataFrame, method: str, measure: Callable[[np.ndarray, np.ndarray], float]) -> pd.Series:
    """A number of each function of a method, from its knots and values; the mean of its layers."""
    rows = functions[functions["method"] == method].sort_values("x")
    numbers = rows.groupby([*ONE_FUNCTION, "layer"], sort=False)[["x", "value"]].apply(
        lambda one: measure(one["x"].to_numpy(float), one["value"].to_numpy(float))
    )
    return numbers.groupby(ONE_FUNCTION, sort=False).mean()


def turns(functions: pd.DataFrame, method: str, knots: int) -> pd.DataFrame:
    """How far each function goes up and down, in multiples of its range, smoothed over knots: (set, restart) × mode."""
    return _modes(_by_function(functions, method, lambda x, y: relative_variation(smooth(y, knots))))


def detours(functions: pd.DataFrame, method: str) -> pd.DataFrame:
    """How far each function goes up and down beyond its range, as it is, in multiples of the mean range of a restart's
    two functions: (set, restart) × mode."""
    ranges = _modes(_by_function(functions, method, lambda x, y: float(np.ptp(y))))
    ways = _modes(_by_function(functions, method, lambda x, y: float(np.abs(np.diff(y)).sum())))
    return (ways - ranges).div(ranges.mean(axis=1), axis=0)


def _modes(numbers: pd.Series) -> pd.DataFrame:
    return numbers.unstack("mode").reindex(columns=[CLASSIFICATION, REGRESSION])


def _more_irregular(method: str) -> Callable[[pd.DataFrame], Verdict]:
    """Ups and downs of functions learned for regression less those for classification; a restart of a set makes a
    pair, whose functions have nothing in common but the set."""

    def measure(functions: pd.DataFrame) -> Verdict:
        pairs = {name: turns(functions, method, knots) for name, knots in SMOOTHED.items()}
        pairs["over the range of both"] = detours(functions, method)
        gaps = {name: one[REGRESSION] - one[CLASSIFICATION] for name, one in pairs.items()}
        return on_every_reading(
            {name: Verdict(estimates.mean(one, "functions", _COVERS), above=0.0) for name, one in gaps.items()}
        )

    return measure


def left_relu(functions: pd.DataFrame, scale: str) -> str:
    """Some function learned from ReLU for regression is no longer it: where a search never moved, it found nothing."""
    like = _by_function(functions, FROM_RELU, lambda x, y: r_squared(y, x.clip(0)))
    still = like.xs(REGRESSION, level="mode") > NEAR_RELU
    return f"none of {len(still)} functions left ReLU (R² above {NEAR_RELU})" if len(still) and still.all() else ""


def share_of_gelu(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """How far a function has gone from ReLU to GELU, in least squares with weights of the knots: a·ReLU + b·(GELU -
    ReLU) + c has b / a, 0 for ReLU and 1 for GELU, whatever its scale.

    >>> x = np.linspace(-5, 5, 51)
    >>> round(share_of_gelu(x, 3 * gelu(x) + 1, np.ones(51)), 6)
    1.0
    """
    relu = x.clip(0)
    terms = np.column_stack([relu, gelu(x) - relu, np.ones_like(x)]) * np.sqrt(weights)[:, None]
    if not (np.isfinite(y).all() and np.isfinite(weights).all() and weights.any()):
        return float("nan")
    a, b, _ = np.linalg.lstsq(terms, y * np.sqrt(weights), rcond=None)[0]
    return float(b / a) if a else float("nan")


def _like_gelu(functions: pd.DataFrame) -> Verdict:
    """Nearer to GELU than to ReLU, of functions learned from ReLU for classification: at the inputs that the chosen one
    of a set receives, and at all knots alike."""
    rows = functions[(functions["mode"] == CLASSIFICATION) & (functions["method"] == FROM_RELU)].sort_values("x")
    chosen = rows[rows["chosen"].astype(bool)]
    inputs = {name: one["density"].to_numpy(float) for name, one in chosen.groupby("set")}
    shares: dict[str, list[float]] = {"at the inputs": [], "at all knots": []}
    for (name, _), one in rows.groupby(["set", "restart"], sort=False):
        x, y = one["x"].to_numpy(float), one["value"].to_numpy(float)
        shares["at the inputs"].append(share_of_gelu(x, y, inputs.get(name, np.full(len(x), np.nan))))
        shares["at all knots"].append(share_of_gelu(x, y, np.ones_like(x)))
    readings = {name: Verdict(estimates.mean(each, "functions", _COVERS), above=0.5) for name, each in shares.items()}
    return on_every_reading(readings)


def _wavelet(functions: pd.DataFrame) -> Verdict:
    """Ups and downs of functions learned from zero for classification; a monotone one has 1."""
    readings = {}
    for name, knots in SMOOTHED.items():
        ups = turns(functions, FROM_ZERO, knots)[CLASSIFICATION]
        readings[name] = Verdict(estimates.mean(ups, "functions", _COVERS), above=2.0)
    return on_every_reading(readings)


FIG16 = (
    Claim(
        "irregular",
        "Functions for regression have more irregularities (learned from zeros)",
        _more_irregular(FROM_ZERO),
        decides="a search whose steps get smaller, so that knots have no noise of their own",
        hours=1.0,
        of_functions=True,
    ),
    Claim(
        "irregular-relu",
        "Functions for regression have more irregularities (learned from a ReLU)",
        _more_irregular(FROM_RELU),
        left_relu,
        "searches of 400 episodes at rates above .2, where more functions leave ReLU",
        1.0,
        of_functions=True,
    ),
    Claim(
        "gelu",
        "For classification, the activation learned from a ReLU resembles GELU (more than ReLU)",
        _like_gelu,
        decides="three searches a set: MNIST's functions are like GELU where inputs are, Fashion-MNIST's are not",
        hours=1.0,
        of_functions=True,
    ),
    Claim(
        "wavelets",
        "For classification, functions learned from zeros rise and fall, as wavelets do",
        _wavelet,
        decides="three searches a set",
        hours=1.0,
        of_functions=True,
    ),
)
