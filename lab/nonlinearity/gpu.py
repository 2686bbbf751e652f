"""The CUDA kernel, in Triton. Tables are a few kilobytes that stay in L1; intervals are computed again, never stored.

Knot gradients need no atomic operation: adding g to the table at row k // 16, column k % 16 is the product of two
one-hot matrices, so a block of inputs is summed into the whole table by the tensor cores; each program keeps its table
in registers over all of its blocks and writes it once, and the tables of the programs are then summed in double.
A gradient that is not finite therefore reaches other knots too: zero times infinity is NaN.

Needs an NVIDIA GPU; runs in Triton's interpreter where TRITON_INTERPRET=1 was set before triton was imported.
"""

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from lab.nonlinearity import formula

BLOCK, SUMMED = 1024, 128  # inputs at once: elementwise; where knot gradients are summed
WIDTH = tl.constexpr(16)  # columns of the table of sums
MOST_KNOTS = 1024  # what registers and shared memory of every GPU hold, and one-hot products are worth it
PROGRAMS = 4  # that sum knot gradients, a multiprocessor
OPTIONS = {"enable_fp_fusion": True}  # Triton's default changes from one version to the next


@triton.jit
def _position(x, low, inverse, last):
    """Position in units of intervals, with the ends' positions outside and NaN for NaN; and the interval."""
    t = (x - low) * inverse
    t = tl.where(t < 0, 0.0, t)
    t = tl.where(t > last, last.to(tl.float32), t)
    return t, tl.where(t == t, t, 0.0).to(tl.int32)


@triton.jit
def _forward(x, knots, y, count, blocks, n, stride, low, inverse, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    run = (program // blocks).to(tl.int64)
    offset = (program % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, place, table = offset < count, run * count + offset, knots + run * stride
    t, k = _position(tl.load(x + place, inside, 0.0).to(tl.float32), low, inverse, n - 1)
    left, right = tl.load(table + k), tl.load(table + tl.minimum(k + 1, n - 1))
    tl.store(y + place, (left + (t - k) * (right - left)).to(y.dtype.element_ty), inside)


@triton.jit
def _slopes(x, table, n, low, inverse):
    """The slope at x: 0 outside, NaN at NaN."""
    position = (x - low) * inverse
    t, k = _position(x, low, inverse, n - 1)
    slope = (tl.load(table + tl.minimum(k + 1, n - 1)) - tl.load(table + k)) * inverse
    slope = tl.where((position >= 0) & (position < n - 1), slope, 0.0)
    return tl.where(position == position, slope, position)


@triton.jit
def _backward_x(x, g, knots, gx, count, blocks, n, stride, low, inverse, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    run = (program // blocks).to(tl.int64)
    offset = (program % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, place = offset < count, run * count + offset
    slope = _slopes(tl.load(x + place, inside, 0.0).to(tl.float32), knots + run * stride, n, low, inverse)
    d = tl.load(g + place, inside, 0.0).to(tl.float32) * slope
    tl.store(gx + place, d.to(gx.dtype.element_ty), inside)


@triton.jit
def _backward_knots(
    x,
    g,
    knots,
    gx,
    partial,
    count,
    steps,
    programs,
    n,
    stride,
    low,
    inverse,
    OF_X: tl.constexpr,
    SLOPE: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """A program's table of sums, (ROWS, 32): for the left knot of interval 16 row + column, and for the right one."""
    program = tl.program_id(0)
    run, first = (program // programs).to(tl.int64), (program % programs).to(tl.int64)
    rows, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, 2 * WIDTH)[None, :]
    sums = tl.zeros((ROWS, 2 * WIDTH), tl.float32)
    for step in range(steps):
        offset = (first + step * programs) * BLOCK + tl.arange(0, BLOCK)
        inside, place = offset < count, run * count + offset
        source = tl.load(x + place, inside, 0.0).to(tl.float32)
        d = tl.load(g + place, inside, 0.0).to(tl.float32)
        if OF_X:
            slope = _slopes(source, knots + run * stride, n, low, inverse)
            tl.store(gx + place, (d * slope).to(gx.dtype.element_ty), inside)
        t, k = _position(source, low, inverse, n - 1)
        fraction = t - k
        if SLOPE:
            position = (source - low) * inverse
            right = tl.where((position >= 0) & (position < n - 1), d * inverse, 0.0) + (fraction - fraction)
            left = -right
        else:
            right = d * fraction
            left = d - right
        share = tl.where(columns < WIDTH, left[:, None], right[:, None])
        share = tl.where(columns % WIDTH == (k % WIDTH)[:, None], share, 0.0)
        row = (rows == (k // WIDTH)[None, :]).to(tl.float32)
        sums = tl.dot(row, share, sums, input_precision=PRECISION)
    tl.store(partial + program.to(tl.int64) * ROWS * 2 * WIDTH + rows * 2 * WIDTH + columns, sums)


def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """As `formula.forward`."""
    if torch.float64 in (x.dtype, values.dtype):
        return formula.forward(x, values, low, high)
    source, table, sizes, grid = _ready(x, values, low, high)
    y, blocks = torch.empty_like(source), triton.cdiv(sizes[1], BLOCK)
    with _on(x):
        _forward[(sizes[0] * blocks,)](source, table, y, sizes[1], blocks, *grid, BLOCK=BLOCK, **OPTIONS)
    return y


def backward(
    grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool, slope: bool = False
) -> tuple[Tensor | None, Tensor | None]:
    """As `formula.backward`.

    Knot gradients: a program's sums are float32 (from half-precision inputs: terms rounded to TF32, 2^-11 of their
    size), those over programs double.
    """
    if torch.float64 in (x.dtype, values.dtype) or (of_values and values.shape[-1] > MOST_KNOTS):
        return formula.backward(grad, x, values, low, high, of_x, of_values, slope)
    source, table, sizes, grid = _ready(x, values, low, high)
    grad, gx = grad.to(x.dtype).contiguous(), torch.empty_like(source) if of_x else None
    if of_values:
        return gx, _sum(grad, source, table, sizes, grid, gx, slope).view(values.shape).to(values.dtype)
    blocks = triton.cdiv(sizes[1], BLOCK)
    with _on(x):
        _backward_x[(sizes[0] * blocks,)](source, grad, table, gx, sizes[1], blocks, *grid, BLOCK=BLOCK, **OPTIONS)
    return gx, None


def _sum(grad: Tensor, x: Tensor, table: Tensor, sizes: tuple, grid: tuple, gx: Tensor | None, slope: bool) -> Tensor:
    """Knot gradients, (runs, knots), double; fills gx on the way, if any."""
    (runs, count), (n, width) = sizes, (grid[0], WIDTH.value)
    rows = max(16, triton.next_power_of_2(triton.cdiv(n, width)))  # tl.dot wants 16 at least
    blocks = triton.cdiv(count, SUMMED)
    processors = torch.cuda.get_device_properties(x.device).multi_processor_count if x.is_cuda else 1
    programs = min(blocks, max(1, PROGRAMS * processors // runs))
    partial = torch.empty(runs, programs, rows, 2 * width, device=x.device)
    steps = triton.cdiv(blocks, programs)
    tensors = x, grad, table, x if gx is None else gx, partial
    options = {"OF_X": gx is not None, "SLOPE": slope, "ROWS": rows, "BLOCK": SUMMED} | OPTIONS
    options["PRECISION"] = "tf32x3" if x.dtype == torch.float32 else "tf32"
    with _on(x):
        _backward_knots[(runs * programs,)](*tensors, count, steps, programs, *grid, **options)
    left, right = partial.sum(1, dtype=torch.float64).unflatten(-1, (2, width)).unbind(-2)
    left, right = left.flatten(1), right.flatten(1)
    left[:, 1:] += right[:, :-1]
    return left[:, :n]


def _ready(x: Tensor, values: Tensor, low: float, high: float) -> tuple[Tensor, Tensor, tuple, tuple]:
    """Contiguous x, float32 values, (runs, numbers a run), and the knots' number, stride, lowest place, 1 / spacing."""
    runs, n = 1 if values.dim() == 1 else len(values), values.shape[-1]
    grid = (n, 0 if values.dim() == 1 else n, low, (n - 1) / (high - low))
    return x.contiguous(), values.float().contiguous(), (runs, x.numel() // runs), grid


def _on(x: Tensor):
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()
