"""Landscapes: measures of a model over a plane of its weight space (simplicity paper, Section 3.3, App. E.4).

A model with a run axis is evaluated at several points side by side, any other point by point. P is the number of
weights, T the number of checkpoints.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from lab.errors import ArgumentError, check_number, check_whole, described, shown
from lab.picture import HasPicture
from lab.probes.arguments import FAR, calling, check_room, functions, module, numbers, pair
from lab.probes.reading import reading
from lab.probes.spectrum import Hessian, lanczos, leading, main_of, starts
from lab.probes.weights import (
    Checkpoints,
    Double,
    bare,
    checkpoints_of,
    flat,
    history,
    rest,
    rest_history,
    runs_of,
    stacked,
    weights,
)

NORMALIZATIONS = ("filter", "layer", "global")
STEPS, ROUGH = 60, 0.01  # of Lanczos' method; residual, of the eigenvalue, from which on a note says it
MARGIN = 0.1  # of the trajectory's extent, on each side of it
Measure = Callable[[nn.Module], object]  # model → number, or model with a run axis → (R,)
CHUNK = 32  # models at once: more gain nothing
WEIGHTS = 2**20  # that a chunk has together: larger models are as fast in smaller chunks, and take less memory


@dataclass(frozen=True, eq=False)
class Plane:
    """The points centre + x · first + y · second.

    centre (P,): the model's weights; directions (2, P); normalization: how long they are, in words; explained (2,): the
    share of a trajectory's variance along each, for its principal directions, else None; low, high (2,): what x and y
    reach, for a radius of 1; curvatures (2,): the second derivative of the loss along each, for those of its Hessian,
    else None, and residuals (2,), how exact they are; buffers (2, S): by how much the running statistics, and what else
    is no weight (`weights.rest`), move along each; None: they stay.
    """

    centre: np.ndarray = field(repr=False)
    directions: np.ndarray = field(repr=False)
    normalization: str
    explained: np.ndarray | None
    low: np.ndarray
    high: np.ndarray
    buffers: np.ndarray | None = field(default=None, repr=False)
    curvatures: np.ndarray | None = None
    residuals: np.ndarray | None = None

    def point(self, x: float | np.ndarray, y: float | np.ndarray) -> np.ndarray:
        """The weights at coordinates of any shape, (…, P).

        >>> Plane(np.ones(3), np.eye(3)[:2], "given", None, -np.ones(2), np.ones(2)).point(2, 5).tolist()
        [3.0, 6.0, 1.0]
        """
        return self.centre + np.multiply.outer(x, self.directions[0]) + np.multiply.outer(y, self.directions[1])

    def project(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of points (T, P) the coordinates of the nearest points of the plane, (T, 2), and how far these are, (T,).

        Distances are Euclidean, in the unit of the weights.
        """
        away = points - self.centre
        coordinates = np.linalg.lstsq(self.directions.T, away.T, rcond=None)[0].T
        return coordinates, np.linalg.norm(away - coordinates @ self.directions, axis=1)

    def axes(self, grid: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """x and y of a grid, (grid,) each; radius: of what is shown, in multiples of `low` to `high`."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        x, y = np.linspace(middle - radius * half, middle + radius * half, check_whole("grid", grid, 2)).T
        return x, y


def principal(model: nn.Module, trajectory: np.ndarray, buffers: np.ndarray | None = None) -> Plane:
    """The plane through the model along the first two principal directions of its training (simplicity paper, E.4).

    trajectory (T, P). The directions have length 1, so that x and y are distances in weight space; a radius of 1 shows
    the whole training and a tenth of its extent on each side. The first direction points to where it goes. buffers
    (T, S): as `weights.Checkpoints` has them; over the plane they are the linear function of the coordinates that is
    nearest to them.
    """
    centre, around = flat(model), trajectory - trajectory.mean(0)
    if len(trajectory) < 3:
        raise ArgumentError(f"{len(trajectory)} checkpoints have no plane; keep 3 or more, or give directions='random'")
    _, sizes, directions = np.linalg.svd(around, full_matrices=False)
    if sizes[0] ** 2 == 0:
        hint = "a state_dict changes with the model: keep copy.deepcopy(model.state_dict())"
        raise ArgumentError(f"all checkpoints are the same; {hint}")
    # rounded weights leave a line, too: by up to half a unit in the last place, some 0.3 units in root mean square
    unit = max(torch.finfo(parameter.dtype).eps for parameter in weights(model).values())
    rounding = unit / 2 * np.linalg.norm(trajectory, axis=1).max()
    if sizes[1] <= 1e-12 * sizes[0] or (len(trajectory) > 3 and sizes[1] <= rounding):  # three are a trial's
        raise ArgumentError("the trajectory lies on a line; keep more checkpoints, or give directions='random'")
    directions = directions[:2] * np.where((trajectory[-1] - trajectory[0]) @ directions[:2].T < 0, -1, 1)[:, None]
    projections = np.vstack([(trajectory - centre) @ directions.T, np.zeros((1, 2))])
    low, high = projections.min(0), projections.max(0)
    margin = MARGIN * (high - low)
    explained = sizes[:2] ** 2 / (sizes**2).sum()
    moves = None if buffers is None else np.linalg.lstsq(projections[:-1], buffers, rcond=None)[0]
    return Plane(centre, directions, "length 1", explained, low - margin, high + margin, moves)


def random(model: nn.Module, normalize: str = "filter", seed: int = 0) -> Plane:
    """A plane through the model along two random directions, normal in each weight, scaled to the model's weights.

    normalize: "filter": the weights into each neuron as long as the model's own, vectors such as biases as a whole (Li
    et al. 2018); "layer": each parameter as long as the model's own; "global": all of it. A radius of 1 moves by as
    much as the weights are long.

    >>> model = nn.Linear(3, 2)
    >>> directions = random(model, "global").directions
    >>> bool(np.allclose(np.linalg.norm(directions, axis=1), np.linalg.norm(flat(model))))
    True
    """
    if not isinstance(normalize, str) or normalize not in NORMALIZATIONS:
        raise ArgumentError(f"normalize={shown(normalize)}; give one of {', '.join(NORMALIZATIONS)}")
    generator = np.random.default_rng(check_whole("seed", seed, 0))
    centre = flat(model)
    directions = generator.normal(size=(2, len(centre)))
    if normalize == "global":
        directions *= _ratio(np.linalg.norm(centre), np.linalg.norm(directions, axis=1, keepdims=True))
    else:
        start, stacked = 0, runs_of(model) is not None
        for parameter in weights(model).values():
            part = slice(start, start + parameter.numel())
            for direction in directions:  # views: scaled in place
                _scale(direction[part], centre[part], parameter.shape, normalize, stacked)
            start = part.stop
    if not directions.any():
        raise ArgumentError("all weights are 0, and random directions are as long as they: give directions of your own")
    words = {"filter": "filter-normalized", "layer": "layer-normalized", "global": "as long as the weights"}
    return Plane(centre, directions, words[normalize], None, -np.ones(2), np.ones(2))


def given(model: nn.Module, directions: Sequence[object]) -> Plane:
    """The plane through the model along two directions of the caller; a radius of 1 shows ±1 of each.

    A direction is (P,), or another model of the same kind or its `state_dict()`: then this one stands at the end of it,
    at (1, 0) or (0, 1), whole, with its running statistics.
    """
    centre = flat(model)
    states = [one for one in directions if isinstance(one, Mapping)]
    moves = None
    if states and rest(model):
        differences = [rest_history(model, [one]) if isinstance(one, Mapping) else None for one in directions]
        size = sum(tensor.numel() for tensor in rest(model).values())
        moves = np.stack([np.zeros(size) if one is None else one[0] for one in differences])
    directions = [history(model, [one])[0] - centre if isinstance(one, Mapping) else one for one in directions]
    first, second = (numbers("directions", one, f"two vectors of {len(centre)} weights").ravel() for one in directions)
    if first.shape != centre.shape or second.shape != centre.shape:
        raise ArgumentError(f"directions have {len(first)} and {len(second)} numbers; give {len(centre)}, one a weight")
    both = np.stack([first, second])
    lengths = np.abs(both).max(1, keepdims=True)  # a long direction beside a short one is a plane, too
    if not (np.abs(both) < FAR).all() or not lengths.all() or np.linalg.matrix_rank(both / lengths) < 2:
        raise ArgumentError("the directions span no plane; give two finite ones, neither a multiple of the other")
    return Plane(centre, both, "as given", None, -np.ones(2), np.ones(2), moves)


def curved(model: nn.Module, measures: Mapping[str, Measure], seed: int = 0) -> Plane:
    """The plane through the model along the two eigenvectors of the loss' Hessian whose eigenvalues are the largest in
    size. They have length 1; a radius of 1 shows as far as the loss, by its curvature alone, changes by 1, or the
    model's distance from 0 where that is less.

    >>> loss = {"loss": lambda m: 4 * m.bias.square().sum() + m.weight[0, 0] ** 2}
    >>> curved(nn.Linear(2, 1), loss).curvatures.round(6).tolist()
    [8.0, 2.0]
    """
    name, centre = main_of(measures), flat(model)
    hessian = Hessian(model, name, measures[name])
    if hessian.size < 2:
        raise ArgumentError("a model of one weight has no plane; draw probes.slice_1d of its loss")
    steps = min(STEPS, hessian.size)
    check_room("directions='hessian'", steps, hessian.size)
    pairs = lanczos(hessian, starts(hessian, 1, check_whole("seed", seed, 0))[0], steps, seed)
    (values,), (residuals,), (vectors,) = leading(hessian, 2, pairs)
    if not abs(values[0]) > 0:
        raise ArgumentError(f"{name!r} has no curvature at this model; give directions='random'")
    reach = np.sqrt(2 / np.maximum(np.abs(values), np.finfo(float).tiny))
    reach = np.minimum(reach, np.linalg.norm(centre) or reach[0])
    return Plane(centre, vectors, "length 1", None, -reach, reach, None, values, residuals)


def _scale(direction: np.ndarray, weight: np.ndarray, shape: tuple[int, ...], normalize: str, stacked: bool) -> None:
    """Make a parameter's part of a direction, or that of each of its neurons, as long as the parameter is."""
    inner = shape[1:] if stacked else shape
    vector = sum(size > 1 for size in inner) < 2
    if normalize == "layer" or vector:
        direction *= _ratio(np.linalg.norm(weight), np.linalg.norm(direction))
        return
    # torch's layers keep the weights into a neuron in the rows, those with a run axis in the columns
    neurons = (lambda a: a.reshape(-1, inner[-1]).T) if stacked else (lambda a: a.reshape(inner[0], -1))
    into, model = neurons(direction), neurons(weight)  # views
    into *= _ratio(np.linalg.norm(model, axis=1, keepdims=True), np.linalg.norm(into, axis=1, keepdims=True))


def _ratio(wanted: ArrayLike, norms: ArrayLike) -> np.ndarray:
    return np.asarray(wanted) / np.where(np.asarray(norms) > 0, norms, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Landscape(HasPicture):
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
    directions: "pca", the principal ones of the trajectory; "hessian", the two along which the loss (the measure of
        that name, else the first; one that can be differentiated twice, as `Loss`) curves most, by Lanczos' method from
        a start drawn from `seed`; "random", drawn from `seed`, with lengths according to `normalize`; or two, each a
        vector (P,), or another model or its `state_dict()`, which then stands at (1, 0) or (0, 1).
    trajectory: checkpoints of the training, T `state_dict()`s or (T, P) (`weights.history`); or with their steps, as
        `run.trajectory` has them.
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
    plane = _plane(model, measures, states, checkpoints, normalize, seed)
    x, y = plane.axes(grid, radius)
    double = Double(model)
    moves = None if plane.buffers is None else torch.from_numpy(plane.buffers)
    device = next(iter(weights(double.model).values())).device
    centre, along = (torch.from_numpy(part).to(device) for part in (plane.centre, plane.directions))
    with torch.no_grad():
        answers = {name: answer_of(name, measure, double.at(centre)) for name, measure in measures.items()}
        if wrong := {name: answer.shape for name, answer in answers.items() if answer.size != 1}:
            raise ArgumentError(f"measures gave shapes {wrong}; a measure must give one number a model")
        where = torch.from_numpy(np.stack([np.tile(x, len(y)), np.repeat(y, len(x))], 1)).to(device)
        parallel = stacked(model) and moves is None and all(answer.shape == (1,) for answer in answers.values())
        parallel = parallel and _agree(double, torch.addmm(centre, where[[0, -1]], along), measures)
        chunk = (chunk or min(CHUNK, max(1, WEIGHTS // len(centre)))) if parallel else 1
        heights = {name: np.empty(len(where)) for name in measures}
        for start in range(0, len(where), chunk):
            part = where[start : start + chunk]
            points = torch.addmm(centre, part, along)
            for name, measure in measures.items():
                move = None if moves is None else part[0].cpu() @ moves
                at = double.side_by_side(points) if parallel else double.at(points[0], move)
                answer = answer_of(name, measure, at)
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
    measures, notes = dict(measures), _notes(model, plane)
    return Landscape(
        x, y, values, here, plane, coordinates, distance, chunk, centre_model, measures, checkpoints, asked, notes
    )


def _notes(model: nn.Module, plane: Plane) -> tuple[str, ...]:
    """Notes on running statistics that do not move with the weights, and on eigenvectors that are not found yet."""
    stay = [name for name in rest(model) if name.endswith("running_mean")] if plane.buffers is None else []
    words = f"the running statistics of {len(stay)} layers are the model's own everywhere"
    notes = [f"{words}; for those of other models give models or state_dicts"] if stay else []
    if plane.curvatures is not None and plane.residuals is not None:
        if (worst := plane.residuals.max()) > ROUGH * np.abs(plane.curvatures).max():
            notes.append(f"the directions are eigenvectors up to residuals of {worst:.2g}")
    return tuple(notes)


def _states(directions: Any) -> Any:
    """Directions, with a copy of the state in the place of a model."""
    if not isinstance(directions, (list, tuple)):
        return directions
    given = [bare(one) if isinstance(one, nn.Module) else one for one in directions]
    given = [dict([*m.named_parameters(), *m.named_buffers()]) if isinstance(m, nn.Module) else m for m in given]
    return [copy.deepcopy(dict(one)) if isinstance(one, Mapping) else one for one in given]


def _plane(
    model: nn.Module,
    measures: Mapping[str, Measure],
    directions: object,
    checkpoints: Checkpoints | None,
    normalize: str,
    seed: int,
) -> Plane:
    if isinstance(directions, str):
        if directions == "hessian":
            return curved(model, measures, seed)
        if directions == "random":
            return random(model, normalize, seed)
        if directions != "pca":
            raise ArgumentError(
                f"directions={shown(directions)}; give 'pca', 'hessian', 'random' or two vectors of weights"
            )
        if checkpoints is None:
            hint = "give checkpoints (a list of state_dicts), or directions='random'"
            raise ArgumentError(f"directions='pca' needs the trajectory; {hint}")
        return principal(model, checkpoints.weights, checkpoints.buffers)
    if hasattr(directions, "__len__") and len(directions) != 2:
        raise ArgumentError(f"{len(directions)} directions; give 'pca', 'hessian', 'random' or two vectors of weights")
    return given(model, pair("directions", directions, "'pca', 'hessian', 'random' or two vectors of weights"))


def _agree(double: Double, points: Tensor, measures: Mapping[str, Measure]) -> bool:
    """Whether two models side by side have the values that they have alone: a measure may mix them."""
    for name, measure in measures.items():
        together = answer_of(name, measure, double.side_by_side(points))
        alone = np.concatenate([answer_of(name, measure, double.side_by_side(point[None])) for point in points])
        size = np.abs(alone).max(initial=0, where=np.isfinite(alone))
        if together.shape != alone.shape or not np.allclose(together, alone, 1e-3, 1e-3 * size, equal_nan=True):
            return False
    return True


def answer_of(name: str, measure: Measure, model: nn.Module) -> np.ndarray:
    """The value of a measure, a number, or one for each run."""
    expected = "a function that gives one number a model"
    hint = "give one that gives one number a model (models of half precision are float32 here)"
    with reading(model), calling(f"measure {name!r}", hint):
        answer = measure(model)
    return numbers(f"the answer of measure {name!r}", answer, expected, least=0)
