"""The search by two losses in models of the user's: they share one function, in the place of their activations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from torch import Tensor

from lab.data.data import Inputs
from lab.errors import ArgumentError, check_choice, check_number, check_whole
from lab.kinds import Batch, check_run
from lab.nonlinearity.functions import NAMES, named
from lab.nonlinearity.spline import Spline
from lab.spec import Knots, ModuleSearch, Resolved, RunSpec, remembered, replace
from lab.training.fleet import Fleet
from lab.training.modules.examples import DataOfRuns, Drawn
from lab.training.modules.fleet import ModuleFleet
from lab.training.two_loss import Search, check_search, description, learns, searching


class ModulesSearched(Search, ModuleFleet):
    """M models of the user's around one learnable function."""

    def runs(self, given: Mapping[str, Resolved]) -> tuple[list[RunSpec], list[tuple[Resolved, ...]]]:
        """The models as runs with the function at its start."""
        spec = cast(ModuleSearch, self.spec)
        start = start_of(spec)
        model = replace(spec.model, phi=start)
        runs = [RunSpec(spec.task, model, spec.recipe, seed, (), spec.task_seed) for seed in self.seeds]
        return runs, [(start,)] * spec.models

    def learned(self) -> dict[str, Spline]:
        """The one function of all places."""
        return {"phi": self.model.spline}

    def divide(self) -> None:
        """Weights follow `train`, the function `search`."""
        data, spec = cast(DataOfRuns, self.data), cast(ModuleSearch, self.spec)
        data.training = data.drawn("train")
        rows = data.data.rows["search"]
        self.held_out = Drawn(data.data, rows, [spec.seed], spec.recipe.batch, self.device)
        if self.held_out.order is not None:
            self.held_out.order.purpose = "search batches"

    def search_batch(self, step: int) -> Batch:
        """One batch of the `search` split, the same for all models."""
        batch, models = self.held_out.at(step), cast(ModuleSearch, self.spec).models
        targets = batch.targets.expand(models, *batch.targets.shape[1:])
        return replace(batch, inputs=_wide(batch.inputs, models), targets=targets, noise=(self.seeds, step))

    def run_notes(self, run: int) -> dict:
        """As `ModuleFleet`."""
        return ModuleFleet.run_notes(self, run)


def _wide(part: Inputs, runs: int) -> Inputs:
    if isinstance(part, Tensor):
        return part.expand(runs, *part.shape[1:])
    return {name: tensor.expand(runs, *tensor.shape[1:]) for name, tensor in part.items()}


def start_of(spec: ModuleSearch) -> Knots:
    """The function that a search begins with."""
    if spec.start == "zero":
        return Knots(spec.low, spec.high, (0.0,) * spec.knots)
    begun = Spline.from_function(named(spec.start), spec.low, spec.high, spec.knots)
    return Knots(spec.low, spec.high, tuple(begun.values.tolist()))


@searching.register(ModuleSearch)
def _(spec: ModuleSearch, device: str, given: Mapping[str, Resolved]) -> Fleet:
    return ModulesSearched(spec, device, given)


@learns.register(ModuleSearch)
def _(spec: ModuleSearch, name: str) -> bool:
    return name == "phi"


@description.register(ModuleSearch)
def _(spec: ModuleSearch) -> str:
    return "search by two losses"


@check_search.register(ModuleSearch)
def _(spec: ModuleSearch) -> None:
    check_whole("models", spec.models)
    check_whole("knots", spec.knots, 2)
    check_number("spline_rate", spec.spline_rate, 0)
    check_choice("start", spec.start, ("zero", *NAMES))
    data = remembered(spec.task)
    if "search" not in data.rows:
        raise ArgumentError(
            f"{data.name} has no split 'search', whose examples the function follows; it has {', '.join(data.rows)}"
        )
    check_run(RunSpec(spec.task, spec.model, spec.recipe, 0, (), spec.task_seed))
