"""What the simplicity paper claims of image sets (Sections 3.1 and 3.2), measured in the tables of its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import NOTHING, Claim, Verdict, all_of, mean, ratio
from lab.papers.simplicity.images.settings import (
    CLASSIFICATION,
    FROM_RELU,
    FROM_ZERO,
    METHODS,
    REGRESSION,
    RELU,
    TITLES,
)

if TYPE_CHECKING:
    import pandas as pd

SIMILAR = 2.0  # points of accuracy that count as "similar" (Figure 2); chosen before any test accuracy was seen
MODEL = ["layers", "method"]  # what the models of a set, mode and seed differ in


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
    own = layers[values.index]
    means = values.groupby(own).mean()
    return own == (means.idxmax() if means.notna().any() else own.iloc[0])


def rank(table: pd.DataFrame) -> float:
    """Spearman's rank correlation of complexity and test accuracy over the models of a table.

    >>> import pandas as pd
    >>> round(rank(pd.DataFrame({"tv": [1, 2, 9], "accuracy": [0.3, 0.2, 0.1]})), 9)
    -1.0
    """
    return float(table["tv"].corr(table["accuracy"], method="spearman"))


def _gain(table: pd.DataFrame, mode: str, method: str, over: str = RELU, **claimed) -> Verdict:
    """Test accuracy of a method less that of another, each with its best number of layers; of several sets the one
    that speaks most against the claim."""
    kept = _whole(retained(table[table["mode"] == mode]))
    found = []
    for name, rows in kept.groupby("set", sort=False):
        pairs = rows.pivot(index="seed", columns="method", values="accuracy").reindex(columns=[method, over])
        case = f"{TITLES[name]}, {method}"
        found.append(mean(100 * (pairs[method] - pairs[over]), case=case, unit="points", **claimed))
    return all_of(found)


def _similar(table: pd.DataFrame) -> Verdict:
    return all_of(_gain(table, CLASSIFICATION, method, above=-SIMILAR, below=SIMILAR) for method in METHODS[1:])


def _harder(table: pd.DataFrame) -> Verdict:
    """Accuracy of ReLU in classification less that in regression."""
    rows = _whole(retained(table[table["method"] == RELU]))
    found = []
    for name, part in rows.groupby("set", sort=False):
        pairs = part.pivot(index="seed", columns="mode", values="accuracy").reindex(
            columns=[CLASSIFICATION, REGRESSION]
        )
        gap = 100 * (pairs[CLASSIFICATION] - pairs[REGRESSION])
        found.append(mean(gap, above=0.0, unit="points", case=TITLES[name]))
    return all_of(found)


def _correlations(table: pd.DataFrame) -> pd.DataFrame:
    """Rank correlation of test accuracy and complexity over the models of a seed: (set, seed) × modes."""
    groups = _whole(table).groupby(["set", "seed", "mode"], sort=False)[["tv", "accuracy"]]
    found = groups.apply(rank)
    return found.unstack("mode").reindex(columns=[CLASSIFICATION, REGRESSION]) if len(found) else found


def _correlated(table: pd.DataFrame) -> Verdict:
    found = _correlations(table)
    if found.empty:
        return NOTHING
    return all_of(
        mean(rows[REGRESSION], above=0.0, case=TITLES[name]) for name, rows in found.groupby("set", sort=False)
    )


def _more_correlated(table: pd.DataFrame) -> Verdict:
    found = _correlations(table)
    if found.empty:
        return NOTHING
    gaps = (found[REGRESSION] - found[CLASSIFICATION]).groupby("set", sort=False)
    return all_of(mean(gap, above=0.0, case=TITLES[name]) for name, gap in gaps)


def _more_complex(table: pd.DataFrame) -> Verdict:
    """Total variation in regression, learned from zero over ReLU, geometric means over numbers of layers."""
    rows = _whole(table[table["mode"] == REGRESSION])
    logs = np.log(rows["tv"]).groupby([rows["set"], rows["seed"], rows["method"]], sort=False).mean()
    if logs.empty:
        return NOTHING
    pairs = logs.unstack("method").reindex(columns=[RELU, FROM_ZERO])
    found = (pairs[FROM_ZERO] - pairs[RELU]).groupby("set", sort=False)
    return all_of(ratio(one, unit="×", above=1.0, case=TITLES[name]) for name, one in found)


def _more_irregular(table: pd.DataFrame) -> Verdict:
    """Ups and downs of functions learned for regression less those for classification, paired by restart."""
    known = table[table["accuracy"].notna()]
    by = ["set", "method", "restart", "mode"]
    pairs = known.groupby(by, sort=False)["turns"].mean().unstack("mode").reindex(columns=[CLASSIFICATION, REGRESSION])
    return mean(pairs[REGRESSION] - pairs[CLASSIFICATION], "functions", above=0.0)


def _like_gelu(table: pd.DataFrame) -> Verdict:
    """Share of variance that GELU explains less that of ReLU, of functions learned from ReLU for classification."""
    rows = table[(table["mode"] == CLASSIFICATION) & (table["method"] == FROM_RELU) & table["accuracy"].notna()]
    return mean(rows["gelu"] - rows["relu"], "functions", above=0.0)


def _wavelet(table: pd.DataFrame) -> Verdict:
    """Ups and downs of functions learned from zero for classification; a monotone one has 1."""
    rows = table[(table["mode"] == CLASSIFICATION) & (table["method"] == FROM_ZERO) & table["accuracy"].notna()]
    return mean(rows["turns"], "functions", above=2.0)


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    """The runs that did not diverge."""
    return table[~table["diverged"].astype(bool) & table["accuracy"].notna()]


FIG2 = (
    Claim("In classification learned functions are within 2 points of ReLU on every set", _similar),
    Claim("In regression functions learned from zero are better than ReLU on every set",
          lambda table: _gain(table, REGRESSION, FROM_ZERO, above=0.0)),
    Claim("In regression functions learned from zero are better than those from ReLU",
          lambda table: _gain(table, REGRESSION, FROM_ZERO, FROM_RELU, above=0.0)),
    Claim("With ReLU regression is less accurate than classification on every set", _harder),
)  # fmt: skip
FIG3 = (
    Claim("Functions learned for regression go up and down more than for classification", _more_irregular),
    Claim("Functions learned from ReLU for classification are more like GELU than ReLU", _like_gelu),
    Claim("Functions learned from zero for classification go up and down, as wavelets do", _wavelet),
)
FIG4 = (
    Claim("In regression, test accuracy rises with complexity (rank correlation)", _correlated),
    Claim("It does so more than in classification", _more_correlated),
    Claim("In regression functions learned from zero make models more complex than ReLU", _more_complex),
)
