"""A scalar function as numbers to look at: its course, its slope, the inputs that it receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_number, check_whole, described
from lab.nonlinearity.spline import Spline, check_single
from lab.probes.arguments import FAR, array, calling, check_room
from lab.probes.reading import reading


@dataclass(frozen=True)
class Profile:
    """A function at points of [low, high]; between them it is linear, or close to it.

    x, y (points,); slope (points - 1,): between a point and the next; constant: whether it stays at its first and last
    value outside [low, high].
    """

    x: np.ndarray
    y: np.ndarray
    slope: np.ndarray
    constant: bool

    @property
    def low(self) -> float:
        """The first point."""
        return float(self.x[0])

    @property
    def high(self) -> float:
        """The last point."""
        return float(self.x[-1])

    def heights(self, low: float, high: float) -> tuple[float, float]:
        """Smallest and largest value on [low, high]."""
        values = np.append(self.y[(self.x >= low) & (self.x <= high)], np.interp([low, high], self.x, self.y))
        return float(values.min()), float(values.max())

    def support(self, share: float = 0.01) -> tuple[float, float]:
        """Where the function is busy: the smallest interval outside which it stays within `share` of its whole
        height from its end values."""
        near = share * np.ptp(self.y)
        left, right = np.abs(self.y - self.y[0]) > near, np.abs(self.y - self.y[-1]) > near
        if not left.any():
            return self.low, self.high
        first, last = max(int(left.argmax()) - 1, 0), min(len(right) - int(right[::-1].argmax()), len(right) - 1)
        return float(self.x[first]), float(self.x[last])


def profile(phi: Callable[[Tensor], Tensor], low: float = -20.0, high: float = 20.0, samples: int = 2001) -> Profile:
    """The course of a function: at its own knots where it is a spline, which loses nothing; else at `samples` points.

    >>> hat = profile(Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0))
    >>> hat.x.tolist(), hat.y.tolist(), hat.slope.tolist()
    ([-1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, -1.0])
    """
    if isinstance(phi, Spline):
        check_single(phi)
        x, y = np.linspace(phi.low, phi.high, len(phi.values)), phi.values.detach().cpu().double().numpy()
    else:
        if not callable(phi) or isinstance(phi, type):
            raise ArgumentError(f"phi is {described(phi)}; give a lab.Spline or a function of tensors, torch.nn.GELU()")
        _check_range(low, high)
        check_room("samples", check_whole("samples", samples, 2))
        points = torch.linspace(low, high, samples, dtype=torch.float64)
        hint = "give a function that maps a tensor to another of its shape"
        with reading(phi), calling("phi", hint):
            x, y = points.numpy(), array("phi(x)", phi(points), "numbers of the shape of x")
        if y.shape != x.shape or y.dtype.kind not in "fiub":
            raise ArgumentError(f"phi gave {described(y)} for {len(x)} points; {hint}")
        y = y.astype(np.float64)
    return Profile(x, y, np.diff(y) / np.diff(x), constant=isinstance(phi, Spline))


@dataclass(frozen=True)
class Received:
    """Which inputs a function receives, by the nearest point of its profile.

    x (points,): evenly spaced; share (points,): of all inputs, sums to 1; the first and last count what lies beyond.
    """

    x: np.ndarray
    share: np.ndarray
    source: str  # where the inputs come from, in words

    def central(self, part: float = 0.99) -> tuple[float, float]:
        """The interval that holds this part of the inputs, as many left out below as above."""
        below = np.cumsum(self.share) / self.share.sum()
        first, last = np.searchsorted(below, [(1 - part) / 2, (1 + part) / 2])
        return float(self.x[first]), float(self.x[min(last, len(self.x) - 1)])


def counts(inputs: Tensor | np.ndarray, low: float, high: float, points: int) -> np.ndarray:
    """How many inputs are nearest to each of `points` evenly spaced points of [low, high]; int64, (points,).

    What lies beyond an end counts there, so the counts sum to the number of inputs. NaN is refused.

    >>> counts(torch.tensor([-9.0, -0.4, 0.4, 0.6]), low=-1.0, high=1.0, points=3).tolist()
    [1, 2, 1]
    """
    _check_range(low, high)
    check_room("points", check_whole("points", points, 2))
    flat = array("inputs", inputs, "a tensor or an array of numbers").ravel()
    if flat.dtype.kind not in "fiub":
        raise ArgumentError(f"inputs are {described(flat)}; give real numbers")
    flat = flat.astype(np.float64)
    if np.isnan(flat).any():
        raise ArgumentError(f"{int(np.isnan(flat).sum())} of {len(flat)} inputs are not a number; give finite ones")
    place = (np.clip(flat, low, high) - low) * ((points - 1) / (high - low))
    return np.bincount(np.rint(place).astype(np.int64), minlength=points)


def received(inputs: Tensor | np.ndarray, shape: Profile, source: str = "the inputs given") -> Received:
    """The share of inputs nearest to each point of a profile.

    >>> shape = profile(Spline(torch.zeros(3), low=-1.0, high=1.0))
    >>> received(torch.tensor([-9.0, -0.4, 0.4, 0.6]), shape).share.tolist()
    [0.25, 0.5, 0.25]
    """
    if not isinstance(shape, Profile):
        raise ArgumentError(f"shape is {described(shape)}; give what probes.profile.profile returned")
    frequencies = counts(inputs, shape.low, shape.high, len(shape.x))
    if not frequencies.sum():
        raise ArgumentError("no inputs were given; give a tensor with at least one")
    return Received(shape.x, frequencies / frequencies.sum(), source)


def _check_range(low: float, high: float) -> None:
    if not check_number("low", low, -FAR) < check_number("high", high, most=FAR):
        raise ArgumentError(f"low={low:g} and high={high:g}: give a low below high")
