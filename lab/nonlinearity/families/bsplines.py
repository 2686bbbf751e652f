"""Cubic B-splines, smooth where `lab.Spline` has kinks."""

import torch
import torch.nn.functional as F
from torch import Tensor

from lab.nonlinearity.kan import bases, knots
from lab.nonlinearity.table import Learnable, in_float32, named_function

LOW, HIGH, INTERVALS = -4.0, 4.0, 16
SPACING = (HIGH - LOW) / INTERVALS


def weights(t: Tensor) -> list[Tensor]:
    """The four cubic B-splines at the fraction t of an interval: what `bases` gives there, in a sixteenth of the time.

    >>> t = torch.rand(9)
    >>> torch.allclose(torch.stack(weights(t), -1), bases(t, knots(1, 3, 0.0, 1.0).float(), 3), atol=1e-6)
    True
    """
    s = 1 - t
    return [s**3 / 6, (4 + t * t * (3 * t - 6)) / 6, (4 + s * s * (3 * s - 6)) / 6, t**3 / 6]


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
        wide = in_float32(x)
        inside = wide.clamp(LOW, HIGH)
        t = (inside - LOW) / SPACING
        k = torch.nan_to_num(t.detach()).long().clamp(0, INTERVALS - 1)
        rows, size = self.coefficients.reshape(-1), self.coefficients.shape[-1]
        first = (
            k if self.functions is None else k + self.broadcast(size * torch.arange(self.functions, device=x.device), x)
        )
        # gathered from one axis, also of one number: vmap would call .item(), and [index] has a slow gradient
        near = (rows.gather(0, (first + j).reshape(-1)).reshape(k.shape) for j in range(4))
        value = sum(w * c for w, c in zip(weights(t - k), near, strict=True))
        c = [self.broadcast(self.coefficients[..., at], x) / (2 * SPACING) for at in (0, 2, -3, -1)]
        return (value - (c[1] - c[0]) * (LOW - wide).relu() + (c[3] - c[2]) * (wide - HIGH).relu()).to(x.dtype)
