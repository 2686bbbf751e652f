"""What the simplicity paper claims of models on tables, measured in the tables of its figures.

What is over tables has the table as its unit, each the mean of its seeds. Total variation is never compared between
tables: it depends on the distances of their points (App. A). Functions come from one search a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.runs import POINTS, gains, ratios
from lab.papers.simplicity.tables.settings import IAFS, LEARNED, NETWORKS, RELU, TANH, TREES

if TYPE_CHECKING:
    import pandas as pd

ALMOST_ALL = 80.0  # % of cases, at least
NEAR = 1.0  # points of accuracy within which a gap counts as closed; chosen before anything was trained
PAPER_TABLES, LEAST_TABLES = 16, 5  # of three, an interval says next to nothing of the others


def chosen(table: pd.DataFrame, value: str = "accuracy") -> pd.DataFrame:
    """What was chosen on `val`: seeds × (table, method); accuracies in percent. A run that diverged has NaN."""
    rows = table[table["chosen"].astype(bool)]
    values = rows[value].where(~rows["diverged"].astype(bool)) * (100 if value.startswith("accuracy") else 1)
    wide = values.groupby([rows["seed"], rows["table"], rows["method"]], sort=False).agg(lambda a: a.mean(skipna=False))
    return wide.unstack(["table", "method"])


def _over_tables(table: pd.DataFrame, ours: str, theirs: str, **claimed) -> Verdict:
    """The mean over tables of a difference, each from the mean of the seeds that did not diverge."""
    means = chosen(table).mean().unstack("table")
    gaps = means.loc[ours] - means.loc[theirs]
    estimate = estimates.mean(gaps, "tables", f"tables, {len(gaps)} of the paper's {PAPER_TABLES}")
    return Verdict(estimate, unit=POINTS, **claimed)


def enough_tables(table: pd.DataFrame, scale: str) -> str:
    """A mean over tables that stands for the paper's needs several of them."""
    here = table["table"].nunique()
    return "" if here >= LEAST_TABLES else f"{here} of the paper's {PAPER_TABLES} tables"


def _inputs_best(table: pd.DataFrame) -> Verdict:
    others = (RELU, TANH, LEARNED)
    return all_of(_over_tables(table, IAFS, other, above=0.0, case=f"against {other}") for other in others)


def _pairs(wide: pd.DataFrame, method: str) -> dict[str, tuple]:
    """By table, a method and ReLU."""
    return {name: ((name, method), (name, RELU)) for name in wide.columns.unique("table")}


def _surpassed(table: pd.DataFrame) -> Verdict:
    """Share of the three methods that are more accurate than ReLU, over tables."""
    import pandas as pd

    means = chosen(table).mean()
    cells = [(name, method) for name in means.index.unique("table") for method in (TANH, LEARNED, IAFS)]
    gaps = pd.Series({cell: means[cell] - means[cell[0], RELU] for cell in cells if np.isfinite(means[cell])})
    share = (gaps > 0).groupby(level=0).mean()
    return Verdict(estimates.mean(100 * share, "tables", "tables").cut(0, 100), above=ALMOST_ALL, unit="%")


def _learned_everywhere(table: pd.DataFrame) -> Verdict:
    wide = chosen(table)
    return all_of(gains(wide, _pairs(wide, LEARNED), above=0.0, unit=POINTS))


def _peaks_differ(table: pd.DataFrame) -> Verdict:
    """By how many doublings the total variation of the best network is above that of ReLU on one table more than on
    another. The best on `val`, for each seed."""
    rows = table[table["method"].isin(NETWORKS) & ~table["diverged"].astype(bool) & table["accuracy_val"].notna()]
    if rows.empty:
        return absent("every run diverged")
    best = rows.loc[rows.groupby(["table", "seed"])["accuracy_val"].idxmax()].set_index(["seed", "table"])
    relu = chosen(rows, "tv").xs(RELU, axis=1, level="method")
    above = np.log2(best["tv"].astype(float).unstack("table") / relu)
    pairs = {f"{a} against {b}": (a, b) for a in above for b in above if a != b}
    return any_of(gains(above, pairs, above=0.0, unit="doublings"))


def _inputs_complex(table: pd.DataFrame) -> Verdict:
    wide = np.log(chosen(table, "tv"))
    return all_of(ratios(wide, _pairs(wide, IAFS), above=1.0))


_MORE_TABLES = "electricity, pol, MiniBooNE, Higgs, jannis and Bioresponse, which were not available"
MORE_SEEDS = "15 seeds and 3 searches"
LONGER_SEARCHES = "searches for input functions with 400 episodes"
FIG5 = (
    Claim(
        "relu-trees",
        "Vanilla MLPs often perform worse than decision trees, over tables",
        lambda table: _over_tables(table, RELU, TREES, below=0.0),
        enough_tables,
        _MORE_TABLES,
    ),
    Claim(
        "learned-relu",
        "Learned activation functions are more accurate than ReLU, over tables",
        lambda table: _over_tables(table, LEARNED, RELU, above=0.0),
        enough_tables,
        _MORE_TABLES,
    ),
    Claim(
        "gap",
        "Learned functions eliminate the gap to decision trees (within a point), over tables",
        lambda table: _over_tables(table, LEARNED, TREES, above=-NEAR),
        enough_tables,
        _MORE_TABLES,
    ),
    Claim(
        "inputs",
        "Input activation functions perform best of the networks, over tables",
        _inputs_best,
        enough_tables,
        _MORE_TABLES,
    ),
)
FIG20 = (
    Claim(
        "surpassed",
        f"ReLU is surpassed by optimized functions in almost all cases (over {ALMOST_ALL:.0f} %)",
        _surpassed,
        decides=_MORE_TABLES,
    ),
)
FIG6 = (
    Claim(
        "everywhere",
        "The learned activations perform better in all cases",
        _learned_everywhere,
        decides=MORE_SEEDS,
        hours=0.4,
    ),
)
FIG22 = (
    Claim(
        "inputs-complex",
        "Networks with input functions are clearly more complex than ReLU, on each table",
        _inputs_complex,
        decides="6 seeds",
        hours=0.1,
    ),
)
FIG23 = (
    Claim(
        "peaks",
        "Accuracy peaks at different complexity levels across tables (relative to ReLU's)",
        _peaks_differ,
        decides=MORE_SEEDS,
        hours=0.6,
    ),
)
