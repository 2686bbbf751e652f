"""Appendix D of the simplicity paper: what its search for functions owes to its parts.

Tables 1 to 3 and Figure 15 have networks with one hidden layer on one image set, and share the runs with ReLU and those
with the function that the search finds as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.images.accuracy import accuracies
from lab.papers.simplicity.images.settings import RELU
from lab.papers.simplicity.origin import episode_result
from lab.papers.simplicity.search import claims, plots
from lab.papers.simplicity.search.plots import INTERPOLATIONS, OBJECTIVES
from lab.papers.simplicity.search.settings import (
    DRAWN_SEARCHES,
    LINEAR,
    RELU_TIMES,
    SEARCHES,
    SEEDS,
    ablated,
    learned,
    origin,
    relu,
    search,
)
from lab.plots.caption import counted
from lab.run import Run
from lab.scale import SCALES
from lab.spec import EpisodeSpec
from lab.training.interpolation import FINE

if TYPE_CHECKING:
    import pandas as pd

LEARNED = claims.LEARNED


def restarts(scale: str, seeds: int) -> list[Planned]:
    """Runs with ReLU, and with the function of each restart of each search."""
    return [({"method": RELU, "restart": -1} | labels, spec) for labels, spec in _relu(scale, seeds)] + [
        ({"method": LEARNED, "restart": restart} | labels, spec)
        for labels, one in _searches(scale)
        for restart in range(len(one.restarts))
        for spec in learned(scale, seeds, one, restart)
    ]


def with_relu_correlation(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """As `image_sets.accuracies`, and relu: the correlation of a run's function with ReLU over its control points; NaN
    of ReLU itself, and of a constant."""
    table = accuracies(runs)
    relu_correlation = [
        claims.relu_correlation(*_chosen_function(run)) if labels["method"] != RELU else float("nan")
        for labels, run in runs
    ]
    return table.assign(relu=np.round(relu_correlation, 6))


def _chosen_function(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Control points and values of the function that a run's search chose."""
    result = episode_result(run)
    value = result.of_restart(result.winner)["phi"].values.double().numpy().ravel()
    return np.linspace(result.spec.low, result.spec.high, len(value)), value


def interpolations(scale: str, seeds: int) -> list[Planned]:
    """Runs with ReLU, and with the function of each interpolation."""
    plan = [({"method": RELU} | labels, spec) for labels, spec in _relu(scale, seeds)]
    return plan + _functions_of(scale, seeds)


def _functions_of(scale: str, seeds: int, searches: Mapping[str, int] = SEARCHES) -> list[Planned]:
    return [
        ({"method": kind} | labels, spec)
        for kind in INTERPOLATIONS
        for labels, one in _searches(scale, kind, searches=searches)
        for spec in learned(scale, seeds, one)
    ]


def objectives(scale: str, seeds: int) -> list[Planned]:
    """Runs with ReLU, and with the function for each outer objective."""
    return [({"method": RELU} | labels, spec) for labels, spec in _relu(scale, seeds)] + [
        ({"method": name} | labels, spec)
        for name in OBJECTIVES
        for labels, one in _searches(scale, objective=name)
        for spec in learned(scale, seeds, one)
    ]


def _searches(
    scale: str, interpolation: str = LINEAR, objective: str = "val", searches: Mapping[str, int] = SEARCHES
) -> list[tuple[dict, EpisodeSpec]]:
    """The searches of a kind; where there are several, each with its number as a label."""
    each = [search(scale, interpolation, objective, number) for number in range(searches[scale])]
    return [({"search": number} if len(each) > 1 else {}, one) for number, one in enumerate(each)]


def _relu(scale: str, seeds: int) -> list[Planned]:
    """Runs that need no search."""
    runs = relu(scale, RELU_TIMES[scale] * seeds)
    return [({"search": -1} if SEARCHES[scale] > 1 else {}, spec) for spec in runs]


def by_restart(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """As `image_sets.accuracies`, with start and rate (of the knots) of a run's restart, and whether it was chosen (on
    val, by the accuracy of another run)."""
    table = accuracies(runs)
    for number, (labels, run) in enumerate(runs):
        row = ("", np.nan, False)
        if labels["restart"] >= 0:
            result = episode_result(run)
            restart = result.spec.restarts[labels["restart"]]
            row = (restart.start, restart.rate, result.winner == labels["restart"])
        table.loc[number, ["start", "rate", "chosen"]] = row
    return table.astype({"rate": float, "chosen": bool})


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The function of each restart of each search, one row a knot: method, search (where there are several), restart
    (its seed), start, accuracy_val (of the model that was trained with it to decide), chosen, x, value."""
    import pandas as pd

    parts = []
    for labels, run in {tuple(labels.values()): (labels, run) for labels, run in reversed(runs)}.values():
        result = episode_result(run)
        for number, restart in enumerate(result.spec.restarts):
            value = result.of_restart(number)["phi"].values.double().numpy().ravel()
            x = np.linspace(result.spec.low, result.spec.high, len(value))
            row = labels | {"restart": restart.seed, "start": restart.start, "chosen": number == result.winner}
            row["accuracy_val"] = float(result.results[number, :, 0].mean())
            row |= {"x": x.round(4), "value": value.round(4)}
            parts.append(pd.DataFrame(row))
    order = {method: place for place, method in enumerate(INTERPOLATIONS)}
    return pd.concat(sorted(parts, key=lambda part: order[part["method"].iloc[0]]), ignore_index=True)


def _summary(table: pd.DataFrame) -> str:
    """The rows that the paper has, too, and from where to where restarts go."""
    rows = plots.means(table)
    words = [f"{row.name} {row.mean:.1f} (paper {row.paper:.1f})" for row in rows.dropna(subset="paper").itertuples()]
    restarts = rows.loc[rows["paper"].isna(), "mean"]
    words += [f"restarts from {restarts.min():.1f} to {restarts.max():.1f}"] if len(restarts) else []
    return f"Test accuracy in %: {'; '.join(words).replace('<br>', ' ')}."


def _functions_summary(table: pd.DataFrame) -> str:
    values = np.array(claims.restart_correlations(table))[claims.left_relu(table)]
    values = values[np.isfinite(values)]
    if not len(values):
        return "No restart left ReLU and zero, so there are no functions to compare."
    spread = f"{values.mean():.2f} on average ({values.min():.2f} to {values.max():.2f})"
    words = f"{spread} in the {counted(len(values), 'restart')} that left ReLU and zero"
    return f"Correlation of the linear and the cubic function of the same restart: {words}."


def _notes(scale: str, searches: Mapping[str, int] = SEARCHES) -> list[str]:
    number = searches[scale]
    times = "once, by the restarts of one search" if number == 1 else f"by {number} searches, each with restarts"
    return [f"functions are learned {times}; seeds are those of the models that are trained with them"]


def _and_relu(notes: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Of entries that have ReLU, too."""

    def with_relu(scale: str) -> list[str]:
        more = [f"ReLU has {RELU_TIMES[scale]} times as many seeds"] if RELU_TIMES[scale] > 1 else []
        return notes(scale) + more

    return with_relu


def _interpolation_notes(scale: str, searches: Mapping[str, int] = SEARCHES) -> list[str]:
    return [
        *_notes(scale, searches),
        f"control points are learned; between two of them the network has {FINE} straight lines."
        " Nearest: all but the middle one are flat; that one lets a gradient through (the paper does not say how"
        " weights before such a function learn). Cubic: the natural spline",
    ]


def _objective_notes(scale: str) -> list[str]:
    return [
        *_notes(scale),
        "with each objective, the best of the restarts is chosen on validation data, which training"
        " stops on, too; the row of the test split is what it is called, a cheat, and no other run or search of the"
        " lab sees that split",
    ]


_SHARED: dict[str, Any] = {"tasks": (ablated(),), "origin": origin(), "seeds": SEEDS}
_ACCURACY = f"Test accuracy of networks with one hidden layer on {ablated()}"
ENTRIES = (
    Entry(
        "simplicity/table1",
        "D",
        "Variance over seeds and restarts",
        f"{_ACCURACY}, with ReLU and with learned functions, over seeds and over restarts of the search",
        "learned functions are better on average, and vary as little; restarts help and are not indispensable",
        plan=restarts,
        measure=by_restart,
        plot=plots.table1,
        summary=_summary,
        notes=_and_relu(_notes),
        claims=claims.TABLE1,
        printed=plots.printed,
        minutes={"smoke": 0.1, "laptop": 3, "overnight": 15, "paper": 60},
        **_SHARED,
    ),
    Entry(
        "simplicity/table2",
        "D",
        "Interpolation of learned functions",
        f"{_ACCURACY}, with functions that are learned as steps, straight lines or cubic splines",
        "nearest-neighbor interpolation performs the worst; linear is almost identical to cubic, and faster",
        plan=interpolations,
        measure=with_relu_correlation,
        plot=plots.table2,
        summary=_summary,
        notes=_and_relu(_interpolation_notes),
        claims=claims.TABLE2,
        printed=plots.printed,
        minutes={"smoke": 0.1, "laptop": 4, "overnight": 25, "paper": 120},
        **_SHARED,
    ),
    Entry(
        "simplicity/table3",
        "D",
        "Objectives of the outer loop",
        f"{_ACCURACY}, with functions that are learned to lower the loss on training, validation or test data",
        "training data are suboptimal; validation data do about as well as cheating with the test data",
        plan=objectives,
        measure=accuracies,
        plot=plots.table3,
        summary=_summary,
        notes=_and_relu(_objective_notes),
        claims=claims.TABLE3,
        printed=plots.printed,
        minutes={"smoke": 0.1, "laptop": 4, "overnight": 25, "paper": 120},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig15",
        "D",
        "Functions learned with different interpolations",
        f"What the searches of Table 2 found for {ablated()}: values at control points, with steps, straight lines or a"
        " cubic spline between them",
        "the linear and cubic ones are nearly identical",
        plan=partial(_functions_of, searches=DRAWN_SEARCHES),
        measure=functions,
        plot=plots.fig15,
        summary=_functions_summary,
        notes=partial(_interpolation_notes, searches=DRAWN_SEARCHES),
        claims=claims.FIG15,
        minutes={"smoke": 0.1, "laptop": 3, "overnight": 20, "paper": 120},
        **(_SHARED | {"seeds": dict.fromkeys(SCALES, 1)}),
    ),
)
