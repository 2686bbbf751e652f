"""Accuracy of each task with one function for all, and the functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.crossing import points
from lab.plots.caption import set_reading
from lab.plots.functions import by_method
from lab.plots.panels import grid, place
from lab.plots.style import methods_of
from lab.statistics import INTERVAL
from lab.tasks.named import task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go


def multitask(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Above, one panel a task: accuracy over training with each function. Below: these functions.

    table: task, method, seed, accuracy (0 to 1), diverged. functions: task, method, x, value.
    """
    tasks, methods = list(dict.fromkeys(table["task"])), methods_of(table)
    titles = [task_title(task) for task in tasks]
    columns = min(3, len(tasks))
    rows = -(-len(tasks) // columns)
    blank = [""] * (rows * columns - len(tasks))
    figure = grid([*titles, *blank, *titles], columns, height=150, gap=68, top=64, horizontal=52)
    reach = 1.05 * functions["x"].abs().where(functions["value"] != 0).max()
    for number, task in enumerate(tasks):
        at = place(number, columns)
        points.scores(figure, table[table["task"] == task], methods, "accuracy", at)
        below = at[0] + rows, at[1]
        by_method(figure, functions[functions["task"] == task], below)
        figure.update_xaxes(title_text="input x", range=(-reach, reach), row=below[0], col=below[1])
        if at[1] == 1:
            figure.update_yaxes(title_text="accuracy (%)", row=at[0], col=1)
            figure.update_yaxes(title_text="φ(x)", row=below[0], col=1)
    one = table["seed"].nunique() < 2
    set_reading(
        figure,
        "Above: test accuracy, mean over training; large marks are means over seeds, small ones runs.",
        "One seed only: no interval." if one else f"Whiskers: {INTERVAL}, of one search.",
        "Below: the functions that were learned.",
    )
    return figure
