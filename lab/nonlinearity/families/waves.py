"""Functions that oscillate, and the bell."""

import torch
from torch import Tensor, nn

from lab.nonlinearity.table import Learnable, in_float32, named_function


@named_function("sinc", "sin(πx) / (πx)", "Saratchandran et al. 2024", low=-0.217234, high=1.0)
class Sinc(nn.Module):
    """sin(πx) / (πx), 1 at 0 (Saratchandran et al. 2024).

    The transformers paper gives no frequency. A guess: that of the sampling theorem, with zeros at the integers.

    >>> Sinc()(torch.tensor([0.0, 0.5])).tolist() == [1.0, torch.sinc(torch.tensor(0.5)).item()]
    True
    """

    def forward(self, x: Tensor) -> Tensor:
        return torch.sinc(x)


@named_function("gaussian", "exp(-x²)", "Saragadam et al. 2023; Ramasinghe & Lucey 2022, σ = 1/√2", low=0.0, high=1.0)
class Gaussian(nn.Module):
    """exp(-x²) (Saragadam et al. 2023, who write exp(-(s x)²)). The transformers paper gives no s. A guess: 1.

    >>> Gaussian()(torch.tensor(0.0)).item()
    1.0
    """

    def forward(self, x: Tensor) -> Tensor:
        return (-x.square()).exp()


@named_function("siren", "sin(30 x)", "Sitzmann et al. 2020 (SIREN), Sec. 3.2", low=-1.0, high=1.0)
class Siren(nn.Module):
    """sin(ω x), ω = 30 (Sitzmann et al. 2020). Their networks need their initial weights, too: U(±1/inputs) in the
    first layer, U(±√(6/inputs)/ω) in the others. Below float32 it is evaluated in float32."""

    omega = 30.0

    def forward(self, x: Tensor) -> Tensor:
        return (self.omega * in_float32(x)).sin().to(x.dtype)


@named_function("snake", "x + sin²(a x) / a", "Ziyin et al. 2020")
class Snake(Learnable):
    """x + sin²(a x) / a (Ziyin et al. 2020), a = 1 at the start, never 0.

    >>> Snake()(torch.tensor([0.0, torch.pi])).tolist() == [0.0, torch.tensor(torch.pi).item()]
    True
    """

    start = {"a": 1.0}

    def compute(self, x: Tensor, a: Tensor) -> Tensor:
        return x + (a * x).sin().square() / a
