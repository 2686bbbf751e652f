"""The rational function of degrees 5 and 4: its formula, and on the CPU a compiled kernel with its gradients."""

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab.nonlinearity import native
from lab.nonlinearity.op import is_for_native

SOURCES = tuple(Path(__file__).with_name(name) for name in ("rational.c", "rational.h"))
DTYPES = (torch.float32, torch.float64)
NUMERATORS, ALL = 6, 10  # coefficients


def fraction(x: Tensor, numerator: Sequence[Tensor], denominator: Sequence[Tensor]) -> Tensor:
    """(a_0 + … + a_5 x⁵) / (1 + |b_1 x + … + b_4 x⁴|) in torch's operations; coefficients broadcast with x. Beyond ±1
    both polynomials are divided by x⁴, so that no power overflows."""
    far = x.abs() > 1
    v = torch.where(far, 1 / torch.where(far, x, 1.0), x)
    above = [torch.where(far, last, first) for first, last in zip(numerator, numerator[::-1], strict=True)]
    below = torch.where(far, _horner(denominator[::-1], v), v * _horner(denominator, v)).abs()
    ratio = _horner(above, v) / (torch.where(far, v.square().square(), 1.0) + below)
    return torch.where(far, x, 1.0) * ratio


def is_fast(*tensors: Tensor) -> bool:
    """Whether the kernel takes these."""
    return is_for_native(tensors) and library() is not None


@functools.lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled kernel, or None where it cannot be had."""
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    functions: dict[str, list[Any]] = {}
    for dtype in DTYPES:
        for name, pointers in (("forward", 3), ("backward", 5)):
            functions[_name(name, dtype)] = [pointer] * pointers + [size] * 4 + [ctypes.c_int]
    try:
        return native.loaded("rational", SOURCES, functions)
    except native.BuildError:
        return None


def rational(x: Tensor, coefficients: Tensor) -> Tensor:
    """The function by the kernel: x any shape with coefficients (10,), or (functions, …) with (functions, 10)."""
    return _Rational.apply(x.contiguous(), coefficients.contiguous())


class _Rational(torch.autograd.Function):
    """Its gradients by the kernel; where those are differentiated again, by the formula."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, coefficients: Tensor) -> Tensor:
        ctx.save_for_backward(x, coefficients)
        y = torch.empty_like(x)
        _call("forward", x, coefficients, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, coefficients = ctx.saved_tensors
        if torch.is_grad_enabled() or not is_fast(grad, x):
            wanted = [tensor for tensor, need in zip((x, coefficients), ctx.needs_input_grad, strict=True) if need]
            with torch.enable_grad():
                shape = (-1, *[1] * (x.dim() - 1)) if coefficients.dim() == 2 else ()
                numbers = [c.view(shape) for c in coefficients.unbind(-1)]
                y = fraction(x, numbers[:NUMERATORS], numbers[NUMERATORS:])
                grads = iter(torch.autograd.grad(y, wanted, grad, create_graph=True))
            return tuple(next(grads) if need else None for need in ctx.needs_input_grad)
        cut, (of_x, of_numbers) = native.Cut(x, coefficients), ctx.needs_input_grad
        gx = torch.empty_like(x) if of_x else None
        partial = torch.empty(cut.runs, cut.slices, ALL, dtype=torch.float64) if of_numbers else None
        _call("backward", x, grad.contiguous(), coefficients, gx, partial)
        return gx, None if partial is None else partial.sum(1).view(coefficients.shape).to(x.dtype)


def _call(name: str, x: Tensor, *tensors: Tensor | None) -> None:
    coefficients = tensors[1] if name == "backward" else tensors[0]
    assert coefficients is not None  # for the type checker
    cut, function = native.Cut(x, coefficients), getattr(library(), _name(name, x.dtype))
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (x, *tensors)]
    cut.share(lambda first, end: function(*pointers, cut.count, cut.slice, first, end, coefficients.dim() == 1))


def _name(name: str, dtype: torch.dtype) -> str:
    return f"rational_{name}_{str(dtype).removeprefix('torch.')}"


def _horner(coefficients: Sequence[Tensor], x: Tensor) -> Tensor:
    """c_0 + c_1 x + …"""
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y
