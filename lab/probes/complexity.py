"""How complex a model's function is, on straight paths between points of its data (simplicity paper, Eq. 2, App. F)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from lab.errors import ArgumentError, check_whole
from lab.probes.calling import BATCH, Model, Points, coordinates, values

RESAMPLES = 1000  # of the bootstrap
ROUNDING = 64  # a path that deviates less than so many units of the last place of the largest value is straight


@dataclass(frozen=True)
class Complexity:
    """A mean over paths, its 95 % interval (bootstrap over paths), and each path's own number, (paths,)."""

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
    """How far f goes up and down on a path, its way along the straight line between its ends not counted (Eq. 2).

    f: any callable (N, inputs) → (N,) or (N, outputs), as for `slice_1d`; of several outputs, each path looks at one,
    drawn at random. points (N, inputs): a path joins two of them; labels (N,): where given, two with different ones.
    A linear function has 0. The unit is that of f. Compare values for the same points, paths and seed.

    >>> line = np.linspace(-1, 1, 50)[:, None]
    >>> total_variation(lambda x: 3 * x[:, 0] + 2, line).value < 1e-10
    True
    """
    return _complexity(_variation, f, points, labels, paths, samples, seed)


def fourier_complexity(
    f: Model,
    points: Points,
    labels: Points | None = None,
    paths: int = 200,
    samples: int = 100,
    seed: int = 0,
) -> Complexity:
    """The mean frequency of f on a path, in cycles a path, each frequency weighted with its magnitude.

    The measure to which Appendix F compares the total variation. It says no more than that it is a Fourier-based one
    from prior work; here it is Σ k |f̃(k)| / Σ |f̃(k)|, with f̃ the `spectrum` along each path, the straight line between
    its ends subtracted. A path on which f is linear has 0. Arguments as for `total_variation`.

    >>> ends = np.array([[0.0], [1.0]])
    >>> round(fourier_complexity(lambda x: np.sin(2 * np.pi * 5 * x[:, 0]), ends).value, 6)
    5.0
    """
    return _complexity(_mean_frequency, f, points, labels, paths, samples, seed)


def deviation(course: np.ndarray) -> np.ndarray:
    """What is left of functions (…, samples) when the straight line between their ends is subtracted (App. F).

    Exactly 0 where nothing but rounding is left of a function.

    >>> deviation(np.array([1.0, 2.0, 5.0])).tolist()
    [0.0, -1.0, 0.0]
    """
    along = np.linspace(0.0, 1.0, course.shape[-1])
    exact = course.astype(np.float64)
    left = exact - ((1 - along) * exact[..., :1] + along * exact[..., -1:])
    noise = ROUNDING * np.finfo(course.dtype).eps * np.abs(exact).max()  # of all: a model rounds as it does elsewhere
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


def _variation(course: np.ndarray) -> np.ndarray:
    return np.abs(np.diff(deviation(course), axis=-1)).sum(-1)


def _mean_frequency(course: np.ndarray) -> np.ndarray:
    found = spectrum(course)
    total = found.sum(-1)
    return found @ np.arange(1.0, found.shape[-1] + 1) / 2 / np.where(total > 0, total, 1.0)


def _complexity(
    measure: Callable[[np.ndarray], np.ndarray],
    f: Model,
    points: Points,
    labels: Points | None,
    paths: int,
    samples: int,
    seed: int,
) -> Complexity:
    where, generator = coordinates(points, 2, "points"), np.random.default_rng(check_whole("seed", seed, 0))
    first, second = _ends(len(where), labels, check_whole("paths", paths), generator)
    along = np.linspace(0.0, 1.0, check_whole("samples", samples, 3))[:, None]
    which, found = generator.random(paths), []  # which output: a share, as their number is not known yet
    together = max(1, BATCH // samples)
    for start in range(0, paths, together):
        part = slice(start, start + together)
        way = (1 - along) * where[first[part], None] + along * where[second[part], None]  # (paths, samples, inputs)
        course = values(f, way.reshape(-1, where.shape[1]), points).reshape(len(way), samples, -1)
        output = (which[part] * course.shape[-1]).astype(int)
        found.append(np.take_along_axis(course, output[:, None, None], axis=2)[..., 0])
    each = measure(np.concatenate(found))
    means = each[generator.integers(paths, size=(RESAMPLES, paths))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Complexity(float(each.mean()), float(low), float(high), each)


def _ends(
    count: int, labels: Points | None, paths: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two points for each path, every pair of points with different labels as likely as any other."""
    if labels is None:
        labels = np.arange(count)  # a point is no path
    labels = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if labels.shape != (count,):
        raise ArgumentError(f"labels has shape {labels.shape} for {count} points; give one label a point, ({count},)")
    _, label, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if len(sizes) < 2:
        raise ArgumentError(f"a path needs two points with different labels, and these {count} have one label only")
    order, before = np.argsort(label, kind="stable"), np.cumsum(sizes) - sizes  # points by label
    others = count - sizes[label]  # for each point, the number of points with other labels
    first = generator.choice(count, size=paths, p=others / others.sum())
    step = (generator.random(paths) * others[first]).astype(int)
    own = label[first]
    return first, order[(before[own] + sizes[own] + step) % count]  # beyond its own label, around the end
