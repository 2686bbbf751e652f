"""The paper's own evaluation of a spline, Listing 1 of its Appendix F: what the lab's kernels are measured against."""

from __future__ import annotations

import os
import shutil
import sys

import torch
from torch import Tensor, nn

from lab.nonlinearity.checks import check_single
from lab.nonlinearity.spline import Spline


class Listing1(nn.Module):
    """A spline as Listing 1 evaluates it: a search for each input's interval, two look-ups, linear interpolation.

    The same function as `phi` in other operations; the paper compiles it: `torch.compile(Listing1(phi))`.

    >>> hat = Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0)
    >>> Listing1(hat)(torch.tensor([-5.0, -0.5, 0.0, 0.25])).tolist()
    [0.0, 0.5, 1.0, 0.75]
    """

    positions: Tensor

    def __init__(self, phi: Spline):
        super().__init__()
        learnable = check_single(phi).values.requires_grad
        self.values = nn.Parameter(phi.values.detach().clone(), requires_grad=learnable)
        self.register_buffer("positions", phi.positions.to(phi.values.device))

    def forward(self, x: Tensor) -> Tensor:
        """φ(x), shape and dtype of `x`."""
        index = (torch.bucketize(x, self.positions) - 1).clamp(0, len(self.positions) - 2)
        step = self.positions[1] - self.positions[0]
        fraction = ((x - (self.positions[0] + index * step)) / step).clamp(0.0, 1.0)
        left, right = self.values[index], self.values[index + 1]
        return (left + fraction * (right - left)).to(x.dtype)


def can_compile() -> bool:
    """Whether the C++ compiler is here that torch.compile needs for a CPU: $CXX, or g++ (clang++ on a Mac)."""
    usual = "clang++" if sys.platform == "darwin" else "g++"
    return shutil.which(os.environ.get("CXX") or usual) is not None
