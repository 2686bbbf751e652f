"""Non-linearities that `torch.nn` does not have: some of the transformers paper's Table 3, and the user's own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


class ReLU2(nn.Module):
    """max(0, x)² (So et al. 2021).

    >>> ReLU2()(torch.tensor([-3.0, 3.0]))
    tensor([0., 9.])
    """

    def forward(self, x: Tensor) -> Tensor:
        """Each number by itself."""
        return x.relu().square()


class Sinc(nn.Module):
    """sin(πx) / (πx), 1 at 0 (Saratchandran et al. 2024).

    The transformers paper gives no frequency. A guess: that of the sampling theorem, with zeros at the integers.

    >>> Sinc()(torch.tensor([0.0, 0.5])).tolist() == [1.0, torch.sinc(torch.tensor(0.5)).item()]
    True
    """

    def forward(self, x: Tensor) -> Tensor:
        """Each number by itself."""
        return torch.sinc(x)


class Gaussian(nn.Module):
    """exp(-x²) (Saragadam et al. 2023, who write exp(-(s x)²)). The transformers paper gives no s. A guess: 1.

    >>> Gaussian()(torch.tensor(0.0)).item()
    1.0
    """

    def forward(self, x: Tensor) -> Tensor:
        """Each number by itself."""
        return (-x.square()).exp()


class Called(nn.Module):
    """A function of the user's, such as torch.sin, as a module.

    >>> Called(torch.sin)
    Called(sin)
    """

    def __init__(self, function: Callable[[Tensor], Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Its value."""
        return self.function(x)

    def extra_repr(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)
