"""The spline in plain torch operations: for every device, and what the kernels are tested against."""

import torch
from torch import Tensor


def interpolate(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """The spline as a differentiable formula, for tracers that need one (torch.func, forward mode).

    x: any shape with values (knots,), or (runs, …) with values (runs, knots). Returns the shape and dtype of `x`.

    >>> interpolate(torch.tensor([-5.0, 0.25]), torch.tensor([0.0, 1.0, 0.0]), -1.0, 1.0)
    tensor([0.0000, 0.7500])
    """
    index, fraction, _ = _locate(x, values, low, high)
    left, rise = _look_up(values.to(fraction.dtype), index)
    rise = rise + 0 * fraction.detach()  # the slope at NaN is NaN
    return (left + fraction * rise).to(x.dtype)


forward = interpolate


def backward(
    grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool, slope: bool = False
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of Σ grad · φ(x): of x, shape and dtype of `x`, and of the values, theirs; None where not asked for.

    slope: that of the values is instead of Σ grad · φ'(x), the mixed second derivative.
    """
    index, fraction, inside = _locate(x, values, low, high)
    gx = gv = None
    if of_x:
        rise = _look_up(values.to(fraction.dtype), index)[1]
        gx = (grad * torch.where(inside, rise * _inverse(values, low, high), 0 * fraction)).to(x.dtype)
    if of_values and slope:
        right = torch.where(inside, grad.to(fraction.dtype) * _inverse(values, low, high), 0 * fraction)
        gv = _scatter(-right, right, index, values)
    elif of_values:
        right = grad * fraction
        gv = _scatter(grad - right, right, index, values)
    return gx, gv


def _locate(x: Tensor, values: Tensor, low: float, high: float) -> tuple[Tensor, Tensor, Tensor]:
    """Each input's interval, fraction of it, and whether it is inside. Beyond the ends: fraction 0 on that knot."""
    last = values.shape[-1] - 1
    wide = torch.promote_types(torch.promote_types(x.dtype, values.dtype), torch.float32)
    position = (x.to(wide) - low) * _inverse(values, low, high)
    inside = (position >= 0) & (position < last)
    position = torch.where(inside | position.isnan(), position, position.detach().clamp(0, last))
    index = torch.nan_to_num(position.detach()).long()
    return index, position - index, inside


def _inverse(values: Tensor, low: float, high: float) -> float:
    return (values.shape[-1] - 1) / (high - low)


def _look_up(values: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """The value at each interval's left knot, and the rise to the right one; no rise from the last knot."""
    after = (index + 1).clamp(max=values.shape[-1] - 1)
    if values.dim() == 1:
        # one axis at least: with a single number, which is what vmap leaves of each, torch would call .item()
        left, right = (values[i.reshape(-1)].reshape(i.shape) for i in (index, after))
    else:
        left, right = (values.gather(1, i.reshape(len(values), -1)).reshape(i.shape) for i in (index, after))
    return left, right - left


def _scatter(left: Tensor, right: Tensor, index: Tensor, values: Tensor) -> Tensor:
    """Sums of `left` at the interval's left knot and of `right` at the other one, in double where the device has it."""
    runs, knots = values.reshape(-1, values.shape[-1]).shape
    wide = torch.float32 if values.device.type == "mps" else torch.float64
    total = torch.zeros(runs, knots + 1, dtype=wide, device=values.device)  # the last interval has a right knot, too
    index = index.reshape(runs, -1)
    total.scatter_add_(1, index, left.reshape(runs, -1).to(wide))
    total.scatter_add_(1, index + 1, right.reshape(runs, -1).to(wide))
    return total[:, :-1].reshape(values.shape).to(values.dtype)
