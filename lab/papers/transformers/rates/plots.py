"""Accuracy against the peak learning rate, one panel a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.transformers.rates.choice import TEST, best_rates
from lab.plots.caption import set_reading
from lab.plots.lines import band
from lab.plots.panels import FULL, grid, name_axes, place
from lab.plots.style import BLACK, GREY, METHOD_SYMBOLS, colour, methods_of
from lab.statistics import INTERVAL, over_seeds
from lab.tasks.named import task_title, trivial

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

AXIS = "peak learning rate (log scale)"
ACCURACY = "mean test accuracy (%)"


def rates(table: pd.DataFrame) -> go.Figure:
    """Mean accuracy over training against the rate; large marks: each method's best rate on `val`.

    table: task, method, rate, split, seed, accuracy, diverged, printed.
    """
    tasks, columns = list(table["task"].unique()), 2
    named: set[str] = set()
    best, test = best_rates(table), table[table["split"] == TEST]
    figure = grid([task_title(task) for task in tasks], columns, height=170, gap=66, top=64)
    for number, task in enumerate(tasks):
        row, column = place(number, columns)
        rows = test[test["task"] == task]
        for method in methods_of(rows):
            _draw(figure, rows[rows["method"] == method], method, best.get((task, method)), (row, column), named)
        values = sorted(rows["rate"].unique())
        figure.add_scatter(
            x=[values[0], values[-1]],
            y=[100 * trivial(task)] * 2,
            mode="lines",
            showlegend=False,
            line={"color": BLACK, "width": 1, "dash": "dash"},
            hovertemplate="best trivial answer: %{y:.1f} %<extra></extra>",
            row=row,
            col=column,
        )
        for rate in rows.loc[rows["printed"].astype(bool), "rate"].unique():
            figure.add_vline(x=rate, line={"color": GREY, "dash": "dot", "width": 1.2}, row=row, col=column)
        figure.update_xaxes(
            type="log", tickvals=values, ticktext=[_short(v) for v in values], minor={"ticks": ""}, row=row, col=column
        )
        figure.update_yaxes(range=FULL, row=row, col=column)
    name_axes(figure, len(tasks), columns, AXIS, ACCURACY)
    set_reading(
        figure,
        f"Points: mean over training and seeds. Band: {INTERVAL}. Large: the best rate on val.",
        "Dotted: the rate that the paper prints. Dashed: the best trivial answer.",
        "Gains: in brackets 95 % intervals over seeds of one search.",
    )
    return figure


def _draw(
    figure: go.Figure, rows: pd.DataFrame, method: str, best: float | None, at: tuple[int, int], named: set[str]
) -> None:
    ink, stats = colour(method), 100 * over_seeds(rows, "rate", "accuracy")[["mean", "half"]]
    band(figure, stats, ink, method, at)
    figure.add_scatter(
        x=stats.index,
        y=stats["mean"],
        name=method,
        legendgroup=method,
        showlegend=method not in named,
        mode="lines+markers",
        line={"color": ink, "width": 2.2},
        marker={"symbol": METHOD_SYMBOLS[method], "size": [13 if rate == best else 6 for rate in stats.index]},
        customdata=stats["half"],
        hovertemplate="rate %{x:g}: %{y:.1f} ± %{customdata:.1f} %",
        row=at[0],
        col=at[1],
    )
    named.add(method)


def _short(rate: float) -> str:
    """A rate on an axis: .005."""
    return f"{rate:g}".removeprefix("0")
