"""Data of stream tasks, whose examples are made as they are needed: batches, dropout, and the evaluation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import Sizes, batch_key, check, sizes, training_data
from lab.seeds import stream
from lab.spec import RunSpec
from lab.tasks.stream import BLOCK, Examples, Stream, StreamTask, known
from lab.training.sequences import followed

CHUNK = 256  # examples of an evaluation that are in memory at once, a run


@dataclass(frozen=True, eq=False)
class StreamBatch:
    """Examples for R runs, and what their attention scores are multiplied by (dropout; None: nothing)."""

    task: StreamTask
    examples: Examples
    keep: Tensor | None

    def outputs(self, model: nn.Module) -> Tensor:
        """Predictions (R, B, K, O)."""
        return model(self.examples.inputs, self.keep)

    def loss(self, outputs: Tensor) -> Tensor:
        """The task's loss, (R, B, K, O) → (R,)."""
        return self.task.loss(outputs, self.examples.targets)


class StreamData:
    """Examples of each run, from its own task and seed.

    A batch and its dropout depend on task, seed and step alone, so a resumed run has the batches of an uninterrupted
    one. Every evaluation is on the same examples of a split.
    """

    columns = ()  # what a task is scored by is known when it is first scored

    def __init__(self, task: StreamTask, specs: Sequence[RunSpec], device: torch.device):
        self.specs, self.device, self.task = list(specs), device, task  # loss and scores are alike in a fleet
        recipe, model = specs[0].recipe, specs[0].model
        self.splits, self.examples = followed(specs[0]), recipe.examples
        self.training = self._streams("train", recipe.batch)
        self.metric_signs = self.task.metric_signs
        seeds, rate = [spec.seed for spec in specs], getattr(model, "dropout", 0.0)
        self.dropout = Dropout(seeds, (model.layers, self.task.length, self.task.length), rate, device)

    def at(self, step: int) -> StreamBatch:
        return StreamBatch(self.task, _side_by_side(self.training, step), self.dropout.at(step))

    def divide(self, seed: int) -> Callable[[int], StreamBatch]:
        """For a search: gives batches that no weights see, without dropout; each model's are of its own functions or
        rules, those that it trains on. `seed` decides nothing: the models' seeds are of one search alone."""
        streams = self._streams("train", self.specs[0].recipe.batch, "search batches")
        return lambda step: StreamBatch(self.task, _side_by_side(streams, step), None)

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """<score>_<split> (R,), for every split that is followed and every score of the task."""
        scores = {}
        for split in self.splits:
            size = min(CHUNK, -(-self.examples // BLOCK))  # no draw for nothing
            sums: dict[str, Tensor] = {}
            streams = self._streams(split, size)
            for number, start in enumerate(range(0, self.examples, size)):
                part = _cut(_side_by_side(streams, number), min(size, self.examples - start))
                new = self.task.statistics(model(part.inputs), part.targets, part)
                sums = {name: value + sums.get(name, 0.0) for name, value in new.items()}
            for name, value in self.task.summary(sums).items():
                scores[f"{name}_{split}"] = value.cpu().double().numpy()
        return scores

    def _streams(self, split: str, batch: int, purpose: str = "batches") -> list[Stream]:
        """One a task, in the order of the runs: runs of one task that stand together are drawn together."""
        groups = [(task, [spec.seed for spec in same]) for task, same in groupby(self.specs, lambda spec: spec.task)]
        return [Stream(task, seeds, batch, split, self.device, purpose) for task, seeds in groups]


class Dropout:
    """Masks for R runs, by seed and step: 0 with probability `rate`, else 1 / (1 - rate).

    One mask for each layer, query and key, shared by heads and sequences, as in the reference code.
    """

    def __init__(self, seeds: Sequence[int], shape: tuple[int, ...], rate: float, device: torch.device):
        self.seeds, self.shape, self.rate, self.device = list(seeds), shape, rate, device
        self._number = -1
        self._block: Tensor

    def at(self, step: int) -> Tensor | None:
        """The masks of this step, (R, *shape); None where nothing is dropped."""
        if self.rate == 0:
            return None
        number, within = divmod(step, BLOCK)
        if number != self._number:
            self._number = number
            seeds = [stream(seed, f"dropout {number}") for seed in self.seeds]
            generators = [torch.Generator(self.device).manual_seed(seed) for seed in seeds]
            rows = [torch.rand(BLOCK, *self.shape, generator=g, device=self.device) >= self.rate for g in generators]
            self._block = torch.stack(rows)
        return self._block[:, within] / (1 - self.rate)


def _side_by_side(streams: Sequence[Stream], number: int) -> Examples:
    """The batches of this number of several streams, along the run axis."""
    parts = [stream.at(number) for stream in streams]
    if len(parts) == 1:
        return parts[0]
    latents = {name: torch.cat([part.latents[name] for part in parts]) for name in parts[0].latents}
    return Examples(torch.cat([p.inputs for p in parts]), torch.cat([p.targets for p in parts]), latents)


def _cut(examples: Examples, count: int) -> Examples:
    latents = {name: latent[:, :count] for name, latent in examples.latents.items()}
    return Examples(examples.inputs[:, :count], examples.targets[:, :count], latents)


training_data.register(StreamTask, StreamData)


@sizes.register(StreamTask)
def _(task: StreamTask, seed: int) -> Sizes:
    return Sizes("vectors", task.inputs, task.outputs, task.length, tuple(task.positions))


@batch_key.register(StreamTask)
def _(task: StreamTask, spec: RunSpec) -> tuple:
    return type(task).__name__, sizes(task, spec.task_seed).of_model


@check.register(StreamTask)
def _(task: StreamTask, spec: RunSpec) -> None:
    for name in followed(spec):
        known(task, name)
    if spec.recipe.batch is None:
        raise ArgumentError(f"batch=None: the task {task.name} makes examples as they are needed; give their number")
