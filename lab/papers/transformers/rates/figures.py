"""The figure that the transformers paper lacks: accuracy against the peak learning rate, with GELU and with the learned
function.

The paper trains both at one rate (Table 4). Here each has every rate of one grid; the best of each is chosen on `val`,
with seeds that no figure uses. The function comes from one search, at the task's own rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING

from lab import tasks
from lab.papers.claims import Verdict
from lab.papers.entry import Entry, Planned
from lab.papers.transformers.origin import origin
from lab.papers.transformers.rates import claims, plots
from lab.papers.transformers.rates.choice import TEST, VAL, at_best, at_printed, best_rates, known_tasks
from lab.papers.transformers.settings import BASELINE, MLP, printed_rate, setting
from lab.papers.transformers.sweep import SEEDS
from lab.plots.caption import signed
from lab.run import Run
from lab.spec import replace
from lab.statistics import LEVEL
from lab.tasks.named import task_title

if TYPE_CHECKING:
    import pandas as pd

RATES = {
    "smoke": (0.003, 0.01),
    "laptop": (0.001, 0.002, 0.005, 0.01, 0.02),
    "paper": (0.001, 0.002, 0.005, 0.01, 0.02),
}
HIGHER = {"memorize": 0.04}  # GELU is best on `val` at the highest rate of the grid


def rates(task: str, scale: str) -> tuple[float, ...]:
    """The rates of a task: the grid of the scale, the task's own, and the one that the paper prints."""
    more = {setting(task, scale).recipe.rate}
    if scale != "smoke":
        more |= {printed_rate(task), *([HIGHER[task]] if task in HIGHER else [])}
    return tuple(sorted({*RATES[scale], *more}))


def plan(scale: str, seeds: int) -> list[Planned]:
    """Each rate on `test` with the figure's seeds, and on `val` with those of the sweep."""
    pairs = []
    for task in tasks.NAMES:
        base = setting(task, scale)
        for method, search in ((BASELINE, None), (MLP, base.search())):
            for rate in rates(task, scale):
                recipe = replace(base.recipe, rate=rate)
                labels = {"task": task, "method": method, "rate": rate, "read": base.read}
                runs = [replace(run, recipe=recipe) for run in base.runs(seeds, search)]
                pairs += [(labels | {"split": TEST}, run) for run in runs]
                pairs += [(labels | {"split": VAL}, replace(runs[0], seed=seed, evaluate=("val",))) for seed in SEEDS]
    return pairs


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: task, method, rate, split, seed, accuracy (0 to 1, mean over training), early (at the step where
    the paper reads its matrix), last (at the end), diverged, printed (whether the paper prints this rate)."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        read = labels["read"]
        early = dict(zip(map(int, run.steps), run.accuracy, strict=True))[read]
        row = {name: value for name, value in labels.items() if name != "read"} | {"seed": run.spec.seed}
        row |= {"accuracy": float(run.accuracy.mean()), "early": float(early), "last": float(run.accuracy[-1])}
        row |= {"diverged": bool(run.diverged), "printed": labels["rate"] == printed_rate(labels["task"])}
        rows.append(row)
    return pd.DataFrame(rows)


def summary(table: pd.DataFrame) -> str:
    """By task: the gain at the printed rate, and with each method at its best rate on `val`."""
    best, words = best_rates(table), []
    printed, tuned = ({v.case: v for v in claims.gains(table, rows)} for rows in (at_printed, at_best))
    for task in known_tasks(table):
        rates = f"{best[task, BASELINE]:g} and {best[task, MLP]:g}"
        words.append(f"{task_title(task)} {_interval(printed[task])} and {_interval(tuned[task])} ({rates})")
    return (
        f"Mean accuracy over training, {MLP} minus baseline, in points [95 % interval], at the printed rate, and with"
        f" each at its best on val (rates): {'; '.join(words)}."
    )


def _interval(verdict: Verdict) -> str:
    """A gain with its interval, or why there is none."""
    if verdict.reason:
        return "not learned" if verdict.reason == claims.NOT_LEARNED else "–"
    low, high = verdict.estimate.interval(LEVEL)
    return signed(verdict.effect) + (f" [{low:.1f}, {high:.1f}]" if isfinite(low) else "")


ENTRIES = (
    Entry(
        "transformers/rates",
        "3.1 (not in the paper)",
        "Accuracy against the learning rate",
        "Test accuracy, mean over training, against the peak learning rate: the baseline (GELU) and the MLP"
        " non-linearity learned for the task, at the same rates",
        "with one rate for both, the learned function is faster on every task",
        tasks=tasks.NAMES,
        plan=plan,
        measure=measure,
        plot=plots.rates,
        summary=summary,
        claims=claims.RATES,
        origin=origin(tasks.NAMES),
        minutes={"smoke": 0.5, "laptop": 120, "paper": 900},
        place=("fig", "", 2, "rates"),
    ),
)
