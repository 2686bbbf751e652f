"""The linear spline: a learnable scalar function, the lab's main object (transformers paper, App. B).

Values at evenly spaced knots of [low, high], linear between them, constant outside. Outside, the slope is 0; on a
knot, it is the slope to its right; ±inf gives the end value. NaN in gives NaN out, a NaN gradient of that input, and
NaN gradients of the first two knots. `op` has the kernels; they agree with each other in all of this.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, LabError
from lab.nonlinearity.formula import interpolate
from lab.nonlinearity.op import spline

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
        if not x.is_floating_point():
            raise ArgumentError(f"input of type {x.dtype}: give floating-point numbers, for example x.float()")
        # torch.func (vmap, grad, jvp) sees through the formula, not through the kernel
        traced = torch._C._are_functorch_transforms_active()
        return (interpolate if traced else spline)(x, self.values, self.low, self.high)

    def save(self, path: str | Path) -> None:
        """Write the function as JSON: low, high, values and their type. The text says the numbers exactly."""
        path, dtype = Path(path), str(self.values.dtype).removeprefix("torch.")
        document = {"kind": "linear spline", "low": self.low, "high": self.high, "dtype": dtype}
        document["values"] = self.values.tolist()
        path.write_text(json.dumps(document))

    @classmethod
    def load(cls, path: str | Path, learnable: bool = False) -> Spline:
        """The function written by `save`."""
        try:
            document = json.loads(Path(path).read_text())
            values = torch.tensor(document["values"], dtype=DTYPES[document.get("dtype", "float32")])
            return cls(values, document["low"], document["high"], learnable)
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:  # torch's own, too
            raise LabError(f"{path} is not a saved spline ({error}); give a file written by Spline.save") from error

    def extra_repr(self) -> str:
        """Shape and range, for print(model)."""
        return f"{tuple(self.values.shape)} knots on [{self.low:g}, {self.high:g}]"
