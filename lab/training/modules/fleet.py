"""A fleet of the user's models: as any other, with their buffers, and computed in the way that is faster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import check, optimizer, signature
from lab.nonlinearity.spline import Spline
from lab.spec import Fit, ModuleSpec, Resolved, RunSpec, remembered, replace
from lab.spec.forms import form
from lab.training.fleet import Fleet, counting, fleet_class
from lab.training.modules.examples import DataOfRuns
from lab.training.modules.side_by_side import WAYS, SideBySide, known_by
from lab.training.optimizers import RunAdamW, RunRates, trainable

OPTIMIZERS, SCHEDULES = ("adam", "adamw", "sgd"), ("trapezoid", "cosine", "constant")
PRECISIONS = ("float32", "bfloat16")
OF = {  # settings that not all have: of what, and of which
    "decay": ("optimizer", ("adamw",)),
    "momentum": ("optimizer", ("sgd",)),
    "warmup": ("schedule", ("trapezoid", "cosine")),
    "cooldown": ("schedule", ("trapezoid",)),
}


class ModuleFleet(Fleet):
    """R models of the user's. What they have as buffers (statistics of batches) is kept beside their weights."""

    model: SideBySide

    def __init__(self, specs: Sequence[RunSpec], parts: Sequence[tuple[Resolved, ...]], device: str = "cpu"):
        super().__init__(specs, parts, device)
        self.model.train()
        batch = cast(DataOfRuns, self.data).at(0)
        asked = remembered(known_by(specs[0].model)).way
        self.model.choose(batch.inputs, batch.loss, asked)

    def freeze(self) -> None:
        """As Fleet.freeze; weights that the loss does not depend on stay where they are."""
        for weight in self.weights:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        super().freeze()

    def state(self) -> dict[str, Tensor]:
        """As Fleet.state, with buffers, and the way in which the models are computed."""
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
        """As Fleet.beyond, on the first batch, one model after the other."""
        counts: list[list[int]] = []

        def count(phi: Spline, given: tuple[Tensor, ...]) -> None:
            counts[-1][0] += int(((given[0] < phi.low) | (given[0] > phi.high)).sum())
            counts[-1][1] += given[0].numel()

        with counting(self.model, count) as any_spline:
            if any_spline:
                self.model.each(cast(DataOfRuns, self.data).at(0).inputs, lambda: counts.append([0, 0]))
        return [out / of if of else None for out, of in counts] or [None] * len(self.specs)

    def run_notes(self, run: int) -> dict:
        """How the models were computed, why, and whether there was no other way; what the function does not reach."""
        notes = {"way": self.model.way, "why": self.model.note, "needs_loop": self.model.needs_loop}
        said = list(remembered(known_by(self.specs[run].model)).notes)
        return notes | ({"said": said} if said else {})


class RunMomentum(RunRates):
    """Gradient descent with momentum for weights whose leading axis are runs, each with its rate; `torch.optim.SGD`."""

    def __init__(self, weights: Sequence[Tensor], runs: int, momentum: float):
        super().__init__(weights, {})
        self.rates, self.momentum = [0.0] * runs, momentum

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        """One step for all runs, from the gradients."""
        weights = self.param_groups[0]["params"]
        rates = torch.tensor(self.rates, dtype=torch.float64).to(weights[0].real)
        for weight in weights:
            state = self.state[weight]
            if not state:
                state["exp_avg"] = torch.zeros_like(weight)
            velocity = state["exp_avg"].mul_(self.momentum).add_(weight.grad)
            weight.addcmul_(rates.view(-1, *[1] * (weight.dim() - 1)), velocity, value=-1)


@fleet_class.register(Fit)
def _(recipe: Fit) -> type[Fleet]:
    return ModuleFleet


@optimizer.register(Fit)
def _(recipe: Fit, recipes: Sequence[Fit], model: nn.Module) -> RunAdamW | RunMomentum:
    weights = trainable(model)
    if recipe.optimizer == "sgd":
        return RunMomentum(weights, len(recipes), recipe.momentum)
    decays = [each.decay if recipe.optimizer == "adamw" else 0.0 for each in recipes]
    return RunAdamW(weights, decays, [weight.dim() > 2 for weight in weights])


@signature.register(Fit)
def _(recipe: Fit, spec: RunSpec) -> Fit:
    return replace(recipe, rate=0.0)


@signature.register(ModuleSpec)
def _(model: ModuleSpec, spec: RunSpec) -> tuple:
    return replace(model, phi="gelu"), form(model.phi)


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
