"""The inner loop of a search by episodes: functions, the model and the data of one task, a step of the training.

A kind of task that episodes can search on implements `inner_task`, `check_task` and `most_rows`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, singledispatch
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from lab.errors import ArgumentError, check_choice
from lab.kinds import check_run, optimizer, sizes
from lab.models.kinds import perceptrons
from lab.models.mlp import MLP
from lab.nonlinearity.functions import named, scalars
from lab.nonlinearity.op import spline
from lab.nonlinearity.spline import Spline
from lab.seeds import stream
from lab.spec import EpisodeSpec, InterpolatedSpec, Knots, KnotTable, Perceptron, Resolved, RunSpec, TwoLossSpec
from lab.tasks.table import TableTask
from lab.training import perceptron
from lab.training.fleet import build
from lab.training.optimizers import MOMENTS, RULES, RunAdamW, RunDescent, descend
from lab.training.perceptron import kernel_of
from lab.training.rows import Rows, TableBatch, held_rows
from lab.training.sequences import Order, check_splits

KINDS = ("nearest", "cubic")
FINE = 9  # finer knots for each distance of two control points; odd, so that none lies half-way
LEARN, STARTS = ("shared", "layers", "inputs"), ("zero", "noise", *scalars())
NOISE = 0.1  # standard deviation of the values that a search starts from as "noise"
Moving = list[Tensor]  # all weights (R, …), then all moments of the inner optimizer


def refine(kind: str, points: int) -> Tensor:
    """The matrix from values at evenly spaced control points to values at finer knots, between which the function is
    straight, (FINE · (points - 1) + 1, points) float32.

    kind (simplicity paper, App. C and D): "cubic", the natural cubic spline; or "nearest", the value of the nearest
    control point, but for steep lines between two of them, a `FINE`-th of their distance wide, since without those its
    slope would be zero, and the weights before it would not learn.

    >>> refine("nearest", 2)[:, 0].tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if kind not in KINDS:
        raise ArgumentError(f"unknown interpolation {kind!r}; known: {', '.join(KINDS)}; straight lines need no matrix")
    at = np.arange(FINE * (points - 1) + 1) / FINE  # in distances of control points
    unit = np.eye(points)
    if kind == "nearest":
        return torch.from_numpy(unit[at.round().astype(int)]).float()
    from scipy.interpolate import CubicSpline

    return torch.from_numpy(CubicSpline(np.arange(points), unit, bc_type="natural")(at)).float()


class Functions:
    """The knots of R restarts, in groups of one number of knots.

    names: what is learned, as in `Perceptron.parts`. values: for each group (g, P, knots), g restarts with P functions:
    one for all layers, one a layer, or one an input dimension. With an `InterpolatedSpec` these are control points, and
    the function has finer knots.
    """

    def __init__(self, spec: EpisodeSpec, device: torch.device):
        self.low, self.high, self.inputs = spec.low, spec.high, spec.learn == "inputs"
        self.names = learned_names(spec.learn, spec.model.layers)
        count = spec.tasks[0].inputs if self.inputs else len(self.names)
        numbers = [restart.knots for restart in spec.restarts]
        self.groups = [[r for r, k in enumerate(numbers) if k == knots] for knots in dict.fromkeys(numbers)]
        self.values: list[Tensor] = []
        kind = spec.interpolation if isinstance(spec, InterpolatedSpec) else None
        first = [numbers[group[0]] for group in self.groups]
        self._finer = [None if kind is None else refine(kind, knots).to(device) for knots in first]
        for group in self.groups:
            restarts = [spec.restarts[r] for r in group]
            start = torch.stack([start_values(r.start, r.seed, r.knots, count, self.low, self.high) for r in restarts])
            self.values.append(start.to(device).requires_grad_())
        flat = [r for group in self.groups for r in group]
        self._back = torch.tensor([flat.index(r) for r in range(len(flat))], device=device)
        self._members = [torch.tensor(group, device=device) for group in self.groups]

    def modules(self) -> dict[str, nn.Module]:
        """A module for each name; it follows the knots as they change."""
        return {name: _Function(self, number) for number, name in enumerate(self.names)}

    def at(self, x: Tensor, number: int) -> Tensor:
        """Function `number` of each restart, or where inputs have theirs all of them: x (R, B, C) → (R, B, C)."""
        parts = []
        for members, values in zip(self._members, self._fine(self.values), strict=True):
            part = x if len(self.groups) == 1 else x[members]
            if self.inputs:
                columns = part.mT.reshape(-1, part.shape[1])  # (g·D, B)
                y = spline(columns, values.flatten(0, 1), self.low, self.high)
                parts.append(y.view(len(part), part.shape[2], part.shape[1]).mT)
            else:
                parts.append(spline(part, values[:, number], self.low, self.high))
        return parts[0] if len(parts) == 1 else torch.cat(parts)[self._back]

    def _fine(self, knots: Sequence[Tensor]) -> list[Tensor]:
        """Knots like `values` as values at the knots that the functions have."""
        return [v if finer is None else v @ finer.mT for v, finer in zip(knots, self._finer, strict=True)]

    def lengths(self, gradients: Sequence[Tensor]) -> Tensor:
        """Euclidean length of each restart's gradient, all its functions together, (R,)."""
        return torch.cat([g.flatten(1).norm(dim=1) for g in gradients])[self._back]

    @torch.no_grad()
    def descend(self, gradients: Sequence[Tensor], rates: Tensor, alive: np.ndarray) -> None:
        """One step of gradient descent for the restarts that are alive, each with its rate (R,)."""
        lives = torch.from_numpy(alive).to(rates.device)
        for members, values, gradient in zip(self._members, self.values, gradients, strict=True):
            next_values = values - rates[members].view(-1, 1, 1) * gradient
            values.copy_(torch.where(lives[members].view(-1, 1, 1), next_values, values))

    @torch.no_grad()
    def chosen(self, which: np.ndarray, new: Sequence[Tensor], old: Sequence[Tensor]) -> list[Tensor]:
        """Knots `new` for the restarts where `which` (R,) says so, `old` elsewhere."""
        return [
            torch.where(torch.from_numpy(which[group]).to(a.device).view(-1, 1, 1), a, b)
            for group, a, b in zip(self.groups, new, old, strict=True)
        ]

    @torch.no_grad()
    def splines(self, number: int) -> list[nn.Module]:
        """Function `number` of each restart, as it is."""
        flat = [Spline(row, self.low, self.high) for values in self._fine(self.values) for row in values[:, number]]
        return [flat[place] for place in self._back.tolist()]

    def parts(self, knots: Sequence[Tensor], restart: int) -> dict[str, Knots | KnotTable]:
        """The functions of one restart, by their names, from knots like `values`."""
        group = next(i for i, members in enumerate(self.groups) if restart in members)
        values = self._fine(knots)[group][self.groups[group].index(restart)]
        return as_parts(self.names, values, self.low, self.high)


def check_learn(learn: str, layers: int) -> None:
    """ArgumentError for what no perceptron with so many hidden layers can learn."""
    if learn not in LEARN:
        raise ArgumentError(f"learn={learn!r}; give {', '.join(LEARN)}")
    if learn != "inputs" and layers < 1:
        words = "a model without hidden layers has no non-linearity to learn"
        raise ArgumentError(f"{words}; give it layers, or learn inputs")


class _Function(nn.Module):
    def __init__(self, functions: Functions, number: int):
        super().__init__()
        self._functions, self._number = functions, number

    def forward(self, x: Tensor) -> Tensor:
        return self._functions.at(x, self._number)

    def of_each(self) -> list[nn.Module]:
        """As a spline for each restart."""
        return self._functions.splines(self._number)


def start_values(start: str, seed: int, knots: int, count: int, low: float, high: float) -> Tensor:
    """Where a search begins, (count, knots): "zero", the name of a function, or "noise" from the seed."""
    if start == "noise":
        generator = torch.Generator().manual_seed(stream(seed, "noise"))
        return NOISE * torch.randn(count, knots, generator=generator)
    positions = torch.linspace(low, high, knots)
    values = torch.zeros_like(positions) if start == "zero" else named(start)(positions).detach()
    return values.expand(count, -1).clone()


def learned_names(learn: str, layers: int) -> list[str]:
    """The names in `Perceptron.parts` of what is learned.

    >>> learned_names("layers", 2)
    ['phi0', 'phi1']
    """
    return {"shared": ["phi"], "layers": [f"phi{i}" for i in range(layers)], "inputs": ["inputs"]}[learn]


def as_parts(names: Sequence[str], values: Tensor, low: float, high: float) -> dict[str, Knots | KnotTable]:
    """Functions by the names of `learned_names`, from their values (functions, knots)."""
    rows = tuple(map(tuple, values.detach().cpu().tolist()))
    if list(names) == ["inputs"]:
        return {"inputs": KnotTable(low, high, rows)}
    return {name: Knots(low, high, row) for name, row in zip(names, rows, strict=True)}


def learns(spec: EpisodeSpec | TwoLossSpec, name: str) -> bool:
    """Whether a non-linearity of its model, by its name in `parts`, is searched for."""
    return name.startswith("inputs" if spec.learn == "inputs" else "phi")


def with_identities(model: Perceptron, learn: str) -> Perceptron:
    """A copy of the model with the identity in the place of each function that is searched for."""
    parts = {name: part for name, part in model.parts.items() if (learn == "inputs") == name.startswith("phi")}
    return model.having(parts | dict.fromkeys(learned_names(learn, model.layers), "identity"))


class InnerTask(ABC):
    """One task of a search: its model, the rows that episodes draw from, and what their outer loss is measured on.

    count: rows of the pool. other: rows of the outer loss, where it has a split of its own. drawn: the initial weights
    of an episode, each (R, …). by_kernel: whether each step of its training is one call of C. A batch has
    `loss(outputs)` and `targets`.
    """

    spec: EpisodeSpec
    device: torch.device
    count: int
    other: Rows | None = None
    drawn: list[Tensor]
    by_kernel = False

    @abstractmethod
    def fresh(self, seeds: Sequence[int]) -> None:
        """Draw the weights of an episode."""

    def weights(self) -> list[Tensor]:
        """A copy of the weights that were drawn last."""
        return [weight.clone() for weight in self.drawn]

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
        whole = self.rows(train) if most is None or most >= train.shape[1] else None
        order = Order(seeds, train.shape[1], most or train.shape[1], f"episode {episode} batches")

        def inner(step: int) -> Any:
            batch = self.rows(train.gather(1, order.at(step).to(self.device))) if whole is None else whole
            return self.at_step(batch, step)

        if spec.objective == "train":
            return inner, None
        if self.other is None:
            return inner, self.rows(shuffled[:, :held][:, :most])
        if most is None or most >= len(self.other):
            return inner, self.other.at(slice(None))
        index = torch.stack([torch.randperm(len(self.other), generator=g)[:most] for g in generators])
        return inner, self.other.at(index.to(self.device))

    def train(self, batches: Callable[[int], Any], steps: int, last: int) -> tuple[list[Moving], Tensor]:
        """The training of an episode, from the weights that were drawn last. Its states before each of the last `last`
        steps and at the end, and the losses (R,) before the last step. batches: by step."""
        weights = self.weights()
        moments = [torch.zeros_like(weight) for _ in MOMENTS[self.spec.inner.optimizer] for weight in weights]
        states: list[Moving] = [[*weights, *moments]]
        for step in range(steps):
            state, loss = self.step(states[-1], len(weights), batches(step), step, create_graph=False)
            states = [*(states if step >= steps - last else []), state]
        return states, loss

    def step(self, state: Moving, count: int, batch: Any, step: int, create_graph: bool) -> tuple[Moving, Tensor]:
        """One step of the training: weights and moments after it, and the loss (R,) before it.

        state: the weights, `count` of them, then the moments of the optimizer. create_graph: whether the step itself is
        to be differentiated.
        """
        spec, names = self.spec, MOMENTS[self.spec.inner.optimizer]
        weights = state[:count]
        if not create_graph:
            weights = [weight.detach().requires_grad_() for weight in weights]
        with torch.enable_grad():
            loss = batch.loss(self.outputs(weights, batch))
            gradients = torch.autograd.grad(loss.sum(), weights, create_graph=create_graph)
        rate = spec.inner.rate / spec.model.prefactor
        rates = torch.full((len(spec.restarts),), rate, dtype=loss.dtype).to(loss.device)
        after = []
        with torch.set_grad_enabled(create_graph):
            for i, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
                moments = dict(zip(names, state[count + i :: count], strict=False))
                after.append(descend(spec.inner.optimizer, weight, gradient, moments, step + 1, rates))
        new = [weight for weight, _ in after] + [moments[name] for name in names for _, moments in after]
        return (new if create_graph else [tensor.detach() for tensor in new]), loss.detach()


class TableInnerTask(InnerTask):
    """Perceptrons on a table."""

    def __init__(
        self, task: TableTask, spec: EpisodeSpec, phi: Functions, given: Mapping[str, Resolved], device: torch.device
    ):
        model = with_identities(spec.model, spec.learn)
        runs = [RunSpec(task, model, spec.inner, restart.seed, (), spec.task_seed) for restart in spec.restarts]
        modules = {name: build([part] * len(runs)) for name, part in given.items()} | phi.modules()
        shape = sizes(task, spec.task_seed)
        self.model: MLP = perceptrons(shape, runs, [modules[name] for name in model.parts]).to(device)
        self.names = [name for name, _ in self.model.layers.named_parameters(prefix="layers")]
        splits = task.split(spec.task_seed)
        self.spec, self.task, self.device = spec, task, device
        self.inputs = torch.cat([splits[name].inputs for name in spec.pool]).to(device)  # (N, D)
        self.targets = torch.cat([splits[name].targets for name in spec.pool]).to(device)  # (N,)
        self.count = len(self.inputs)
        self.other = None if spec.objective in ("val", "train") else Rows(runs, spec.objective, device)

    @cached_property
    def by_kernel(self) -> bool:  # type: ignore[override]
        row = self.rows(torch.zeros(len(self.spec.restarts), 1, dtype=torch.int64, device=self.device))
        return kernel_of(self.model, self._rule(), row) is not None

    def train(self, batches: Callable[[int], Any], steps: int, last: int) -> tuple[list[Moving], Tensor]:
        """As `InnerTask.train`, by the kernel of perceptrons where it takes the steps: the model's own weights move."""
        if not self.by_kernel:
            return super().train(batches, steps, last)
        rule, states = self._rule(), []
        kernel, alive = perceptron.Kernel(self.model, rule, batches(0)), torch.ones(len(rule.rates), dtype=torch.bool)
        for step in range(steps):
            if step >= steps - last:
                states.append(kernel.state())
            loss = kernel(batches(step), alive)
            if not bool((finite := loss.isfinite()).all()):
                for weight in rule.weights:  # as they become under torch: that ends a restart
                    weight.detach()[~finite] = torch.nan
        return [*states, kernel.state()], loss

    def _rule(self) -> RunAdamW | RunDescent:
        """The optimizer of an episode, before its first step."""
        inner, runs = self.spec.inner, len(self.spec.restarts)
        rule = cast(RunAdamW | RunDescent, optimizer(inner, [inner] * runs, self.model))
        rule.rates = [inner.rate / self.spec.model.prefactor] * runs
        return rule

    def outputs(self, weights: Sequence[Tensor], batch: TableBatch) -> Tensor:
        return functional_call(self.model, dict(zip(self.names, weights, strict=True)), (batch.inputs,))

    def rows(self, index: Tensor) -> TableBatch:
        return TableBatch(self.task, self.inputs[index], self.targets[index])

    def fresh(self, seeds: Sequence[int]) -> None:
        self.model.draw(list(seeds), self.spec.model.scale)
        self.drawn = [parameter.detach() for parameter in self.model.layers.parameters()]

    def score(self, outputs: Tensor, batch: TableBatch) -> Tensor:
        """The accuracy, or what else the task is measured by first."""
        scores = self.task.of_split(self.task.scores(outputs, batch.targets), batch.targets)
        return scores[next(iter(self.task.metric_signs))]


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


inner_task.register(TableTask, TableInnerTask)


@check_task.register(TableTask)
def _(task: TableTask, spec: EpisodeSpec) -> None:
    wanted = [*spec.pool, *([] if spec.objective in ("val", "train") else [spec.objective])]
    check_splits(task.name, wanted, task.split(spec.task_seed))
    check_choice("optimizer", spec.inner.optimizer, RULES)
    if spec.inner.decay:
        raise ArgumentError(f"decay={spec.inner.decay}: episodes differentiate steps without one; leave it out")
    for recipe in (spec.inner, spec.retrain):
        check_run(RunSpec(task, spec.model, recipe, 0, (), spec.task_seed))


@most_rows.register(TableTask)
def _(task: TableTask, spec: EpisodeSpec) -> int:
    splits = task.split(spec.task_seed)
    return sum(len(splits[name]) for name in spec.pool)
