"""What tells two groups of codes apart: which trait of their examples, and whether a linear decoder can."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.errors import ArgumentError
from lab.probes import arguments
from lab.probes.codes import as_codes
from lab.probes.decoding import Decoding, decode

LEAST = 8  # examples of either group
REGIONS = 20  # pairs of other regions to compare with
TRIES = 40  # pairs of centres that are looked at for each


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two groups of examples, A and B, side by side.

    share_a, share_b (C,): of the examples that have each trait. widest: the trait whose shares differ most.
    decoding: of A (class 0) against B (class 1) from the codes. unseen: whether it was tested on combinations that its
    training did not have; where a group has too few of them for that, it was tested on other examples of the same.
    elsewhere, gaps (regions,): accuracy and widest difference of shares for pairs of other regions of the map, empty
    without a map.
    """

    share_a: np.ndarray
    share_b: np.ndarray
    widest: int
    decoding: Decoding
    unseen: bool
    elsewhere: np.ndarray
    gaps: np.ndarray

    @property
    def gap(self) -> float:
        """By how much the shares of the widest trait differ."""
        return float(np.abs(self.share_a - self.share_b).max())


def contrast(
    codes: Any,
    a: Any,
    b: Any,
    traits: Any,
    groups: Any = None,
    seed: int = 0,
    shuffles: int = 20,
    points: Any = None,
) -> Contrast:
    """Compare two groups of examples, A and B, by their traits, and by whether a decoder tells their codes apart.

    codes: (examples, heads).
    a, b: indices of the examples of A and of B, with no common one.
    traits: (examples, C) bool: what an example has.
    groups, seed, shuffles: as for `decode`, by which a logistic regression tells A from B.
    points: (examples, 2), the map on which A and B were chosen.

    Where A and B were chosen by looking at these codes, it is no discovery that a decoder tells them apart: any two
    regions of a map have different codes. So with `points` the same is measured for pairs of regions around random
    centres, as large and about as far apart (`regions`). Only what is rarer there says something about A and B. The
    lab's own control, for maps as in Figures 2D and 5A of the hypernetwork paper.

    Raises ArgumentError for other shapes, groups that overlap, or groups of too few examples.

    >>> rng = np.random.default_rng(0)
    >>> rule, other = rng.integers(4, size=(2, 400))
    >>> codes = np.eye(4)[rule] + rng.normal(size=(400, 4)) / 20  # head h fires for rule h
    >>> result = contrast(codes, *(np.flatnonzero(rule == r) for r in (0, 2)), np.eye(4)[rule] == 1, other)
    >>> result.share_a.tolist(), result.share_b.tolist(), float(result.decoding.accuracy.value), result.unseen
    ([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], 1.0, True)
    """
    codes = as_codes(codes)
    a, b = _indices("a", a, len(codes)), _indices("b", b, len(codes))
    expected = f"True and False of shape ({len(codes)}, traits)"
    traits = arguments.array("traits", traits, expected)
    if traits.ndim != 2 or len(traits) != len(codes) or not traits.size or not np.isin(traits, (0, 1)).all():
        raise ArgumentError(f"traits are {arguments.described(traits)}; give {expected}")
    groups = None if groups is None else arguments.labels("groups", groups, len(codes), "parts")
    if min(len(a), len(b)) < LEAST:
        raise ArgumentError(f"A has {len(a)} examples and B {len(b)}; choose {LEAST} or more for each")
    if len(np.intersect1d(a, b)):
        raise ArgumentError(f"A and B have {len(np.intersect1d(a, b))} examples in common; choose groups apart")
    share_a, share_b = (traits[part].mean(0) for part in (a, b))
    decoding, unseen = _decoded(codes, a, b, groups, seed, shuffles)
    others = [] if points is None else regions(points, a, b, REGIONS, seed)
    elsewhere = [float(_decoded(codes, *pair, groups, seed, 1)[0].accuracy.value) for pair in others]
    gaps = [float(np.abs(np.subtract(*(traits[part].mean(0) for part in pair))).max()) for pair in others]
    widest = int(np.abs(share_a - share_b).argmax())
    return Contrast(share_a, share_b, widest, decoding, unseen, np.array(elsewhere), np.array(gaps))


def regions(points: Any, a: Any, b: Any, count: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of regions of a map, without a common point, as large as A and B and about as far apart.

    points (N, 2). a, b: indices of points. A region is the points that are nearest to a random one.

    >>> line = np.stack([np.arange(40.0), np.zeros(40)], axis=1)
    >>> [(len(one), len(other)) for one, other in regions(line, range(10), range(20, 25), count=2)]
    [(10, 5), (10, 5)]
    """
    points = np.asarray(points, np.float64)
    a, b = _indices("a", a, len(points)), _indices("b", b, len(points))
    rng, sizes = np.random.default_rng(seed), (len(a), len(b))
    apart = np.linalg.norm(points[a].mean(0) - points[b].mean(0))
    centres = rng.integers(len(points), size=(TRIES * count, 2))
    centres = centres[centres[:, 0] != centres[:, 1]]
    distances = np.linalg.norm(points[centres[:, 0]] - points[centres[:, 1]], axis=1)
    pairs = []
    for pair in centres[np.argsort(np.abs(distances - apart), kind="stable")][:count]:
        away = np.linalg.norm(points[:, None] - points[pair], axis=2)
        near = np.argsort(away.min(1), kind="stable")[: sum(sizes)]
        near = near[np.argsort(away[near, 0] - away[near, 1], kind="stable")]
        pairs.append((np.sort(near[: sizes[0]]), np.sort(near[sizes[0] :])))
    return pairs


def _decoded(
    codes: np.ndarray, a: np.ndarray, b: np.ndarray, groups: np.ndarray | None, seed: int, shuffles: int
) -> tuple[Decoding, bool]:
    """A decoder of A against B, and whether it was tested on combinations that it had not seen."""
    both, which = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    if groups is not None:
        with suppress(ArgumentError):  # no split has A and B on both sides
            return decode(codes[both], which, groups[both], seed, shuffles=shuffles), True
    return decode(codes[both], which, None, seed, shuffles=shuffles), False


def _indices(name: str, values: Any, examples: int) -> np.ndarray:
    """Numbers of examples, each once, in order."""
    expected = f"indices of examples, whole numbers from 0 to {examples - 1}"
    rows = arguments.array(name, values, expected)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size or rows.min() < 0 or rows.max() >= examples:
        raise ArgumentError(f"{name} is {arguments.described(rows)}; give {expected}")
    return np.unique(rows)
