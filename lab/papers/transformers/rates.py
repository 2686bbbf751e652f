"""The figure that the transformers paper lacks: accuracy against the peak learning rate, with GELU and with the learned
function.

The paper trains both at one rate (Table 4). Here each has every rate of one grid; the best of each is chosen on `val`,
with seeds that no figure uses. The function comes from one search, at the task's own rate.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from lab import tasks
from lab.papers.claims import Claim, Verdict, absent
from lab.papers.entry import Entry, Planned
from lab.papers.tables import POINTS, Labelled, at_best_rates
from lab.papers.tables import best_rates as best_of
from lab.papers.transformers.matrix import gain
from lab.papers.transformers.settings import BASELINE, MLP, origin, printed_rate, setting
from lab.papers.transformers.sweep import SEEDS
from lab.plots import go
from lab.plots.caption import effect, set_reading
from lab.plots.panels import FULL, band, grid, line, method_line, name_axes, place
from lab.plots.style import BLACK, GREY, METHOD_SYMBOLS, colour, methods_of
from lab.spec import replace
from lab.statistics import INTERVAL, over_seeds
from lab.tasks.named import learned, task_title, trivial

RATES = {
    "smoke": (0.003, 0.01),
    "laptop": (0.001, 0.002, 0.005, 0.01, 0.02),
    "paper": (0.001, 0.002, 0.005, 0.01, 0.02),
}
HIGHER = {"memorize": 0.04}  # GELU is best on `val` at the highest rate of the grid
TEST, VAL = "test", "val"  # "val": runs with seeds of their own, on which rates are chosen
KINDS = ("task", "method")
NOT_LEARNED = "no model leaves the trivial answer at this rate"


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
                pairs += [(labels | {"split": VAL}, replace(runs[0], seed=seed, evaluate=(VAL,))) for seed in SEEDS]
    return pairs


def measure(runs: Labelled) -> pd.DataFrame:
    """As `over_training`: task, method, rate, split, …, and printed (whether the paper prints this rate)."""
    printed = [labels["rate"] == printed_rate(labels["task"]) for labels, _ in runs]
    return over_training(runs).assign(printed=printed)


def over_training(runs: Labelled) -> pd.DataFrame:
    """One row a run: its labels but `read`, seed, accuracy (0 to 1, mean over training), early (at the step `read`,
    where the paper reads its matrix), last (at the end), diverged."""
    rows = []
    for labels, run in runs:
        early = dict(zip(map(int, run.steps), run.accuracy, strict=True))[labels["read"]]
        row = {name: value for name, value in labels.items() if name != "read"} | {"seed": run.spec.seed}
        row |= {"accuracy": float(run.accuracy.mean()), "early": float(early), "last": float(run.accuracy[-1])}
        rows.append(row | {"diverged": bool(run.diverged)})
    return pd.DataFrame(rows)


def best_rates(table: pd.DataFrame) -> dict[tuple, float]:
    """By task and method: the rate with the highest mean accuracy over training on `val`."""
    return best_of(table[table["split"] == VAL], KINDS, "accuracy")


def at_best(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` in which each method has its own best rate."""
    return at_best_rates(table[table["split"] == TEST], best_rates(table), KINDS)


def at_printed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows on `test` at the rate that the paper prints."""
    return table[(table["split"] == TEST) & table["printed"].astype(bool)]


def gains(table: pd.DataFrame, rows: pd.DataFrame) -> dict[str, Verdict]:
    """By task that has both methods: ours minus baseline in these rows of a table, mean accuracy over training."""
    verdicts = {}
    for task, methods in table.groupby("task", sort=False)["method"].agg(set).items():
        known = rows[rows["task"] == task]
        if not {BASELINE, MLP} <= methods:
            continue
        if known.empty:
            verdict = absent("no runs at this rate", case=task)
        elif not learned(task, known.groupby("method")["last"].mean().max()):
            verdict = absent(NOT_LEARNED, case=task)
        else:
            verdict = Verdict(gain(known), above=0.0, unit=POINTS, case=task)
        verdicts[task] = verdict
    return verdicts


def summary(table: pd.DataFrame) -> str:
    best, words = best_rates(table), []
    printed, tuned = (gains(table, rows) for rows in (at_printed(table), at_best(table)))
    for task in printed:
        rates = f"{best[task, BASELINE]:g} and {best[task, MLP]:g}"
        words.append(f"{task_title(task)} {_interval(printed[task])}, {_interval(tuned[task])} ({rates})")
    count = table["task"].nunique()
    fewer = f"{count} of {len(tasks.NAMES)} tasks. " if count < len(tasks.NAMES) else ""
    return (
        f"{fewer}What {MLP} gains over the baseline in mean accuracy over training, first at the paper's rate, then"
        f" with each at its own best rate on val: {'; '.join(words)}."
    )


def _interval(verdict: Verdict) -> str:
    """A gain with its interval, or why there is none."""
    return "not learned" if verdict.reason == NOT_LEARNED else effect(verdict.estimate, signs=False)


def _faster(table: pd.DataFrame) -> Verdict:
    """The gain on MEMORIZE, each method at its best rate. That at the printed one, and those of ADDMOD, which differ
    between searches, are Figure 2's: this figure has one search."""
    return gains(table, at_best(table)).get("memorize", absent("it is not trained here", case="memorize"))


CLAIMS = (
    Claim(
        "tuned-rates",
        "On MEMORIZE the learned function converges faster with each method at its best rate on val",
        _faster,
    ),
)


def plot(table: pd.DataFrame) -> go.Figure:
    """Mean accuracy over training against the rate, one panel a task; large marks: each method's best rate on `val`.

    table: task, method, rate, split, seed, accuracy, diverged, printed.
    """
    tasks, columns = list(table["task"].unique()), 2
    best, test = best_rates(table), table[table["split"] == TEST]
    figure = grid([task_title(task) for task in tasks], columns, height=170, gap=66, top=64)
    for number, task in enumerate(tasks):
        at, rows = place(number, columns), test[test["task"] == task]
        row, column = at
        for method in methods_of(rows):
            stats = 100 * over_seeds(rows[rows["method"] == method], "rate", "accuracy")[["mean", "half"]]
            band(figure, stats, colour(method), method, at, percent=True)
            sizes = [13 if rate == best.get((task, method)) else 6 for rate in stats.index]
            mark = {"symbol": METHOD_SYMBOLS[method], "size": sizes}
            hover: dict[str, Any] = {"customdata": stats["half"]}
            hover |= {"hovertemplate": "rate %{x:g}: %{y:.1f} ± %{customdata:.1f} %"}
            method_line(figure, stats.index, stats["mean"], method, at, 2.2, marker=mark, **hover)
        values = sorted(rows["rate"].unique())
        floor: dict[str, Any] = {"showlegend": False, "hovertemplate": "best trivial answer: %{y:.1f} %<extra></extra>"}
        line(figure, [values[0], values[-1]], [100 * trivial(task)] * 2, BLACK, at, 1, "dash", **floor)
        for rate in rows.loc[rows["printed"].astype(bool), "rate"].unique():
            figure.add_vline(x=rate, line={"color": GREY, "dash": "2px,4px", "width": 1.5}, row=row, col=column)
        ticks = {"tickvals": values, "ticktext": [f"{value:g}".removeprefix("0") for value in values]}  # .005
        figure.update_xaxes(type="log", minor={"ticks": ""}, row=row, col=column, **ticks)
        figure.update_yaxes(range=FULL, row=row, col=column)
    name_axes(figure, len(tasks), columns, "peak learning rate (log scale)", "mean test accuracy (%)")
    set_reading(
        figure,
        f"Points: mean over training and seeds. Band: {INTERVAL}. Large: the best rate on val.",
        "Dotted: the rate that the paper prints. Dashed: the best trivial answer.",
        "Gains: in brackets 95 % intervals over seeds of one search.",
    )
    return figure


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
        plot=plot,
        summary=summary,
        claims=CLAIMS,
        origin=origin(tasks.NAMES),
        minutes={"smoke": 0.5, "laptop": 120, "paper": 900},
        place=("fig", "", 2, "rates"),
    ),
)
