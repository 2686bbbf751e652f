"""Numbers of one model of a table, in weight space and in input space (simplicity paper, Figures 7 and 24)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lab.papers.simplicity.tables.accuracy import checkpoint_accuracies
from lab.probes import Loss, Variation, landscape
from lab.probes.calling import Model
from lab.probes.slices import alignment, slice_2d
from lab.probes.weights import Double
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Knots, KnotTable
from lab.tasks.table import TableTask

RADIUS = 0.5  # of the random plane that is drawn, in lengths of the weights (by neuron)
AXIS, POINTS = 5.0, 101  # of the picture of a function that has no knots
SEED = 0  # of directions, paths and slices


@dataclass(frozen=True)
class Resolution:
    """How fine measures of a model are. grid: of landscapes; paths, samples: of the total variation; rows: of the loss;
    slices, cells: that are drawn; planes: over which the alignment with axes is averaged; radii: of random planes that
    are not drawn."""

    grid: int
    paths: int
    samples: int
    rows: int
    slices: int
    cells: int
    planes: int
    radii: tuple[float, ...] = ()


FINE = {
    "smoke": Resolution(3, 5, 10, 200, 2, 6, 2),
    "laptop": Resolution(15, 50, 50, 2_000, 3, 28, 20),
    "overnight": Resolution(15, 50, 50, 2_000, 3, 28, 20, (0.05, 0.1, 0.2)),
    "paper": Resolution(50, 200, 100, 10_000, 4, 60, 50),
}


class Probability(nn.Module):
    """A network with its outputs as probabilities: x (R, B, D) → (R, B, O)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """Softmax of the network's outputs."""
        return self.model(x).softmax(-1)


def as_row(part: str, number: int = 0, x: float = 0.0, y: float = 0.0, value: float = 0.0) -> dict:
    """A row of the table of `figures.measured`, six digits a number."""
    numbers = {"x": x, "y": y, "value": value}
    return {"part": part, "number": number} | {name: float(f"{one:.6g}") for name, one in numbers.items()}


def of_network(run: Run, fine: Resolution) -> Iterator[dict]:
    """Everything about one network."""
    if run.diverged is not None:
        yield from (as_row(part, value=np.nan) for part in ("accuracy", "course", "solution", "ambient", "alignment"))
        return
    first, train = run.spec.seed == 0, run.spec.task.split()["train"]
    yield as_row("accuracy", value=checkpoint_accuracies(run)["accuracy"])
    model, (steps, way) = Probability(run.model()), run.trajectory
    complexity = Variation(train.inputs, train.targets, fine.paths, fine.samples, SEED)
    some = train[: fine.rows]
    loss = Loss(some.inputs, some.targets, lambda p, y: -p.gather(-1, y[..., None]).clamp_min(1e-30).log().mean((1, 2)))
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
        training_plane = landscape(model, {"loss": loss, "complexity": complexity}, "pca", way, fine.grid, seed=SEED)
        assert training_plane.trajectory is not None  # of the checkpoints
        for name, one in {"loss": training_plane, "complexity": training_plane, "zoom": zoom}.items():
            yield from (
                as_row(name, 0, x, y, one.values[name][j, i]) for j, y in enumerate(one.y) for i, x in enumerate(one.x)
            )
        yield from (as_row("way", number, x, y) for number, (x, y) in enumerate(training_plane.trajectory))
    network = run.model()

    def odds(x: Tensor) -> Tensor:
        outputs = network(x[None])[0]
        return outputs[:, 1] - outputs[:, 0]

    yield from in_input_space(run.spec.task, odds, fine, first)


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
    """A function (N, D) → (N,) over planes of the input space, the same for all models of a table: through a random
    training row along two random inputs (App. E.4)."""
    inputs, rng, measured = task.split()["train"].inputs, np.random.default_rng(SEED), []
    for number in range(max(fine.planes, fine.slices)):
        row, dims = int(rng.integers(len(inputs))), tuple(rng.choice(task.inputs, 2, replace=False).tolist())
        one = slice_2d(f, inputs[row], dims, fine.cells)
        measured.append(alignment(one))
        if first and number < fine.slices:
            yield as_row("point", number, *inputs[row, list(dims)].tolist())
            yield from (
                as_row("slice", number, x, y, one.values[j, i])
                for j, y in enumerate(one.y)
                for i, x in enumerate(one.x)
            )
    known = [value for value in measured if np.isfinite(value)]
    yield as_row("alignment", value=float(np.mean(known)) if known else np.nan)
