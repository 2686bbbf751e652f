"""Cells of the matrix: what each function gains in each model, both at their own best rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.crossing.places import BASELINE, TABLES, TEST, VAL
from lab.estimates import Estimate, compare, finite, on_rows
from lab.papers.simplicity.tables.settings import rows_tested

if TYPE_CHECKING:
    import pandas as pd

COVERS = "seeds, of one search"
ON_TABLE = "perceptron"  # the model that is tested on the rows of a table; the other tasks can be had without end


def best_rates(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    """By model and function: the rate with the highest score on `val`; one at which a run diverged is out."""
    val = table[(table["split"] == VAL) & ~table["diverged"].astype(bool)]
    means = val.groupby(["model", "function", "rate"])["score"].mean().dropna()
    return {kind: float(one.droplevel([0, 1]).idxmax()) for kind, one in means.groupby(level=[0, 1])}


def at_best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` in which each function has its best rate."""
    best, test = best_rates(table), table[table["split"] == TEST]
    wanted = [best.get(kind) for kind in zip(test["model"], test["function"], strict=True)]
    return test[test["rate"] == wanted]


def models_of(table: pd.DataFrame) -> list[str]:
    """The models, in their order."""
    return list(dict.fromkeys(table["model"]))


def gains(table: pd.DataFrame) -> dict[tuple[str, str], Estimate]:
    """By model and function: score minus that of the model's own baseline, in points, both at their best rate."""
    chosen = at_best(table)
    effects: dict[tuple[str, str], Estimate] = {}
    for model in models_of(table):
        rows = chosen[(chosen["model"] == model) & ~chosen["diverged"].astype(bool)]
        groups = {kind: [100 * one for one in group["score"]] for kind, group in rows.groupby("function", sort=False)}
        pairs = {str(kind): (kind, BASELINE) for kind in groups if kind != BASELINE and BASELINE in groups}
        for kind, one in compare(groups, pairs, COVERS).items():
            percent = [float(finite(groups[side]).mean()) for side in (kind, BASELINE) if len(finite(groups[side]))]
            on_a_table = model == ON_TABLE and len(percent) == 2
            effects[model, kind] = on_rows(one, percent, rows_tested(TABLES["paper"])) if on_a_table else one
    return effects
