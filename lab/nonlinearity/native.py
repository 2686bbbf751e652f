"""The compiled CPU kernel: `kernel.c`, built once with the machine's C compiler and kept in the user's cache.

Plain C behind ctypes, not a C++ extension of torch: it needs no headers and no C++ compiler, is built in two seconds
instead of half a minute, fits every version of torch, and ctypes lets go of the interpreter's lock.
Where no compiler is found, or the build fails, `library()` is None and numba takes its place; `lab doctor` says which
is in use, and why.
"""

from __future__ import annotations

import ctypes
import functools
from typing import cast

import torch
from torch import Tensor

from lab.nonlinearity import compiler
from lab.nonlinearity.threads import Cut

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@functools.lru_cache(maxsize=1)
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    """The kernel, or None and the reason."""
    try:
        path = compiler.built()
        return _declared(ctypes.CDLL(str(path))), ""
    except compiler.BuildError as error:
        return None, str(error)
    except OSError as error:  # of another architecture, or in a folder from which nothing may be executed
        said = f"loading {path} failed: {error}"
    except AttributeError as error:
        said = f"{path} lacks a function ({error})"
    return None, f"{' '.join(said.split())} (delete the file to have it built again)"


def library() -> ctypes.CDLL | None:
    """The loaded kernel, or None; `why_not()` then says why."""
    return _loaded()[0]


def why_not() -> str | None:
    """The reason why there is no compiled kernel, or None where there is one."""
    return _loaded()[1] or None


def _declared(kernel: ctypes.CDLL) -> ctypes.CDLL:
    """With the types of its functions. AttributeError where one is missing."""
    pointer, size, number, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_double
    grid = [size] * 4 + [number] * 2 + [real] * 2
    for dtype in DTYPES:
        for name, before in (("forward", [pointer] * 3), ("backward", [pointer] * 5 + [number])):
            function = getattr(kernel, f"spline_{name}_{str(dtype).removeprefix('torch.')}")
            function.argtypes, function.restype = before + grid, number
    kernel.spline_collect.argtypes, kernel.spline_collect.restype = [pointer] * 2 + [size] * 2 + [number], None
    return kernel


def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """Spline values: shape and dtype of `x`, which is (runs, …) or, with values (knots,), of any shape."""
    inside, table = _ready(x, values)
    y = torch.empty_like(inside)
    _call("forward", inside, table, low, high, inside.data_ptr(), table.data_ptr(), y.data_ptr())
    return y if y.dtype == x.dtype else y.to(x.dtype)


def backward(grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool):
    """Gradients of Σ grad · φ(x): of x, shape and dtype of `x`, and of the values, theirs; None where not asked for.

    Knot gradients are summed in double precision.
    """
    inside, table = _ready(x, values)
    grad = grad.to(inside.dtype).contiguous()
    gx = torch.empty_like(inside) if of_x else None
    gv = _backward(grad, inside, table, low, high, gx, of_values, slope=False)
    return gx if gx is None else gx.to(x.dtype), gv if gv is None else gv.to(values.dtype)


def slope_backward(grad: Tensor, x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """Gradient of Σ grad · φ'(x) in the values: the mixed second derivative. Shape and dtype of `values`."""
    inside, table = _ready(x, values)
    grad = grad.to(inside.dtype).contiguous()
    return cast(Tensor, _backward(grad, inside, table, low, high, None, True, slope=True)).to(values.dtype)


def _backward(
    grad: Tensor, x: Tensor, table: Tensor, low: float, high: float, gx: Tensor | None, of_values: bool, slope: bool
) -> Tensor | None:
    """Fills gx, if any; returns the gradient of the values in double, if asked for."""
    knots, partial = table.shape[-1], None
    if of_values:
        cut = Cut(x, table)
        partial = torch.empty(cut.runs * cut.slices, knots, dtype=torch.float64)
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (x, grad, table, gx, partial)]
    _call("backward", x, table, low, high, *pointers, slope)
    if partial is None or cut.slices == 1:
        return partial if partial is None else partial.view(table.shape)
    total = torch.empty(table.shape, dtype=torch.float64)
    cast(ctypes.CDLL, library()).spline_collect(partial.data_ptr(), total.data_ptr(), cut.runs, cut.slices, knots)
    return total


def _ready(x: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Both contiguous, in types that the kernel has: it computes in double if one of them is, else in single."""
    double = torch.float64 in (x.dtype, values.dtype)
    x, wide = x.to(torch.float64) if double else x, torch.float64 if double else torch.float32
    return x.contiguous(), (values if values.dtype == wide else values.to(wide)).contiguous()


@functools.cache
def _function(name: str, dtype: torch.dtype, kernel: ctypes.CDLL):
    return getattr(kernel, f"spline_{name}_{str(dtype).removeprefix('torch.')}")


def _call(name: str, x: Tensor, table: Tensor, low: float, high: float, *pointers) -> None:
    function = _function(name, x.dtype, library())
    cut, knots = Cut(x, table), table.shape[-1]
    inverse, shared = (knots - 1) / (high - low), table.dim() == 1

    def work(first: int, end: int) -> None:
        if function(*pointers, cut.count, cut.slice, first, end, shared, knots, low, inverse):
            raise MemoryError(f"no memory for tables of {knots} knots")

    cut.share(work)
