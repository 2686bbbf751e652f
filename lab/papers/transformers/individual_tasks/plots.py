"""Figures 2, 3, 4 and 10 of the transformers paper: accuracy over training, over length, over width.

Plot functions take a tidy table (accuracies from 0 to 1) and draw it in percent; they group, average, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.transformers.settings import SEARCHED_TO, TRAINED_TO
from lab.plots.caption import set_reading
from lab.plots.panels import ACCURACY, FULL, STEP, above, band, grid, name_axes, place
from lab.plots.style import (
    BLACK,
    GREY,
    METHOD_COLOURS,
    METHOD_SYMBOLS,
    SIZE,
    TEMPLATE,
    colour,
    faded,
    methods_of,
    task_title,
)
from lab.statistics import INTERVAL, diverged, over_seeds
from lab.tasks.trivial import learned, trivial

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

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
            _draw_runs(figure, rows[rows["method"] == method], method, at, legend=method not in named)
            named.add(method)
        divergences += _mark_diverged(figure, rows, task, at)
        _draw_floor(figure, rows, "step", at)
        figure.update_yaxes(range=FULL, row=at[0], col=at[1])
    name_axes(figure, len(tasks), columns, STEP, ACCURACY)
    set_reading(figure, CURVES, FLOOR, COVERS, _said(divergences))
    return figure


def fig10(table: pd.DataFrame) -> go.Figure:
    """Accuracy over training, one row a task, one column a method; the baseline's mean is repeated, dotted, in each.

    table: task, method, seed, step, accuracy, diverged.
    """
    tasks, methods = list(table["task"].unique()), methods_of(table)
    heads = [_head(method) if not row else "" for row in range(len(tasks)) for method in methods]
    figure = grid(heads, len(methods), height=104, gap=42, top=34, left=72, horizontal=18, share_y=True)
    divergences = []
    for row, task in enumerate(tasks, 1):
        for column, method in enumerate(methods, 1):
            rows = table[(table["task"] == task) & (table["method"] == method)]
            if column > 1 and methods[0] == "baseline":
                _draw_reference(figure, table[(table["task"] == task) & (table["method"] == "baseline")], (row, column))
            _draw_runs(figure, rows, method, (row, column), legend=False)
            divergences += _mark_diverged(figure, rows, task, (row, column), side="right")
            _draw_floor(figure, table[table["task"] == task], "step", (row, column), note=column == 1)
            figure.update_yaxes(range=FULL, tickvals=(0, 50, 100), row=row, col=column)
            figure.update_xaxes(nticks=4, row=row, col=column)
        figure.update_yaxes(title_text=f"<b>{task_title(task)}</b><br>test acc. (%)", row=row, col=1)
    figure.update_xaxes(title_text=STEP, row=len(tasks))
    dotted = "Dotted grey: the baseline's mean again." if len(methods) > 1 and methods[0] == "baseline" else ""
    set_reading(figure, CURVES, dotted, FLOOR, COVERS, _said(divergences))
    return figure


def fig3(table: pd.DataFrame) -> go.Figure:
    """COPY: accuracy by sequence length, with the lengths that weights and non-linearity were trained on.

    table: method, seed, length, accuracy.
    """
    import plotly.graph_objects as go

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
        f"Line: mean over seeds. {_interval(table, 'Band')}",
        f"Dashed lines: weights are trained on lengths up to {TRAINED_TO}, the non-linearity up to {SEARCHED_TO}.",
        _said(_diverged_runs(table)),
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
                error_y={"array": stats["half"], "thickness": 1.2, "width": 4},
                name=method,
                mode="lines+markers",
                line={"color": colour(method), "width": 2},
                legendgroup=method,
                marker={"symbol": METHOD_SYMBOLS[method], "size": 7},
                showlegend=method not in named,
                hovertemplate="width %{x}: %{y:.1f} ± %{error_y.array:.1f} %",
                row=row,
                col=column,
            )
            named.add(method)
        _draw_floor(figure, table[table["task"] == task], "width", (row, column))
        figure.update_xaxes(type="log", tickvals=widths, range=ends, minor={"ticks": ""}, row=row, col=column)
        figure.update_yaxes(range=FULL, row=row, col=column)
    name_axes(figure, len(tasks), columns, "model width (channels, log₂ scale)", ACCURACY)
    points = f"Points: mean over seeds. {_interval(table, 'Whiskers')}"
    set_reading(figure, points, FLOOR, COVERS, _said(_diverged_runs(table)))
    return figure


def _draw_runs(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool) -> None:
    """One thin curve a seed, dotted where the run diverged; the mean of those that have a value at a step on top."""
    rows = rows.assign(search=rows["search"] if "search" in rows else 0)
    ink, runs = (
        colour(method),
        rows.pivot(index="step", columns=["search", "seed"], values="accuracy").sort_index(axis=1),
    )
    diverged_rows = rows[rows["diverged"].astype(bool)] if "diverged" in rows else rows[:0]
    diverged_runs = set(zip(diverged_rows["search"], diverged_rows["seed"], strict=True))
    several = rows["search"].nunique() > 1
    for search, seed in runs:
        figure.add_scatter(
            x=runs.index,
            y=100 * runs[search, seed],
            mode="lines",
            name=f"{method}, search {search}, seed {seed}" if several else f"{method}, seed {seed}",
            legendgroup=method,
            line={"color": faded(ink, 0.4), "width": 1, "dash": "dot" if (search, seed) in diverged_runs else "solid"},
            showlegend=False,
            hovertemplate="step %{x}: %{y:.1f} %",
            row=at[0],
            col=at[1],
        )
    mean = 100 * runs.mean(axis=1)
    figure.add_scatter(
        x=mean.index,
        y=mean,
        mode="lines",
        name=method,
        legendgroup=method,
        showlegend=legend,
        line={"color": ink, "width": 2.6},
        hovertemplate="step %{x}: %{y:.1f} % (mean)",
        row=at[0],
        col=at[1],
    )


def _draw_floor(figure: go.Figure, rows: pd.DataFrame, by: str, at: tuple[int, int], note: bool = True) -> None:
    """The trivial answer's accuracy over a panel; note: say so where no method, in the mean, is better at the end."""
    task = rows["task"].iloc[0]
    if not np.isfinite(trivial(task)):
        return
    figure.add_scatter(
        x=[rows[by].min(), rows[by].max()],
        y=[100 * trivial(task)] * 2,
        mode="lines",
        name="trivial answer",
        showlegend=False,
        line={"color": BLACK, "width": 1, "dash": "dash"},
        hovertemplate="best trivial answer: %{y:.1f} %",
        row=at[0],
        col=at[1],
    )
    if note and not learned(task, rows.groupby([by, "method"])["accuracy"].mean().max()):
        panel = figure.get_subplot(*at)
        figure.add_annotation(
            text="not learned: no better<br>than a trivial answer",
            font={"size": SIZE - 2, "color": GREY},
            xref=f"{panel.xaxis.plotly_name.replace('axis', '')} domain",
            yref=f"{panel.yaxis.plotly_name.replace('axis', '')} domain",
            x=0.5,
            y=0.7,
            showarrow=False,
        )


def _draw_reference(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int]) -> None:
    mean = 100 * rows.groupby("step")["accuracy"].mean()
    figure.add_scatter(
        x=mean.index,
        y=mean,
        mode="lines",
        name="baseline, mean again",
        showlegend=False,
        hoverinfo="skip",
        line={"color": METHOD_COLOURS["baseline"], "width": 1.4, "dash": "dot"},
        row=at[0],
        col=at[1],
    )


def _mark_diverged(
    figure: go.Figure, rows: pd.DataFrame, task: str, at: tuple[int, int], side: str = "right"
) -> list[str]:
    """Write above a panel how many of its runs diverged, and give the same as phrases."""
    counts = [(method, *diverged(part)) for method, part in rows.groupby("method", sort=False)]
    counts = [(method, count, runs) for method, count, runs in counts if count]
    if counts:
        words = ", ".join(
            f'<span style="color:{colour(method)}">{count} of {runs}</span>' for method, count, runs in counts
        )
        above(figure, f"diverged: {words}", *at, side=side, size=SIZE - 2)
    return [f"{task_title(task)}, {method}: {count} of {runs}" for method, count, runs in counts]


def _diverged_runs(table: pd.DataFrame) -> list[str]:
    """The same phrases for a table without panels of curves."""
    by = [name for name in ("task", "method", "width") if name in table]
    phrases = []
    for names, rows in table.groupby(by, sort=False):
        count, runs = diverged(rows)
        if count:
            words = [
                f"width {name}" if label == "width" else task_title(name) for label, name in zip(by, names, strict=True)
            ]
            phrases.append(f"{', '.join(words)}: {count} of {runs}")
    return phrases


def _said(divergences: list[str]) -> str:
    return f"Diverged runs (left out of means from there on): {'; '.join(divergences)}." if divergences else ""


def _interval(table: pd.DataFrame, mark: str) -> str:
    return f"{mark}: {INTERVAL}." if table["seed"].nunique() > 1 else "One seed only: no interval."


def _head(method: str) -> str:
    return f'<span style="color:{colour(method)}">{method}</span>'
