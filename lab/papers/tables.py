"""Tables of runs that every paper measures in the same way: one row a run, or one a knot of a learned function."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab.nonlinearity.part import as_module
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Learned, Shaped
from lab.statistics import INTERVAL

Labelled = Sequence[tuple[dict, Run]]  # runs with their labels


def per_run(runs: Labelled, measure: Callable[[Run], dict]) -> pd.DataFrame:
    """One row a run: its labels, seed, what is measured of it, diverged."""
    return pd.DataFrame(
        [labels | {"seed": run.spec.seed} | measure(run) | {"diverged": bool(run.diverged)} for labels, run in runs]
    )


def per_evaluation(runs: Labelled, measure: Callable[[Run], dict]) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, what is measured at each step, diverged."""
    parts = []
    for labels, run in runs:
        columns = labels | {"seed": run.spec.seed, "step": run.steps} | measure(run)
        parts.append(pd.DataFrame(columns | {"diverged": bool(run.diverged)}))
    return pd.concat(parts, ignore_index=True)


def curves(runs: Labelled) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, accuracy (0 to 1), diverged."""
    return per_evaluation(runs, lambda run: {"accuracy": run.accuracy.astype(float)})


def final(runs: Labelled) -> pd.DataFrame:
    """The last evaluation of each run: one row a run."""
    table = curves(runs)
    identity = [name for name in table.columns if name not in ("step", "accuracy")]
    last = table.groupby(identity, sort=False, dropna=False)["step"].idxmax()  # a label may be None
    return table.loc[last].reset_index(drop=True)


def alive(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of runs that did not diverge."""
    return table[~table["diverged"].astype(bool)]


def best_rates(val: pd.DataFrame, kinds: Sequence[str], value: str) -> dict[tuple, float]:
    """By kind, the rate with the highest mean of `value` on `val`; one at which a run diverged is out. Of equals the
    lowest.

    val: the columns `kinds`, rate, `value`, diverged; the runs on `val` alone.

    >>> rows = pd.DataFrame({"task": "add", "rate": [0.1, 0.2, 0.3], "accuracy": [0.5, 0.7, 0.9]})
    >>> best_rates(rows.assign(diverged=[False, False, True]), ["task"], "accuracy")
    {('add',): 0.2}
    """
    groups = val.groupby([*kinds, "rate"])
    means = groups[value].mean()[~groups["diverged"].any()].dropna()
    levels = list(range(len(kinds)))
    return {
        kind if isinstance(kind, tuple) else (kind,): float(one.droplevel(levels).idxmax())
        for kind, one in means.groupby(level=levels if len(levels) > 1 else 0)
    }


def at_best_rates(test: pd.DataFrame, best: dict[tuple, float], kinds: Sequence[str]) -> pd.DataFrame:
    """The rows in which each kind has its best rate (see `best_rates`)."""
    wanted = [best.get(kind) for kind in zip(*(test[name] for name in kinds), strict=True)]
    return test[test["rate"] == wanted]


def of_one_search(table: pd.DataFrame, mark: str = "Whiskers") -> str:
    """What a mark covers where functions come from one search."""
    return "One seed only: no interval." if table["seed"].nunique() < 2 else f"{mark}: {INTERVAL}, of one search."


def learned_functions(
    runs: Labelled, names: Sequence[str] = (), part: str = "mlp", support: bool = False
) -> pd.DataFrame:
    """The functions that models were trained with: labels, x, value, one row a knot; each kind of runs once.

    names: labels that tell functions apart; all, where none is named. part: of the model. support: only the knots
    between which the learned function is not zero; also of what was made of one, such as a symmetrized function.
    """
    rows: dict[tuple, list[dict]] = {}
    for labels, run in runs:
        known = getattr(run.spec.model, part)
        columns = {name: labels[name] for name in names or labels}
        kind = tuple(columns.values())
        if isinstance(known, str) or kind in rows or not (support or isinstance(known, Learned)):
            continue
        learned: Any = as_module(resolve(known.of if isinstance(known, Shaped) else known, run.store))
        low, high = learned.support if support else (learned.low, learned.high)
        x = torch.linspace(low, high, round((high - low) / learned.spacing) + 1)
        values = as_module(resolve(known, run.store))(x) if support else learned.values.detach().ravel()
        rows[kind] = [columns | {"x": a, "value": b} for a, b in zip(x.tolist(), values.tolist(), strict=True)]
    return pd.DataFrame([row for one in rows.values() for row in one]).round({"x": 6, "value": 6})


def share_by_knot(inputs: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Share of the inputs nearest to each of the evenly spaced knots x; what is not finite counts nowhere."""
    inputs = inputs[np.isfinite(inputs)]
    nearest = ((inputs.clip(x[0], x[-1]) - x[0]) / (x[1] - x[0])).round().astype(int)
    return np.bincount(nearest, minlength=len(x)) / max(1, len(inputs))
