"""What a non-linearity makes of a network that was never trained: its function on a line and a plane, its complexity.

Untrained networks show which functions an architecture prefers before it sees any data (simplicity paper, Appendix B);
the same weights with another non-linearity show what that one changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lab.models.mlp import MLP
from lab.probes.complexity import Complexity, total_variation
from lab.probes.slices import Slice1D, Slice2D, slice_1d, slice_2d

SIZES = (2, 64, 64, 64, 1)
CORNERS = ((-1.0, -1.0), (1.0, 1.0))  # ends of the line
POINTS = 1000  # of the square, between which the paths of the complexity run


@dataclass(frozen=True)
class Portrait:
    """A random network of two inputs on the square [−1, 1]².

    line: from corner to corner; plane: the square; variation: between random points of the square; received: what the
    non-linearity received at 500 of them, in all hidden layers, (inputs,).
    """

    line: Slice1D
    plane: Slice2D
    variation: Complexity
    received: np.ndarray


def portrait(phi: nn.Module, seed: int = 0, scale: float = 1.0, grid: int = 100, samples: int = 201) -> Portrait:
    """The function of a perceptron with three hidden layers of 64 and random weights, with this non-linearity.

    seed, scale: of the weights, as for `lab.models.mlp.MLP`; grid: points along a side of the plane; samples: of the
    line. The points for complexity and inputs are the same for every seed.

    >>> portrait(nn.Identity()).variation.value  # a linear network
    0.0
    """
    network = MLP(SIZES, [seed], phi, scale).requires_grad_(False)
    points = 2 * torch.rand(POINTS, 2, generator=torch.Generator().manual_seed(0)) - 1
    with torch.no_grad():
        received = torch.cat([inputs.flatten() for inputs in network.received(points[None, : POINTS // 2])])

    def function(x: torch.Tensor) -> torch.Tensor:
        return network(x[None])[0]

    start, end = torch.tensor(CORNERS)
    return Portrait(
        slice_1d(function, start, end, samples),
        slice_2d(function, torch.zeros(2), (0, 1), grid),
        total_variation(function, points),
        received.numpy(),
    )
