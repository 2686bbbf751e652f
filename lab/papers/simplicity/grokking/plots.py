"""Training and test accuracy of networks that generalize late, and the functions they have (simplicity paper, Figs.
11, 12, 13, 28)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.grokking.first_steps import reached
from lab.papers.simplicity.grokking.function_plots import FUNCTION, draw_function, draw_restarts
from lab.papers.simplicity.grokking.search_plots import by_search
from lab.papers.simplicity.settings import FLOOR, LEARNED, LEVEL, RELU
from lab.plots.caption import set_reading
from lab.plots.operation_table import operation_title as title
from lab.plots.panels import FULL, above, grid, name_axes, place
from lab.plots.style import GREY, INK, METHOD_SYMBOLS, ORANGE, SIZE, colour, faded, method_title
from lab.statistics import diverged

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

TRAINING = ORANGE
FASTER = (
    "Times as fast: ratio of geometric means; a run that does not get there counts with its last step. Brackets: 95 %"
    " interval over seeds."
)


def fig11(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: accuracy over training, ReLU and learned. Bottom: the learned function; all restarts of its search.

    table: task, method, seed, step, accuracy, accuracy_train, diverged. functions: as `grokking.functions` has it.
    """
    heads = [method_title(RELU), method_title(LEARNED), "the function", "all restarts"]
    figure = grid(heads, 2, height=190, gap=74, top=78, second_y=True)
    for number, method in enumerate((RELU, LEARNED)):
        _draw_runs(figure, table[table["method"] == method], method, place(number, 2))
    draw_function(figure, functions, (2, 1), legend=True)
    draw_restarts(figure, functions, (2, 2))
    figure.update_xaxes(title_text="training step (log scale)", row=1)
    figure.update_yaxes(title_text="accuracy (%)", row=1, col=1, secondary_y=False)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1, secondary_y=False)
    set_reading(
        figure,
        f"Thin: one run a seed. Thick: mean over seeds. Above the curves: mean step at which test accuracy reaches"
        f" {100 * LEVEL:.0f} %, ± its 95 % confidence interval (Student's t), of the seeds that get there.",
        FUNCTION,
        FASTER,
        "All restarts: those not chosen are grey; above, the accuracy on validation rows (val), which decided.",
        _diverged_runs(table),
    )
    return figure


def fig12(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One panel a task: its learned function with its inputs and the nearest sine. Arguments: as of `fig11`; with a
    column `search` in both tables one panel a search."""
    if "search" in functions:
        return by_search(table, functions)
    tasks = list(table["task"].unique())
    figure = grid([title(task) for task in tasks], 2, height=170, gap=84, top=80, second_y=True)
    for number, task in enumerate(tasks):
        at = place(number, 2)
        rows = functions[(functions["task"] == task) & functions["chosen"].astype(bool)]
        draw_function(figure, rows, at, legend=number == 0)
        steps = [reached(table[(table["task"] == task) & (table["method"] == method)]) for method in (RELU, LEARNED)]
        above(figure, f"{100 * LEVEL:.0f} % at step: ReLU {steps[0]}", *at, side="right", size=SIZE - 2)
        above(figure, f"learned {steps[1]}", *at, side="right", size=SIZE - 2)
        figure.layout.annotations[-2].update(yshift=17)
    name_axes(figure, len(tasks), 2, "input x", "φ(x)")
    set_reading(
        figure,
        f"Above each panel: mean first step with {100 * LEVEL:.0f} % test accuracy, ± its"
        " 95 % confidence interval (Student's t), of the seeds that get there.",
        FUNCTION,
        FASTER,
        _diverged_runs(table),
    )
    return figure


def fig13(table: pd.DataFrame) -> go.Figure:
    """Left: first steps by fraction of the table; right: by width. One point a run, the mean as a line.

    table: task, fraction, width, method, seed, step (NaN: never), accuracy, last, diverged.
    """
    figure = grid(["training data", "width"], 2, height=240, top=64, left=72, horizontal=70)
    common = {name: table.groupby(name)["seed"].size().idxmax() for name in ("fraction", "width")}
    top = float(table["last"].max())
    for number, (name, other) in enumerate((("fraction", "width"), ("width", "fraction"))):
        at = {"row": 1, "col": number + 1}
        part = table[table[other] == common[other]]
        part = part.assign(x=100 * part[name] if name == "fraction" else part[name])
        for method in (RELU, LEARNED):
            rows = part[part["method"] == method]
            mean = rows.groupby("x")["step"].agg(lambda steps: steps.mean() if steps.notna().all() else float("nan"))
            never = rows[rows["step"].isna()]
            look = {"legendgroup": method, "hovertemplate": "%{x}: step %{y:,.0f}"} | at
            figure.add_scatter(
                x=mean.index,
                y=mean,
                mode="lines",
                name=method_title(method),
                showlegend=not number,
                line={"color": colour(method), "width": 2.4},
                **look,
            )
            symbol = METHOD_SYMBOLS[method]
            symbols = [symbol if end >= FLOOR else f"{symbol}-open" for end in rows["accuracy"]]
            figure.add_scatter(
                x=rows["x"],
                y=rows["step"],
                mode="markers",
                name=f"{method}, one run",
                showlegend=False,
                marker={"color": colour(method), "size": 8, "symbol": symbols},
                **look,
            )
            height = (1.4 if method == RELU else 2) * top  # so that one does not hide the other
            figure.add_scatter(
                x=never["x"],
                y=[height] * len(never),
                mode="markers",
                name=f"{method}, never",
                showlegend=False,
                marker={"color": colour(method), "size": 8, "symbol": "x-thin-open"},
                **look | {"hovertemplate": "%{x}: not by the last step"},
            )
        figure.update_xaxes(tickvals=sorted(part["x"].unique()), **at)
    below = table["step"].notna() & (table["accuracy"] < FLOOR)
    first = next(iter(table.loc[below, "method"]), RELU)
    marks = (
        ("not by the last step", "x-thin", table["step"].isna()),
        (f"open: ends below {100 * FLOOR:.0f} %", METHOD_SYMBOLS[first], below),
    )
    for name, symbol, rows in marks:
        if rows.any():
            mark = {"color": INK, "size": 8, "symbol": f"{symbol}-open"}
            figure.add_scatter(x=[None], y=[None], mode="markers", name=name, marker=mark, hoverinfo="skip")
    figure.add_hline(y=top, line={"color": GREY, "dash": "dot", "width": 1})
    lowest = np.nanmin([top, table["step"].min()])
    ticks = [digit * 10**power for power in range(7) for digit in (1, 3)]
    figure.update_yaxes(type="log", range=np.log10([0.6 * lowest, 3 * top]), tickvals=ticks, tickformat=",")
    figure.update_xaxes(title_text="table that is not the test split (%)", col=1)
    figure.update_xaxes(title_text="width (hidden units)", col=2)
    figure.update_yaxes(title_text=f"first step with {100 * LEVEL:.0f} % (log scale)", col=1)
    set_reading(
        figure,
        f"One point a run; the line is their mean, where all get there. Left: width {common['width']};"
        f" right: {100 * common['fraction']:.0f} % of the table. Above the dotted line, the last step (×): runs"
        f" that never get there. Hollow: runs that get there and end below {100 * FLOOR:.0f} %.",
    )
    return figure


def fig28(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row an operation: ReLU, the learned function, and its shape. Arguments: as of `fig11`."""
    tasks = list(table["task"].unique())
    figure = grid([""] * (3 * len(tasks)), 3, height=104, gap=78, top=100, horizontal=34, second_y=True)
    for row, task in enumerate(tasks, 1):
        rows = table[table["task"] == task]
        for column, method in enumerate((RELU, LEARNED), 1):
            _draw_runs(figure, rows[rows["method"] == method], method, (row, column), legend=row == 1)
        draw_function(figure, functions[functions["task"] == task], (row, 3), legend=row == 1)
        above(figure, f"<b>{title(task)}</b>", row, 1)
        figure.layout.annotations[-1].update(yshift=19)
        for column, head in enumerate((RELU, LEARNED), 1):
            above(figure, head, row, column, size=SIZE - 1)
        figure.update_yaxes(title_text="accuracy (%)", tickvals=(0, 50, 100), row=row, col=1, secondary_y=False)
    heading = {"x": 0, "xanchor": "left", "yanchor": "bottom", "yshift": 3, "font_size": SIZE - 2}
    figure.update_annotations(selector={"name": "wave"}, **heading)  # in a low panel it would stand on the curve
    figure.update_xaxes(title_text="training step (log)", row=len(tasks), col=1)
    figure.update_xaxes(title_text="training step (log)", row=len(tasks), col=2)
    figure.update_xaxes(title_text="input x", row=len(tasks), col=3)
    set_reading(
        figure,
        "Thin: one run a seed. Thick: mean over seeds. Above the curves: mean first step with"
        f" {100 * LEVEL:.0f} % test accuracy, ± its 95 % confidence interval (Student's t), of the seeds that"
        " get there.",
        FUNCTION,
        FASTER,
        _diverged_runs(table),
    )
    return figure


def _draw_runs(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool = True) -> None:
    """Curves of one method, training below test."""
    kinds = (("training", "accuracy_train", TRAINING), (f"test, {method_title(method)}", "accuracy", colour(method)))
    where = {"row": at[0], "col": at[1]}
    for name, column, ink in kinds:
        runs = 100 * rows.pivot(index="step", columns="seed", values=column)
        for seed in runs:
            figure.add_scatter(
                x=runs.index,
                y=runs[seed],
                mode="lines",
                name=f"{name}, seed {seed}",
                legendgroup=name,
                showlegend=False,
                line={"color": faded(ink, 0.35), "width": 1},
                hovertemplate="step %{x}: %{y:.1f} %",
                secondary_y=False,
                **where,
            )
        mean = runs.mean(axis=1)
        dash = "dash" if column == "accuracy_train" else "solid"
        figure.add_scatter(
            x=mean.index,
            y=mean,
            mode="lines",
            name=name,
            legendgroup=name,
            showlegend=legend and (column == "accuracy" or method == RELU),
            line={"color": ink, "width": 2.4, "dash": dash},
            hovertemplate="step %{x}: %{y:.1f} % (mean)",
            secondary_y=False,
            **where,
        )
    above(figure, f"{100 * LEVEL:.0f} %: {reached(rows)}", *at, side="right", size=SIZE - 1)
    figure.update_xaxes(type="log", dtick=1, minor={"ticks": "outside"}, row=at[0], col=at[1])
    figure.update_yaxes(range=FULL, row=at[0], col=at[1], secondary_y=False)


def _diverged_runs(table: pd.DataFrame) -> str:
    """How many runs diverged, by task and method."""
    counts = {names: diverged(rows) for names, rows in table.groupby(["task", "method"], sort=False)}
    words = [f"{title(task)}, {method}: {count} of {runs}" for (task, method), (count, runs) in counts.items() if count]
    return f"Diverged runs (left out of means from there on): {'; '.join(words)}." if words else ""
