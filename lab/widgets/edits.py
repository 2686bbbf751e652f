"""Edits of a function: each gives another one on the same knots."""

from __future__ import annotations

from lab.nonlinearity.spline import Spline


def mirrored(phi: Spline) -> Spline:
    """φ(−x)."""
    return Spline(phi.values.flip(-1), phi.low, phi.high)


def polynomial(phi: Spline, degree: int) -> Spline:
    """The polynomial of a degree that is nearest to φ, on its knots."""
    return Spline.from_function(phi.polynomial(degree), phi.low, phi.high, len(phi.values))


def chebyshev(phi: Spline, degree: int) -> Spline:
    """The Chebyshev series of φ up to a degree, on its knots."""
    return Spline.from_function(phi.chebyshev(degree), phi.low, phi.high, len(phi.values))
