"""Measures of a model for landscapes: its loss on data, the complexity of its function.

A measure is a function from a model to a number; from a model with a run axis to (R,). R runs, N points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.probes.complexity import frequencies, variations
from lab.probes.paths import Paths, draw
from lab.probes.weights import runs_of

ROWS = 8192  # points times models that are computed at once: what bounds the memory, and stays in a processor's cache
LossFunction = Callable[[Tensor, Tensor], Tensor]  # outputs (R, B, outputs), targets (R, B, …) → (R,), means over B


@dataclass(frozen=True, eq=False)
class Loss:
    """The mean loss on data: inputs (N, …), targets (N,) or (N, outputs).

    loss: (outputs (R, B, outputs), targets (R, B, …)) → (R,). Where it is not given: whole numbers are classes, for the
    cross entropy (nats), of a sigmoid for one output; other numbers are values, for the mean squared error. runs:
    whether the model has a run axis; None: as it says itself (`runs_of`).

    >>> Loss(torch.zeros(4, 3), torch.ones(4))(nn.Sequential(nn.Linear(3, 1), nn.Threshold(9, 3)))
    4.0
    """

    inputs: Tensor
    targets: Tensor
    loss: LossFunction | None = None
    runs: bool | None = None

    def __post_init__(self):
        object.__setattr__(self, "inputs", torch.as_tensor(self.inputs))
        object.__setattr__(self, "targets", torch.as_tensor(self.targets))
        if not len(self.inputs) or len(self.inputs) != len(self.targets):
            raise ArgumentError(f"{len(self.inputs)} inputs and {len(self.targets)} targets: give one target an input")

    def __call__(self, model: nn.Module) -> Tensor | float:
        """The loss, or that of each run, (R,)."""
        runs, like = _runs(model, self.runs), next(model.parameters())
        inputs = self.inputs.to(like.device, like.dtype if self.inputs.is_floating_point() else None)
        targets, loss = self.targets.to(like.device), self.loss or _usual(self.targets)
        together, total = max(1, ROWS // (runs or 1)), 0.0
        for start in range(0, len(inputs), together):
            x, y = inputs[start : start + together], targets[start : start + together]
            outputs = model(_beside(x, runs)) if runs else model(x)[None]
            total = total + len(x) * loss(outputs, _beside(y, runs or 1))
        mean = total / len(inputs)
        return mean if runs else mean.item()


@dataclass(frozen=True, eq=False)
class Variation:
    """The total variation (App. F), as `total_variation` measures it: same arguments, same paths, same value.

    Of a model with a run axis, all runs at once: (R,). runs: as for `Loss`. A model that is not finite on a path has
    the value NaN.

    >>> Variation(np.eye(3))(nn.Linear(3, 1))
    0.0
    """

    points: Tensor | np.ndarray
    labels: Tensor | np.ndarray | None = None
    paths: int = 200
    samples: int = 100
    seed: int = 0
    runs: bool | None = None
    each: ClassVar[Callable[[np.ndarray], np.ndarray]] = staticmethod(variations)  # of (…, paths, samples)

    def __call__(self, model: nn.Module) -> Tensor | float:
        """The mean over paths, or that of each run, (R,)."""
        runs, like = _runs(model, self.runs), next(model.parameters())

        def values(way: np.ndarray) -> np.ndarray:
            x = torch.from_numpy(way).to(like.device, like.dtype)
            outputs = model(_beside(x, runs)) if runs else model(x)[None]
            outputs = outputs.float() if outputs.dtype in (torch.bfloat16, torch.float16) else outputs
            return outputs.reshape(runs or 1, len(way), -1).cpu().numpy()

        with torch.no_grad(), np.errstate(invalid="ignore", over="ignore"):
            course = self._drawn.course(values, max(self.samples, ROWS // (runs or 1)))
            finite = np.isfinite(course).all((1, 2))
            found = np.where(finite, self.each(np.where(finite[:, None, None], course, 0)).mean(1), np.nan)
        return torch.from_numpy(found) if runs else float(found[0])

    @cached_property
    def _drawn(self) -> Paths:
        return draw(self.points, self.labels, self.paths, self.samples, self.seed)[0]


@dataclass(frozen=True, eq=False)
class Frequency(Variation):
    """The mean frequency, as `fourier_complexity` measures it; else as `Variation`."""

    each: ClassVar[Callable[[np.ndarray], np.ndarray]] = staticmethod(frequencies)


def _runs(model: nn.Module, runs: bool | None) -> int | None:
    if runs is None:
        return runs_of(model)
    return (runs_of(model) or len(next(model.parameters()))) if runs else None


def _beside(x: Tensor, runs: int) -> Tensor:
    """The same data for each run: (B, …) → (R, B, …), without a copy."""
    return x[None].expand(runs, *x.shape)


def _usual(targets: Tensor) -> LossFunction:
    return _squared if targets.is_floating_point() else _entropy


def _entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    if outputs.shape[-1] == 1:
        each = F.binary_cross_entropy_with_logits(outputs[..., 0], targets.to(outputs.dtype), reduction="none")
        return each.mean(1)
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape).mean(1)


def _squared(outputs: Tensor, targets: Tensor) -> Tensor:
    outputs = outputs if outputs.dim() == targets.dim() else outputs[..., 0]
    return (outputs - targets.to(outputs.dtype)).square().flatten(1).mean(1)
