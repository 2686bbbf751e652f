"""What laws of a non-linearity share: the function with its inputs, comparisons of values, the register of laws.

A law gives what there is to report, mostly nothing; it raises `Broken`, or `NotAsked` where it does not apply.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from lab.errors import Broken, NotAsked, demand

SHAPE = (6, 5)  # of inputs: 30 numbers, so that orders and largest values are noticed
STEP, TINY = 1e-5, 1e-6  # of differences in float64: to look for kinks, and at one


@dataclass(frozen=True)
class Case:
    """A function with the shape of its inputs; None: it takes any."""

    given: Callable[[Tensor], Any]
    shape: tuple[int, ...] | None = None

    def copy(self, dtype: torch.dtype | None = None) -> Any:
        """The function, of a module a copy in evaluation mode, and of another type."""
        try:
            f = copy.deepcopy(self.given)
        except Exception as error:
            raise NotAsked("copy.deepcopy fails, and the function itself stays as it is") from error
        return f.eval().to(dtype) if isinstance(f, nn.Module) else f

    @property
    def tensors(self) -> list[Tensor]:
        """Floating-point parameters and buffers."""
        if not isinstance(self.given, nn.Module):
            return []
        return [t for t in (*self.given.parameters(), *self.given.buffers()) if t.is_floating_point()]

    def x(self, dtype: torch.dtype | None = None) -> Tensor:
        """Inputs without whole numbers among them: from -4 to 4, or a little beyond a range that the function has."""
        (low, high), shape = ends(self.given) or (-3.7, 3.7), SHAPE if self.shape is None else self.shape
        points = torch.linspace(low - 0.017 * (high - low), high + 0.013 * (high - low), max(4, prod(shape)))
        points = points[-max(2, prod(shape)) :][: prod(shape)]  # a single number is none of the ends, in a tail
        return self._on_device(points.double().view(shape), dtype)

    def of(self, numbers: Sequence[float], dtype: torch.dtype) -> Tensor:
        """These numbers, over and over where the function takes one shape."""
        points = torch.tensor(numbers, dtype=torch.float64)
        if self.shape is not None:
            points = points.repeat(-(-prod(self.shape) // len(points)))[: prod(self.shape)].view(self.shape)
        return self._on_device(points, dtype)

    @property
    def computes_in_float32(self) -> bool:
        """Whether it computes in float32 what it gets in float64: differences over small steps are rounding there."""
        f, x = self.copy(torch.float64), self.x(torch.float64) * (1 + 2**-30)  # none of which float32 holds
        with torch.no_grad():
            y, near = value(f, x), value(f, x + 1e-3)
        return bool((y == y.float()).all() and (y != near).double().mean() > 0.2)

    def in_float64(self) -> Any:
        """A copy in float64, whose slopes differences over small steps tell."""
        if self.computes_in_float32:
            raise NotAsked("it computes in float32, where differences over small steps are rounding")
        return self.copy(torch.float64)

    def smooth(self) -> tuple[Any, Tensor]:
        """The function in float64, and points at which it has no kink, that its slope can be checked at."""
        f, x = self.in_float64(), self.x(torch.float64)
        if not value(f, x.requires_grad_()).requires_grad:
            raise NotAsked("no gradient reaches the input")
        for _ in range(4):
            left, right = sides(f, x, STEP)
            kinked = ~((left - right).abs() <= 1e-3 * (1 + left.abs()))
            if not kinked.any():
                return f, x.detach().requires_grad_()
            x = torch.where(kinked, x + 0.0123, x).detach()
        raise NotAsked("no points without a kink")

    def _on_device(self, points: Tensor, dtype: torch.dtype | None) -> Tensor:
        like = self.tensors[0] if self.tensors else torch.zeros(())
        return points.to(like.device, dtype or like.dtype)


def ends(f: object) -> tuple[float, float] | None:
    """The range of inputs that a function says it is made for: its `low` and `high`."""
    low, high = getattr(f, "low", None), getattr(f, "high", None)
    return (low, high) if isinstance(low, float) and isinstance(high, float) and low < high else None


def value(f: Callable, x: Tensor) -> Tensor:
    """f(x), of a copy, since f may work in place."""
    return f(x.clone())


def slope(f: Callable, x: Tensor) -> Tensor:
    """f' by autograd."""
    x = x.detach().requires_grad_()
    y = value(f, x)
    if not y.requires_grad:
        raise NotAsked("no gradient reaches the input")
    return torch.autograd.grad(y.sum(), x)[0]


def sides(f: Callable, x: Tensor, step: float) -> tuple[Tensor, Tensor]:
    """Differences to the left and to the right, over a step."""
    with torch.no_grad():
        left, middle, right = (value(f, x + shift) for shift in (-step, 0, step))
    return (middle - left) / step, (right - middle) / step


def agree(first: Tensor, second: Tensor, what: str, within: float | None = None) -> None:
    """Raise `Broken` where two tensors differ by more than a share of their largest number: by default the root of the
    type's precision; 0: at all. what: both in words."""
    if first.shape != second.shape:
        raise Broken(f"{what}: shapes {tuple(first.shape)} and {tuple(second.shape)}")
    if within is None:
        within = sqrt(max(torch.finfo(y.dtype).eps for y in (first, second)))
    a, b = (y.detach().double().cpu().flatten() for y in (first, second))
    known = torch.cat([a, b])[torch.cat([a, b]).isfinite()].abs()
    same = torch.isclose(a, b, rtol=0, atol=within * float(known.max()) if len(known) else 0.0, equal_nan=True)
    if not same.all():
        at = int((~same).nonzero()[0])
        raise Broken(f"{what}: {float(a[at]):.6g} and {float(b[at]):.6g}")


Test = Callable[[Case], str | None]
LAWS: dict[str, Test] = {}  # by name; the first line of each docstring is the law's reason


def law(test: Test) -> Test:
    """Register a law."""
    LAWS[test.__name__.replace("_", " ")] = test
    return test


def any_shape(case: Case) -> Any:
    """A copy of a function that takes inputs of any shape."""
    if case.shape is not None:
        raise NotAsked(f"inputs have the shape {case.shape}")
    return case.copy()


def state_of(case: Case) -> nn.Module:
    """A copy of a module that has parameters or buffers."""
    f = case.copy()
    if not isinstance(f, nn.Module) or not f.state_dict():
        raise NotAsked("it has no state")
    return f


def learnable(case: Case) -> tuple[nn.Module, list[str]]:
    """A copy, and the names of the parameters that learn."""
    f = case.copy()
    names = [name for name, p in f.named_parameters() if p.requires_grad] if isinstance(f, nn.Module) else []
    if not names:
        raise NotAsked("nothing in it learns")
    return f, names


def keeps(case: Case, *dtypes: torch.dtype) -> None:
    """Raise `Broken` where inputs of a type give another one."""
    for dtype in dtypes:
        y = value(case.copy(dtype), case.x(dtype))
        demand(y.dtype == dtype, f"{y.dtype} out for {dtype} in".replace("torch.", ""))


def shown_at(x: Tensor, where: Tensor) -> str:
    """The numbers at which something happened, in words."""
    return ", ".join(f"{number:g}" for number in dict.fromkeys(x[where].tolist()))
