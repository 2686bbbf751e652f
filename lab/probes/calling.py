"""A model called on many points, whatever framework it is written in; on a line or a plane of its input space."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_whole, described, shown
from lab.models.layers import Embedding
from lab.picture import HasPicture
from lab.probes.arguments import FAR, array, calling, check_room, finite, pair
from lab.probes.reading import asked, check_steady, modules_of, reading
from lab.probes.weights import runs_of

Points = np.ndarray | Tensor
Model = Callable[[Any], Any]  # of tensors or of arrays, as the points are
FEW = 4  # points that are asked for again
BATCH = 4096  # points that a model is given at once: what bounds the memory of a probe
_BOUNDS = "two finite numbers, the first below the second"


def values(f: Model, points: np.ndarray, like: object, shape: tuple[int, ...] = ()) -> np.ndarray:
    """f at points (N, inputs): (N, outputs), in the type that f answers in.

    f: a model with one or more outputs, (N, inputs) → (N,) or (N, …); or what `function_of` makes one of. The modules
    in it are read in evaluation mode and left as they were; those of half precision compute in float32, and an answer
    of half precision is refused: its rounding would be structure. A module receives tensors of the type and device of
    its parameters; any other callable what `like`, the points that the user gave, is: tensors of the same type and
    device, or arrays. shape: of one point as f reads it, where it is no row of inputs: of an image (C, H, W). Values
    that are not finite are refused, and those that are others when they are asked for again.
    """
    f = function_of(f)
    parts = [points[start : start + BATCH] for start in range(0, len(points), BATCH)]
    parts = [part.reshape(-1, *shape) if shape else part for part in parts]
    hint = advice(f)
    with reading(f, exact=True), calling(f"the model, on points of shape {parts[0].shape},", hint):
        outputs = np.concatenate([answers(asked(f, given(f, part, like)), (len(part),)) for part in parts])
        few = parts[0][: few_of(len(parts[0]))]
        check_steady(outputs[: len(few)], answers(asked(f, given(f, few, like)), (len(few),)))
    if bad := int((~np.isfinite(outputs)).any(1).sum()):
        raise ArgumentError(f"the function is not finite at {bad} of {len(outputs)} points; give a model that is")
    if (largest := float(np.abs(outputs).max())) > FAR:
        raise ArgumentError(f"the function reaches {largest:.3g}, whose square is infinite; divide it by that")
    return outputs


def answers(answer: object, counts: tuple[int, ...]) -> np.ndarray:
    """Real numbers that a function answered with, (*counts, outputs); counts: of points, or of runs and points.

    >>> answers(torch.zeros(3, 2, 2), (3,)).shape
    (3, 4)
    """
    size = ", ".join(map(str, counts))
    wanted = f"one row of numbers for each of {counts[-1]} points, ({size},) or ({size}, outputs)"
    if isinstance(answer, (list, tuple)) and any(isinstance(one, Tensor | np.ndarray) and one.ndim for one in answer):
        raise ArgumentError(f"the function gave {described(answer)} arrays; give one that answers with one: f(x)[0]")
    kind = str(getattr(answer, "dtype", None)).removeprefix("torch.")
    if kind in ("bfloat16", "float16"):
        words = f"the function answers in {kind}, whose rounding would be taken for structure"
        raise ArgumentError(f"{words}; let it compute in float32")
    outputs = array("the function's answer", answer, wanted)
    if outputs.shape[: len(counts)] != counts or not outputs.size:
        raise ArgumentError(f"the function gave shape {outputs.shape} for {counts[-1]} points; it must be {wanted}")
    if outputs.dtype.kind not in "fiub":
        raise ArgumentError(f"the function gave {outputs.dtype}; give one of real numbers, as the absolute value")
    if not np.issubdtype(outputs.dtype, np.floating):
        outputs = outputs.astype(np.float64)  # classes of a classifier, True and False
    return outputs.reshape(*counts, -1)


class Alone(nn.Module):
    """The one run of a model with a run axis, as a function of points (N, inputs) → (N, outputs)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x[None])[0]


def function_of(model: object) -> Model:
    """What can be called on points: of a network with a run axis its one run, of an estimator its probabilities, else
    its decision function, else its prediction; any other callable itself.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> function_of(DecisionTreeClassifier().fit([[0], [1]], [0, 1]))(np.array([[0.9]])).tolist()
    [[0.0, 1.0]]
    """
    if isinstance(model, Alone):
        return model
    if isinstance(model, nn.Module):
        runs = runs_of(model)
        if runs not in (None, 1):
            raise ArgumentError(f"this {type(model).__name__} has {runs} runs; give a model with one, as run.model()")
        return model if runs is None else Alone(model)
    if not isinstance(model, type):
        for name in ("predict_proba", "decision_function", "predict"):
            if hasattr(model, name):
                return getattr(model, name)
    if isinstance(model, type) or not callable(model):
        hint = "; its .model() can" if callable(getattr(model, "model", None)) else ""
        words = f"{described(model)} cannot be called on points{hint}"
        raise ArgumentError(f"{words}; give a module, an estimator or a function")
    return model


def coordinates(points: object, dimensions: int, name: str) -> np.ndarray:
    """Points as a float64 array with this number of dimensions, each number finite."""
    shape = ("(inputs,)", "(points, inputs)")[dimensions - 1]
    return finite(name, points, f"numbers of shape {shape}", dimensions)


def rows(points: object, name: str, single: bool = False) -> tuple[np.ndarray, tuple[int, ...]]:
    """Points as rows (N, inputs), or a single one as (inputs,), float64 and finite; and the shape of one as the model
    reads it, () for a row: of images (N, C, H, W) it is (C, H, W).

    >>> rows(np.zeros((5, 1, 2, 2)), "points")[0].shape, rows(np.zeros((5, 1, 2, 2)), "points")[1]
    ((5, 4), (1, 2, 2))
    """
    expected = "numbers of shape (inputs,)" if single else "numbers of shape (points, inputs)"
    numeric = finite(name, points, expected)
    shape = numeric.shape if single else numeric.shape[1:]
    if not shape:
        raise ArgumentError(f"{name} has shape {numeric.shape}; give {expected}")
    return numeric.reshape(-1) if single else numeric.reshape(len(numeric), -1), shape if len(shape) > 1 else ()


def advice(f: Model) -> str:
    """What to try with a model that fails on points."""
    if isinstance(f, nn.Module) and any(isinstance(part, (nn.Embedding, Embedding)) for part in f.modules()):
        hint = "give a function of their embeddings, as lambda x: model(inputs_embeds=x)"
        return f"it reads token ids, and there is nothing between two of them: {hint}"
    hint = "give a function of points (N, inputs) with one or more outputs for each"
    half = any(p.dtype in (torch.bfloat16, torch.float16) for part in modules_of(f) for p in part.parameters(False))
    return hint + (", which casts nothing: weights of half precision are float32 here" if half else "")


def few_of(count: int) -> int:
    """How many of so many points are asked for again, to see whether the answers stay."""
    return max(1, min(FEW, count // 2))


def given(f: Model, points: np.ndarray, like: object) -> Points:
    """Points as f reads them, in float32 at least: between two points there are others."""
    floats = (part for part in f.parameters() if part.is_floating_point()) if isinstance(f, nn.Module) else ()
    model = next(iter(floats), torch.empty(0)) if isinstance(f, nn.Module) else like
    if not isinstance(model, Tensor):
        return points
    kind = model.dtype if model.is_floating_point() else torch.get_default_dtype()
    return torch.from_numpy(points).to(model.device, torch.promote_types(kind, torch.float32))


@dataclass(frozen=True, repr=False)
class Slice1D(HasPicture):
    """A model along the straight line from one point to another.

    along (samples,): λ of the point (1 − λ) a + λ b, from 0 to 1; values (samples,), or (samples, outputs).
    """

    along: np.ndarray
    values: np.ndarray


@dataclass(frozen=True, repr=False)
class Slice2D(HasPicture):
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
    f: Model, x: Points, dims: tuple[int, int] | None = None, grid: int = 200, bounds: tuple[float, float] | None = None
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
    corners = "three points, (3, inputs), or one and two dims"
    where = finite("x", x, corners, 2) if dims is None else coordinates(x, 1, "x")
    if dims is None and len(where) != 3:
        raise ArgumentError(f"x has shape {where.shape}; give {corners}")
    check_room("grid", check_whole("grid", grid, 2), grid, where.shape[-1])
    axis = np.linspace(low, high, grid)
    first, second = np.tile(axis, grid), np.repeat(axis, grid)
    if dims is None:
        points = np.stack([1 - first - second, first, second], 1) @ where
    else:
        points = _along(where, dims, first, second)
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
    to_right, upwards = np.diff(values, axis=1), np.diff(values, axis=0)
    right, up = (to_right[1:] + to_right[:-1]) ** 2, (upwards[:, 1:] + upwards[:, :-1]) ** 2
    whole = (right + up).sum()
    return float(np.abs(right - up).sum() / whole) if whole > 0 else float("nan")


def _along(point: np.ndarray, dims: tuple[int, int], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    expected = f"two different numbers from 0 to {len(point) - 1}"
    whole = all(isinstance(m, (int, np.integer)) and not isinstance(m, bool) for m in pair("dims", dims, expected))
    if not whole or dims[0] == dims[1] or not all(0 <= m < len(point) for m in dims):
        raise ArgumentError(f"dims={shown(dims)}: give {expected}")
    points = np.tile(point, (len(first), 1))
    points[:, dims[0]], points[:, dims[1]] = first, second
    return points


def _plain(outputs: np.ndarray) -> np.ndarray:
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs
