"""What the simplicity paper claims of its figures, measured in their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import Claim, Verdict, all_of, mean, per_seed, ratio, speed_up, steps_to, unreached
from lab.papers.simplicity.grokking.settings import LEARNED, LEVEL, RELU

if TYPE_CHECKING:
    import pandas as pd


def faster(table: pd.DataFrame, **claimed) -> Verdict:
    """How many times fewer steps models with the learned function need to `LEVEL` test accuracy than with ReLU; of
    several tasks the one that speaks most against the claim."""
    pairs = {task: [rows[rows["method"] == method] for method in (RELU, LEARNED)]
             for task, rows in table.groupby("task", sort=False)}  # fmt: skip
    return all_of(speed_up(*pair, level=LEVEL, case=task, **claimed) for task, pair in pairs.items())


def delays(rows: pd.DataFrame) -> pd.Series:
    """For each seed of one kind of runs: steps from `LEVEL` in training to `LEVEL` in testing. Until the last step,
    where the second is not reached; NaN where the first is not, or where the run diverged."""
    train, test = (steps_to(rows.assign(accuracy=rows[name]), LEVEL) for name in ("accuracy_train", "accuracy"))
    return (test.clip(upper=rows["step"].max()) - train).where(train < float("inf"))


def _shorter_delay(table: pd.DataFrame) -> Verdict:
    by_method = [delays(table[table["method"] == method]) for method in (RELU, LEARNED)]
    return mean(by_method[0] - by_method[1], above=0.0, unit="steps")


def _sooner_everywhere(table: pd.DataFrame) -> Verdict:
    """At every fraction and width: ratio of first steps; a run that does not get there counts with its last step, and a
    pair of which neither does says nothing."""
    found = []
    for (fraction, width), rows in table.groupby(["fraction", "width"], sort=False):
        steps = rows["step"].fillna(rows["last"]).where(~rows["diverged"].astype(bool) & rows["accuracy"].notna())
        pairs = np.log(steps).groupby([rows["seed"], rows["method"]]).mean().unstack("method")
        told = rows["step"].notna().groupby(rows["seed"]).any()
        case = f"{100 * fraction:.0f} %, width {width}"
        found.append(unreached(ratio((pairs[RELU] - pairs[LEARNED])[told], unit="×", above=1.0, case=case), LEVEL))
    return all_of(found)


def _better_on_average(table: pd.DataFrame) -> Verdict:
    """Mean test accuracy over training, learned minus ReLU; over operations."""
    means = per_seed(table, ["task", "method"]).mean().unstack()
    return mean(means[LEARNED] - means[RELU], "tasks", above=0.0, unit="points")


FIG11 = (
    Claim("The learned function reaches 95 % test accuracy sooner than ReLU", lambda table: faster(table, above=1.0)),
    Claim("It does so about ten times sooner (at least five)", lambda table: faster(table, above=5.0)),
    Claim("It shortens the delay between training and test accuracy", _shorter_delay),
)
FIG12 = (
    Claim("On every version of addition the learned function is sooner at 95 % than ReLU",
          lambda table: faster(table, above=1.0)),
)  # fmt: skip
FIG13 = (Claim("At every amount of data and width the learned function is sooner at 95 %", _sooner_everywhere),)
FIG28 = (Claim("Test accuracy over training is higher with learned functions, over operations", _better_on_average),)
