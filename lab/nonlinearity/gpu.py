"""The spline on CUDA, in Triton. Tables of a few kilobytes stay in L1; intervals are computed again, never stored.

Knot gradients are added up by programs of one warp, each in a table of its own; the tables of the programs are then
summed in double. On an H100 the same inputs gave the same bits each time; CUDA does not promise it.

Needs an NVIDIA GPU; runs in Triton's interpreter where TRITON_INTERPRET=1 was set before triton was imported.
"""

from contextlib import nullcontext

import torch
import triton
import triton.language as tl
from torch import Tensor

from lab.nonlinearity import formula

BLOCK, SUMMED = 1024, 256  # inputs at once: elementwise; where knot gradients are summed
PROGRAMS = 32  # that sum knot gradients, a multiprocessor
MOST_SUMS = 2**24  # float32 numbers in the tables of all programs
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
    sums,
    count,
    steps,
    programs,
    n,
    stride,
    low,
    inverse,
    OF_X: tl.constexpr,
    SLOPE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Adds a program's shares of the knot gradients to its row of `sums`, (n,)."""
    program = tl.program_id(0)
    run, first = (program // programs).to(tl.int64), (program % programs).to(tl.int64)
    row = sums + program.to(tl.int64) * n
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
        tl.atomic_add(row + k, left, inside, sem="relaxed")
        tl.atomic_add(row + tl.minimum(k + 1, n - 1), right, inside, sem="relaxed")


def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """As `formula.forward`."""
    if torch.float64 in (x.dtype, values.dtype):
        return formula.forward(x, values, low, high)
    source, table, sizes, grid = _ready(x, values, low, high)
    y, blocks = torch.empty_like(source), triton.cdiv(sizes[1], BLOCK)
    with on(x):
        _forward[(sizes[0] * blocks,)](source, table, y, sizes[1], blocks, *grid, BLOCK=BLOCK, **OPTIONS)
    return y


def backward(
    grad: Tensor, x: Tensor, values: Tensor, low: float, high: float, of_x: bool, of_values: bool, slope: bool = False
) -> tuple[Tensor | None, Tensor | None]:
    """As `formula.backward`.

    Knot gradients: a program's sums are float32, those over programs double.
    """
    if torch.float64 in (x.dtype, values.dtype):
        return formula.backward(grad, x, values, low, high, of_x, of_values, slope)
    source, table, sizes, grid = _ready(x, values, low, high)
    grad, gx = grad.to(x.dtype).contiguous(), torch.empty_like(source) if of_x else None
    if of_values:
        return gx, _sum(grad, source, table, sizes, grid, gx, slope).view(values.shape).to(values.dtype)
    blocks = triton.cdiv(sizes[1], BLOCK)
    with on(x):
        _backward_x[(sizes[0] * blocks,)](source, grad, table, gx, sizes[1], blocks, *grid, BLOCK=BLOCK, **OPTIONS)
    return gx, None


def _sum(grad: Tensor, x: Tensor, table: Tensor, sizes: tuple, grid: tuple, gx: Tensor | None, slope: bool) -> Tensor:
    """Knot gradients, (runs, knots), double; fills gx on the way, if any."""
    (runs, count), n = sizes, grid[0]
    blocks = triton.cdiv(count, SUMMED)
    programs = min(blocks, max(1, min(programs_of(x), MOST_SUMS // n) // runs))
    sums = torch.zeros(runs, programs, n, device=x.device)
    tensors = x, grad, table, x if gx is None else gx, sums
    options = {"OF_X": gx is not None, "SLOPE": slope, "BLOCK": SUMMED, "num_warps": 1} | OPTIONS
    with on(x):
        _backward_knots[(runs * programs,)](*tensors, count, triton.cdiv(blocks, programs), programs, *grid, **options)
    return sums.sum(1, dtype=torch.float64)


def _ready(x: Tensor, values: Tensor, low: float, high: float) -> tuple[Tensor, Tensor, tuple, tuple]:
    """Contiguous x, float32 values, (runs, numbers a run), and the knots' number, stride, lowest place, 1 / spacing."""
    runs, n = 1 if values.dim() == 1 else len(values), values.shape[-1]
    grid = (n, 0 if values.dim() == 1 else n, low, (n - 1) / (high - low))
    return x.contiguous(), values.float().contiguous(), (runs, x.numel() // runs), grid


def programs_of(x: Tensor) -> int:
    """How many programs of one warp fill the device of x."""
    return PROGRAMS * (torch.cuda.get_device_properties(x.device).multi_processor_count if x.is_cuda else 1)


def on(x: Tensor):
    """The device of x made the one that kernels run on."""
    return torch.cuda.device(x.device) if x.is_cuda else nullcontext()
