"""What perceptrons on tables are compared with: linear models, nearest neighbours, boosted trees (simplicity paper).

They come from scikit-learn. Their hyper-parameters are drawn at random and chosen by accuracy on validation data; the
paper searched with Matlab's Bayesian optimization, over hyper-parameters that it names for k-NN only.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_whole
from lab.tasks.table import TableSplit, TableTask

KINDS = ("linear", "knn", "trees")


@dataclass(frozen=True, eq=False)
class Baseline:
    """A fitted baseline. Called on rows (N, D), it gives class probabilities (N, O), or values (N, 1)."""

    task: TableTask
    kind: str
    settings: dict  # the hyper-parameters that were chosen
    tried: list[tuple[dict, float]]  # all of them, with their accuracy on validation data, 0 to 1
    estimator: Any  # scikit-learn's

    def __call__(self, x: Tensor) -> Tensor:
        """x (N, D) → (N, O) float32, on the CPU."""
        rows = x.detach().cpu().numpy()
        if not self.task.classification:
            return torch.from_numpy(np.asarray(self.estimator.predict(rows), dtype=np.float32))[:, None]
        shares = torch.from_numpy(self.estimator.predict_proba(rows)).float()
        probabilities = torch.zeros(len(rows), self.task.classes)  # 0 for a class that no training row has
        probabilities[:, torch.from_numpy(self.estimator.classes_)] = shares
        return probabilities

    def accuracy(self, split: TableSplit) -> float:
        """0 to 1; of values, the nearest class id counts."""
        right = self.task.answers(self(split.inputs)) == self.task.answers_of_targets(split.targets)
        return float(right.double().mean())


def fit(task: TableTask, kind: str, tries: int = 20, seed: int = 0, task_seed: int = 0) -> Baseline:
    """Fit a baseline on `train` with each of `tries` settings, and keep the one most accurate on `val`.

    kind: "linear" (logistic regression; for values, ridge regression), "knn" (number of neighbours; L1 or L2 distance),
    or "trees" (histogram gradient boosting). seed: of the settings and of the trees; of equal ones the first is kept.

    >>> from lab.tasks import Operation
    >>> found = fit(Operation(modulus=7), "knn", tries=4)
    >>> found(torch.zeros(3, 14)).shape, sorted(found.settings)
    (torch.Size([3, 7]), ['n_neighbors', 'p'])
    """
    from sklearn.model_selection import ParameterGrid, ParameterSampler

    splits = task.split(task_seed)
    estimator, space = _family(task, kind, len(splits["train"]), seed)
    countable = all(isinstance(values, list) for values in space.values())
    most = len(ParameterGrid(space)) if countable else tries
    drawn = ParameterSampler(space, min(check_whole("tries", tries), most), random_state=check_whole("seed", seed, 0))
    inputs, targets = splits["train"].inputs.numpy(), splits["train"].targets.numpy()
    tried: list[tuple[dict, float]] = []
    best, highest = None, -1.0
    for settings in drawn:
        fitted = Baseline(task, kind, settings, tried, estimator(**settings).fit(inputs, targets))
        tried.append((settings, fitted.accuracy(splits["val"])))
        if best is None or tried[-1][1] > highest:
            best, highest = fitted, tried[-1][1]
    assert best is not None  # one setting or more is drawn
    return best


def _family(task: TableTask, kind: str, rows: int, seed: int) -> tuple:
    """What makes an estimator from settings, and the settings to draw from."""
    from scipy.stats import loguniform, randint
    from sklearn import ensemble, linear_model, neighbors

    classes = task.classification
    if kind == "linear":
        if classes:
            return partial(linear_model.LogisticRegression, max_iter=10_000), {"C": loguniform(1e-4, 1e3)}
        return linear_model.Ridge, {"alpha": loguniform(1e-4, 1e4)}
    if kind == "knn":
        near = [k for k in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100) if k <= rows]
        made = neighbors.KNeighborsClassifier if classes else neighbors.KNeighborsRegressor
        return made, {"n_neighbors": near, "p": [1, 2]}
    if kind == "trees":
        made = ensemble.HistGradientBoostingClassifier if classes else ensemble.HistGradientBoostingRegressor
        return partial(made, early_stopping=False, random_state=seed), {
            "learning_rate": loguniform(0.01, 0.5),
            "max_iter": randint(50, 400),
            "max_leaf_nodes": randint(4, 64),
            "min_samples_leaf": randint(1, 60),
            "l2_regularization": loguniform(1e-6, 1e2),
        }
    raise ArgumentError(f"unknown baseline {kind!r}; known: {', '.join(KINDS)}")
