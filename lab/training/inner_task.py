"""What the episodes of a search train on: the model and the data of one task, and one step of the training.

A kind of task that episodes can search on implements `inner_task`, `check_task` and `most_rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from lab.errors import ArgumentError
from lab.kinds import check_run, sizes
from lab.models.kinds import perceptrons
from lab.models.mlp import MLP
from lab.seeds import stream
from lab.spec import EpisodeSpec, Resolved, RunSpec
from lab.tasks.table import TableTask
from lab.training.descent import MOMENTS, descend
from lab.training.fleet import build
from lab.training.knots import Functions, with_places
from lab.training.rows import Rows, TableBatch, held_rows
from lab.training.sequences import Order

Moving = list[Tensor]  # all weights (R, …), then all moments of the inner optimizer


class InnerTask(ABC):
    """One task of a search: its model, the rows that episodes draw from, and what their outer loss is measured on.

    rows: of the pool. other: where the outer loss has a split of its own. A batch has `loss(outputs)` and `targets`.
    """

    spec: EpisodeSpec
    device: torch.device
    other: Rows | None = None

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows the pool has."""

    @abstractmethod
    def fresh(self, seeds: Sequence[int]) -> None:
        """Draw the weights of an episode."""

    @abstractmethod
    def weights(self) -> list[Tensor]:
        """Those of the model, as they were drawn last, each (R, …)."""

    @abstractmethod
    def outputs(self, weights: Sequence[Tensor], batch: Any) -> Tensor:
        """(R, B, …), with weights in place of the model's own."""

    @abstractmethod
    def rows(self, index: Tensor) -> Any:
        """Rows (R, B) of the pool."""

    @abstractmethod
    def score(self, outputs: Tensor, batch: Any) -> Tensor:
        """How good outputs are, (R,); more is better."""

    def at_step(self, batch: Any, step: int) -> Any:
        """The batch as step number `step` sees it."""
        return batch

    def draw(self, episode: int) -> tuple[Callable[[int], Any], Any]:
        """Fresh weights for the model; the inner batch of each step, and the rows of the outer loss, None for
        those of the last inner batch."""
        spec, seeds = self.spec, [restart.seed for restart in self.spec.restarts]
        self.fresh([stream(seed, f"episode {episode} weights") for seed in seeds])
        generators = [torch.Generator().manual_seed(stream(seed, f"episode {episode} rows")) for seed in seeds]
        shuffled = torch.stack([torch.randperm(self.count, generator=g) for g in generators]).to(self.device)
        held = held_rows(self.count, spec.held_out)
        train, most = shuffled[:, held:], spec.inner.batch
        if most is None or most >= train.shape[1]:
            whole = self.rows(train)

            def inner(step: int) -> Any:
                return self.at_step(whole, step)
        else:
            order = Order(seeds, train.shape[1], most, f"episode {episode} batches")

            def inner(step: int) -> Any:
                return self.at_step(self.rows(train.gather(1, order.at(step).to(self.device))), step)

        if spec.objective == "train":
            return inner, None
        if self.other is None:
            return inner, self.rows(shuffled[:, :held][:, :most])
        if most is None or most >= len(self.other):
            return inner, self.other.at(slice(None))
        index = torch.stack([torch.randperm(len(self.other), generator=g)[:most] for g in generators])
        return inner, self.other.at(index.to(self.device))

    def step(self, state: Moving, count: int, batch: Any, step: int, create_graph: bool) -> tuple[Moving, Tensor]:
        """One step of the training: weights and moments after it, and the loss (R,) before it.

        state: the weights, `count` of them, then the moments of the optimizer. create_graph: whether the step itself is
        to be differentiated.
        """
        spec = self.spec
        weights, moments = state[:count], state[count:]
        if not create_graph:
            weights = [weight.detach().requires_grad_() for weight in weights]
        with torch.enable_grad():
            loss = batch.loss(self.outputs(weights, batch))
            gradients = torch.autograd.grad(loss.sum(), weights, create_graph=create_graph)
        names = MOMENTS[spec.inner.optimizer]
        rates = torch.full((len(spec.restarts),), spec.inner.rate / spec.model.prefactor, dtype=loss.dtype).to(
            loss.device
        )
        new: list[Tensor] = []
        new_moments: dict[str, list[Tensor]] = {name: [] for name in names}
        with torch.set_grad_enabled(create_graph):
            for i, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
                memory = {name: moments[j * count + i] for j, name in enumerate(names)}
                new_weight, memory = descend(spec.inner.optimizer, weight, gradient, memory, step + 1, rates)
                new.append(new_weight)
                for name in names:
                    new_moments[name].append(memory[name])
        new += [moment for name in names for moment in new_moments[name]]
        return (new if create_graph else [tensor.detach() for tensor in new]), loss.detach()


class TableInnerTask(InnerTask):
    """Perceptrons on a table."""

    def __init__(
        self, spec: EpisodeSpec, task: TableTask, phi: Functions, given: Mapping[str, Resolved], device: torch.device
    ):
        model = with_places(spec.model, spec.learn)
        runs = [RunSpec(task, model, spec.inner, restart.seed, (), spec.task_seed) for restart in spec.restarts]
        modules = {name: build([part] * len(runs)) for name, part in given.items()} | phi.modules()
        shape = sizes(task, spec.task_seed)
        self.model: MLP = perceptrons(shape, runs, [modules[name] for name in model.parts]).to(device)
        self.names = [name for name, _ in self.model.layers.named_parameters(prefix="layers")]
        splits = task.split(spec.task_seed)
        self.spec, self.task, self.device = spec, task, device
        self.inputs = torch.cat([splits[name].inputs for name in spec.pool]).to(device)  # (N, D)
        self.targets = torch.cat([splits[name].targets for name in spec.pool]).to(device)  # (N,)
        named = spec.objective not in ("val", "train")
        self.other = Rows(runs, spec.objective, device) if named else None

    def weights(self) -> list[Tensor]:
        """As `InnerTask.weights`."""
        return [parameter.detach().clone() for _, parameter in self.model.layers.named_parameters()]

    def outputs(self, weights: Sequence[Tensor], batch: TableBatch) -> Tensor:
        """As `InnerTask.outputs`."""
        return functional_call(self.model, dict(zip(self.names, weights, strict=True)), (batch.inputs,))

    def rows(self, index: Tensor) -> TableBatch:
        """As `InnerTask.rows`."""
        return TableBatch(self.task, self.inputs[index], self.targets[index])

    @property
    def count(self) -> int:
        """As `InnerTask.count`."""
        return len(self.inputs)

    def fresh(self, seeds: Sequence[int]) -> None:
        """As `InnerTask.fresh`."""
        self.model.draw(list(seeds), self.spec.model.scale)

    def score(self, outputs: Tensor, batch: TableBatch) -> Tensor:
        """The accuracy, or what else the task is judged by first."""
        scores = self.task.of_split(self.task.scores(outputs, batch.targets), batch.targets)
        return scores[next(iter(self.task.judged))]


@singledispatch
def inner_task(
    task: object, spec: EpisodeSpec, phi: Functions, given: Mapping[str, Resolved], device: torch.device
) -> InnerTask:
    """What episodes on this task train."""
    raise ArgumentError(f"{type(task).__name__} is no task for episodes; give a table, or data of your own")


@singledispatch
def check_task(task: Any, spec: EpisodeSpec) -> None:
    """Raise ArgumentError where episodes cannot train on this task."""


@singledispatch
def most_rows(task: Any, spec: EpisodeSpec) -> int:
    """Rows in the pool."""
    raise ArgumentError(f"{type(task).__name__} is no task for episodes; give a table, or data of your own")


@inner_task.register(TableTask)
def _(
    task: TableTask, spec: EpisodeSpec, phi: Functions, given: Mapping[str, Resolved], device: torch.device
) -> InnerTask:
    return TableInnerTask(spec, task, phi, given, device)


@check_task.register(TableTask)
def _(task: TableTask, spec: EpisodeSpec) -> None:
    splits = task.split(spec.task_seed)
    wanted = [*spec.pool, *([] if spec.objective in ("val", "train") else [spec.objective])]
    if missing := [name for name in wanted if name not in splits]:
        raise ArgumentError(f"{task.name} has no split {missing[0]!r}; choose one of {', '.join(splits)}")
    for recipe in (spec.inner, spec.retrain):
        check_run(RunSpec(task, spec.model, recipe, 0, (), spec.task_seed))


@most_rows.register(TableTask)
def _(task: TableTask, spec: EpisodeSpec) -> int:
    splits = task.split(spec.task_seed)
    return sum(len(splits[name]) for name in spec.pool)
