"""Muon for the matrices of the blocks, Adam for all else: the recipe of record 16 of the NanoGPT speedrun.

Muon (Jordan et al. 2024) takes momentum after Nesterov, and of it the nearest matrix whose singular values are alike:
five steps of a polynomial (Newton-Schulz) bring them to between about 0.7 and 1.2. Rates are constant and then fall to
0 in a straight line; there is no warm-up, no decay of weights, and no clipping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import check, optimizer
from lab.models.layers import Embedding
from lab.spec import RunSpec, register
from lab.spec.recipes import Steps
from lab.training.optimizers import EPSILON, RunRates, factor, factor_of

POLYNOMIAL = (3.4445, -4.7750, 2.0315)  # of a singular value s: a s + b s³ + c s⁵
ROUNDS, SMALL = 5, 1e-7


@register
@dataclass(frozen=True)
class MuonRecipe(Steps):
    """How weights are trained: rates are those of the record, for its 1,480 steps of 524,288 tokens."""

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
    """The optimizer of R runs. kinds: by weight, "matrix", "embedding", "head" or "number"."""

    def __init__(self, weights: Sequence[Tensor], kinds: Sequence[str], recipe: MuonRecipe, runs: int):
        super().__init__(weights, {})
        self.kinds, self.recipe = list(kinds), recipe
        self.rates, self.momentum = [0.0] * runs, recipe.momentum[0]

    def set_rates(self, recipes: Sequence[MuonRecipe], step: int) -> None:
        """`rates` (R,) are fractions of the recipe's."""
        recipe = recipes[0]
        self.rates = [factor(step, recipe)] * len(recipes)
        first, last = recipe.momentum
        self.momentum = first + (last - first) * min(1.0, step / max(1, recipe.rising))

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # fleets give no closure
        recipe = self.recipe
        peak = {"matrix": recipe.rate, "embedding": recipe.embedding_rate}
        peak |= {"head": recipe.head_rate, "number": recipe.number_rate}
        for weight, kind in zip(self.param_groups[0]["params"], self.kinds, strict=True):
            shape = (-1, *[1] * (weight.dim() - 1))
            rates = peak[kind] * torch.tensor(self.rates, dtype=weight.dtype, device=weight.device).view(shape)
            change = self._muon(weight) if kind == "matrix" else self._adam(weight)
            weight.sub_(rates * change)

    def _muon(self, weight: Tensor) -> Tensor:
        state, gradient = self.state[weight], cast(Tensor, weight.grad)
        if not state:
            state["exp_avg"] = torch.zeros_like(weight)
        mean = state["exp_avg"].lerp_(gradient, 1 - self.momentum)
        inputs, outputs = weight.shape[1:]
        return orthogonal(gradient.lerp(mean, self.momentum)) * max(1, outputs / inputs) ** 0.5

    def _adam(self, weight: Tensor) -> Tensor:
        state, (one, two) = self.state[weight], self.recipe.betas
        if not state:
            zeros = {name: torch.zeros_like(weight) for name in ("exp_avg", "exp_avg_sq")}
            state |= {"step": torch.tensor(0.0)} | zeros
        state["step"] += 1
        count = float(state["step"])
        mean = state["exp_avg"].lerp_(weight.grad, 1 - one) / (1 - one**count)
        square = state["exp_avg_sq"].mul_(two).addcmul_(weight.grad, weight.grad, value=1 - two) / (1 - two**count)
        return mean / (square.sqrt() + EPSILON)


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


@optimizer.register(MuonRecipe)
def _(recipe: MuonRecipe, recipes: Sequence[MuonRecipe], model: nn.Module) -> Muon:
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return Muon(weights, kinds_of(model), recipe, len(recipes))


@factor_of.register(MuonRecipe)
def _(recipe: MuonRecipe, step: int) -> float:
    """Constant, then in a straight line to 0."""
    return min(1.0, (recipe.steps - step) / max(1, round(recipe.cooldown * recipe.steps)))


@check.register(MuonRecipe)
def _(recipe: MuonRecipe, spec: RunSpec) -> None:
    if not 0 <= recipe.cooldown <= 1:
        raise ArgumentError(f"cooldown={recipe.cooldown}: give a fraction of the steps, 0 to 1")
