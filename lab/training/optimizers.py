"""The optimizers of fleets: Adam where all runs have one rate; AdamW and plain descent with a rate for each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab.spec import AdamTrapezoid
from lab.training.descent import EPSILON, RMS_MEMORY
from lab.training.schedules import factor


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The weights of a model, without what stays as it is, such as the knots of a function that was learned before."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


class Fused(torch.optim.Optimizer):
    """An optimizer whose moments torch's fused kernel of Adam keeps up, one pass over memory for all weights."""

    def __init__(self, weights: Sequence[Tensor], betas: tuple[float, float]):
        super().__init__(weights, {"lr": 0.0})
        self.betas = betas
        self.alike: list[list[int]] = []  # known at the first step: a model may be moved before it

    @property
    def weights(self) -> list[Tensor]:
        """All of them, in their order."""
        return self.param_groups[0]["params"]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As torch's, without its hooks: they cost as much as a small fleet's loss."""
        for weight in self.weights:
            weight.grad = None

    def move(self, targets: Sequence[Tensor], rate: float) -> None:
        """Take in the gradients of the weights, and Adam's step with this rate away from each target."""
        weights, (one, two) = self.weights, self.betas
        self.alike = self.alike or self._alike()
        for numbers in self.alike:
            used = [n for n in numbers if weights[n].grad is not None]  # torch's Adam leaves out the others, too
            state = [self._remembered(weights[n]) for n in used]
            steps = [entry["step"] for entry in state]
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                [_real(targets[n]) for n in used],
                [_real(cast(Tensor, weights[n].grad)) for n in used],
                [_real(entry["exp_avg"]) for entry in state],
                [_real(entry["exp_avg_sq"]) for entry in state],
                [],
                steps,
                lr=rate,
                beta1=one,
                beta2=two,
                weight_decay=0.0,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )

    def _alike(self) -> list[list[int]]:
        """Numbers of the weights of each type and device: the kernel takes tensors of one."""
        kinds: dict[tuple, list[int]] = {}
        for number, weight in enumerate(self.weights):
            kinds.setdefault((weight.dtype, weight.device), []).append(number)
        return list(kinds.values())

    def _remembered(self, weight: Tensor) -> dict[str, Tensor]:
        state = self.state[weight]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=weight.device)
            state |= {name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")}
        return state


def _real(tensor: Tensor) -> Tensor:
    """A complex number as its two parts, each with moments of its own, as in torch's Adam."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


class Adam(Fused):
    """`torch.optim.Adam`, fused, for runs that share one rate: the same bits with less Python a step."""

    def set_rates(self, recipes: Sequence[AdamTrapezoid], step: int) -> None:
        """As `lab.kinds.Optimizer` says."""
        self.param_groups[0]["lr"] = recipes[0].rate * factor(step, recipes[0])

    def hold(self, alive: Sequence[bool]) -> None:
        """Nothing to do: without a gradient and moments, weights do not move."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        """One step for all runs, from the gradients."""
        self.move(self.weights, self.param_groups[0]["lr"])


class RunRates(torch.optim.Optimizer):
    """An optimizer with a rate for each run: `rates` (R,), which is set before each step."""

    rates: list[float]

    def set_rates(self, recipes: Sequence[Any], step: int) -> None:
        """As `lab.kinds.Optimizer` says."""
        self.rates = [recipe.rate * factor(step, recipe) for recipe in recipes]

    def hold(self, alive: Sequence[bool]) -> None:
        """As `lab.kinds.Optimizer` says."""
        self.rates = [rate if lives else 0.0 for rate, lives in zip(self.rates, alive, strict=True)]


class RunAdamW(RunRates, Fused):
    """AdamW (Loshchilov & Hutter 2019) for weights whose leading axis are runs: each run has its rate and its decay.

    w ← w (1 - rate · decay), then Adam's step. With equal rates it is `torch.optim.AdamW` up to rounding.

    decays (R,): of each run. decaying: which weights decay at all. `rates` (R,) is set before every step.
    """

    def __init__(
        self,
        weights: Sequence[Tensor],
        decays: Sequence[float],
        decaying: Sequence[bool],
        betas: tuple[float, float] = (0.9, 0.999),
    ):
        Fused.__init__(self, weights, betas)
        self.decays, self.decaying = list(decays), list(decaying)
        self.rates = [0.0] * len(self.decays)
        self.changes: list[Tensor] = []

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        """One step for all runs, from the gradients."""
        weights = self.weights
        self.changes = self.changes or [torch.empty_like(weight) for weight in weights]
        torch._foreach_zero_(self.changes)
        self.move(self.changes, 1.0)  # each run has a rate of its own, the kernel one for all: what it would subtract
        rates = torch.tensor(self.rates, dtype=torch.float64)
        shrink = 1 - rates * torch.tensor(self.decays, dtype=torch.float64)
        rates, shrink = (values.to(weights[0].real) for values in (rates, shrink))  # (R,), on the device
        for weight, change, decays in zip(weights, self.changes, self.decaying, strict=True):
            of_run = (-1, *[1] * (weight.dim() - 1))
            if decays:
                weight.mul_(shrink.view(of_run))
            weight.addcmul_(rates.view(of_run), change)


class RunDescent(RunRates):
    """Gradient descent for weights whose leading axis are runs, each with its rate; scaled: RMSprop.

    `descend` in place, with half the passes over memory. With equal rates it is `torch.optim.SGD`, scaled
    `torch.optim.RMSprop`, up to rounding. `rates` (R,) is set before each step.
    """

    def __init__(self, weights: Sequence[Tensor], runs: int, scaled: bool):
        super().__init__(weights, {})
        self.rates, self.scaled = [0.0] * runs, scaled

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        """One step for all runs, from the gradients."""
        weights = self.param_groups[0]["params"]
        rates = torch.tensor(self.rates, dtype=torch.float64).to(weights[0])
        for weight in weights:
            change = weight.grad
            if self.scaled:
                state = self.state[weight]
                if not state:
                    state["exp_avg_sq"] = torch.zeros_like(weight)
                square = state["exp_avg_sq"].mul_(RMS_MEMORY).addcmul_(change, change, value=1 - RMS_MEMORY)
                change = change / square.sqrt().add_(EPSILON)
            weight.addcmul_(rates.view(-1, *[1] * (weight.dim() - 1)), change, value=-1)
