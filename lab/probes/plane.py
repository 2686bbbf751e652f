"""A plane of weight space: where it lies, how its directions were chosen, how a training runs past it.

P is the number of weights, T the number of checkpoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from torch import nn

from lab.errors import ArgumentError, check_whole, shown
from lab.probes.arguments import FAR, numbers
from lab.probes.weights import flat, history, rest, rest_history, runs_of, weights

NORMALIZATIONS = ("filter", "layer", "global")
MARGIN = 0.1  # of the trajectory's extent, on each side of it


@dataclass(frozen=True, eq=False)
class Plane:
    """The points centre + x · first + y · second.

    centre (P,): the model's weights; directions (2, P); normalization: how long they are, in words; explained (2,): the
    share of a trajectory's variance along each, for its principal directions, else None; low, high (2,): what x and y
    reach, for a radius of 1; buffers (2, S): by how much the running statistics, and what else is no weight
    (`weights.rest`), move along each; None: they stay.
    """

    centre: np.ndarray = field(repr=False)
    directions: np.ndarray = field(repr=False)
    normalization: str
    explained: np.ndarray | None
    low: np.ndarray
    high: np.ndarray
    buffers: np.ndarray | None = field(default=None, repr=False)

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
        raise ArgumentError(
            "all checkpoints are the same; a state_dict changes with the model: keep copy.deepcopy(model.state_dict())"
        )
    if sizes[1] <= 1e-12 * sizes[0]:
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
