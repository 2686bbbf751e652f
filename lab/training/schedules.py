"""Learning-rate schedules: trapezoid (transformers paper, Table 4) and cosine (hypernetwork paper, App. C)."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch

from lab.spec import AdamTrapezoid, AdamWCosine, Fit

FLOOR = 0.1  # of the peak rate, where the cosine ends


def factor(step: int, recipe: object) -> float:
    """Fraction of the peak rate at `step` (counted from 0), by the schedule of this kind of recipe."""
    return factor_of(recipe, step)


@singledispatch
def factor_of(recipe: object, step: int) -> float:
    """As `factor`; each kind of recipe registers its own."""
    return 1.0  # constant


@factor_of.register(AdamTrapezoid)
def _(recipe: AdamTrapezoid, step: int) -> float:
    return trapezoid(step, recipe)


@factor_of.register(AdamWCosine)
def _(recipe: AdamWCosine, step: int) -> float:
    return cosine(step, recipe)


@factor_of.register(Fit)
def _(recipe: Fit, step: int) -> float:
    """A cosine is a trapezoid without its constant part."""
    if recipe.schedule == "constant":
        return 1.0
    cooldown = 1 - recipe.warmup if recipe.schedule == "cosine" else recipe.cooldown
    return trapezoid(step, replace(recipe, cooldown=cooldown))


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
