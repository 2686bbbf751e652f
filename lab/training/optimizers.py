"""How weights are trained: learning-rate schedules, steps of gradient descent, the optimizers of fleets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import batch_key, check, optimizer
from lab.models.layers import Embedding, Norm
from lab.nonlinearity.table import Learnable
from lab.spec import AdamTrapezoid, AdamWCosine, Fit, RunSpec, register, replace
from lab.spec.recipes import Steps

FLOOR = 0.1  # of the peak rate, where the cosine ends
EPSILON = 1e-8  # under Adam's and RMSprop's steps, as in torch
RMS_MEMORY = 0.99  # as in torch; of squared gradients
MOMENTS = {"sgd": (), "rmsprop": ("exp_avg_sq",), "adam": ("exp_avg", "exp_avg_sq")}  # what a rule remembers
RULES = tuple(MOMENTS)
# Matrices in the reference code of the hypernetwork paper, which lets all matrices decay.
REFERENCE_DECAYS = ("relative", "query.bias", "key.bias", "value.bias")
POLYNOMIAL = (3.4445, -4.7750, 2.0315)  # of Muon, for a singular value s: a s + b s³ + c s⁵
ROUNDS, SMALL = 5, 1e-7


@singledispatch
def factor(recipe: object, step: int) -> float:
    """Fraction of the peak rate at `step` (counted from 0), by the schedule of this kind of recipe."""
    return 1.0  # constant


@factor.register(Fit)
def _(recipe: Fit, step: int) -> float:
    """A cosine is a trapezoid without its constant part."""
    if recipe.schedule == "constant":
        return 1.0
    cooldown = 1 - recipe.warmup if recipe.schedule == "cosine" else recipe.cooldown
    return trapezoid(replace(recipe, cooldown=cooldown), step)


@factor.register(AdamTrapezoid)
def trapezoid(recipe: AdamTrapezoid | Fit, step: int) -> float:
    """Linear warm-up, constant, cosine cool-down to zero.

    >>> r = AdamTrapezoid(steps=100, rate=1.0, batch=1)
    >>> [round(trapezoid(r, s), 2) for s in (0, 4, 30, 50, 75, 99)]
    [0.2, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    warm = max(1, round(recipe.warmup * recipe.steps))
    cool = round(recipe.cooldown * recipe.steps)
    if step < warm:
        return (step + 1) / warm
    into = step - (recipe.steps - cool)
    return 1.0 if into <= 0 else 0.5 * (1 + math.cos(math.pi * into / cool))


@factor.register(AdamWCosine)
def cosine(recipe: AdamWCosine, step: int) -> float:
    """Linear warm-up from 0, cosine to a tenth. As in the reference code, the cosine ends `warmup` steps before the
    last, and the rate stays at a tenth from there on.

    >>> r = AdamWCosine(steps=100, rate=1.0, batch=1, warmup=10)
    >>> [round(cosine(r, s), 3) for s in (0, 5, 10, 50, 90, 99)]
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
    rates = of_runs(rates, weight)
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


def of_runs(values: Tensor, weight: Tensor) -> Tensor:
    """Values of the runs, (R,), so that they broadcast over a weight (R, …)."""
    return values.view(-1, *[1] * (weight.dim() - 1))


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The weights of a model, without what stays as it is, such as the knots of a function that was learned before."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


class FleetOptimizer(torch.optim.Optimizer):
    """An optimizer of weights whose leading axis are runs."""

    @property
    def weights(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def moment(self, weight: Tensor, name: str) -> Tensor:
        """A moment of a weight; zeros before its first step."""
        state = self.state[weight]
        if name not in state:
            state[name] = torch.zeros_like(weight)
        return state[name]


class Fused(FleetOptimizer):
    """An optimizer whose moments are those of torch's fused kernel of Adam, one pass over memory for all weights."""

    def __init__(self, weights: Sequence[Tensor], betas: tuple[float, float]):
        super().__init__(weights, {"lr": 0.0})
        self.betas = betas
        self.alike: list[list[int]] = []  # known at the first step: a model may be moved before it

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As torch's, without its hooks: they cost as much as a small fleet's loss."""
        for weight in self.weights:
            weight.grad = None

    def move(self, targets: Sequence[Tensor], rate: float) -> None:
        """Update the moments from the gradients of the weights, and take Adam's step from each target."""
        weights, (one, two) = self.weights, self.betas
        self.alike = self.alike or self._alike()
        for numbers in self.alike:
            used = [n for n in numbers if weights[n].grad is not None]  # torch's Adam leaves out the others, too
            if not used:
                continue
            steps = [self._steps(weights[n]) for n in used]
            torch._foreach_add_(steps, 1)
            tensors = [_real(targets[n]) for n in used]
            gradients = [_real(cast(Tensor, weights[n].grad)) for n in used]
            means, squares = ([_real(self.moment(weights[n], m)) for n in used] for m in ("exp_avg", "exp_avg_sq"))
            rates: Any = {"lr": rate, "beta1": one, "beta2": two, "weight_decay": 0.0, "eps": EPSILON}
            torch._fused_adam_(tensors, gradients, means, squares, [], steps, **rates, amsgrad=False, maximize=False)

    def _alike(self) -> list[list[int]]:
        """Numbers of the weights of each type and device: the kernel takes tensors of one."""
        kinds: dict[tuple, list[int]] = {}
        for number, weight in enumerate(self.weights):
            kinds.setdefault((weight.dtype, weight.device), []).append(number)
        return list(kinds.values())

    def _steps(self, weight: Tensor) -> Tensor:
        state = self.state[weight]
        if "step" not in state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=weight.device)
        return state["step"]


def _real(tensor: Tensor) -> Tensor:
    """A complex number as its two parts, each with moments of its own, as in torch's Adam."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


class Adam(Fused):
    """`torch.optim.Adam`, fused, for runs that share one rate: the same bits with less Python a step."""

    def set_rates(self, recipes: Sequence[AdamTrapezoid], step: int) -> None:
        self.param_groups[0]["lr"] = recipes[0].rate * factor(recipes[0], step)

    def hold(self, alive: Sequence[bool]) -> None:
        """Nothing to do: without a gradient and moments, weights do not move."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        self.move(self.weights, self.param_groups[0]["lr"])


class RunRates(FleetOptimizer):
    """An optimizer with a rate for each run: `rates` (R,), which is set before each step. w ← w - rate · change, of
    weights with a gradient, as in torch."""

    def __init__(self, weights: Sequence[Tensor], runs: int):
        super().__init__(weights, {})
        self.rates = [0.0] * runs

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        rates = torch.tensor(self.rates, dtype=torch.float64).to(self.weights[0].real)
        for weight in self.weights:
            if weight.grad is not None:
                weight.addcmul_(of_runs(rates, weight), self.change(weight), value=-1)

    def change(self, weight: Tensor) -> Tensor:
        """What a rate of 1 takes from a weight."""
        return cast(Tensor, weight.grad)

    def set_rates(self, recipes: Sequence[Any], step: int) -> None:
        self.rates = [recipe.rate * factor(recipe, step) for recipe in recipes]

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
        known = [weight.grad is not None for weight in weights]
        self.move(self.changes, 1.0)  # each run has a rate of its own, the kernel one for all: what it would subtract
        rates = torch.tensor(self.rates, dtype=torch.float64)
        shrink = 1 - rates * torch.tensor(self.decays, dtype=torch.float64)
        rates, shrink = (values.to(weights[0].real) for values in (rates, shrink))  # (R,), on the device
        for weight, change, decays, has_gradient in zip(weights, self.changes, self.decaying, known, strict=True):
            if decays and has_gradient:
                weight.mul_(of_runs(shrink, weight))
            weight.addcmul_(of_runs(rates, weight), change)


class RunDescent(RunRates):
    """Gradient descent, scaled: RMSprop; `descend` in place, with half the passes over memory. With equal rates it is
    `torch.optim.SGD`, scaled `torch.optim.RMSprop`, up to rounding."""

    def __init__(self, weights: Sequence[Tensor], runs: int, scaled: bool):
        super().__init__(weights, runs)
        self.scaled = scaled

    def change(self, weight: Tensor) -> Tensor:
        gradient = cast(Tensor, weight.grad)
        if not self.scaled:
            return gradient
        square = self.moment(weight, "exp_avg_sq").mul_(RMS_MEMORY)
        square.addcmul_(gradient, gradient, value=1 - RMS_MEMORY)
        return gradient / square.sqrt().add_(EPSILON)


@register
@dataclass(frozen=True)
class MuonRecipe(Steps):
    """Muon (Jordan et al. 2024) for the matrices of the blocks, Adam for all else, as in record 16 of the NanoGPT
    speedrun: rates are those of the record, for its 1,480 steps of 524,288 tokens. They are constant and then fall to 0
    in a straight line; there is no warm-up, no decay of weights, and no clipping."""

    steps: int = 1480
    batch: int = 512  # sequences a step
    rate: float = 0.05  # of Muon, for the matrices of the blocks
    embedding_rate: float = 0.6  # the three others are of Adam
    head_rate: float = 0.008
    number_rate: float = 0.04  # of numbers that scale skips and streams, norms and biases
    betas: tuple[float, float] = (0.8, 0.95)  # of Adam
    momentum: tuple[float, float] = (0.85, 0.95)  # of Muon: at the first step, and from `rising` steps on
    rising: int = 300
    cooldown: float = 600 / 1480  # fraction of the steps
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 125  # steps between two evaluations


class Muon(RunRates):
    """Momentum after Nesterov, and of it the nearest matrix whose singular values are alike: five steps of a polynomial
    (Newton-Schulz) bring them to between about 0.7 and 1.2. kinds: by weight, "matrix", or, with Adam, "embedding",
    "head" or "number"."""

    def __init__(self, weights: Sequence[Tensor], kinds: Sequence[str], recipe: MuonRecipe, runs: int):
        super().__init__(weights, runs)
        self.kinds, self.recipe, self.momentum = list(kinds), recipe, recipe.momentum[0]

    def set_rates(self, recipes: Sequence[MuonRecipe], step: int) -> None:
        """`rates` (R,) are fractions of the recipe's."""
        recipe = recipes[0]
        self.rates = [factor(recipe, step)] * len(recipes)
        first, last = recipe.momentum
        self.momentum = first + (last - first) * min(1.0, step / max(1, recipe.rising))

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        recipe = self.recipe
        peak = {"matrix": recipe.rate, "embedding": recipe.embedding_rate}
        peak |= {"head": recipe.head_rate, "number": recipe.number_rate}
        for weight, kind in zip(self.weights, self.kinds, strict=True):
            rates = peak[kind] * torch.tensor(self.rates, dtype=weight.dtype, device=weight.device)
            change = self._muon(weight) if kind == "matrix" else self._adam(weight)
            weight.sub_(of_runs(rates, weight) * change)

    def _muon(self, weight: Tensor) -> Tensor:
        gradient = cast(Tensor, weight.grad)
        mean = self.moment(weight, "exp_avg").lerp_(gradient, 1 - self.momentum)
        inputs, outputs = weight.shape[1:]
        return orthogonal(gradient.lerp(mean, self.momentum)) * max(1, outputs / inputs) ** 0.5

    def _adam(self, weight: Tensor) -> Tensor:
        gradient, (one, two) = cast(Tensor, weight.grad), self.recipe.betas
        step = self.state[weight].setdefault("step", torch.tensor(0.0)).add_(1)
        count = float(step)
        mean = self.moment(weight, "exp_avg").lerp_(gradient, 1 - one) / (1 - one**count)
        square = self.moment(weight, "exp_avg_sq").mul_(two).addcmul_(gradient, gradient, value=1 - two)
        return mean / ((square / (1 - two**count)).sqrt() + EPSILON)


def orthogonal(x: Tensor) -> Tensor:
    """Matrices (R, m, n) with their singular values brought near 1, R at once. On a GPU it is computed in bfloat16, as
    in the record.

    >>> found = orthogonal(torch.diag(torch.tensor([1.0, 0.5]))[None])[0]
    >>> bool((found.diagonal() > 0.6).all() and (found.diagonal() < 1.3).all())
    True
    """
    a, b, c = POLYNOMIAL
    y = x.bfloat16() if x.is_cuda else x
    y = y / (y.norm(dim=(1, 2), keepdim=True) + SMALL)
    tall = y.shape[1] > y.shape[2]
    y = y.mT if tall else y
    for _ in range(ROUNDS):
        square = y @ y.mT
        y = a * y + (b * square + c * square @ square) @ y
    return (y.mT if tall else y).to(x.dtype)


def kinds_of(model: nn.Module) -> list[str]:
    """What each of a model's trainable weights is to Muon, in their order."""
    tables = {id(p) for module in model.modules() if isinstance(module, Embedding) for p in module.parameters()}
    kinds = []
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            inside = weight.dim() == 3 and name.startswith("blocks.") and name.endswith("weight")
            kind = "matrix" if inside and min(weight.shape[1:]) > 1 else "number"
            head = name.startswith(("unembedding", "head"))
            kinds.append("embedding" if id(weight) in tables else "head" if head and weight.dim() == 3 else kind)
    return kinds


optimizer.register(AdamTrapezoid, lambda recipe, recipes, model: Adam(trainable(model), recipe.betas))


@optimizer.register(AdamWCosine)
def _(recipe: AdamWCosine, recipes: Sequence[AdamWCosine], model: nn.Module) -> RunAdamW:
    decays = [each.decay for each in recipes]
    return RunAdamW(trainable(model), decays, decaying(model, recipe.decay_tables), recipe.betas)


batch_key.register(AdamWCosine, lambda recipe, spec: replace(recipe, rate=0.0, decay=0.0, warmup=0))


def decaying(model: nn.Module, tables: bool = False) -> list[bool]:
    """Which of a model's weights decay, in their order: all but biases, norms, relative positions and what a named
    function has for each run (channels of the activations paper's do).

    tables: relative positions and the biases of queries, keys and values as well, as in the reference code.
    """
    owners = [m for m in model.modules() if isinstance(m, Norm) or (isinstance(m, Learnable) and m.dim == 0)]
    plain = {id(p) for owner in owners for p in owner.parameters()}
    flags = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            exempt = id(parameter) in plain or name.rpartition(".")[2] in ("bias", "relative")
            flags.append(not exempt or (tables and name.endswith(REFERENCE_DECAYS)))
    return flags


@optimizer.register(MuonRecipe)
def _(recipe: MuonRecipe, recipes: Sequence[MuonRecipe], model: nn.Module) -> Muon:
    return Muon(trainable(model), kinds_of(model), recipe, len(recipes))


@factor.register(MuonRecipe)
def _(recipe: MuonRecipe, step: int) -> float:
    """Constant, then in a straight line to 0."""
    return min(1.0, (recipe.steps - step) / max(1, round(recipe.cooldown * recipe.steps)))


@check.register(MuonRecipe)
def _(recipe: MuonRecipe, spec: RunSpec) -> None:
    if not 0 <= recipe.cooldown <= 1:
        raise ArgumentError(f"cooldown={recipe.cooldown}: give a fraction of the steps, 0 to 1")
