"""The CPU kernel for machines without a C compiler: the loops of `kernel.h` in Python, compiled by numba when used."""

import functools
import math

import numpy as np
import torch
from torch import Tensor

from lab.nonlinearity.native import Cut

BLOCK = 256  # inputs that are in the buffers at once


def why_not() -> str | None:
    """The reason why there is no such kernel, or None where there is one."""
    try:
        _kernels()
    except ImportError as error:
        return f"numba cannot be imported ({error}); install it"
    return None


def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """As `formula.forward`."""
    inside, table = _ready(x, values)
    y, cut, inverse = torch.empty_like(inside), Cut(x, values), (values.shape[-1] - 1) / (high - low)
    arrays = [tensor.detach().numpy() for tensor in (inside, table, y)]
    kind = arrays[0].dtype.type

    def work(first: int, end: int) -> None:
        _kernels()[0](*arrays, cut.count, cut.slice, first, end, kind(low), kind(inverse))

    cut.share(work)
    return y.view(x.shape).to(x.dtype)


def backward(
    grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool, slope: bool = False
) -> tuple[Tensor | None, Tensor | None]:
    """As `formula.backward`, knot gradients summed in double precision."""
    inside, table = _ready(x, values)
    cut, inverse = Cut(x, values), (values.shape[-1] - 1) / (high - low)
    gx = torch.empty_like(inside) if of_x else inside.new_empty(0, 0)
    partial = torch.empty(cut.runs * cut.slices if of_values else 0, values.shape[-1], dtype=torch.float64)
    grad = grad.to(inside.dtype).reshape(inside.shape).contiguous()
    arrays = [tensor.detach().numpy() for tensor in (inside, grad, table, gx, partial)]
    kind = arrays[0].dtype.type

    def work(first: int, end: int) -> None:
        _kernels()[1](*arrays, of_x, of_values, slope, cut.count, cut.slice, first, end, kind(low), kind(inverse))

    cut.share(work)
    grad_x = gx.view(x.shape).to(x.dtype) if of_x else None
    if not of_values:
        return grad_x, None
    total = np.zeros((cut.runs, values.shape[-1]))
    for part in arrays[4].reshape(cut.runs, cut.slices, -1).swapaxes(0, 1):  # in their order, for any number of threads
        total += part
    return grad_x, torch.from_numpy(total).view(values.shape).to(values.dtype)


def _ready(x: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """x as (runs, count) and values as (runs or 1, knots), both double if one of them is, else both single."""
    wide = torch.float64 if torch.float64 in (x.dtype, values.dtype) else torch.float32
    table = values.to(wide).contiguous().reshape(-1, values.shape[-1])
    return x.to(wide).contiguous().reshape(len(table), -1), table


@functools.cache
def _kernels():
    import numba

    def compiled(cache: bool):
        make = numba.njit(nogil=True, cache=cache, error_model="numpy")
        return make(_forward_items), make(_backward_items)

    try:
        return compiled(cache=True)
    except RuntimeError:  # there is no folder to keep them in
        return compiled(cache=False)


def _forward_items(x, knots, y, count, slice_, first, end, low, inverse):
    slices, n = (count + slice_ - 1) // slice_, knots.shape[1]
    zero, top = low - low, knots.dtype.type(n - 1)
    interval, fraction = np.empty(BLOCK, np.int32), np.empty(BLOCK, knots.dtype)
    left, rise = np.empty(BLOCK, knots.dtype), np.empty(BLOCK, knots.dtype)
    for item in range(first, end):
        run, begin = item // slices, item % slices * slice_
        v, stop = knots[run], min(begin + slice_, count)
        for at in range(begin, stop, BLOCK):
            size = min(BLOCK, stop - at)
            source, out = x[run, at : at + size], y[run, at : at + size]
            for i in range(size):
                t = (source[i] - low) * inverse
                t = zero if t < zero else t
                t = top if t > top else t
                interval[i] = np.int32(t if t > zero else zero)  # the comparison turns NaN into 0
                fraction[i] = t - knots.dtype.type(interval[i])
            for i in range(size):
                k = interval[i]
                left[i] = v[k]
                rise[i] = v[min(k + 1, n - 1)] - v[k]
            for i in range(size):
                out[i] = left[i] + fraction[i] * rise[i]


def _backward_items(x, g, knots, gx, partial, of_x, of_values, slope, count, slice_, first, end, low, inverse):
    slices, n = (count + slice_ - 1) // slice_, knots.shape[1]
    zero, top = low - low, knots.dtype.type(n - 1)
    slopes, sums = np.zeros(n + 2, knots.dtype), np.empty((n + 1, 2))
    slopes[n + 1] = math.nan  # left of the table, its intervals, right of it, NaN
    entry = np.empty(BLOCK, np.int32)
    for item in range(first, end):
        run, begin = item // slices, item % slices * slice_
        stop = min(begin + slice_, count)
        if of_x:
            for k in range(n - 1):
                slopes[k + 1] = (knots[run, k + 1] - knots[run, k]) * inverse
        sums[:] = 0.0
        for at in range(begin, stop, BLOCK):
            size = min(BLOCK, stop - at)
            source, grad = x[run, at : at + size], g[run, at : at + size]
            if of_x:
                out = gx[run, at : at + size]
                for i in range(size):
                    t = (source[i] - low) * inverse
                    c = t if t > zero else zero
                    k = np.int32(c if c < top else top) + 1  # type: ignore[assignment]  # numba's types
                    k = 0 if t < zero else k
                    entry[i] = k if t == t else n + 1
                for i in range(size):
                    out[i] = grad[i] * slopes[entry[i]]
            if of_values:
                for i in range(size):
                    t = (source[i] - low) * inverse
                    c = zero if t < zero else t
                    c = top if c > top else c
                    k = np.int32(c if c > zero else zero)  # type: ignore[assignment]
                    f, d = c - knots.dtype.type(k), grad[i]
                    if slope:
                        d = d * inverse if t >= zero and t < top else zero
                        d += f - f  # 0, or NaN
                        sums[k, 0] -= d
                        sums[k, 1] += d
                    else:
                        right = d * f
                        sums[k, 0] += d - right
                        sums[k, 1] += right
        if of_values:
            right = 0.0
            for k in range(n):
                partial[item, k] = right + sums[k, 0]
                right = sums[k, 1]
