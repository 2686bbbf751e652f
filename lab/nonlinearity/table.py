"""The table of named functions, and what those share whose parameters learn.

A function is a class with `@named_function` above it, in a file of `lab/nonlinearity/families`: nothing else has to
know of it. `lab.nonlinearity.functions` reads the table, and `docs/functions.md` prints it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_whole, shown

Kind = TypeVar("Kind", bound=type[nn.Module])
Numbers = float | tuple[float, ...]


@dataclass(frozen=True)
class Row:
    """A named function.

    make: called without arguments, it gives the function with its parameters at their start. formula, source: in words.
    low, high: infimum and supremum of its values, at the start. mixes: why it is no function of one number; empty: it
    is. unlawful: laws of `lab.check` that do not hold for it, each with the reason.
    """

    name: str
    make: type[nn.Module]
    formula: str
    source: str
    low: float = -inf
    high: float = inf
    mixes: str = ""
    unlawful: Mapping[str, str] = field(default_factory=dict)

    @property
    def learns(self) -> tuple[str, ...]:
        """Names of the parameters that learn."""
        return tuple(name for name, _ in self.make().named_parameters())

    @property
    def starts(self) -> str:
        """What learns, with where it starts: "slope = 0.25"."""
        made = self.make().named_parameters()
        return ", ".join(f"{name} = {_shown(p)}" for name, p in made)


TABLE: dict[str, Row] = {}


def named_function(name: str, formula: str, source: str, **more) -> Callable[[Kind], Kind]:
    """Put a class into the table: above a module that is made without arguments. more: fields of `Row`.

    Raises ArgumentError for a name that is taken.
    """

    def add(make: Kind) -> Kind:
        if name in TABLE and TABLE[name].make.__qualname__ != make.__qualname__:  # the same one: a module read again
            raise ArgumentError(f"{name!r} is {TABLE[name].make.__name__}; give {make.__name__} another name")
        TABLE[name] = Row(name, make, formula, source, **more)
        return make

    return add


def check_floating(x: object) -> None:
    """ArgumentError where an input is no tensor of floating-point numbers: results would be cut to whole numbers."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"input {shown(x)} is a {type(x).__name__}; give a tensor, such as torch.as_tensor(x)")
    if not x.is_floating_point():
        raise ArgumentError(f"input of type {x.dtype}: give floating-point numbers, for example x.float()")


def as_floats(values: object, name: str = "values") -> Tensor:
    """Values as a tensor of floating-point numbers. name: what they are called in a message."""
    try:
        numbers = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ArgumentError(f"{name} {shown(values)}; give numbers, one a knot") from error
    if numbers.is_complex() or numbers.layout != torch.strided:
        raise ArgumentError(f"{name} numbers of type {numbers.dtype}, {numbers.layout}; give real ones, not sparse")
    return numbers if numbers.is_floating_point() else numbers.to(torch.get_default_dtype())


def in_float32(x: Tensor) -> Tensor:
    """x in float32, or wider if it is. Raises ArgumentError as `check_floating` does."""
    check_floating(x)
    return x.to(torch.promote_types(x.dtype, torch.float32))


class Configured(nn.Module):
    """A module whose parameters do not tell all of it: the metadata of its `state_dict` have the `configuration`, too,
    and a module of another one does not load it. A state without metadata, as of safetensors, is not checked."""

    @property
    def configuration(self) -> dict[str, Any]:
        """Numbers and words by name."""
        raise NotImplementedError

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]]["configuration"] = self.configuration

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: Any, missing: Any, unexpected: Any, errors: Any
    ) -> None:
        saved, mine = local_metadata.get("configuration", self.configuration), self.configuration
        if saved != mine:
            errors.append(f"{prefix[:-1] or 'it'} was saved with {saved}, and has {mine}; build it as it was")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)


class Learnable(nn.Module):
    """A function with parameters: one function; or several, one for each index of an axis of the inputs.

    functions: None: one, whose parameters have no axis for it. A number: so many, each with its parameters, on an axis
        in front: (functions,) of a number, (functions, k) of k. Where the axis of the inputs is longer, neighbours
        share one, in groups of one size.
    dim: that axis: -1 of tokens (B, T, C), 1 of images (B, C, H, W), 0 of models side by side.

    A class says where its numbers start (`start`), which of them do not learn (`fixed`), and computes: `compute(x, …)`
    gets the numbers in the order of `start`, in shapes that broadcast with x; of a tuple, a tuple. Inputs below float32
    are evaluated in float32.

    >>> class Line(Learnable):
    ...     start = {"slope": 2.0}
    ...     def compute(self, x, slope):
    ...         return slope * x
    >>> Line()(torch.tensor([3.0])).tolist(), Line(4, dim=1)(torch.ones(2, 4, 5)).shape
    ([6.0], torch.Size([2, 4, 5]))
    """

    start: Mapping[str, Numbers] = {}
    fixed: tuple[str, ...] = ()

    def __init__(self, functions: int | None = None, dim: int = -1):
        super().__init__()
        self.functions = None if functions is None else check_whole("functions", functions)
        self.dim = dim
        for name, numbers in self.start.items():
            value = torch.tensor(numbers, dtype=torch.get_default_dtype())
            value = value.clone() if functions is None else value.expand(functions, *value.shape).clone()
            if name in self.fixed:
                self.register_buffer(name, value)
            else:
                setattr(self, name, nn.Parameter(value))

    def compute(self, x: Tensor, *numbers) -> Tensor:
        """φ(x)."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """φ(x), shape and dtype of `x`."""
        numbers = []
        for name, start in self.start.items():
            value = getattr(self, name)
            several = isinstance(start, tuple)
            numbers.append(
                tuple(self.broadcast(v, x) for v in value.unbind(-1)) if several else self.broadcast(value, x)
            )
        return self.compute(in_float32(x), *numbers).to(x.dtype)

    def broadcast(self, numbers: Tensor, x: Tensor) -> Tensor:
        """One number, or one a function, in a shape that broadcasts with x."""
        if numbers.dim() == 0:
            return numbers
        count, size = len(numbers), x.shape[self.dim] if -x.dim() <= self.dim < x.dim() else None
        if size is None or size % count:
            said = f"input of shape {tuple(x.shape)} for {count} functions on axis {self.dim}"
            raise ArgumentError(f"{said}; give one with {count} there, or a multiple of it, or another dim=")
        numbers = numbers if size == count else numbers.repeat_interleave(size // count)
        return numbers.view(size, *[1] * (x.dim() - 1 - self.dim % x.dim()))

    def extra_repr(self) -> str:
        return "" if self.functions is None else f"{self.functions} functions, dim={self.dim}"


def markdown() -> str:
    """The table as `docs/functions.md` has it."""
    lines = ["| name | φ(x) | learns, from | values | source |", "| --- | --- | --- | --- | --- |"]
    for name, row in TABLE.items():
        formula = row.formula.replace("|", "\\|")
        ends = f"{row.low:.4g} … {row.high:.4g}".replace("inf", "∞")
        lines.append(f"| `{name}` | {formula} | {row.starts} | {ends} | {row.source} |")
    return "\n".join(lines)


def _shown(numbers: Tensor) -> str:
    values = [f"{number:.4g}" for number in numbers.detach().flatten().tolist()]
    return values[0] if len(values) == 1 else f"{len(values)} numbers"
