"""The multi-layer perceptron, R copies side by side; with random weights, a look at what a non-linearity prefers."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lab.models.layers import Linear
from lab.nonlinearity.spline import Spline
from lab.seeds import stream


class MLP(nn.Module):
    """Linear maps with non-linearities between them: x (R, B, inputs) → (R, B, outputs).

    sizes: of inputs, hidden layers and outputs. seeds: one a run; a run's weights depend on its own seed alone. Weights
    are normal with variance 2 / fan-in (He et al. 2015), biases uniform in ±1 / √fan-in; `scale` multiplies both.
    phi: the non-linearity of all hidden layers, or a list with one a layer.
    prefactor: α of φ(αx) (simplicity paper, App. E.4), one number, or one a run, (R,).
    inputs: applied to x before the first layer (input activation functions, Sec. 3.3).
    residual: hidden layers after the first add what they receive to what they give (App. E.2; the first one cannot, it
    changes the width). spectral: every weight matrix is divided by its largest singular value (App. E.5).

    >>> MLP((2, 64, 64, 1), seeds=[0, 1], phi=nn.GELU())(torch.zeros(2, 5, 2)).shape
    torch.Size([2, 5, 1])
    """

    layers: Any  # a ModuleList of Linear
    prefactor: Tensor

    def __init__(
        self,
        sizes: Sequence[int],
        seeds: Sequence[int],
        phi: nn.Module | Sequence[nn.Module],
        scale: float = 1.0,
        *,
        prefactor: float | Tensor = 1.0,
        inputs: nn.Module | None = None,
        residual: bool = False,
        spectral: bool = False,
    ):
        super().__init__()
        pairs = zip(sizes[:-1], sizes[1:], strict=True)
        self.layers = nn.ModuleList(Linear(len(seeds), inputs, outputs) for inputs, outputs in pairs)
        self.phi = phi if isinstance(phi, nn.Module) else nn.ModuleList(phi)
        self.inputs, self.residual, self.spectral = inputs, residual, spectral
        prefactor = torch.as_tensor(prefactor, dtype=torch.get_default_dtype())
        self.register_buffer("prefactor", prefactor.view(-1, 1, 1), persistent=False)
        self._plain = bool((prefactor == 1).all())
        self.draw([stream(seed, "weights") for seed in seeds], scale)

    @property
    def runs(self) -> int:
        return self.layers[0].runs

    @torch.no_grad()
    def draw(self, streams: Sequence[int], scale: float = 1.0) -> None:
        """Draw all weights anew, those of each run from the seed of a generator of its own."""
        for run, seed in enumerate(streams):
            generator = torch.Generator().manual_seed(seed)
            for layer in self.layers:
                fan = layer.weight.shape[1]
                weight, bias = torch.empty(layer.weight.shape[1:]), torch.empty(layer.bias.shape[1:])
                layer.weight[run] = weight.normal_(0.0, scale * math.sqrt(2 / fan), generator=generator)
                layer.bias[run] = bias.uniform_(-scale / math.sqrt(fan), scale / math.sqrt(fan), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        return self._affine(-1, self._hidden(x)[0])

    def received(self, x: Tensor) -> list[Tensor]:
        """What the non-linearity receives in each hidden layer, (R, B, hidden) each."""
        return self._hidden(x)[1]

    def function(self, layer: int) -> nn.Module:
        """The non-linearity of a hidden layer, counted from 0."""
        return self.phi[layer] if isinstance(self.phi, nn.ModuleList) else self.phi

    def _hidden(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """What the last layer receives, and what the non-linearities receive."""
        x, received = x if self.inputs is None else self.inputs(x), []
        for number in range(len(self.layers) - 1):
            before = self._affine(number, x)
            received.append(before if self._plain else self.prefactor * before)
            y = self.function(number)(received[-1])
            x = x + y if self.residual and number > 0 else y
        return x, received

    def _affine(self, number: int, x: Tensor) -> Tensor:
        layer = self.layers[number]
        if not self.spectral:
            return layer(x)
        return torch.baddbmm(layer.bias, x, layer.weight / largest_singular_value(layer.weight)[:, None, None])


class InputFunctions(nn.Module):
    """A function of its own for each dimension of the input (simplicity paper, Sec. 3.3): x (R, B, D) → (R, B, D).

    values: (D, knots) for all runs, or (R, D, knots), at evenly spaced knots of [low, high].

    >>> double = torch.stack([torch.linspace(-1, 1, 3), torch.linspace(-2, 2, 3)])  # the second one doubles
    >>> InputFunctions(double, -1.0, 1.0)(torch.tensor([[[0.25, 0.25]]]))
    tensor([[[0.2500, 0.5000]]])
    """

    def __init__(self, values: Tensor, low: float, high: float):
        super().__init__()
        self.shared = values.dim() == 2
        self.phi = Spline(values.reshape(-1, values.shape[-1]), low, high)  # every function is a "run" here

    def forward(self, x: Tensor) -> Tensor:
        if self.shared:
            return self.phi(x.movedim(-1, 0).contiguous()).movedim(0, -1).contiguous()
        columns = x.mT.reshape(-1, x.shape[1])  # (R·D, B)
        return self.phi(columns).view(len(x), x.shape[2], x.shape[1]).mT.contiguous()


def largest_singular_value(weight: Tensor) -> Tensor:
    """Of each run's matrix: (R, in, out) → (R,). Exact, and so are its derivatives of any order.

    >>> largest_singular_value(torch.diag_embed(torch.tensor([[3.0, -4.0]])))
    tensor([4.])
    """
    gram = weight @ weight.mT if weight.shape[1] <= weight.shape[2] else weight.mT @ weight
    return torch.linalg.eigvalsh(gram)[..., -1].sqrt()
