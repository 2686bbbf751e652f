"""Activations with parameters that are trained with the weights (activations paper, Section 3.1).

Of so many channels, each has one number a channel, the last axis of x: the paper sets `num_parameters` to the width of
the layer. torch's own PReLU takes the second axis for the channels, which in a transformer are tokens. Without a number
of channels there is one number for all.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.nonlinearity.table import Learnable, named_function


@named_function("prelu", "max(0, x) + a min(0, x)", "He et al. 2015, Eq. 1")
class PReLU(Learnable):
    """max(0, x) + a min(0, x), a = 0.25 at the start, as in torch; PReLU(channels) has one a channel, on the last axis.

    >>> PReLU(2)(torch.tensor([-4.0, 4.0]))
    tensor([-1.,  4.], grad_fn=<AddBackward0>)
    """

    start = {"slope": 0.25}

    def compute(self, x: Tensor, slope: Tensor) -> Tensor:
        return x.relu() + slope * x.clamp(max=0)  # of two clamps both would count at 0, and the slope be 1 + a


@named_function("swish", "x σ(β x)", "Ramachandran et al. 2017", low=-0.278465)
class Swish(Learnable):
    """x σ(β x) (Ramachandran et al. 2017), β = 1 at the start: SiLU; Swish(channels) has one a channel.

    printed=True: x · silu(β x), as the activations paper prints it, which has one x more than Ramachandran's; its poor
    scores may come of that. Which one was trained is not known.

    >>> torch.equal(Swish(3)(torch.ones(3)), F.silu(torch.ones(3)))
    True
    """

    start = {"beta": 1.0}

    def __init__(self, functions: int | None = None, dim: int = -1, printed: bool = False):
        super().__init__(functions, dim)
        self.printed = printed

    def compute(self, x: Tensor, beta: Tensor) -> Tensor:
        return x * F.silu(beta * x) if self.printed else x * torch.sigmoid(beta * x)

    def extra_repr(self) -> str:
        return super().extra_repr() + (", printed" if self.printed else "")


@named_function("scaledgelu", "β GELU(x), GELU by tanh", "activations paper, Section 3.1", low=-0.170041)
class ScaledGELU(Learnable):
    """β GELU(x), with the approximation by tanh: the paper's learnable GELU; β = 1 at the start;
    ScaledGELU(channels) has one a channel."""

    start = {"beta": 1.0}

    def compute(self, x: Tensor, beta: Tensor) -> Tensor:
        return beta * F.gelu(x, approximate="tanh")


class GEGLU(nn.Module):
    """(…, 2 channels) → (…, channels): x GELU(gate), the two halves of the channels (Shazeer 2020; Listing 1)."""

    def forward(self, x: Tensor) -> Tensor:
        x, gate = x.chunk(2, -1)
        return x * F.gelu(gate, approximate="tanh")


class ScaledGEGLU(Learnable):
    """(…, 2 channels) → (…, channels): x β GELU(gate) (Listing 2); β = 1 at the start;
    ScaledGEGLU(channels) has one a channel."""

    start = {"beta": 1.0}
    beta: Tensor

    def forward(self, x: Tensor) -> Tensor:
        x, gate = x.chunk(2, -1)
        return x * self.beta * F.gelu(gate, approximate="tanh")
