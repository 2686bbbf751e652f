"""Section 3.5 of the simplicity paper: do networks generalize late because of their non-linearity? (Figures 11 and 28)

They share the runs on addition modulo 27 with Figures 12 and 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.first_steps import FEWEST, PERCENT, curves, reached, spare
from lab.papers.simplicity.settings import ADDITION, LEARNED, LEVEL, METHODS, OPERATIONS, RELU, grokking, of_operations
from lab.papers.simplicity.sines import (
    diverged_words,
    draw_function,
    draw_restarts,
    function_words,
    functions,
    reached_words,
)
from lab.papers.tables import POINTS, compare_one, gains, per_seed, speed_up, steps_to
from lab.plots import go
from lab.plots.caption import counted, set_reading
from lab.plots.panels import FULL, above, grid, line, named, place
from lab.plots.style import ORANGE, SIZE, colour, faded, method_title
from lab.plots.tasks import operation_title as title
from lab.plots.tasks import operation_titles
from lab.tasks import Operation
from lab.tasks.operation import ALL

# Figure 11; the paper does not say how many. Overnight is laptop with more of them.
SEEDS = {"smoke": 2, "laptop": 6, "overnight": 16, "paper": 6}
ALMOST_ALL = 8  # of so many operations one may be an exception
ELIMINATED, LEFT = 10.0, 20.0  # % of ReLU's delay, below which it is "essentially eliminated", and above which not
CONVERGED = {"to 95 %": 0.95, "to 99 %": 0.99, "to 100 %": 1.0}  # the paper does not say which of Figure 11


def plan(scale: str, seeds: int, tasks: Sequence[Operation] = (ADDITION,)) -> list[Planned]:
    """Runs with ReLU and with the learned function on each task."""
    return [
        ({"task": task.name, "method": method}, spec)
        for task in tasks
        for method in METHODS
        for spec in grokking(scale, task).runs(method, seeds)
    ]


def faster(table: pd.DataFrame, level: float = LEVEL, **claimed) -> Verdict:
    """How many times fewer steps models with the learned function need to a test accuracy than with ReLU."""
    verdicts = []
    for task, rows in table.groupby("task", sort=False):
        slow, fast = (rows[rows["method"] == method] for method in METHODS)
        verdicts.append(speed_up(slow, fast, level, case=task, **claimed))
    return all_of(verdicts)


def delays(rows: pd.DataFrame, level: float = LEVEL) -> pd.Series:
    """For each seed of one kind of runs: steps from an accuracy in training to it in testing. Until the last step,
    where the second is not reached; NaN where the first is not, or where the run diverged."""
    train, test = (steps_to(rows, level, name) for name in ("accuracy_train", "accuracy"))
    return (test.clip(upper=rows["step"].max()) - train).where(train < float("inf"))


def left_of_delay(table: pd.DataFrame, level: float) -> Verdict:
    known = {method: estimates.finite(delays(table[table["method"] == method], level)) for method in METHODS}
    if not all(map(len, known.values())):
        return absent(f"hardly a run reaches {100 * level:g} % in training")
    logs = {method: np.log(one.clip(1)) for method, one in known.items()}  # a delay of no step counts as one step
    left = compare_one(logs, LEARNED, RELU).exp().scaled(100)
    return Verdict(left, below=ELIMINATED, refuted_above=LEFT, unit="% of ReLU's delay")


def _higher(table: pd.DataFrame) -> list[Verdict]:
    """Mean test accuracy over training, learned minus ReLU, for each operation."""
    pairs = {task: ((task, LEARNED), (task, RELU)) for task in table["task"].unique()}
    return gains(per_seed(table, ["task", "method"]), pairs, above=0.0, unit=POINTS)


def _better_on_almost_all(table: pd.DataFrame) -> Verdict:
    """On every operation but the worst one in `ALMOST_ALL`."""
    verdicts = sorted(_higher(table), key=lambda one: one.effect)
    worst = len(verdicts) // ALMOST_ALL
    return all_of(one.corrected(worst + 1) for one in verdicts[worst:])  # whichever the worst one is


FIG11 = (  # how many times faster, and what is left of the delay, hang on the size of initial weights (sizes.py)
    Claim(
        "sooner",
        "Models with learned functions generalize sooner (addition modulo 27, to 95 %)",
        lambda table: faster(table, above=1.0),
        decides="scale overnight, which has 16 seeds",
        hours=0.1,
    ),
)
FIG28 = (
    Claim(
        "operations",
        "In almost all cases (7 of 8), learned activations converge faster or to a higher accuracy",
        _better_on_almost_all,
        decides="scale overnight, which has six seeds",
        hours=0.5,
    ),
)


def fig11(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: accuracy over training, ReLU and learned. Bottom: the learned function; all restarts of its search.

    table: task, method, seed, step, accuracy, accuracy_train, diverged. functions: as of `sines.functions`.
    """
    heads = [*map(method_title, METHODS), "the chosen function", "all restarts"]
    figure = grid(heads, 2, height=190, gap=74, top=78, second_y=True)
    for number, method in enumerate(METHODS):
        rows, at = table[table["method"] == method], place(number, 2)
        _draw_runs(figure, rows, method, at)
        above(figure, f"steps to {PERCENT}: {reached(rows)}", *at, side="right", size=SIZE - 1)
    draw_function(figure, functions, (2, 1), legend=True)
    draw_restarts(figure, functions, (2, 2))
    figure.update_xaxes(title_text="training step (log scale)", row=1)
    figure.update_yaxes(title_text="accuracy (%)", row=1, col=1, secondary_y=False)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1, secondary_y=False)
    set_reading(
        figure,
        reached_words(table),
        function_words(figure),
        diverged_words(table),
    )
    return figure


def fig28(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row an operation: ReLU and the learned function; its shape. Arguments: as of `fig11`."""
    tasks = list(table["task"].unique())
    figure = grid([""] * (2 * len(tasks)), 2, height=104, gap=76, top=100, second_y=True)
    for row, task in enumerate(tasks, 1):
        rows = table[table["task"] == task]
        for method in METHODS:
            _draw_runs(figure, rows[rows["method"] == method], method, (row, 1), legend=row == 1, ink=colour(method))
        draw_function(figure, functions[functions["task"] == task], (row, 2), legend=row == 1)
        above(figure, f"<b>{title(task)}</b>", row, 1)
        relu, learned = (reached(rows[rows["method"] == method]) for method in METHODS)
        above(figure, f"steps to {PERCENT}: ReLU {relu}, learned {learned}", row, 1, size=SIZE - 2)
        figure.layout.annotations[-2].update(yshift=17)
        figure.update_yaxes(title_text="accuracy (%)", tickvals=(0, 50, 100), row=row, col=1, secondary_y=False)
    heading = {"x": 0, "xanchor": "left", "yanchor": "bottom", "yshift": 3, "font_size": SIZE - 2}
    figure.update_annotations(selector={"name": "wave"}, **heading)  # in a low panel it would stand on the curve
    for column, name in enumerate(("training step (log scale)", "input x"), 1):
        figure.update_xaxes(title_text=name, row=len(tasks), col=column)
    set_reading(
        figure,
        reached_words(table),
        function_words(figure),
        diverged_words(table),
    )
    return figure


def _draw_runs(
    figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool = True, ink: str = ORANGE
) -> None:
    """Curves of one method, training below test. ink: of training, the same for all methods or one for each."""
    name = "training" if ink == ORANGE else f"training, {method_title(method)}"
    kinds = {
        "accuracy_train": (name, ink, "dash"),
        "accuracy": (f"test, {method_title(method)}", colour(method), "solid"),
    }
    for column, (name, stroke, dash) in kinds.items():
        runs, hover = 100 * rows.pivot(index="step", columns="seed", values=column), "step %{x}: %{y:.1f} %"
        look: dict[str, Any] = {"legendgroup": name, "secondary_y": False, "showlegend": False, "hovertemplate": hover}
        for seed in runs:
            line(figure, runs.index, runs[seed], faded(stroke, 0.35), at, 1, name=f"{name}, seed {seed}", **look)
        look |= {"showlegend": legend and not named(figure, name), "hovertemplate": f"{hover} (mean)"}
        line(figure, runs.index, runs.mean(axis=1), stroke, at, 2.4, dash, name=name, **look)
    figure.update_xaxes(type="log", dtick=1, minor={"ticks": "outside"}, row=at[0], col=at[1])
    figure.update_yaxes(range=FULL, row=at[0], col=at[1], secondary_y=False)


def steps(table: pd.DataFrame) -> str:
    """Steps to `LEVEL` by task and method, and their ratio with its interval."""
    words, unreached = [], []
    for task, rows in table.groupby("task", sort=False):
        if not any(_gets_there(rows).values()):
            unreached.append(title(task))
            continue
        relu, learned = (reached(rows[rows["method"] == method]) for method in METHODS)
        times = f", {_times(rows)} times as fast" if faster(rows).effect > 0 else ""
        words.append(f"{title(task)} {learned} and {relu}{times}")
    if unreached:
        words.append(f"never with either: {', '.join(unreached)}")
    return f"Step with {PERCENT} test accuracy, learned function and {RELU}: {'; '.join(words)}."


def _at_each_level(table: pd.DataFrame) -> str:
    """The delay, and the speed-up to each accuracy that may count as having got there."""
    if not all(_gets_there(table).values()):
        return steps(table)
    times = [f"{_times(table, level)} times as fast {name}" for name, level in CONVERGED.items()]
    learned, relu = (delays(table[table["method"] == method]).mean() for method in (LEARNED, RELU))
    verdict = "shorter, not gone" if 0 < learned < relu else "not shorter" if learned >= relu else "gone"
    return (
        f"Grokking is {verdict}: test accuracy is at {PERCENT} {learned:,.0f} steps after training accuracy, and with"
        f" {RELU} {relu:,.0f}. The learned function is {', '.join(times)}."
    )


def speeds(table: pd.DataFrame) -> str:
    """How many times faster the learned function is, by task, and how many tasks no run learns."""
    words, unreached = [], 0
    titles, ring = operation_titles(table["task"].unique())
    for task, rows in table.groupby("task", sort=False):
        known = _gets_there(rows)
        if not any(known.values()):
            unreached += 1
            continue
        last = f"not in {table['step'].max():,} steps"
        never = "" if known[RELU] else f" at least ({RELU} {last})"
        never += "" if known[LEARNED] else f" at most (learned {last})"
        words.append(f"{titles[task]} {_times(rows)}{never}")
    words += [f"never with either on {counted(unreached, 'operation')}"] if unreached else []
    higher = _higher(table)
    sure = any(np.isfinite(one.low) for one in higher)
    better = sum((one.low if sure else one.effect) > 0 for one in higher)
    others = ", ".join(titles[one.case] for one in higher if not (one.low if sure else one.effect) > 0)
    text = (
        f"Mean accuracy {'surely ' if sure else ''}higher on {better} of"
        f" {counted(len(higher), 'operation')} ({f'{ring}; ' if ring else ''}paper: {len(ALL)}"
        f"{f'; not on {others}' if others else ''})"
    )
    return f"{text}. Times as fast to {PERCENT}: {'; '.join(words)}."


def _gets_there(rows: pd.DataFrame) -> dict[str, bool]:
    """Whether a run of each method reaches `LEVEL` on test rows."""
    kinds = {method: rows[rows["method"] == method] for method in METHODS}
    return {method: bool(np.isfinite(steps_to(runs, LEVEL)).any()) for method, runs in kinds.items()}


def _times(rows: pd.DataFrame, level: float = LEVEL) -> str:
    ratio = faster(rows, level)
    interval = f" [{ratio.low:.1f}, {ratio.high:.1f}]" if rows["seed"].nunique() >= FEWEST else ""
    return f"{ratio.effect:.1f}{interval}"


def _left_out(scale: str) -> list[str]:
    names = [title(task.name) for task in ALL if task not in OPERATIONS[scale]]
    left_out = [f"left out: {', '.join(names)}"] if names else []
    guess = "the paper's text names nine of its 22 operations; the others are guessed (lab.tasks.operation)"
    return [*spare(scale), *left_out, guess]


_SHARED: dict[str, Any] = {"measure": curves, "functions": functions}
ENTRIES = (
    Entry(
        "simplicity/fig11",
        "3.5",
        "Grokking with ReLU and with a learned function",
        "Addition modulo 27, networks with one hidden layer: training and test accuracy against training step,"
        " with ReLU and with the function learned for the task; below, that function, and the other"
        " restarts of its search (grey)",
        "learned functions essentially eliminate grokking; about ten times faster than ReLU",
        plan=plan,
        plot=fig11,
        tasks=(ADDITION.name,),
        seeds=SEEDS,
        origin=of_operations(lambda scale: [ADDITION]),
        summary=_at_each_level,
        notes=spare,
        claims=FIG11,
        minutes={"smoke": 0.1, "laptop": 2, "overnight": 3, "paper": 90},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig28",
        "E.6",
        "Grokking on all operations",
        "Accuracy against training step with ReLU and with the function learned for the operation; right: this one",
        "in almost all cases learned functions converge faster or to a higher accuracy",
        plan=lambda scale, seeds: plan(scale, seeds, OPERATIONS[scale]),
        plot=fig28,
        tasks=tuple(task.name for task in ALL),
        seeds={"smoke": 1, "laptop": 2, "overnight": 6, "paper": 3},
        origin=of_operations(OPERATIONS.__getitem__),
        summary=speeds,
        numbers=steps,
        notes=_left_out,
        claims=FIG28,
        minutes={"smoke": 0.3, "laptop": 6, "overnight": 10, "paper": 3_000},
        **_SHARED,
    ),
)
