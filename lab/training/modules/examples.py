"""Examples of a `lab.Data` for R runs: what the user's models train on and are measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.data import measures
from lab.data.data import Data, Inputs, take
from lab.errors import ArgumentError
from lab.kinds import Sizes, check, material, sizes
from lab.spec import DataSpec, RunSpec, remembered
from lab.training.modules.side_by_side import Noise
from lab.training.sequences import Order

CHUNK = 2**24  # numbers of inputs that an evaluation has in memory at once, all runs together
TRAINED = ("train", "search")  # a run trains on both: the second is held out from searches alone


@dataclass(frozen=True, eq=False)
class Examples:
    """R runs × B examples."""

    data: Data
    inputs: Inputs  # (R, B, …)
    targets: Tensor  # (R, B, …)
    noise: Noise | None = None

    def outputs(self, model: nn.Module) -> Tensor:
        """What each model answers, (R, B, …)."""
        return model(self.inputs, self.noise)

    def loss(self, outputs: Tensor) -> Tensor:
        """The loss of each run, (R,)."""
        return measures.losses(self.data.loss, outputs, self.targets, self.data.is_causal)


class Drawn:
    """Rows of a data set on a device, in an order of its own for each run, or all of them at each step."""

    def __init__(self, data: Data, rows: Tensor, seeds: Sequence[int], batch: int | None, device: torch.device):
        self.data, self.seeds, self.device = data, list(seeds), device
        self.inputs, self.targets = on_device(take(data.inputs, rows), device), data.targets[rows].to(device)
        self.order = None if batch is None or batch >= len(rows) else Order(self.seeds, len(rows), batch)

    def at(self, step: int) -> Examples:
        """The batch of each run at this step."""
        if self.order is None:
            return self.all(len(self.seeds), step)
        index = self.order.at(step).to(self.device)
        return Examples(self.data, take(self.inputs, index), self.targets[index], (self.seeds, step))

    def all(self, runs: int, step: int) -> Examples:
        """All of them, for each run."""
        return Examples(self.data, _wide(self.inputs, runs), _wide(self.targets, runs), (self.seeds, step))


class DataOfRuns:
    """What runs train on: `train` and `search`; and what they are measured by."""

    def __init__(self, specs: Sequence[RunSpec], device: torch.device):
        recipe, self.data = specs[0].recipe, remembered(specs[0].task)
        self.seeds, self.device, self.batch = [spec.seed for spec in specs], device, recipe.batch
        self.judged = {name: measures.sign(metric) for name, metric in self.data.metrics.items()}
        self.followed = {name: self.data.rows[name] for name in specs[0].evaluate}
        self.training = self.drawn(*(name for name in TRAINED if name in self.data.rows))

    def drawn(self, *splits: str) -> Drawn:
        """The rows of these splits, in the order of each run."""
        rows = torch.cat([self.data.rows[name] for name in splits])
        return Drawn(self.data, rows, self.seeds, self.batch, self.device)

    def at(self, step: int) -> Examples:
        """The training batch of each run at this step."""
        return self.training.at(step)

    @property
    def columns(self) -> list[str]:
        """Names of the scores."""
        return [f"{score}_{split}" for split in self.followed for score in (*self.data.metrics, "loss")]

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """<score>_<split> (R,) of models in evaluation mode: every metric, and the loss."""
        training, scores = model.training, {}
        model.eval()
        for split, rows in self.followed.items():
            inputs, targets = take(self.data.inputs, rows), self.data.targets[rows].to(self.device)
            first = inputs if isinstance(inputs, Tensor) else next(iter(inputs.values()))
            size = max(1, CHUNK // max(1, len(self.seeds) * first[0].numel()))
            parts = []
            for start in range(0, len(rows), size):
                some = on_device(take(inputs, torch.arange(start, min(start + size, len(rows)))), self.device)
                parts.append(model(_wide(some, len(self.seeds))))
            outputs = torch.cat(parts, 1)
            for name, metric in {**self.data.metrics, "loss": self.data.loss}.items():
                score = measures.scores(metric, outputs, targets, self.data.is_causal)
                scores[f"{name}_{split}"] = score.cpu().numpy()
        model.train(training)
        return scores


@sizes.register(DataSpec)
def _(task: DataSpec, seed: int) -> Sizes:
    data: Data = remembered(task)
    return Sizes("examples", 0, len(data.classes), examples=sum(len(data.rows.get(name, ())) for name in TRAINED))


@material.register(DataSpec)
def _(task: DataSpec, specs: Sequence[RunSpec], device: torch.device) -> DataOfRuns:
    return DataOfRuns(specs, device)


@check.register(DataSpec)
def _(task: DataSpec, spec: RunSpec) -> None:
    data: Data = remembered(task)
    for name in ("train", *spec.evaluate):
        if name not in data.rows:
            raise ArgumentError(f"{data.name} has no split {name!r}; it has {', '.join(data.rows)}")


def on_device(inputs: Inputs, device: torch.device) -> Inputs:
    """The same inputs there."""
    return inputs.to(device) if isinstance(inputs, Tensor) else {n: part.to(device) for n, part in inputs.items()}


def _wide(inputs: Any, runs: int) -> Any:
    """The same for each run, without a copy."""
    if isinstance(inputs, Tensor):
        return inputs.expand(runs, *inputs.shape)
    return {name: part.expand(runs, *part.shape) for name, part in inputs.items()}
