"""Search by two losses for the functions of perceptrons on a table: `lab.training.two_loss` on the models of the
simplicity paper. The paper itself learns its functions by episodes; this is the cheaper search beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch

from lab.errors import ArgumentError, check_whole
from lab.kinds import check_run
from lab.models.mlp import MLP, InputFunctions
from lab.nonlinearity.spline import Spline
from lab.seeds import stream
from lab.spec import Knots, KnotTable, Part, Resolved, RunSpec, TwoLossSpec, replace
from lab.training.inner_task import STARTS, check_learn, learned_names, start_values, with_identities
from lab.training.optimizers import RunRates
from lab.training.rows import TableBatch, held_rows
from lab.training.sequences import Order
from lab.training.two_loss import Search


class TableSearch(Search):
    """M perceptrons around shared, learnable functions."""

    spec: TwoLossSpec
    model: MLP
    optimizer: RunRates

    @staticmethod
    def check(spec: TwoLossSpec) -> None:
        check_learn(spec.learn, spec.model.layers)
        if spec.start not in STARTS:
            raise ArgumentError(f"unknown start {spec.start!r}; known: {', '.join(STARTS)}")
        check_whole("models", spec.models)
        check_whole("knots", spec.knots, 2)
        if not 0 < spec.held_out < 1:
            raise ArgumentError(f"held_out={spec.held_out}: give a fraction between 0 and 1")
        splits = spec.task.split(spec.task_seed)
        if missing := [name for name in spec.pool if name not in splits]:
            raise ArgumentError(f"{spec.task.name} has no split {missing[0]!r}; choose one of {', '.join(splits)}")
        recipe = replace(spec.recipe, keep="last", patience=None)
        check_run(RunSpec(spec.task, spec.model, recipe, 0, (), spec.task_seed))

    @staticmethod
    def learns(spec: TwoLossSpec, name: str) -> bool:
        return name.startswith("inputs" if spec.learn == "inputs" else "phi")

    @staticmethod
    def description(spec: TwoLossSpec) -> str:
        return "search by two losses"

    def runs(self, given: Mapping[str, Resolved]) -> tuple[list[RunSpec], list[tuple[Resolved, ...]]]:
        spec = self.spec
        self.check(spec)
        names = learned_names(spec.learn, spec.model.layers)
        count = spec.task.inputs if spec.learn == "inputs" else len(names)
        rows = start_values(spec.start, spec.seed, spec.knots, count, spec.low, spec.high).tolist()
        start: dict[str, Part]
        if spec.learn == "inputs":
            start = {"inputs": KnotTable(spec.low, spec.high, tuple(map(tuple, rows)))}
        else:
            start = {name: Knots(spec.low, spec.high, tuple(row)) for name, row in zip(names, rows, strict=True)}
        model = with_identities(spec.model, spec.learn)
        model = model.having(model.parts | dict(given) | start)
        recipe = replace(spec.recipe, keep="last", patience=None, trajectory=None)  # nothing is evaluated
        runs = [RunSpec(spec.task, model, recipe, seed, (), spec.task_seed) for seed in self.seeds]
        parts = cast(tuple[Resolved, ...], tuple(model.parts.values()))
        return runs, [parts] * spec.models

    def learned(self) -> dict[str, Spline]:
        functions: dict[str, Spline] = {}
        for name in learned_names(self.spec.learn, self.spec.model.layers):
            part = self.model.inputs if name == "inputs" else self.model.function(int(name[3:] or 0))
            functions[name] = part.phi if isinstance(part, InputFunctions) else cast(Spline, part)
        return functions

    def divide(self) -> None:
        """The rows of the pool in an order of the search's seed: the first are for the knots, the rest for weights."""
        spec = self.spec
        splits = spec.task.split(spec.task_seed)
        inputs, targets = (
            torch.cat([getattr(splits[name], part) for name in spec.pool]).to(self.device)
            for part in ("inputs", "targets")
        )
        generator = torch.Generator().manual_seed(stream(spec.seed, "search rows"))
        order = torch.randperm(len(inputs), generator=generator).to(self.device)
        held = held_rows(len(inputs), spec.held_out)
        self.rows = _Divided(self, inputs[order], targets[order], held)
        self.search_batch = self.rows.for_knots
        del self.data  # nothing is evaluated

    def batch(self, step: int) -> TableBatch:
        return self.rows.at(step)

    def set_rates(self, step: int) -> None:
        """Constant, that of the weights divided by the prefactor (App. E.4)."""
        self.optimizer.rates = [self.recipe.rate / self.spec.model.prefactor] * self.spec.models
        self.knot_optimizer.param_groups[0]["lr"] = self.spec.spline_rate

    def functions(self) -> dict[str, Knots | KnotTable]:
        rows = {name: spline.values.detach().cpu().tolist() for name, spline in self.splines.items()}
        if self.spec.learn == "inputs":
            return {"inputs": KnotTable(self.spec.low, self.spec.high, tuple(map(tuple, rows["inputs"])))}
        return {name: Knots(self.spec.low, self.spec.high, tuple(row)) for name, row in rows.items()}


class _Divided:
    """Rows for the knots, `held` of them, then rows for the weights; batches of either."""

    def __init__(self, search: TableSearch, inputs: torch.Tensor, targets: torch.Tensor, held: int):
        spec = search.spec
        self.task, self.runs, self.inputs, self.targets, self.held = spec.task, spec.models, inputs, targets, held
        self.device, rows = search.device, len(inputs) - held
        size = spec.recipe.batch
        self.order = None if size is None or size >= rows else Order(search.seeds, rows, size)
        self.knot_order = None if size is None or size >= held else Order([spec.seed], held, size, "search batches")

    def at(self, step: int) -> TableBatch:
        """For the weights, each model its own."""
        if self.order is None:
            return self._rows(torch.arange(self.held, len(self.inputs), device=self.device).expand(self.runs, -1))
        return self._rows(self.held + self.order.at(step).to(self.device))

    def for_knots(self, step: int) -> TableBatch:
        """For the knots, the same for all models."""
        if self.knot_order is None:
            return self._rows(torch.arange(self.held, device=self.device).expand(self.runs, -1))
        return self._rows(self.knot_order.at(step).to(self.device).expand(self.runs, -1))

    def _rows(self, index: torch.Tensor) -> TableBatch:
        return TableBatch(self.task, self.inputs[index], self.targets[index])
