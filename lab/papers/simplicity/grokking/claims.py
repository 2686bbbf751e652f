"""What the simplicity paper claims of its figures on grokking, measured in their tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of, on_every_reading
from lab.papers.runs import POINTS, compare_one, gains, per_seed, ratio_of_steps, ratios, speed_up, steps_to
from lab.papers.simplicity.settings import FLOOR, LEARNED, LEVEL, RELU

if TYPE_CHECKING:
    import pandas as pd

FASTER, SLOWER = 7.0, 5.0  # times, from which on something is "about ten times" faster, and below which it is not
ALMOST_ALL = 8  # of so many operations one may be an exception
ELIMINATED, LEFT = 10.0, 20.0  # % of ReLU's delay, below which it is "essentially eliminated", and above which not
CONVERGED = {"to 95 %": 0.95, "to 99 %": 0.99, "to 100 %": 1.0}  # the paper does not say which of Figure 11


def faster(table: pd.DataFrame, level: float = LEVEL, **claimed) -> Verdict:
    """How many times fewer steps models with the learned function need to a test accuracy than with ReLU; of several
    tasks the one that speaks most against the claim."""
    pairs = {
        task: [rows[rows["method"] == method] for method in (RELU, LEARNED)]
        for task, rows in table.groupby("task", sort=False)
    }
    return all_of(speed_up(slow, fast, level, case=task, **claimed) for task, (slow, fast) in pairs.items())


def _about_ten_times(table: pd.DataFrame) -> Verdict:
    """At every level of accuracy: a run with ReLU that never gets there counts with its last step, which makes it look
    faster than it is."""
    return on_every_reading(
        {name: faster(table, level, above=FASTER, refuted_below=SLOWER) for name, level in CONVERGED.items()}
    )


def delays(rows: pd.DataFrame, level: float = LEVEL) -> pd.Series:
    """For each seed of one kind of runs: steps from an accuracy in training to it in testing. Until the last step,
    where the second is not reached; NaN where the first is not, or where the run diverged."""
    train, test = (steps_to(rows, level, name) for name in ("accuracy_train", "accuracy"))
    return (test.clip(upper=rows["step"].max()) - train).where(train < float("inf"))


def _left_of_delay(table: pd.DataFrame, level: float) -> Verdict:
    """What is left of ReLU's delay with the learned function."""
    values = {method: delays(table[table["method"] == method], level) for method in (RELU, LEARNED)}
    known = {method: estimates.finite(one) for method, one in values.items()}
    if not all(len(one) for one in known.values()):
        return absent(f"hardly a run reaches {100 * level:g} % in training")
    logs = {method: np.log(one.clip(1)) for method, one in known.items()}  # a delay of no step counts as one step
    left = compare_one(logs, LEARNED, RELU).exp().scaled(100)
    return Verdict(left, below=ELIMINATED, refuted_above=LEFT, unit="% of ReLU's delay")


def _no_delay(table: pd.DataFrame) -> Verdict:
    """At every level of accuracy."""
    return on_every_reading({name: _left_of_delay(table, level) for name, level in CONVERGED.items()})


def _cells(table: pd.DataFrame) -> dict[str, dict[str, pd.DataFrame]]:
    """Rows by fraction and width, then by method; runs that diverged are left out."""
    alive = table[~table["diverged"].astype(bool) & table["accuracy"].notna()]
    names = {
        (fraction, width): f"{100 * fraction:.0f} %, width {width}"
        for fraction, width in table[["fraction", "width"]].drop_duplicates().itertuples(index=False)
    }
    return {
        name: {
            method: alive[(alive["fraction"] == fraction) & (alive["width"] == width) & (alive["method"] == method)]
            for method in (RELU, LEARNED)
        }
        for (fraction, width), name in names.items()
    }


def _sooner_everywhere(table: pd.DataFrame) -> Verdict:
    """At every fraction and width where either method gets there: ratio of first steps; a run that does not counts with
    its last step."""
    verdicts = []
    for case, rows in _cells(table).items():
        slow, fast = (rows[method]["step"].fillna(np.inf) for method in (RELU, LEARNED))
        verdicts.append(ratio_of_steps(slow, fast, float(table["last"].max()), LEVEL, above=1.0, case=case))
    return all_of([verdict for verdict in verdicts if not verdict.reason] or verdicts)


def _some_overfit(table: pd.DataFrame) -> Verdict:
    """Accuracy at the end, of runs with learned functions that had reached `LEVEL`, in one setting at least."""
    verdicts = []
    for case, rows in _cells(table).items():
        ends = 100 * rows[LEARNED].loc[rows[LEARNED]["step"].notna(), "accuracy"]
        if len(ends):
            decline = estimates.mean(100 * LEVEL - ends, covers="seeds, of one search")
            verdicts.append(Verdict(decline, above=0.0, unit=POINTS, case=case))
    return any_of(verdicts)


def _keeps(table: pd.DataFrame) -> Verdict:
    """Accuracy at the end of runs with ReLU that had reached `LEVEL`, in every setting."""
    verdicts = []
    for case, rows in _cells(table).items():
        ends = 100 * rows[RELU].loc[rows[RELU]["step"].notna(), "accuracy"]
        if len(ends):
            verdicts.append(Verdict(estimates.mean(ends).cut(0.0, 100.0), above=100 * FLOOR, unit="%", case=case))
    return all_of(verdicts)


def _better_on_almost_all(table: pd.DataFrame) -> Verdict:
    """Mean test accuracy over training, learned minus ReLU; on every operation but the worst one in `ALMOST_ALL`."""
    means = per_seed(table, ["task", "method"])
    pairs = {task: ((task, LEARNED), (task, RELU)) for task in table["task"].unique()}
    verdicts = sorted(gains(means, pairs, above=0.0, unit=POINTS), key=lambda one: one.effect)
    return all_of(verdicts[len(verdicts) // ALMOST_ALL :])


def sines(functions: pd.DataFrame) -> pd.DataFrame:
    """The functions that were chosen, one row each: task, search (0 where there is one), frequency, explained, noise,
    and excess: by how much of the function's variance a sine explains more than of 95 % of all white noise."""
    chosen = functions[functions["chosen"].astype(bool) & functions["explained"].notna()]
    chosen = chosen if "search" in chosen else chosen.assign(search=0)
    waves = chosen.groupby(["task", "search"], sort=False)[["frequency", "explained", "noise"]].first().reset_index()
    return waves.assign(excess=waves["explained"] - waves["noise"])


def _are_sines(functions: pd.DataFrame) -> Verdict:
    """The excess, over versions; of several searches for a version their mean."""
    waves = sines(functions)
    count = waves["search"].nunique()
    covers = "versions, of one search each" if count == 1 else f"versions, in the mean of {count} searches each"
    by_version = waves.groupby("task", sort=False)["excess"].mean()
    return Verdict(estimates.mean(by_version, "versions", covers), above=0.0)


def _frequencies_vary(functions: pd.DataFrame) -> Verdict:
    """The ratio of the frequencies of two versions, of functions that are like a sine, more than noise is; of versions
    with two such functions at least."""
    waves = sines(functions)
    clear = waves[waves["excess"] > 0]
    groups = {
        task: np.log(rows["frequency"].to_numpy()) for task, rows in clear.groupby("task", sort=False) if len(rows) > 1
    }
    if len(groups) < 2:
        return absent(f"{len(clear)} of {len(waves)} functions are like a sine, more than noise is")
    pairs = {f"{a} over {b}": (a, b) for a in groups for b in groups if a != b}
    verdicts = ratios(groups, pairs, "searches", above=1.0)
    return any_of(replace(one, estimate=replace(one.estimate, over="searches")) for one in verdicts)


_SIZE = "the size of the initial weights as an axis, and the accuracy that counts: the paper prints neither"
FIG11 = (  # faster at all, and a shorter delay, are claims of Figure 13, whose settings have this one among them
    Claim(
        "ten-times",
        "Our model converges ~10 times faster than ReLUs (at least 5 to 7)",
        _about_ten_times,
        decides=_SIZE,
        hours=1.5,
    ),
    Claim(
        "eliminated",
        "Learned functions essentially eliminate grokking (10 to 20 % of ReLU's delay at most)",
        _no_delay,
        decides=_SIZE,
        hours=1.5,
    ),
)
FIG12 = (
    Claim(
        "sines",
        "The activations learned for modular addition are sine-like, over versions",
        _are_sines,
        of_functions=True,
        decides="scale overnight, which has three searches for each version",
        hours=0.6,
    ),
    Claim(
        "frequencies",
        "The frequency of the sine-like function varies across versions of the task",
        _frequencies_vary,
        of_functions=True,
        decides="scale overnight, which has three searches for each version",
        hours=0.6,
    ),
)
FIG13 = (
    Claim(
        "variety",
        "Models with learned activations converge faster across settings (where any converges)",
        _sooner_everywhere,
    ),
    Claim("overfit", "Some models with learned activations end up overfitting with prolonged training", _some_overfit),
    Claim("keep", "ReLU networks that generalize keep a high accuracy (90 % after prolonged training)", _keeps),
)
FIG28 = (
    Claim(
        "operations",
        "In almost all cases (7 of 8), learned activations converge faster or to a higher accuracy",
        _better_on_almost_all,
        decides="scale overnight, which has six seeds",
        hours=0.5,
    ),
)
