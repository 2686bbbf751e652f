"""Canon layers (Allen-Zhu 2025): h_t ← h_t + Σ_{j=0..3} w_j ⊙ h_{t-j}, a causal depthwise convolution with residual.

The transformers paper uses them for MANO and language without saying where; the defaults of the reference are taken:
all four places (A before attention, B on queries, keys and values, C before the MLP, D on the MLP's pre-activation),
kernel 4, no bias, no activation, with residual.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
        weight = self.weight[:, :, None, None]  # (R, 4, 1, 1, C)
        y = torch.addcmul(x, x, weight[:, 0])
        for back in range(1, min(KERNEL, x.shape[2])):
            shifted = F.pad(x[:, :, :-back], (0, 0, back, 0))  # zeros to the left of the sequence
            y = torch.addcmul(y, shifted, weight[:, back])
        return y
