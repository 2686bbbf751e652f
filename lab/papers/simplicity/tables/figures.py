"""Section 3.3 of the simplicity paper: tables, on which networks are less accurate than trees (Figures 5, 6, 20, 22,
23). All five have the same models; those that are no networks are fitted when they are measured.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.models.baselines import Baseline, fit
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.tables import claims, complexity_plots, plots
from lab.papers.simplicity.tables.settings import (
    IAFS,
    LAYERS,
    LEARNED,
    LINEAR,
    NEIGHBOURS,
    NETWORKS,
    PREFACTORS,
    RELU,
    SEEDS,
    STARTS,
    TANH,
    TREES,
    TRIES,
    network,
    origin,
    tables,
)
from lab.probes import total_variation
from lab.probes.calling import Model, function_of
from lab.run import Run
from lab.scale import model_scale
from lab.tasks import Tabular
from lab.tasks.table import TableTask

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

PATHS, SAMPLES, SEED = 200, 100, 0  # App. F; the seed of the paths, the same for all models
BASELINES = {NEIGHBOURS: "knn", TREES: "trees"}  # by their names in lab.models.baselines
SETTING = ["start", "layers", "prefactor"]  # what is chosen on `val` for each method and table


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


def scored(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """Accuracies of all models, one row each: table, method, start, layers, prefactor, seed, accuracy (on `test`, 0 to
    1, with the weights that were kept; NaN where the run diverged), accuracy_val, accuracy_train, chosen (whether it
    has the setting of its method with the highest mean accuracy on `val`), diverged. k-NN and trees, which stand beside
    the linear model: seed 0, layers 0.
    """
    return _scored(runs, complexity=False)


def measured(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """As `scored`, and tv, tv_low, tv_high: the total variation of the probabilities on paths between training rows of
    different classes, with its interval over paths."""
    return _scored(runs, complexity=True)


def _scored(runs: Sequence[tuple[dict, Run]], complexity: bool) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    rows = []
    for labels, run in runs:
        row = {name: labels[name] for name in ("table", "method", *SETTING)} | {"seed": run.spec.seed}
        row |= checkpoint_accuracies(run) | {"diverged": run.diverged is not None}
        if complexity:
            row |= variation(run.spec.task, None if row["diverged"] else probabilities(run))
        rows.append(row)
    pairs = ((labels["table"], labels["tries"]) for labels, _ in runs if labels["method"] == LINEAR)
    for table, tries in dict.fromkeys(pairs):
        for method, kind in BASELINES.items():
            model, splits = baseline(table, kind, tries), Tabular(table).split()
            row = {"table": table, "method": method, "start": "", "layers": 0, "prefactor": 1.0, "seed": 0}
            row |= {name: model.accuracy(splits[split]) for name, split in _SPLITS.items()} | {"diverged": False}
            rows.append(row | (variation(model.task, model) if complexity else {}))
    scores = pd.DataFrame(rows)
    scores["chosen"] = chosen(scores)
    return scores.round({name: 5 for name in scores.select_dtypes(np.floating)})


_SPLITS = {"accuracy": "test", "accuracy_val": "val", "accuracy_train": "train"}


@functools.lru_cache(maxsize=64)  # entries that are made one after the other share them
def baseline(table: str, kind: str, tries: int) -> Baseline:
    """k-NN or trees, with the setting that is most accurate on `val` of so many."""
    return fit(Tabular(table), kind, tries)


def checkpoint_accuracies(run: Run) -> dict[str, float]:
    """Accuracies of the weights that a run kept; NaN where it diverged."""
    at = run.steps == run.notes["kept"]
    diverged = run.diverged is not None or not at.any()
    return {
        name: float("nan") if diverged else float(run.scores[f"accuracy_{split}"][at][0])
        for name, split in _SPLITS.items()
    }


def probabilities(run: Run) -> Model:
    """What a run's model answers, (N, D) → (N, 2)."""
    logits = function_of(run.model())

    def f(x: Tensor) -> Tensor:
        return logits(x).softmax(-1)

    return f


def variation(task: TableTask, f: Model | None) -> dict[str, float]:
    """tv, tv_low, tv_high of a function on the table's paths; NaN of none."""
    if f is None:
        return dict.fromkeys(("tv", "tv_low", "tv_high"), float("nan"))
    train = task.split()["train"]
    estimate = total_variation(f, train.inputs, train.targets, PATHS, SAMPLES, SEED)
    return {"tv": estimate.value, "tv_low": estimate.low, "tv_high": estimate.high}


def chosen(table: pd.DataFrame) -> pd.Series:
    """Whether a row has the setting with which its method has the highest mean accuracy on `val` of its table; a
    setting of which a run diverged is not chosen where there is another."""
    where = ["table", "method"]
    means = table.groupby([*where, *SETTING], sort=False)["accuracy_val"].agg(lambda a: a.mean(skipna=False))
    best = set(means.fillna(-1.0).groupby(where, sort=False).idxmax())
    return table[[*where, *SETTING]].apply(tuple, axis=1).isin(best)


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
    return f"The most accurate networks of a table vary {ends} as much as its chosen ReLU networks, mean over seeds."


def _fit_summary(table: pd.DataFrame) -> str:
    """Accuracy in training and in testing of the chosen models, mean over tables."""
    best = table[table["chosen"].astype(bool)]
    means = 100 * best.groupby(["method", "table"], sort=False)[["accuracy_train", "accuracy"]].mean()
    means = means.groupby("method", sort=False).mean().sort_values("accuracy")
    text = ", ".join(f"{method} {row.accuracy_train:.1f}/{row.accuracy:.1f}" for method, row in means.iterrows())
    return f"Training/test accuracy in %, mean over tables: {text}."


_CAPPED = "(paper, by its Figure 30: outputs, capped)"
_CHOSEN = "numbers of layers, α and starts of searches are chosen on val for each table"
_BASELINES = "k-NN and trees by random search (paper: Bayesian optimization in Matlab)"
_PROBABILITIES = (
    "total variation of probabilities{}; one mark a trained model, its best evaluation (paper: also after fewer steps)"
)


def _notes(scale: str) -> list[str]:
    return [f"{_CHOSEN}; {_BASELINES}"]


def _complexity_notes(scale: str) -> list[str]:
    return [*_notes(scale), _PROBABILITIES.format(f", which trees and k-NN have, too {_CAPPED}")]


def _learned_notes(scale: str) -> list[str]:
    note = "chosen networks are those with the number of layers that is best on val of their table"
    return [note, _PROBABILITIES.format(f" {_CAPPED}")]


def _only_learned(scale: str, seeds: int) -> list[Planned]:
    return plan(scale, seeds, (RELU, LEARNED))


_SHARED: dict[str, Any] = {"tasks": tables("laptop"), "origin": origin(), "seeds": SEEDS}
_NO_BASELINES = origin(without=("values of α", "settings tried for k-NN and trees"))
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
