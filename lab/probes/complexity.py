"""How complex a model's function is, on straight paths between points of its data (simplicity paper, Eq. 2, App. F);
also as measures for landscapes: functions from a model to a number, from a model with a run axis to (R,).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_whole, described
from lab.picture import HasPicture
from lab.probes import arguments
from lab.probes.arguments import calling, module
from lab.probes.calling import BATCH, Model, Points, advice, answers, few_of, function_of, given, rows, values
from lab.probes.loss import ROWS, number_of_runs, side_by_side
from lab.probes.reading import asked, check_steady, reading

RESAMPLES = 1000  # of the bootstrap
ROUNDING = 64  # a path that deviates less than so many units of the last place of its largest value is straight


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths from start to end, both (paths, inputs), with as many evenly spaced points each; a share of 0 to 1 for each
    path, `which`, says at which of a model's outputs it looks. shape: of a point as the model reads it, () for a row.
    """

    start: np.ndarray
    end: np.ndarray
    which: np.ndarray
    samples: int
    shape: tuple[int, ...] = ()

    def points(self, part: slice = slice(None)) -> np.ndarray:
        """The points of these paths one after the other, (paths · samples, inputs), float64.

        >>> Paths(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), samples=3).points().tolist()
        [[0.0], [0.5], [1.0]]
        """
        along = np.linspace(0.0, 1.0, self.samples)[:, None]
        way = (1 - along) * self.start[part, None] + along * self.end[part, None]
        return way.reshape(-1, way.shape[-1])

    def course(self, values: Callable[[np.ndarray], np.ndarray], together: int) -> np.ndarray:
        """What `values` makes of the points, (N, inputs) → (…, N, outputs), on each path: (…, paths, samples).

        together: points that it is given at once, at most; one path at least.
        """
        paths, blocks = max(1, together // self.samples), []
        for first in range(0, len(self.start), paths):
            part = slice(first, first + paths)
            answer = values(self.points(part))
            answer = answer.reshape(*answer.shape[:-2], -1, self.samples, answer.shape[-1])
            output = (self.which[part] * answer.shape[-1]).astype(int)
            output = output.reshape(*[1] * (answer.ndim - 3), -1, 1, 1)
            blocks.append(np.take_along_axis(answer, output, axis=-1)[..., 0])
        return np.concatenate(blocks, axis=-2)


def draw(
    points: Points, labels: Points | None, paths: int, samples: int, seed: int
) -> tuple[Paths, np.random.Generator]:
    """Paths between points (N, inputs), or images (N, C, H, W), and what is left of the chance.

    labels (N,): a path joins two points with different ones; without, any two. Every such pair is
    as likely as any other.

    >>> draw(np.eye(3), np.array([0, 0, 1]), paths=50, samples=3, seed=0)[0].which.shape
    (50,)
    """
    generator = np.random.default_rng(check_whole("seed", seed, 0))
    where, shape = rows(points, "points")
    arguments.check_room("paths", check_whole("paths", paths), where.shape[1])
    first, second = _ends(len(where), labels, paths, generator)
    arguments.check_room("samples", check_whole("samples", samples, 3), max(paths, where.shape[1]))
    which = generator.random(paths)  # a share, as the number of outputs is not known yet
    return Paths(where[first], where[second], which, samples, shape), generator


def _ends(
    count: int, labels: Points | None, paths: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    if labels is None and count < 2:
        raise ArgumentError(f"a path joins two points, and there is {count}; give two points or more")
    # without labels every point has its own: a point is no path
    labels = np.arange(count) if labels is None else arguments.labels("labels", labels, count)
    _, label, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ArgumentError(
            f"a path needs two points with different labels, and these {count} have one label only; give points of "
            "several, or no labels"
        )
    order, before = np.argsort(label, kind="stable"), np.cumsum(sizes) - sizes  # points by label
    others = count - sizes[label]  # for each point, the number of points with other labels
    first = generator.choice(count, size=paths, p=others / others.sum())
    step = (generator.random(paths) * others[first]).astype(int)
    group = label[first]
    return first, order[(before[group] + sizes[group] + step) % count]  # beyond its own label, around the end


@dataclass(frozen=True, repr=False)
class Complexity(HasPicture):
    """A mean over paths with its 95 % interval, low to high (bootstrap over paths), and each path's value, (paths,).
    measure: what it is, with its unit."""

    value: float
    low: float
    high: float
    paths: np.ndarray = field(repr=False)
    measure: str = "complexity"


def total_variation(
    f: Model, points: Points, labels: Points | None = None, paths: int = 200, samples: int = 100, seed: int = 0
) -> Complexity:
    """How far f goes up and down along straight paths between points (simplicity paper, Eq. 2).

    What f would change along the straight line between a path's ends is subtracted first: a linear function has 0.

    f: any callable (N, inputs) → (N,) or (N, outputs), as for `slice_1d`. Of several outputs, each path looks at one,
        drawn at random.
    points: (N, inputs), or images (N, C, H, W). A path joins two of them.
    labels: (N,); if given, a path joins two points with different labels.
    paths, samples, seed: number of paths, points on each, and the seed of their choice.

    The unit is that of f. Compare values for the same points, paths and seed only. A path on which f is straight but
    for 64 units of the last place has 0: give f in float64 where its values are large next to their changes. Raises
    ArgumentError for arguments of other shapes, and where f fails.

    >>> line = np.linspace(-1, 1, 50)[:, None]
    >>> total_variation(lambda x: 3 * x[:, 0] + 2, line).value < 1e-10
    True
    """
    return _complexity(variations, "total variation", f, points, labels, paths, samples, seed)


def fourier_complexity(
    f: Model, points: Points, labels: Points | None = None, paths: int = 200, samples: int = 100, seed: int = 0
) -> Complexity:
    """The mean frequency of f along straight paths between points, in cycles per path, weighted by magnitude.

    The paper compares total variation with a Fourier-based measure from prior work (simplicity paper, App. F), and does
    not say which. Here it is Σ k |f̃(k)| / Σ |f̃(k)|, with f̃ the `spectrum` along each path after the straight line
    between its ends is subtracted. A path on which f is linear has 0. Arguments and errors as for `total_variation`.

    >>> ends = np.array([[0.0], [1.0]])
    >>> round(fourier_complexity(lambda x: np.sin(2 * np.pi * 5 * x[:, 0]), ends).value, 6)
    5.0
    """
    return _complexity(frequencies, "Fourier complexity (cycles)", f, points, labels, paths, samples, seed)


def deviation(course: np.ndarray) -> np.ndarray:
    """What is left of functions (…, samples) when the straight line between their ends is subtracted (App. F).

    (…, paths, samples) are paths of several models. Exactly 0 where nothing but rounding is left of a function.

    >>> deviation(np.array([1.0, 2.0, 5.0])).tolist()
    [0.0, -1.0, 0.0]
    """
    along = np.linspace(0.0, 1.0, course.shape[-1])
    exact = course.astype(np.float64)
    left = exact - ((1 - along) * exact[..., :1] + along * exact[..., -1:])
    largest = np.abs(exact).max(-1, keepdims=True)
    if course.ndim > 1:  # where values are small by chance, a model rounds as it does on most of its paths
        largest = np.maximum(largest, np.median(largest, axis=-2, keepdims=True))
    kind = np.finfo(course.dtype)
    noise = np.maximum(ROUNDING * kind.eps * largest, kind.tiny)  # below `tiny`, rounding is no share of a number
    return np.where(np.abs(left).max(-1, keepdims=True) <= noise, 0.0, left)


def spectrum(course: np.ndarray) -> np.ndarray:
    """Amplitudes of ½, 1, 1½, … cycles in functions (…, samples), their straight line subtracted: (…, samples − 2).

    The discrete sine transform: what is left begins and ends with 0, so its odd continuation has no kink there that
    would be taken for high frequencies. A sine of whole periods and amplitude A has A at its frequency, 0 elsewhere.

    >>> np.round(spectrum(3 * np.sin(2 * np.pi * np.linspace(0, 1, 9))), 6).tolist()
    [0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    left = deviation(course)
    continued = np.concatenate([left, -left[..., -2:0:-1]], axis=-1)
    return np.abs(np.fft.rfft(continued, axis=-1).imag[..., 1:-1]) / (course.shape[-1] - 1)


def variations(course: np.ndarray) -> np.ndarray:
    """The total variation of each path of functions (…, paths, samples), its straight line subtracted: (…, paths).

    >>> variations(np.array([[1.0, 2.0, 5.0], [0.0, 1.0, 0.0]])).tolist()
    [2.0, 2.0]
    """
    return np.abs(np.diff(deviation(course), axis=-1)).sum(-1)


def frequencies(course: np.ndarray) -> np.ndarray:
    """The mean frequency of each path of functions (…, paths, samples), in cycles a path: (…, paths)."""
    power = spectrum(course)
    total = power.sum(-1)
    return power @ np.arange(1.0, power.shape[-1] + 1) / 2 / np.where(total > 0, total, 1.0)


def _complexity(
    measure: Callable[[np.ndarray], np.ndarray],
    name: str,
    f: Model,
    points: Points,
    labels: Points | None,
    paths: int,
    samples: int,
    seed: int,
) -> Complexity:
    f = function_of(f)
    drawn, generator = draw(points, labels, paths, samples, seed)
    each = measure(drawn.course(lambda way: values(f, way, points, drawn.shape), BATCH))
    means = each[generator.integers(paths, size=(RESAMPLES, paths))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Complexity(float(each.mean()), float(low), float(high), each, name)


@dataclass(frozen=True, eq=False)
class Variation:
    """The total variation as a measure for `landscape`: as `total_variation`, with the same arguments, paths and value.

    Called with a model, it gives a number; with a model that has a run axis, one for each run, (R,). runs: as for
    `Loss`. A model that is not finite on a path has the value NaN.

    >>> Variation(np.eye(3))(nn.Linear(3, 1))
    0.0
    """

    points: Tensor | np.ndarray
    labels: Tensor | np.ndarray | None = None
    paths: int = 200
    samples: int = 100
    seed: int = 0
    runs: bool | None = None
    _each = staticmethod(variations)  # of (…, paths, samples)

    def __call__(self, model: nn.Module) -> Tensor | float:
        module("model", model)
        runs, shape = number_of_runs(model, self.runs), self._drawn.shape

        def values(way: np.ndarray) -> np.ndarray:
            x = torch.as_tensor(given(model, way, None))
            return answers(ask(x.reshape(-1, *shape) if shape else x), (runs or 1, len(way)))

        def ask(x: Tensor) -> Any:
            with calling(f"{type(model).__name__}, on {described(x)},", advice(model)):
                answer = asked(model, side_by_side(x, runs) if runs else x)
            return answer if runs or not isinstance(answer, Tensor) else answer[None]

        with reading(model, exact=True), np.errstate(invalid="ignore", over="ignore"):
            course = self._drawn.course(values, max(self.samples, ROWS // (runs or 1)))
            some = self._drawn.points(slice(1))
            few = some[: few_of(len(some))]
            check_steady(*(values(part)[:, : len(few)].swapaxes(0, 1) for part in (some, few)))
            finite = np.isfinite(course).all((1, 2))
            means = np.where(finite, self._each(np.where(finite[:, None, None], course, 0)).mean(1), np.nan)
        return torch.from_numpy(means) if runs else float(means[0])

    @cached_property
    def _drawn(self) -> Paths:
        return draw(self.points, self.labels, self.paths, self.samples, self.seed)[0]


@dataclass(frozen=True, eq=False)
class Frequency(Variation):
    """The mean frequency as a measure for `landscape`, as `fourier_complexity` measures it; else as `Variation`."""

    _each = staticmethod(frequencies)
