"""Appendix D of the simplicity paper: what its search for functions owes to its parts.

Tables 1 to 3 and Figure 15 (`interpolations`) have networks with one hidden layer on one image set, and share the runs
with ReLU and those with the function that the search finds as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, all_of
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity import interpolations
from lab.papers.simplicity.images.accuracy import accuracies, images_tested
from lab.papers.simplicity.images.settings import sample
from lab.papers.simplicity.interpolations import LINEAR, RELU_TIMES, SEARCHES, learned, notes, origin, relu, searches_of
from lab.papers.simplicity.settings import LEARNED, RELU, episode_result, restarts
from lab.papers.tables import POINTS, Labelled, compare_one, per_seed
from lab.plots import go
from lab.plots.caption import effect, set_reading, signed
from lab.plots.differences import beside_printed
from lab.statistics import LEVEL

OBJECTIVES = {"train": "training data", "val": "validation data", "test": "test data (cheating)"}
AVERAGE, BEST = "average", "best"
# Accuracy in percent and its standard deviation over 10 seeds, as Tables 1, 2 and 3 print them.
PRINTED = {
    RELU: (53.1, 0.4),
    AVERAGE: (56.6, 0.7),
    BEST: (57.2, 0.5),
    "nearest": (55.1, 0.9),
    "linear": (57.2, 0.5),
    "cubic": (57.3, 0.7),
    "train": (56.7, 0.3),
    "val": (57.2, 0.5),
    "test": (56.9, 0.5),
}
NAMES = {RELU: RELU, AVERAGE: "learned, average<br>over restarts", BEST: "learned,<br>best restart"}
NAMES |= {kind: f"learned,<br>{words}" for kind, words in (interpolations.INTERPOLATIONS | OBJECTIVES).items()}
STAYED = "stayed ReLU"
NEAR, FAR = 1.0, 2.0  # points within which two kinds of runs do equally well, and beyond which they do not
SIMILAR = 2.0  # times, within which two standard deviations are "quite similar"


def plan_restarts(scale: str, seeds: int) -> list[Planned]:
    """Runs with ReLU, and with the function of each restart of each search."""
    return _with_relu(scale, seeds, restart=-1) + [
        ({"method": LEARNED, "restart": restart} | labels, run)
        for labels, one in searches_of(scale)
        for restart in range(len(one.restarts))
        for run in learned(scale, seeds, one, restart)
    ]


def plan_objectives(scale: str, seeds: int) -> list[Planned]:
    """Runs with ReLU, and with the function for each outer objective."""
    return _with_relu(scale, seeds) + [
        ({"method": name} | labels, run)
        for name in OBJECTIVES
        for labels, one in searches_of(scale, objective=name)
        for run in learned(scale, seeds, one)
    ]


def _with_relu(scale: str, seeds: int, **labels) -> list[Planned]:
    labels = {"method": RELU} | labels | ({"search": -1} if SEARCHES[scale] > 1 else {})
    return [(labels, run) for run in relu(scale, RELU_TIMES[scale] * seeds)]


def measure_restarts(runs: Labelled) -> pd.DataFrame:
    """As `images.accuracy.accuracies`, with start, rate (of the knots) and chosen (on val) of a run's restart."""
    rows = []
    for labels, run in runs:
        row = ("", np.nan, False)
        if labels["restart"] >= 0:
            result = episode_result(run)
            restart = result.spec.restarts[labels["restart"]]
            row = (restart.start, restart.rate, result.winner == labels["restart"])
        rows.append(row)
    return accuracies(runs).join(pd.DataFrame(rows, columns=["start", "rate", "chosen"]))


def measure_interpolations(runs: Labelled) -> pd.DataFrame:
    """As `images.accuracy.accuracies`, and relu: the correlation of a run's function with ReLU; NaN of a constant."""
    correlations = []
    for labels, run in runs:
        chosen = next(one for one in restarts(episode_result(run)) if one["chosen"]) if labels["method"] != RELU else {}
        correlations.append(interpolations.relu_correlation(chosen["x"], chosen["value"]) if chosen else np.nan)
    return accuracies(runs).assign(relu=np.round(correlations, 6))


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a row of the drawing, in percent: key (of `PRINTED`), name, mean, error (standard deviation over runs, as
    in the paper), runs, lost (diverged), paper, paper_error.

    table: method, seed, accuracy (0 to 1), diverged; restart, start, rate and chosen where restarts are told apart, and
    have a row each below the others.
    """
    kinds = dict(iter(table.groupby("method", sort=False)))
    if "restart" in table:
        runs = table[table["method"] == LEARNED]
        kinds = {RELU: table[table["method"] == RELU], AVERAGE: runs, BEST: runs[runs["chosen"].astype(bool)]}
    rows = [(key, NAMES[key], part, PRINTED[key]) for key, part in kinds.items()]
    if "restart" in table:
        for number, part in runs.groupby("restart"):
            start, rate = part["start"].iloc[0], part["rate"].iloc[0]
            name = f"restart {number + 1}<br>({interpolations.STARTS.get(start, start)}, rate {rate:g})"
            rows.append((f"restart {number}", name, part, (np.nan, np.nan)))
    entries = []
    for key, name, part, (paper, error) in rows:
        values = 100 * part["accuracy"].astype(float)
        known = values[np.isfinite(values)]
        if left_start(key)(table, ""):
            name = f"{name.removeprefix('learned,<br>')},<br>{STAYED}"
        numbers = {"mean": known.mean(), "error": known.std(), "runs": len(known), "lost": len(part) - len(known)}
        entries.append({"key": key, "name": name} | numbers | {"paper": paper, "paper_error": error})
    return pd.DataFrame(entries)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Rows that the paper prints: row, ours, theirs, in percent."""
    entries = means(table).dropna(subset=["paper", "mean"])
    return entries.rename(columns={"key": "row", "mean": "ours", "paper": "theirs"})[["row", "ours", "theirs"]]


def _gain(ours: str, base: str) -> Callable[[pd.DataFrame], Verdict]:
    return lambda table: Verdict(_difference(table, ours, base), above=0.0, unit=POINTS)


def _as_good(one: str, other: str) -> Callable[[pd.DataFrame], Verdict]:
    bounds: dict[str, Any] = {"above": -NEAR, "below": NEAR, "refuted_below": -FAR, "refuted_above": FAR}
    return lambda table: Verdict(_difference(table, one, other), unit=POINTS, **bounds)


def _others_gain(table: pd.DataFrame) -> Verdict:
    """Every other interpolation over ReLU; that of straight lines is the subject of Table 1."""
    verdicts = []
    for name in ("nearest", "cubic"):
        reason, gain = left_start(name)(table, ""), _difference(table, name, RELU)
        verdicts.append(Verdict(gain, above=0.0, unit=POINTS, case=name, reason=reason))
    return all_of(verdicts)


def left_start(method: str) -> Callable[[pd.DataFrame, str], str]:
    """Some search of an interpolation left ReLU, from which it may start: else its functions are no result of it."""

    def condition(table: pd.DataFrame, scale: str) -> str:
        rows = table[table["method"] == method]
        if "relu" not in rows or not len(rows):
            return ""
        functions = rows.groupby("search")["relu"].first() if "search" in table else rows["relu"].iloc[:1]
        stayed = functions > interpolations.NEAR_RELU
        number = f"of all {len(stayed)} searches with" if len(stayed) > 1 else "of the search with"
        return f"the function {number} {method} interpolation is the ReLU it started from" if stayed.all() else ""

    return condition


def _difference(table: pd.DataFrame, ours: str, base: str) -> estimates.Estimate:
    """In mean accuracy. Where there are several searches, they are the unit, each the mean of its seeds."""
    if "search" not in table:
        kinds = per_seed(table, "method")
        return _on_rows(table, compare_one({name: kinds[name] for name in (ours, base)}, ours, base), ours, base)
    kinds = per_seed(table, ["method", "search"])
    sides = {name: [kinds[name][number].to_numpy() for number in kinds[name]] for name in (ours, base)}
    if base == RELU:
        return _on_rows(table, estimates.nested(sides[ours], sides[RELU][0]), ours, base)
    averages = {name: [estimates.finite(one).mean() for one in side] for name, side in sides.items()}
    estimate = replace(compare_one(averages, ours, base, "searches and seeds"), over="searches")
    return _on_rows(table, estimate, ours, base)


def _on_rows(table: pd.DataFrame, estimate: estimates.Estimate, ours: str, base: str) -> estimates.Estimate:
    """With the test images, which all models share."""
    pair = per_seed(table, "method").mean().reindex([ours, base])
    return estimates.on_rows(estimate, tuple(pair), images_tested(table)) if pair.notna().all() else estimate


def _restarts(table: pd.DataFrame) -> tuple[list[np.ndarray], np.ndarray]:
    """Accuracies in percent: of each restart its seeds, and of ReLU."""
    kinds = per_seed(table, ["method", "restart", *(["search"] if "search" in table else [])])
    each = [kinds[kind].to_numpy() for kind in kinds if kind[0] == LEARNED]
    return each, kinds.xs(RELU, axis=1, level="method").to_numpy().ravel()


def _average_gain(table: pd.DataFrame) -> Verdict:
    """Restarts differ by design, in start and rate: of several searches, the mean over restarts is one number each."""
    each, base = _restarts(table)
    if "search" in table:
        rows = per_seed(table[table["method"] == LEARNED], ["search", "restart"])
        each = [rows[number].to_numpy().ravel() for number in rows.columns.unique("search")]
    return Verdict(_on_rows(table, estimates.nested(each, base), LEARNED, RELU), above=0.0, unit=POINTS)


def _as_steady(table: pd.DataFrame) -> Verdict:
    """Standard deviation over seeds with a learned function (pooled over restarts) over that with ReLU."""
    each, base = _restarts(table)
    return Verdict(estimates.spread_ratio(each, [base]), above=1 / SIMILAR, below=SIMILAR, unit="×")


_MOVES = "a search of steps that moves: with gradients through the nearest knot, or without gradients"
_WHOLE = "the whole set, whose 10,000 test images tell 1 point, and 40 searches of each kind"
_claim = partial(Claim, decides=_WHOLE, hours=8.0, stands_in=sample)
TABLE1 = (
    _claim("average", "Learned activations obtain a higher accuracy on average (across restarts)", _average_gain),
    _claim(
        "best",
        "The best across restarts is better than ReLU",
        lambda table: _gain(LEARNED, RELU)(table[(table["method"] == RELU) | table["chosen"].astype(bool)]),
    ),
    _claim(
        "variance",
        "The variance across seeds is quite similar (standard deviations within 2 times)",
        _as_steady,
    ),
)
TABLE2 = (
    _claim(
        "nearest",
        "The nearest-neighbor interpolation performs worse than straight lines",
        _gain(LINEAR, "nearest"),
        left_start("nearest"),
        decides=_MOVES,
        hours=0.5,
    ),
    _claim(
        "cubic",
        "The linear one is almost identical to the cubic one in performance (1 to 2 points)",
        _as_good(LINEAR, "cubic"),
    ),
    _claim(
        "all",
        "With every other interpolation the learned function is better than ReLU, too (Table 2)",
        _others_gain,
        decides=_MOVES,
        hours=0.5,
    ),
)
_of_objectives = partial(_claim, hours=4.0)
TABLE3 = (
    _of_objectives("train", "Minimizing the loss on training data is suboptimal", _gain("val", "train")),
    _of_objectives(
        "test", "Validation data is about as good as the test data (within 1 to 2 points)", _as_good("val", "test")
    ),
)


def plot_table(table: pd.DataFrame, more: str = "") -> go.Figure:
    """A row for each kind of runs, ours beside the paper's. table: as for `means`. more: on how to read it."""
    entries = means(table)
    values = entries[["mean", "paper"]].to_numpy(float)
    reach = entries[["error", "paper_error"]].fillna(0.0).to_numpy(float)
    ends = float(np.nanmin(values - reach)) - 1.5, float(np.nanmax(values + reach)) + 1.5
    figure = beside_printed([("test accuracy (%)", entries)], [ends])
    stayed = entries["name"].str.endswith(STAYED).any()
    divergences = [f"{row.name.replace('<br>', ' ')}: {row.lost}" for row in entries.itertuples() if row.lost]
    set_reading(
        figure,
        "Mean over seeds" + (" (and restarts);" if "restart" in table else ";"),
        "whiskers and ±: the standard deviation over these runs, as in the paper."
        if entries["runs"].max() > 1
        else "one seed only, so ours have no spread.",
        "The axis does not begin at 0.",
        f"A function {STAYED} where that is what every search began from and gave." if stayed else "",
        more,
        f"Diverged runs (left out): {'; '.join(divergences)}." if divergences else "",
    )
    return figure


def _summary(table: pd.DataFrame) -> str:
    rows = means(table)
    words = [f"{row.name} {row.mean:.1f} (paper {row.paper:.1f})" for row in rows.dropna(subset="paper").itertuples()]
    each = rows.loc[rows["paper"].isna(), "mean"]
    words += [f"restarts from {each.min():.1f} to {each.max():.1f}"] if len(each) else []
    return f"Test accuracy in %: {'; '.join(words).replace('<br>', ' ')}."


def _against(base: str) -> Callable[[pd.DataFrame], str]:
    """A summary: other kinds of functions compared to this one, here and in the paper."""

    def words(table: pd.DataFrame) -> str:
        names = interpolations.INTERPOLATIONS | OBJECTIVES
        phrases = []
        for kind in (one for one in table["method"].unique() if one not in (RELU, base)):
            gap, printed = _difference(table, kind, base), PRINTED[kind][0] - PRINTED[base][0]
            low, high = gap.interval(LEVEL)
            verdict = " better," if low > 0 else " worse," if high < 0 else " too near to tell,"
            verdict = verdict if np.isfinite(low) else ""
            stayed = f" ({STAYED})" if left_start(kind)(table, "") else ""
            phrases.append(f"{names[kind]}{stayed}{verdict} {effect(gap)} points (paper {signed(printed)})")
        ours, printed = means(table).set_index("key")["mean"][RELU], PRINTED[RELU][0]
        return f"Compared to {names[base]}: {'; '.join(phrases)}. {RELU} has {ours:.1f} % (paper {printed})."

    return words


_CHEAT = (
    "with each objective, the best of the restarts is chosen on validation data, which training"
    " stops on, too; the row of the test split is what it is called, a cheat, and no other run or search of the"
    " lab sees that split"
)


def _table_notes(scale: str, *more: str) -> list[str]:
    times = RELU_TIMES[scale]
    return notes(scale, *more) + ([f"ReLU has {times} times as many seeds"] if times > 1 else [])


_SHARED: dict[str, Any] = {"tasks": (interpolations.ABLATED,), "origin": origin()}
_TABLE: dict[str, Any] = _SHARED | {"printed": printed, "seeds": interpolations.SEEDS}
_ACCURACY = f"Test accuracy of networks with one hidden layer on {interpolations.ABLATED}"
ENTRIES = (
    Entry(
        "simplicity/table1",
        "D",
        "Variance over seeds and restarts",
        f"{_ACCURACY}, with ReLU and with learned functions, over seeds and over restarts of the search",
        "learned functions are better on average, and vary as little; restarts help and are not indispensable",
        plan=plan_restarts,
        measure=measure_restarts,
        plot=lambda table: plot_table(
            table,
            "The best restart is the one with the highest accuracy on validation data, of a model with a seed of its"
            " own.",
        ),
        notes=_table_notes,
        summary=_summary,
        claims=TABLE1,
        minutes={"smoke": 0.1, "laptop": 2, "overnight": 15, "paper": 60},
        **_TABLE,
    ),
    Entry(
        "simplicity/table2",
        "D",
        "Interpolation of learned functions",
        f"{_ACCURACY}, with functions that are learned as steps, straight lines or cubic splines",
        "nearest-neighbor interpolation performs the worst; linear is almost identical to cubic, and faster",
        plan=lambda scale, seeds: _with_relu(scale, seeds) + interpolations.plan(scale, seeds, SEARCHES),
        measure=measure_interpolations,
        plot=plot_table,
        notes=lambda scale: _table_notes(scale, interpolations.INTERPOLATED),
        summary=_against(LINEAR),
        numbers=_summary,
        claims=TABLE2,
        minutes={"smoke": 0.1, "laptop": 2, "overnight": 20, "paper": 120},
        **_TABLE,
    ),
    Entry(
        "simplicity/table3",
        "D",
        "Objectives of the outer loop",
        f"{_ACCURACY}, with functions that are learned to lower the loss on training, validation or test data",
        "training data are suboptimal; validation data do about as well as cheating with the test data",
        plan=plan_objectives,
        measure=accuracies,
        plot=plot_table,
        notes=lambda scale: _table_notes(scale, _CHEAT),
        summary=_against("val"),
        numbers=_summary,
        claims=TABLE3,
        minutes={"smoke": 0.1, "laptop": 2, "overnight": 20, "paper": 120},
        **_TABLE,
    ),
)
