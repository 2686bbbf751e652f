"""Landscapes: what is measured of a model, over a plane of its weight space (simplicity paper, Section 3.3, App. E.4).

The models of the grid travel along the run axis where the model has one; any other model is evaluated point by point.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_number, check_whole, described, shown
from lab.probes.arguments import FAR, array, calling, check_room, functions, module, pair
from lab.probes.plane import Plane, given, principal, random
from lab.probes.reading import reading
from lab.probes.weights import Checkpoints, Double, bare, checkpoints_of, rest, stacked, weights

Measure = Callable[[nn.Module], object]  # model → number, or model with a run axis → (R,)
CHUNK = 32  # models at once: more gain nothing
WEIGHTS = 2**20  # that a chunk has together: larger models are as fast in smaller chunks, and take less memory


@dataclass(frozen=True, eq=False)
class Landscape:
    """Measures over a plane of weight space.

    x, y (grid,): coordinates along the first and the second direction; values: for each measure (grid, grid), rows
    belong to y, columns to x, as an image from below; here: each measure of the model itself, which stands at (0, 0).
    trajectory (T, 2): the checkpoints' coordinates in the plane, distance (T,): how far from it each is; None where
    none were given. chunk: models that were evaluated at once. `model` is a copy in evaluation mode; with the measures,
    the checkpoints and what was asked for (directions, radius, seed, normalize) it is there for `again`. notes: what
    has to be known of it, in words.
    """

    x: np.ndarray
    y: np.ndarray
    values: dict[str, np.ndarray] = field(repr=False)
    here: dict[str, float]
    plane: Plane
    trajectory: np.ndarray | None = field(repr=False)
    distance: np.ndarray | None = field(repr=False)
    chunk: int
    model: nn.Module = field(repr=False)
    measures: Mapping[str, Measure] = field(repr=False)
    checkpoints: Checkpoints | None = field(repr=False)
    asked: Mapping[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()

    def again(self, **changes: object) -> Landscape:
        """The landscape of the same model, measures and checkpoints, with other arguments of `landscape`."""
        asked: dict[str, Any] = {"trajectory": self.checkpoints, "grid": len(self.x), **self.asked, **changes}
        return landscape(self.model, self.measures, **asked)

    def at(self, x: float, y: float) -> nn.Module:
        """A copy of the model that stands at these coordinates."""
        double = Double(self.model)
        move = None if self.plane.buffers is None else torch.from_numpy(np.array([x, y]) @ self.plane.buffers)
        return double.at(torch.from_numpy(self.plane.point(x, y)).to(next(self.model.parameters()).device), move)


def landscape(
    model: nn.Module,
    measures: Mapping[str, Measure],
    directions: str | Sequence[Tensor | np.ndarray] = "pca",
    trajectory: object = None,
    grid: int = 50,
    radius: float = 1.0,
    seed: int = 0,
    normalize: str = "filter",
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Landscape:
    """Measures of a model at grid × grid points of a plane through its weights (simplicity paper, Fig. 7).

    The model itself stands at (0, 0), and is not changed. What is measured are copies in evaluation mode; those of a
    model of half precision are float32, as steps between two points are too small for it.

    measures: by name, functions from a model to a number, such as `Loss` and `Variation`. They are called without
        gradients. For a model with a run axis (`runs_of`), they may give (R,) for R runs: then `chunk` points are
        evaluated side by side (default: as many as have 2^20 weights together, at most 32).
    directions: "pca", the principal ones of the trajectory; "random", drawn from `seed`, with lengths according to
        `normalize` (`plane.random`); or two, each a vector (P,), or another model or its `state_dict()`, which then
        stands at (1, 0) or (0, 1).
    trajectory: checkpoints of the training, T `state_dict()`s or (T, P) (`weights.history`).
    The running statistics of a model with batch norm are no weights. Between models, and along a trajectory of
        `state_dict()`s, they move with the weights, linearly, so that each model stands there with its own. Along
        random directions, and along vectors of weights, they stay the model's own, as in Li et al. (2018): the loss of
        another model at the end of a vector is not that model's. The result's `notes` say so.
    radius: how much of the plane is shown; `plane` says in which unit.
    progress: called with the number of models done and of all after each chunk. What it raises ends the work.

    Raises ArgumentError for a measure that gives no single number, directions of another length, and "pca" without a
    trajectory of three checkpoints or more.

    >>> model, size = nn.Linear(2, 1), {"size": lambda model: model.weight.norm()}
    >>> result = landscape(model, size, "random", grid=3).values["size"]
    >>> bool(np.isclose(result[1, 1], model.weight.norm().item()))
    True
    """
    functions("measures", measures, "{'loss': probes.Loss(inputs, targets)}")
    if check_number("radius", radius, most=FAR) <= 0:
        raise ArgumentError(f"radius={radius!r}: give a number above 0")
    if not (progress is None or callable(progress)):
        raise ArgumentError(f"progress is {described(progress)}; give a function of models done and of all, or None")
    model = bare(module("model", model))
    if chunk is not None:
        check_whole("chunk", chunk)
    check_room("grid", check_whole("grid", grid, 2), grid, 2 + len(measures))
    checkpoints = None if trajectory is None else checkpoints_of(model, trajectory)
    states = _states(directions)
    plane = _plane(model, states, checkpoints, normalize, seed)
    x, y = plane.axes(grid, radius)
    double = Double(model)
    moves = None if plane.buffers is None else torch.from_numpy(plane.buffers)
    device = next(iter(weights(double.model).values())).device
    centre, along = (torch.from_numpy(part).to(device) for part in (plane.centre, plane.directions))
    with torch.no_grad():
        answers = {name: _answer(name, measure, double.at(centre)) for name, measure in measures.items()}
        if wrong := {name: answer.shape for name, answer in answers.items() if answer.size != 1}:
            raise ArgumentError(f"measures gave shapes {wrong}; a measure must give one number a model")
        where = torch.from_numpy(np.stack([np.tile(x, len(y)), np.repeat(y, len(x))], 1)).to(device)
        parallel = stacked(model) and moves is None and all(answer.shape == (1,) for answer in answers.values())
        parallel = parallel and _agree(double, torch.addmm(centre, where[[0, -1]], along), measures)
        chunk = _chunk(chunk, len(centre)) if parallel else 1
        heights = {name: np.empty(len(where)) for name in measures}
        for start in range(0, len(where), chunk):
            part = where[start : start + chunk]
            points = torch.addmm(centre, part, along)
            for name, measure in measures.items():
                move = None if moves is None else part[0].cpu() @ moves
                at = double.side_by_side(points) if parallel else double.at(points[0], move)
                answer = _answer(name, measure, at)
                if answer.size != len(part):
                    raise ArgumentError(f"measure {name!r} gave shape {answer.shape} for {len(part)} models")
                heights[name][start : start + chunk] = answer.reshape(-1)
            if progress is not None:
                progress(start + len(part), len(where))
        centre_model = double.at(centre)
    coordinates, distance = (None, None) if checkpoints is None else plane.project(checkpoints.weights)
    values = {name: numbers.reshape(len(y), len(x)) for name, numbers in heights.items()}
    asked: dict[str, Any] = {"directions": states, "radius": radius, "seed": seed, "normalize": normalize}
    here = {name: float(answer.reshape(())) for name, answer in answers.items()}
    return Landscape(
        x,
        y,
        values,
        here,
        plane,
        coordinates,
        distance,
        chunk,
        centre_model,
        dict(measures),
        checkpoints,
        asked,
        _notes(model, plane),
    )


def _notes(model: nn.Module, plane: Plane) -> tuple[str, ...]:
    """What stays as it is although other models have it otherwise."""
    stay = [name for name in rest(model) if name.endswith("running_mean")] if plane.buffers is None else []
    if not stay:
        return ()
    return (
        f"the running statistics of {len(stay)} layers are the model's own everywhere; for those of other models give "
        "models or state_dicts",
    )


def _states(directions: Any) -> Any:
    """Directions, the models among them as copies of their state, which stay when these are trained on."""
    if not isinstance(directions, (list, tuple)):
        return directions
    given = [bare(one) if isinstance(one, nn.Module) else one for one in directions]
    given = [dict([*m.named_parameters(), *m.named_buffers()]) if isinstance(m, nn.Module) else m for m in given]
    return [copy.deepcopy(dict(one)) if isinstance(one, Mapping) else one for one in given]


def _plane(
    model: nn.Module,
    directions: object,
    checkpoints: Checkpoints | None,
    normalize: str,
    seed: int,
) -> Plane:
    if isinstance(directions, str):
        if directions == "random":
            return random(model, normalize, seed)
        if directions != "pca":
            raise ArgumentError(f"directions={shown(directions)}; give 'pca', 'random' or two vectors of weights")
        if checkpoints is None:
            raise ArgumentError(
                "directions='pca' needs the trajectory; give checkpoints (a list of state_dicts), or"
                " directions='random'"
            )
        return principal(model, *checkpoints)
    if hasattr(directions, "__len__") and len(directions) != 2:
        raise ArgumentError(f"{len(directions)} directions; give 'pca', 'random' or two vectors of weights")
    return given(model, pair("directions", directions, "'pca', 'random' or two vectors of weights"))


def _agree(double: Double, points: Tensor, measures: Mapping[str, Measure]) -> bool:
    """Whether two models side by side have the values that they have alone: a measure may mix them."""
    for name, measure in measures.items():
        together = _answer(name, measure, double.side_by_side(points))
        alone = np.concatenate([_answer(name, measure, double.side_by_side(point[None])) for point in points])
        size = np.abs(alone).max(initial=0, where=np.isfinite(alone))
        if together.shape != alone.shape or not np.allclose(together, alone, 1e-3, 1e-3 * size, equal_nan=True):
            return False
    return True


def _chunk(chunk: int | None, size: int) -> int:
    return chunk or min(CHUNK, max(1, WEIGHTS // size))


def _answer(name: str, measure: Measure, model: nn.Module) -> np.ndarray:
    """What a measure says of a model, a number, or one for each of its runs."""
    expected = "a function that gives one number a model"
    hint = "give one that gives one number a model (models of half precision are float32 here)"
    with reading(model), calling(f"measure {name!r}", hint):
        answer = measure(model)
    values = array(f"the answer of measure {name!r}", answer, expected)
    if values.dtype.kind not in "fiub":
        raise ArgumentError(f"measure {name!r} gave {described(values)}; give {expected}")
    return values.astype(np.float64)
