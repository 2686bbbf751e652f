"""Batches: which examples each run sees at each step, as a function of the run's seed and the step alone."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab import tasks
from lab.errors import ArgumentError
from lab.kinds import Sizes, batch_key, batch_size, check, sizes, training_data
from lab.seeds import stream
from lab.spec import OwnTask, RunSpec, object_of
from lab.tasks.task import Split, Task

CHUNK = 250  # examples of an evaluation that are in memory at once, a run


@dataclass(frozen=True, eq=False)
class Batch:
    """R runs × B sequences. K output tokens at most: `weights` is 0 where a sequence has fewer."""

    tokens: Tensor  # (R, B, T) int64, the model's input
    positions: Tensor  # (R, B, K) int64, the token from which each output token is predicted
    targets: Tensor  # (R, B, K) int64
    weights: Tensor  # (R, B, K) float32

    def outputs(self, model: nn.Module) -> Tensor:
        """Logits where a token is to be predicted, (R, B, K, V)."""
        return model(self.tokens, self.positions)

    def loss(self, logits: Tensor) -> Tensor:
        """Mean cross-entropy over the output tokens, in nats: logits (R, B, K, V) → (R,)."""
        nats = F.cross_entropy(logits.flatten(0, -2), self.targets.flatten(), reduction="none").view_as(self.weights)
        return (nats * self.weights).sum((1, 2)) / self.weights.sum((1, 2))

    def hits(self, logits: Tensor) -> Tensor:
        """Which output tokens the largest logit gets right; padding counts as right. (R, B, K) bool."""
        return (logits.argmax(-1) == self.targets) | (self.weights == 0)


class Data:
    """A split on a device, ready to be indexed."""

    def __init__(self, split: Split, device: torch.device):
        self.tokens = split.tokens[:, :-1].to(device)  # the last token is never an input
        self.positions, self.targets, self.weights = (part.to(device) for part in split.targets())

    def __len__(self) -> int:
        return len(self.tokens)

    def at(self, index: Tensor) -> Batch:
        """index (R, B) int64 → Batch."""
        return Batch(self.tokens[index], self.positions[index], self.targets[index], self.weights[index])


class Order:
    """The order of examples of R runs: each run shuffles anew every epoch, from its own seed.

    The batch of a step does not depend on the steps before it, so a resumed run has the batches of an uninterrupted
    one.
    """

    def __init__(self, seeds: Sequence[int], examples: int, batch: int, purpose: str = "batches"):
        self.seeds, self.examples, self.batch, self.purpose = list(seeds), examples, min(batch, examples), purpose
        self.per_epoch = examples // self.batch  # the remainder waits for the next shuffle
        self._epoch, self._shuffled = -1, torch.empty(0)

    def at(self, step: int) -> Tensor:
        """Indices (R, B) int64 of the examples of this step."""
        epoch, within = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            rows = []
            for seed in self.seeds:
                generator = torch.Generator().manual_seed(stream(seed, f"{self.purpose} {epoch}"))
                rows.append(torch.randperm(self.examples, generator=generator))
            self._epoch, self._shuffled = epoch, torch.stack(rows)
        return self._shuffled[:, within * self.batch : (within + 1) * self.batch]


class SequenceData:
    """Batches of token sequences, in the order of each run, and the evaluation."""

    metric_signs = {"accuracy": 1}

    def __init__(self, task: str | OwnTask, specs: Sequence[RunSpec], device: torch.device):
        spec, self.device, self.runs = specs[0], device, len(specs)
        self.task = task_of(task, spec.task_seed)
        self.training = Data(self.task.training, device)
        self.evaluation = {name: Data(self.task.splits[name], device) for name in followed(spec)}
        self.columns = [f"accuracy_{split}" for split in self.evaluation]
        self.order = Order([s.seed for s in specs], len(self.training), batch_size(spec))

    def at(self, step: int) -> Batch:
        return self.training.at(self.order.at(step).to(self.device))

    def divide(self, seed: int) -> Callable[[int], Batch]:
        """For a search: weights train on `train` alone; gives the batches of `search`, the same for all models."""
        self.training = Data(self.task.splits["train"], self.device)
        self.order = Order(self.order.seeds, len(self.training), self.order.batch)
        held_out = Data(self.task.splits["search"], self.device)
        order = Order([seed], len(held_out), self.order.batch, "search batches")
        return lambda step: held_out.at(order.at(step).to(self.device).expand(self.runs, -1))

    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """accuracy_<split> (R,), 0 to 1, for every split that is followed."""
        return {f"accuracy_{split}": self.accuracy(model, split) for split in self.evaluation}

    @torch.no_grad()
    def accuracy(self, model: nn.Module, split: str) -> np.ndarray:
        """Accuracy of each run on a split, (R,): of output tokens, or of whole sequences where the task says so.

        Predictions are made with the true output so far; a sequence counts as right when all of its tokens are, which
        is the case exactly when greedy generation gives it.
        """
        data = self.evaluation[split]
        right: Any = 0.0  # from the first examples on (R,), or in `total` one number for all runs
        total: Any = 0.0
        for start in range(0, len(data), CHUNK):
            index = torch.arange(start, min(start + CHUNK, len(data)), device=self.device)
            batch = data.at(index.expand(self.runs, -1))
            hits = batch.hits(batch.outputs(model))
            if self.task.metric == "sequence":
                right, total = right + hits.all(-1).sum(-1).cpu().numpy(), total + len(index)
            else:
                right = right + (hits * batch.weights).sum((1, 2)).cpu().numpy()
                total = total + batch.weights.sum((1, 2)).cpu().numpy()
        return right / total


def followed(spec: RunSpec) -> list[str]:
    """The splits that are evaluated: those asked for, and those that decide which weights are kept."""
    return list(dict.fromkeys([*spec.evaluate, *spec.recipe.watched]))


def check_splits(task: str, wanted: Iterable[str], known: Collection[str]) -> None:
    """ArgumentError where the task of this name lacks a split that is wanted."""
    if missing := [name for name in wanted if name not in known]:
        raise ArgumentError(f"{task} has no split {missing[0]!r}; choose one of {', '.join(known)}")


def task_of(task: str | OwnTask, seed: int = 0) -> Task:
    """The task that a spec names: one of the lab's, or one that the user has made."""
    return tasks.load(task, seed) if isinstance(task, str) else object_of(task)


training_data.register(str, SequenceData)
training_data.register(OwnTask, SequenceData)


@sizes.register(str)
@sizes.register(OwnTask)
def _(task: str | OwnTask, seed: int) -> Sizes:
    data = task_of(task, seed)
    tokens, known = data.training.tokens, len(data.vocabulary)
    return Sizes("tokens", known, known, data.max_length, (), tokens.shape[1], len(tokens))


@batch_key.register(str)
@batch_key.register(OwnTask)
def _(task: str | OwnTask, spec: RunSpec) -> tuple:
    return task, spec.task_seed


@check.register(str)
@check.register(OwnTask)
def _(task: str | OwnTask, spec: RunSpec) -> None:
    check_splits(spec.task_name, followed(spec), task_of(task, spec.task_seed).splits)
