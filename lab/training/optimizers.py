"""How weights are trained: learning-rate schedules, steps of gradient descent, the optimizers of fleets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_whole
from lab.kinds import batch_key, check, optimizer
from lab.models.layers import Norm
from lab.spec import AdamTrapezoid, AdamWCosine, ConstantRate, Fit, RunSpec, replace

FLOOR = 0.1  # of the peak rate, where the cosine ends
EPSILON = 1e-8  # under Adam's and RMSprop's steps, as in torch
RMS_MEMORY = 0.99  # as in torch; of squared gradients
MOMENTS = {"sgd": (), "rmsprop": ("exp_avg_sq",), "adam": ("exp_avg", "exp_avg_sq")}  # what a rule remembers
RULES, KEEPS = tuple(MOMENTS), ("best", "last")  # what a `ConstantRate` may have
# Matrices in the reference code of the hypernetwork paper, which lets all matrices decay.
REFERENCE_DECAYS = ("relative", "query.bias", "key.bias", "value.bias")


def factor(step: int, recipe: object) -> float:
    """Fraction of the peak rate at `step` (counted from 0), by the schedule of this kind of recipe."""
    return factor_of(recipe, step)


@singledispatch
def factor_of(recipe: object, step: int) -> float:
    """As `factor`; each kind of recipe registers its own."""
    return 1.0  # constant


@factor_of.register(Fit)
def _(recipe: Fit, step: int) -> float:
    """A cosine is a trapezoid without its constant part."""
    if recipe.schedule == "constant":
        return 1.0
    cooldown = 1 - recipe.warmup if recipe.schedule == "cosine" else recipe.cooldown
    return trapezoid(step, replace(recipe, cooldown=cooldown))


factor_of.register(AdamTrapezoid, lambda recipe, step: trapezoid(step, recipe))
factor_of.register(AdamWCosine, lambda recipe, step: cosine(step, recipe))


def trapezoid(step: int, recipe: AdamTrapezoid | Fit) -> float:
    """Linear warm-up, constant, cosine cool-down to zero.

    >>> r = AdamTrapezoid(steps=100, rate=1.0, batch=1)
    >>> [round(trapezoid(s, r), 2) for s in (0, 4, 30, 50, 75, 99)]
    [0.2, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    warm = max(1, round(recipe.warmup * recipe.steps))
    cool = round(recipe.cooldown * recipe.steps)
    if step < warm:
        return (step + 1) / warm
    into = step - (recipe.steps - cool)
    return 1.0 if into <= 0 else 0.5 * (1 + math.cos(math.pi * into / cool))


def cosine(step: int, recipe: AdamWCosine) -> float:
    """Linear warm-up from 0, cosine to a tenth. As in the reference code, the cosine ends `warmup` steps before the
    last, and the rate stays at a tenth from there on.

    >>> r = AdamWCosine(steps=100, rate=1.0, batch=1, warmup=10)
    >>> [round(cosine(s, r), 3) for s in (0, 5, 10, 50, 90, 99)]
    [0.0, 0.5, 1.0, 0.55, 0.1, 0.1]
    """
    if step < recipe.warmup:
        return step / recipe.warmup
    into = (step - recipe.warmup) / max(1, recipe.steps - 2 * recipe.warmup)
    return FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * min(1.0, into)))


def descend(
    rule: str, weight: Tensor, gradient: Tensor, moments: dict[str, Tensor], count: int, rates: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """A weight (R, …) after step number `count`, counted from 1, and the rule's moments. rates: (R,), of the runs.

    The constants are torch's defaults. It can be differentiated: where a gradient is zero, too.

    >>> descend("sgd", torch.ones(1, 2), torch.tensor([[1.0, 0.0]]), {}, 1, torch.tensor([0.5]))[0]
    tensor([[0.5000, 1.0000]])
    """
    rates = rates.view(-1, *[1] * (weight.dim() - 1))
    if rule == "sgd":
        return weight - rates * gradient, {}
    nothing = torch.zeros_like(weight)
    one, two = (0.9, 0.999) if rule == "adam" else (0.0, RMS_MEMORY)
    square = two * moments.get("exp_avg_sq", nothing) + (1 - two) * gradient**2
    if rule == "rmsprop":
        return weight - rates * gradient / (_root(square) + EPSILON), {"exp_avg_sq": square}
    mean = one * moments.get("exp_avg", nothing) + (1 - one) * gradient
    size = _root(square) / (1 - two**count) ** 0.5 + EPSILON
    return weight - rates / (1 - one**count) * mean / size, {"exp_avg": mean, "exp_avg_sq": square}


def _root(square: Tensor) -> Tensor:
    """The square root, with slope 0 at 0, where it is not differentiable and a gradient of zero leads."""
    positive = square > 0
    return torch.where(positive, torch.where(positive, square, 1.0).sqrt(), 0.0)


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
            tensors = [_real(targets[n]) for n in used]
            gradients = [_real(cast(Tensor, weights[n].grad)) for n in used]
            means, squares = ([_real(entry[name]) for entry in state] for name in ("exp_avg", "exp_avg_sq"))
            rates: Any = {"lr": rate, "beta1": one, "beta2": two, "weight_decay": 0.0, "eps": EPSILON}
            torch._fused_adam_(tensors, gradients, means, squares, [], steps, **rates, amsgrad=False, maximize=False)

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
        self.param_groups[0]["lr"] = recipes[0].rate * factor(step, recipes[0])

    def hold(self, alive: Sequence[bool]) -> None:
        """Nothing to do: without a gradient and moments, weights do not move."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        self.move(self.weights, self.param_groups[0]["lr"])


class RunRates(torch.optim.Optimizer):
    """An optimizer with a rate for each run: `rates` (R,), which is set before each step."""

    rates: list[float]

    def set_rates(self, recipes: Sequence[Any], step: int) -> None:
        self.rates = [recipe.rate * factor(step, recipe) for recipe in recipes]

    def hold(self, alive: Sequence[bool]) -> None:
        self.rates = [rate if lives else 0.0 for rate, lives in zip(self.rates, alive, strict=True)]


class RunAdamW(RunRates, Fused):
    """AdamW (Loshchilov & Hutter 2019) for weights whose leading axis are runs: each run has its rate and its decay.

    w ← w (1 - rate · decay), then Adam's step. With equal rates it is `torch.optim.AdamW` up to rounding.

    decays (R,): of each run. decaying: which weights decay at all. `rates` (R,) is set before every step.
    """

    def __init__(
        self, weights: Sequence[Tensor], decays: Sequence[float], decaying: Sequence[bool], betas=(0.9, 0.999)
    ):
        Fused.__init__(self, weights, betas)
        self.decays, self.decaying = list(decays), list(decaying)
        self.rates = [0.0] * len(self.decays)
        self.changes: list[Tensor] = []

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
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


optimizer.register(AdamTrapezoid, lambda recipe, recipes, model: Adam(trainable(model), recipe.betas))


@optimizer.register(AdamWCosine)
def _(recipe: AdamWCosine, recipes: Sequence[AdamWCosine], model: nn.Module) -> RunAdamW:
    decays = [each.decay for each in recipes]
    return RunAdamW(trainable(model), decays, decaying(model, recipe.decay_tables), recipe.betas)


@optimizer.register(ConstantRate)
def _(recipe: ConstantRate, recipes: Sequence[ConstantRate], model: nn.Module) -> RunAdamW | RunDescent:
    weights = trainable(model)
    if recipe.optimizer == "adam":
        return RunAdamW(weights, [0.0] * len(recipes), [False] * len(weights))
    return RunDescent(weights, len(recipes), recipe.optimizer == "rmsprop")


batch_key.register(AdamWCosine, lambda recipe, spec: replace(recipe, rate=0.0, decay=0.0, warmup=0))
batch_key.register(ConstantRate, lambda recipe, spec: replace(recipe, rate=0.0))


@check.register(ConstantRate)
def _(recipe: ConstantRate, spec: RunSpec) -> None:
    if recipe.optimizer not in RULES:
        raise ArgumentError(f"unknown optimizer {recipe.optimizer!r}; known: {', '.join(RULES)}")
    if recipe.keep not in KEEPS:
        raise ArgumentError(f"keep={recipe.keep!r}; give {' or '.join(KEEPS)}")
    check_whole("average", recipe.average)


def decaying(model: nn.Module, tables: bool = False) -> list[bool]:
    """Which of a model's weights decay, in their order: all but biases, norms and relative positions.

    tables: relative positions and the biases of queries, keys and values as well, as in the reference code.
    """
    norms = {id(p) for module in model.modules() if isinstance(module, Norm) for p in module.parameters()}
    flags = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            exempt = id(parameter) in norms or name.rpartition(".")[2] in ("bias", "relative")
            flags.append(not exempt or (tables and name.endswith(REFERENCE_DECAYS)))
    return flags
