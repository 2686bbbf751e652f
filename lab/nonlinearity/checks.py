"""What a function has to be where one function of one number is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.errors import ArgumentError

if TYPE_CHECKING:
    from lab.nonlinearity.spline import Spline


def check_single(phi: Spline, name: str = "this spline") -> Spline:
    """The spline, if it is one function; ArgumentError where it has several. name: what it is called in the message.

    >>> from lab.nonlinearity.spline import Spline
    >>> check_single(Spline([0.0, 1.0]))
    Spline((2,) knots on [-20, 20])
    """
    if phi.values.dim() != 1:
        example = "lab.Spline(phi.values[0], phi.low, phi.high)"
        raise ArgumentError(f"{name} has {len(phi.values)} functions; give one of them, for example {example}")
    return phi


def check_finite(phi: Spline, name: str = "this spline") -> Spline:
    """The spline, if its values are finite; ArgumentError where some are not. name: as for `check_single`."""
    if not phi.values.isfinite().all():
        raise ArgumentError(f"{name} has values that are not finite; give one whose values are")
    return phi
