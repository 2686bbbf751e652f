"""The compiled kernel of Canon layers, `canon.c`: built once, as the spline's is; 3 to 7 times as fast as torch.

Numbers in and out are float32 or float64 on the CPU, contiguous; everything else is PyTorch's (`lab.models.canon`).
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import torch
from torch import Tensor

from lab.nonlinearity import compiler, native
from lab.nonlinearity.op import cpu_kernel

DTYPES = (torch.float32, torch.float64)


def fits(x: Tensor, weight: Tensor) -> bool:
    """Whether the kernel takes these: numbers of one type that it has, on the CPU, where C is compiled and wanted.

    The environment variable LAB_KERNEL, which chooses the spline's kernel, chooses this one too.
    """
    ours = x.device.type == "cpu" and x.dtype == weight.dtype and x.dtype in DTYPES
    return ours and cpu_kernel() is native and _library() is not None


def forward(x: Tensor, weight: Tensor) -> Tensor:
    """What a Canon layer does: x (R, B, T, C), weight (R, 4, C) → (R, B, T, C)."""
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty_like(x)
    _call("forward", x, x, weight, y)
    return y


def backward(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of Σ grad · y in x and in the weights, in their shapes. The weights' are summed in double precision."""
    grad, x, weight = grad.contiguous(), x.contiguous(), weight.contiguous()
    of_x, of_weight = torch.empty_like(x), torch.empty_like(weight)
    _call("backward", x, x, grad, weight, of_x, of_weight)
    return of_x, of_weight


def _call(name: str, like: Tensor, *tensors: Tensor) -> None:
    function = getattr(_library(), f"canon_{name}_{str(like.dtype).removeprefix('torch.')}")
    if function(*(tensor.data_ptr() for tensor in tensors), *like.shape):
        raise MemoryError(f"no memory for the sums of {like.shape[-1]} channels")


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The library, or None where it cannot be built or loaded; PyTorch's operations take its place."""
    try:
        kernel = ctypes.CDLL(str(compiler.built("canon", [Path(__file__).with_name("canon.c")])))
        for dtype in DTYPES:
            for name, pointers in (("forward", 3), ("backward", 5)):
                function = getattr(kernel, f"canon_{name}_{str(dtype).removeprefix('torch.')}")
                function.argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * 4
                function.restype = ctypes.c_int
    except (compiler.BuildError, OSError, AttributeError):
        return None
    return kernel
