"""What models score on tables: accuracies, and the total variation of their probabilities. Those that are no networks
are fitted here."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.models.baselines import Baseline, fit
from lab.papers.simplicity.tables.settings import LINEAR, NEIGHBOURS, TREES
from lab.probes import total_variation
from lab.probes.calling import Model, function_of
from lab.run import Run
from lab.tasks import Tabular
from lab.tasks.table import TableTask

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor


PATHS, SAMPLES, SEED = 200, 100, 0  # App. F; the seed of the paths, the same for all models
BASELINES = {NEIGHBOURS: "knn", TREES: "trees"}  # by their names in lab.models.baselines
SETTING = ["start", "layers", "prefactor"]  # what is chosen on `val` for each method and table
_SPLITS = {"accuracy": "test", "accuracy_val": "val", "accuracy_train": "train"}


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
