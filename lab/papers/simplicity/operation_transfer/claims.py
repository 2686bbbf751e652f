"""What the simplicity paper claims of functions on other operations than their own (Sec. 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict
from lab.papers.runs import POINTS
from lab.papers.simplicity.settings import LEVEL, RELU

if TYPE_CHECKING:
    import pandas as pd


def scores(table: pd.DataFrame) -> pd.DataFrame:
    """Figure 14: for each operation and function the speed (easy) or accuracy (hard) as a share of the best of its
    operation, 0 to 1: task, function, kind, score. Easy, or "solved with ReLUs": these end with `LEVEL` or more in the
    mean. Scores are means over seeds; NaN where no run has a number.

    table: task, function, seed, step (NaN: never), accuracy, diverged.
    """
    import pandas as pd

    alive = ~table["diverged"].astype(bool) & table["accuracy"].notna()
    speed = (1 / table["step"]).fillna(0.0).where(alive)
    table = table.assign(easy=speed, hard=table["accuracy"].where(alive))
    parts = []
    for _, rows in table.groupby("task", sort=False):
        kind = "easy" if rows.loc[rows["function"] == RELU, "hard"].mean() >= LEVEL else "hard"
        means = rows.groupby(["task", "function"], sort=False)[kind].mean()
        parts.append((means / means.max()).rename("score").reset_index().assign(kind=kind))
    return pd.concat(parts, ignore_index=True)[["task", "function", "kind", "score"]]


def _by_function(table: pd.DataFrame) -> pd.DataFrame:
    """For each operation the score, in percent, with ReLU, with that of all ("every"), and the mean of those of all
    specific ones ("specific")."""
    from lab.papers.simplicity.operation_transfer.settings import EVERY

    cells = scores(table)
    cells["score"] *= 100
    specific = cells[~cells["function"].isin((RELU, EVERY))]
    plain = {"relu": cells[cells["function"] == RELU], "every": cells[cells["function"] == EVERY], "specific": specific}
    means = {name: rows.groupby("task")["score"].mean() for name, rows in plain.items()}
    return means["relu"].to_frame("relu").assign(**means)


def _gains(first: str, second: str) -> Callable[[pd.DataFrame], Verdict]:
    def measure(table: pd.DataFrame) -> Verdict:
        means = _by_function(table)
        seeds = table["seed"].nunique()
        covers = f"operations, of one search and {seeds} seed{'s' if seeds > 1 else ''}"
        return Verdict(estimates.mean(means[first] - means[second], "operations", covers), above=0.0, unit=POINTS)

    return measure


def _others_over_relu(table: pd.DataFrame) -> np.ndarray:
    """Functions × operations: by how many points a function of another operation is above ReLU; NaN on its own."""
    from lab.papers.simplicity.operation_transfer.settings import EVERY

    wide = 100 * scores(table).pivot(index="function", columns="task", values="score")
    gaps = wide.drop(index=[RELU, EVERY]) - wide.loc[RELU]
    diagonal = gaps.index.to_numpy()[:, None] == gaps.columns.to_numpy()
    return np.where(diagonal, np.nan, gaps.to_numpy(float))


def _transfer(table: pd.DataFrame) -> Verdict:
    estimate = estimates.crossed(_others_over_relu(table), "operations", _BOTH)
    return Verdict(estimate, above=0.0, unit=POINTS)


def _dense(table: pd.DataFrame) -> Verdict:
    """Share of the cells beside the diagonal with more than ReLU has."""
    gaps = _others_over_relu(table)
    above = np.where(np.isfinite(gaps), 100.0 * (gaps > 0), np.nan)
    return Verdict(estimates.crossed(above, "operations", _BOTH).cut(0, 100), above=50.0, unit="%")


_BOTH = "functions and operations, of one search each"


def transfer_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Mean scores beside those of the paper: method, ours, theirs."""
    import pandas as pd

    means = _by_function(table).mean()
    cells = {
        "ReLU": ("relu", 19.9),
        "functions of one operation": ("specific", 54.0),
        "the function of all operations": ("every", 61.5),
    }
    return pd.DataFrame(
        [(cell, means[name], theirs) for cell, (name, theirs) in cells.items()], columns=["method", "ours", "theirs"]
    )


_MORE = "the other 14 operations, so that 22 rows are compared and not 8"
FIG14 = (
    Claim(
        "transfer",
        "The learned activations do transfer: they score above ReLU on other operations",
        _transfer,
        decides=_MORE,
        hours=2.0,
    ),
    Claim(
        "dense",
        "The matrix is densely filled, positive transfer across many tasks (over half of it)",
        _dense,
        decides=_MORE,
        hours=2.0,
    ),
    Claim("every", "An activation learned on all tasks scores above ReLU, over operations", _gains("every", "relu")),
    Claim(
        "every-specific",
        "An activation learned on all tasks scores above task-specific ones",
        _gains("every", "specific"),
    ),
)
