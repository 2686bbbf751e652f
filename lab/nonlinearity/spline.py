"""The linear spline: a learnable scalar function, the lab's main object (transformers paper, App. B).

Values at evenly spaced knots of [low, high], linear between them, constant outside. Outside, the slope is 0; on a
knot, it is the slope to its right; NaN in gives NaN out; ±inf gives the end value.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, LabError
from lab.nonlinearity import document, native

DTYPES = {str(t).removeprefix("torch."): t for t in (torch.float32, torch.float64, torch.bfloat16, torch.float16)}


class Spline(nn.Module):
    """φ: ℝ→ℝ through `values` at evenly spaced knots.

    values: (knots,) for one function, or (runs, knots) for one function a run: the input's leading axis is then the
        run axis. A Parameter, frozen unless `learnable`.
    low, high: positions of the first and last knot.

    >>> hat = Spline(torch.tensor([0.0, 1.0, 0.0]), low=-1.0, high=1.0)
    >>> hat(torch.tensor([-5.0, -0.5, 0.0, 0.25])).tolist()
    [0.0, 0.5, 1.0, 0.75]
    """

    def __init__(self, values: Tensor, low: float = -20.0, high: float = 20.0, learnable: bool = False):
        super().__init__()
        values = torch.as_tensor(values)
        if not values.is_floating_point():
            values = values.to(torch.get_default_dtype())
        if values.dim() not in (1, 2) or values.shape[-1] < 2:
            raise ArgumentError(
                f"values has shape {tuple(values.shape)}; it must be (knots,) or (runs, knots) with ≥ 2 knots"
            )
        if not (torch.isfinite(torch.tensor([low, high])).all() and low < high):
            raise ArgumentError(f"low={low}, high={high}: low must be below high, both finite")
        self.low, self.high = float(low), float(high)
        self.values = nn.Parameter(values.detach().clone(), requires_grad=learnable)

    @classmethod
    def zeros(cls, knots: int = 361, low: float = -20.0, high: float = 20.0, learnable: bool = True) -> Spline:
        """The zero function, where the paper's search starts.

        >>> Spline.zeros(knots=361).spacing * 9
        1.0
        """
        return cls(torch.zeros(knots), low, high, learnable)

    @property
    def positions(self) -> Tensor:
        """Knot positions, (knots,)."""
        return torch.linspace(self.low, self.high, self.values.shape[-1], dtype=self.values.dtype)

    @property
    def spacing(self) -> float:
        """Distance between two knots."""
        return (self.high - self.low) / (self.values.shape[-1] - 1)

    def forward(self, x: Tensor) -> Tensor:
        """φ(x), shape and dtype of `x`."""
        if self.values.dim() == 2 and (x.dim() == 0 or x.shape[0] != self.values.shape[0]):
            raise ArgumentError(
                f"input of shape {tuple(x.shape)} for {self.values.shape[0]} splines: "
                f"the leading axis must be the run axis, of length {self.values.shape[0]}"
            )
        if _native_can(x, self.values):
            return _Native.apply(x.contiguous(), self.values.contiguous(), self.low, self.high)
        return interpolate(x, self.values, self.low, self.high)

    def save(self, path: str | Path, provenance: dict | None = None) -> None:
        """Write the function as JSON: low, high, values and their type, with a schema version and a checksum.

        The text says the numbers exactly. provenance: facts about it that JSON can say, kept beside it.
        """
        dtype = str(self.values.dtype).removeprefix("torch.")
        numbers = {"kind": "linear spline", "low": self.low, "high": self.high, "dtype": dtype}
        numbers["values"] = self.values.tolist()
        document.write(path, numbers | ({"provenance": provenance} if provenance else {}))

    @classmethod
    def load(cls, path: str | Path, learnable: bool = False) -> Spline:
        """The function written by `save`. Raises LabError for a file that is damaged, or of a newer schema."""
        try:
            found = document.read(path)
            values = torch.tensor(found["values"], dtype=DTYPES[found.get("dtype", "float32")])
            return cls(values, found["low"], found["high"], learnable)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # torch's own, too
            raise LabError(f"{path} is not a saved spline ({error}); give a file written by Spline.save") from error

    def extra_repr(self) -> str:
        """Shape and range, for print(model)."""
        return f"{tuple(self.values.shape)} knots on [{self.low:g}, {self.high:g}]"


def interpolate(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """The spline as a torch formula: any device and dtype, differentiable twice in `x` and `values`.

    x: any shape with values (knots,), or (runs, …) with values (runs, knots). Returns the shape and dtype of `x`.
    """
    last = values.shape[-1] - 1
    wide = torch.promote_types(x.dtype, torch.float32)  # half-precision inputs are located in float32
    position = (x.to(wide) - low) * (last / (high - low))
    inside = (position >= 0) & (position < last)
    position = torch.where(inside | position.isnan(), position, position.detach().clamp(0, last))
    index = torch.nan_to_num(position.detach()).long().clamp(0, last - 1)
    left, right = _look_up(values, index), _look_up(values, index + 1)
    return (left + (position - index) * (right - left)).to(x.dtype)


def _look_up(values: Tensor, index: Tensor) -> Tensor:
    if values.dim() == 1:
        return values[index]
    return values.gather(1, index.reshape(values.shape[0], -1)).reshape(index.shape)


def _native_can(x: Tensor, values: Tensor) -> bool:
    plain = x.device.type == values.device.type == "cpu" and x.dtype == values.dtype == torch.float32 and x.numel() > 0
    # torch.compile and torch.func (vmap, grad, jvp) see through the formula, not through the kernel
    traced = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    return plain and not traced and native.library() is not None


class _Native(torch.autograd.Function):
    """The compiled kernel under autograd (first derivatives; a second one goes through the torch formula)."""

    @staticmethod
    def forward(ctx, x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
        ctx.save_for_backward(x, values)
        ctx.range = low, high
        return native.forward(x, values, low, high)

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, values = ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True: somebody wants to differentiate this once more
            with torch.enable_grad():
                wanted = [t for t, needed in zip((x, values), ctx.needs_input_grad, strict=False) if needed]
                y = interpolate(x, values, *ctx.range)
                found = iter(torch.autograd.grad(y, wanted, grad, create_graph=True))
            return *(next(found) if needed else None for needed in ctx.needs_input_grad[:2]), None, None
        grad = grad.contiguous()
        gx = native.backward_input(x, grad, values, *ctx.range) if ctx.needs_input_grad[0] else None
        gv = native.backward_knots(x, grad, values, *ctx.range) if ctx.needs_input_grad[1] else None
        return gx, gv, None, None
