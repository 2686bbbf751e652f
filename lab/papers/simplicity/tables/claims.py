"""What the simplicity paper claims of models on tables, measured in the tables of its figures.

Where a claim is about all data sets, the mean over them is taken for each seed. Trees and k-NN are fitted once: a
difference from them has the noise of the networks alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import Claim, Verdict, all_of, any_of, mean, ratio
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, NETWORKS, RELU, TANH, TREES

if TYPE_CHECKING:
    import pandas as pd

NEAR = 1.0  # points of accuracy within which a gap counts as closed; chosen before anything was trained


def chosen(table: pd.DataFrame, value: str = "accuracy") -> pd.DataFrame:
    """What was chosen on `val`: seeds × (table, method); accuracies in percent. What was fitted once stands at every
    seed; a run that diverged has NaN."""
    own = table[table["chosen"].astype(bool)]
    values = own[value].where(~own["diverged"].astype(bool)) * (100 if value.startswith("accuracy") else 1)
    wide = values.groupby([own["seed"], own["table"], own["method"]], sort=False).agg(lambda a: a.mean(skipna=False))
    wide = wide.unstack(["table", "method"])
    alone = [column for column in wide if column[1] == TREES and wide[column].notna().sum() == 1]
    wide[alone] = wide[alone].ffill().bfill()
    return wide


def averages(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy over tables in percent, seeds × methods; NaN where one of the tables has none."""
    wide = chosen(table)
    return wide.T.groupby(level="method", sort=False).agg(lambda a: a.mean(skipna=False)).T


def _learned_against_relu(table: pd.DataFrame) -> Verdict:
    means = averages(table)
    return mean(means[LEARNED] - means[RELU], above=0.0, unit="points")


def _relu_against_trees(table: pd.DataFrame) -> Verdict:
    means = averages(table)
    return mean(means[RELU] - means[TREES], below=0.0, unit="points")


def _gap_closed(table: pd.DataFrame) -> Verdict:
    means = averages(table)
    return mean(means[LEARNED] - means[TREES], above=-NEAR, unit="points")


def _inputs_best(table: pd.DataFrame) -> Verdict:
    means = averages(table)
    return all_of(mean(means[IAFS] - means[other], above=0.0, unit="points", case=f"against {other}")
                  for other in (RELU, TANH, LEARNED))  # fmt: skip


def _each_surpasses(table: pd.DataFrame) -> Verdict:
    wide = chosen(table)
    return all_of(mean(wide[name, method] - wide[name, RELU], above=0.0, unit="points", case=f"{method}, {name}")
                  for name in wide.columns.unique("table") for method in (TANH, LEARNED, IAFS))  # fmt: skip


def _learned_everywhere(table: pd.DataFrame) -> Verdict:
    wide = chosen(table)
    return all_of(mean(wide[name, LEARNED] - wide[name, RELU], above=0.0, unit="points", case=name)
                  for name in wide.columns.unique("table"))  # fmt: skip


def _peaks_differ(table: pd.DataFrame) -> Verdict:
    """By how many doublings the total variation of the most accurate network differs between two tables."""
    own = table[table["method"].isin(NETWORKS) & ~table["diverged"].astype(bool) & table["accuracy"].notna()]
    best = own.loc[own.groupby(["table", "seed"])["accuracy"].idxmax()] if len(own) else own
    peaks = np.log2(best.set_index(["seed", "table"])["tv"].astype(float)).unstack("table")
    pairs = {f"{a} against {b}": peaks[a] - peaks[b] for a in peaks for b in peaks if a != b}
    return any_of(pairs, above=0.0, unit="doublings")


def _inputs_complex(table: pd.DataFrame) -> Verdict:
    wide = np.log(chosen(table, "tv"))
    return all_of(ratio(wide[name, IAFS] - wide[name, RELU], unit="×", above=1.0, case=name)
                  for name in wide.columns.unique("table"))  # fmt: skip


def _everywhere(table: pd.DataFrame) -> Verdict:
    """At each width and depth, mean over tables."""
    means = _sizes(table)
    return all_of(mean(rows[LEARNED] - rows[RELU], above=0.0, unit="points", case=f"{layers} layers, width {width}")
                  for (layers, width), rows in means.groupby(level=["layers", "width"]))  # fmt: skip


def _fewer_layers(table: pd.DataFrame) -> Verdict:
    """Learned with one layer less, minus ReLU with the most; mean over widths and tables."""
    most, means = table["layers"].max(), _sizes(table).groupby(level=["layers", "seed"]).mean()
    return mean(means[LEARNED].get(most - 1, np.nan) - means[RELU].get(most, np.nan), above=0.0, unit="points")


def _sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in percent, mean over tables: (layers, width, seed) × methods; NaN where one has none."""
    values = 100 * table["accuracy"].where(~table["diverged"].astype(bool))
    kinds = [table[name] for name in ("layers", "width", "seed", "method")]
    return values.groupby(kinds).agg(lambda a: a.mean(skipna=False)).unstack("method")


def _part(table: pd.DataFrame, part: str) -> pd.DataFrame:
    """Numbers of a part of Figures 7 and 24, (table, seed) × methods."""
    own = table[table["part"] == part]
    return own.groupby([own["table"], own["seed"], own["method"]], sort=False)["value"].agg(
        lambda a: a.mean(skipna=False)).unstack("method")  # fmt: skip


def _by_table(pairs: pd.Series, measure: Callable[..., Verdict], **claimed) -> list[Verdict]:
    """A verdict on each table; pairs: by table and seed."""
    name = claimed.pop("case", "")
    return [measure(rows, case=", ".join(filter(None, (name, table))), **claimed)
            for table, rows in pairs.groupby(level="table", sort=False)]  # fmt: skip


def _rises(table: pd.DataFrame) -> Verdict:
    """Total variation after the last remembered step minus that of the initial weights, for each network."""
    own = table[table["part"] == "course"].sort_values("x")
    ends = own.groupby(["table", "seed", "method"], sort=False)["value"].agg(lambda a: a.iloc[-1] - a.iloc[0])
    ends = ends.unstack("method")
    return all_of(found for method in ends for found in _by_table(ends[method], mean, above=0.0, case=method))


def _most_complex(table: pd.DataFrame) -> Verdict:
    wide = np.log(_part(table, "solution"))
    return all_of(found for other in (RELU, TANH, LEARNED) for found in
                  _by_table(wide[IAFS] - wide[other], ratio, above=1.0, unit="×", case=f"against {other}"))  # fmt: skip


def _ambient(table: pd.DataFrame) -> Verdict:
    found = np.log(_part(table, "ambient")[IAFS]) - np.log(_part(table, "solution")[IAFS])
    return all_of(_by_table(found, ratio, above=1.0, unit="×"))


def _aligned(table: pd.DataFrame) -> Verdict:
    wide = _part(table, "alignment")
    return all_of(_by_table(wide[IAFS] - wide[RELU], mean, above=0.0))


FIG5 = (
    Claim("Networks with ReLU are less accurate than boosted trees, over tables", _relu_against_trees),
    Claim("Learned functions are more accurate than ReLU, over tables", _learned_against_relu),
    Claim("They close the gap to boosted trees (within a point), over tables", _gap_closed),
    Claim("Input functions are the best of the networks, over tables", _inputs_best),
)
FIG20 = (Claim("On each table TanH, learned functions and input functions surpass ReLU", _each_surpasses),)
FIG6 = (
    Claim("Learned functions are more accurate than ReLU on every table", _learned_everywhere),
    Claim("Accuracy peaks at different complexities on different tables", _peaks_differ),
)
FIG22 = (Claim("Networks with input functions are more complex than ReLU on every table", _inputs_complex),)
FIG23 = (Claim("Over all networks accuracy peaks at different complexities", _peaks_differ),)
_REUSED = (
    Claim("The learned function surpasses ReLU at each width and depth", _everywhere),
    Claim("It does so with one hidden layer less than ReLU has at most, over widths", _fewer_layers),
)
FIG8 = FIG21 = _REUSED
_LOOKED_AT = (
    Claim("The complexity of every network rises during training", _rises),
    Claim("Networks with input functions become the most complex", _most_complex),
    Claim("Around them, on a random plane, networks are more complex still", _ambient),
    Claim("Input functions change along the axes more than ReLU does, as trees do", _aligned),
)
FIG7 = FIG24 = _LOOKED_AT
