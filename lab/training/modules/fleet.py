"""Training of the user's models: fleets, with their buffers, the search by two losses, and episodes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from lab.data import measures
from lab.data.data import Data, take
from lab.errors import ArgumentError, check_choice, check_number, check_whole, listed, shortened
from lab.kinds import Batch, batch_key, check, check_run, optimizer
from lab.nonlinearity.functions import scalars
from lab.nonlinearity.spline import ScaledSpline, Spline
from lab.nonlinearity.swap import put
from lab.nonlinearity.table import Learnable
from lab.probes.reading import evaluating
from lab.spec import DataSpec, EpisodeSpec, Fit, ModuleSearch, ModuleSpec, Resolved, RunSpec, object_of, replace
from lab.spec.canonical import form
from lab.training.episodes import deciding
from lab.training.fleet import Fleet, counting, fleet_class
from lab.training.inner_task import Functions, InnerTask, check_task, inner_task, most_rows
from lab.training.modules.calls import mapped
from lab.training.modules.maker import Maker
from lab.training.modules.side_by_side import WAYS, DataOfRuns, Drawn, Examples, SideBySide, known_by, on_device
from lab.training.optimizers import RunAdamW, RunRates, trainable
from lab.training.two_loss import Search, run_of, start_of

OPTIMIZERS, SCHEDULES = ("adam", "adamw", "sgd"), ("trapezoid", "cosine", "constant")
PRECISIONS = ("float32", "bfloat16")
OF = {  # settings that not all have: of what, and of which
    "decay": ("optimizer", ("adamw",)),
    "momentum": ("optimizer", ("sgd",)),
    "warmup": ("schedule", ("trapezoid", "cosine")),
    "cooldown": ("schedule", ("trapezoid",)),
}
NORM = re.compile(r"Norm([123]d)?$")  # classes: torch's, and those of others, such as LlamaRMSNorm
FUNCTIONS = (Spline, ScaledSpline, Learnable)
INSTEAD = "by='two_loss' needs none of this"


class ModuleFleet(Fleet):
    """R models of the user's. What they have as buffers (statistics of batches) is kept beside their weights."""

    model: SideBySide
    data: DataOfRuns

    def __init__(self, specs: Sequence[RunSpec], parts: Sequence[tuple[Resolved, ...]], device: str = "cpu"):
        super().__init__(specs, parts, device)
        self.model.train()
        batch = self.data.at(0)
        asked = object_of(known_by(specs[0].model)).way
        self.model.choose(batch.inputs, batch.loss, asked)
        self.resumes = not self.model.changes

    def state(self) -> dict[str, Tensor]:
        buffers = {f"buffer.{i}": buffer.detach() for i, buffer in enumerate(self.model.net.buffers())}
        return super().state() | buffers | {"way": torch.tensor(WAYS.index(self.model.way))}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that `state` gave, in the same way: another one rounds otherwise."""
        super().restore(tensors)
        self.model.way = WAYS[int(tensors["way"])]
        with torch.no_grad():
            for i, buffer in enumerate(self.model.net.buffers()):
                buffer.copy_(tensors[f"buffer.{i}"])

    def run_weights(self, run: int) -> dict[str, Tensor]:
        """What one run has learned, by the names in the user's module: weights, and buffers."""
        weights = {name: weight for name, weight in self.model.net.named_parameters() if weight.requires_grad}
        tensors = weights | dict(self.model.net.named_buffers())
        return {name: tensor.detach()[run].cpu().clone() for name, tensor in tensors.items()}

    @cached_property
    def beyond(self) -> list[float | None]:
        """As Fleet.beyond, of the splines that were put in, on the first batch, one model after the other."""
        put_in = nn.ModuleList(net.get_submodule(name) for net in self.model.every for name in self.model.places)
        counts: list[list[int]] = []

        def count(phi: Spline, given: tuple[Tensor, ...]) -> None:
            counts[-1][0] += int(((given[0] < phi.low) | (given[0] > phi.high)).sum())
            counts[-1][1] += given[0].numel()

        with counting(put_in, count) as any_spline, evaluating(nn.ModuleList(self.model.every)):
            if any_spline:
                self.model.each(self.data.at(0).inputs, lambda: counts.append([0, 0]))
        return [out / of if of else None for out, of in counts] or [None] * len(self.specs)

    def run_notes(self, run: int) -> dict:
        """How the models were computed, why, and whether there was no other way; what the function does not reach."""
        notes = {"way": self.model.way, "why": self.model.note, "needs_loop": self.model.needs_loop}
        said = list(object_of(known_by(self.specs[run].model)).notes)
        if not self.resumes and self.specs[run].model.name:
            cure = "keep it in a buffer (register_buffer), and it goes on"
            said.append(f"a killed call trains its models anew: steps change {listed(self.model.changes)}; {cure}")
        return notes | ({"said": said} if said else {})


class RunMomentum(RunRates):
    """Gradient descent with momentum, as `torch.optim.SGD`."""

    def __init__(self, weights: Sequence[Tensor], runs: int, momentum: float):
        super().__init__(weights, runs)
        self.momentum = momentum

    def change(self, weight: Tensor) -> Tensor:
        return self.moment(weight, "exp_avg").mul_(self.momentum).add_(cast(Tensor, weight.grad))


@optimizer.register(Fit)
def _(recipe: Fit, recipes: Sequence[Fit], model: nn.Module) -> RunAdamW | RunMomentum:
    weights = trainable(model)
    if recipe.optimizer == "sgd":
        return RunMomentum(weights, len(recipes), recipe.momentum)
    decays = [each.decay if recipe.optimizer == "adamw" else 0.0 for each in recipes]
    return RunAdamW(weights, decays, decaying(model))


def decaying(model: nn.Module) -> list[bool]:
    """Which of a model's trainable weights (R, …) decay, in their order: matrices and kernels; no biases, norms and
    functions that learn, of whatever shape."""
    exempt = {
        id(weight)
        for owner in model.modules()
        for name, weight in owner.named_parameters(recurse=False)
        if name.endswith("bias") or isinstance(owner, FUNCTIONS) or NORM.search(type(owner).__name__)
    }
    return [weight.dim() > 2 and id(weight) not in exempt for weight in trainable(model)]


fleet_class.register(Fit, lambda recipe: ModuleFleet)
batch_key.register(Fit, lambda recipe, spec: replace(recipe, rate=0.0))
batch_key.register(ModuleSpec, lambda model, spec: (replace(model, phi="gelu"), form(model.phi)))


@check.register(ModuleSpec)
def _(model: ModuleSpec, spec: RunSpec) -> None:
    if model.phi == "softmax":  # a fleet has no module for it, so that models would keep the activations that they have
        raise ArgumentError("phi='softmax': softmax is no function of one number; give a name such as 'gelu'")


@check.register(Fit)
def _(recipe: Fit, spec: RunSpec) -> None:
    for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES), ("precision", PRECISIONS)):
        if (given := getattr(recipe, name)) not in known:
            raise ArgumentError(f"{name}={given!r}; give {', '.join(known)}")
    for name, (kind, having) in OF.items():
        value, chosen = getattr(recipe, name), getattr(recipe, kind)
        none = chosen == "constant" and value == 0  # which is what it does
        if chosen not in having and value != getattr(Fit, name) and not none:
            others = " or ".join(f"{kind}={one!r}" for one in having)
            raise ArgumentError(f"{name}={value:g}: {chosen} has no {name}; give {others}, or leave {name} out")


class ModulesSearched(Search, ModuleFleet):
    """M models of the user's around one learnable function."""

    spec: ModuleSearch

    @staticmethod
    def check(spec: ModuleSearch) -> None:
        check_whole("models", spec.models)
        check_whole("knots", spec.knots, 2)
        check_number("spline_rate", spec.spline_rate, 0)
        check_choice("start", spec.start, ("zero", *scalars()))
        data = object_of(spec.task)
        if "search" not in data.rows:
            raise ArgumentError(
                f"{data.name} has no split 'search', whose examples the function follows; it has {', '.join(data.rows)}"
            )
        check_run(run_of(spec))

    @staticmethod
    def learns(spec: ModuleSearch, name: str) -> bool:
        return name == "phi"

    @staticmethod
    def description(spec: ModuleSearch) -> str:
        return "search by two losses"

    def start(self, given: Mapping[str, Resolved]) -> tuple[ModuleSpec, Fit]:
        return replace(self.spec.model, phi=start_of(self.spec)), self.spec.recipe

    def shared(self) -> dict[str, Spline]:
        return {"phi": self.model.spline}

    def divide(self) -> None:
        data, spec, models = self.data.data, self.spec, self.spec.models
        self.data.training = self.data.drawn("train")
        held_out = Drawn(data, data.rows["search"], [spec.seed], spec.recipe.batch, self.device)
        if held_out.order is not None:
            held_out.order.purpose = "search batches"

        def for_all(part: Tensor) -> Tensor:
            return part.expand(models, *part.shape[1:])

        def search_batch(step: int) -> Batch:
            batch = held_out.at(step)
            inputs, targets = mapped(for_all, batch.inputs), for_all(batch.targets)
            return replace(batch, inputs=inputs, targets=targets, noise=(self.seeds, step))

        self.search_batch = search_batch


class ModuleInnerTask(InnerTask):
    """Modules of the user's, one a restart, with the function of its restart in the place of activations."""

    def __init__(
        self, task: DataSpec, spec: EpisodeSpec, phi: Functions, given: Mapping[str, Resolved], device: torch.device
    ):
        self.spec, self.device, self.phi = spec, device, phi
        self.data: Data = object_of(task)
        rows = torch.cat([self.data.rows[name] for name in spec.pool])
        self.inputs, self.targets = on_device(take(self.data.inputs, rows), device), self.data.targets[rows].to(device)
        self.count = len(self.targets)
        self.maker: Maker = object_of(known_by(spec.model))  # type: ignore[arg-type]
        self.place = Spline.zeros(spec.restarts[0].knots, spec.low, spec.high)
        self.way = "loop"
        self.fresh([restart.seed for restart in spec.restarts])
        if any(weight.is_complex() for weight in self.model.net.parameters()):
            raise ArgumentError(f"by='episodes' has no steps for complex weights; {INSTEAD}")
        self._choose()

    def fresh(self, seeds: Sequence[int]) -> None:
        """As `InnerTask.fresh`, with what does not learn; dropout has streams of these seeds, too."""
        self.noise, nets = list(seeds), [self.maker.new(seed) for seed in seeds]
        for net in nets:
            names = put(net, self.maker.old, self.place, shared=True)
        self.model = SideBySide(nets).to(self.device)
        self.model.way, self.model.writes = self.way, self.maker.writes
        self.knots = self.model.net.get_submodule(names[0]).values
        self.places = [w for w in self.model.net.parameters() if w.requires_grad and w is not self.knots]
        self.drawn = [weight.detach() for weight in self.places]

    def outputs(self, weights: Sequence[Tensor], batch: Examples) -> Tensor:
        """As `InnerTask.outputs`: in training mode on the batch of a step, else in evaluation mode."""
        self.model.train(batch.noise is not None)
        instead = {id(place): weight for place, weight in zip(self.places, weights, strict=True)}
        instead[id(self.knots)] = self.phi.values[0][:, 0].to(weights[0])
        with _differentiable_attention():
            return self.model(batch.inputs, batch.noise, instead)

    def rows(self, index: Tensor) -> Examples:
        return Examples(self.data, take(self.inputs, index), self.targets[index])

    def at_step(self, batch: Examples, step: int) -> Examples:
        """With the noise of the step, the same however often it is computed."""
        return replace(batch, noise=(self.noise, step))

    def score(self, outputs: Tensor, batch: Examples) -> Tensor:
        """The first metric, turned so that more is better."""
        metric = next(iter(self.data.metrics.values()))
        pairs = zip(outputs, batch.targets, strict=True)
        scores = [measures.scores(metric, out[None], target, self.data.is_causal) for out, target in pairs]
        return measures.sign(metric) * torch.cat(scores)

    def _choose(self) -> None:
        """Whether the models are computed at once; and whether a step can be computed twice, and differentiated."""
        runs, rows = len(self.spec.restarts), min(self.count, self.spec.inner.batch or self.count)
        index = torch.arange(rows, device=self.device).expand(runs, rows)
        batch = self.at_step(self.rows(index), 0)
        before = {name: buffer.clone() for name, buffer in self.model.net.named_buffers()}
        self.model.choose(batch.inputs, batch.loss, self.maker.way, timed=False)
        self.way = self.model.way
        self.model.train()
        with torch.no_grad():
            self.outputs(self.weights(), batch)
        for name, buffer in self.model.net.named_buffers():
            if not torch.equal(buffer, before[name]):
                raise ArgumentError(
                    f"by='episodes' computes each step twice, and {name} would change in both: give a model without "
                    f"statistics of batches, as with torch.nn.GroupNorm; {INSTEAD}"
                )
        count = len(self.drawn)
        state = [w.requires_grad_() for w in self.weights()]
        state = [*state, *(torch.zeros_like(w) for _ in range(2) for w in state)]
        try:
            after, _ = self.step(state, count, batch, 0, create_graph=True)
            torch.autograd.grad([t.sum() for t in after[:count]], [*state[:count], *self.phi.values], allow_unused=True)
        except RuntimeError as error:
            raise ArgumentError(
                "by='episodes' differentiates whole training steps, which this model does not allow "
                f"({shortened(str(error).split('.')[0], 100)}); {INSTEAD}"
            ) from error


@contextmanager
def _differentiable_attention() -> Iterator[None]:
    """Without torch's fast kernels of attention, which have no second derivative; those of evaluation have no first."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


inner_task.register(DataSpec, ModuleInnerTask)


@check_task.register(DataSpec)
def _(task: DataSpec, spec: EpisodeSpec) -> None:
    data: Data = object_of(task)
    if missing := [name for name in (*spec.pool, spec.retrain.watch) if name not in data.rows]:
        raise ArgumentError(
            f"{data.name} has no split {missing[0]!r}, which episodes need; it has {', '.join(data.rows)}"
        )
    if spec.learn != "shared" or len({restart.knots for restart in spec.restarts}) > 1:
        raise ArgumentError(
            "in a model of your own, episodes learn one function for all layers, of one number of knots"
        )
    check_number("rate", spec.inner.rate, 0)
    check_run(RunSpec(task, spec.model, spec.retrain, 0, (), spec.task_seed))


@most_rows.register(DataSpec)
def _(task: DataSpec, spec: EpisodeSpec) -> int:
    return sum(len(object_of(task).rows[name]) for name in spec.pool)


@deciding.register(DataSpec)
def _(task: DataSpec) -> tuple[tuple[str, str], int]:
    data = cast(Data, object_of(task))
    name, metric = next(iter(data.metrics.items()))
    return (name, "loss"), measures.sign(metric)
