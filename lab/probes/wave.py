"""The sine that a function is most like: at which frequency, and how much of the function it explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.errors import ArgumentError
from lab.probes.arguments import check_room, finite

DRAWS = 200  # of noise, for the control
FINENESS = 40  # frequencies that are tried in each 1 / (range of x)


@dataclass(frozen=True)
class Wave:
    """frequency: in periods per unit of x. explained: share of the variance around the best straight line, 0 to 1.
    y: the line and the sine together at the points, (points,). noise: the share that a sine explains of white noise at
    the same points and weights, in 19 of 20 draws at most: a control, because where few points count some sine always
    fits.
    """

    frequency: float
    explained: float
    y: np.ndarray
    noise: float


def wave(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Wave:
    """The sine that, added to a straight line, is nearest to y at the points x, by least squares.

    x, y: (points,), x evenly spaced. weights: (points,), what each point counts, e.g. the share of inputs that fall
    there (default: all the same). Frequencies are tried from one period in the range of x to one period in the range
    less than points can tell apart, two points a period: functions of addition modulo 41 have 2.1 points a period. The
    paper says of functions that they are sine-like by eye (simplicity paper, Fig. 12); this is our measure of it.

    >>> x = np.linspace(-2, 2, 101)
    >>> result = wave(x, np.sin(2 * np.pi * 1.5 * x + 0.4) + 0.3 * x)
    >>> round(result.frequency, 2), round(result.explained, 2)
    (1.5, 1.0)
    """
    expected = "one row of numbers, (points,)"
    x, y = finite("x", x, expected), finite("y", y, expected)
    weights = np.ones_like(x) if weights is None else finite("weights", weights, expected)
    if not (x.shape == y.shape == weights.shape and x.ndim == 1 and len(x) > 8):
        raise ArgumentError(f"x {x.shape}, y {y.shape}, weights {weights.shape}: give three rows of more than 8 points")
    if not (weights >= 0).all() or not weights.sum() > 0:
        raise ArgumentError("weights are negative or all 0; give numbers of 0 or more, some above")
    if not np.diff(x).min() > 0 or np.ptp(np.diff(x)) > 1e-3 * np.diff(x).mean():
        raise ArgumentError(f"x goes from {x[0]:g} to {x[-1]:g} in uneven steps; give evenly spaced points, in order")
    check_room("x", len(x), FINENESS * len(x) // 2, 4)
    root, span = np.sqrt(weights), x[-1] - x[0]
    frequencies = np.arange(FINENESS, FINENESS * ((len(x) - 1) // 2 - 1) + 1) / (FINENESS * span)
    line = np.stack([np.ones_like(x), x], 1)
    angles = 2 * np.pi * frequencies[:, None] * x
    waves = np.stack([np.sin(angles), np.cos(angles)], 2)
    designs = np.concatenate([np.broadcast_to(line, (len(angles), *line.shape)), waves], 2)  # (frequencies, points, 4)
    fits = np.linalg.pinv(root[:, None] * designs) @ (root * y)  # (frequencies, 4)
    errors = (((designs @ fits[..., None])[..., 0] - y) ** 2 * weights).sum(1)
    straight = line @ (np.linalg.pinv(root[:, None] * line) @ (root * y))
    noise = _of_noise(root[:, None] * designs, root, root[:, None] * line)
    whole, best = float(((straight - y) ** 2 * weights).sum()), int(errors.argmin())
    if whole <= 1e-12 * float((y**2 * weights).sum()):  # a straight line is like no sine
        return Wave(float("nan"), 0.0, straight, noise)
    return Wave(float(frequencies[best]), float(1 - errors[best] / whole), designs[best] @ fits[best], noise)


def _of_noise(designs: np.ndarray, root: np.ndarray, line: np.ndarray) -> float:
    """The share that the best of the designs (frequencies, points, 4) explains of noise beyond the line (points, 2)."""
    noise = root[:, None] * np.random.default_rng(0).normal(size=(len(root), DRAWS))
    total, straight = (noise**2).sum(0), _within(line, noise)
    most = _within(designs, noise).max(0)
    return float(np.quantile((most - straight) / np.maximum(total - straight, 1e-12), 0.95).clip(0, 1))


def _within(designs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The part of the sum of squares of each column of values (points, draws) that lies in the span of a design."""
    bases, sizes, _ = np.linalg.svd(designs, full_matrices=False)
    bases = bases * (sizes > 1e-9 * sizes[..., :1])[..., None, :]
    return ((np.swapaxes(bases, -1, -2) @ values) ** 2).sum(-2)
