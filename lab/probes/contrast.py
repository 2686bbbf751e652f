"""What tells two groups of codes apart: which trait of their examples, and whether a linear decoder can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.errors import ArgumentError
from lab.probes import arguments
from lab.probes.codes import as_codes
from lab.probes.decoding import Decoding, decode

LEAST = 8  # examples of either group


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two groups of examples, A and B, side by side.

    share_a, share_b (C,): of the examples that have each trait. widest: the trait whose shares differ most.
    decoding: of A (class 0) against B (class 1) from the codes. unseen: whether it was tested on combinations that its
    training did not have; where a group has too few of them for that, it was tested on other examples of the same.
    """

    share_a: np.ndarray
    share_b: np.ndarray
    widest: int
    decoding: Decoding
    unseen: bool


def contrast(
    codes: Any, a: Any, b: Any, traits: Any, groups: Any = None, seed: int = 0, shuffles: int = 20
) -> Contrast:
    """Compare the examples `a` with the examples `b`, two groups without a common member.

    codes (examples, heads). a, b: indices of examples. traits (examples, C) bool: what an example has. groups, seed,
    shuffles: as in `decode`, which a logistic regression of A against B goes through.

    Where A and B were chosen by looking at these codes, that a decoder tells them apart is no discovery: it says how
    far a line separates what the eye did. Which trait they differ in was not looked at when they were chosen.

    >>> rng = np.random.default_rng(0)
    >>> rule, other = rng.integers(4, size=(2, 400))
    >>> codes = np.eye(4)[rule] + rng.normal(size=(400, 4)) / 20  # head h fires for rule h
    >>> found = contrast(codes, *(np.flatnonzero(rule == r) for r in (0, 2)), np.eye(4)[rule] == 1, other)
    >>> found.share_a.tolist(), found.share_b.tolist(), float(found.decoding.accuracy.value), found.unseen
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
    both, which = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    unseen = groups is not None
    try:
        found = decode(codes[both], which, groups[both] if unseen else None, seed, shuffles=shuffles)
    except ArgumentError:  # no split has A and B on both sides
        found, unseen = decode(codes[both], which, None, seed, shuffles=shuffles), False
    return Contrast(share_a, share_b, int(np.abs(share_a - share_b).argmax()), found, unseen)


def _indices(name: str, values: Any, examples: int) -> np.ndarray:
    """Numbers of examples, each once, in order."""
    expected = f"indices of examples, whole numbers from 0 to {examples - 1}"
    found = arguments.array(name, values, expected)
    if found.dtype.kind not in "iu" or found.ndim != 1 or not found.size or found.min() < 0 or found.max() >= examples:
        raise ArgumentError(f"{name} is {arguments.described(found)}; give {expected}")
    return np.unique(found)
