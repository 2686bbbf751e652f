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
SHOWN = 2  # names of each kind in an error's line


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
    functions = {name: value for name, value in vars(module).items() if _function(value)}
    for attribute, value in (children | functions).items():
        yield Place(path + attribute, module, attribute, value)
        if attribute in children:
            yield from places_in(value, f"{path}{attribute}.")


def is_activation(module: nn.Module | Callable) -> bool:
    """Whether this is an activation: a known class or function, or a model's own module that holds nothing and takes
    one input."""
    if not isinstance(module, nn.Module):
        return one_of(module, FUNCTIONS)
    code, custom = getattr(type(module).forward, "__code__", None), not type(module).__module__.startswith("torch.")
    holds = has_state(module) or any(True for _ in module.children())
    return is_known(module) or (custom and not holds and code is not None and code.co_argcount == 2)


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


def _function(value: object) -> Callable | None:
    """The function behind a partial, such as gelu with approximate="tanh"; None for what is no function."""
    value = value.func if isinstance(value, functools.partial) else value
    return value if callable(value) and not isinstance(value, (type, nn.Module)) else None


def one_of(value: object, functions: Iterable[Callable]) -> bool:
    """Whether this is one of these functions, or a partial of one."""
    return any(_function(value) is function for function in functions)


def what_there_is(model: nn.Module) -> str:
    """The activations of a model; or the functions that it calls, which no one can replace from outside."""
    names: dict[str, list[str]] = {}
    attributes: dict[str, None] = {}
    inside: tuple[str, ...] = ()
    for place in places_in(model):
        if is_activation(place.activation) and not place.name.startswith(inside):
            names.setdefault(_kind(place.activation), []).append(place.name)
            attributes[place.attribute] = None
            inside += (f"{place.name}.",)
    if names:
        patterns = [f"'*{attribute}'" for attribute in attributes if not attribute.isdigit()][:SHOWN]
        advice = f"; they can be named by a pattern: {' or '.join(patterns)}" if patterns else ""
        return f"its activations are {'; '.join(map(_listed, names.keys(), names.values()))}{advice}"
    calls = dict.fromkeys(call for module in model.modules() for call in _calls(module))
    if calls:
        return (
            f"it has no activation modules: {', '.join(calls)}, and a function that is called cannot be replaced from "
            "outside; let the model keep a module (self.act = torch.nn.GELU()) and call that"
        )
    return "it has no activations"


def class_of(function: Callable) -> type[nn.Module] | None:
    """The class of torch.nn that computes what a function of torch does, by its name: nn.ReLU of torch.relu."""
    name = getattr(_function(function), "__name__", "")
    kind = NAMES.get(name.replace("_", "")) if one_of(function, FUNCTIONS) else None
    return kind if kind is not None and hasattr(nn, kind.__name__) else None


def _kind(module: nn.Module | Callable) -> str:
    if isinstance(module, nn.Module):
        return f"{type(module).__module__}.{type(module).__name__}"
    function = _function(module)
    assert function is not None  # one of FUNCTIONS
    return f"the function {function.__name__}"


def _calls(module: nn.Module) -> list[str]:
    """The activation functions in the code of a module's own `forward`, in words."""
    code = getattr(type(module).forward, "__code__", None)
    if code is None or type(module).__module__.startswith("torch."):
        return []
    used = [name for name in code.co_names if name in FUNCTION_NAMES and not hasattr(module, name)]
    return [f"{type(module).__name__}.forward calls {name}" for name in used]


def _listed(kind: str, names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{kind} ({', '.join(names[:SHOWN])}{more})"
