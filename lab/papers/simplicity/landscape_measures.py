"""Networks of a table in weight space and in input space: their runs, and what Figures 7 and 24 of the simplicity paper
measure of each. Networks remember their weights on the way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from lab.models.baselines import Baseline
from lab.papers.entry import Planned
from lab.papers.simplicity.complexity import LogOdds, log_odds
from lab.papers.simplicity.tables import settings
from lab.papers.simplicity.tables.accuracy import BASELINES, baseline, checkpoint_accuracies, is_chosen
from lab.papers.simplicity.tables.settings import LEARNED, NETWORKS, START, STARTS, TANH, network, tables
from lab.papers.tables import Labelled
from lab.probes import Loss, Variation
from lab.probes.calling import Model, alignment, slice_2d
from lab.probes.landscape import Measure, landscape
from lab.probes.weights import Double
from lab.resolve import resolve
from lab.run import Run
from lab.scale import model_scale
from lab.spec import Knots, KnotTable, replace
from lab.tasks.table import TableTask

PAPER_TABLES = {"simplicity/fig7": ("electricity",), "simplicity/fig24": ("electricity", "MagicTelescope", "covertype")}
DEPTH = 2  # hidden layers, of all networks
CHECKPOINTS = {"smoke": 2, "laptop": 30, "paper": 50}  # on the way
RADIUS = 0.5  # of the random plane that is drawn, in lengths of the weights (by neuron)
AXIS, POINTS = 5.0, 101  # of the picture of a function that has no knots
SEED = 0  # of directions, paths and slices
OF_EVERY_SEED = ("accuracy", "course", "solution", "ambient", "alignment")  # parts; others are of the first one


@dataclass(frozen=True)
class Resolution:
    """How fine measures of a model are."""

    grid: int  # of landscapes
    paths: int  # of the total variation, and points on each
    samples: int
    rows: int  # of the loss
    slices: int  # that are drawn, and cells of each
    cells: int
    planes: int  # over which the alignment with axes is averaged
    radii: tuple[float, ...] = ()  # of random planes that are not drawn


FINE = {
    "smoke": Resolution(3, 5, 10, 200, 2, 6, 2),
    "laptop": Resolution(15, 50, 50, 2_000, 3, 28, 20),
    "overnight": Resolution(15, 50, 50, 2_000, 3, 28, 20, (0.05, 0.1, 0.2)),
    "paper": Resolution(50, 200, 100, 10_000, 4, 60, 50),
}


def tables_of(scale: str, name: str) -> tuple[str, ...]:
    """The paper's tables of an entry, or their samples, at a scale; where there is none, its first whole table."""
    names, theirs = tables(model_scale(scale)), PAPER_TABLES[name]
    matches = [table for table in names if table.removesuffix("_sample") in theirs]
    whole = [table for table in names if not table.endswith("_sample")]
    return tuple(matches) or tuple(whole or names)[:1]


def plan(scale: str, seeds: int, names: Sequence[str]) -> list[Planned]:
    """Every network of `DEPTH` layers on each table; TanH with every prefactor, of which `val` chooses."""
    planned, like = [], model_scale(scale)
    for table in names:
        for method in NETWORKS:
            for prefactor in settings.PREFACTORS[like] if method == TANH else (1.0,):
                spec = network(scale, table, method, DEPTH, START if method == LEARNED else STARTS[0], prefactor)
                recipe = replace(spec.recipe, trajectory=max(1, spec.recipe.steps // CHECKPOINTS[like]))
                labels = {"table": table, "method": method, "start": "", "layers": DEPTH, "prefactor": prefactor}
                labels["scale"] = scale
                planned += [(labels, replace(spec, recipe=recipe, seed=seed)) for seed in range(seeds)]
    return planned


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table without random planes that reach less far than the one whose landscape is drawn."""
    return table[~(table["radius"] < RADIUS)] if "radius" in table else table


def measure(runs: Labelled) -> pd.DataFrame:
    """One row a number: table, method, prefactor (α), seed, part, number, x, y, value.

    part, of every seed: "accuracy" (on `test`, 0 to 1), "course" (total variation, x: step of training), "solution"
    (that of the weights that were kept), "ambient" (its mean over the random plane; where there are several, radius
    says how far each reaches), "alignment" (with axes, mean over planes of the input space); of the first one:
    "function" (number: of the input, for IAFs; else 0; x, value), "loss" and "complexity" (on the plane of the
    training, x and y), "way" (of the training in it: x, y, number: the checkpoint), "zoom" (complexity on the random
    plane), "slice" (number: which; log-odds of networks, probabilities of others) and "point" (the training row in it,
    x and y). Of the prefactors the one best on `val`. A run that diverged has NaN in those of every seed and nothing
    else.
    """
    scores = [{name: one for name, one in labels.items() if name != "scale"} for labels, _ in runs]
    scores = [columns | checkpoint_accuracies(run) for columns, (_, run) in zip(scores, runs, strict=True)]
    rows, fine = [], FINE[runs[0][0]["scale"]]
    for (labels, run), wanted in zip(runs, is_chosen(pd.DataFrame(scores)), strict=True):
        if wanted:
            columns = {name: labels[name] for name in ("table", "method", "prefactor")} | {"seed": run.spec.seed}
            rows += [columns | row for row in of_network(run, fine)]
    for table, scale in dict.fromkeys((labels["table"], labels["scale"]) for labels, _ in runs):
        for method, kind in BASELINES.items():
            model = baseline(table, kind, settings.TRIES[scale])
            columns = {"table": table, "method": method, "prefactor": 1.0, "seed": 0}
            rows.append(columns | as_row("accuracy", value=model.accuracy(model.task.split()["test"])))
            rows += [columns | row for row in in_input_space(model.task, _of_class_1(model), fine, first=True)]
    return pd.DataFrame(rows)


def _of_class_1(model: Baseline) -> Model:
    """Its probability, (N, D) → (N,)."""
    return lambda x: model(x)[:, 1]


def as_row(part: str, number: int = 0, x: float = 0.0, y: float = 0.0, value: float = 0.0) -> dict:
    """A row of the table of `measure`, six digits a number."""
    numbers = {"x": x, "y": y, "value": value}
    return {"part": part, "number": number} | {name: float(f"{one:.6g}") for name, one in numbers.items()}


def _cells(part: str, x: np.ndarray, y: np.ndarray, values: np.ndarray, number: int = 0) -> Iterator[dict]:
    """A row for each cell of a plane, values (y, x)."""
    for below, line in zip(y, values, strict=True):
        yield from (as_row(part, number, right, below, value) for right, value in zip(x, line, strict=True))


def of_network(run: Run, fine: Resolution) -> Iterator[dict]:
    """Everything about one network."""
    if run.diverged is not None:
        yield from (as_row(part, value=np.nan) for part in OF_EVERY_SEED)
        return
    first, train = run.spec.seed == 0, run.spec.task.split()["train"]
    yield as_row("accuracy", value=checkpoint_accuracies(run)["accuracy"])
    model, (steps, way) = nn.Sequential(run.model(), LogOdds()), run.trajectory
    complexity = Variation(train.inputs, train.targets, fine.paths, fine.samples, SEED)
    planes = {
        radius: landscape(model, {"zoom": complexity}, "random", None, fine.grid, radius, SEED)
        for radius in (*fine.radii, RADIUS)
    }
    zoom = planes[RADIUS]
    yield as_row("solution", value=zoom.here["zoom"])
    for radius, plane in planes.items():
        row = as_row("ambient", value=float(plane.values["zoom"].mean()))
        yield row | ({"radius": radius} if fine.radii else {})
    course = complexity(Double(model).side_by_side(torch.from_numpy(way)))
    assert isinstance(course, Tensor)  # one number a checkpoint
    yield from (as_row("course", x=step, value=value) for step, value in zip(steps, course, strict=True))
    if first:
        yield from _functions(run)
        some = train[: fine.rows]
        measures: dict[str, Measure] = {"loss": Loss(some.inputs, some.targets), "complexity": complexity}
        plane = landscape(model, measures, "pca", way, fine.grid, seed=SEED)
        assert plane.trajectory is not None  # of the checkpoints
        for name in measures:
            yield from _cells(name, plane.x, plane.y, plane.values[name])
        yield from _cells("zoom", zoom.x, zoom.y, zoom.values["zoom"])
        yield from (as_row("way", number, x, y) for number, (x, y) in enumerate(plane.trajectory))
    yield from in_input_space(run.spec.task, log_odds(run), fine, first)


def _functions(run: Run) -> Iterator[dict]:
    """The function of the hidden layers, or for IAFs those of the inputs."""
    model = run.spec.model
    phi = resolve(model.phi if model.inputs is None else model.inputs, run.store)
    if isinstance(phi, Knots | KnotTable):
        values, low, high = np.atleast_2d(phi.values), phi.low, phi.high
    else:
        low, high = -AXIS, AXIS
        x = torch.linspace(low, high, POINTS)
        assert isinstance(phi, str), f"there is no picture of {type(phi).__name__}"
        values = getattr(torch, phi)(model.prefactor * x).numpy()[None]
    for number, one in enumerate(values):
        for x, value in zip(np.linspace(low, high, len(one)), one, strict=True):
            yield as_row("function", number, x, value=value)


def in_input_space(task: TableTask, f: Model, fine: Resolution, first: bool) -> Iterator[dict]:
    """A function (N, D) → (N,) over planes through a random training row along two random inputs (App. E.4)."""
    inputs, rng, measured = task.split()["train"].inputs, np.random.default_rng(SEED), []
    for number in range(max(fine.planes, fine.slices)):
        row, dims = int(rng.integers(len(inputs))), tuple(rng.choice(task.inputs, 2, replace=False).tolist())
        one = slice_2d(f, inputs[row], dims, fine.cells)
        measured.append(alignment(one))
        if first and number < fine.slices:
            yield as_row("point", number, *inputs[row, list(dims)].tolist())
            yield from _cells("slice", one.x, one.y, one.values, number)
    known = [value for value in measured if np.isfinite(value)]
    yield as_row("alignment", value=float(np.mean(known)) if known else np.nan)
