"""Numbers of the runs of a tidy table, by seed: means, first steps at a level, and how runs compare in them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from math import inf, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.estimates import Estimate, compare, finite, on_rows
from lab.papers.claims import Verdict, absent

if TYPE_CHECKING:
    import pandas as pd

POINTS = "points"


def per_seed(table: pd.DataFrame, kinds: str | list[str], value: str = "accuracy", scale: float = 100) -> pd.DataFrame:
    """Means of `value` times `scale`, seeds × kinds; NaN for a diverged run, whose first steps say nothing."""
    values = scale * table[value].astype(float)
    if "diverged" in table:
        values = values.where(~table["diverged"].astype(bool))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    means = values.groupby([table["seed"], *(table[kind] for kind in kinds)], sort=False)
    return means.mean().unstack(kinds if len(kinds) > 1 else kinds[0])


def gains(
    groups: Mapping[Any, Iterable[float]],
    pairs: Mapping[str, tuple[Hashable, Hashable]],
    covers: str = "seeds, of one search",
    **claimed,
) -> list[Verdict]:
    """A verdict for each pair of groups of runs (see `lab.estimates.compare`); what is learned comes from one search.

    groups: values by kind, such as the columns of `per_seed`. claimed: `above`, `below`, `unit` of the verdicts.
    """
    estimates = compare(groups, pairs, covers)
    return [Verdict(estimate, case=case, **claimed) for case, estimate in estimates.items()]


def gains_on_rows(
    percent: Mapping[Any, Iterable[float]],
    pairs: Mapping[str, tuple[Hashable, Hashable]],
    rows: Mapping[str, int],
    covers: str = "seeds, of one search",
    **claimed,
) -> list[Verdict]:
    """As `gains`, of accuracies on test splits with so many rows, by case: the interval covers the runs and the rows.

    Each case has the noise of its own runs: what runs on other rows vary by says nothing of it.
    """
    verdicts = []
    for case, pair in pairs.items():
        sides = [finite(percent[key]) for key in pair]
        (verdict,) = gains(percent, {case: pair}, covers, **claimed)
        if all(map(len, sides)):
            means = float(sides[0].mean()), float(sides[1].mean())
            verdict = replace(verdict, estimate=on_rows(verdict.estimate, means, rows[case]))
        verdicts.append(verdict)
    return verdicts


def ratios(
    logs: Mapping[Any, Iterable[float]],
    pairs: Mapping[str, tuple[Hashable, Hashable]],
    covers: str = "seeds, of one search",
    **claimed,
) -> list[Verdict]:
    """The same of logarithms: by how many times the first group of a pair is above the second (geometric means)."""
    estimates = compare(logs, pairs, covers)
    return [Verdict(estimate.exp(), unit="×", case=case, **claimed) for case, estimate in estimates.items()]


def steps_to(table: pd.DataFrame, level: float, value: str = "accuracy") -> pd.Series:
    """For each seed of one kind of runs, the step at which `value` first reaches `level`, on straight lines between
    evaluations; infinite where it never does, NaN where the run diverged before.

    >>> import pandas as pd
    >>> steps_to(pd.DataFrame({"seed": 0, "step": [10, 20], "accuracy": [0.25, 0.75]}), 0.5).tolist()
    [15.0]
    """
    runs = table.pivot(index="step", columns="seed", values=value).sort_index()
    diverged = table.groupby("seed")["diverged"].any() if "diverged" in table else {}
    return runs.apply(lambda run: _first(run, level, bool(diverged.get(run.name, False)))).astype(float)


def _first(run: pd.Series, level: float, diverged: bool) -> float:
    reached = np.flatnonzero(run.to_numpy() >= level)
    if not len(reached):
        return nan if diverged else inf
    at = reached[0]
    if at == 0:
        return float(run.index[0])
    (x0, x1), (y0, y1) = run.index[at - 1 : at + 1], run.iloc[at - 1 : at + 1]
    return float(x0 + (x1 - x0) * (level - y0) / (y1 - y0))


def speed_up(slow: pd.DataFrame, fast: pd.DataFrame, level: float, **claimed) -> Verdict:
    """How many times fewer steps `fast` needs until accuracy reaches `level` (geometric means over seeds).

    A run that never gets there counts with its last step, which makes its side look faster than it is. Where most runs
    of both kinds never do, nothing is measured.
    """
    last = max(slow["step"].max(), fast["step"].max())
    slow_steps, fast_steps = (steps_to(runs, level).dropna() for runs in (slow, fast))
    return ratio_of_steps(slow_steps, fast_steps, last, level, **claimed)


def ratio_of_steps(slow: pd.Series, fast: pd.Series, last: float, level: float, **claimed) -> Verdict:
    """The same of first steps by seed, infinite where a run never gets there."""
    if not any(len(side) and np.isfinite(side).mean() > 0.5 for side in (slow, fast)):
        return absent(f"hardly a run reaches {100 * level:g} %", unit="×", **claimed)
    logs = {name: np.log(side.clip(upper=last)) for name, side in (("slow", slow), ("fast", fast))}
    return Verdict(compare_one(logs, "slow", "fast").exp(), unit="×", **claimed)


def compare_one(
    groups: Mapping[Any, Iterable[float]], first: Hashable, second: Hashable, covers: str = "seeds, of one search"
) -> Estimate:
    """One difference (see `lab.estimates.compare`)."""
    return compare(groups, {"": (first, second)}, covers)[""]
