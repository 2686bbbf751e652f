"""Canon layers (Allen-Zhu 2025): h_t ← h_t + Σ_{j=0..3} w_j ⊙ h_{t-j}, a causal depthwise convolution with residual.

The transformers paper uses them for MANO and language without saying where; the defaults of the reference are taken:
all four places (A before attention, B on queries, keys and values, C before the MLP, D on the MLP's pre-activation),
kernel 4, no bias, no activation, with residual.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.models import canon_kernel

KERNEL = 4


class Canon(nn.Module):
    """x (R, B, T, C) → the same shape; weight (R, 4, C), weight[:, j] multiplies the token j steps back."""

    def __init__(self, runs: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, KERNEL, width))

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Add to each token a weighted sum of itself and the three before it."""
        # torch.func and torch.compile look into formulas, not into functions that bring their own gradient
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return formula(x, self.weight)
        return _Canon.apply(x, self.weight)


def formula(x: Tensor, weight: Tensor) -> Tensor:
    """What a Canon layer does, step by step: x (R, B, T, C), weight (R, 4, C)."""
    weight = weight[:, :, None, None]  # (R, 4, 1, 1, C)
    y = torch.addcmul(x, x, weight[:, 0])
    for back in range(1, min(KERNEL, x.shape[2])):
        shifted = F.pad(x[:, :, :-back], (0, 0, back, 0))  # zeros to the left of the sequence
        y = torch.addcmul(y, shifted, weight[:, back])
    return y


class _Canon(torch.autograd.Function):
    """`formula` in one pass over memory where the compiled kernel fits; elsewhere with nothing padded or copied."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        if canon_kernel.fits(x, weight):
            return canon_kernel.forward(x, weight)
        by = weight[:, :, None, None]
        y = torch.addcmul(x, x, by[:, 0])
        for back in range(1, min(KERNEL, x.shape[2])):
            y[:, :, back:].addcmul_(x[:, :, :-back], by[:, back])
        return y

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        if not torch.is_grad_enabled() and canon_kernel.fits(x, weight):  # else it is differentiated again
            return canon_kernel.backward(grad, x, weight)
        by = weight[:, :, None, None]
        of_x, of_weight = torch.addcmul(grad, grad, by[:, 0]), [(grad * x).sum((1, 2))]
        for back in range(1, KERNEL):
            later, earlier = grad[:, :, back:], x[:, :, : max(x.shape[2] - back, 0)]
            if back < x.shape[2]:
                of_x[:, :, :-back].addcmul_(later, by[:, back])
            of_weight.append((later * earlier).sum((1, 2)))  # zero where the sequence is shorter
        return of_x, torch.stack(of_weight, 1)
