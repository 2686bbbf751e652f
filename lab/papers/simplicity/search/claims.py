"""What the simplicity paper claims of its search (App. D)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.runs import POINTS, compare_one, per_seed
from lab.papers.simplicity.images.accuracy import images_tested
from lab.papers.simplicity.settings import LEARNED, RELU

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from lab.estimates import Estimate

    Measure = Callable[[pd.DataFrame], Verdict]

NEAR, FAR = 1.0, 2.0  # points within which two kinds of runs do equally well, and beyond which they do not
SIMILAR = 2.0  # times, within which two standard deviations are "quite similar"
IDENTICAL, OTHERS = 0.9, 0.8  # correlation of functions above which they are "nearly identical", and below which not
NEAR_RELU = 0.99  # correlation with ReLU from which on a function has not left it
ALL_BUT_ONE = 1 - 1e-9  # of a correlation, so that its transform is finite
NEAREST, LINES, CUBIC = "nearest", "linear", "cubic"  # interpolations
RELU_LIKE = "relu"  # the column with the correlation of a run's function with ReLU, over its control points
FEWEST = 4  # restarts that found a function of their own, for something to be said of them


def _gain(ours: str, base: str) -> Measure:
    """Of one kind of runs over another."""

    def measure(table: pd.DataFrame) -> Verdict:
        return Verdict(_difference(table, ours, base), above=0.0, unit=POINTS)

    return measure


def _as_good(one: str, other: str) -> Measure:
    def measure(table: pd.DataFrame) -> Verdict:
        difference = _difference(table, one, other)
        return Verdict(difference, above=-NEAR, below=NEAR, refuted_below=-FAR, refuted_above=FAR, unit=POINTS)

    return measure


def _others_gain(table: pd.DataFrame) -> Verdict:
    """Every other interpolation over ReLU; that of straight lines is the subject of Table 1."""
    verdicts = []
    for name in (NEAREST, CUBIC):
        reason = left_start(name)(table, "")
        gain = _difference(table, name, RELU)
        verdicts.append(Verdict(gain, above=0.0, unit=POINTS, case=name, reason=reason))
    return all_of(verdicts)


def left_start(method: str) -> Callable[[pd.DataFrame, str], str]:
    """Some search of an interpolation left ReLU, from which it may start: else its functions are no result of it."""

    def condition(table: pd.DataFrame, scale: str) -> str:
        rows = table[table["method"] == method]
        if RELU_LIKE not in rows or not len(rows):
            return ""
        like = rows.groupby("search")[RELU_LIKE].first() if _several(table) else rows[RELU_LIKE].iloc[:1]
        stayed = like > NEAR_RELU
        number = f"of all {len(stayed)} searches with" if len(stayed) > 1 else "of the search with"
        return f"the function {number} {method} interpolation is the ReLU it started from" if stayed.all() else ""

    return condition


def _several(table: pd.DataFrame) -> bool:
    """Whether functions come from several searches."""
    return "search" in table


def _difference(table: pd.DataFrame, ours: str, base: str) -> Estimate:
    """In mean accuracy. Where there are several searches, they are the unit, each the mean of its seeds."""
    means = per_seed(table, ["method", "search"] if _several(table) else "method")
    if not _several(table):
        estimate = compare_one({name: means[name] for name in (ours, base)}, ours, base)
    else:
        first, second = ([means[name][number].to_numpy() for number in means[name]] for name in (ours, base))
        if base == RELU:
            estimate = estimates.nested(first, second[0])
        else:
            sides = [[estimates.finite(one).mean() for one in side] for side in (first, second)]
            estimate = replace(compare_one(dict(enumerate(sides)), 0, 1, "searches and seeds"), over="searches")
    return _on_rows(table, estimate, ours, base)


def _on_rows(table: pd.DataFrame, estimate: Estimate, ours: str, base: str) -> Estimate:
    """With the test images, which all models share."""
    means = per_seed(table, "method").mean().reindex([ours, base])
    return estimates.on_rows(estimate, tuple(means), images_tested(table)) if means.notna().all() else estimate


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
    return Verdict(_on_rows(table, estimates.nested(learned, relu), LEARNED, RELU), above=0.0, unit=POINTS)


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
    x, values = table["x"].to_numpy(), table["value"].to_numpy()
    rows = table.groupby(["restart", "method"]).indices
    triples = []
    for restart in sorted({restart for restart, _ in rows}):
        line, cubic = (rows.get((restart, kind)) for kind in ("linear", "cubic"))
        if line is not None and cubic is not None:
            triples.append((x[line], values[line], np.interp(x[line], x[cubic], values[cubic])))
    return triples


def restart_correlations(table: pd.DataFrame) -> list[float]:
    """Correlation of the linear and the cubic function of each restart, over the knots of the former; NaN where one
    never left zero, and so is like no other."""
    return [_correlation(line, cubic) for _, line, cubic in _curves(table)]


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float("nan") if min(np.ptp(one), np.ptp(other)) == 0 else float(np.corrcoef(one, other)[0, 1])


def relu_correlation(x: np.ndarray, values: np.ndarray) -> float:
    """Correlation of a function with ReLU; NaN of a constant.

    >>> x = np.array([-1.0, 0.0, 1.0, 2.0])
    >>> round(relu_correlation(x, x.clip(0)), 9)
    1.0
    """
    return _correlation(values, np.maximum(x, 0))


def left_relu(table: pd.DataFrame) -> np.ndarray:
    """For each restart, whether both functions have left ReLU: two that stay there are alike, however they are made."""
    return np.array(
        [all(not relu_correlation(x, one) > NEAR_RELU for one in (line, cubic)) for x, line, cubic in _curves(table)]
    )


def functions_moved(table: pd.DataFrame, scale: str) -> str:
    """There are restarts enough that found a function of their own."""
    free = left_relu(table)
    return "" if free.sum() >= FEWEST else f"{(~free).sum()} of {len(free)} restarts did not leave ReLU"


def _restart_correlations(table: pd.DataFrame) -> Verdict:
    """The mean of Fisher's transforms: the correlations themselves are skewed, and one of -.8 weighs as much as ten."""
    correlations = np.array(restart_correlations(table))[left_relu(table)]
    transformed = np.arctanh(correlations.clip(-ALL_BUT_ONE, ALL_BUT_ONE))
    mean = estimates.mean(transformed, "restarts", "restarts that left ReLU").mapped(lambda z: float(np.tanh(z)))
    return Verdict(mean, above=IDENTICAL, refuted_below=OTHERS)


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
_MOVES = "a search of steps that moves: with gradients through the nearest knot, or without gradients"
TABLE2 = (
    Claim(
        "nearest",
        "The nearest-neighbor interpolation performs worse than straight lines",
        _gain(LINES, NEAREST),
        left_start(NEAREST),
        _MOVES,
        0.5,
    ),
    Claim(
        "cubic",
        "The linear one is almost identical to the cubic one in performance (1 to 2 points)",
        _as_good(LINES, CUBIC),
        decides="the whole set, whose 10,000 test images tell 1 point, and 40 searches of each kind",
        hours=8.0,
    ),
    Claim(
        "all",
        "With every other interpolation the learned function is better than ReLU, too (Table 2)",
        _others_gain,
        decides=_MOVES,
        hours=0.5,
    ),
)
TABLE3 = (
    Claim(
        "train",
        "Minimizing the loss on training data is suboptimal",
        _gain("val", "train"),
        decides="the whole set, whose 10,000 test images tell 1 point, and 40 searches of each kind",
        hours=4.0,
    ),
    Claim(
        "test",
        "Validation data is about as good as the test data (within 1 to 2 points)",
        _as_good("val", "test"),
        decides="the whole set, whose 10,000 test images tell 1 point, and 40 searches of each kind",
        hours=4.0,
    ),
)
FIG15 = (
    Claim(
        "alike",
        "The linear and cubic functions are nearly identical (correlated above .8 to .9)",
        _restart_correlations,
        functions_moved,
        "the inputs of both, so that knots which no input reaches do not count",
        0.1,
    ),
)
