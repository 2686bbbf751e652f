"""Polynomial compositions (Zhuo et al. 2024, Polynomial Composition Activations)."""

import torch
from torch import Tensor

from lab.nonlinearity.table import Learnable, named_function

SOURCE = "Zhuo et al. 2024 (PolyCom)"
MIXES = "it divides by the mean square over the channels of a token"
EPSILON = 1e-6  # under the root, as in the authors' code


@named_function("polyrelu", "a0 + Σ a_i max(0, x)^i, i = 1 … 3", SOURCE, low=0.0)
class PolyReLU(Learnable):
    """Σ a_i max(0, x)^i, i = 0 … 3 (Zhuo et al. 2024); at the start a_0 = 0, the others 1/3.

    >>> PolyReLU()(torch.tensor([-1.0, 1.0, 2.0])).tolist()
    [0.0, 1.0, 4.666666507720947]
    """

    start = {"weight": (1 / 3, 1 / 3, 1 / 3), "bias": 0.0}

    def compute(self, x: Tensor, weight: tuple[Tensor, ...], bias: Tensor) -> Tensor:
        right, (first, second, third) = x.relu(), weight
        return ((third * right + second) * right + first) * right + bias


@named_function(
    "polynorm",
    "a0 + Σ a_i x^i / rms(x^i), i = 1 … 3, rms over the last axis",
    SOURCE,
    mixes=MIXES,
    unlawful={
        "huge numbers": "cubes overflow",
        **dict.fromkeys(
            (
                "each number by itself",
                "any number of axes",
                "a tensor without axes",
                "NaN stays",
                "first derivative far out",
                "a slope at a kink",
            ),
            MIXES,
        ),
    },
)
class PolyNorm(Learnable):
    """Σ a_i x^i / rms(x^i) + a_0, i = 1 … 3 (Zhuo et al. 2024), rms over the last axis, the channels; at the start
    a_0 = 0, the others 1/3. No function of one number.

    >>> PolyNorm()(torch.tensor([[1.0, 1.0], [-5.0, -5.0]])).detach().round(decimals=4)
    tensor([[ 1.0000,  1.0000],
            [-0.3333, -0.3333]])
    """

    start = {"weight": (1 / 3, 1 / 3, 1 / 3), "bias": 0.0}

    def compute(self, x: Tensor, weight: tuple[Tensor, ...], bias: Tensor) -> Tensor:
        powers = (x, x.square(), x * x.square())
        norms = [torch.rsqrt(power.square().mean(-1, keepdim=True) + EPSILON) for power in powers]
        return sum((a * power * norm for a, power, norm in zip(weight, powers, norms, strict=True)), bias)
