"""Cubic B-splines, smooth where `lab.Spline` has kinks."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.nonlinearity.compiled import Compiled
from lab.nonlinearity.kan import bases, knots
from lab.nonlinearity.table import Learnable, named_function

LOW, HIGH, INTERVALS = -4.0, 4.0, 16  # as in cubic.c
SPACING = (HIGH - LOW) / INTERVALS
POWERS = torch.tensor([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]], dtype=torch.float64) / 6
AT_END = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0]], dtype=torch.float64)


def pieces() -> Tensor:
    """(19, 18 · 4): coefficients times this are polynomials a + b t + c t² + d t³: left of the knots, of the fraction t
    of each interval, right of the knots; beyond, t is the distance in intervals."""
    inside = torch.eye(INTERVALS + 3, dtype=torch.float64).unfold(1, 4, 1) @ POWERS
    left = inside[:, :1] * torch.tensor([1, 1, 0, 0])
    return torch.cat([left, inside, inside[:, -1:] @ AT_END], 1).flatten(1)


def evaluated(x: Tensor, table: Tensor) -> Tensor:
    """In torch's operations: x any shape with polynomials (18 · 4,), or (functions, …) with (functions, 18 · 4)."""
    position = (x - LOW) / SPACING
    inside = position.detach().nan_to_num().clamp(0, INTERVALS).long()
    piece = torch.where(position >= 0, inside + 1, 0)
    if table.dim() == 2:
        piece = piece + (INTERVALS + 2) * torch.arange(len(table), device=x.device).view(-1, *[1] * (x.dim() - 1))
    # gathered from one axis, also of one number: vmap would call .item(), and [index] has a slow gradient
    columns = table.reshape(-1, 4).unbind(-1)
    a, b, c, d = (column.gather(0, piece.reshape(-1)).reshape(x.shape) for column in columns)
    t = position - inside
    u = torch.where((position < 0) | (position >= INTERVALS), 0, t)  # straight beyond
    return a + t * (b + u * (c + u * d))


PIECES = pieces()
KERNEL = Compiled("cubic", PIECES.shape[1], evaluated)


def fitted(f) -> tuple[float, ...]:
    """Coefficients of the spline nearest to a function in the least squares, at even points of [LOW, HIGH]."""
    x = torch.linspace(LOW, HIGH, 20 * INTERVALS + 1, dtype=torch.float64)
    rows = bases(x, knots(INTERVALS, 3, LOW, HIGH), 3)
    return tuple(torch.linalg.lstsq(rows, f(x)[:, None]).solution[:, 0].tolist())


@named_function(
    "bspline",
    "Σ c_k B((x - x_k) / h), cubic, 16 intervals on [-4, 4], straight beyond; GELU at the start",
    "de Boor 1978; cubic splines as activations: Scardapane et al. 2016",
    low=-0.169974,
)
class BSpline(Learnable):
    """Σ c_k B((x - x_k) / h), a cubic B-spline with even knots on [low, high], straight beyond; its 19 coefficients
    learn. At the start it is GELU, within 3e-4. One a channel: `BSpline(channels, dim=1)`.

    >>> x = torch.linspace(-4, 4, 99)
    >>> torch.allclose(BSpline()(x), F.gelu(x), atol=3e-4)
    True
    """

    low, high = LOW, HIGH
    start = {"coefficients": fitted(F.gelu)}
    coefficients: Tensor

    def forward(self, x: Tensor) -> Tensor:
        coefficients = self.coefficients.to(torch.promote_types(self.coefficients.dtype, torch.float32))
        return KERNEL.of(self, x, coefficients @ PIECES.to(coefficients))
