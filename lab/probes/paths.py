"""Straight paths between points of a data set, on which a model's complexity is measured (simplicity paper, App. F)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lab.errors import ArgumentError, check_whole
from lab.probes import arguments
from lab.probes.calling import Points, rows


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
