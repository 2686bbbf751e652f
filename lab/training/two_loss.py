"""Stage I: search for a non-linearity with two losses (transformers paper, Algorithm 1).

M models with seeds of their own share the spline(s). Each step, at the same point: the weights of each model follow the
loss on that model's own batch of `train`, the shared knots follow the sum over models of the loss on one batch of
`search`, data that the weights never see. So the function cannot lean on particular weights. `Shared` searches one
function for several tasks at once; `lab.training.table_search` has the same for perceptrons on tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError
from lab.kinds import Batch, check_run
from lab.nonlinearity.functions import named
from lab.nonlinearity.spline import Spline
from lab.spec import (
    Knots,
    KnotTable,
    Learned,
    ModuleSearch,
    Resolved,
    RunSpec,
    SearchSpec,
    Shaped,
    SharedSearch,
    TwoLossSpec,
    replace,
)
from lab.training.fleet import Fleet, History
from lab.training.optimizers import factor

# Where a search starts. Attention: at zero every kernel value is zero, and so is its gradient.
START = {"mlp": 0.0, "attention": 1.0}  # all others: 0


class Search(Fleet):
    """A fleet of M models around shared, learnable splines.

    given: values of the non-linearity that is not searched for, where `spec` names it as learned before.
    """

    def __init__(
        self,
        spec: SearchSpec | TwoLossSpec | ModuleSearch,
        device: str = "cpu",
        given: Mapping[str, Resolved] | None = None,
    ):
        self.spec = spec
        super().__init__(*self.runs(given or {}), device)
        self.splines = self.learned()
        self.knots = [spline.values for spline in self.splines.values()]
        self.knot_optimizer = torch.optim.Adam(self.knots, lr=0.0, betas=getattr(spec.recipe, "betas", (0.9, 0.999)))
        self.divide()
        self.history = History(spec.models)
        self.search_loss: list[float] = []

    @staticmethod
    def check(spec: Any) -> None:
        """Raise ArgumentError where a spec does not fit together."""

    @staticmethod
    def learns(spec: Any, name: str) -> bool:
        """Whether a non-linearity of the model, by its name in `parts`, is searched for."""
        return name in spec.learn

    @staticmethod
    def description(spec: Any) -> str:
        """What the progress bar says of it."""
        return f"search {' + '.join(spec.learn)}"

    @property
    def seeds(self) -> list[int]:
        """Those of the models: none that a stage-II run uses."""
        return [10_000 * (self.spec.seed + 1) + m for m in range(self.spec.models)]

    def runs(self, given: Mapping[str, Resolved]) -> tuple[list[RunSpec], list[tuple[Resolved, ...]]]:
        """The models as runs, and their non-linearities, those that are searched for at their start."""
        spec = cast(SearchSpec, self.spec)
        known = tuple(spec.model.parts)
        if not spec.learn or not set(spec.learn) <= set(known):
            words = " or ".join([*known, "both"][: len(known) + (len(known) > 1)])
            words = words or "this model has no non-linearity of the lab's"
            raise ArgumentError(f"learn={spec.learn}: name what to search for: {words}")
        start: dict[str, Any] = {part: _start(spec, part) for part in spec.learn}
        model = replace(spec.model, **{**given, **start})
        # nothing is evaluated: a search is followed by its own search loss
        runs = [RunSpec(spec.task, model, spec.recipe, seed, (), spec.task_seed) for seed in self.seeds]
        return runs, [cast(tuple[Resolved, ...], tuple(model.parts.values()))] * spec.models

    def learned(self) -> dict[str, Spline]:
        return {part: cast(Spline, self.parts[part]) for part in cast(SearchSpec, self.spec).learn}

    def divide(self) -> None:
        """Weights train on `train` alone from here on; `search_batch` gives what the knots follow, by step: the same
        for all models, or where examples are made as they are needed, fresh ones for each."""
        self.search_batch: Callable[[int], Batch] = cast(Any, self.data).divide(self.spec.seed)

    def set_rates(self, step: int) -> None:
        super().set_rates(step)
        self.knot_optimizer.param_groups[0]["lr"] = self.spec.spline_rate * factor(step, self.recipe)

    def advance(self, step: int) -> None:
        self.set_rates(step)
        self.knot_optimizer.zero_grad()
        losses = self.gradients(step)
        self.freeze()
        self.optimizer.step()
        self.knot_optimizer.step()
        self.note(step, *losses)

    def gradients(self, step: int) -> tuple[Tensor, Tensor]:
        """Of the weights, from `train`, and of the knots, from `search`, to which they are added, both at the same
        weights and knots; the two losses, (M,) each."""
        batch = self.batch(step)  # D¹ … Dᴹ
        _differentiate(weights=self.weights, knots=self.knots, which="weights")
        weight_loss = batch.loss(batch.outputs(self.model))
        self.optimizer.zero_grad()
        self.watch(weight_loss, step).backward()

        batch = self.search_batch(step)  # D⁰
        _differentiate(weights=self.weights, knots=self.knots, which="knots")
        search_loss = batch.loss(batch.outputs(self.model))
        self.watch(search_loss, step).backward()
        return weight_loss, search_loss

    def note(self, step: int, weight_loss: Tensor, search_loss: Tensor) -> None:
        self.history.add(weight_loss)
        self.search_loss.append(float(search_loss.detach()[self.alive].mean()))  # NaN when none is left
        self.step = step + 1
        if self.step % self.recipe.every == 0 or self.step == self.recipe.last:
            self.history.close(self.step, {})

    @torch.no_grad()
    def freeze(self) -> None:
        """As Fleet.freeze, and keep diverged models away from the knots they share with the others, whose gradient
        they would turn into 0 × inf = NaN: they lose their weights, and such a gradient counts as zero."""
        super().freeze()
        if (self.died >= 0).any():
            for weight in self.weights:
                weight[~self.alive] = 0.0
        for knots in self.knots:
            assert knots.grad is not None  # of the search loss
            if not bool(torch.isfinite(knots.grad).all()):
                knots.grad.zero_()

    def state(self) -> dict[str, Tensor]:
        tensors = super().state() | {"search_loss": torch.tensor(self.search_loss, dtype=torch.float64)}
        for i, knots in enumerate(self.knots):
            tensors[f"knots.{i}"] = knots.detach()
            tensors |= {f"knot_adam.{i}.{name}": value for name, value in self.knot_optimizer.state[knots].items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self.search_loss = tensors["search_loss"].tolist()
        with torch.no_grad():
            for i, knots in enumerate(self.knots):
                knots.copy_(tensors[f"knots.{i}"])
                saved = {n.split(".")[2]: v for n, v in tensors.items() if n.startswith(f"knot_adam.{i}.")}
                self.knot_optimizer.state[knots] = {
                    name: v.clone() if name == "step" else v.to(knots.device, copy=True) for name, v in saved.items()
                }

    def functions(self) -> dict[str, Knots | KnotTable]:
        return {part: Knots(s.low, s.high, tuple(s.values.detach().cpu().tolist())) for part, s in self.splines.items()}


def _start(spec: SearchSpec, part: str) -> Knots:
    values: tuple[float, ...] = (START.get(part, 0.0),) * spec.knots
    if part != "attention" and spec.start != "zero":
        values = tuple(named(spec.start)(torch.linspace(spec.low, spec.high, spec.knots)).tolist())
    return Knots(spec.low, spec.high, values)


def search(state: Any, report: Callable[[Any], bool] | None = None) -> Any:
    """Run a `Search` or `Shared` from where it stands to its end (Algorithm 1's loop)."""
    for step in range(state.step, state.recipe.last):
        state.advance(step)
        if report is not None and not report(state):
            break
    return state


def _differentiate(weights: Sequence[Tensor], knots: Sequence[Tensor], which: str) -> None:
    """Ask autograd for one of the two gradients only: the other would cost time and be thrown away."""
    for tensors, wanted in ((weights, which == "weights"), (knots, which == "knots")):
        for tensor in tensors:
            tensor.requires_grad_(wanted)


class Shared:
    """A search a task, around the same splines. What a loop and a store ask for is as in `Search`."""

    learns = staticmethod(Search.learns)

    def __init__(self, spec: SharedSearch, device: str = "cpu", given: Mapping[str, Resolved] | None = None):
        """given: nothing; what is not searched for has its values in the spec."""
        self.spec, self.recipe = spec, spec.recipe
        # A task's models could have the seeds of another's: they differ in all else.
        self.members = []
        for search in spec.searches:
            others = {part: known for part, known in search.model.parts.items() if part not in search.learn}
            self.members.append(Search(search, device, others))
        first = self.members[0]
        for other in self.members[1:]:
            for part, spline in other.splines.items():
                spline.values = first.splines[part].values
            other.knots, other.knot_optimizer = first.knots, first.knot_optimizer
        self.splines: Mapping[str, Spline] = first.splines
        self.specs = [run for member in self.members for run in member.specs]
        self.history, self.step = History(spec.models), 0
        self.search_loss: list[float] = []

    @property
    def over(self) -> bool:
        """Whether all steps are taken."""
        return self.step >= self.recipe.last

    @staticmethod
    def check(spec: SharedSearch) -> None:
        if not spec.searches:
            raise ArgumentError("searches=(): give one search a task")
        first = spec.searches[0]
        for search in spec.searches:
            for name in ("learn", "low", "high", "knots", "start"):
                if getattr(search, name) != getattr(first, name):
                    raise ArgumentError(
                        f"{name}={getattr(search, name)!r} for {search.task_name}, {getattr(first, name)!r} for"
                        f" {first.task_name}: one function needs the same for all tasks"
                    )
            if search.recipe.last != first.recipe.last:
                raise ArgumentError(
                    f"{search.task_name} takes {search.recipe.last} steps, {first.task_name} {first.recipe.last}:"
                    " give all tasks as many"
                )
            for part, known in search.model.parts.items():
                if part not in search.learn and isinstance(known, (Learned, Shaped)):
                    raise ArgumentError(f"{part} of {search.task_name} is learned by another search; give its values")
            check_run(RunSpec(search.task, search.model, search.recipe, 0, (), search.task_seed))

    @staticmethod
    def description(spec: SharedSearch) -> str:
        return f"search one {' + '.join(spec.learn)}"

    @property
    def died(self) -> np.ndarray:
        """By model, task after task: the step at which its loss was no longer finite, or -1."""
        return np.concatenate([member.died for member in self.members])

    def advance(self, step: int) -> None:
        for member in self.members[::-1]:  # the rate of the knots is the first one's
            member.set_rates(step)
        self.members[0].knot_optimizer.zero_grad()
        losses = [member.gradients(step) for member in self.members]
        for member, pair in zip(self.members, losses, strict=True):
            member.freeze()
            member.optimizer.step()
            member.note(step, *pair)
        self.members[0].knot_optimizer.step()
        self.history.add(torch.cat([weights.detach() for weights, _ in losses]))
        self.search_loss.append(float(np.nanmean([member.search_loss[-1] for member in self.members])))
        self.step = step + 1
        if self.step % self.recipe.every == 0 or self.over:
            self.history.close(self.step, {})

    def state(self) -> dict[str, Tensor]:
        tensors = {"step": torch.tensor(self.step)} | self.history.pending()
        tensors["search_loss"] = torch.tensor(self.search_loss, dtype=torch.float64)
        tensors |= {f"history.{name}": torch.from_numpy(array) for name, array in self.history.arrays().items()}
        for number, member in enumerate(self.members):
            member_state = {name: t for name, t in member.state().items() if not number or not name.startswith("knot")}
            tensors |= {f"task {number}.{name}": tensor for name, tensor in member_state.items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        for number, member in enumerate(self.members):
            member_state: dict[str, Tensor] = {}
            for mark in ("task 0.knot", f"task {number}."):  # knots, and what their optimizer remembers, are shared
                member_state |= {name.partition(".")[2]: t for name, t in tensors.items() if name.startswith(mark)}
            member.restore(member_state)
        self.history.restore(tensors)
        self.step, self.search_loss = int(tensors["step"]), tensors["search_loss"].tolist()

    def functions(self) -> Mapping[str, Resolved]:
        return self.members[0].functions()

    def run_notes(self, run: int) -> dict:
        """Nothing: each task has models of its own."""
        return {}

    def beyond_of(self, runs: Sequence[int]) -> dict[str, float]:
        return {}
