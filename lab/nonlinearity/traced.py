"""The spline under torch.func: where nothing but `vmap` is at work, its kernel does the work for all models at once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lab.nonlinearity.formula import interpolate
from lab.nonlinearity.op import spline

VMAP = torch._C._functorch.TransformType.Vmap


def traced(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """φ(x) under torch.func: by the kernel under a single `vmap`, else by the formula, which every tracer sees through.

    >>> x, values = torch.tensor([[0.5], [0.25]]), torch.tensor([[0.0, 1.0], [0.0, 4.0]])
    >>> torch.vmap(lambda x, values: traced(x, values, 0.0, 1.0))(x, values)
    tensor([[0.5000],
            [1.0000]])
    """
    # a compiler sees through the formula alone, and not through what asks for the stack
    stack = None if torch.compiler.is_compiling() else torch._C._functorch.get_interpreter_stack()
    if stack is not None and len(stack) == 1 and stack[0].key() == VMAP:
        return _SideBySide.apply(x, values, low, high)
    return interpolate(x, values, low, high)


class _SideBySide(torch.autograd.Function):
    """What `vmap` makes of the spline: one call of the kernel, with the run axis in front."""

    @staticmethod
    def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
        return spline(x, values, low, high)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Nothing is kept: the kernel below has its own gradients."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, values: Tensor, low: float, high: float) -> tuple[Tensor, int]:
        """One function for all models where the values have no run axis, else one a model; or one a channel of each."""
        of_x, of_values, *_ = in_dims
        x = x.movedim(of_x, 0) if of_x is not None else x.expand(info.batch_size, *x.shape)
        values = values if of_values is None else values.movedim(of_values, 0)
        if values.dim() - (of_values is not None) == 1:
            return spline(x, values, low, high), 0
        per_model = values if of_values is not None else values.expand(info.batch_size, *values.shape)
        return spline(x.flatten(0, 1), per_model.flatten(0, 1), low, high).view(x.shape), 0
