"""How complex a model's function is, on straight paths between points of its data (simplicity paper, Eq. 2, App. F)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lab.probes.calling import BATCH, Model, Points, function_of, values
from lab.probes.paths import draw

RESAMPLES = 1000  # of the bootstrap
ROUNDING = 64  # a path that deviates less than so many units of the last place of the largest value is straight


@dataclass(frozen=True)
class Complexity:
    """A mean over paths with its 95 % interval, low to high (bootstrap over paths), and each path's value, (paths,)."""

    value: float
    low: float
    high: float
    paths: np.ndarray = field(repr=False)


def total_variation(
    f: Model,
    points: Points,
    labels: Points | None = None,
    paths: int = 200,
    samples: int = 100,
    seed: int = 0,
) -> Complexity:
    """How far f goes up and down along straight paths between points (simplicity paper, Eq. 2).

    What f would change along the straight line between a path's ends is subtracted first: a linear function has 0.

    f: any callable (N, inputs) → (N,) or (N, outputs), as for `slice_1d`. Of several outputs, each path looks at one,
        drawn at random.
    points: (N, inputs), or images (N, C, H, W). A path joins two of them.
    labels: (N,); if given, a path joins two points with different labels.
    paths, samples, seed: number of paths, points on each, and the seed of their choice.

    The unit is that of f. Compare values for the same points, paths and seed only. Raises ArgumentError for arguments
    of other shapes, and where f fails.

    >>> line = np.linspace(-1, 1, 50)[:, None]
    >>> total_variation(lambda x: 3 * x[:, 0] + 2, line).value < 1e-10
    True
    """
    return _complexity(variations, f, points, labels, paths, samples, seed)


def fourier_complexity(
    f: Model,
    points: Points,
    labels: Points | None = None,
    paths: int = 200,
    samples: int = 100,
    seed: int = 0,
) -> Complexity:
    """The mean frequency of f along straight paths between points, in cycles per path, weighted by magnitude.

    The paper compares total variation with a Fourier-based measure from prior work (simplicity paper, App. F), and does
    not say which. Here it is Σ k |f̃(k)| / Σ |f̃(k)|, with f̃ the `spectrum` along each path after the straight line
    between its ends is subtracted. A path on which f is linear has 0. Arguments and errors as for `total_variation`.

    >>> ends = np.array([[0.0], [1.0]])
    >>> round(fourier_complexity(lambda x: np.sin(2 * np.pi * 5 * x[:, 0]), ends).value, 6)
    5.0
    """
    return _complexity(frequencies, f, points, labels, paths, samples, seed)


def deviation(course: np.ndarray) -> np.ndarray:
    """What is left of functions (…, samples) when the straight line between their ends is subtracted (App. F).

    (…, paths, samples) are paths of several models. Exactly 0 where nothing but rounding is left of a function.

    >>> deviation(np.array([1.0, 2.0, 5.0])).tolist()
    [0.0, -1.0, 0.0]
    """
    along = np.linspace(0.0, 1.0, course.shape[-1])
    exact = course.astype(np.float64)
    left = exact - ((1 - along) * exact[..., :1] + along * exact[..., -1:])
    # the largest value of all paths of a model: it rounds on one path as it does on the others
    largest = np.abs(exact).max(tuple(range(-min(2, course.ndim), 0)), keepdims=True)
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
    return Complexity(float(each.mean()), float(low), float(high), each)
