"""Shape of splines: how much their slope changes, bounds on it, and the knots that a function could do without."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from lab.errors import check_number

if TYPE_CHECKING:
    from typing import Self

    from lab.nonlinearity.spline import Spline


def slope_changes(values: Tensor, spacing: float) -> Tensor:
    """The sum of |changes of slope| at the inner knots, (…, knots) → (…); differentiable."""
    return values.diff(n=2).abs().sum(-1) / spacing


def limited(values: Tensor, spacing: float, low: float, high: float) -> Tensor:
    """Values whose slopes are clipped to [low, high] and whose mean is that of `values`, (…, knots); differentiable.

    Values that keep the bounds stay as they are.
    """
    steps = values.diff()
    clipped = steps.clamp(low * spacing, high * spacing)
    sums = torch.cat([torch.zeros_like(values[..., :1]), clipped.cumsum(-1)], -1)
    result = sums + (values - sums).mean(-1, keepdim=True)
    return torch.where((steps == clipped).all(-1, keepdim=True), values, result)


LARGEST = 3e38  # slope: what float32 has


@dataclass(frozen=True)
class Simplified:
    """A function with fewer kinks. kept: positions of those that are left, the ends among them. error: the largest
    difference from the function before, everywhere."""

    spline: Spline
    kept: np.ndarray
    error: float


def few_kinks(x: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    """Indices of knots through which straight lines stay within `tolerance` of (x, y), as few as a greedy walk finds:
    from each kept knot to the farthest one that a line may reach.

    >>> few_kinks(np.arange(5.0), np.array([0.0, 1.0, 2.0, 1.0, 0.0]), 1e-9).tolist()
    [0, 2, 4]
    """
    indices, start = [0], 0
    while start < len(x) - 1:
        # the slopes of lines from here that stay within the tolerance at all knots so far
        gaps = x[start + 1 :] - x[start]
        rises = y[start + 1 :] - y[start]
        least = np.maximum.accumulate((rises - tolerance) / gaps)
        most = np.minimum.accumulate((rises + tolerance) / gaps)
        slope = rises / gaps
        fits = np.flatnonzero((slope >= least - 1e-15) & (slope <= most + 1e-15))
        start += int(fits[-1]) + 1
        indices.append(start)
    return np.array(indices)


class Shape(metaclass=ABCMeta):
    """What a spline has for its shape."""

    values: Tensor

    @property
    @abstractmethod
    def spacing(self) -> float:
        """Distance between two knots."""

    @abstractmethod
    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and values of the knots."""

    @abstractmethod
    def _like(self, values: np.ndarray | Tensor) -> Spline:
        """A frozen function with these values on the same knots."""

    def tv2(self) -> Tensor:
        """The sum of |changes of slope| at the inner knots (second-order total variation; Bohra et al. 2020): of one
        function a number, of several (functions,). It can be differentiated: a penalty on it leaves fewer kinks.

        >>> from lab.nonlinearity.spline import Spline
        >>> float(Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0).tv2())
        2.0
        """
        return slope_changes(self.values, self.spacing)

    def limited(self, low: float, high: float) -> Spline:
        """The function with its slopes clipped to [low, high], and its mean over the knots kept; frozen. Where the
        bounds hold already, it stays what it is. low = -1, high = 1: no two outputs are farther apart than the inputs.

        >>> from lab.nonlinearity.spline import Spline
        >>> Spline(torch.tensor([0.0, 4.0, 4.0]), low=0.0, high=2.0).limited(-1, 1).values.diff().tolist()
        [1.0, 0.0]
        """
        low, high = check_number("low", low, -LARGEST, LARGEST), check_number("high", high, low, LARGEST)
        return self._like(limited(self.values.detach(), self.spacing, low, high))

    def limit_(self, low: float, high: float) -> Self:
        """As `limited`, in place: after each step of an optimizer, it keeps a learnable function within the bounds."""
        with torch.no_grad():
            self.values.copy_(self.limited(low, high).values)
        return self

    def simplified(self, tolerance: float) -> Simplified:
        """The function with as few kinks as stay within `tolerance` of it everywhere; on the same knots, between which
        it is straight, and frozen.

        >>> from lab.nonlinearity.spline import Spline
        >>> result = Spline.from_function(torch.sin, low=-3.0, high=3.0, knots=301).simplified(0.01)
        >>> len(result.kept) < 30, result.error <= 0.01
        (True, True)
        """
        x, y = self._numbers()
        indices = few_kinks(x, y, check_number("tolerance", tolerance, 0))
        values = np.interp(x, x[indices], y[indices])
        return Simplified(self._like(values), x[indices], float(np.abs(values - y).max()))
