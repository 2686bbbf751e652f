"""Tuning the baselines: each task's standard model at each rate of a grid, judged on `val`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab import tasks
from lab.errors import ArgumentError, LabError
from lab.figures.settings import setting
from lab.run import Run, complete
from lab.spec import RunSpec, replace
from lab.store import Store

if TYPE_CHECKING:
    import pandas as pd

RATES = {"smoke": (0.003, 0.01), "laptop": (0.001, 0.002, 0.004, 0.01), "paper": (0.001, 0.002, 0.005, 0.01, 0.02)}
SEEDS = (100, 101)  # none that a figure uses


def plan(task: str, scale: str) -> list[RunSpec]:
    """The runs of a sweep: every rate of the grid, followed on `val`; the test split is not looked at."""
    base = setting(task, scale)
    return [
        RunSpec(task, base.model, replace(base.recipe, rate=rate), seed, evaluate=("val",))
        for rate in RATES[scale]
        for seed in SEEDS
    ]


def measure(runs: Sequence[Run]) -> pd.DataFrame:
    """One row a run: task, rate, seed, mean and last accuracy on `val`, diverged.

    The mean over the whole of training rewards both speed and final accuracy, as the paper's tuning did
    (Sec. 3: "high accuracy and fast convergence").
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {"task": run.spec.task, "rate": run.spec.recipe.rate, "seed": run.spec.seed,
             "mean_accuracy": run.accuracy.mean(), "last_accuracy": run.accuracy[-1], "diverged": bool(run.diverged)}
            for run in runs
        ]
    )  # fmt: skip


def best(table: pd.DataFrame) -> dict[str, float]:
    """The rate with the highest mean accuracy over seeds, by task; a rate at which a run diverged loses."""
    scores = table.assign(score=table["mean_accuracy"].where(~table["diverged"], 0.0).fillna(0.0))
    means = scores.groupby(["task", "rate"], sort=False)["score"].mean()
    return {task: float(means[task].idxmax()) for task in table["task"].unique()}


def sweep(names: Sequence[str], scale: str, device: str, out: Path) -> str:
    """Train what the sweep needs, write `sweep.csv` into `out`, and say which rate is best for each task."""
    unknown = [name for name in names if name not in tasks.NAMES]
    if unknown:
        raise ArgumentError(f"unknown task {unknown[0]!r}; known: {', '.join(tasks.NAMES)}")
    store, specs = Store(), [spec for task in names or tasks.NAMES for spec in plan(task, scale)]
    complete(specs, store, device)
    table = measure([Run(spec, store) for spec in specs])
    try:
        out.mkdir(parents=True, exist_ok=True)
        table.round(4).to_csv(out / "sweep.csv", index=False)
    except OSError as error:
        raise LabError(f"cannot write to {out} ({error.strerror}); name another folder with --out") from error
    chosen = "\n".join(f"{task}: best rate {rate:g}" for task, rate in best(table).items())
    return f"{chosen}\n{out / 'sweep.csv'}"
