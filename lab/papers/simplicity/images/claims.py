"""What the simplicity paper claims of image sets (Sections 3.1 and 3.2), measured in the tables of its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.correlations import apart, rank_correlation
from lab.papers.claims import NOTHING, Claim, Verdict, all_of, on_every_reading
from lab.papers.runs import POINTS, gains_on_rows, ratios
from lab.papers.simplicity.images.settings import (
    CLASSIFICATION,
    FROM_RELU,
    FROM_ZERO,
    METHODS,
    REGRESSION,
    RELU,
    TITLES,
)
from lab.papers.simplicity.tables.claims import of_probabilities

if TYPE_CHECKING:
    import pandas as pd

SIMILAR, OTHER = 2.0, 4.0  # points of accuracy within which models are "similar" (Figure 2), and beyond which not
DEEPEST = 4
# % with ReLU and 4 hidden layers in regression (Table 4), and the share of it that is enough to compare with
RELU_PRINTED = {"mnist": 76.7, "fashion_mnist": 73.9, "svhn": 42.9, "cifar10": 16.1}
NEARLY = 0.75


def retained(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the number of hidden layers that is best on validation data, for each set, mode and method
    (App. E.2).

    >>> import pandas as pd
    >>> both = {"set": "mnist", "mode": "regression", "method": "ReLU", "layers": [1, 2], "seed": 0}
    >>> retained(pd.DataFrame(both | {"accuracy_val": [0.4, 0.6]}))["layers"].tolist()
    [2]
    """
    groups = table.groupby(["set", "mode", "method"], sort=False)
    return table[groups["accuracy_val"].transform(lambda one: _best(one, table["layers"])).astype(bool)]


def _best(values: pd.Series, layers: pd.Series) -> pd.Series:
    depths = layers[values.index]
    means = values.groupby(depths).mean()
    return depths == (means.idxmax() if means.notna().any() else depths.iloc[0])


def rank(table: pd.DataFrame) -> float:
    """Spearman's rank correlation of complexity and test accuracy over the models of a table.

    >>> import pandas as pd
    >>> round(rank(pd.DataFrame({"tv": [1, 2, 9], "accuracy": [0.3, 0.2, 0.1]})), 9)
    -1.0
    """
    return float(table["tv"].corr(table["accuracy"], method="spearman"))


def falls_short(accuracies: pd.Series) -> str:
    """What is missing for gains over ReLU to be the paper's: a baseline near the one that it prints.

    accuracies: in regression with ReLU and `DEEPEST` layers, 0 to 1, by set.
    """
    if accuracies.empty:
        return f"no baseline with {DEEPEST} hidden layers, of which the paper prints the accuracy"
    far = {name: 100 * value for name, value in accuracies.items() if 100 * value < NEARLY * RELU_PRINTED[name]}
    text = ", ".join(f"{TITLES[name]} {value:.0f} % (paper {RELU_PRINTED[name]:.0f} %)" for name, value in far.items())
    return f"the baseline is far from the paper's: {text}" if text else ""


def baseline_as_printed(table: pd.DataFrame, scale: str) -> str:
    """Of a table of methods by mode."""
    deepest = (table["mode"] == REGRESSION) & (table["method"] == RELU) & (table["layers"] == DEEPEST)
    return falls_short(_whole(table[deepest]).groupby("set", sort=False)["accuracy"].mean())


def _accuracies(table: pd.DataFrame, mode: str) -> dict[tuple, np.ndarray]:
    """Percent by set and method, with the number of layers that is best on `val`; one number a seed."""
    best = _whole(retained(table[table["mode"] == mode]))
    return {kind: 100 * rows["accuracy"].to_numpy(float) for kind, rows in best.groupby(["set", "method"], sort=False)}


def _against(groups: dict[tuple, np.ndarray], method: str, over: str = RELU) -> dict[str, tuple]:
    """A method and another one, on each set that has both."""
    sets = dict.fromkeys(name for name, _ in groups)
    return {
        f"{TITLES[name]}, {method}": ((name, method), (name, over))
        for name in sets
        if {(name, method), (name, over)} <= set(groups)
    }


def images_tested(table: pd.DataFrame) -> int:
    """How many test images accuracies are of: a share of the 1,000 of a sample has three digits, a whole set 10,000.

    >>> import pandas as pd
    >>> [images_tested(pd.DataFrame({"accuracy": [0.5, share]})) for share in (0.123, 0.1234)]
    [1000, 10000]
    """
    known = table["accuracy"].dropna()
    return 1_000 if np.allclose(known, known.round(3), atol=1e-6) else 10_000


def _gains(table: pd.DataFrame, groups: dict[tuple, np.ndarray], pairs: dict[str, tuple], **claimed) -> list[Verdict]:
    """In points; each set's test images are the same for all models."""
    return gains_on_rows(groups, pairs, dict.fromkeys(pairs, images_tested(table)), unit=POINTS, **claimed)


def _similar(table: pd.DataFrame) -> Verdict:
    groups = _accuracies(table, CLASSIFICATION)
    pairs = {case: pair for method in METHODS[1:] for case, pair in _against(groups, method).items()}
    bounds = {"above": -SIMILAR, "below": SIMILAR, "refuted_below": -OTHER, "refuted_above": OTHER}
    return all_of(_gains(table, groups, pairs, **bounds))


def _better(table: pd.DataFrame, method: str, over: str) -> Verdict:
    """In regression, on every set."""
    groups = _accuracies(table, REGRESSION)
    return all_of(_gains(table, groups, _against(groups, method, over), above=0.0))


def _harder(table: pd.DataFrame) -> Verdict:
    """Accuracy of ReLU in classification, less that in regression to the class id."""
    groups: dict[tuple, np.ndarray] = {}
    for mode in (CLASSIFICATION, REGRESSION):
        groups |= {(mode, *kind): percent for kind, percent in _accuracies(table, mode).items()}
    sets = [name for mode, name, method in groups if (mode, method) == (REGRESSION, RELU)]
    pairs = {TITLES[name]: ((CLASSIFICATION, name, RELU), (REGRESSION, name, RELU)) for name in sets}
    return all_of(_gains(table, groups, pairs, covers="seeds", above=0.0))


def _correlations(table: pd.DataFrame, name: str, mode: str) -> estimates.Estimate:
    """Rank correlation of test accuracy and complexity over the models of a set: methods and numbers of layers, each
    the mean of its seeds."""
    rows = _whole(table[(table["set"] == name) & (table["mode"] == mode)])
    means = rows.groupby(["method", "layers"])[["tv", "accuracy"]].mean()
    return rank_correlation(means["tv"], means["accuracy"], "models")


def _correlated(table: pd.DataFrame) -> Verdict:
    return all_of(
        Verdict(_correlations(table, name, REGRESSION), above=0.0, case=TITLES[name]) for name in table["set"].unique()
    )


def _more_correlated(table: pd.DataFrame) -> Verdict:
    """The correlation in regression less that in classification; or how strong the one is less how strong the other,
    whichever sign either has: where complexity goes against accuracy, the paper's sentence can be read both ways."""
    verdicts = []
    for name in table["set"].unique():
        sides = [_correlations(table, name, mode) for mode in (REGRESSION, CLASSIFICATION)]
        strengths = [side if side.effect >= 0 else side.negated() for side in sides]
        readings = {
            "with their signs": Verdict(apart(*sides).cut(-2.0, 2.0), above=0.0, case=TITLES[name]),
            "without": Verdict(apart(*strengths).cut(-1.0, 1.0), above=0.0, case=TITLES[name]),
        }
        verdicts.append(on_every_reading(readings))
    return all_of(verdicts)


def _more_complex(table: pd.DataFrame) -> Verdict:
    """Total variation in regression, learned from zero over ReLU, geometric means over numbers of layers."""
    rows = _whole(table[table["mode"] == REGRESSION])
    if rows.empty:
        return NOTHING
    logs = np.log(rows["tv"]).groupby([rows["set"], rows["method"], rows["seed"]], sort=False).mean()
    groups = {kind: group.to_numpy() for kind, group in logs.groupby(level=[0, 1], sort=False)}
    return all_of(ratios(groups, _against(groups, FROM_ZERO), above=1.0))


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    """The runs that did not diverge."""
    return table[~table["diverged"].astype(bool) & table["accuracy"].notna()]


_MORE = "3 searches and 12,000 steps on Fashion-MNIST as numbers, where networks are best at their last step"
FIG2 = (
    Claim(
        "similar",
        "In classification, all models perform similarly (within 2 to 4 points of ReLU)",
        _similar,
        decides="3 searches of 400 inner steps from zero on Fashion-MNIST, where the one of here hardly trains",
        hours=1.0,
    ),
    Claim(
        "better",
        "In regression, models with activations learned from zeros perform better than ReLU",
        lambda table: _better(table, FROM_ZERO, RELU),
        baseline_as_printed,
        _MORE,
        3.0,
    ),
    Claim(
        "from-zero",
        "In regression, an initialization as zeros is better than one as ReLU",
        lambda table: _better(table, FROM_ZERO, FROM_RELU),
        baseline_as_printed,
        _MORE,
        3.0,
    ),
    Claim(
        "harder",
        "Regression is more difficult than classification (accuracy with ReLU)",
        _harder,
        baseline_as_printed,
        "the whole sets, as at scale overnight",
        1.0,
    ),
)
FIG18 = (
    Claim(
        "correlated",
        "Accuracy and complexity are correlated for regression, over models of each set",
        _correlated,
        decides="more widths and numbers of steps, 26 models a set",
        hours=0.3,
    ),
    Claim(
        "more-correlated",
        "Accuracy and complexity correlate more for regression than for classification",
        _more_correlated,
        decides="searches from zero that train in classification (see Figure 2), and complexity of outputs",
        hours=1.5,
        stands_in=of_probabilities,
    ),
    Claim("complex", "Regression models with learned activations are more complex than with ReLUs", _more_complex),
)
