"""Figures 2, 3, 4 and 10 of the transformers paper: accuracy over training, over length, over width.

Plot functions take a tidy table (accuracies from 0 to 1) and draw it in percent; they group, average, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.transformers.individual_tasks.traces import (
    diverged_runs,
    divergence_note,
    draw_floor,
    draw_reference,
    draw_runs,
    mark_diverged,
    write_in,
)
from lab.papers.transformers.settings import SEARCHED_TO, TRAINED_TO
from lab.plots.caption import interval_note, set_reading
from lab.plots.lines import band, percent_whiskers
from lab.plots.panels import ACCURACY, FULL, STEP, grid, name_axes, place
from lab.plots.style import GREY, METHOD_SYMBOLS, SIZE, TEMPLATE, colour, methods_of
from lab.statistics import diverged, over_seeds
from lab.tasks.named import task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

CURVES = "Thin: one run a seed. Thick: mean over runs."
COVERS = "Intervals of gains: over seeds, and over searches where several are named."
FLOOR = "Dashed: the best trivial answer (one token for all; in Haystack some value of the list)."


def fig2(table: pd.DataFrame) -> go.Figure:
    """Accuracy over training, one panel a task, baseline and optimized in each.

    table: task, method, search, seed, step, accuracy, diverged.
    """
    tasks, columns = list(table["task"].unique()), 2
    any_diverged = diverged(table)[0] > 0
    figure = grid([task_title(task) for task in tasks], columns, height=170, gap=76 if any_diverged else 62, top=64)
    divergences, named = [], set()
    for number, task in enumerate(tasks):
        at = place(number, columns)
        rows = table[table["task"] == task]
        for method in methods_of(rows):
            draw_runs(figure, rows[rows["method"] == method], method, at, legend=method not in named)
            named.add(method)
        divergences += mark_diverged(figure, rows, task, at)
        draw_floor(figure, rows, "step", at)
        figure.update_yaxes(range=FULL, row=at[0], col=at[1])
    name_axes(figure, len(tasks), columns, STEP, ACCURACY)
    set_reading(figure, CURVES, FLOOR, COVERS, divergence_note(divergences))
    return figure


def fig10(table: pd.DataFrame) -> go.Figure:
    """Accuracy over training, one row a task, one column a method; the baseline's mean is repeated, dotted, in each.

    table: task, method, seed, step, accuracy, diverged; a task may lack methods.
    """
    tasks, methods = list(table["task"].unique()), methods_of(table)
    heads = [_head(method) if not row else "" for row in range(len(tasks)) for method in methods]
    figure = grid(heads, len(methods), height=104, gap=42, top=34, left=72, horizontal=18, share_y=True)
    divergences = []
    for row, task in enumerate(tasks, 1):
        for column, method in enumerate(methods, 1):
            rows = table[(table["task"] == task) & (table["method"] == method)]
            if len(rows):
                if column > 1 and methods[0] == "baseline":
                    reference = table[(table["task"] == task) & (table["method"] == "baseline")]
                    draw_reference(figure, reference, (row, column))
                draw_runs(figure, rows, method, (row, column), legend=False)
            else:
                write_in(figure, "not trained at this scale", (row, column))
            divergences += mark_diverged(figure, rows, task, (row, column))
            draw_floor(figure, table[table["task"] == task], "step", (row, column), note=column == 1)
            figure.update_yaxes(range=FULL, tickvals=(0, 50, 100), row=row, col=column)
            figure.update_xaxes(nticks=4, row=row, col=column)
        figure.update_yaxes(title_text=f"<b>{task_title(task)}</b><br>test acc. (%)", row=row, col=1)
    figure.update_xaxes(title_text=STEP, row=len(tasks))
    dotted = "Dotted grey: the baseline's mean again." if len(methods) > 1 and methods[0] == "baseline" else ""
    set_reading(figure, CURVES, dotted, FLOOR, COVERS, divergence_note(divergences))
    return figure


def fig3(table: pd.DataFrame) -> go.Figure:
    """COPY: accuracy by sequence length, with the lengths that weights and non-linearity were trained on.

    table: method, seed, length, accuracy.
    """
    from lab.plots import go

    figure = go.Figure()
    for method in methods_of(table):
        stats = 100 * over_seeds(table[table["method"] == method], "length", "accuracy")[["mean", "half"]]
        ink = colour(method)
        band(figure, stats, ink, method)
        figure.add_scatter(
            x=stats.index,
            y=stats["mean"],
            name=method,
            legendgroup=method,
            mode="lines+markers",
            line={"color": ink, "width": 2.5},
            marker={"symbol": METHOD_SYMBOLS[method], "size": 7},
            customdata=stats["half"],
            hovertemplate="length %{x}: %{y:.1f} ± %{customdata:.1f} %",
        )
    for length, what in ((TRAINED_TO, "weights"), (SEARCHED_TO, "non-linearity")):
        figure.add_vline(
            x=length,
            line={"color": GREY, "dash": "dash", "width": 1},
            annotation_position="top",
            annotation={
                "text": f"{what}: ≤ {length}",
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
                "xanchor": "center",
                "font": {"size": SIZE - 1},
            },
        )
    figure.update_layout(
        template=TEMPLATE,
        height=390,
        margin={"l": 62, "r": 16, "t": 54, "b": 50},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"title": {"text": "sequence length (symbols to copy)"}, "dtick": 2, "tick0": 0},
        yaxis={"title": {"text": "test accuracy, whole sequence (%)"}, "range": FULL},
    )
    set_reading(
        figure,
        f"Line: mean over seeds. {interval_note(table, 'Band')}",
        f"Dashed lines: weights are trained on lengths up to {TRAINED_TO}, the non-linearity up to {SEARCHED_TO}.",
        divergence_note(diverged_runs(table)),
    )
    return figure


def fig4(table: pd.DataFrame) -> go.Figure:
    """Accuracy at the end of training over width, one panel a task.

    table: task, method, width, seed, accuracy.
    """
    tasks, columns = list(table["task"].unique()), 2
    figure = grid([task_title(task) for task in tasks], columns, height=150, gap=64, top=64)
    widths, named = sorted(table["width"].unique().tolist()), set()
    ends = (np.log10(widths[0]) - 0.08, np.log10(widths[-1]) + 0.08)
    for number, task in enumerate(tasks):
        row, column = place(number, columns)
        for method in methods_of(table[table["task"] == task]):
            rows = table[(table["task"] == task) & (table["method"] == method)]
            stats = 100 * over_seeds(rows, "width", "accuracy")[["mean", "half"]]
            figure.add_scatter(
                x=stats.index,
                y=stats["mean"],
                error_y=percent_whiskers(stats, 4),
                customdata=stats["half"],
                name=method,
                mode="lines+markers",
                line={"color": colour(method), "width": 2},
                legendgroup=method,
                marker={"symbol": METHOD_SYMBOLS[method], "size": 7},
                showlegend=method not in named,
                hovertemplate="width %{x}: %{y:.1f} ± %{customdata:.1f} %",
                row=row,
                col=column,
            )
            named.add(method)
        draw_floor(figure, table[table["task"] == task], "width", (row, column))
        figure.update_xaxes(type="log", tickvals=widths, range=ends, minor={"ticks": ""}, row=row, col=column)
        figure.update_yaxes(range=FULL, row=row, col=column)
    name_axes(figure, len(tasks), columns, "model width (channels, log₂ scale)", ACCURACY)
    points = f"Points: mean over seeds. {interval_note(table, 'Whiskers')}"
    set_reading(figure, points, FLOOR, COVERS, divergence_note(diverged_runs(table)))
    return figure


def _head(method: str) -> str:
    return f'<span style="color:{colour(method)}">{method}</span>'
