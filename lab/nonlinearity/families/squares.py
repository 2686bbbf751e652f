"""Functions that grow like x², and their relatives."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.nonlinearity.table import Learnable, in_float32, named_function


@named_function("relu2", "max(0, x)²", "So et al. 2021 (Primer), Sec. 4", low=0.0)
class ReLU2(nn.Module):
    """max(0, x)² (So et al. 2021).

    >>> import torch
    >>> ReLU2()(torch.tensor([-3.0, 3.0]))
    tensor([0., 9.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.relu().square()


@named_function("leakyrelu2", "(max(0, x) + 0.5 min(0, x))²", "github.com/openai/parameter-golf/pull/1131", low=0.0)
class LeakyReLU2(nn.Module):
    """(max(0, x) + s min(0, x))², s = 0.5, as public speed runs have it: 0.25 x² for negative inputs."""

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, 0.5).square()


@named_function("smoothrelu2", "x (x + √(x² + a²)) / 2, a = 0.2", "github.com/karpathy/nanochat/pull/828", low=-0.01)
class SmoothReLU2(nn.Module):
    """x (x + √(x² + a²)) / 2, a = 0.2; with a = 0 it is max(0, x)². Of negative inputs it is computed as
    a² x / (2 (|x| + √(x² + a²))), the same without a difference of nearly equal numbers; its limit there is -a² / 4.
    Computed in float32 at least.

    >>> SmoothReLU2()(torch.tensor([-torch.inf, -1e4, 0.0])).tolist()
    [-0.009999999776482582, -0.009999999776482582, 0.0]
    """

    a = 0.2

    def forward(self, x: Tensor) -> Tensor:
        wide = in_float32(x)
        right, left = wide.relu(), wide.clamp(-1e9, 0)  # at -1e9 it has its limit, to every digit of float64
        rising = right * (right + torch.hypot(right, right.new_tensor(self.a))) / 2
        return (rising + self.a**2 / 2 * left / ((left.square() + self.a**2).sqrt() - left)).to(x.dtype)


@named_function("starrelu", "s max(0, x)² + b", "Yu et al. 2022 (MetaFormer baselines)", low=-0.4472)
class StarReLU(Learnable):
    """s max(0, x)² + b (Yu et al. 2022): s = 0.8944 and b = -0.4472 make mean 0 and variance 1 of normal inputs."""

    start = {"scale": 0.8944, "bias": -0.4472}

    def compute(self, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        return scale * x.relu().square() + bias


@named_function("asqu", "max(0, x)² + β min(0, x)²", "github.com/openai/parameter-golf/pull/1035", low=0.0)
class ASQU(Learnable):
    """max(0, x)² + β min(0, x)², the asymmetric squared unit; there each channel has its β. At the start it is
    LeakyReLU²: β = 0.25 is chosen here."""

    start = {"beta": 0.25}

    def compute(self, x: Tensor, beta: Tensor) -> Tensor:
        return x.relu().square() + beta * x.clamp(max=0).square()
