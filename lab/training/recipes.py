"""What recipes train with: the optimizer of each, what runs of a fleet share, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from lab.errors import ArgumentError, check_whole
from lab.kinds import check, optimizer, signature
from lab.models.layers import Norm
from lab.spec import AdamTrapezoid, AdamWCosine, ConstantRate, RunSpec, replace
from lab.training.descent import MOMENTS
from lab.training.optimizers import Adam, RunAdamW, RunDescent, trainable

RULES, KEEPS = tuple(MOMENTS), ("best", "last")  # what a `ConstantRate` may have
# Matrices in the reference code of the hypernetwork paper, which lets all matrices decay.
REFERENCE_DECAYS = ("relative", "query.bias", "key.bias", "value.bias")


@optimizer.register(AdamTrapezoid)
def _(recipe: AdamTrapezoid, recipes: Sequence[AdamTrapezoid], model: nn.Module) -> Adam:
    return Adam(trainable(model), recipe.betas)


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


@signature.register(AdamWCosine)
def _(recipe: AdamWCosine, spec: RunSpec) -> AdamWCosine:
    return replace(recipe, rate=0.0, decay=0.0, warmup=0)


@signature.register(ConstantRate)
def _(recipe: ConstantRate, spec: RunSpec) -> ConstantRate:
    return replace(recipe, rate=0.0)


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
