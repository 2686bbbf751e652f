"""The learning rate of a function, chosen on validation data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lab.data import Data, measures
from lab.run import Run
from lab.spec import RunSpec
from lab.store import Store


def best_rate(runs: Sequence[RunSpec], data: Data, store: Store) -> float:
    """The rate of these runs that is best on `val` at the end of training: by the first metric, and among rates that it
    cannot tell apart by the loss. A run that diverged counts as the worst.
    """
    name, metric = next(iter(data.metrics.items()))
    scores, losses = dict[float, list[float]](), dict[float, list[float]]()
    for spec in runs:
        run = Run(spec, store)
        scores.setdefault(spec.recipe.rate, []).append(measures.sign(metric) * float(run.score(name, "val")[-1]))
        losses.setdefault(spec.recipe.rate, []).append(float(run.score("loss", "val")[-1]))
    return choice(scores, losses, len(data.rows["val"]) if metric == "accuracy" else None)


def choice(
    scores: Mapping[float, Sequence[float]], losses: Mapping[float, Sequence[float]], examples: int | None = None
) -> float:
    """The rate with the least mean loss, among those whose mean score is within a standard error of the best one's.

    scores: of each rate those of its runs; more is better. losses: in the same order. examples: where scores are
    accuracies, how many examples these are of; a difference is then as uncertain as that of two such samples, or more.

    One example of 180, and a loss that says the opposite:

    >>> choice({0.001: [0.983, 0.983], 0.003: [0.978, 0.983]}, {0.001: [0.117, 0.12], 0.003: [0.074, 0.072]}, 180)
    0.003
    >>> choice({0.001: [0.98, 0.99], 0.003: [0.6, 0.61]}, {0.001: [0.12, 0.12], 0.003: [0.07, 0.07]}, 180)
    0.001
    """
    means = {rate: _mean(values, -np.inf) for rate, values in scores.items()}
    best = max(means, key=means.__getitem__)
    near = [
        rate
        for rate in means
        if means[best] == means[rate] or means[best] - means[rate] <= _error(scores[best], scores[rate], examples)
    ]
    return min(near, key=lambda rate: _mean(losses[rate], np.inf))


def _mean(values: Sequence[float], worst: float) -> float:
    return float(np.where(np.isfinite(values), values, worst).mean())


def _error(one: Sequence[float], other: Sequence[float], examples: int | None) -> float:
    """The standard error of the difference of two mean scores: over runs, and of accuracies over examples, too."""
    if not np.isfinite([*one, *other]).all():
        return 0.0
    over_runs = sum(np.var(values, ddof=1) / len(values) for values in (one, other) if len(values) > 1)
    right = float(np.clip(np.mean([*one, *other]), 0, 1))
    over_examples = 2 * right * (1 - right) / examples if examples else 0.0
    return float(np.sqrt(max(over_runs, over_examples)))
