"""Scores with each φ, and the functions that were learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.crossing import points
from lab.crossing.hyla_phi.settings import METHODS, SPLITS, TITLES
from lab.plots.caption import set_reading
from lab.plots.functions import by_method
from lab.plots.panels import grid, place
from lab.statistics import INTERVAL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

PANELS = {"test": "seen", "ood": "unseen"}  # combinations of terms, or of rules


def hyla_phi(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a task: the score on seen combinations, on unseen ones, and the learned φ next to ReLU.

    table: task, method, seed, score_test, score_ood (0 to 1), diverged. functions: task, method, x, value.
    """
    tasks = list(dict.fromkeys(table["task"]))
    titles = [f"{TITLES[task][0]}, {words}" for task in tasks for words in (*PANELS.values(), "φ")]
    figure = grid(titles, 3, height=150, gap=68, top=64, horizontal=50)
    for number, task in enumerate(tasks):
        rows, curves = table[table["task"] == task], functions[functions["task"] == task]
        for column, split in enumerate(SPLITS):
            at = place(3 * number + column, 3)
            points.scores(figure, rows, list(METHODS), f"score_{split}", at)
        figure.update_yaxes(title_text=f"{TITLES[task][1]} (%)", row=number + 1, col=1)
        at = place(3 * number + 2, 3)
        by_method(figure, curves, at)
        figure.add_scatter(
            x=curves["x"],
            y=curves["x"].clip(lower=0),
            mode="lines",
            line={"color": "#808080", "dash": "dot", "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
            row=at[0],
            col=at[1],
        )
        figure.update_xaxes(title_text="input x", row=at[0], col=at[1])
    one = table["seed"].nunique() < 2
    set_reading(
        figure,
        "Seen and unseen: combinations of terms, or of rules (of one feature: rules that were never trained).",
        "Large marks are means over seeds, small ones runs.",
        "One seed only: no interval." if one else f"Whiskers: {INTERVAL}, of one search.",
        "Right: the learned φ, and ReLU (dotted).",
    )
    return figure
