"""The functions of several searches for each version of a task (simplicity paper, Fig. 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.grokking.first_steps import reached
from lab.papers.simplicity.grokking.function_plots import FUNCTION, draw_function
from lab.papers.simplicity.settings import LEARNED, LEVEL, RELU
from lab.plots.caption import set_reading
from lab.plots.operation_table import operation_title as title
from lab.plots.panels import above, grid
from lab.plots.style import SIZE

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go


def by_search(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a version, one panel a search: its function, with its inputs and the nearest sine.

    table: task, method, search, seed, step, accuracy, diverged. functions: as `grokking.functions` has it.
    """
    tasks, searches = list(table["task"].unique()), sorted(functions["search"].unique())
    level = f"{100 * LEVEL:.0f} %"
    titles = [""] * (len(tasks) * len(searches))
    figure = grid(titles, len(searches), height=112, gap=74, top=84, horizontal=40, second_y=True)
    for row, task in enumerate(tasks, 1):
        runs = table[table["task"] == task]
        for column, search in enumerate(searches, 1):
            shown = functions[(functions["task"] == task) & (functions["search"] == search)]
            draw_function(figure, shown, (row, column), legend=(row, column) == (1, 1), narrow=True)
            learned = runs[(runs["method"] == LEARNED) & (runs["search"] == search)]
            above(figure, f"{level}: {reached(learned)}", row, column, size=SIZE - 2)
        relu = reached(runs[runs["method"] == RELU])
        above(figure, f"<b>{title(task)}</b>  ReLU, {level}: {relu}", row, 1)
        figure.layout.annotations[-1].update(yshift=18)
        figure.update_yaxes(title_text="φ(x)", row=row, col=1, secondary_y=False)
    figure.update_annotations(selector={"name": "wave"}, font_size=SIZE - 2)
    figure.update_xaxes(nticks=6)
    figure.update_xaxes(title_text="input x", row=len(tasks))
    apart = float(np.diff(np.unique(functions["x"])).mean())
    set_reading(
        figure,
        f"One panel a search; above it, the mean first step with {level} test accuracy of models with its function, ±"
        " its 95 % confidence interval over seeds (Student's t), of those that get there.",
        FUNCTION,
        f"Knots are {apart:.2g} apart, so that no function can have more than {0.5 / apart:.3g} periods per unit.",
    )
    return figure
