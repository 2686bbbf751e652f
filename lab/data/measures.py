"""Losses and metrics: of models side by side, by name, or as functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from lab.errors import ArgumentError, check_choice, described, shown

Function = Callable[[Tensor, Tensor], Any]
LOSSES = ("cross_entropy", "mse", "mae")
METRICS = ("accuracy", "r2", "cross_entropy", "mse", "mae")
OF_CLASSES = ("cross_entropy", "accuracy")
LESS = LOSSES  # less of these is better


def chosen(
    classes: bool, loss: str | Function | None, metrics: Sequence[str] | Mapping[str, str | Function] | None
) -> tuple[str | Function, dict[str, str | Function]]:
    """Loss and metrics as given, or the usual ones; ArgumentError where a name fits no such targets."""
    loss = ("cross_entropy" if classes else "mse") if loss is None else loss
    if metrics is None:
        metrics = ("accuracy",) if classes else ("r2",)
    if isinstance(metrics, str):
        metrics = (metrics,)
    if not isinstance(metrics, Mapping):
        if not isinstance(metrics, Sequence) or not metrics:
            raise ArgumentError(f"metrics={shown(metrics)}: give names ({', '.join(METRICS)}), or functions by name")
        metrics = {(m if isinstance(m, str) else named(m)): m for m in metrics}
    for what, known, given in [("loss", LOSSES, loss), *(("metric", METRICS, metric) for metric in metrics.values())]:
        fitting = ", ".join(name for name in known if (name in OF_CLASSES) == classes)
        if isinstance(given, type):
            expected = f"a name ({fitting}), or a function (outputs, targets) → number, as {given.__name__}()"
            raise ArgumentError(f"{what} is {described(given)}; give {expected}")
        if callable(given):
            continue
        check_choice(what, given, known, ", or a function (outputs, targets) → number")
        if (given in OF_CLASSES) != classes:
            there = "classes" if classes else "values"
            raise ArgumentError(f"{what} {given!r} does not fit targets that are {there}; give {fitting} or a function")
    return loss, dict(metrics)


def named(measure: str | Function) -> str:
    """A loss or metric as identities say it: of a function its name; its code is not known."""
    if isinstance(measure, str):
        return measure
    return getattr(measure, "__qualname__", None) or repr(measure)


def sign(measure: str | Function) -> int:
    """1 where more is better, -1 where less is."""
    return -1 if isinstance(measure, str) and measure in LESS else 1


def losses(loss: str | Function, outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean loss of each of R models: outputs (R, B, …), targets (R, B, …) → (R,), differentiable.

    >>> losses("mse", torch.tensor([[[1.0], [3.0]]]), torch.tensor([[1.0, 1.0]]))
    tensor([2.])
    """
    if callable(loss):
        pairs = zip(*aligned(outputs, targets), strict=True)
        return torch.stack([_number(loss(out, target), "the loss") for out, target in pairs])
    if loss == "cross_entropy":
        logits, ids = class_last(outputs, targets), targets
        nats = F.cross_entropy(at_least_float32(logits.flatten(0, -2)), ids.flatten(), reduction="none")
        return nats.view(len(outputs), -1).mean(1)
    gap = (alike(outputs, targets) - targets).flatten(1)
    return gap.square().mean(1) if loss == "mse" else gap.abs().mean(1)


def scores(metric: str | Function, outputs: Tensor, targets: Tensor) -> Tensor:
    """A metric of each of R models on a whole split, (R,) float64: outputs (R, N, …), targets (N, …)."""
    wide = targets.expand(len(outputs), *targets.shape)
    if callable(metric):
        pairs = zip(*aligned(outputs, wide), strict=True)
        return torch.stack([_number(metric(out, target), "the metric").double() for out, target in pairs])
    if metric == "accuracy":
        logits = class_last(outputs, wide)
        if logits.shape[-1] == 1:
            raise ArgumentError(
                "the model gives one output, and accuracy needs one for each class; let it give them, or have "
                "metrics={'accuracy': lambda o, t: ((o > 0) == (t > 0)).float().mean()}"
            )
        right = logits.argmax(-1) == wide
        return right.flatten(1).double().mean(1)
    if metric == "r2":
        error = (alike(outputs, wide).double() - wide).square().flatten(1).sum(1)
        return 1 - error / (targets.double() - targets.double().mean(0)).square().sum()
    return losses(metric, outputs, wide).double()


def at_least_float32(values: Tensor) -> Tensor:
    """Values of low precision as float32, in which sums over a batch stay true."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def class_last(outputs: Tensor, targets: Tensor) -> Tensor:
    """Logits with the classes on their last axis; images of classes have theirs behind the batch, as in torch."""
    if outputs.shape[:-1] == targets.shape:
        return outputs
    if outputs.ndim == targets.ndim + 1 and outputs.shape[:2] == targets.shape[:2]:
        logits = outputs.movedim(2, -1)
        if logits.shape[:-1] == targets.shape:
            return logits
    raise ArgumentError(_misfit(outputs, targets, "logits of shape (batch, classes)"))


def aligned(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """What a loss or metric of the user's gets, of R models: outputs in the targets' shape where there is one for each
    target, so that nothing is broadcast; classes are floats then, as in binary cross-entropy. Else both as they are.

    >>> outputs, targets = aligned(torch.zeros(1, 3, 1), torch.tensor([[0, 1, 1]]))
    >>> outputs.shape, targets
    (torch.Size([1, 3]), tensor([[0., 1., 1.]]))
    """
    if outputs.numel() != targets.numel() or outputs.shape[:2] != targets.shape[:2]:
        return outputs, targets
    floats = targets if targets.is_floating_point() else targets.to(at_least_float32(outputs[:1]).dtype)
    return outputs.reshape(targets.shape), floats


def alike(outputs: Tensor, targets: Tensor) -> Tensor:
    """Predicted values in the shape of the targets; (B, 1) for (B,) is taken as (B,)."""
    if outputs.shape == targets.shape:
        return outputs
    if outputs.numel() == targets.numel() and outputs.shape[:2] == targets.shape[:2]:
        return outputs.reshape(targets.shape)
    raise ArgumentError(_misfit(outputs, targets, "values of the targets' shape"))


def _misfit(outputs: Tensor, targets: Tensor, wanted: str) -> str:
    text = f"the model gives shape {tuple(outputs.shape[1:])} for targets of shape {tuple(targets.shape[1:])}"
    several = targets.is_floating_point() and outputs.ndim == targets.ndim + 1
    hint = ", or say kind='classification' of the data, if y holds classes" if several else ""
    return f"{text}; let it give {wanted}{hint}"


def _number(value: Any, what: str) -> Tensor:
    value = torch.as_tensor(value)
    if value.numel() != 1:
        raise ArgumentError(f"{what} gives shape {tuple(value.shape)}; give one number, the mean over the batch")
    return value.reshape(())
