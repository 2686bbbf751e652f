"""Episodes in models of the user's: what is trained in one, and what such a search needs of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from lab.data import measures
from lab.data.data import Data, take
from lab.errors import ArgumentError, check_number, shortened
from lab.kinds import check_run
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import put
from lab.seeds import stream
from lab.spec import DataSpec, EpisodeSpec, Resolved, RunSpec, remembered, replace
from lab.training.inner_task import InnerTask, check_task, inner_task, most_rows
from lab.training.knots import Functions
from lab.training.modules.examples import Examples, on_device
from lab.training.modules.maker import Maker
from lab.training.modules.side_by_side import SideBySide, known_by
from lab.training.selection import deciding

INSTEAD = "by='two_loss' needs none of this"


class ModuleInnerTask(InnerTask):
    """Modules of the user's, one a restart, with the function of its restart in the place of activations."""

    def __init__(self, spec: EpisodeSpec, task: DataSpec, phi: Functions, device: torch.device):
        self.spec, self.device, self.phi = spec, device, phi
        self.data: Data = remembered(task)
        rows = torch.cat([self.data.rows[name] for name in spec.pool])
        self.inputs, self.targets = on_device(take(self.data.inputs, rows), device), self.data.targets[rows].to(device)
        self.maker: Maker = remembered(known_by(spec.model))  # type: ignore[arg-type]
        restart = spec.restarts[0]
        place = Spline.zeros(restart.knots, spec.low, spec.high)
        nets = [self.maker.new(stream(restart.seed, "episodes")) for restart in spec.restarts]
        for net in nets:
            put(net, self.maker.old, place, shared=True)
        self.model = SideBySide(nets).to(device)
        self.knots = next(m.values for m in self.model.net.modules() if isinstance(m, Spline))
        if any(weight.is_complex() for weight in self.model.net.parameters()):
            raise ArgumentError(f"by='episodes' has no steps for complex weights; {INSTEAD}")
        parameters = self.model.net.named_parameters()
        self.names = [name for name, weight in parameters if weight.requires_grad and weight is not self.knots]
        held = dict(self.model.net.named_parameters())
        self.places = [held[name] for name in self.names]
        self.noise: Sequence[int] = [restart.seed for restart in spec.restarts]
        self.fresh(self.noise)
        self._choose()

    @property
    def count(self) -> int:
        """As `InnerTask.count`."""
        return len(self.targets)

    def fresh(self, seeds: Sequence[int]) -> None:
        """As `InnerTask.fresh`; dropout has streams of these seeds, too."""
        self.noise = list(seeds)
        made = [dict(self.maker.new(seed).named_parameters()) for seed in seeds]
        self.drawn = [torch.stack([weights[name].detach() for weights in made]).to(self.device) for name in self.names]

    def weights(self) -> list[Tensor]:
        """As `InnerTask.weights`."""
        return [weight.clone() for weight in self.drawn]

    def outputs(self, weights: Sequence[Tensor], batch: Examples) -> Tensor:
        """As `InnerTask.outputs`: in training mode on the batch of a step, else in evaluation mode."""
        self.model.train(batch.noise is not None)
        instead = {id(place): weight for place, weight in zip(self.places, weights, strict=True)}
        instead[id(self.knots)] = self.phi.values[0][:, 0].to(weights[0])
        with _differentiable_attention():
            return self.model(batch.inputs, batch.noise, instead)

    def rows(self, index: Tensor) -> Examples:
        """As `InnerTask.rows`."""
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


@inner_task.register(DataSpec)
def _(
    task: DataSpec, spec: EpisodeSpec, phi: Functions, given: Mapping[str, Resolved], device: torch.device
) -> InnerTask:
    return ModuleInnerTask(spec, task, phi, device)


@check_task.register(DataSpec)
def _(task: DataSpec, spec: EpisodeSpec) -> None:
    data: Data = remembered(task)
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
    data: Data = remembered(task)
    return sum(len(data.rows[name]) for name in spec.pool)


@deciding.register(DataSpec)
def _(task: DataSpec) -> tuple[tuple[str, str], int]:
    data = cast(Data, remembered(task))
    name, metric = next(iter(data.metrics.items()))
    return (name, "loss"), measures.sign(metric)
