"""Tuning on `val`: each task's baseline at each learning rate of a grid (with several batches, or with and without
Canon layers, where these are asked for), and the searches at each rate of their knots.

The baselines come first; a search, and the models trained with what it finds, have the rate of the task's baseline. The
rate of the knots is one for all tasks, chosen on the tasks that train fastest (`SEARCHED`).
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lab import tasks
from lab.errors import ArgumentError, LabError, shown
from lab.papers.transformers.settings import setting
from lab.run import Run, complete
from lab.spec import Learned, RunSpec, on_sequences, replace
from lab.store import Store

RATES = {"smoke": (0.003, 0.01), "laptop": (0.001, 0.002, 0.004, 0.01), "paper": (0.001, 0.002, 0.005, 0.01, 0.02)}
KNOT_RATES = {"smoke": (0.005, 0.02), "laptop": (0.005, 0.01, 0.02), "paper": (0.002, 0.005, 0.01, 0.02)}
SEARCHED = ("memorize", "addmod")
SEEDS = (100, 101)  # none that a figure uses


def plan(task: str, scale: str, batches: Sequence[int] = (), canon: bool = False) -> list[RunSpec]:
    """The runs of a sweep: every rate of the grid, followed on `val`; the test split is not looked at.

    batches: examples a step, each with every rate, for as many steps; by default the setting's own. canon: models
    without Canon layers, and with them; by default as the setting has it.
    """
    base = setting(task, scale)
    models = [replace(base.model, canon=has) for has in ((False, True) if canon else (base.model.canon,))]
    sizes = batches or (base.recipe.batch,)
    recipes = [replace(base.recipe, batch=batch, rate=rate) for batch in sizes for rate in RATES[scale]]
    return [
        RunSpec(task, model, recipe, seed, evaluate=("val",))
        for model in models
        for recipe in recipes
        for seed in SEEDS
    ]


def plan_searches(scale: str) -> list[RunSpec]:
    """Stage II after a search at each rate of the knots, followed on `val`."""
    specs = []
    for task in SEARCHED:
        base = setting(task, scale)
        for rate in KNOT_RATES[scale]:
            search = replace(base.search(), spline_rate=rate)
            runs = base.runs(1, search)
            specs += [replace(runs[0], seed=seed, evaluate=("val",)) for seed in SEEDS]
    return specs


def measure(runs: Sequence[Run]) -> pd.DataFrame:
    """One row a run: task, canon, batch, rate, knot_rate (of the search, if any), seed, mean and last accuracy on
    `val`, diverged.

    The mean over the whole of training rewards both speed and final accuracy, as the paper's tuning did
    (Sec. 3: "high accuracy and fast convergence").
    """
    rows = []
    for run in runs:
        spec = run.spec
        search = spec.model.mlp.search if isinstance(spec.model.mlp, Learned) else None
        row = {"task": spec.task, "canon": spec.model.canon, "batch": spec.recipe.batch, "rate": spec.recipe.rate}
        row |= {"knot_rate": search.spline_rate if search and on_sequences(search) else None, "seed": spec.seed}
        row |= {"mean_accuracy": run.accuracy.mean(), "last_accuracy": run.accuracy[-1]}
        rows.append(row | {"diverged": bool(run.diverged)})
    table = pd.DataFrame(rows)
    return table if table["knot_rate"].notna().any() else table.drop(columns="knot_rate")


def best(table: pd.DataFrame) -> dict[str, float]:
    """The rate with the highest mean accuracy over seeds, by task; a rate at which a run diverged loses."""
    means = _scores(table).groupby(["task", "rate"], sort=False)["score"].mean()
    return {task: float(means[task].idxmax()) for task in table["task"].unique()}


def best_choice(table: pd.DataFrame, column: str) -> dict[str, tuple[int, float]]:
    """The value of a column ("batch", or "canon": 0 or 1) with the highest mean accuracy over seeds, each at its best
    rate, and that rate; by task."""
    means = _scores(table).groupby(["task", column, "rate"], sort=False)["score"].mean()
    chosen = {task: means[task].idxmax() for task in table["task"].unique()}
    return {task: (int(value), float(rate)) for task, (value, rate) in chosen.items()}


def best_knot_rate(table: pd.DataFrame) -> float:
    """The rate of the knots with the highest mean accuracy over tasks and seeds."""
    return float(_scores(table).groupby("knot_rate", sort=False)["score"].mean().idxmax())


def sweep(
    names: Sequence[str],
    scale: str,
    device: str,
    out: Path,
    searches: bool = False,
    batches: Sequence[int] = (),
    canon: bool = False,
) -> str:
    """Train what the sweep needs, write its table into `out`, and say what is best.

    searches: the sweep of the knots' rate (searches.csv) instead of the baselines' (sweep.csv). batches: examples a
    step, each swept over the rates (batches.csv). canon: the rates with Canon layers and without (canon.csv).
    """
    _check(names, searches, batches, canon)
    store, each = Store(), dict.fromkeys(names or tasks.NAMES)
    sizes = list(dict.fromkeys(batches))
    specs = plan_searches(scale) if searches else [s for task in each for s in plan(task, scale, sizes, canon)]
    complete(specs, store, device)
    table = measure([Run(spec, store) for spec in specs])
    kind = "searches" if searches else "batches" if batches else "canon" if canon else "sweep"
    file = out / f"{kind}.csv"
    try:
        out.mkdir(parents=True, exist_ok=True)
        table.round(4).to_csv(file, index=False)
    except OSError as error:
        raise LabError(f"cannot write to {out} ({error.strerror}); name another folder with --out") from error
    return "\n".join([*_words(table, kind), str(file)])


def _check(names: Sequence[str], searches: bool, batches: Sequence[int], canon: bool) -> None:
    unknown = [name for name in names if name not in tasks.NAMES]
    if unknown:
        raise ArgumentError(f"unknown task {shown(unknown[0])}; known: {', '.join(tasks.NAMES)}")
    options = [*(["--batches"] if batches else []), *(["--canon"] if canon else [])]
    if searches and (names or options):
        given = " ".join([*names, *options])
        raise ArgumentError(f"--searches goes over {' and '.join(SEARCHED)}; leave out {given}")
    if len(options) > 1:
        raise ArgumentError("--batches and --canon are two sweeps; give one of them, then the other")
    if batches and min(batches) < 1:
        raise ArgumentError(f"a batch has at least 1 example, not {min(batches)}")


def _words(table: pd.DataFrame, kind: str) -> list[str]:
    if kind == "searches":
        return [f"best rate of the knots: {best_knot_rate(table):g}"]
    if kind == "sweep":
        return [f"{task}: best rate {rate:g}" for task, rate in best(table).items()]
    lines = []
    for task, (value, rate) in best_choice(table, "batch" if kind == "batches" else "canon").items():
        what = f"batch {value}" if kind == "batches" else f"{'with' if value else 'without'} Canon layers"
        lines.append(f"{task}: best {what}, at rate {rate:g}")
    return lines


def _scores(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(score=table["mean_accuracy"].where(~table["diverged"], 0.0).fillna(0.0))
