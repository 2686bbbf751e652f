"""The mean difference of the scores of two functions, over runs and searches, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from lab import estimates


@dataclass(frozen=True)
class Difference:
    """The mean difference of two functions with its interval.

    unit: of mean, low and high: "points" (percentage points) of an accuracy; else empty, the metric's own.
    n, over: how many units there are on the smaller side, and what one is. covers: what would differ in a repetition
    that the interval is about. low, high: NaN where one run has no interval. diverged: functions of which every run
    did, so that there is no difference.
    """

    mean: float
    low: float
    high: float
    n: int
    over: str
    covers: str
    level: float
    what: str
    unit: str = ""
    diverged: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.diverged:
            return f"{self.what}: none, for all runs of {' and '.join(self.diverged)} diverged; give a lower rate"
        mean = f"{self.mean:+.4g} {self.unit}".strip()
        if np.isnan(self.low):
            why = "give more seeds" if self.n < 2 else "scores do not differ; give more seeds, or more examples to test"
            return f"{self.what}: {mean}, no interval ({self.n} {self.over}; {why})"
        percent = f"{100 * self.level:g} % interval"
        ends = f"[{self.low:+.4g}, {self.high:+.4g}]"
        return f"{self.what}: {mean} {ends} ({percent} over {self.covers}; {self.n} {self.over})"


def difference_of(
    groups: dict[str, list[np.ndarray]], covers: str, level: float, what: str, unit: str = ""
) -> Difference:
    """How much more the first of two functions scores than the second.

    groups: by function, for each of its searches the scores of its seeds, in `unit`. covers: of an interval over seeds
    alone.
    """
    sign = 1
    first, second = groups.values()
    if len(first) == 1 < len(second):  # the searched one is the first of `nested`
        groups, sign = dict(reversed(groups.items())), -1
        first, second = second, first
    if len(first) > 1 and len(second) > 1:
        means = {
            number: [float(estimates.finite(v).mean()) for v in side if len(estimates.finite(v))]
            for number, side in enumerate((first, second))
        }
        estimate = estimates.compare(means, {"difference": (0, 1)}, "searches and seeds")["difference"]
        over = "searches"
    elif len(first) > 1:
        estimate = estimates.nested(first, second[0])
        over = estimate.over
    else:
        pair = {0: first[0], 1: second[0]}
        estimate = estimates.compare(pair, {"difference": (0, 1)}, covers)["difference"]
        over = "seeds"
    low, high = estimate.interval(level)
    low, high = (low, high) if sign > 0 else (-high, -low)
    if low == high:  # equal scores of few examples say nothing of how much seeds differ
        low = high = nan
    empty = tuple(name for name, runs in groups.items() if not any(len(estimates.finite(values)) for values in runs))
    return Difference(sign * estimate.effect, low, high, estimate.n, over, estimate.covers, level, what, unit, empty)
