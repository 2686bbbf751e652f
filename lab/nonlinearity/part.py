"""The forms of a non-linearity, and one way between each.

As people have it, it is a name ("gelu"), a name in the zoo ("transformers/memorize"), a `Spline`, a module, a function
of a tensor, or what `lab.search` gives. `as_part` makes of any of these what a spec says: a name, `Knots` or
`Coefficients`. `as_module` makes of any of these, and of what a spec says, the module that computes it.
"""

from collections.abc import Callable
from typing import Any, Protocol, overload

import torch
from torch import nn

from lab.errors import ArgumentError, check_choice, described, shortened, shown
from lab.nonlinearity.functions import Called, check_function, name_of, named
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import Spline, check_finite, check_single
from lab.nonlinearity.zoo import zoo
from lab.spec import Coefficients, Knots, Learned, ModuleFunction, Part, Resolved, Shaped, object_of


class HasSpline(Protocol):
    """What has a learned function: what `lab.search` gives."""

    @property
    def spline(self) -> Spline:
        """The function."""


Function = nn.Module | Part | Callable[[torch.Tensor], torch.Tensor] | HasSpline  # a non-linearity as people have it
SHAPES = ("symmetrized", "polynomial", "chebyshev")  # methods of Spline; the last two take a degree


@overload
def as_part(given: Spline, name: str = "phi") -> Knots: ...
@overload
def as_part(given: Polynomial, name: str = "phi") -> Coefficients: ...
@overload
def as_part(given: Function, name: str = "phi") -> Part: ...
def as_part(given: Function, name: str = "phi") -> Part:
    """A non-linearity as a spec names it. name: of the argument that it is; one that is "attention" can be "softmax".
    Functions without a name are splines through their values on [-20, 20].

    >>> as_part(Spline(torch.tensor([0.0, 1.0]), low=-1.0, high=1.0))
    Knots(low=-1.0, high=1.0, values=(0.0, 1.0))
    >>> as_part(nn.GELU()), as_part(torch.relu), as_part(torch.sin) == as_part(Spline.from_function(torch.sin))
    ('gelu', 'relu', True)
    """
    phi = _checked(given, name)
    if isinstance(phi, Polynomial):
        return Coefficients(phi.low, phi.high, phi.coefficients, phi.basis)
    if not isinstance(phi, nn.Module):
        return phi
    spline = phi if isinstance(phi, Spline) else _through(phi, name)
    check_finite(check_single(spline, f"{name}: this spline"), f"{name}: this spline")
    return Knots(spline.low, spline.high, tuple(spline.values.detach().cpu().tolist()))


def as_fixed_part(given: Function, name: str = "phi") -> Part:
    """As `as_part`, of a non-linearity that stays as it is in training. ArgumentError for a spline that learns."""
    phi = _checked(given, name)
    if isinstance(phi, Spline) and phi.values.requires_grad:
        said = f"{name}: this spline is learnable, and would stay fixed here; give phi.requires_grad_(False)"
        raise ArgumentError(f"{said}; lab.search learns one for all models, lab.compare one in each")
    return as_part(phi, name)


@overload
def as_module(given: Knots, name: str = ...) -> Spline: ...
@overload
def as_module(given: Function, name: str = ...) -> nn.Module: ...
def as_module(given: Function, name: str = "non-linearity") -> nn.Module:
    """The module of a non-linearity whose values are known. name: of the argument that it is.

    >>> as_module(Knots(-1.0, 1.0, (0.0, 1.0, 0.0))), as_module("transformers/memorize"), as_module(torch.sin)
    (Spline((3,) knots on [-1, 1]), Spline((361,) knots on [-20, 20]), Called(sin))
    """
    phi = _checked(given, name)
    if isinstance(phi, nn.Module):
        return phi
    if isinstance(phi, str):
        return named(phi)
    if isinstance(phi, Knots):
        return Spline(torch.tensor(phi.values), phi.low, phi.high)
    if isinstance(phi, Coefficients):
        return Polynomial(phi.values, phi.low, phi.high, phi.basis)
    if isinstance(phi, ModuleFunction):
        return object_of(phi)
    raise ArgumentError(f"{name} is {described(phi)}; give a lab.Spline, a torch.nn.Module, or a name ('relu')")


def reshape(knots: Knots, shape: str, degree: int | None = None) -> Resolved:
    """A function in another shape: see `Spline.symmetrized`, `Spline.polynomial`, `Spline.chebyshev`.

    >>> reshape(Knots(-1.0, 1.0, (-1.0, 0.0, 2.0)), "symmetrized").values
    (-1.5, 0.0, 1.5)
    """
    check_choice("shape", shape, SHAPES)
    phi = as_module(knots)
    return as_part(phi.symmetrized().spline if shape == "symmetrized" else getattr(phi, shape)(degree))


def spline_of(given: Any, name: str) -> Spline:
    """The function that a search found for this argument. ArgumentError where it found several, none of this name."""
    splines = getattr(given, "splines", {})
    if len(splines) > 1 and name not in splines and "mlp" not in splines:
        raise ArgumentError(f"{name}: the search has the functions {', '.join(splines)}; give one of its .splines")
    return splines.get(name, given.spline)


def _checked(given: Function, name: str) -> nn.Module | Part:
    """A non-linearity as people have it: a module, or as a spec names it."""
    if not isinstance(given, nn.Module) and isinstance(getattr(given, "spline", None), Spline):
        given = spline_of(given, name)
    if isinstance(given, str) and "/" in given:
        return zoo(given)
    if isinstance(given, str) and given == "softmax" and name != "attention":
        raise ArgumentError(f"{name}='softmax': softmax is no function of one number; give a name such as 'gelu'")
    if isinstance(given, str):
        also = ("softmax",) if name == "attention" else ()
        return check_function(name, given, also, ", or a lab.Spline, or a name of lab.zoo()")
    if isinstance(given, type):
        raise ArgumentError(f"{name} is {described(given)}; give {given.__name__}()")
    if isinstance(given, (Spline, Polynomial, Knots, Coefficients, Learned, Shaped, ModuleFunction)):
        return given
    if not callable(given):
        raise ArgumentError(f"{name}={shown(given)} is no function; give a name ('gelu'), a lab.Spline or torch.sin")
    return name_of(given) or (given if isinstance(given, nn.Module) else Called(given))


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
