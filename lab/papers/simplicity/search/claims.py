"""What the simplicity paper claims of its search (App. D)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.runs import POINTS, compare_one, gains, per_seed
from lab.papers.simplicity.grokking.settings import LEARNED, RELU

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from lab.estimates import Estimate

    Measure = Callable[[pd.DataFrame], Verdict]

NEAR = 1.0  # points within which two kinds of runs do equally well
SIMILAR = 2.0  # times, within which two standard deviations are "quite similar"
IDENTICAL = 0.9  # correlation of functions from which on they are "nearly identical"
NEAR_RELU = 0.99  # correlation with ReLU from which on a function has not left it
FEWEST = 4  # restarts that found a function of their own, for something to be said of them


def _gain(ours: str, base: str) -> Measure:
    """Of one kind of runs over another."""

    def measure(table: pd.DataFrame) -> Verdict:
        return Verdict(_difference(table, ours, base), above=0.0, unit=POINTS)

    return measure


def _as_good(one: str, other: str) -> Measure:
    def measure(table: pd.DataFrame) -> Verdict:
        return Verdict(_difference(table, one, other), above=-NEAR, below=NEAR, unit=POINTS)

    return measure


def _all_gain(table: pd.DataFrame) -> Verdict:
    """Every other kind of runs over ReLU."""
    if _several(table):
        pairs = [name for name in table["method"].unique() if name != RELU]
        return all_of(Verdict(_difference(table, name, RELU), above=0.0, unit=POINTS, case=name) for name in pairs)
    means = per_seed(table, "method")
    contrasts = {str(name): (name, RELU) for name in means.columns if name != RELU}
    return all_of(gains(means, contrasts, above=0.0, unit=POINTS))


def _several(table: pd.DataFrame) -> bool:
    """Whether functions come from several searches."""
    return "search" in table


def _difference(table: pd.DataFrame, ours: str, base: str) -> Estimate:
    """In mean accuracy. Where there are several searches, they are the unit, each the mean of its seeds."""
    if not _several(table):
        return compare_one(per_seed(table, "method"), ours, base)
    means = per_seed(table, ["method", "search"])
    first, second = ([means[name][number].to_numpy() for number in means[name]] for name in (ours, base))
    if base == RELU:
        return estimates.nested(first, second[0])
    of_searches = {name: [estimates.finite(one).mean() for one in side] for name, side in ((1, first), (2, second))}
    return replace(compare_one(of_searches, 1, 2, "searches and seeds"), over="searches")


def _restarts(table: pd.DataFrame) -> tuple[list[np.ndarray], np.ndarray]:
    """Accuracies in percent: of each restart its seeds, and of ReLU."""
    means = per_seed(table, ["method", "restart", *(["search"] if _several(table) else [])])
    learned = [means[kind].to_numpy() for kind in means if kind[0] == LEARNED]
    return learned, means.xs(RELU, axis=1, level="method").to_numpy().ravel()


def _average_gain(table: pd.DataFrame) -> Verdict:
    """The mean over restarts over ReLU. Restarts differ by design, in start and rate: where there are several searches,
    the mean over its restarts is one number of a search."""
    learned, relu = _restarts(table)
    if _several(table):
        rows = per_seed(table[table["method"] == LEARNED], ["search", "restart"])
        learned = [rows[number].to_numpy().ravel() for number in rows.columns.unique("search")]
    return Verdict(estimates.nested(learned, relu), above=0.0, unit=POINTS)


def _best_gain(table: pd.DataFrame) -> Verdict:
    """The restart that was chosen on `val` over ReLU."""
    rows = table[(table["method"] == RELU) | table["chosen"].astype(bool)]
    return _gain(LEARNED, RELU)(rows)


def _as_steady(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds with a learned function (pooled over restarts) over that with ReLU."""
    learned, relu = _restarts(table)
    return Verdict(estimates.spread_ratio(learned, [relu]), above=1 / SIMILAR, below=SIMILAR, unit="×")


def _curves(table: pd.DataFrame) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each restart that has both: knots of the linear function, its values, those of the cubic one there."""
    triples = []
    for _, rows in table.groupby("restart"):
        line, cubic = (rows[rows["method"] == kind] for kind in ("linear", "cubic"))
        if len(line) and len(cubic):
            x = line["x"].to_numpy()
            triples.append((x, line["value"].to_numpy(), np.interp(x, cubic["x"], cubic["value"])))
    return triples


def restart_correlations(table: pd.DataFrame) -> list[float]:
    """Correlation of the linear and the cubic function of each restart, over the knots of the former; NaN where one
    never left zero, and so is like no other."""
    return [_correlation(line, cubic) for _, line, cubic in _curves(table)]


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float("nan") if min(np.ptp(one), np.ptp(other)) == 0 else float(np.corrcoef(one, other)[0, 1])


def left_relu(table: pd.DataFrame) -> np.ndarray:
    """For each restart, whether both functions have left ReLU: two that stay there are alike, however they are made."""
    return np.array(
        [
            all(not _correlation(one, np.maximum(x, 0)) > NEAR_RELU for one in (line, cubic))
            for x, line, cubic in _curves(table)
        ]
    )


def functions_moved(table: pd.DataFrame, scale: str) -> str:
    """There are restarts enough that found a function of their own."""
    free = left_relu(table)
    return "" if free.sum() >= FEWEST else f"{(~free).sum()} of {len(free)} restarts did not leave ReLU"


def _restart_correlations(table: pd.DataFrame) -> Verdict:
    correlations = np.array(restart_correlations(table))[left_relu(table)]
    return Verdict(estimates.mean(correlations, "restarts", "restarts that left ReLU"), above=IDENTICAL)


TABLE1 = (
    Claim(
        "average",
        "Learned activations obtain a higher accuracy on average (across restarts)",
        _average_gain,
        decides="scale overnight, which has 10 searches of each kind",
        hours=0.3,
    ),
    Claim("best", "The best across restarts is better than ReLU", _best_gain),
    Claim(
        "variance",
        "The variance across seeds is quite similar (standard deviations within 2 times)",
        _as_steady,
        decides="scale overnight, which has 40 seeds with ReLU",
        hours=0.1,
    ),
)
TABLE2 = (
    Claim(
        "nearest", "The nearest-neighbor interpolation performs worse than straight lines", _gain("linear", "nearest")
    ),
    Claim(
        "cubic",
        "The linear one is almost identical to the cubic one in performance (1 point)",
        _as_good("linear", "cubic"),
        decides="1,200 searches of each kind",
        hours=14.0,
    ),
    Claim(
        "all",
        "With every interpolation the learned function is better than ReLU (rows of Table 2)",
        _all_gain,
        decides="scale overnight, which has 10 searches of each kind",
        hours=0.2,
    ),
)
TABLE3 = (
    Claim(
        "train",
        "Minimizing the loss on training data is suboptimal",
        _gain("val", "train"),
        decides="scale overnight, which has 10 searches of each kind",
        hours=0.2,
    ),
    Claim(
        "test",
        "Validation data is about as good as the test data (within one point)",
        _as_good("val", "test"),
        decides="40 searches of each kind",
        hours=0.7,
    ),
)
FIG15 = (
    Claim(
        "alike",
        "The linear and cubic functions are nearly identical (correlated above .9)",
        _restart_correlations,
        functions_moved,
        "20 searches of each kind",
        0.1,
    ),
)
