"""The expanded integral of the exponential linear unit."""

from math import expm1, log

import torch.nn.functional as F
from torch import Tensor

from lab.nonlinearity.table import Learnable, named_function

BETA = 0.5


@named_function(
    "xielu",
    "α_p x² + β x for x > 0, else α_n (exp(x) - 1 - x) + β x; α_p = softplus(alpha_p), α_n = β + softplus(alpha_n), "
    "β = 0.5",
    "Huang & Schlag 2024 (Deriving Activation Functions Using Integration)",
    low=-0.205751,
)
class XIELU(Learnable):
    """α_p x² + β x for x > 0, else α_n (exp(x) - 1) - α_n x + β x (Huang & Schlag 2024), with α_p = softplus(alpha_p),
    α_n = β + softplus(alpha_n), β = 0.5; α_p and α_n are 0.8 at the start, and learn.

    Each half has its own part of x, so that neither exp nor the square overflows where the other half counts, and at 0
    value and slope are exactly 0 and β: implementations that clamp at -1e-6 instead have a jump there. Far left the
    terms are taken together, (β - α_n) x, which is no difference of infinities.

    >>> import torch
    >>> XIELU()(torch.tensor([0.0, 1.0])).tolist(), XIELU()(torch.tensor(float("-inf"))).item()
    ([0.0, 1.2999999523162842], inf)
    """

    start = {"alpha_p": log(expm1(0.8)), "alpha_n": log(expm1(0.8 - BETA))}

    def compute(self, x: Tensor, alpha_p: Tensor, alpha_n: Tensor) -> Tensor:
        right, left, above = x.relu(), x.clamp(max=0), F.softplus(alpha_n)  # above β
        return F.softplus(alpha_p) * right.square() + BETA * right + (BETA + above) * left.expm1() - above * left
