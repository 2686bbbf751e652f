"""Perceptrons as the page reads them, so that it computes their answers itself: `page/network.js`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline

MOST = 100_000  # weights: a page that is larger opens slowly
PLAIN: dict[type, str] = {nn.ReLU: "relu", nn.Tanh: "tanh", nn.Identity: "identity"}


def perceptron(model: object) -> dict[str, Any] | None:
    """Layers, non-linearity and prefactor of a perceptron; None for what is another model, or too large.

    model: an `MLP` of one run, or a Sequential of Linear maps with one kind of non-linearity between them.

    >>> perceptron(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))["phi"]
    'relu'
    """
    parts = _of_mlp(model) if isinstance(model, MLP) else _of_sequence(model)
    if parts is None or sum(weight.numel() for weight, _ in parts[0]) > MOST:
        return None
    maps, phi, prefactor = parts
    function = _function(phi)
    if function is None:
        return None
    layers = [
        {
            "inputs": weight.shape[0],
            "outputs": weight.shape[1],
            "weight": _plain(weight),
            "bias": _plain(torch.zeros(weight.shape[1]) if bias is None else bias),
        }
        for weight, bias in maps
    ]
    return {"layers": layers, "phi": function, "prefactor": prefactor}


Maps = list[tuple[Tensor, Tensor | None]]  # weights (inputs, outputs) and biases (outputs,)


def _of_mlp(model: MLP) -> tuple[Maps, nn.Module, float] | None:
    if model.runs != 1 or model.inputs is not None or model.residual or model.spectral:
        return None
    layers: list[Any] = list(model.layers)
    functions = [model.function(number) for number in range(len(layers) - 1)]
    if any(one is not functions[0] for one in functions):
        return None
    maps = [(layer.weight[0], None if layer.bias is None else layer.bias[0, 0]) for layer in layers]
    return maps, functions[0] if functions else nn.Identity(), float(model.prefactor.flatten()[0])


def _of_sequence(model: object) -> tuple[Maps, nn.Module, float] | None:
    parts: list[Any] = list(model) if isinstance(model, nn.Sequential) else [model]
    maps, functions = parts[::2], parts[1::2]
    linear = [one for one in maps if isinstance(one, nn.Linear)]
    if len(parts) % 2 == 0 or len(linear) < len(maps):
        return None
    if any(
        type(one) is not type(other) or list(one.parameters()) for one, other in pairwise([*functions, *functions[:1]])
    ):
        return None
    return [(one.weight.T, one.bias) for one in linear], functions[0] if functions else nn.Identity(), 1.0


def _function(phi: nn.Module) -> str | dict[str, Any] | None:
    """A non-linearity by its name, or by its knots."""
    if isinstance(phi, nn.GELU):
        return "gelu" if phi.approximate == "none" else None
    if isinstance(phi, Spline) and phi.values.ndim == 1:
        return {"low": phi.low, "high": phi.high, "values": _plain(phi.values)}
    return PLAIN.get(type(phi))


def _plain(numbers: Tensor) -> list[float]:
    """Nine digits: all that float32 has."""
    return [float(f"{number:.9g}") for number in np.asarray(numbers.detach().cpu(), dtype=float).ravel()]
