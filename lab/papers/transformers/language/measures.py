"""What language models are measured by: training perplexity, and loss, bits and accuracy on held-out text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan, log
from typing import TYPE_CHECKING

import numpy as np

from lab.estimates import Estimate, compare
from lab.papers.transformers.settings import BASELINE, MLP
from lab.plots.caption import signed
from lab.run import Run
from lab.statistics import LEVEL

if TYPE_CHECKING:
    import pandas as pd

SPLIT = "test"  # held-out text that chose nothing; the paper calls its own validation data


def curves(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, perplexity (of training, since the evaluation
    before), and on held-out text loss (nats a token), bits (a character), accuracy (0 to 1, second half of the
    context); diverged."""
    import pandas as pd

    return pd.DataFrame([row for labels, run in runs for row in _rows(labels, run)])


def final(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The last evaluation of each run: one row a run."""
    import pandas as pd

    return pd.DataFrame([list(_rows(labels, run))[-1] for labels, run in runs])


def _rows(labels: Mapping, run: Run) -> Iterator[dict]:
    scores = {name: run.scores[f"{name}_{SPLIT}"] for name in ("loss", "bits", "accuracy")}
    for at, step in enumerate(run.steps):
        row = dict(labels) | {"seed": run.spec.seed, "step": int(step), "perplexity": float(np.exp(run.loss[at]))}
        yield row | {name: float(values[at]) for name, values in scores.items()} | {"diverged": bool(run.diverged)}


def groups(table: pd.DataFrame, by: str, value: str) -> dict[str, list[float]]:
    """Values of the runs of each kind, one a seed; those of diverged runs are left out."""
    alive = table[~table["diverged"].astype(bool)]
    return {kind: rows[value].astype(float).tolist() for kind, rows in alive.groupby(by, sort=False)}


def perplexity_changes(table: pd.DataFrame, by: str, base: str, value: str = "perplexity") -> dict[str, Estimate]:
    """How much higher the perplexity of each kind is than that of `base`, in percent (geometric means over seeds)."""
    logs = {kind: [log(one) for one in values] for kind, values in groups(table, by, value).items()}
    differences = compare(logs, {kind: (kind, base) for kind in logs if kind != base and base in logs}, COVERS)
    return {kind: _percent(estimate) for kind, estimate in differences.items()}


def accuracy_gains(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """Accuracy of each kind minus that of `base`, in percentage points."""
    known = {kind: [100 * one for one in values] for kind, values in groups(table, by, "accuracy").items()}
    return compare(known, {kind: (kind, base) for kind in known if kind != base and base in known}, COVERS)


def perplexity_gains(table: pd.DataFrame, by: str, base: str) -> dict[str, Estimate]:
    """Training perplexity of `base` minus that of each kind."""
    known = groups(table, by, "perplexity")
    return compare(known, {kind: (base, kind) for kind in known if kind != base and base in known}, COVERS)


def by_size(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each size of models, named as "layers×width"."""
    return [(f"{layers}×{width}", rows) for (layers, width), rows in table.groupby(["layers", "width"], sort=True)]


def by_text(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each text."""
    return list(table.groupby("task", sort=False))


def losses_by_method(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Of one text: loss on held-out text, steps × seeds, by method."""
    alive = rows[~rows["diverged"].astype(bool)]
    return {kind: part.pivot(index="step", columns="seed", values="loss") for kind, part in alive.groupby("method")}


def early_and_last(losses: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """By seed: mean in the first third of training, or at its first evaluation; and at its end."""
    first, last = losses.index.min(), losses.index.max()
    return losses[losses.index <= max(first, last / 3)].mean(), losses.loc[last]


def relative_gains(table: pd.DataFrame) -> dict[str, float]:
    """By text: what the learned MLP function gains in log perplexity, as a share of what GELU gains on a linear MLP."""
    shares = {}
    for task, rows in by_text(table):
        logs = {kind: np.log(values).mean() for kind, values in groups(rows, "method", "perplexity").items()}
        if {"linear MLP", BASELINE, MLP} <= set(logs):
            shares[task] = float(100 * (logs[BASELINE] - logs[MLP]) / (logs["linear MLP"] - logs[BASELINE]))
    return shares


def spread(table: pd.DataFrame, mark: str = "Whiskers") -> str:
    """What whiskers of differences stand for."""
    if table["seed"].nunique() < 2:
        return "One seed only: no interval."
    return f"{mark}: {100 * LEVEL:.0f} % interval of the difference over seeds."


COVERS = "seeds, of one search"


def _percent(estimate: Estimate) -> Estimate:
    ratio = estimate.exp()

    def interval(level: float) -> tuple[float, float]:
        low, high = ratio.interval(level)
        return 100 * (low - 1), 100 * (high - 1)

    return Estimate(100 * (ratio.effect - 1), interval, ratio.n, ratio.over, ratio.covers)


def over_sizes(sizes: Iterable[Mapping[str, float]]) -> str:
    """What a caption says of numbers by method, one mapping a size: their range, and at how many they are above 0.

    >>> over_sizes([{"ours MLP": 1.12}, {"ours MLP": -0.16}])
    'ours MLP −0.16 to +1.12 (above 0 at 1 of 2 sizes)'
    """
    values: dict[str, list[float]] = {}
    for one in sizes:
        for method, value in one.items():
            if not isnan(value):  # every run of that size diverged
                values.setdefault(method, []).append(value)
    return ", ".join(
        f"{method} {signed(min(numbers), 2)} to {signed(max(numbers), 2)}"
        f" (above 0 at {sum(value > 0 for value in numbers)} of {len(numbers)} sizes)"
        for method, numbers in values.items()
    )
