"""Claims of a paper, and whether they hold in a table of ours: an effect, its interval, and a verdict in a word.

An entry of the catalogue states its claims next to its plot:

    claims=(Claim("ALiBi helps", alibi_helps),)

where `alibi_helps(table)` is pure: it takes the entry's tidy table and returns a `Verdict`. Intervals are at 95 %:
Student's t over seeds (the same seed of two kinds of runs makes a pair) or over tasks, each the mean of its seeds;
exact counts have none. A claim of several cases holds where each does, and takes no correction; a claim that some case
exists has intervals widened for their number (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import exp, inf, isnan, log, nan
from typing import TYPE_CHECKING

import numpy as np

from lab.statistics import LEVEL, half_width

if TYPE_CHECKING:
    import pandas as pd

HOLDS, FAILS, UNDECIDED, ABSENT = "holds", "does not hold", "not decided", "not measured here"


@dataclass(frozen=True)
class Verdict:
    """What a claim is about, measured: an effect with its interval, and where the claim says that it lies.

    >>> Verdict(3.0, 1.0, 5.0, n=6, over="seeds", above=0.0).word
    'holds'
    >>> Verdict(3.0, -1.0, 7.0, n=6, over="seeds", above=0.0).word
    'not decided'
    """

    effect: float  # NaN: no run to measure it on
    low: float  # 95 % interval; NaN where one cannot be had, as from one seed
    high: float
    n: int
    over: str  # what n counts: "seeds", "tasks", "counts" (exact)
    above: float = -inf  # the claim: the effect is above this and below that
    below: float = inf
    unit: str = ""
    case: str = ""  # the task, method or pair that decides, where the claim is about several

    @property
    def word(self) -> str:
        """holds: the interval lies where the claim says; does not hold: it lies outside; not decided: neither."""
        if self.above < self.low and self.high < self.below:
            return HOLDS
        if self.high <= self.above or self.low >= self.below:
            return FAILS
        return UNDECIDED

    @property
    def margin(self) -> float:
        """How far inside the claimed region the interval ends; negative: it reaches out; minus infinity: unknown."""
        found = min(self.low - self.above, self.below - self.high)
        return -inf if isnan(found) else found

    @property
    def clearness(self) -> float:
        """How far inside the claimed region the effect is, in half widths of its interval: over 1 where it holds."""
        inside, half = min(self.effect - self.above, self.below - self.effect), (self.high - self.low) / 2
        if isnan(half) or isnan(inside):
            return -inf
        return inside / half if half else inf * inside if inside else 0.0


NOTHING = Verdict(nan, nan, nan, 0, "cases")  # the table has no case of what is claimed


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the function that measures it in the table of its entry."""

    says: str
    measure: Callable[[pd.DataFrame], Verdict]


def mean(values: Iterable[float], over: str = "seeds", level: float = LEVEL, **claimed) -> Verdict:
    """The mean of independent values with its t-interval; what is not finite (of diverged runs) is left out.

    claimed: `above`, `below`, `unit`, `case` of the verdict.

    >>> mean([1.0, 2.0, 3.0], above=0.0).word
    'not decided'
    """
    found = np.asarray(list(values), float)
    found = found[np.isfinite(found)].round(9)  # equal accuracies differ by 0, not by rounding
    if not len(found):
        return Verdict(nan, nan, nan, 0, over, **claimed)
    middle, half = float(found.mean()), half_width(found, level)
    return Verdict(middle, middle - half, middle + half, len(found), over, **claimed)


def ratio(logarithms: Iterable[float], over: str = "seeds", **claimed) -> Verdict:
    """The geometric mean of ratios, given their logarithms, with the t-interval of these.

    >>> found = ratio([log(2), log(2), log(2.0)], above=1.0, unit="×")
    >>> found.word, round(found.effect, 3)
    ('holds', 2.0)
    """
    found = mean(logarithms, over)
    effect, low, high = map(exp, (found.effect, found.low, found.high))
    return Verdict(effect, low, high, found.n, over, **claimed)


def exact(effect: float, n: int, **claimed) -> Verdict:
    """A count, which has no noise."""
    return Verdict(effect, effect, effect, n, "counts", **claimed)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a claim about every case: the case that fails most clearly, else the one nearest to failing.

    >>> cases = [mean([1.0, 1.1, 1.2], above=0.0, case="a"), mean([-1.0, 0.0, 1.0], above=0.0, case="b")]
    >>> all_of(cases).case, all_of(cases).word
    ('b', 'not decided')
    """
    found = list(verdicts) or [NOTHING]
    failing = [verdict for verdict in found if verdict.word == FAILS]
    return min(failing or found, key=lambda verdict: verdict.margin)


def any_of(cases: dict[str, Iterable[float]], over: str = "seeds", **claimed) -> Verdict:
    """Of a claim that some case exists: the clearest one. It holds for that one with an interval wide enough for the
    number of cases; it does not hold where it fails, at 95 %, for each.

    >>> any_of({"a": [0.0, 1.0, -1.0], "b": [5.0, 5.1, 5.2]}, above=0.0).case
    'b'
    """
    if not cases:
        return replace(NOTHING, **claimed)
    narrow = [mean(values, over, case=case, **claimed) for case, values in cases.items()]
    if all(verdict.word == FAILS for verdict in narrow):
        return max(narrow, key=lambda verdict: verdict.clearness)
    level = 1 - (1 - LEVEL) / len(cases)
    wide = [mean(values, over, level, case=case, **claimed) for case, values in cases.items()]
    return max((verdict for verdict in wide if verdict.word != FAILS), key=lambda verdict: verdict.clearness)


def per_seed(table: pd.DataFrame, kinds: str | list[str], value: str = "accuracy", scale: float = 100) -> pd.DataFrame:
    """Means of `value`, seeds × kinds, in percent; NaN for a diverged run: its first steps say nothing of the rest."""
    values = scale * table[value].astype(float)
    if "diverged" in table:
        values = values.where(~table["diverged"].astype(bool))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    means = values.groupby([table["seed"], *(table[kind] for kind in kinds)], sort=False)
    return means.mean().unstack(kinds if len(kinds) > 1 else kinds[0])


def steps_to(table: pd.DataFrame, level: float) -> pd.Series:
    """For each seed of one kind of runs, the step at which accuracy first reaches `level`, on straight lines between
    evaluations; infinite where it never does, NaN where the run diverged before.

    >>> import pandas as pd
    >>> steps_to(pd.DataFrame({"seed": 0, "step": [10, 20], "accuracy": [0.25, 0.75]}), 0.5).tolist()
    [15.0]
    """
    runs = table.pivot(index="step", columns="seed", values="accuracy").sort_index()
    lost = table.groupby("seed")["diverged"].any() if "diverged" in table else {}
    return runs.apply(lambda run: _first(run, level, bool(lost.get(run.name, False)))).astype(float)


def _first(run: pd.Series, level: float, diverged: bool) -> float:
    reached = np.flatnonzero(run.to_numpy() >= level)
    if not len(reached):
        return nan if diverged else inf
    at = reached[0]
    if at == 0:
        return float(run.index[0])
    (x0, x1), (y0, y1) = run.index[at - 1 : at + 1], run.iloc[at - 1 : at + 1]
    return float(x0 + (x1 - x0) * (level - y0) / (y1 - y0))


def speed_up(slow: pd.DataFrame, fast: pd.DataFrame, level: float = 0.5, **claimed) -> Verdict:
    """How many times fewer steps `fast` needs until accuracy reaches `level`, paired by seed.

    A run that never gets there counts with its last step, which makes its side look faster than it is; a pair of which
    neither gets there says nothing.
    """
    pairs = [steps_to(runs, level) for runs in (slow, fast)]
    last = max(slow["step"].max(), fast["step"].max())
    pairs[0], pairs[1] = pairs[0].align(pairs[1], join="inner")
    told = np.isfinite(pairs[0]) | np.isfinite(pairs[1])
    a, b = (side[told].clip(upper=last) for side in pairs)
    found = ratio(np.log(a) - np.log(b), unit="×", **claimed)
    return unreached(found, level)


def unreached(found: Verdict, level: float) -> Verdict:
    """The verdict, with the reason why where nothing could be measured because no run reaches `level`."""
    return found if found.n else replace(found, case=f"{found.case}: none reaches {100 * level:g} %".lstrip(": "))


def steadier(means: dict[str, tuple[pd.Series, pd.Series]], **claimed) -> Verdict:
    """By how much the standard deviation over seeds falls, by task (first: before, second: after); over tasks."""
    spreads = [[float(side.std(ddof=1)) for side in pair] for pair in means.values()]
    return ratio([log(a / b) for a, b in spreads if a > 0 and b > 0], "tasks", unit="×", above=1.0, **claimed)
