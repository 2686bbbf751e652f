"""What captions of Figures 2 and 17 of the simplicity paper say of accuracies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.images.claims import retained
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_ZERO, METHODS, REGRESSION, RELU, TITLES
from lab.statistics import over_seeds

if TYPE_CHECKING:
    import pandas as pd


def by_mode(table: pd.DataFrame) -> str:
    """Classification: from the worst to the best method; regression: ReLU, and learned from zero."""
    best, words = retained(table), []
    for mode, head in ((CLASSIFICATION, "all methods"), (REGRESSION, f"{RELU} and {FROM_ZERO}")):
        phrases = []
        for name, rows in best[best["mode"] == mode].groupby("set", sort=False):
            means = _means(rows)
            if mode == REGRESSION:
                phrases.append(f"{TITLES[name]} {_pm(means.get(RELU))} and {_pm(means.get(FROM_ZERO))}")
            elif means:
                low, high = (pick(mean for mean, _ in means.values()) for pick in (min, max))
                phrases.append(f"{TITLES[name]} {low:.1f} to {high:.1f}")
        words += [f"{mode}, {head}: {', '.join(phrases)}"] if phrases else []
    return f"Test accuracy in % ({'; '.join(words)})."


def best_depths(table: pd.DataFrame) -> str:
    """The number of hidden layers that is best on validation data, by method."""
    methods = [method for method in METHODS if (table["method"] == method).any()]
    words = []
    for (name, mode), rows in retained(table).groupby(["set", "mode"], sort=False):
        depths = rows.groupby("method")["layers"].first()
        words.append(f"{TITLES[name]}, {mode} {', '.join(str(depths.get(method, '–')) for method in methods)}")
    return f"Hidden layers that are best on validation data ({', '.join(methods)}): {'; '.join(words)}."


def all_accuracies(table: pd.DataFrame) -> str:
    """Of every method on every set, with the number of hidden layers."""
    words = []
    for (name, mode), rows in retained(table).groupby(["set", "mode"], sort=False):
        depths = rows.groupby("method")["layers"].first()
        each = [f"{method} {_pm(interval)} ({depths[method]})" for method, interval in _means(rows).items()]
        words.append(f"{TITLES[name]}, {mode}: {', '.join(each)}")
    return (
        f"Test accuracy in percent at the best number of hidden layers on validation data (in brackets):"
        f" {'; '.join(words)}."
    )


def _means(rows: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Mean and half width over seeds in percent, by method; runs that diverged are left out."""
    intervals = {}
    for method in METHODS:
        stats = over_seeds(rows[rows["method"] == method].assign(every=0), "every", "accuracy")
        if len(stats):
            mean, half = 100 * stats[["mean", "half"]].iloc[0]
            intervals[method] = mean, half
    return intervals


def _pm(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return "–"
    mean, half = interval
    return f"{mean:.1f}" + ("" if np.isnan(half) else f" ± {half:.1f}")
