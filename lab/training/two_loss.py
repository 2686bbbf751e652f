"""Stage I: search for a non-linearity with two losses (transformers paper, Algorithm 1).

M models with seeds of their own share the spline(s). Each step, at the same point: the weights of each model follow the
loss on that model's own batch of `train`, the shared knots follow the sum over models of the loss on one batch of
`search`, which the weights are not trained on. So the function cannot lean on particular weights. `Shared` searches one
function for several tasks at once, `TableSearch` the functions of perceptrons on a table.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_choice, check_whole
from lab.kinds import Batch, check_run
from lab.models.mlp import MLP, InputFunctions
from lab.nonlinearity.spline import Spline
from lab.seeds import stream
from lab.spec import (
    ConstantRate,
    Knots,
    KnotTable,
    Learned,
    Perceptron,
    Resolved,
    RunSpec,
    Shaped,
    SharedSearch,
    TwoLossSpec,
    replace,
)
from lab.training.fleet import Fleet, History
from lab.training.inner_task import STARTS, as_parts, check_learn, learned_names, learns, start_values, with_identities
from lab.training.optimizers import RunRates, factor
from lab.training.rows import TableBatch, held_rows
from lab.training.sequences import Order, check_splits

ATTENTION_START = 1.0  # at zero every kernel value is zero, and so is its gradient


class Search(Fleet):
    """A fleet of M models around shared, learnable splines.

    given: values of the non-linearities that are not searched for, where `spec` names them as learned before.
    """

    spec: Any  # a SearchSpec; others have classes of their own

    def __init__(self, spec: Any, device: str = "cpu", given: Mapping[str, Resolved] | None = None):
        self.spec = spec
        super().__init__(*self.runs(given or {}), device)
        self.splines = self.shared()
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
        model, recipe = self.start(given)
        spec = replace(self.spec, model=model, recipe=recipe)
        parts = cast(tuple[Resolved, ...], tuple(model.parts.values()))
        return [run_of(spec, seed) for seed in self.seeds], [parts] * spec.models

    def start(self, given: Mapping[str, Resolved]) -> tuple[Any, Any]:
        """The model with the functions from which the search starts, and the recipe of its weights."""
        spec, known = self.spec, tuple(self.spec.model.parts)
        if not spec.learn or not set(spec.learn) <= set(known):
            words = " or ".join([*known, "both"][: len(known) + (len(known) > 1)])
            words = words or "this model has no non-linearity of the lab's"
            raise ArgumentError(f"learn={spec.learn}: name what to search for: {words}")
        attention = Knots(spec.low, spec.high, (ATTENTION_START,) * spec.knots)
        start = {part: attention if part == "attention" else start_of(spec) for part in spec.learn}
        return replace(spec.model, **{**given, **start}), spec.recipe

    def shared(self) -> dict[str, Spline]:
        """The functions that are searched for, as modules of the model."""
        return {part: cast(Spline, self.parts[part]) for part in self.spec.learn}

    def learned(self) -> dict[str, Tensor]:
        """Their values by part, one run of them."""
        return {part: spline.values.detach()[None] for part, spline in self.splines.items()}

    def divide(self) -> None:
        """Weights train on `train` alone from here on; `search_batch` gives what the knots follow, by step: the same
        for all models, or where examples are made as they are needed, fresh ones for each."""
        self.search_batch: Callable[[int], Batch] = cast(Any, self.data).divide(self.spec.seed)

    def set_rates(self, step: int) -> None:
        super().set_rates(step)
        self.knot_optimizer.param_groups[0]["lr"] = self.spec.spline_rate * factor(self.recipe, step)

    def advance(self) -> None:
        self.set_rates(self.step)
        self.knot_optimizer.zero_grad()
        losses = self.gradients(self.step)
        self.freeze()
        self.optimizer.step()
        self.knot_optimizer.step()
        self.note(*losses)

    def gradients(self, step: int) -> tuple[Tensor, Tensor]:
        """Of the weights, from `train`, and of the knots, from `search`, to which they are added, both at the same
        weights and knots; the two losses, (M,) each."""
        batch = self.batch(step)  # D¹ … Dᴹ
        self._differentiate(weights=True)
        weight_loss = batch.loss(batch.outputs(self.model))
        self.optimizer.zero_grad()
        self.watch(weight_loss, step).backward()

        batch = self.search_batch(step)  # D⁰
        self._differentiate(weights=False)
        search_loss = batch.loss(batch.outputs(self.model))
        self.watch(search_loss, step).backward()
        return weight_loss, search_loss

    def _differentiate(self, weights: bool) -> None:
        """Ask autograd for the gradient of the weights, or of the knots: both would take twice the time."""
        for weight in self.weights:
            weight.requires_grad_(weights)
        for knots in self.knots:
            knots.requires_grad_(not weights)

    def note(self, weight_loss: Tensor, search_loss: Tensor) -> None:
        """Record the two losses of a step that was taken."""
        self.note_step(weight_loss)
        self.search_loss.append(float(search_loss.detach()[self.alive].mean()))  # NaN when none is left
        if self.step % self.recipe.every == 0 or self.over:
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


def run_of(spec: Any, seed: int = 0) -> RunSpec:
    """A model of a search as a run; nothing is evaluated, since a search is followed by its own search loss."""
    return RunSpec(spec.task, spec.model, spec.recipe, seed, (), spec.task_seed)


def start_of(spec: Any) -> Knots:
    """The function from which a search starts."""
    (values,) = start_values(spec.start, spec.seed, spec.knots, 1, spec.low, spec.high).tolist()
    return Knots(spec.low, spec.high, tuple(values))


class Shared:
    """A search a task, around the same splines. Methods as in `Search`."""

    learns, learned = staticmethod(Search.learns), Search.learned

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
            check_run(run_of(search))

    @staticmethod
    def description(spec: SharedSearch) -> str:
        return f"search one {' + '.join(spec.learn)}"

    @property
    def over(self) -> bool:
        """Whether all steps are taken."""
        return self.step >= self.recipe.last

    @property
    def died(self) -> np.ndarray:
        """By model, task after task: the step at which its loss was no longer finite, or -1."""
        return np.concatenate([member.died for member in self.members])

    def advance(self) -> None:
        for member in self.members[::-1]:  # the rate of the knots is the first one's
            member.set_rates(self.step)
        self.members[0].knot_optimizer.zero_grad()
        losses = [member.gradients(self.step) for member in self.members]
        for member, pair in zip(self.members, losses, strict=True):
            member.freeze()
            member.optimizer.step()
            member.note(*pair)
        self.members[0].knot_optimizer.step()
        self.history.add(torch.cat([weights.detach() for weights, _ in losses]))
        self.search_loss.append(float(np.nanmean([member.search_loss[-1] for member in self.members])))
        self.step += 1
        if self.step % self.recipe.every == 0 or self.over:
            self.history.close(self.step, {})

    def state(self) -> dict[str, Tensor]:
        tensors = {"step": torch.tensor(self.step)} | self.history.state()
        tensors["search_loss"] = torch.tensor(self.search_loss, dtype=torch.float64)
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


class TableSearch(Search):
    """M perceptrons on a table around shared, learnable functions: a cheaper search than the episodes of the simplicity
    paper, for its models."""

    spec: TwoLossSpec
    model: MLP
    optimizer: RunRates

    @staticmethod
    def check(spec: TwoLossSpec) -> None:
        check_learn(spec.learn, spec.model.layers)
        check_choice("start", spec.start, STARTS)
        check_whole("models", spec.models)
        check_whole("knots", spec.knots, 2)
        if not 0 < spec.held_out < 1:
            raise ArgumentError(f"held_out={spec.held_out}: give a fraction between 0 and 1")
        check_splits(spec.task.name, spec.pool, spec.task.split(spec.task_seed))
        check_run(run_of(replace(spec, recipe=without_evaluations(spec.recipe))))

    learns = staticmethod(learns)

    @staticmethod
    def description(spec: TwoLossSpec) -> str:
        return "search by two losses"

    def start(self, given: Mapping[str, Resolved]) -> tuple[Perceptron, ConstantRate]:
        spec = self.spec
        self.check(spec)
        names = learned_names(spec.learn, spec.model.layers)
        count = spec.task.inputs if spec.learn == "inputs" else len(names)
        values = start_values(spec.start, spec.seed, spec.knots, count, spec.low, spec.high)
        model = with_identities(spec.model, spec.learn)
        model = model.having(model.parts | dict(given) | as_parts(names, values, spec.low, spec.high))
        return model, without_evaluations(spec.recipe)

    def shared(self) -> dict[str, Spline]:
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
        inputs, targets = inputs[order], targets[order]
        held = held_rows(len(inputs), spec.held_out)
        self.weight_batch = self._batches(inputs[held:], targets[held:], self.seeds, "batches")
        self.search_batch = self._batches(inputs[:held], targets[:held], [spec.seed], "search batches")
        del self.data  # nothing is evaluated

    def batch(self, step: int) -> TableBatch:
        return self.weight_batch(step)

    def _batches(
        self, inputs: Tensor, targets: Tensor, seeds: Sequence[int], purpose: str
    ) -> Callable[[int], TableBatch]:
        """Batches of these rows by step, in an order of each model's seed; of one seed, the same for all models."""
        task, models, size = self.spec.task, self.spec.models, self.spec.recipe.batch
        order = None if size is None or size >= len(inputs) else Order(seeds, len(inputs), size, purpose)

        def batch(step: int) -> TableBatch:
            index = torch.arange(len(inputs))[None] if order is None else order.at(step)
            index = index.to(self.device).expand(models, -1)
            return TableBatch(task, inputs[index], targets[index])

        return batch

    def set_rates(self, step: int) -> None:
        """Constant, that of the weights divided by the prefactor (App. E.4)."""
        self.optimizer.rates = [self.recipe.rate / self.spec.model.prefactor] * self.spec.models
        self.knot_optimizer.param_groups[0]["lr"] = self.spec.spline_rate

    def functions(self) -> dict[str, Knots | KnotTable]:
        of_parts = [spline.values.detach() for spline in self.splines.values()]
        values = of_parts[0] if self.spec.learn == "inputs" else torch.stack(of_parts)
        return as_parts(list(self.splines), values, self.spec.low, self.spec.high)


def without_evaluations(recipe: ConstantRate) -> ConstantRate:
    """The recipe of weights that are trained for a search."""
    return replace(recipe, keep="last", patience=None, trajectory=None)
