"""Activations with parameters that are trained with the weights (activations paper, Section 3.1).

Each has one number a channel, the last axis of x: the paper sets `num_parameters` to the width of the layer. torch's
own PReLU takes the second axis for the channels, which in a transformer are tokens.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PReLU(nn.Module):
    """max(0, x) + a min(0, x); a (channels,), 0.25 at the start, as in torch.

    >>> PReLU(2)(torch.tensor([-4.0, 4.0]))
    tensor([-1.,  4.], grad_fn=<AddBackward0>)
    """

    def __init__(self, channels: int):
        super().__init__()
        self.slope = nn.Parameter(torch.full((channels,), 0.25))

    def forward(self, x: Tensor) -> Tensor:
        """x (…, channels)."""
        return x.clamp(min=0) + self.slope * x.clamp(max=0)


class Swish(nn.Module):
    """x σ(β x) (Ramachandran et al. 2017); β (channels,), 1 at the start: SiLU.

    printed=True: x · silu(β x), as the activations paper prints it, which has one x more than Ramachandran's; its poor
    scores may come of that. Which one was trained is not known.

    >>> torch.equal(Swish(3)(torch.ones(3)), F.silu(torch.ones(3)))
    True
    """

    def __init__(self, channels: int, printed: bool = False):
        super().__init__()
        self.beta, self.printed = nn.Parameter(torch.ones(channels)), printed

    def forward(self, x: Tensor) -> Tensor:
        """x (…, channels)."""
        return x * F.silu(self.beta * x) if self.printed else x * torch.sigmoid(self.beta * x)


class ScaledGELU(nn.Module):
    """β GELU(x), with the approximation by tanh: the paper's learnable GELU. β (channels,), 1 at the start."""

    def __init__(self, channels: int):
        super().__init__()
        self.beta = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """x (…, channels)."""
        return self.beta * F.gelu(x, approximate="tanh")


class GEGLU(nn.Module):
    """x GELU(gate), x and gate the two halves of the channels (Shazeer 2020; Listing 1)."""

    def forward(self, x: Tensor) -> Tensor:
        """x (…, 2 channels) → (…, channels)."""
        x, gate = x.chunk(2, -1)
        return x * F.gelu(gate, approximate="tanh")


class ScaledGEGLU(nn.Module):
    """x β GELU(gate) (Listing 2); β (channels,), 1 at the start."""

    def __init__(self, channels: int):
        super().__init__()
        self.beta = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        """x (…, 2 channels) → (…, channels)."""
        x, gate = x.chunk(2, -1)
        return x * self.beta * F.gelu(gate, approximate="tanh")
