"""The activations that a torch model has: where each stands, and how to name them to a user."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from lab.nonlinearity.named import NAMES

FUNCTION_NAMES = {*NAMES, "leaky_relu"}
FUNCTIONS = [
    getattr(place, name) for place in (torch.nn.functional, torch) for name in FUNCTION_NAMES if hasattr(place, name)
]
NOT_SCALAR = (nn.MultiheadAttention, nn.Softmax, nn.Softmax2d, nn.LogSoftmax, nn.Softmin, nn.GLU)


@dataclass(frozen=True, eq=False)
class Place:
    """Where an activation stands: `parent.attribute`, known in the model as `name`."""

    name: str
    parent: nn.Module
    attribute: str
    activation: nn.Module | Callable


def places_in(module: nn.Module, path: str = "") -> Iterator[Place]:
    """Every module below a module, and every function that one keeps as an attribute; each before what is inside it."""
    children = {name: child for name, child in module._modules.items() if child is not None}
    functions = {name: value for name, value in vars(module).items() if function_behind(value)}
    for attribute, value in (children | functions).items():
        yield Place(path + attribute, module, attribute, value)
        if attribute in children and not isinstance(value, torch.jit.ScriptModule):  # whose parts cannot be replaced
            yield from places_in(value, f"{path}{attribute}.")


def is_activation(module: nn.Module | Callable) -> bool:
    """Whether this is an activation: a known class or function, or a model's own module that holds nothing and takes
    one input."""
    if not isinstance(module, nn.Module):
        return one_of(module, FUNCTIONS)
    code, custom = getattr(type(module).forward, "__code__", None), not type(module).__module__.startswith("torch.")
    holds = has_state(module) or any(True for _ in module.children())
    return is_known(module) or (custom and not holds and code is not None and code.co_argcount == 2)


def kind_named(name: str) -> str | None:
    """Which of `NAMES` a function or a class computes, by its own name: "relu" of relu_; None for all others.

    >>> kind_named("relu_"), kind_named("NewGELUActivation"), kind_named("Linear"), kind_named("leaky_relu")
    ('relu', 'gelu', None, 'leakyrelu')
    """
    plain = name.lower().replace("_", "").removesuffix("activation")
    if plain in NAMES:
        return None if plain == "identity" else plain
    if not name.endswith("Activation"):
        return None
    return max((known for known in NAMES if plain.endswith(known)), key=len, default=None)


def kind_of(activation: nn.Module | Callable) -> str | None:
    """As `kind_named`, of what stands in a place."""
    function = type(activation) if isinstance(activation, nn.Module) else function_behind(activation)
    return kind_named(getattr(function, "__name__", ""))


def has_state(module: nn.Module) -> bool:
    """Whether a module has parameters or buffers, of its own or of modules inside it."""
    return any(True for _ in module.parameters()) or any(True for _ in module.buffers())


def is_elementwise(module: nn.Module | Callable) -> bool:
    """Whether this is known to be an activation that treats each number by itself."""
    return is_known(module) if isinstance(module, nn.Module) else one_of(module, FUNCTIONS)


def is_known(module: nn.Module) -> bool:
    """Whether this is an activation by what its class is: one of torch, of transformers or of the lab."""
    home = type(module).__module__
    from_torch = home == nn.GELU.__module__ and not isinstance(module, NOT_SCALAR)
    return from_torch or home == "transformers.activations" or home.startswith(__package__)


def function_behind(value: object) -> Callable | None:
    """The function behind a partial, such as gelu with approximate="tanh"; None for what is no function."""
    value = value.func if isinstance(value, functools.partial) else value
    return value if callable(value) and not isinstance(value, (type, nn.Module)) else None


def one_of(value: object, functions: Iterable[Callable]) -> bool:
    """Whether this is one of these functions, or a partial of one."""
    return any(function_behind(value) is function for function in functions)


def class_of(function: Callable) -> type[nn.Module] | None:
    """The class of torch.nn that computes what a function of torch does, by its name: nn.ReLU of torch.relu."""
    name = getattr(function_behind(function), "__name__", "")
    kind = NAMES.get(name.replace("_", "")) if one_of(function, FUNCTIONS) else None
    return kind if kind is not None and hasattr(nn, kind.__name__) else None
