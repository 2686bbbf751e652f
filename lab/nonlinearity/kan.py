"""KAN layers: a B-spline on every edge between inputs and outputs, and a SiLU (Liu et al. 2024).

Kernels evaluate them by their local support: of `grid` + `order` bases only `order` + 1 are not zero at a number. They
are C on the CPU (`kan.c`), and Triton on CUDA (`kan_gpu`) in float32. Elsewhere, and where gradients are differentiated
again, torch's operations give the same; LAB_KERNEL=torch asks for them everywhere.
"""

import ctypes
import functools
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError, check_number, check_whole
from lab.nonlinearity import native
from lab.nonlinearity.op import is_for_native, is_for_triton

SOURCES = tuple(Path(__file__).with_name(name) for name in ("kan.c", "kan.h"))
MOST = 5  # order of the kernels' splines
ROWS, INPUTS, VECTOR, CHUNK = 64, 8, 64, 4  # as in kan.c; VECTOR: bytes
ALONE = 2**20  # below so many products, waking another thread costs more than it saves
Kernel = tuple[Callable[..., Tensor], Callable[..., tuple[Tensor | None, Tensor | None]]]  # forward and backward
NOISE = 0.1  # of the initial functions: U(±NOISE / 2) / grid at the knots


class KANLayer(nn.Module):
    """y_o = Σ_i base_oi silu(x_i) + scale_oi Σ_k coefficients_oik B_k(x_i): x (…, inputs) → (…, outputs).

    B_k: B-splines on even knots, of which [low, high] has `grid` intervals. Beyond it they fade, and further than
    `order` intervals away they are zero, at infinity too. This is the function of the package efficient-kan.

    grid: intervals. order: degree of the splines; 1, piecewise linear, is the cheapest. The activations paper says "3
        and 5, respectively" of grid and order; the defaults of efficient-kan, and of the paper on KANs, are 5 and 3.
        Both have as many weights.
    scaled: whether each edge has a scale that multiplies its spline's coefficients.

    Parameters: base and scale (outputs, inputs), coefficients (outputs, inputs, grid + order). Computes in float32, or
    float64 if the weights are. Raises ArgumentError for sizes that are no whole numbers, and a range that is none.

    >>> layer = KANLayer(4, 3)
    >>> layer(torch.zeros(2, 4)).shape, sum(weight.numel() for weight in layer.parameters()) == 10 * 4 * 3
    (torch.Size([2, 3]), True)
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        grid: int = 5,
        order: int = 3,
        low: float = -1.0,
        high: float = 1.0,
        scaled: bool = True,
    ):
        super().__init__()
        inputs, outputs = check_whole("inputs", inputs), check_whole("outputs", outputs)
        self.grid, self.order = check_whole("grid", grid), check_whole("order", order, 0)
        low, high = check_number("low", low), check_number("high", high)
        if not low < high:
            raise ArgumentError(f"low={low} and high={high}: give two finite numbers, the lower one first")
        self.low, self.high = low, high
        self.base = nn.Parameter(torch.empty(outputs, inputs))
        self.scale = nn.Parameter(torch.empty(outputs, inputs)) if scaled else None
        self.coefficients = nn.Parameter(torch.empty(outputs, inputs, grid + order))
        self.reset_parameters()

    @property
    def knots(self) -> Tensor:
        """All knots, (grid + 2 order + 1,), float64."""
        return knots(self.grid, self.order, self.low, self.high, self.coefficients.device)

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Base and scale from U(±1 / √inputs); coefficients so that the splines go through noise at the knots of
        [low, high], with the smallest coefficients that do."""
        outputs, inputs = self.base.shape
        for weight in (self.base, self.scale):
            if weight is not None:
                weight.uniform_(-1 / sqrt(inputs), 1 / sqrt(inputs), generator=generator)
        noise = torch.rand(self.grid + 1, inputs * outputs, generator=generator, dtype=torch.float64) - 0.5
        inner, outer = (knots(self.grid, order, self.low, self.high) for order in (0, self.order))
        coefficients = torch.linalg.pinv(bases(inner, outer, self.order)) @ noise * (NOISE / self.grid)
        self.coefficients.copy_(coefficients.T.view(outputs, inputs, -1))

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(F.silu(x), self.base)
        weight = self.coefficients if self.scale is None else self.coefficients * self.scale[..., None]
        wide = torch.promote_types(weight.dtype, torch.float32)  # bfloat16 would round the knots
        return y + splines(x.to(wide), weight.to(wide), self.knots.to(wide), self.order).to(y.dtype)

    def extra_repr(self) -> str:
        outputs, inputs = self.base.shape
        return f"{inputs} → {outputs}, grid={self.grid}, order={self.order}, [{self.low:g}, {self.high:g}]"


def knots(grid: int, order: int, low: float, high: float, device: torch.device | None = None) -> Tensor:
    """Evenly spaced knots on and around [low, high], (grid + 2 order + 1,), float64.

    >>> knots(2, 1, -1.0, 1.0).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    places = torch.arange(-order, grid + order + 1, dtype=torch.float64, device=device)
    return low + (high - low) / grid * places


def bases(x: Tensor, knots: Tensor, order: int) -> Tensor:
    """The B-splines of degree `order` on even knots at x, (…, knots - order - 1). Intervals are closed on the left.

    >>> bases(torch.tensor([0.25]), torch.tensor([-1.0, 0.0, 1.0, 2.0]), 1)
    tensor([[0.7500, 0.2500]])
    """
    cells, low, high = len(knots) - 1, knots[0], knots[-1]
    inverse = cells / (high - low)
    beyond = (x < low) | (x >= high)
    cell = ((x.detach() - low) * inverse).nan_to_num().clamp(0, cells - 1).long()
    cell = cell + (x >= knots[cell + 1]).long() - (x < knots[cell]).long()  # where a rounded knot would be a step
    cell = cell.clamp(0, cells - 1)
    t = (torch.where(beyond, knots[cell], x) - knots[cell]) * inverse
    near = [torch.where(beyond, 0, w) for w in local(t, order)]
    index = cell[..., None] + torch.arange(order + 1, device=x.device)
    return x.new_zeros(*x.shape, cells + order).scatter(-1, index, torch.stack(near, -1))[..., order:cells]


def local(t: Tensor, order: int) -> list[Tensor]:
    """The order + 1 B-splines that are not zero at the fraction t of an interval, by the recursion of Cox and de Boor.

    >>> [w.tolist() for w in local(torch.tensor([0.25]), 1)]
    [[0.75], [0.25]]
    """
    near = [1 + (t - t)]  # NaN at NaN
    for degree in range(1, order + 1):
        parts = [w / degree for w in near]
        left = [(k + 1 - t) * part for k, part in enumerate(parts)]
        right = [(t + (degree - 1 - k)) * part for k, part in enumerate(parts)]
        near = [left[0], *(a + b for a, b in zip(left[1:], right[:-1], strict=True)), right[-1]]
    return near


def splines(x: Tensor, weight: Tensor, knots: Tensor, order: int) -> Tensor:
    """Σ_i Σ_k weight_oik B_k(x_i): x (…, inputs), weight (outputs, inputs, knots - order - 1), all of one dtype."""
    kernel = _kernel(order, x, weight) if x.shape[-1] == weight.shape[1] else None
    if kernel is not None:
        rows = x.reshape(-1, x.shape[-1]).contiguous()
        return _Splines.apply(kernel, rows, weight.contiguous(), knots, order).view(*x.shape[:-1], -1)
    return F.linear(bases(x, knots, order).flatten(-2), weight.flatten(1))


def _kernel(order: int, *tensors: Tensor) -> Kernel | None:
    """What takes these tensors, or None."""
    if order <= MOST and is_for_native(tensors) and library() is not None:
        return _forward, _backward
    if order <= MOST and is_for_triton(tensors):
        from lab.nonlinearity import kan_gpu

        return (kan_gpu.forward, kan_gpu.backward) if kan_gpu.COMPILES else None
    return None


@functools.lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled kernel, or None where it cannot be had."""
    pointer, size, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    functions: dict[str, list[Any]] = {}
    for dtype in ("float32", "float64"):
        functions[f"kan_pack_{dtype}"] = [pointer] * 2 + [size] * 3 + [number] * 3
        for name, pointers in (("forward", 4), ("backward", 6)):
            functions[f"kan_{name}_{dtype}"] = [pointer] * pointers + [size] * 4 + [number] * 2 + [size] * 2
    try:
        return native.loaded("kan", SOURCES, functions)
    except native.BuildError:
        return None


class _Splines(torch.autograd.Function):
    """Its gradients by the kernel; where those are differentiated again, by `bases`."""

    @staticmethod
    def forward(ctx: Any, kernel: Kernel, x: Tensor, weight: Tensor, knots: Tensor, order: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.table, ctx.knots, ctx.order = packed(weight, order), knots, order
        return kernel[0](order, x, ctx.table, len(weight), knots)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        of_x, of_weight = ctx.needs_input_grad[1:3]
        kernel = None if torch.is_grad_enabled() else _kernel(ctx.order, grad, x)
        if kernel is None:
            wanted = [tensor for tensor, need in ((x, of_x), (weight, of_weight)) if need]
            with torch.enable_grad():
                y = F.linear(bases(x, ctx.knots, ctx.order).flatten(-2), weight.flatten(1))
                grads = iter(torch.autograd.grad(y, wanted, grad, create_graph=True, materialize_grads=True))
            return None, next(grads) if of_x else None, next(grads) if of_weight else None, None, None
        gx, gw = kernel[1](ctx.order, x, grad.contiguous(), ctx.table, ctx.knots, of_x, of_weight)
        return None, gx, gw, None, None


def packed(weight: Tensor, order: int, back: Tensor | None = None) -> Tensor:
    """Weights as the kernels' table, (inputs, grid + 3 order, outputs rounded up); or, into `weight`, back."""
    outputs, inputs, count = weight.shape
    lanes = VECTOR // weight.element_size()
    width = -(-outputs // lanes) * lanes
    if library() is None or not weight.is_cpu:
        assert back is None  # for the C kernel alone
        return F.pad(weight.permute(1, 2, 0), (0, width - outputs, order, order))
    table = weight.new_empty(inputs, count + 2 * order, width) if back is None else back
    pointers = weight.data_ptr(), table.data_ptr()
    _function("pack", weight)(*pointers, inputs, outputs, width, count - order, order, back is not None)
    return table if back is None else weight


def of_table(x: Tensor, table: Tensor, outputs: int, knots: Tensor, order: int) -> Tensor:
    """`splines` with a table that is ready."""
    knots, whole = knots.to(x), table.shape[-1] * table.element_size() % VECTOR == 0  # not where its type was changed
    graph = torch.is_grad_enabled() and x.requires_grad
    kernel = _kernel(order, x, table) if whole and not graph else None
    if kernel is not None:
        rows = x.reshape(-1, x.shape[-1]).contiguous()
        return kernel[0](order, rows, table, outputs, knots).view(*x.shape[:-1], outputs)
    return splines(x, table[:, order : table.shape[1] - order, :outputs].permute(2, 0, 1), knots, order)


def _forward(order: int, x: Tensor, table: Tensor, outputs: int, knots: Tensor) -> Tensor:
    y, chunk = x.new_empty(len(x), outputs), CHUNK * VECTOR // x.element_size()
    _call("forward", -(-len(x) // ROWS) * -(-table.shape[-1] // chunk), table, outputs, order, x, table, knots, y)
    return y


def _backward(
    order: int, x: Tensor, grad: Tensor, table: Tensor, knots: Tensor, of_x: bool, of_weight: bool
) -> tuple[Tensor | None, Tensor | None]:
    gx, gt = torch.empty_like(x) if of_x else None, torch.empty_like(table) if of_weight else None
    (inputs, depth, _), outputs = table.shape, grad.shape[1]
    _call("backward", -(-inputs // INPUTS), table, outputs, order, x, grad, table, knots, gx, gt)
    return gx, None if gt is None else packed(table.new_empty(outputs, inputs, depth - 2 * order), order, gt)


def _call(name: str, items: int, table: Tensor, outputs: int, order: int, *tensors: Tensor | None) -> None:
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in tensors]
    rows, (inputs, depth, width), function = len(cast(Tensor, tensors[0])), table.shape, _function(name, table)

    def work(first: int, end: int) -> None:
        if function(*pointers, rows, inputs, outputs, width, depth - 3 * order, order, first, end):
            raise MemoryError(f"no memory for {depth} coefficients")

    native.share(work, items, worthwhile=rows * inputs * width * (order + 1) >= ALONE)


def _function(name: str, like: Tensor) -> Any:
    return getattr(library(), f"kan_{name}_{str(like.dtype).removeprefix('torch.')}")
