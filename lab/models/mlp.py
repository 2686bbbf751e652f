"""The multi-layer perceptron, R copies side by side; with random weights, a look at what a non-linearity prefers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lab.models.layers import Linear
from lab.models.transformer import stream


class MLP(nn.Module):
    """Linear maps with the same non-linearity between them: x (R, B, inputs) → (R, B, outputs).

    sizes: of inputs, hidden layers and outputs. seeds: one a run; a run's weights depend on its own seed alone. Weights
    are normal with variance 2 / fan-in (He et al. 2015), biases uniform in ±1 / √fan-in; `scale` multiplies both.

    >>> MLP((2, 64, 64, 1), seeds=[0, 1], phi=nn.GELU())(torch.zeros(2, 5, 2)).shape
    torch.Size([2, 5, 1])
    """

    def __init__(self, sizes: Sequence[int], seeds: Sequence[int], phi: nn.Module, scale: float = 1.0):
        super().__init__()
        pairs = zip(sizes[:-1], sizes[1:], strict=True)
        self.layers = nn.ModuleList(Linear(len(seeds), inputs, outputs) for inputs, outputs in pairs)
        self.phi = phi
        for run, seed in enumerate(seeds):
            generator = torch.Generator().manual_seed(stream(seed, "weights"))
            for layer in self.layers:
                fan = layer.weight.shape[1]
                layer.weight.data[run].normal_(0.0, scale * math.sqrt(2 / fan), generator=generator)
                layer.bias.data[run].uniform_(-scale / math.sqrt(fan), scale / math.sqrt(fan), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """The output of the last layer."""
        return self.layers[-1](self.phi(self.received(x)[-1]))

    def received(self, x: Tensor) -> list[Tensor]:
        """What the non-linearity receives in each hidden layer, (R, B, hidden) each."""
        found = [self.layers[0](x)]
        for layer in self.layers[1:-1]:
            found.append(layer(self.phi(found[-1])))
        return found
