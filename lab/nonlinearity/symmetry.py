"""Making a function symmetric: the average of it and its most similar mirror image (transformers paper, App. D).

Three images are compared: mirrored along x, along y, along both. Each is first shifted to where its cross-correlation
with the original is largest. The arithmetic is on values at evenly spaced knots; `Spline.symmetrized` is the way in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lab.nonlinearity.spline import Spline

MIRRORS = ("x", "y", "both")
TIE = 1e-12  # correlations closer than this differ by rounding alone


@dataclass(frozen=True, eq=False)
class Symmetrized:
    """A symmetric version of a function, and how it was found.

    spline: the average of the function and its image. mirror: "x" (the image is φ(−x)), "y" (−φ(x)) or "both"
    (−φ(−x)); x is mirrored at the middle of the range. shift: of the image to the right, in units of x, a whole number
    of knots. correlation: of function and shifted image, from 0 (nothing in common) to 1 (the function is symmetric).
    low, high: the function's range.
    """

    spline: Spline
    mirror: str
    shift: float
    correlation: float
    low: float
    high: float

    @property
    def centre(self) -> float | None:
        """Where the axis (mirror "x") or the point (mirror "both") of symmetry is; None for mirror "y"."""
        return None if self.mirror == "y" else (self.low + self.high + self.shift) / 2


def symmetrize(values: np.ndarray) -> tuple[np.ndarray, str, int, float]:
    """The symmetric version of a function given by its values (knots,); the mirror, shift in knots and correlation.

    Cross-correlation takes the function as 0 outside its range, where learned functions are 0; it is divided by the
    energy, the sum of squares, which an image shares with the original. The average takes ends as constant, as the
    spline does. Of equally similar images the least shifted one counts. The zero function is its own image.

    >>> values, mirror, shift, correlation = symmetrize(np.array([0.0, 0.0, 0.0, 1.0, 0.0]))
    >>> values.tolist(), mirror, shift, round(correlation, 6)  # even around its fourth knot
    ([0.0, 0.0, 0.0, 1.0, 0.0], 'x', 2, 1.0)
    """
    knots, energy = len(values), float(values @ values)
    if energy == 0:
        return values.copy(), MIRRORS[0], 0, 1.0
    images = dict(zip(MIRRORS, (values[::-1], -values, -values[::-1]), strict=True))
    alignments = {mirror: _align(values, image, energy) for mirror, image in images.items()}
    top = max(correlation for _, correlation in alignments.values())
    equal = [name for name in MIRRORS if alignments[name][1] >= top - TIE]
    mirror = min(equal, key=lambda name: abs(alignments[name][0]))
    shift, correlation = alignments[mirror]
    reflection = images[mirror][np.clip(np.arange(knots) - shift, 0, knots - 1)]
    return (values + reflection) / 2, mirror, shift, min(correlation, 1.0)


def _align(values: np.ndarray, image: np.ndarray, energy: float) -> tuple[int, float]:
    """The shift at which the image correlates best, and how much; of several equal ones the smallest shift."""
    shifts = np.arange(1 - len(values), len(values))
    correlation = np.correlate(values, image, "full") / energy
    best = shifts[correlation >= correlation.max() - TIE]
    shift = int(best[np.argmin(np.abs(best))])
    return shift, float(correlation[shift + len(values) - 1])
