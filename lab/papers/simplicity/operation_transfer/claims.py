"""What the simplicity paper claims of functions on other operations than their own (Sec. 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, mean
from lab.papers.simplicity.grokking.settings import LEVEL, RELU

if TYPE_CHECKING:
    import pandas as pd


def scores(table: pd.DataFrame) -> pd.DataFrame:
    """Figure 14: for each operation and function the speed (easy) or accuracy (hard) as a share of the best of its
    operation, 0 to 1: task, function, kind, score. Easy: every run with ReLU ends with `LEVEL` or more. A mean over
    seeds; NaN where no run has a number.

    table: task, function, seed, step (NaN: never), accuracy, diverged.
    """
    import pandas as pd

    alive = ~table["diverged"].astype(bool) & table["accuracy"].notna()
    speed = (1 / table["step"]).fillna(0.0).where(alive)
    table = table.assign(easy=speed, hard=table["accuracy"].where(alive))
    parts = []
    for _, rows in table.groupby("task", sort=False):
        kind = "easy" if (rows.loc[rows["function"] == RELU, "hard"] >= LEVEL).all() else "hard"
        means = rows.groupby(["task", "function"], sort=False)[kind].mean()
        parts.append((means / means.max()).rename("score").reset_index().assign(kind=kind))
    return pd.concat(parts, ignore_index=True)[["task", "function", "kind", "score"]]


def _by_function(table: pd.DataFrame) -> pd.DataFrame:
    """For each operation the score, in percent, with ReLU, with that of all ("every"), and the mean of those of other
    operations ("other") and of all specific ones ("specific")."""
    from lab.papers.simplicity.operation_transfer.settings import EVERY

    found = scores(table)
    found["score"] *= 100
    specific = found[~found["function"].isin((RELU, EVERY))]
    plain = {"relu": found[found["function"] == RELU], "every": found[found["function"] == EVERY],
             "other": specific[specific["function"] != specific["task"]], "specific": specific}  # fmt: skip
    means = {name: rows.groupby("task")["score"].mean() for name, rows in plain.items()}
    return means["relu"].to_frame("relu").assign(**means)


def _gains(first: str, second: str) -> Callable[[pd.DataFrame], Verdict]:
    def measure(table: pd.DataFrame) -> Verdict:
        found = _by_function(table)
        return mean(found[first] - found[second], "tasks", above=0.0, unit="points")

    return measure


def transfer_printed(table: pd.DataFrame) -> pd.DataFrame:
    """Mean scores beside those of the paper: method, ours, theirs."""
    import pandas as pd

    means = _by_function(table).mean()
    cells = {"ReLU": ("relu", 19.9), "functions of one operation": ("specific", 54.0),
             "the function of all operations": ("every", 61.5)}  # fmt: skip
    return pd.DataFrame([(cell, means[name], theirs) for cell, (name, theirs) in cells.items()],
                        columns=["method", "ours", "theirs"])  # fmt: skip


FIG14 = (
    Claim("Functions learned for other operations score higher than ReLU", _gains("other", "relu")),
    Claim("The function learned for all operations scores higher than ReLU", _gains("every", "relu")),
    Claim("It scores higher than functions of one operation do on average", _gains("every", "specific")),
)
