"""Functions of one number with numbers that learn, compiled for CPUs: C with gradients of inputs and numbers."""

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab.nonlinearity import native
from lab.nonlinearity.op import is_for_native
from lab.nonlinearity.table import Learnable, in_float32

DTYPES = (torch.float32, torch.float64)


class Compiled:
    """A function in C, called with x of any shape and its numbers (count,), or with (functions, …) and
    (functions, count).

    name: of its sources, NAME.c and NAME.h. formula: the same of the same arguments in torch's operations, by which
    gradients are differentiated again.
    """

    def __init__(self, name: str, count: int, formula: Callable[[Tensor, Tensor], Tensor]):
        self.name, self.count, self.formula = name, count, formula

    def is_fast(self, *tensors: Tensor) -> bool:
        """Whether the kernel takes these."""
        return is_for_native(tensors) and self.library is not None

    @functools.cached_property
    def library(self) -> ctypes.CDLL | None:
        """The compiled kernel, or None where it cannot be had."""
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        functions: dict[str, list[Any]] = {}
        for dtype in DTYPES:
            for name, pointers in (("forward", 3), ("backward", 5)):
                functions[self._function(name, dtype)] = [pointer] * pointers + [size] * 4 + [ctypes.c_int]
        sources = [Path(__file__).with_name(f"{self.name}.{ending}") for ending in "ch"]
        try:
            return native.loaded(self.name, sources, functions)
        except native.BuildError:
            return None

    def __call__(self, x: Tensor, numbers: Tensor) -> Tensor:
        return _Compiled.apply(self, x.contiguous(), numbers.contiguous())

    def of(self, phi: Learnable, x: Tensor, numbers: Tensor) -> Tensor:
        """φ(x) of a module with these numbers, one function or one for each index of its axis; by the formula where the
        kernel does not take them."""
        wide = in_float32(x)
        f = self if self.is_fast(wide, numbers) else self.formula
        if phi.functions is None:
            return f(wide, numbers).to(x.dtype)
        phi.broadcast(numbers[:, 0], x)  # refuses what does not fit
        rows = wide.movedim(phi.dim, 0)
        return f(rows.reshape(phi.functions, -1), numbers).view(rows.shape).movedim(0, phi.dim).to(x.dtype)

    def call(self, name: str, x: Tensor, numbers: Tensor, *tensors: Tensor | None) -> None:
        """The C function of this name, on all of x."""
        cut, function = native.Cut(x, numbers), getattr(self.library, self._function(name, x.dtype))
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in (x, *tensors)]
        cut.share(lambda first, end: function(*pointers, cut.count, cut.slice, first, end, numbers.dim() == 1))

    def _function(self, name: str, dtype: torch.dtype) -> str:
        return f"{self.name}_{name}_{str(dtype).removeprefix('torch.')}"


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Compiled, x: Tensor, numbers: Tensor) -> Tensor:
        ctx.kernel = kernel
        ctx.save_for_backward(x, numbers)
        y = torch.empty_like(x)
        kernel.call("forward", x, numbers, numbers, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        kernel, (x, numbers), (of_x, of_numbers) = ctx.kernel, ctx.saved_tensors, ctx.needs_input_grad[1:]
        if torch.is_grad_enabled() or not kernel.is_fast(grad, x):
            wanted = [tensor for tensor, need in ((x, of_x), (numbers, of_numbers)) if need]
            with torch.enable_grad():
                grads = iter(torch.autograd.grad(kernel.formula(x, numbers), wanted, grad, create_graph=True))
            return None, next(grads) if of_x else None, next(grads) if of_numbers else None
        cut = native.Cut(x, numbers)
        gx = torch.empty_like(x) if of_x else None
        partial = torch.empty(cut.runs, cut.slices, kernel.count, dtype=torch.float64) if of_numbers else None
        kernel.call("backward", x, numbers, grad.contiguous(), numbers, gx, partial)
        return None, gx, None if partial is None else partial.sum(1).view(numbers.shape).to(x.dtype)
