"""Layers with a run axis: R independent copies of a layer, one batched operation.

R runs, B batch, T tokens, C channels, V vocabulary. The layers hold uninitialised parameters; `initialize` in
`transformer.py` fills each run's slice from that run's own seed.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError


class Linear(nn.Module):
    """x (R, …, in) → (R, …, out); weight (R, in, out), bias (R, 1, out)."""

    def __init__(self, runs: int, inputs: int, outputs: int, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(runs, 1, outputs)) if bias else None

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Affine map of the last axis, run by run."""
        if x.ndim < 3:
            given = tuple(x.shape)
            raise ArgumentError(
                f"inputs have shape {given}, and the first axis is that of models side by side: give X[None]"
            )
        flat = x.flatten(1, -2)  # (R, N, in)
        y = torch.bmm(flat, self.weight) if self.bias is None else torch.baddbmm(self.bias, flat, self.weight)
        return y.view(*x.shape[:-1], -1)


class Norm(nn.Module):
    """Layer normalization over the last axis; weight and, unless bias is False, bias (R, C), one pair a run."""

    def __init__(self, runs: int, width: int, epsilon: float = 1e-5, bias: bool = True):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.empty(runs, width))
        self.bias = nn.Parameter(torch.empty(runs, width)) if bias else None

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """x (R, …, C) → the same shape, mean 0 and variance 1 over C before weight and bias."""
        if len(x) == 1:  # one run: torch's fused affine form
            bias = None if self.bias is None else self.bias[0]
            return F.layer_norm(x, x.shape[-1:], self.weight[0], bias, self.epsilon)
        shape = (len(x), *[1] * (x.dim() - 2), x.shape[-1])
        normal = F.layer_norm(x, x.shape[-1:], eps=self.epsilon)
        if self.bias is None:
            return normal * self.weight.view(shape)
        return torch.addcmul(self.bias.view(shape), normal, self.weight.view(shape))


class Embedding(nn.Module):
    """A table (R, V, C) for each run."""

    def __init__(self, runs: int, entries: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, entries, width))

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.weight)

    def forward(self, index: Tensor) -> Tensor:
        """index (R, …) int64 → (R, …, C)."""
        runs, entries, width = self.weight.shape
        offset = torch.arange(runs, device=index.device).mul_(entries).view(-1, *[1] * (index.dim() - 1))
        return F.embedding(index + offset, self.weight.view(runs * entries, width))
