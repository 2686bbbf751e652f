"""Steps of gradient descent, plain or with moments, that can be differentiated themselves."""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-8  # under Adam's and RMSprop's steps, as in torch
RMS_MEMORY = 0.99  # as in torch; of squared gradients
MOMENTS = {"sgd": (), "rmsprop": ("exp_avg_sq",), "adam": ("exp_avg", "exp_avg_sq")}  # what a rule remembers


def descend(
    rule: str, weight: Tensor, gradient: Tensor, moments: dict[str, Tensor], count: int, rates: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """A weight (R, …) after step number `count`, counted from 1, and the rule's moments. rates: (R,), of the runs.

    The constants are torch's defaults. It can be differentiated: where a gradient is zero, too.

    >>> descend("sgd", torch.ones(1, 2), torch.tensor([[1.0, 0.0]]), {}, 1, torch.tensor([0.5]))[0]
    tensor([[0.5000, 1.0000]])
    """
    rates = rates.view(-1, *[1] * (weight.dim() - 1))
    if rule == "sgd":
        return weight - rates * gradient, {}
    nothing = torch.zeros_like(weight)
    one, two = (0.9, 0.999) if rule == "adam" else (0.0, RMS_MEMORY)
    square = two * moments.get("exp_avg_sq", nothing) + (1 - two) * gradient**2
    if rule == "rmsprop":
        return weight - rates * gradient / (_root(square) + EPSILON), {"exp_avg_sq": square}
    mean = one * moments.get("exp_avg", nothing) + (1 - one) * gradient
    size = _root(square) / (1 - two**count) ** 0.5 + EPSILON
    return weight - rates / (1 - one**count) * mean / size, {"exp_avg": mean, "exp_avg_sq": square}


def _root(square: Tensor) -> Tensor:
    """The square root, with slope 0 at 0, where it is not differentiable and a gradient of zero leads."""
    positive = square > 0
    return torch.where(positive, torch.where(positive, square, 1.0).sqrt(), 0.0)
