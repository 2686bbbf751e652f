"""Section 3.3 of the simplicity paper: tables, on which networks are less accurate than trees (Figures 5, 6, 20, 22,
23). All five have the same models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.tables import claims, complexity_plots, plots
from lab.papers.simplicity.tables.scores import measured, scored
from lab.papers.simplicity.tables.settings import (
    IAFS,
    LAYERS,
    LEARNED,
    LINEAR,
    NETWORKS,
    OF_INPUTS,
    PREFACTORS,
    RELU,
    SEEDS,
    STARTS,
    TANH,
    TRIES,
    network,
    origin,
    tables,
)
from lab.scale import model_scale

if TYPE_CHECKING:
    import pandas as pd


def plan(scale: str, seeds: int, methods: Sequence[str] = (LINEAR, *NETWORKS)) -> list[Planned]:
    """On each table every method with every number of layers, prefactor and start of a search."""
    return [
        (
            {"table": table, "method": method, "tries": TRIES[scale]} | one,
            network(scale, table, method, seed=seed, **one),
        )
        for table in tables(scale)
        for method in methods
        for one in settings(scale, method)
        for seed in range(seeds)
    ]


def settings(scale: str, method: str) -> list[dict]:
    """What a method is tried with: start, layers, prefactor.

    >>> settings("laptop", "linear model")
    [{'start': '', 'layers': 0, 'prefactor': 1.0}]
    """
    like = model_scale(scale)
    layers = (0,) if method == LINEAR else LAYERS[like]
    prefactors = PREFACTORS[like] if method == TANH else (1.0,)
    starts = {LEARNED: STARTS, IAFS: ("identity",)}.get(method, ("",))
    return [
        {"start": start, "layers": number, "prefactor": prefactor}
        for start in starts
        for number in layers
        for prefactor in prefactors
    ]


def _summary(table: pd.DataFrame) -> str:
    """Mean test accuracy by method, over tables and seeds."""
    best = table[table["chosen"].astype(bool)]
    means = 100 * best.groupby(["method", "table"], sort=False)["accuracy"].mean().groupby("method", sort=False).mean()
    text = ", ".join(f"{method} {means[method]:.1f} %" for method in means.sort_values().index)
    count = best["table"].nunique()
    return f"Test accuracy, mean over {count} table{'s' if count > 1 else ''}: {text}."


def _complexity_summary(table: pd.DataFrame) -> str:
    """Total variation of a table's most accurate networks over that of its chosen ReLU ones: the least, the most."""
    ratios = {}
    for name, rows in table[table["method"].isin(NETWORKS)].groupby("table", sort=False):
        best = rows.loc[rows.groupby("seed")["accuracy"].idxmax().dropna()]
        relu = rows[(rows["method"] == RELU) & rows["chosen"].astype(bool)]
        ratios[name] = best["tv"].mean() / relu["tv"].mean()
    phrases = [f"{ratio:.1f} times ({name})" for name, ratio in sorted(ratios.items(), key=lambda item: item[1])]
    ends = " to ".join(dict.fromkeys((phrases[0], phrases[-1])))
    return f"Total variation of a table's most accurate networks over that of its ReLU ones: {ends}, mean over seeds."


def _fit_summary(table: pd.DataFrame) -> str:
    """Accuracy in training and in testing of the chosen models, mean over tables."""
    best = table[table["chosen"].astype(bool)]
    means = 100 * best.groupby(["method", "table"], sort=False)[["accuracy_train", "accuracy"]].mean()
    means = means.groupby("method", sort=False).mean().sort_values("accuracy")
    text = ", ".join(f"{method} {row.accuracy_train:.1f}/{row.accuracy:.1f}" for method, row in means.iterrows())
    return f"Training/test accuracy in %, mean over tables: {text}."


SATURATES = (
    "which saturate (the paper does not say of what; its axes go to 800, and 100 points of a probability vary by 99 at"
    " most)"
)
_CHOSEN = "numbers of layers, α and starts of searches are chosen on val for each table"
_BASELINES = "k-NN and trees by random search (paper: Bayesian optimization in Matlab)"
_PROBABILITIES = (
    "total variation of probabilities{}; one mark a trained model, its best evaluation (paper: also after fewer steps)"
)


def _notes(scale: str) -> list[str]:
    return [f"{_CHOSEN}; {_BASELINES}"]


def _complexity_notes(scale: str) -> list[str]:
    return [*_notes(scale), _PROBABILITIES.format(f", which trees and k-NN have, too, {SATURATES}")]


def _learned_notes(scale: str) -> list[str]:
    note = "chosen networks are those with the number of layers that is best on val of their table"
    return [note, _PROBABILITIES.format(f", {SATURATES}")]


def _only_learned(scale: str, seeds: int) -> list[Planned]:
    return plan(scale, seeds, (RELU, LEARNED))


_SHARED: dict[str, Any] = {"tasks": tables("laptop"), "origin": origin(), "seeds": SEEDS}
_NO_BASELINES = origin(without=("values of α", "settings tried for k-NN and trees", *OF_INPUTS))
_ACCURACY: dict[str, Any] = {"plan": plan, "measure": scored, "summary": _summary, "notes": _notes} | _SHARED
_COMPLEX: dict[str, Any] = {"measure": measured, "summary": _complexity_summary, "notes": _complexity_notes} | _SHARED
_WHAT = (
    "a linear model, nearest neighbours, boosted trees, and networks with ReLU, tanh(αx), a learned function, and"
    " learned input functions (IAFs)"
)

ENTRIES = (
    Entry(
        "simplicity/fig5",
        "3.3",
        "Kinds of models on tables",
        f"Test accuracy over all tables: {_WHAT}",
        "vanilla MLPs are often worse than decision trees; learned functions eliminate this gap, input functions enable"
        " even better performance",
        plot=plots.fig5,
        claims=claims.FIG5,
        minutes={"smoke": 0.2, "laptop": 10, "overnight": 25, "paper": 600},
        **_ACCURACY,
    ),
    Entry(
        "simplicity/fig20",
        "E.4",
        "Kinds of models on each table",
        f"Test accuracy on each table: {_WHAT}",
        "in almost all cases ReLU is surpassed by TanH with a prefactor, learned functions and learned input functions",
        plot=plots.fig20,
        claims=claims.FIG20,
        minutes={"smoke": 0.2, "laptop": 10, "overnight": 25, "paper": 600},
        **_ACCURACY,
    ),
    Entry(
        "simplicity/fig6",
        "3.3",
        "Test accuracy against complexity on tables",
        "Each mark a network: its total variation on paths through the data, and its test accuracy; ReLU, and functions"
        " learned from ReLU and from zero",
        "learned functions perform better in all cases, but accuracy peaks at a different complexity on each table",
        plan=_only_learned,
        measure=measured,
        plot=complexity_plots.fig6,
        claims=claims.FIG6,
        summary=_complexity_summary,
        notes=_learned_notes,
        tasks=tables("laptop"),
        origin=_NO_BASELINES,
        seeds=SEEDS,
        minutes={"smoke": 0.2, "laptop": 7, "overnight": 25, "paper": 350},
    ),
    Entry(
        "simplicity/fig22",
        "E.4",
        "Test against training accuracy on tables",
        f"Each mark a model, its training and its test accuracy: {_WHAT}",
        "accuracy is almost always best with input functions, and the better models are more complex; k-NN, trees and"
        " learned functions lie outside the front of ReLU networks",
        plan=plan,
        plot=complexity_plots.fig22,
        claims=claims.FIG22,
        minutes={"smoke": 0.2, "laptop": 11, "overnight": 25, "paper": 600},
        **(_COMPLEX | {"summary": _fit_summary}),
    ),
    Entry(
        "simplicity/fig23",
        "E.4",
        "Test accuracy against complexity, all models",
        f"Each mark a model, its total variation on paths through the data and its test accuracy: {_WHAT}",
        "accuracy peaks at different complexity levels across data sets",
        plan=plan,
        plot=complexity_plots.fig23,
        claims=claims.FIG23,
        minutes={"smoke": 0.2, "laptop": 11, "overnight": 25, "paper": 600},
        **_COMPLEX,
    ),
)
