"""How much two functions differ: a mean difference with its interval, as a line and in a paragraph for a paper."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan

import numpy as np

from lab import estimates
from lab.errors import ArgumentError, check_number, listed, shown
from lab.simultaneous import DUNNETT, Simultaneous, against, level_of_each, p_of_all, p_value


@dataclass(frozen=True)
class Difference:
    """The mean difference of two functions with its interval.

    unit: of mean, low and high: "points" (percentage points) of an accuracy; else empty, the metric's own.
    n, over: how many units there are on the smaller side, and what one is. covers: what would differ in a repetition
    that the interval is about. low, high: NaN where one run has no interval. diverged: functions of which every run
    did, so that there is no difference. lacking: this in words, where it is not for diverged runs. p: two-sided p-value
    of no difference, by the test that the interval belongs to.
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
    lacking: str = field(default="", compare=False, repr=False)
    p: float = field(default=nan, compare=False)

    def __str__(self) -> str:
        if self.diverged:
            why = self.lacking or f"all runs of {' and '.join(self.diverged)} diverged; give a lower rate"
            return f"{self.what}: none, for {why}"
        mean = f"{self.mean:+.4g} {self.unit}".strip()
        if np.isnan(self.low):
            why = "give more seeds" if self.n < 2 else "scores do not differ; give more seeds, or more examples to test"
            return f"{self.what}: {mean}, no interval ({counted(self.n, self.over)}; {why})"
        percent = f"{100 * self.level:g} % interval"
        ends = f"[{self.low:+.4g}, {self.high:+.4g}]"
        return f"{self.what}: {mean} {ends} ({percent} over {self.covers}; {counted(self.n, self.over)})"


def counted(n: int, over: str) -> str:
    """A number of units, whose name is a plural, such as "seeds" or "pairs by task".

    >>> counted(1, "searches"), counted(1, "pairs by task"), counted(3, "seeds")
    ('1 search', '1 pair by task', '3 seeds')
    """
    name, *rest = over.split(" ")
    return f"{n} {' '.join([name.removesuffix('es' if name == 'searches' else 's') if n == 1 else name, *rest])}"


def check_level(level: float) -> None:
    """ArgumentError for what is no level of an interval."""
    if not 0 < check_number("level", level) < 1:
        raise ArgumentError(f"level={shown(level)}: give a share above 0 and below 1, such as 0.95")


def scaled(groups: Mapping[str, Sequence[np.ndarray]]) -> tuple[dict[str, list[np.ndarray]], float]:
    """The scores of each search of each function at a size that can be compared, and what they were multiplied by."""
    factor = estimates.power(np.concatenate([np.zeros(0), *(seeds for runs in groups.values() for seeds in runs)]))
    return {name: [factor * seeds for seeds in runs] for name, runs in groups.items()}, factor


def difference_of(
    groups: dict[str, list[np.ndarray]], covers: str, level: float, what: str, unit: str = ""
) -> Difference:
    """How much more the first of two functions scores than the second.

    groups: by function, for each of its searches the scores of its seeds, in `unit`. covers: of an interval over seeds
    alone.
    """
    groups, factor = scaled(groups)
    first, second = groups.values()
    if len(first) > 1 and len(second) > 1:
        means = {
            number: [float(estimates.finite(v).mean()) for v in side if len(estimates.finite(v))]
            for number, side in enumerate((first, second))
        }
        estimate = estimates.compare(means, {"difference": (0, 1)}, "searches and seeds")["difference"]
        estimate = replace(estimate, over="searches")
    elif len(first) > 1:
        estimate = estimates.nested(first, second[0])
    elif len(second) > 1:
        estimate = estimates.nested(second, first[0]).negated()
    else:
        estimate = estimates.compare({0: first[0], 1: second[0]}, {"difference": (0, 1)}, covers)["difference"]
    estimate = estimates.unless_equal(estimate.mapped(lambda value: value / factor))
    low, high = estimate.interval(level)
    empty = tuple(name for name, runs in groups.items() if not any(len(estimates.finite(values)) for values in runs))
    p = nan if np.isnan(low) else p_value(estimate)
    return Difference(
        estimate.effect, low, high, estimate.n, estimate.over, estimate.covers, level, what, unit, empty, p=p
    )


def adjusted(
    differences: Mapping[str, tuple[Difference, str]],
    values: Mapping[str, Sequence[np.ndarray]],
    control: str,
    level: float,
    again: Callable[[str, float], Difference],
    paired: bool = False,
) -> tuple[dict[str, tuple[Difference, str]], str]:
    """Differences from one function, adjusted for several comparisons: their intervals hold for all of them at once;
    and why these, in a sentence.

    differences: by function, with how its interval is made. values: of all functions, for each search the scores of its
    seeds. again: the difference of a function at another level. Of functions with one search each, unpaired, whose
    variances nothing says differ, the intervals are Dunnett's; others are as wide as their number asks (Bonferroni).
    """
    number, sized, factor = len(differences), *scaled(values)
    alone, why = not paired and all(len(runs) == 1 for runs in sized.values()), ""
    if alone:
        all_at_once = against({name: runs[0] for name, runs in sized.items()}, control)
        if any(isinstance(one, Simultaneous) and one.method == DUNNETT for one in all_at_once.values()):
            ends = {name: one.interval(level) for name, one in all_at_once.items()}
            made = {
                name: (one, kind)
                if np.isnan(one.low)
                else (
                    replace(one, low=ends[name][0] / factor, high=ends[name][1] / factor, p=p_value(all_at_once[name])),
                    "Dunnett's test, one variance for all groups",
                )
                for name, (one, kind) in differences.items()
            }
            return made, "Bartlett's test does not tell variances apart, so that Dunnett's test was taken."
        why = "Bartlett's test tells variances apart, so that Bonferroni's correction was taken, not Dunnett's test."
    wide = {name: again(name, level_of_each(level, number)) for name in differences}
    made = {
        name: (replace(wide[name], level=level, p=p_of_all(one.p, number)), f"{kind}, Bonferroni for {number}")
        for name, (one, kind) in differences.items()
    }
    return (
        made,
        why
        or f"Bonferroni's correction was taken, for {'values are pairs' if paired else 'some have several searches'}.",
    )


def interval_of(groups: Mapping[str, Sequence[np.ndarray]]) -> str:
    """How `difference_of` makes the interval of these groups, in words."""
    groups, _ = scaled(groups)
    searches = [len(runs) for runs in groups.values()]
    values = [[estimates.finite(seeds) for seeds in runs] for runs in groups.values()]
    if min(searches) > 1:
        values = [[np.array([seeds.mean() for seeds in runs if len(seeds)])] for runs in values]
    units = "" if max(searches) == 1 else ", the mean of each search is one value"
    if min(searches) == 1 < max(searches) or not estimates.is_pooled([runs[0] for runs in values]):
        return f"Welch's t{units}"
    return f"Student's t, one variance for both groups{units}"


def paragraph(
    head: str,
    values: Mapping[str, Sequence[np.ndarray]],
    differences: Mapping[str, tuple[Difference, str]],
    unit: str,
    better: int = 0,
    simultaneous: str = "",
) -> str:
    """Means and differences in sentences, for a paper.

    head: what was measured. values: by function, for each of its searches the scores of its seeds. differences: by
    function, from the one that is not among them, each with how its interval is made. unit: of a mean, such as " %".
    better: 1 where more is, -1 where less is, 0 where nobody said. simultaneous: where intervals hold together,
    why these, in a sentence.
    """
    parts = []
    for name, runs in values.items():
        sized, factor = scaled({name: runs})
        seeds = np.concatenate([estimates.finite(one) for one in sized[name]])
        number = f"{len(seeds)} run{'s' * (len(seeds) != 1)}" + (f" of {len(runs)} searches" if len(runs) > 1 else "")
        parts.append(
            f"{name} {seeds.mean() / factor:.4g}{unit} ({number})" if len(seeds) else f"{name} no finite value"
        )
    sentences = [head, f"Means: {'; '.join(parts)}."]
    for one, kind in differences.values():
        if one.diverged or np.isnan(one.low):
            sentences.append(f"{one}.")
            continue
        ends = f"{100 * one.level:g} % confidence interval [{one.low:+.4g}, {one.high:+.4g}]"
        mean = f"{one.mean:+.4g} {one.unit}".strip()
        sentences.append(f"{one.what}: {mean}, {ends} ({kind}; p {_p(one.p)}; n = {counted(one.n, one.over)}).")
    sentences += _verdict({name: one for name, (one, _) in differences.items()}, values, better)
    if covers := dict.fromkeys(one.covers for one, _ in differences.values() if not np.isnan(one.low)):
        said = "; or ".join(covers)
        sentences.append(
            f"An interval covers {said}: how far another draw of these could differ, and nothing else, "
            "such as other data, models or settings."
        )
    known = sum(not np.isnan(one.low) for one, _ in differences.values())
    if known and len(differences) > 1 and simultaneous:
        they = f"The {known} intervals, and p-values, hold" if known > 1 else "The interval, and the p-value, hold"
        sentences.append(f"{they} simultaneously for {len(differences)} comparisons. {simultaneous}")
    elif known > 1:
        sentences.append(f"The {known} intervals are not corrected for their number.")
    return " ".join(sentences)


def _p(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"= {p:.2g}"


def _verdict(
    differences: Mapping[str, Difference], values: Mapping[str, Sequence[np.ndarray]], better: int
) -> list[str]:
    """Which functions are better than the one that they are compared with, and which do not clearly differ from it."""
    known = {name: one for name, one in differences.items() if not np.isnan(one.low)}
    if not known:
        return []
    if not better:
        return ["Whether more or less of it is better was not said (better=)."]
    (first,) = values.keys() - differences.keys()
    sides = {name: better * one.mean > 0 for name, one in known.items() if one.low > 0 or one.high < 0}
    kinds = {
        f"better than {first}": [name for name, side in sides.items() if side],
        f"worse than {first}": [name for name, side in sides.items() if not side],
        f"not clearly different from {first}": [name for name in known if name not in sides],
    }
    said = [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {kind}" for kind, names in kinds.items() if names]
    return [f"{'More' if better > 0 else 'Less'} is better: {'; '.join(said)}."]
