"""A non-linearity in its two forms: what a spec says of it, and the module that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast, overload

import torch
from torch import nn

from lab.errors import ArgumentError, check_choice, described, shortened, shown
from lab.nonlinearity.functions import NAMES, Called, named
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import Spline, check_finite, check_single
from lab.nonlinearity.zoo import zoo
from lab.spec import Coefficients, Knots, Learned, ModuleFunction, Part, Resolved, Shaped, remembered


class HasSpline(Protocol):
    """What has a learned function: what `lab.search` gives."""

    @property
    def spline(self) -> Spline:
        """The function."""


Function = nn.Module | Part | Callable[[torch.Tensor], torch.Tensor] | HasSpline  # a non-linearity as people have it
SHAPES = ("symmetrized", "polynomial", "chebyshev")  # methods of Spline; the last two take a degree


def as_function(given: Function, name: str = "phi") -> nn.Module | Part:
    """A non-linearity as people have it: a module, or as a spec names it. Everything that takes one takes these.

    given: a name ("gelu"), a name in the zoo ("transformers/memorize"), a `Spline` or what has one (what `lab.search`
        gives), a module or a function of a tensor. name: of the argument that it is; "softmax" is for "attention" only.

    >>> as_function("transformers/memorize"), as_function(nn.GELU()), as_function(torch.relu), as_function(torch.sin)
    (Spline((361,) knots on [-20, 20]), 'gelu', 'relu', Called(sin))
    """
    if not isinstance(given, nn.Module) and isinstance(getattr(given, "spline", None), Spline):
        given = spline_of(given, name)
    if isinstance(given, str) and "/" in given:
        return zoo(given)
    if isinstance(given, str) and given == "softmax" and name != "attention":
        raise ArgumentError(f"{name}='softmax': softmax is no function of one number; give a name such as 'gelu'")
    if isinstance(given, str):
        words = ("softmax", *NAMES) if name == "attention" else NAMES
        return check_choice(name, given, words, ", or a lab.Spline, or a name of lab.zoo()")
    if isinstance(given, type):
        raise ArgumentError(f"{name} is {described(given)}; give {given.__name__}()")
    if isinstance(given, (Spline, Polynomial, str, Knots, Coefficients, Learned, Shaped, ModuleFunction)):
        return given
    if not callable(given):
        raise ArgumentError(f"{name}={shown(given)} is no function; give a name ('gelu'), a lab.Spline or torch.sin")
    known = next((word for word in NAMES if _is(given, word)), None)
    return known or (given if isinstance(given, nn.Module) else Called(given))


def spline_of(given: Any, name: str) -> Spline:
    """The function that a search found for this argument. ArgumentError where it found several, none of this name."""
    splines = getattr(given, "splines", {})
    if len(splines) > 1 and name not in splines and "mlp" not in splines:
        raise ArgumentError(f"{name}: the search has the functions {', '.join(splines)}; give one of its .splines")
    return splines.get(name, given.spline)


def _is(given: Any, word: str) -> bool:
    """Whether a module or a function of torch is the one of this name, with its default settings."""
    if isinstance(given, nn.Module):
        return type(given) is NAMES[word] and repr(given) == repr(named(word))
    return any(getattr(home, word, None) is given for home in (torch, nn.functional))


@overload
def as_part(part: Spline, name: str = "phi") -> Knots: ...
@overload
def as_part(part: Polynomial, name: str = "phi") -> Coefficients: ...
@overload
def as_part(part: Function, name: str = "phi") -> Part: ...
def as_part(part: Function, name: str = "phi") -> Part:
    """A non-linearity, of all that `as_function` takes, as a spec names it. name: of the argument that it is; one that
    is "attention" can be "softmax". Functions without a name are splines through their values on [-20, 20].

    >>> as_part(Spline(torch.tensor([0.0, 1.0]), low=-1.0, high=1.0))
    Knots(low=-1.0, high=1.0, values=(0.0, 1.0))
    >>> as_part(nn.GELU()), as_part(torch.sin) == as_part(Spline.from_function(torch.sin))
    ('gelu', True)
    """
    function = as_function(part, name)
    if isinstance(function, Polynomial):
        return Coefficients(function.low, function.high, function.coefficients, function.basis)
    if not isinstance(function, nn.Module):
        return function
    spline = function if isinstance(function, Spline) else _through(function, name)
    check_finite(check_single(spline, f"{name}: this spline"), f"{name}: this spline")
    return Knots(spline.low, spline.high, tuple(spline.values.detach().cpu().tolist()))


def _through(module: nn.Module, name: str) -> Spline:
    """The spline through the values of a module without weights."""
    what = "a function" if isinstance(module, Called) else described(module)
    if any(True for _ in module.parameters()):
        raise ArgumentError(f"{name}: {what} has weights of its own; give a lab.Spline, or lab.compare your own model")
    try:
        return Spline.from_function(module)
    except ArgumentError as error:
        raise ArgumentError(f"{name}: {what} {str(error).removeprefix('f ')}") from error
    except Exception as error:
        said = f"{type(error).__name__} ({shortened(str(error))})"
        raise ArgumentError(f"{name}: {what} fails with {said}; give a function of a tensor, as torch.sin") from error


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
