"""What the simplicity paper claims of its search (App. D) and of functions on other image sets (App. E.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import Claim, Verdict, all_of, any_of, mean, per_seed
from lab.papers.simplicity.grokking.settings import LEARNED, RELU

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    Measure = Callable[[pd.DataFrame], Verdict]


def _gain(ours: str, base: str) -> Measure:
    """Of one kind of runs over another, paired by seed."""

    def measure(table: pd.DataFrame) -> Verdict:
        means = per_seed(table, "method")
        return mean(means[ours] - means[base], above=0.0, unit="points")

    return measure


def _as_good(one: str, other: str) -> Measure:
    def measure(table: pd.DataFrame) -> Verdict:
        means = per_seed(table, "method")
        return mean(means[one] - means[other], above=-1.0, below=1.0, unit="points")

    return measure


def _all_gain(table: pd.DataFrame) -> Verdict:
    """Every other kind of runs over ReLU."""
    means = per_seed(table, "method")
    return all_of(mean(means[name] - means[RELU], above=0.0, unit="points", case=str(name))
                  for name in means.columns if name != RELU)  # fmt: skip


def _restart_gain(best: str | None, base: str | None) -> Measure:
    """The mean over restarts (None) or the best one ("best"), over ReLU (None) or the mean over restarts."""

    def measure(table: pd.DataFrame) -> Verdict:
        learned = table[table["method"] == LEARNED]
        over = {None: learned, "best": learned[learned["chosen"].astype(bool)], RELU: table[table["method"] == RELU]}
        ours, theirs = (per_seed(over[name], "method").mean(axis=1) for name in (best, base))
        return mean(ours - theirs, above=0.0, unit="points")

    return measure


def alike(table: pd.DataFrame) -> list[float]:
    """Correlation of the linear and the cubic function of each restart, over the knots of the former."""
    found = []
    for _, rows in table.groupby("restart"):
        line, cubic = (rows[rows["method"] == kind] for kind in ("linear", "cubic"))
        if len(line) and len(cubic):
            value = np.interp(line["x"], cubic["x"], cubic["value"])
            flat = min(np.ptp(value), np.ptp(line["value"])) == 0  # a function that never left zero is like no other
            found.append(float("nan") if flat else float(np.corrcoef(value, line["value"])[0, 1]))
    return found


def _alike(table: pd.DataFrame) -> Verdict:
    return mean(alike(table), "restarts", above=0.9)


def _over_relu(table: pd.DataFrame) -> dict[tuple[str, str], pd.Series]:
    """For each function and set, gains over ReLU by seed, in points."""
    means = per_seed(table, ["source", "target"])
    pairs = [pair for pair in means.columns if pair[0] != RELU]
    return {pair: means[pair] - means[(RELU, pair[1])] for pair in pairs}


def _own_sets(table: pd.DataFrame) -> Verdict:
    return all_of(mean(gain, above=0.0, unit="points", case=source)
                  for (source, target), gain in _over_relu(table).items() if source == target)  # fmt: skip


def _other_sets(table: pd.DataFrame) -> Verdict:
    """Functions of one set; that of all sets has no other."""
    sets = set(table["target"])
    gains = {f"{source} on {target}": gain for (source, target), gain in _over_relu(table).items()
             if source in sets and source != target}  # fmt: skip
    return any_of(gains, above=0.0, unit="points")


def _together(table: pd.DataFrame) -> Verdict:
    """Correlation over functions and numbers of layers, for each seed; of several pairs of sets the lowest."""
    learned = table[table["source"] != RELU]
    means = per_seed(learned, ["target", "source", "layers"]).stack(["source", "layers"], future_stack=True)
    found = []
    for i, one in enumerate(means.columns):
        for other in means.columns[i + 1 :]:
            by_seed = means.groupby("seed")[[one, other]].apply(lambda rows: rows.corr().iloc[0, 1])
            found.append(mean(by_seed, above=0.0, case=f"{one} and {other}"))
    return all_of(found)


TABLE1 = (
    Claim("Learned functions are better than ReLU, on average over restarts", _restart_gain(None, RELU)),
    Claim("The best restart is better than ReLU", _restart_gain("best", RELU)),
    Claim("The best restart is better than the average of them", _restart_gain("best", None)),
)
TABLE2 = (
    Claim("Straight lines are better than nearest-neighbor steps", _gain("linear", "nearest")),
    Claim("Straight lines and cubic splines do equally well (within one point)", _as_good("linear", "cubic")),
    Claim("With every interpolation the learned function is better than ReLU", _all_gain),
)
TABLE3 = (
    Claim("Lowering the validation loss is better than lowering the training loss", _gain("val", "train")),
    Claim("Validation and test loss do equally well (within one point)", _as_good("val", "test")),
    Claim("With every objective the learned function is better than ReLU", _all_gain),
)
FIG15 = (Claim("The linear and the cubic function are nearly identical (correlated above .9)", _alike),)
TABLE4 = (
    Claim("On its own set every learned function is better than ReLU", _own_sets),
    Claim("Some function is better than ReLU on another set than its own", _other_sets),
)
FIG19 = (Claim("Accuracies on two sets rise together over models with learned functions", _together),)
