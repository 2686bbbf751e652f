"""The learning-rate schedule of Table 4: linear warm-up, constant, cosine cool-down to zero."""

from __future__ import annotations

import math

from lab.spec import Recipe


def factor(step: int, recipe: Recipe) -> float:
    """Fraction of the peak rate at `step` (counted from 0).

    >>> r = Recipe(steps=100, rate=1.0, batch=1)
    >>> [round(factor(s, r), 2) for s in (0, 4, 30, 50, 75, 99)]
    [0.2, 1.0, 1.0, 1.0, 0.5, 0.0]
    """
    warm = max(1, round(recipe.warmup * recipe.steps))
    cool = round(recipe.cooldown * recipe.steps)
    if step < warm:
        return (step + 1) / warm
    into = step - (recipe.steps - cool)
    return 1.0 if into <= 0 else 0.5 * (1 + math.cos(math.pi * into / cool))
