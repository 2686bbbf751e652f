"""A non-linearity in its two forms: what a spec says of it, and the module that computes it."""

from __future__ import annotations

from typing import cast, overload

import torch
from torch import nn

from lab.errors import ArgumentError, check_choice, shown
from lab.nonlinearity.named import NAMES, named
from lab.nonlinearity.polynomial import Polynomial
from lab.nonlinearity.spline import Spline
from lab.spec import Coefficients, Knots, Learned, ModuleFunction, Part, Resolved, Shaped, remembered

SHAPES = ("symmetrized", "polynomial", "chebyshev")  # methods of Spline; the last two take a degree


@overload
def as_part(part: Spline, name: str = "phi") -> Knots: ...
@overload
def as_part(part: Polynomial, name: str = "phi") -> Coefficients: ...
@overload
def as_part(part: nn.Module | Part, name: str = "phi") -> Part: ...
def as_part(part: nn.Module | Part, name: str = "phi") -> Part:
    """A non-linearity as a spec names it. name: of the argument that it is.

    >>> as_part(Spline(torch.tensor([0.0, 1.0]), low=-1.0, high=1.0))
    Knots(low=-1.0, high=1.0, values=(0.0, 1.0))
    """
    if isinstance(part, Spline):
        if part.values.dim() != 1:
            raise ArgumentError(f"{name}: this spline has one function a run; give one function, of shape (knots,)")
        if not part.values.isfinite().all():
            raise ArgumentError(f"{name}: this spline has values that are not finite; nothing can be trained with it")
        return Knots(part.low, part.high, tuple(part.values.detach().cpu().tolist()))
    if isinstance(part, Polynomial):
        return Coefficients(part.low, part.high, part.coefficients, part.basis)
    if not isinstance(part, (str, Knots, Coefficients, Learned, Shaped, ModuleFunction)):
        raise ArgumentError(
            f"{name}={shown(part)} is neither a name nor a lab.Spline nor a polynomial of one;"
            " for other modules name them as torch.nn does: 'gelu'"
        )
    if isinstance(part, str) and part != "softmax":
        check_choice(name, part, NAMES, ", or a lab.Spline")
    return part


@overload
def as_module(part: Knots) -> Spline: ...
@overload
def as_module(part: Coefficients) -> Polynomial: ...
@overload
def as_module(part: Resolved) -> nn.Module: ...
def as_module(part: Resolved) -> nn.Module:
    """The module of a non-linearity whose values are known.

    >>> as_module(Knots(-1.0, 1.0, (0.0, 1.0, 0.0)))
    Spline((3,) knots on [-1, 1])
    """
    if isinstance(part, Coefficients):
        return Polynomial(part.values, part.low, part.high, part.basis)
    if isinstance(part, Knots):
        return Spline(torch.tensor(part.values), part.low, part.high)
    if isinstance(part, ModuleFunction):
        return remembered(part)
    return named(cast(str, part))  # says that a KnotTable is no name


def reshape(knots: Knots, shape: str, degree: int | None = None) -> Resolved:
    """A function in another shape: see `Spline.symmetrized`, `Spline.polynomial`, `Spline.chebyshev`.

    >>> reshape(Knots(-1.0, 1.0, (-1.0, 0.0, 2.0)), "symmetrized").values
    (-1.5, 0.0, 1.5)
    """
    if shape not in SHAPES:
        raise ArgumentError(f"unknown shape {shape!r}; known: {', '.join(SHAPES)}")
    phi = as_module(knots)
    return as_part(phi.symmetrized().spline if shape == "symmetrized" else getattr(phi, shape)(degree))
