"""Trained functions as look-up tables: KAN layers and learned activations, evaluated by linear interpolation."""

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError, LabWarning, check_whole, described, listed
from lab.nonlinearity import kan
from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.functions import row_of
from lab.nonlinearity.kan import KANLayer
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.table import Learnable

FINER = 16  # points an interval at which errors are measured
SPAN = 1e-3  # the least width of a table, of its largest input
BENT_SILU = 0.5  # largest |silu''|, at 0


@dataclass(frozen=True)
class TableError:
    """How far the tables of a layer are from its functions.

    low, high: the interval of the tables, that of the layer's inputs in the example. measured: the largest error of one
    function, at 16 points an interval of the table, its values rounded. bound: what no error within the interval
    exceeds, h² / 8 max |f''| and what is lost in rounding values, places and the sum over inputs (not what the rounding
    of outputs to bfloat16 or float16 adds); None where f'' is not known to be bounded. Beyond the interval each
    function keeps its value at the end.
    """

    name: str
    low: float
    high: float
    measured: float
    bound: float | None


def compile_tables(model: nn.Module, x: Tensor, knots: int = 129) -> tuple[nn.Module, list[TableError]]:
    """A copy of a model, in evaluation mode, whose KAN layers and learned activations are tables; and their errors.

    model: any torch module with `lab.nonlinearity.kan.KANLayer` or functions that learn, such as `bspline`; the
        lab's splines are tables already, and stay. x: an example of its inputs, any shape: each layer's tables span
        what it gets there. knots: values a table, evenly spaced.

    A table is linear between its knots, and constant beyond the interval; its values are float32, or float64 if the
    weights are. Errors have one entry a layer, in order. A layer that x does not reach stays as it is, with a warning.
    Derivatives reach inputs; tables do not learn. Fewer knots are faster: 33 to 129 stay in the processor's cache.
    Raises ArgumentError where the model has none of all these, and where a layer's inputs are not finite.

    >>> model = nn.Sequential(KANLayer(2, 8), KANLayer(8, 1))
    >>> x = torch.rand(100, 2)
    >>> tables, errors = compile_tables(model, x)
    >>> torch.allclose(tables(x), model(x), atol=1e-3), all(e.measured <= e.bound for e in errors)
    (True, True)
    """
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"model is {described(model)}; give a torch.nn.Module")
    knots = check_whole("knots", knots, 2)
    if not isinstance(x, Tensor) or not x.numel():
        raise ArgumentError(f"x is {described(x)}; give a tensor, an example of the model's inputs with a row or more")
    model = copy.deepcopy(model).eval()
    parts = {name: part for name, part in model.named_modules() if _has_tables(part)}
    if not parts and not any(isinstance(part, (Spline, ChannelSpline)) for part in model.modules()):
        raise ArgumentError(f"this {type(model).__name__} has no KAN layer, nor an activation of the lab that learns")
    spans = _inputs(model, parts, x)
    if left := [name for name in parts if name not in spans]:
        said = f"x does not reach {listed(left)}; what is not reached is no table: give an x that goes there"
        warnings.warn(said, LabWarning, stacklevel=2)
    errors, made = [], {}
    for name, part in parts.items():
        if name in spans:
            made[part], error = _tables(name, part, *spans[name], knots)
            errors.append(error)
    if model in made:
        return made[model], errors
    for parent in list(model.modules()):
        for attribute, child in list(parent._modules.items()):
            if child in made:
                setattr(parent, attribute, made[child])
    return model, errors


class TableLayer(nn.Module):
    """y_o = Σ_i T_oi(x_i): x (…, inputs) → (…, outputs), with a table on each edge.

    values: (outputs, inputs, knots), at even knots of [low, high]; beyond, the values at the ends. Raises ArgumentError
    for x of another width, and of whole numbers.

    >>> TableLayer(torch.tensor([[[0.0, 1.0]]]), 0.0, 1.0)(torch.tensor([[0.25], [7.0]])).tolist()
    [[0.25], [1.0]]
    """

    packed: Tensor
    knots: Tensor

    def __init__(self, values: Tensor, low: float, high: float):
        super().__init__()
        self.outputs, step = len(values), (high - low) / (values.shape[-1] - 1)
        ends = 2 * values[..., :1] - values[..., 1:2], 2 * values[..., -1:] - values[..., -2:-1]
        longer = torch.cat([ends[0], values, ends[1]], -1)  # by a knot, for beyond its last one a spline falls to 0
        self.register_buffer("packed", kan.packed(_wide(longer).contiguous(), 1))
        self.register_buffer("knots", kan.knots(values.shape[-1] + 1, 1, low - step, high + step, values.device))

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1:] != self.packed.shape[:1] or not x.is_floating_point():
            raise ArgumentError(f"x is {described(x)}; give floating-point numbers (…, {len(self.packed)})")
        table = _wide(self.packed)
        knots = self.knots.to(table)
        inside = x.to(table.dtype).clamp(knots[2], knots[-3])
        return kan.of_table(inside, table, self.outputs, knots, 1).to(x.dtype)

    def extra_repr(self) -> str:
        inputs, depth, _ = self.packed.shape
        return f"{inputs} → {self.outputs}, {depth - 4} knots on [{self.knots[2]:g}, {self.knots[-3]:g}]"


def _wide(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _has_tables(part: nn.Module) -> bool:
    if isinstance(part, Learnable):
        row = row_of(part)
        return row is not None and not row.mixes
    return isinstance(part, KANLayer)


@torch.no_grad()
def _inputs(model: nn.Module, parts: dict[str, nn.Module], x: Tensor) -> dict[str, tuple[float, float, torch.Size]]:
    """Of each part that the model calls: the least and the largest input, and its shape."""
    spans: dict[str, tuple[float, float, torch.Size]] = {}

    def look(name: str):
        def hook(part: nn.Module, given: Any, by_name: Any) -> None:
            x = given[0] if given else by_name["x"]
            low, high = (float(end) for end in x.aminmax())
            if not abs(low) + abs(high) < torch.finfo(torch.float32).max / 4:
                raise ArgumentError(f"inputs of {name or 'the layer'} from {low} to {high}; give finite examples")
            lowest, highest, shape = spans.get(name, (low, high, x.shape))
            if isinstance(part, Learnable) and part.functions is not None and shape[part.dim] != x.shape[part.dim]:
                widths = f"{shape[part.dim]} and {x.shape[part.dim]}"
                raise ArgumentError(f"{name or 'the function'} gets {widths} channels in turn; give each use its own")
            spans[name] = min(low, lowest), max(high, highest), x.shape

        return hook

    hooks = [part.register_forward_pre_hook(look(name), with_kwargs=True) for name, part in parts.items()]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return spans


@torch.no_grad()
def _tables(
    name: str, part: nn.Module, low: float, high: float, shape: torch.Size, knots: int
) -> tuple[nn.Module, TableError]:
    middle, least = (low + high) / 2, SPAN * max(abs(low), abs(high), 1.0)
    if high - low < least:
        low, high = middle - least / 2, middle + least / 2
    fine = torch.linspace(low, high, FINER * (knots - 1) + 1, dtype=torch.float64)
    exact = copy.deepcopy(part).double().cpu()
    like = next(part.parameters())
    dtype = torch.promote_types(like.dtype, torch.float32)
    largest, bound, values = 0.0, None, []
    for function in _edges(exact, fine):
        at_knots = function[:, ::FINER].to(dtype).double()
        between = torch.lerp(
            at_knots[:, :-1, None], at_knots[:, 1:, None], torch.arange(FINER, dtype=torch.float64) / FINER
        )
        largest = max(largest, float((between.flatten(1) - function[:, :-1]).abs().max()))
        values.append(at_knots)
    if isinstance(exact, KANLayer):
        table, step = torch.stack(values, 1), (high - low) / (knots - 1)
        if exact.order > 1:  # second derivatives of a B-spline are a mean of its coefficients' second differences
            scale = 1.0 if exact.scale is None else exact.scale[..., None]
            bent = F.pad(exact.coefficients * scale, (2, 2)).diff(n=2).abs().amax(-1)
            bent = bent * (exact.grid / (exact.high - exact.low)) ** 2 + BENT_SILU * exact.base.abs()
            bound = float((bent * step**2 / 8 + _rounding(table, low, high, dtype)).max())
        made: nn.Module = TableLayer(table.to(dtype), low, high).to(like.device)
    else:
        assert isinstance(part, Learnable)  # for the type checker
        numbers = values[0].to(like.device, dtype)
        if part.functions is None:
            made = Spline(numbers[0], low, high)
        else:
            numbers = numbers.repeat_interleave(shape[part.dim] // part.functions, 0)
            made = ChannelSpline(numbers, low, high, dim=part.dim)
    return made.eval(), TableError(name, low, high, largest, bound)


def _rounding(table: Tensor, low: float, high: float, dtype: torch.dtype) -> Tensor:
    """What rounding adds at most to the error of each function, (outputs, inputs), as its share in the layer's sum."""
    _, inputs, knots = table.shape
    step = (high - low) / (knots - 1)
    place = 4 * (max(abs(low), abs(high)) + high - low + 6 * step) / step  # the ends, their difference, the quotient
    sizes = (2 * inputs + 5) * table.abs().amax(-1) + place * table.diff().abs().amax(-1)
    return torch.finfo(dtype).eps / 2 * sizes


def _edges(part: nn.Module, x: Tensor):
    """Functions at x: of a KAN layer, (outputs, points) for each input; else once (functions, points)."""
    if isinstance(part, KANLayer):
        weight = part.coefficients if part.scale is None else part.coefficients * part.scale[..., None]
        near = kan.bases(x, part.knots, part.order)
        for i in range(weight.shape[1]):
            yield weight[:, i] @ near.T + part.base[:, i, None] * F.silu(x)
    else:
        assert isinstance(part, Learnable)  # for the type checker
        functions, part.dim = part.functions or 1, 0
        yield part(x.expand(functions, -1).clone())
