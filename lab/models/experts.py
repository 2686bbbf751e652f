"""Feed-forward layers: one for all tokens, or several that a router chooses from (hypernetwork paper, App. A.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.layers import Linear


class FeedForward(nn.Module):
    """x (R, …, C) → the same shape: W_down φ(W_up x), with biases unless bias is False."""

    def __init__(self, runs: int, width: int, hidden: int, phi: nn.Module, bias: bool = True):
        super().__init__()
        self.phi = phi
        self.up, self.down = Linear(runs, width, hidden, bias), Linear(runs, hidden, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Each token by itself."""
        return self.down(self.phi(self.up(x)))


class Experts(nn.Module):
    """Mixture of experts: Σ_i Softmax(Top_k(W_gate x))_i W_down_i φ(W_up_i x), x (R, …, C) → the same shape.

    The paper gives the formula and no numbers. Chosen here: each expert as wide as the layer it replaces, no biases, no
    noise and no loss that balances the experts. All experts compute every token, those not chosen with weight 0: for a
    handful of experts that is faster than sorting tokens.

    >>> layer = Experts(1, width=4, hidden=8, experts=3, active=2, phi=nn.ReLU())
    >>> _ = [nn.init.ones_(p) for p in layer.parameters()]
    >>> layer(torch.ones(1, 5, 4)).shape, layer.gates(torch.ones(1, 5, 4))[0, 0].sort().values.tolist()
    (torch.Size([1, 5, 4]), [0.0, 0.5, 0.5])
    """

    def __init__(self, runs: int, width: int, hidden: int, experts: int, active: int, phi: nn.Module):
        super().__init__()
        if not 1 <= active <= experts:
            raise ArgumentError(f"active={active} of {experts} experts; choose 1..{experts}")
        self.phi, self.active, self.hidden = phi, active, hidden
        self.gate = Linear(runs, width, experts, bias=False)
        self.up = Linear(runs, width, experts * hidden, bias=False)
        self.down = Linear(runs, experts * hidden, width, bias=False)

    def gates(self, x: Tensor) -> Tensor:
        """Weight of each expert, (R, …, experts): `active` of them above 0, their sum 1."""
        logits = self.gate(x)
        chosen = logits.topk(self.active, dim=-1).indices
        outside = torch.ones_like(logits, dtype=torch.bool).scatter(-1, chosen, False)
        return logits.masked_fill(outside, -torch.inf).softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        """Each token by itself."""
        hidden = self.phi(self.up(x)).unflatten(-1, (-1, self.hidden))  # (R, …, experts, hidden)
        return self.down((hidden * self.gates(x)[..., None]).flatten(-2))
