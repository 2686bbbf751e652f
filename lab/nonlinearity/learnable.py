"""Activations with parameters that are trained with the weights (activations paper, Section 3.1).

Each has one number a channel, the last axis of x: the paper sets `num_parameters` to the width of the layer. torch's
own PReLU takes the second axis for the channels, which in a transformer are tokens.
"""

from math import sqrt

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
    """β GELU(x), with the approximation by tanh: the paper's learnable GELU; β = 1 at the start, one a channel."""

    start = {"beta": 1.0}

    def compute(self, x: Tensor, beta: Tensor) -> Tensor:
        return beta * F.gelu(x, approximate="tanh")


class GEGLU(nn.Module):
    """(…, 2 channels) → (…, channels): x GELU(gate), the two halves of the channels (Shazeer 2020; Listing 1)."""

    def forward(self, x: Tensor) -> Tensor:
        x, gate = x.chunk(2, -1)
        return x * F.gelu(gate, approximate="tanh")


class ScaledGEGLU(Learnable):
    """(…, 2 channels) → (…, channels): x β GELU(gate) (Listing 2); β (channels,), 1 at the start."""

    start = {"beta": 1.0}
    beta: Tensor

    def forward(self, x: Tensor) -> Tensor:
        x, gate = x.chunk(2, -1)
        return x * self.beta * F.gelu(gate, approximate="tanh")


RANGE = (-1.0, 1.0)  # of a KAN's splines
NOISE = 0.1  # of the initial functions: U(±NOISE / 2) / grid at the knots


class KANLinear(nn.Module):
    """x (…, inputs) → (…, outputs).

    grid: intervals. order: degree of the splines. The activations paper says "3 and 5, respectively" of grid and order;
    the defaults of efficient-kan, and of the paper on KANs, are 5 and 3. Both have as many weights.

    >>> layer = KANLinear(4, 3)
    >>> layer(torch.zeros(2, 4)).shape, sum(weight.numel() for weight in layer.parameters()) == 10 * 4 * 3
    (torch.Size([2, 3]), True)
    """

    knots: Tensor

    def __init__(self, inputs: int, outputs: int, grid: int = 5, order: int = 3):
        super().__init__()
        self.grid, self.order = grid, order
        self.register_buffer("knots", knots(grid, order, *RANGE), persistent=False)
        self.base = nn.Parameter(torch.empty(outputs, inputs))  # W
        self.scale = nn.Parameter(torch.empty(outputs, inputs))  # S
        self.coefficients = nn.Parameter(torch.empty(outputs, inputs, grid + order))  # C
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """W and S from U(±1 / √inputs); C so that the splines go through noise at the knots of RANGE, with the
        smallest coefficients that do."""
        outputs, inputs = self.base.shape
        for weight in (self.base, self.scale):
            weight.uniform_(-1 / sqrt(inputs), 1 / sqrt(inputs), generator=generator)
        noise = torch.rand(self.grid + 1, inputs * outputs, generator=generator, dtype=torch.float64) - 0.5
        inner = knots(self.grid, 0, *RANGE)
        solver = torch.linalg.pinv(bases(inner, knots(self.grid, self.order, *RANGE), self.order))
        coefficients = solver @ noise * (NOISE / self.grid)
        self.coefficients.copy_(coefficients.T.view(outputs, inputs, -1))

    def forward(self, x: Tensor) -> Tensor:
        splines = bases(x, self.knots.to(x.dtype), self.order).flatten(-2)
        weight = (self.coefficients * self.scale[..., None]).flatten(1)
        return F.linear(F.silu(x), self.base) + F.linear(splines, weight)


def knots(grid: int, order: int, low: float, high: float) -> Tensor:
    """Evenly spaced knots on and around [low, high], (grid + 2 order + 1,), float64.

    >>> knots(2, 1, -1.0, 1.0).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    return low + (high - low) / grid * torch.arange(-order, grid + order + 1, dtype=torch.float64)


def bases(x: Tensor, knots: Tensor, order: int) -> Tensor:
    """The B-splines of degree `order` at x, (…, knots - order - 1), by the recursion of Cox and de Boor. Intervals are
    closed on the left.

    >>> bases(torch.tensor([0.25]), torch.tensor([-1.0, 0.0, 1.0, 2.0]), 1)
    tensor([[0.7500, 0.2500]])
    """
    x = x[..., None]
    basis = ((x >= knots[:-1]) & (x < knots[1:])).to(x.dtype)
    for degree in range(1, order + 1):
        left = (x - knots[: -degree - 1]) / (knots[degree:-1] - knots[: -degree - 1])
        right = (knots[degree + 1 :] - x) / (knots[degree + 1 :] - knots[1:-degree])
        basis = left * basis[..., :-1] + right * basis[..., 1:]
    return basis
