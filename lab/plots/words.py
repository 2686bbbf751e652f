"""What captions say in words: an effect with its interval, and how many runs diverged."""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import pandas as pd

from lab.estimates import Estimate
from lab.plots.caption import signed
from lab.statistics import LEVEL, diverged


def effect(estimate: Estimate, ends: bool = True, signs: bool = True) -> str:
    """An effect with its 95 % interval: its ends in brackets, or half its width after ±. – where nothing is measured.

    ends: the ends, not half the width. signs: whether the ends have a sign where they are positive.

    >>> from lab.estimates import mean
    >>> effect(mean([1.0, 2.0, 3.0])), effect(mean([1.0, 2.0, 3.0]), ends=False), effect(mean([2.0]))
    ('+2.0 [−0.5, +4.5]', '+2.0 ± 2.5', '+2.0')
    """
    if not isfinite(estimate.effect):
        return "–"
    low, high = estimate.interval(LEVEL)
    if not isfinite(low):
        return signed(estimate.effect)
    brackets = f" [{signed(low)}, {signed(high)}]" if signs else f" [{low:.1f}, {high:.1f}]"
    return signed(estimate.effect) + (brackets if ends else f" ± {(high - low) / 2:.1f}")


def diverged_runs(
    table: pd.DataFrame,
    kinds: Sequence[str],
    name: Callable[..., str] = lambda *values: ", ".join(map(str, values)),
    left_out: str = "left out of means",
) -> str:
    """How many runs of each kind diverged, in a sentence; nothing where none did.

    table: the columns `kinds` (such as task, method), seed, diverged. name: (a value of each column) → words.

    >>> rows = pd.DataFrame({"task": "add", "width": [8, 8, 16], "seed": [0, 1, 0], "diverged": [True, False, False]})
    >>> diverged_runs(rows, ["task", "width"])
    'Diverged runs (left out of means): add, 8: 1 of 2.'
    """
    counts: dict[Any, tuple[int, int]] = {
        values: diverged(rows) for values, rows in table.groupby(list(kinds), sort=False)
    }
    words = [f"{name(*values)}: {count} of {runs}" for values, (count, runs) in counts.items() if count]
    return f"Diverged runs ({left_out}): {'; '.join(words)}." if words else ""
