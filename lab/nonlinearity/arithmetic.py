"""Sums and multiples of splines: each a new, frozen function on the same knots."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

from torch import Tensor

from lab.errors import ArgumentError, check_number
from lab.nonlinearity.shape import Shape

if TYPE_CHECKING:
    from lab.nonlinearity.spline import Spline


class Arithmetic(Shape):
    """What can be done with splines that have the same knots.

    >>> from lab.nonlinearity.spline import Spline
    >>> one, two = Spline([0.0, 1.0], 0.0, 1.0), Spline([1.0, 1.0], 0.0, 1.0)
    >>> (2 * one - two).values.tolist()
    [-1.0, 1.0]
    """

    low: float
    high: float

    __array_ufunc__ = None  # numpy.float64(2) * phi: numpy leaves it to us

    def __neg__(self) -> Spline:
        return self._like(-self.values)

    def __mul__(self, factor: float) -> Spline:
        if not isinstance(factor, Real):
            return NotImplemented
        return self._like(self.values * check_number("factor", factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Spline:
        if not isinstance(divisor, Real):
            return NotImplemented
        if not check_number("divisor", divisor):
            raise ArgumentError("divisor=0: nothing is divided by 0; give another number")
        return self._like(self.values / float(divisor))

    def __add__(self, other: Arithmetic) -> Spline:
        return self._like(self.values + self._on_my_knots(other)) if isinstance(other, Arithmetic) else NotImplemented

    def __sub__(self, other: Arithmetic) -> Spline:
        return self._like(self.values - self._on_my_knots(other)) if isinstance(other, Arithmetic) else NotImplemented

    def _on_my_knots(self, other: Arithmetic) -> Tensor:
        """The other's values, if the two functions, or sets of as many functions, have the same knots."""
        grids = [(phi.low, phi.high, phi.values.shape[-1]) for phi in (self, other)]
        runs = {len(phi.values) for phi in (self, other) if phi.values.dim() == 2}
        if grids[0] != grids[1] or len(runs) > 1:
            raise ArgumentError(
                f"{self} and {other} have different knots; bring one to the other's with"
                " Spline.from_function(phi, low, high, knots)"
            )
        return other.values
