"""Section 3.4 of the simplicity paper: can a non-linearity steer a network to one feature of several that tell the
label? Figures 9, 25 and 26, on collages of two tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from lab import estimates
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.origin import episode_result
from lab.papers.simplicity.settings import RELU
from lab.papers.simplicity.shortcut import claims, plots, tile_plots
from lab.papers.simplicity.shortcut.settings import (
    ALONE,
    CIFAR,
    CIFAR_PART,
    EVALUATE,
    FOR,
    SEEDS,
    SHIPPED,
    SVHN,
    origin,
    shortcut,
)
from lab.plots.caption import signed
from lab.resolve import resolve
from lab.run import Run
from lab.spec import needs
from lab.statistics import LEVEL
from lab.tasks import Collage
from lab.tasks.collage import TILES
from lab.training.descent_fleet import fleet_of

if TYPE_CHECKING:
    import pandas as pd

METHODS = (RELU, *FOR.values())


def planned(
    task: Collage, spectral: Sequence[bool] = (True,), methods: Sequence[str] = METHODS
) -> Callable[[str, int], list[Planned]]:
    """The plan of an entry: each method, with or without spectral normalization."""

    def plan(scale: str, seeds: int) -> list[Planned]:
        return [
            ({"task": base.task.name, "spectral": normalized, "method": method}, spec)
            for normalized in spectral
            for base in (shortcut(scale, normalized, task),)
            for method in methods
            for spec in base.runs(method, seeds)
        ]

    return plan


def trajectories(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation, the first one of the initial weights: task, spectral, method, seed, step,
    diverged, and accuracies, 0 to 1: accuracy and val on these splits (both tiles tell the label; for models trained on
    one tile: that one does); easy, hard, val_easy and val_hard where only one tile does."""
    import pandas as pd

    parts = []
    names = {"accuracy": "test", "val": "val"} | {tile: f"test_{tile}" for tile in TILES}
    names |= {f"val_{tile}": f"val_{tile}" for tile in TILES}
    for labels, run in runs:
        first = _initial(run)
        columns = labels | {"seed": run.spec.seed, "step": [0, *run.steps]}
        columns |= {name: [first[split], *run.accuracy_on(split)] for name, split in names.items()}
        parts.append(pd.DataFrame(columns | {"diverged": bool(run.diverged)}))
    return pd.concat(parts, ignore_index=True).round(dict.fromkeys(names, 5))


def _initial(run: Run) -> dict[str, float]:
    """Accuracy before the first step, by split."""
    spec = run.spec
    parts = tuple(resolve(part, run.store) for part in spec.model.parts.values())
    scores = fleet_of([spec], [parts]).scores()
    return {split: float(scores[f"accuracy_{split}"][0]) for split in EVALUATE}


def functions(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """What each restart of each search found, one row a knot: spectral, method, restart, accuracy_val (where only the
    tile of the method tells the label, of the model that decided), chosen, x, value."""
    import numpy as np
    import pandas as pd

    parts, known = [], set()
    for labels, run in runs:
        for search in needs(run.spec):
            if search in known:
                continue
            known.add(search)
            search_result = episode_result(run)
            for restart, result in enumerate(search_result.results):
                value = search_result.of_restart(restart)["phi"].values.detach().double().numpy().ravel()
                columns = {name: labels[name] for name in ("spectral", "method")} | {"restart": restart}
                columns |= {"accuracy_val": float(result[:, 0].mean()), "chosen": restart == search_result.winner}
                x = np.linspace(search.low, search.high, len(value))
                parts.append(pd.DataFrame(columns | {"x": x.round(6), "value": value.round(6)}))
    return pd.concat(parts, ignore_index=True)


def _percent(table: pd.DataFrame, method: str, stopped_for: str) -> dict[str, str]:
    """Test accuracy of a method on each tile, mean over seeds, stopped where it is best for what a method is for."""
    rows = claims.stopped(table[table["method"] == method], claims.watched(stopped_for))
    return {tile: f"{100 * rows[tile].mean():.0f} %" for tile in TILES}


def _accuracies(table: pd.DataFrame) -> str:
    """Accuracy on either tile of each method, with early stopping where it is best for what the method is for."""
    words, names = [], plots.tile_titles(table)
    for spectral, rows in table.groupby("spectral", sort=False):
        phrases = []
        for method in METHODS:
            pair = ", ".join(f"{value} on {names[tile]}" for tile, value in _percent(rows, method, method).items())
            phrases.append(f"{plots.title(method, names)} {pair}")
            if method != RELU:
                phrases[-1] += f" (ReLU stopped alike {' and '.join(_percent(rows, RELU, method).values())})"
        which = f"With{'' if spectral else 'out'} spectral normalization"
        words.append(f"{which}: {'; '.join(phrases)}")
    return (
        f"Test accuracy where only one tile tells the label, mean over seeds. {'. '.join(words)}. Of each run the"
        " evaluation counts that is best on validation data: ambiguous ones for ReLU, those of its tile for a"
        " learned function."
    )


def _summary(table: pd.DataFrame) -> str:
    """Each function on its own tile, next to ReLU with the same early stopping."""
    names = plots.tile_titles(table)
    phrases = []
    for tile, method in FOR.items():
        learned, plain = (_percent(table, each, method)[tile] for each in (method, RELU))
        phrases.append(f"{names[tile]} {learned} and {plain}")
    kinds = f"with its function, and {RELU} stopped alike"
    return f"Accuracy where one tile alone tells the label, {kinds}: {', '.join(phrases)}. {_steering(table)}"


def _steering(table: pd.DataFrame) -> str:
    """How far each function steers to its tile, with its interval, by kind of training."""
    words, names = [], plots.tile_titles(table)
    for spectral, rows in table.groupby("spectral", sort=False):
        phrases = [f"{names[tile]} {_with_interval(estimates.mean(claims.steering(rows, tile)))}" for tile in TILES]
        which = f" with{'' if spectral else 'out'} spectral normalization" if table["spectral"].nunique() > 1 else ""
        words.append(f"{', '.join(phrases)}{which}")
    return f"Points by which each function prefers its tile more than ReLU does: {'; '.join(words)}."


def _with_interval(estimate: estimates.Estimate) -> str:
    """An effect, and its 95 % interval where there is one."""
    if not isfinite(estimate.effect):
        return "–"
    low, high = estimate.interval(LEVEL)
    return signed(estimate.effect) + (f" [{signed(low)}, {signed(high)}]" if low == low else "")


def _notes(task: Collage) -> Callable[[str], list[str]]:
    def notes(scale: str) -> list[str]:
        texts = []
        if shortcut(scale, task=task).task == SHIPPED:
            texts.append(
                f"{tile_plots.names_of(SHIPPED.name)['easy']} is called the easy tile because ReLU relies on it"
                " (chosen on validation data)"
            )
            if task == SVHN:
                texts.append("at this scale the runs are those of Figure 9")
        return texts

    return notes


_SHARED: dict[str, Any] = {
    "measure": trajectories,
    "functions": functions,
    "summary": _summary,
    "numbers": _accuracies,
    "seeds": SEEDS,
}

ENTRIES = (
    Entry(
        "simplicity/fig9",
        "3.4",
        "Shortcut learning: functions that steer to one tile or the other",
        "Collages of two images that both tell the label in training; test accuracy where only one of them does, with"
        " ReLU and with functions learned for either tile, at early stopping and over training",
        "a learned function steers to its tile; ReLU is at chance (10 %) on the hard one",
        plan=planned(CIFAR),
        plot=plots.fig9,
        tasks=(SHIPPED.name, CIFAR_PART.name, CIFAR.name),
        origin=origin(CIFAR, (True,)),
        notes=_notes(CIFAR),
        claims=claims.FIG9,
        minutes={"smoke": 0.1, "laptop": 7, "overnight": 7, "paper": 60},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig25",
        "E.5",
        "Shortcut learning with and without spectral normalization",
        "Collages of two images: test accuracy where only one tile tells the label, over training, with and without"
        " every weight matrix divided by its largest singular value",
        "the ability to steer is slightly better with spectral normalization",
        plan=planned(CIFAR, (False, True), (*METHODS, *ALONE.values())),
        plot=plots.fig25,
        tasks=(SHIPPED.name, CIFAR_PART.name, CIFAR.name),
        origin=origin(CIFAR, (False, True)),
        notes=_notes(CIFAR),
        claims=claims.FIG25,
        minutes={"smoke": 0.2, "laptop": 14, "overnight": 14, "paper": 150},
        **(_SHARED | {"summary": _steering}),
    ),
    Entry(
        "simplicity/fig26",
        "E.5",
        "Shortcut learning on other collages",
        "As Figure 9, on collages of the two image sets that the axes name",
        "similar effects with MNIST and SVHN, but trajectories are not as distinct",
        plan=planned(SVHN),
        plot=plots.fig9,
        tasks=(SHIPPED.name, SVHN.name),
        origin=origin(SVHN, (True,)),
        notes=_notes(SVHN),
        minutes={"smoke": 0.1, "laptop": 7, "paper": 60},
        **_SHARED,
    ),
)
