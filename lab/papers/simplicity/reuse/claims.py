"""What the simplicity paper claims of functions in networks of other sizes (Figs. 8, 21).

Functions come from one search a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.runs import POINTS, gains_on_rows
from lab.papers.simplicity.tables.claims import MORE_SEEDS
from lab.papers.simplicity.tables.settings import LEARNED, RELU, rows_tested

if TYPE_CHECKING:
    import pandas as pd

FIGURE_8 = "covertype"  # the table of Figure 8; Figure 21 has the others


def _sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in percent: (table, layers, seed) × methods, mean over widths; NaN where one diverged."""
    values = 100 * table["accuracy"].where(~table["diverged"].astype(bool))
    kinds = [table[name] for name in ("table", "layers", "seed", "method")]
    return values.groupby(kinds).agg(lambda a: a.mean(skipna=False)).unstack("method")


def _at_sizes(table: pd.DataFrame, first: bool, fewer: bool) -> list[Verdict]:
    """Learned minus ReLU on the table of Figure 8 (`first`) or on each other one: mean over widths and depths, or
    (`fewer`) learned with one hidden layer less than ReLU has at most."""
    most, means, groups = table["layers"].max(), _sizes(table), {}
    names = [name for name in table["table"].unique() if name.startswith(FIGURE_8) == first]
    for name in names:
        part = means.loc[name]
        for method, layers in ((LEARNED, most - 1), (RELU, most)):
            of_depth = part.loc[layers, method] if fewer else part[method].groupby("seed").mean()
            groups[name, method] = of_depth.to_numpy(float)
    if not groups:
        return [absent(f"{'no' if first else 'only'} runs on {FIGURE_8}")]
    pairs = {name: ((name, LEARNED), (name, RELU)) for name in names}
    return gains_on_rows(groups, pairs, {name: rows_tested(name) for name in names}, above=0.0, unit=POINTS)


def _often_fewer_layers(table: pd.DataFrame) -> Verdict:
    """Over all tables, that of Figure 8 among them: the paper says "often"."""
    every = [one for first in (True, False) for one in _at_sizes(table, first, fewer=True) if not one.reason]
    return Verdict(estimates.mean([one.effect for one in every], "tables"), above=0.0, unit=POINTS)


FIG8 = (
    Claim(
        "surpass",
        "The learned activation functions surpass ReLUs (COVERTYPE, over widths and depths)",
        lambda table: all_of(_at_sizes(table, first=True, fewer=False)),
        decides=MORE_SEEDS,
        hours=1.0,
    ),
    Claim(
        "fewer-layers",
        "Learned functions surpass ReLU with fewer layers (one less than its most, COVERTYPE)",
        lambda table: all_of(_at_sizes(table, first=True, fewer=True)),
        decides=MORE_SEEDS,
        hours=1.0,
    ),
)
FIG21 = (
    Claim(
        "surpass",
        "The learned activation functions surpass ReLUs on each other table",
        lambda table: all_of(_at_sizes(table, first=False, fewer=False)),
        decides=MORE_SEEDS,
        hours=2.0,
    ),
    Claim(
        "fewer-layers",
        "Learned functions often surpass ReLU with fewer layers (one less than its most, over tables)",
        _often_fewer_layers,
        decides=MORE_SEEDS,
        hours=2.0,
    ),
)
