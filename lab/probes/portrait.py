"""What a non-linearity makes of a network that was never trained: its function on a line and a plane, its complexity.

Untrained networks show which functions an architecture prefers before it sees any data (simplicity paper, Appendix B);
the same weights with another non-linearity show what that one changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import check_number, check_whole
from lab.models.mlp import MLP
from lab.probes.arguments import calling, module
from lab.probes.calling import Alone
from lab.probes.complexity import Complexity, total_variation
from lab.probes.reading import reading
from lab.probes.slices import Slice1D, Slice2D, slice_1d, slice_2d

SIZES = (2, 64, 64, 64, 1)
CORNERS = ((-1.0, -1.0), (1.0, 1.0))  # ends of the line
POINTS, SEEN = 1000, 500  # random ones of the square: ends of the paths of the complexity, and for the inputs


@dataclass(frozen=True)
class Portrait:
    """A random network of two inputs on the square [−1, 1]².

    line: from corner to corner; plane: the square; received: what the non-linearity received at 500 random points of
    the square, in all hidden layers, (inputs,).
    """

    line: Slice1D
    plane: Slice2D
    received: np.ndarray


def portrait(phi: nn.Module, seed: int = 0, scale: float = 1.0, grid: int = 100, samples: int = 201) -> Portrait:
    """The function of a perceptron with three hidden layers of 64 and random weights, with this non-linearity.

    seed, scale: of the weights, as for `lab.models.mlp.MLP`; grid: points along a side of the plane; samples: of the
    line. The points at which inputs are looked at are the same for every seed.

    >>> result = portrait(nn.Identity(), samples=3)  # a linear network: half-way is the mean of the ends
    >>> bool(np.isclose(result.line.values[1], result.line.values[[0, 2]].mean(), atol=1e-5))
    True
    """
    network = random_network(phi, seed, scale)
    check_whole("grid", grid, 2), check_whole("samples", samples, 2)
    with reading(network), calling("phi", "give a torch.nn.Module that maps a tensor to another of its shape"):
        received = torch.cat([inputs.flatten() for inputs in network.received(square(SEEN)[None])])
    start, end = torch.tensor(CORNERS)
    line = slice_1d(Alone(network), start, end, samples)
    return Portrait(line, slice_2d(Alone(network), torch.zeros(2), (0, 1), grid), received.numpy())


def variation(phi: nn.Module, seed: int = 0, scale: float = 1.0) -> Complexity:
    """The total variation of the same network, on paths between 1000 random points of the square, those of every seed.

    >>> variation(nn.Identity()).value
    0.0
    """
    return total_variation(Alone(random_network(phi, seed, scale)), square(POINTS))


def random_network(phi: nn.Module, seed: int = 0, scale: float = 1.0) -> MLP:
    """The network itself, with one run."""
    module("phi", phi)
    return MLP(SIZES, [check_whole("seed", seed, 0)], phi, check_number("scale", scale, 0)).requires_grad_(False)


def square(points: int) -> Tensor:
    """Random points of the square, (points, 2), those of every seed."""
    return 2 * torch.rand(points, 2, generator=torch.Generator().manual_seed(0)) - 1
