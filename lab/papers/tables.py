"""What papers measure in the same way: tables with one row a run, means by seed, first steps at a level, gains."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import torch

from lab.estimates import Estimate, compare, finite, on_rows, pooled_means
from lab.nonlinearity.part import as_module
from lab.papers.claims import Verdict, absent
from lab.resolve import resolve
from lab.run import Run, first_step
from lab.spec import Learned, Shaped
from lab.statistics import INTERVAL
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import Fleet

Labelled = Sequence[tuple[dict, Run]]  # runs with their labels


def per_run(runs: Labelled, measure: Callable[[Run], dict]) -> pd.DataFrame:
    """One row a run: its labels, seed, what is measured of it, diverged."""
    return pd.DataFrame(
        [labels | {"seed": run.spec.seed} | measure(run) | {"diverged": bool(run.diverged)} for labels, run in runs]
    )


def fleet_to_time(runs: Sequence[Run], most: int | None = None) -> Fleet:
    """Those of the runs that have the first one's recipe, side by side at their start, without evaluations on the way.

    most: how many of them.
    """
    recipe = runs[0].spec.recipe
    members = [run for run in runs if run.spec.recipe == recipe][:most]
    specs = [replace(run.spec, recipe=replace(recipe, every=recipe.steps)) for run in members]
    return fleet_of(
        specs, [tuple(resolve(part, run.store) for part in run.spec.model.parts.values()) for run in members]
    )


def per_evaluation(runs: Labelled, measure: Callable[[Run], dict]) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, what is measured at each step, diverged."""
    parts = []
    for labels, run in runs:
        columns = labels | {"seed": run.spec.seed, "step": run.steps} | measure(run)
        parts.append(pd.DataFrame(columns | {"diverged": bool(run.diverged)}))
    return pd.concat(parts, ignore_index=True)


def curves(runs: Labelled) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, accuracy (0 to 1), diverged."""
    return per_evaluation(runs, lambda run: {"accuracy": run.accuracy.astype(float)})


def final(runs: Labelled) -> pd.DataFrame:
    """The last evaluation of each run: one row a run."""
    table = curves(runs)
    identity = [name for name in table.columns if name not in ("step", "accuracy")]
    last = table.groupby(identity, sort=False, dropna=False)["step"].idxmax()  # a label may be None
    return table.loc[last].reset_index(drop=True)


def alive(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of runs that did not diverge."""
    return table[~table["diverged"].astype(bool)]


def best_rates(val: pd.DataFrame, kinds: Sequence[str], value: str) -> dict[tuple, float]:
    """By kind, the rate with the highest mean of `value` on `val`; one at which a run diverged is out. Of equals the
    lowest.

    val: the columns `kinds`, rate, `value`, diverged; the runs on `val` alone.

    >>> rows = pd.DataFrame({"task": "add", "rate": [0.1, 0.2, 0.3], "accuracy": [0.5, 0.7, 0.9]})
    >>> best_rates(rows.assign(diverged=[False, False, True]), ["task"], "accuracy")
    {('add',): 0.2}
    """
    groups = val.groupby([*kinds, "rate"])
    means = groups[value].mean()[~groups["diverged"].any()].dropna()
    levels = list(range(len(kinds)))
    return {
        kind if isinstance(kind, tuple) else (kind,): float(one.droplevel(levels).idxmax())
        for kind, one in means.groupby(level=levels if len(levels) > 1 else 0)
    }


def at_best_rates(test: pd.DataFrame, best: dict[tuple, float], kinds: Sequence[str]) -> pd.DataFrame:
    """The rows in which each kind has its best rate (see `best_rates`)."""
    wanted = [best.get(kind) for kind in zip(*(test[name] for name in kinds), strict=True)]
    return test[test["rate"] == wanted]


def numbered(table: pd.DataFrame) -> pd.DataFrame:
    """With the number of each row's search: 0 where there was one alone, and no column of it."""
    return table if "search" in table else table.assign(search=0)


def of_one_search(table: pd.DataFrame, mark: str = "Whiskers") -> str:
    """What a mark covers where functions come from one search."""
    return "One seed only: no interval." if table["seed"].nunique() < 2 else f"{mark}: {INTERVAL}, of one search."


def learned_functions(
    runs: Labelled, names: Sequence[str] = (), part: str = "mlp", support: bool = False
) -> pd.DataFrame:
    """The functions that models were trained with: labels, x, value, one row a knot; each kind of runs once.

    names: labels that tell functions apart; all, where none is named. part: of the model. support: only the knots
    between which the learned function is not zero; also of what was made of one, such as a symmetrized function.
    """
    rows: dict[tuple, list[dict]] = {}
    for labels, run in runs:
        known = getattr(run.spec.model, part)
        columns = {name: labels[name] for name in names or labels}
        kind = tuple(columns.values())
        if isinstance(known, str) or kind in rows or not (support or isinstance(known, Learned)):
            continue
        learned: Any = as_module(resolve(known.of if isinstance(known, Shaped) else known, run.store))
        low, high = learned.support if support else (learned.low, learned.high)
        x = torch.linspace(low, high, round((high - low) / learned.spacing) + 1)
        values = as_module(resolve(known, run.store))(x) if support else learned.values.detach().ravel()
        rows[kind] = [columns | {"x": a, "value": b} for a, b in zip(x.tolist(), values.tolist(), strict=True)]
    return pd.DataFrame([row for one in rows.values() for row in one]).round({"x": 6, "value": 6})


def share_by_knot(inputs: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Share of the inputs nearest to each of the evenly spaced knots x; what is not finite counts nowhere."""
    inputs = inputs[np.isfinite(inputs)]
    nearest = ((inputs.clip(x[0], x[-1]) - x[0]) / (x[1] - x[0])).round().astype(int)
    return np.bincount(nearest, minlength=len(x)) / max(1, len(inputs))


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


def paired(
    cases: dict[str, Iterable[float]], unit: str = POINTS, covers: str = "seeds (splits)", **claimed
) -> list[Verdict]:
    """A verdict for each case, of differences by seed; their variance is pooled over the cases."""
    means = pooled_means(cases, covers)
    return [Verdict(estimate, unit=unit, case=case, **claimed) for case, estimate in means.items()]


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
    step = first_step(run.index.to_numpy(), run.to_numpy(), level)
    return step if step == step else nan if diverged else inf


def speed_up(slow: pd.DataFrame, fast: pd.DataFrame, level: float, **claimed) -> Verdict:
    """How many times fewer steps `fast` needs until accuracy reaches `level` (geometric means over seeds).

    A run that never gets there counts with its last step, which makes its side look faster than it is; so does a run of
    the other kind that gets there later. Where most runs of both kinds never do, nothing is measured.
    """
    lasts = slow["step"].max(), fast["step"].max()
    slow_steps, fast_steps = (steps_to(runs, level).dropna() for runs in (slow, fast))
    return ratio_of_steps(slow_steps, fast_steps, lasts, level, **claimed)


def ratio_of_steps(slow: pd.Series, fast: pd.Series, lasts: tuple[float, ...], level: float, **claimed) -> Verdict:
    """The same of first steps by seed, infinite where a run never gets there. lasts: the last step of either kind."""
    if not any(len(side) and np.isfinite(side).mean() > 0.5 for side in (slow, fast)):
        return absent(f"hardly a run reaches {100 * level:g} %", unit="×", **claimed)
    end = min((last for side, last in zip((slow, fast), lasts, strict=True) if np.isinf(side).any()), default=inf)
    logs = {name: np.log(side.clip(upper=end)) for name, side in (("slow", slow), ("fast", fast))}
    return Verdict(compare_one(logs, "slow", "fast").exp(), unit="×", **claimed)


def compare_one(
    groups: Mapping[Any, Iterable[float]], first: Hashable, second: Hashable, covers: str = "seeds, of one search"
) -> Estimate:
    """One difference (see `lab.estimates.compare`)."""
    return compare(groups, {"": (first, second)}, covers)[""]


def span(values: pd.Series, form: str = ".0f") -> str:
    """From the least to the most; one number where both read the same.

    >>> span(pd.Series([49.1, 48.9])), span(pd.Series([0.4, 0.16]), ".2f")
    ('49', '0.16 to 0.40')
    """
    return " to ".join(dict.fromkeys(format(end, form) for end in (values.min(), values.max())))


def percent(share: float, sign: str = "", few: bool = False) -> str:
    """In percent; – where every run diverged. few: with a decimal below 5 %."""
    return "–" if share != share else f"{100 * share:{sign}.{int(few and abs(share) < 0.05)}f}"
