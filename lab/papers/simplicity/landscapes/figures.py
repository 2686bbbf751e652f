"""Figures 7 and 24 of the simplicity paper: models of a table looked at one by one, in weight space and in input space.

Networks remember their weights on the way. What is drawn is of the first seed; what is claimed is measured of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.models.baselines import Baseline
from lab.papers.entry import Entry, Planned
from lab.papers.origin import Origin
from lab.papers.simplicity.complexity import SATURATES
from lab.papers.simplicity.landscapes import claims, plots
from lab.papers.simplicity.landscapes.measures import FINE, RADIUS, as_row, in_input_space, of_network
from lab.papers.simplicity.tables.accuracy import BASELINES, baseline, checkpoint_accuracies, is_chosen
from lab.papers.simplicity.tables.settings import (
    IAFS,
    LEARNED,
    NETWORKS,
    PREFACTORS,
    RELU,
    SEEDS,
    START,
    STARTS,
    TANH,
    TREES,
    TRIES,
    network,
    origin,
    tables,
)
from lab.probes.calling import Model
from lab.run import Run
from lab.scale import model_scale
from lab.spec import replace

if TYPE_CHECKING:
    import pandas as pd

PAPER_TABLES = {"simplicity/fig7": ("electricity",), "simplicity/fig24": ("electricity", "MagicTelescope", "covertype")}
DEPTH = 2  # hidden layers, of all networks
CHECKPOINTS = {"smoke": 2, "laptop": 30, "paper": 50}  # on the way


def tables_of(scale: str, name: str) -> tuple[str, ...]:
    """The paper's tables of an entry, or their samples, that belong to a scale; where there is none, its last one of
    those that are not a sample."""
    names, theirs = tables(model_scale(scale)), PAPER_TABLES[name]
    matches = [table for table in names if table.removesuffix("_sample") in theirs]
    whole = [table for table in names if not table.endswith("_sample")]
    return tuple(matches) or tuple(whole or names)[:1]


def plan(scale: str, seeds: int, names: Sequence[str]) -> list[Planned]:
    """Every network of `DEPTH` layers on each table; TanH with every prefactor, of which `val` chooses."""
    planned, like = [], model_scale(scale)
    for table in names:
        for method in NETWORKS:
            prefactors = PREFACTORS[like] if method == TANH else (1.0,)
            for prefactor in prefactors:
                spec = network(scale, table, method, DEPTH, START if method == LEARNED else STARTS[0], prefactor)
                recipe = replace(spec.recipe, trajectory=max(1, spec.recipe.steps // CHECKPOINTS[like]))
                labels = {
                    "table": table,
                    "method": method,
                    "start": "",
                    "layers": DEPTH,
                    "prefactor": prefactor,
                    "scale": scale,
                }
                planned += [(labels, replace(spec, recipe=recipe, seed=seed)) for seed in range(seeds)]
    return planned


def plan_fig7(scale: str, seeds: int) -> list[Planned]:
    """Networks of Figure 7."""
    return plan(scale, seeds, tables_of(scale, "simplicity/fig7"))


def plan_fig24(scale: str, seeds: int) -> list[Planned]:
    """Networks of Figure 24."""
    return plan(scale, seeds, tables_of(scale, "simplicity/fig24"))


def measured(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a number: table, method, seed, part, number, x, y, value.

    part, of every seed: "accuracy" (on `test`, 0 to 1), "course" (total variation, x: step of training), "solution"
    (that of the weights that were kept), "ambient" (its mean over the random plane; where there are several, radius
    says how far each reaches), "alignment" (with axes, mean over
    planes of the input space); of the first one: "function" (number: of the input, for IAFs; else 0; x, value),
    "loss" and "complexity" (on the plane of the training, x and y), "way" (of the training in it: x, y, number: the
    checkpoint), "zoom" (complexity on the random plane), "slice" (number: which; log-odds of networks, probabilities of
    others) and "point" (the training row in it, x and y). Of the prefactors the one best on `val`. A run that diverged
    has NaN in those of every seed and nothing else. prefactor: α.
    """
    import pandas as pd

    scores = pd.DataFrame(
        [
            {name: labels[name] for name in ("table", "method", "start", "layers", "prefactor")}
            | checkpoint_accuracies(run)
            for labels, run in runs
        ]
    )
    rows, fine = [], FINE[runs[0][0]["scale"]]
    for (labels, run), wanted in zip(runs, is_chosen(scores), strict=True):
        if wanted:
            columns = {"table": labels["table"], "method": labels["method"], "prefactor": labels["prefactor"]}
            columns["seed"] = run.spec.seed
            rows += [columns | row for row in of_network(run, fine)]
    for table, scale in dict.fromkeys((labels["table"], labels["scale"]) for labels, _ in runs):
        for method, kind in BASELINES.items():
            model = baseline(table, kind, TRIES[scale])
            columns = {"table": table, "method": method, "prefactor": 1.0, "seed": 0}
            rows.append(columns | as_row("accuracy", value=model.accuracy(model.task.split()["test"])))
            rows += [columns | row for row in in_input_space(model.task, _probability(model), fine, first=True)]
    return pd.DataFrame(rows)


def _probability(baseline: Baseline) -> Model:
    """That of class 1, (N, D) → (N,)."""
    return lambda x: baseline(x)[:, 1]


def _summary(table: pd.DataFrame) -> str:
    """Complexity of the solutions and around them, and alignment, of what the paper compares; mean over seeds."""
    complexity = _by_table(table, (RELU, LEARNED, IAFS), "solution", "ambient", named=False)
    axes = _by_table(table, (RELU, IAFS, TREES), "alignment", named=False)
    what = "Total variation, ReLU, learned, input functions (on the random plane)"
    return f"{what}: {complexity}. Alignment with axes, ReLU, input functions, trees: {axes}."


def _numbers(table: pd.DataFrame) -> str:
    """The same of all models, and functions of the inputs."""
    every = table["method"].unique()
    return (
        "Mean over seeds. Total variation of the probabilities, in brackets its mean over the random plane:"
        f" {_by_table(table, every, 'solution', 'ambient')}. Alignment with axes (1: every change is along an input):"
        f" {_by_table(table, every, 'alignment')}.{_identity(table)}"
    )


def _by_table(table: pd.DataFrame, methods: Sequence[str], *parts: str, named: bool = True) -> str:
    """Means of one or two parts on each table, of the methods that have them; not named, a dash stands for one that
    has none."""
    words = []
    for name, rows in table.groupby("table", sort=False):
        means = rows.groupby(["method", "part"])["value"].mean().unstack()
        known = means.reindex(index=methods, columns=parts)
        phrases = [
            (f"{method} " if named else "") + ("–" if first != first else _means(first, more))
            for method, first, *more in (known.dropna() if named else known).itertuples()
        ]
        words.append(f"{name} {', '.join(phrases) or 'every run diverged'}")
    return "; ".join(words)


def _means(first: float, more: Sequence[float]) -> str:
    return f"{first:.2f}" + "".join(f" ({value:.2f})" for value in more)


def _identity(table: pd.DataFrame) -> str:
    """How far functions of the inputs are still the line that they started from."""
    functions = table[(table["part"] == "function") & (table["method"] == IAFS)]
    correlations = [
        float(np.corrcoef(rows["x"], rows["value"])[0, 1])
        for _, rows in functions.groupby(["table", "number"])
        if np.ptp(rows["value"]) > 0
    ]
    if not correlations:
        return ""
    median, low = f"{np.median(correlations):.3f}", f"{min(correlations):.3f}"
    return f" Functions of the inputs (IAFs) start as the identity; correlation with it: median {median}, lowest {low}."


def _notes(scale: str) -> list[str]:
    fine = FINE[scale]
    reach = ", ".join(f"{radius:g}" for radius in (*fine.radii, RADIUS))
    return [
        f"all networks have {DEPTH} hidden layers; α is chosen on val; hidden functions were learned from {START}",
        f"landscapes of {fine.grid} × {fine.grid} networks (paper 50 × 50), loss on {fine.rows:,} training rows,"
        f" complexity on {fine.paths} paths of {fine.samples} points (paper 200 of 100), of probabilities, {SATURATES}",
        f"the random plane has directions normalized by neuron, and reaches {reach} lengths of the weights (the paper"
        " does not say)",
        "slices of trees and k-NN are probabilities (paper: regression trees)",
    ]


def _origin(name: str) -> Origin:
    return origin(partial(tables_of, name=name), PAPER_TABLES[name], without=("hidden layers",))


_PARTS = (
    "for each model its function, loss and complexity on the plane of its training, complexity on a random plane, and"
    " its answers around training rows"
)
_SHARED: dict[str, Any] = {
    "measure": measured,
    "seeds": SEEDS,
    "summary": _summary,
    "numbers": _numbers,
    "notes": _notes,
}
ENTRIES = (
    Entry(
        "simplicity/fig7",
        "3.3",
        "Models of a table in weight space and in input space",
        f"One table; {_PARTS}",
        "complexity rises in training, most with input functions, and is higher still around the solution; those have"
        " boundaries along axes, as trees",
        plan=plan_fig7,
        plot=plots.fig7,
        tasks=tables_of("laptop", "simplicity/fig7"),
        origin=_origin("simplicity/fig7"),
        minutes={"smoke": 0.2, "laptop": 3, "overnight": 8, "paper": 60},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig24",
        "E.4",
        "Models of several tables in weight space and in input space",
        f"On each table {_PARTS}",
        "the observations are similar across data sets",
        plan=plan_fig24,
        plot=plots.fig24,
        tasks=tables_of("laptop", "simplicity/fig24"),
        origin=_origin("simplicity/fig24"),
        claims=claims.FIG24,
        minutes={"smoke": 0.2, "laptop": 6, "overnight": 20, "paper": 180},
        **(_SHARED | {"seeds": SEEDS | {"overnight": 12}}),
    ),
)
