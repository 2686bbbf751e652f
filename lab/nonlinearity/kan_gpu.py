"""KAN layers on CUDA, in Triton: order + 1 bases at a number, whose interval is found by one division, as in kan.h.

x and tables are float32, with the shapes of kan.h. All sums have a fixed order: gradients of a table are added up by
programs of one warp, each in a table of its own and each number by one thread; these tables are then summed in double.

Needs an NVIDIA GPU; runs in Triton's interpreter where TRITON_INTERPRET=1 was set before triton was imported.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from lab.nonlinearity.gpu import MOST_SUMS, OPTIONS, on, programs_of

ROWS, OUTS = 16, 64  # of a block
COLUMNS = 32  # of a program that adds gradients up: one a thread
COMPILES = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 5)  # 3.3 knows no function that calls itself


@triton.jit
def _place(x, knots, cells):
    """The cell of x, the fraction of it, whether x is beyond the knots, and cells a unit; at NaN, NaN in cell 0."""
    low, high = tl.load(knots), tl.load(knots + cells)
    inverse = cells / (high - low)
    p = (x - low) * inverse
    p = tl.where(p > 0, p, 0.0)
    cell = tl.where(p < cells, p, cells - 1.0).to(tl.int32)
    cell += (x >= tl.load(knots + cell + 1)).to(tl.int32) - (x < tl.load(knots + cell)).to(tl.int32)
    cell = tl.minimum(tl.maximum(cell, 0), cells - 1)
    beyond = (x < low) | (x >= high)
    return cell, tl.where(beyond, 0.0, (x - tl.load(knots + cell)) * inverse), beyond, inverse


@triton.jit
def _basis(t, k: tl.constexpr, DEGREE: tl.constexpr):
    """The k-th of DEGREE + 1 bases at the fraction t of an interval, by the recursion of Cox and de Boor; else 0."""
    value = t - t  # NaN at NaN
    if DEGREE == 0:
        value += 1
    if k < DEGREE:
        value += (k + 1 - t) * (_basis(t, k, DEGREE - 1) * (1 / DEGREE))
    if k > 0:
        value += (t + (DEGREE - k)) * (_basis(t, k - 1, DEGREE - 1) * (1 / DEGREE))
    return value


@triton.jit
def _slope(t, inverse, k: tl.constexpr, ORDER: tl.constexpr):
    """Its derivative."""
    value = t - t
    if k > 0:
        value += _basis(t, k - 1, ORDER - 1)
    if k < ORDER:
        value -= _basis(t, k, ORDER - 1)
    return value * inverse


@triton.jit
def _forward(
    x,
    table,
    knots,
    y,
    rows,
    inputs,
    outputs,
    width,
    cells,
    blocks,
    ORDER: tl.constexpr,
    ROWS: tl.constexpr,
    OUTS: tl.constexpr,
):
    """A block of y, (ROWS, OUTS): inputs one after the other."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    out = program % blocks * OUTS + tl.arange(0, OUTS)
    inside = (row < rows)[:, None] & (out < outputs)[None, :]
    sums = tl.zeros((ROWS, OUTS), tl.float32)
    for i in range(inputs):
        cell, t, beyond, _ = _place(tl.load(x + row * inputs + i, row < rows, float("inf")), knots, cells)
        at = table + (i * (cells + ORDER) + cell).to(tl.int64)[:, None] * width + out[None, :]
        for k in tl.static_range(ORDER + 1):
            sums += tl.where(beyond, 0.0, _basis(t, k, ORDER))[:, None] * tl.load(at + k * width, inside, 0.0)
    tl.store(y + row[:, None] * outputs + out[None, :], sums, inside)


@triton.jit
def _backward_x(
    x,
    g,
    table,
    knots,
    gx,
    rows,
    inputs,
    outputs,
    width,
    cells,
    blocks,
    ORDER: tl.constexpr,
    ROWS: tl.constexpr,
    OUTS: tl.constexpr,
):
    """The gradients of one input in ROWS rows: blocks of outputs one after the other."""
    program = tl.program_id(0)
    i = (program % inputs).to(tl.int64)
    row = (program // inputs).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    cell, t, beyond, inverse = _place(tl.load(x + row * inputs + i, row < rows, float("inf")), knots, cells)
    sums = tl.zeros((ROWS,), tl.float32)
    for block in range(blocks):
        out = block * OUTS + tl.arange(0, OUTS)
        inside = (row < rows)[:, None] & (out < outputs)[None, :]
        at = table + (i * (cells + ORDER) + cell)[:, None] * width + out[None, :]
        slope = tl.zeros((ROWS, OUTS), tl.float32)
        for k in tl.static_range(ORDER + 1):
            slope += tl.where(beyond, 0.0, _slope(t, inverse, k, ORDER))[:, None] * tl.load(at + k * width, inside, 0.0)
        sums += tl.sum(slope * tl.load(g + row[:, None] * outputs + out[None, :], inside, 0.0), 1)
    tl.store(gx + row * inputs + i, sums, row < rows)


@triton.jit
def _backward_table(
    x,
    g,
    knots,
    sums,
    rows,
    inputs,
    outputs,
    width,
    cells,
    blocks,
    steps,
    programs,
    ORDER: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Adds one input's gradients in every `programs`-th row to the program's own table; a thread has a column."""
    program = tl.program_id(0)
    out = program % blocks * COLUMNS + tl.arange(0, COLUMNS)
    i, first = (program // blocks % inputs).to(tl.int64), program // blocks // inputs
    part = sums + (first.to(tl.int64) * inputs + i) * (cells + ORDER) * width + out
    for step in range(steps):
        row = first.to(tl.int64) + step * programs
        inside = out < tl.where(row < rows, outputs, 0)
        cell, t, beyond, _ = _place(tl.load(x + row * inputs + i, row < rows, float("inf")), knots, cells)
        d = tl.load(g + row * outputs + out, inside, 0.0)
        for k in tl.static_range(ORDER + 1):
            share = tl.where(beyond, 0.0, _basis(t, k, ORDER)) * d
            tl.atomic_add(part + (cell + k) * width, share, inside, sem="relaxed")


def forward(order: int, x: Tensor, table: Tensor, outputs: int, knots: Tensor) -> Tensor:
    """y, (rows, outputs), of x, (rows, inputs)."""
    y, blocks = x.new_empty(len(x), outputs), triton.cdiv(outputs, OUTS)
    sizes, grid = _sizes(order, x, table, outputs), (triton.cdiv(len(x), ROWS) * blocks,)
    with on(x):
        _forward[grid](x, table, knots, y, *sizes, blocks, order, ROWS, OUTS, **OPTIONS)
    return y


def backward(
    order: int, x: Tensor, grad: Tensor, table: Tensor, knots: Tensor, of_x: bool, of_weight: bool
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of x and of the weights, (outputs, inputs, grid + order); None where they are not asked for."""
    (rows, inputs), outputs = x.shape, grad.shape[1]
    sizes, gx, gw = _sizes(order, x, table, outputs), torch.zeros_like(x) if of_x else None, None
    with on(x):
        if of_x and order:
            blocks, grid = triton.cdiv(outputs, OUTS), (triton.cdiv(rows, ROWS) * inputs,)
            _backward_x[grid](x, grad, table, knots, gx, *sizes, blocks, order, ROWS, OUTS, **OPTIONS)
        if of_weight:
            blocks = triton.cdiv(outputs, COLUMNS)
            programs = max(1, min(rows, programs_of(x) // (inputs * blocks), MOST_SUMS // table.numel()))
            sums, steps = x.new_zeros(programs, *table.shape), triton.cdiv(rows, programs)
            counts, options = (blocks, steps, programs), {"num_warps": 1} | OPTIONS
            grid = (programs * inputs * blocks,)
            _backward_table[grid](x, grad, knots, sums, *sizes, *counts, order, COLUMNS, **options)
            whole = sums.sum(0, dtype=torch.float64).to(table.dtype)
            gw = whole[:, order : whole.shape[1] - order, :outputs].permute(2, 0, 1).contiguous()
    return gx, gw


def _sizes(order: int, x: Tensor, table: Tensor, outputs: int) -> tuple[int, int, int, int, int]:
    """Rows, inputs, outputs, the table's width, and cells."""
    return *x.shape, outputs, table.shape[2], table.shape[1] - order
