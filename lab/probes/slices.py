"""A model on a line or a plane of its input space (simplicity paper, Section 2.1 and Appendix E)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.errors import ArgumentError, check_whole, described, shown
from lab.probes.arguments import check_room, finite, pair
from lab.probes.calling import Model, Points, coordinates, rows, values

_BOUNDS = "two finite numbers, the first below the second"


@dataclass(frozen=True)
class Slice1D:
    """A model along the straight line from one point to another.

    along (samples,): λ of the point (1 − λ) a + λ b, from 0 to 1; values (samples,), or (samples, outputs).
    """

    along: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class Slice2D:
    """A model over a plane of its input space.

    x, y (grid,): what stands in the first and in the second input dimension, or λ and μ of the point
    (1 − λ − μ) a + λ b + μ c; values (grid, grid), or (grid, grid, outputs): rows belong to y, columns to x, as an
    image from below.
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray


def slice_1d(f: Model, a: Points, b: Points, samples: int = 100) -> Slice1D:
    """f along the line from a to b, at `samples` evenly spaced points, both ends included.

    f: any callable (N, inputs) → (N,) or (N, outputs): a module, a function of tensors or arrays, `predict` of an
        estimator. Of several tensors, the first counts. Modules are read as in evaluation mode, also inside a function,
        and left as they were; those of half precision compute in float32.
    a, b: points (inputs,), or images (C, H, W).

    Raises ArgumentError for points of different shapes, and where f fails.

    >>> slice_1d(lambda x: x.sum(1), np.array([0.0, 1.0]), np.array([4.0, 1.0]), samples=3).values.tolist()
    [1.0, 3.0, 5.0]
    """
    (start, shape), (end, other) = rows(a, "a", single=True), rows(b, "b", single=True)
    if (shape or start.shape) != (other or end.shape):
        sizes = (f"shape {one}" if one else f"{len(row)} inputs" for one, row in ((shape, start), (other, end)))
        raise ArgumentError("a has {} and b has {}; give two points of one space".format(*sizes))
    check_room("samples", check_whole("samples", samples, 2), len(start))
    along = np.linspace(0.0, 1.0, samples)
    outputs = values(f, (1 - along)[:, None] * start + along[:, None] * end, a, shape)
    return Slice1D(along, _plain(outputs))


def slice_2d(
    f: Model,
    x: Points,
    dims: tuple[int, int] | None = None,
    grid: int = 200,
    bounds: tuple[float, float] | None = None,
) -> Slice2D:
    """f over a plane of its input space: along two inputs of one point, or through three points.

    f: as for `slice_1d`.
    dims: two numbers of inputs. These inputs of the point x (inputs,) take every pair of `grid` evenly spaced values
        within bounds, −1 to 1 by default (simplicity paper, App. E.4).
    Without dims, x (3, inputs) are points a, b, c: values are at (1 − λ − μ) a + λ b + μ c, where λ and μ take evenly
        spaced values within bounds, 0 to 1 by default (Sec. 2.1).

    Raises ArgumentError for other shapes, dims that x does not have, and where f fails.

    >>> slice_2d(lambda x: x[:, 0] - x[:, 2], np.zeros(3), dims=(0, 2), grid=2).values.tolist()
    [[0.0, 2.0], [-2.0, 0.0]]
    >>> slice_2d(lambda x: x[:, 0], np.array([[5.0], [6.0], [8.0]]), grid=2).values.tolist()
    [[5.0, 6.0], [8.0, 9.0]]
    """
    bounds = ((0.0, 1.0) if dims is None else (-1.0, 1.0)) if bounds is None else bounds
    low, high = finite("bounds", pair("bounds", bounds, _BOUNDS), _BOUNDS).ravel()
    if not low < high:
        raise ArgumentError(f"bounds={bounds!r}: give {_BOUNDS}")
    where = _corners(x) if dims is None else coordinates(x, 1, "x")
    check_room("grid", check_whole("grid", grid, 2), grid, where.shape[-1])
    axis = np.linspace(low, high, grid)
    first, second = np.tile(axis, grid), np.repeat(axis, grid)
    points = _through(where, first, second) if dims is None else _along(where, dims, first, second)
    outputs = _plain(values(f, points, x))
    return Slice2D(axis, axis, outputs.reshape(grid, grid, *outputs.shape[1:]))


def alignment(plane: Slice2D) -> float:
    """Whether a function over a plane changes along its two axes or between them, from 0 to 1.

    It is 1 where the function changes along one axis at a time, as trees do, 0 where it changes along diagonals only,
    and 2/π where it changes in all directions alike. With d and e the changes to the right and upwards in each cell of
    the grid, summed over outputs: Σ |d² − e²| / Σ (d² + e²). NaN for a constant. The lab's own measure, for what Figure
    7c of the simplicity paper shows.

    plane: what `slice_2d` returned. Raises ArgumentError for anything else.

    >>> axis = np.linspace(-1, 1, 9)
    >>> [alignment(Slice2D(axis, axis, values)) for values in (np.tile(axis, (9, 1)), axis + axis[:, None])]
    [1.0, 0.0]
    """
    if not isinstance(plane, Slice2D):
        raise ArgumentError(f"plane is {described(plane)}; give what probes.slice_2d returned")
    values = plane.values.reshape(len(plane.y), len(plane.x), -1).astype(np.float64)
    right = (values[:, 1:] - values[:, :-1])[1:] + (values[:, 1:] - values[:, :-1])[:-1]
    up = (values[1:] - values[:-1])[:, 1:] + (values[1:] - values[:-1])[:, :-1]
    squares = right**2, up**2
    whole = (squares[0] + squares[1]).sum()
    return float(np.abs(squares[0] - squares[1]).sum() / whole) if whole > 0 else float("nan")


def _along(point: np.ndarray, dims: tuple[int, int], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    expected = f"two different numbers from 0 to {len(point) - 1}"
    whole = all(isinstance(m, (int, np.integer)) and not isinstance(m, bool) for m in pair("dims", dims, expected))
    if not whole or dims[0] == dims[1] or not all(0 <= m < len(point) for m in dims):
        raise ArgumentError(f"dims={shown(dims)}: give {expected}")
    points = np.tile(point, (len(first), 1))
    points[:, dims[0]], points[:, dims[1]] = first, second
    return points


def _through(corners: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.stack([1 - first - second, first, second], 1) @ corners


def _corners(x: Points) -> np.ndarray:
    corners = finite("x", x, "three points, (3, inputs), or one and two dims")
    if corners.ndim != 2 or len(corners) != 3:
        raise ArgumentError(f"x has shape {corners.shape}; give three points, (3, inputs), or one and two dims")
    return corners


def _plain(outputs: np.ndarray) -> np.ndarray:
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs
