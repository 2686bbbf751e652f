"""The best rate of each method, chosen on `val`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.transformers.settings import BASELINE, MLP

if TYPE_CHECKING:
    import pandas as pd

TEST, VAL = "test", "val"  # "val": runs with seeds of their own, on which rates are chosen


def best_rates(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    """By task and method: the rate with the highest mean accuracy over training on `val`; a rate with a diverged run is
    out. Of equals the lowest."""
    val = table[table["split"] == VAL]
    means = val.groupby(["task", "method", "rate"])["accuracy"].mean()
    means = means[~val.groupby(["task", "method", "rate"])["diverged"].any()]
    return {kind: float(one.droplevel([0, 1]).idxmax()) for kind, one in means.groupby(level=[0, 1])}


def at_best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` in which each method has its own best rate."""
    best, test = best_rates(table), table[table["split"] == TEST]
    wanted = [best.get(kind) for kind in zip(test["task"], test["method"], strict=True)]
    return test[test["rate"] == wanted]


def at_printed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` at the rate that the paper prints."""
    return table[(table["split"] == TEST) & table["printed"].astype(bool)]


def known_tasks(table: pd.DataFrame) -> list[str]:
    """Tasks that have both methods."""
    kinds = table.groupby("task", sort=False)["method"].agg(set)
    return [task for task, methods in kinds.items() if {BASELINE, MLP} <= methods]
