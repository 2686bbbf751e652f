"""Sections 3.1 and 3.2 of the simplicity paper: image sets, as classification and as regression to class ids.

Figures 2, 4, 17 and 18 have the same runs; those of Figures 3 and 16, which show the functions, are among them. The
main paper's Figures 3 and 4 are of MNIST alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.images import captions, claims, complexity_plots, function_claims, functions, plots
from lab.papers.simplicity.images.settings import (
    BASE,
    DEPTHS,
    METHODS,
    PER_LAYER,
    RELU,
    SEARCHED_DEPTHS,
    SEEDS,
    SETS,
    TARGETS,
    images,
    origin,
    present,
)
from lab.probes import total_variation
from lab.probes.calling import Model, function_of
from lab.run import Run
from lab.scale import SCALES

if TYPE_CHECKING:
    import pandas as pd

FIRST = ("mnist",)  # of the main paper
SAMPLES, SEED = 100, 0  # points on a path (App. F); the seed of the paths, the same for all models


def plan(scale: str, seeds: int, names: Sequence[str] = SETS) -> list[Planned]:
    """Every set in both modes: ReLU, and functions learned for it, with every number of hidden layers."""
    runs = []
    for name in present(scale, names):
        for mode in TARGETS:
            setting = images(scale, name, mode)
            for method in METHODS:
                for layers in SEARCHED_DEPTHS[scale] if method == PER_LAYER else DEPTHS[scale]:
                    labels = {"set": name, "mode": mode, "method": method, "layers": layers}
                    runs += [(labels, spec) for spec in setting.runs(method, layers, seeds)]
    return runs


def _first(scale: str, seeds: int) -> list[Planned]:
    return plan(scale, seeds, FIRST)


def learned(scale: str, seeds: int, names: Sequence[str] = SETS) -> list[Planned]:
    """One model for each search, of the size that the function was learned with."""
    return [
        ({key: labels[key] for key in ("set", "mode", "method")}, spec)
        for labels, spec in plan(scale, seeds, names)
        if labels["method"] != RELU and labels["layers"] == BASE[scale]
    ]


def _first_learned(scale: str, seeds: int) -> list[Planned]:
    return learned(scale, seeds, FIRST)


def accuracies(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: set, mode, method, layers, seed, step (at which its weights were kept), accuracy (test),
    accuracy_train, accuracy_val (0 to 1, NaN of a run that diverged before it was evaluated), diverged."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        at = run.steps == run.notes["kept"]
        splits = {"accuracy": "test", "accuracy_train": "train", "accuracy_val": "val"}
        scores = {
            name: float(run.scores[f"accuracy_{split}"][at].item()) if at.any() else float("nan")
            for name, split in splits.items()
        }
        row = {"seed": run.spec.seed, "step": int(run.notes["kept"])}
        rows.append(labels | row | scores | {"diverged": run.diverged is not None})
    return pd.DataFrame(rows)


def complexities(runs: Sequence[tuple[dict, Run]], examples: int) -> pd.DataFrame:
    """As `accuracies`, with the total variation of each run (tv, tv_low, tv_high: 95 % interval over paths) on paths
    between `examples` training images; NaN of a run that diverged."""
    table = accuracies(runs)
    for number, (_, run) in enumerate(runs):
        if run.diverged is None:
            train = run.spec.task.split(run.spec.task_seed)["train"]
            estimate = total_variation(
                answers(run), train.inputs, train.latents["label"], paths=examples // 2, samples=SAMPLES, seed=SEED
            )
            table.loc[number, ["tv", "tv_low", "tv_high"]] = estimate.value, estimate.low, estimate.high
        else:
            table.loc[number, ["tv", "tv_low", "tv_high"]] = float("nan")
    return table


def answers(run: Run) -> Model:
    """What a run's model answers: probabilities (N, D) → (N, 10), or the class id that it predicts, (N, 1)."""
    outputs = function_of(run.model())
    if not run.spec.task.classification:
        return outputs

    def probabilities(x: Tensor) -> Tensor:
        return outputs(x).softmax(-1)

    return probabilities


def _notes(scale: str) -> list[str]:
    head = "learned functions are found once for each set, mode and start, with"
    notes = [f"{head} {BASE[scale]} hidden layers, and used at every depth"]
    if SEARCHED_DEPTHS[scale] != DEPTHS[scale][1:]:
        notes.append(f"layer-specific functions at {BASE[scale]} hidden layers alone")
    return notes


def _marker_notes(scale: str) -> list[str]:
    return [
        *_notes(scale),
        "models differ in number of hidden layers and seed (paper: also in hyper-parameters and"
        " numbers of steps, which it does not name)",
        "in classification total variation is that of probabilities, which saturate (the paper does not say of what)",
    ]


def _function_notes(scale: str) -> list[str]:
    return [f"functions learned with {BASE[scale]} hidden layers"]


_TASKS = tuple(
    dict.fromkeys(
        images(scale, name, mode).task.name
        for scale in ("smoke", "laptop")
        for name in present(scale)
        for mode in TARGETS
    )
)
_ONE = dict.fromkeys(SCALES, 1)
_ACCURACY: dict[str, Any] = {
    "measure": accuracies,
    "tasks": _TASKS,
    "seeds": SEEDS,
    "numbers": captions.all_accuracies,
    "notes": _notes,
    "plan": plan,
    "origin": origin(),
}
_MARKERS: dict[str, Any] = {
    "measure": complexities,
    "tasks": _TASKS,
    "seeds": SEEDS,
    "summary": complexity_plots.correlations,
    "notes": _marker_notes,
    "examples": {"smoke": 10, "laptop": 400, "overnight": 400, "paper": 400},
}
_FUNCTIONS: dict[str, Any] = {
    "measure": functions.shapes,
    "functions": functions.values,
    "plot": functions.draw,
    "tasks": _TASKS,
    "seeds": _ONE,
    "summary": functions.summary,
    "notes": _function_notes,
}
_SHOWN = (
    "perceptrons with ReLU and functions learned from ReLU, from zero, and for each layer by itself, for classification"
    " and for regression to the class id"
)
_SAME_ONES = "the functions that the search found from ReLU, from zero, and one for each layer"

ENTRIES = (
    Entry(
        "simplicity/fig2",
        "3.1",
        "Image sets: ReLU and learned functions",
        f"Test accuracy of {_SHOWN}",
        "in classification all models perform similarly; in regression learned functions are better, above all those"
        " learned from zero",
        plot=plots.fig2,
        summary=captions.by_mode,
        claims=claims.FIG2,
        minutes={"smoke": 0.2, "laptop": 17, "overnight": 50, "paper": 300},
        **_ACCURACY,
    ),
    Entry(
        "simplicity/fig3",
        "3.1",
        "Functions learned for MNIST",
        f"MNIST as classification and as regression: {_SAME_ONES}",
        "for classification, from a ReLU, a function like GELU, and from zero a wavelet; for regression irregular ones",
        plan=_first_learned,
        origin=origin(FIRST),
        minutes={"smoke": 0.1, "laptop": 5, "overnight": 8, "paper": 100},
        **_FUNCTIONS,
    ),
    Entry(
        "simplicity/fig4",
        "3.2",
        "MNIST: accuracy against complexity",
        f"Test accuracy and complexity of {_SHOWN}",
        "accuracy and complexity are correlated only for regression, where functions learned from zero are best",
        plan=_first,
        plot=complexity_plots.fig4,
        origin=origin(FIRST),
        minutes={"smoke": 0.1, "laptop": 9, "overnight": 25, "paper": 150},
        **_MARKERS,
    ),
    Entry(
        "simplicity/fig16",
        "E.2",
        "Functions learned for image sets",
        f"Image sets as classification and as regression: {_SAME_ONES}",
        "those learned for regression contain more irregularities",
        plan=learned,
        origin=origin(),
        minutes={"smoke": 0.2, "laptop": 9, "overnight": 16, "paper": 200},
        claims=function_claims.FIG16,
        **_FUNCTIONS,
    ),
    Entry(
        "simplicity/fig17",
        "E.2",
        "Image sets, by number of hidden layers",
        f"Test accuracy by number of hidden layers, of {_SHOWN}",
        "the best number of layers is sometimes different for different functions",
        plot=plots.fig17,
        summary=captions.best_depths,
        minutes={"smoke": 0.2, "laptop": 17, "overnight": 50, "paper": 300},
        **_ACCURACY,
    ),
    Entry(
        "simplicity/fig18",
        "E.2",
        "Image sets: training accuracy, test accuracy and complexity",
        f"Test accuracy against training accuracy, and against complexity, of {_SHOWN}",
        "models with learned functions are more accurate than with ReLU, above all those learned from zero",
        plan=plan,
        plot=complexity_plots.fig18,
        origin=origin(),
        minutes={"smoke": 0.3, "laptop": 18, "overnight": 50, "paper": 300},
        claims=claims.FIG18,
        **_MARKERS,
    ),
)
