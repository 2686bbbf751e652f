"""Functions between control points other than straight lines (simplicity paper, App. C and D), and searches for them.

Both kinds here are linear in the values at the control points, so they are a matrix: values at the control points →
values at finer knots, between which the lab's spline is straight. A search learns the former through it.

"cubic": the natural cubic spline. "nearest": the value of the nearest control point, but for steep lines between two of
them, a `FINE`-th of their distance wide. Without those its slope would be zero, and the weights before it would not
learn.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError

KINDS = ("nearest", "cubic")
FINE = 9  # finer knots for each distance of two control points; odd, so that none lies half-way


def refine(kind: str, points: int) -> Tensor:
    """The matrix for evenly spaced control points, (FINE · (points - 1) + 1, points) float32.

    >>> refine("nearest", 2)[:, 0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if kind not in KINDS:
        raise ArgumentError(f"unknown interpolation {kind!r}; known: {', '.join(KINDS)}; straight lines need no matrix")
    at = np.arange(FINE * (points - 1) + 1) / FINE  # in distances of control points
    unit = np.eye(points)
    if kind == "nearest":
        return torch.from_numpy(unit[at.round().astype(int)]).float()
    from scipy.interpolate import CubicSpline

    return torch.from_numpy(CubicSpline(np.arange(points), unit, bc_type="natural")(at)).float()
