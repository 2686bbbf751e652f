"""Figures 7, 13 and 14, and Table 5: gains by size of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import TYPE_CHECKING

from lab.estimates import Estimate
from lab.papers.transformers.language.designs import GELU, TABLE_5
from lab.papers.transformers.language.measures import (
    accuracy_gains,
    by_size,
    perplexity_changes,
    perplexity_gains,
    spread,
)
from lab.papers.transformers.language.plots import comparisons
from lab.papers.transformers.settings import BASELINE
from lab.plots.caption import counted, set_reading
from lab.plots.panels import grid, place
from lab.plots.style import GREY, METHOD_SYMBOLS, colour, methods_of
from lab.statistics import LEVEL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

SIZE_AXIS = "layers × width"
Gains = Callable[["pd.DataFrame"], Mapping[str, Estimate]]


def fig7(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Left: accuracy minus the baseline's by size and method; right: functions of the largest model.

    table: method, layers, width, seed, accuracy. functions: method, layers, width, x, value.
    """
    largest = functions[["layers", "width"]].max()
    shown = functions[(functions["layers"] == largest["layers"]) & (functions["width"] == largest["width"])]
    methods = methods_of(shown)
    figure = grid(["gain in accuracy", *methods], 1 + len(methods), height=260, top=64, horizontal=66)
    _draw_gains(figure, table, lambda rows: accuracy_gains(rows, "method", BASELINE), (1, 1), True)
    for column, method in enumerate(methods, 2):
        rows = shown[shown["method"] == method].sort_values("x")
        figure.add_scatter(
            x=rows["x"],
            y=rows["value"],
            mode="lines",
            name=method,
            legendgroup=method,
            showlegend=False,
            line={"color": colour(method), "width": 2},
            hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
            row=1,
            col=column,
        )
        figure.update_xaxes(title_text="input x", row=1, col=column)
    figure.update_xaxes(title_text=SIZE_AXIS, row=1, col=1)
    figure.update_yaxes(title_text="accuracy minus baseline (% points)", row=1, col=1)
    figure.update_yaxes(title_text="φ(x)", row=1, col=2)
    set_reading(
        figure,
        f"Left: held-out text. {spread(table)} Right: where functions of the largest model are not zero.",
    )
    return figure


def perplexities(table: pd.DataFrame) -> go.Figure:
    """One panel a method: training perplexity of the baseline minus its own, by size.

    table: method, layers, width, seed, perplexity.
    """
    methods = [method for method in methods_of(table) if method != BASELINE]
    columns = min(2, len(methods))  # names of methods and of sizes are long
    figure = grid(methods, columns, height=180, top=40, gap=84, horizontal=30, share_y=True)
    for number, method in enumerate(methods):
        rows, at = table[table["method"].isin((BASELINE, method))], place(number, columns)
        _draw_gains(figure, rows, lambda rows: perplexity_gains(rows, "method", BASELINE), at, False)
        figure.update_xaxes(title_text=SIZE_AXIS, row=at[0], col=at[1])
        if at[1] == 1:
            figure.update_yaxes(title_text="baseline minus this one", row=at[0], col=1)
    figure.update_yaxes(matches="y")  # panels compare
    set_reading(figure, f"Differences of training perplexity; above 0 is better. {spread(table)}")
    return figure


def table5(table: pd.DataFrame) -> go.Figure:
    """One row a depth and method: differences from GELU, ours beside the printed ones."""
    left, right = [], []
    for layers, rows in table.groupby("layers", sort=False):
        printed = TABLE_5.get(int(layers), {})
        base = printed.get(GELU, (nan, nan))
        gains = accuracy_gains(rows, "method", GELU)
        for method, change in perplexity_changes(rows, "method", GELU).items():
            theirs = printed.get(method, (nan, nan))
            name = f"{counted(layers, 'layer')}, {method}"
            left.append((name, change, 100 * (theirs[0] / base[0] - 1)))
            right.append((name, gains[method], theirs[1] - base[1]))
    figure = comparisons(left, right, 150)
    set_reading(
        figure, f"Left: lower is better; right: higher. {spread(table)} The paper's numbers are of TinyStories."
    )
    return figure


def _draw_gains(figure: go.Figure, table: pd.DataFrame, gains: Gains, at: tuple[int, int], legend: bool) -> None:
    """The gains of each method at each size, side by side."""
    effects = [(size, method, gain) for size, rows in by_size(table) for method, gain in gains(rows).items()]
    methods, sizes = [m for m in methods_of(table) if m != BASELINE], [size for size, _ in by_size(table)]
    for rank, method in enumerate(methods):
        points = [(size, gain) for size, name, gain in effects if name == method]
        shift = 0.16 * (rank - (len(methods) - 1) / 2)
        ends = [gain.interval(LEVEL) for _, gain in points]
        figure.add_scatter(
            x=[sizes.index(size) + shift for size, _ in points],
            y=[gain.effect for _, gain in points],
            error_y={"array": [(high - low) / 2 for low, high in ends], "thickness": 1.2, "width": 3},
            mode="markers",
            marker={"color": colour(method), "symbol": METHOD_SYMBOLS[method], "size": 8},
            name=method,
            legendgroup=method,
            showlegend=legend,
            hovertemplate="%{y:+.3f} ± %{error_y.array:.3f}",
            row=at[0],
            col=at[1],
        )
    figure.add_hline(y=0, line={"color": GREY, "width": 1.2}, row=at[0], col=at[1])
    figure.update_xaxes(
        tickvals=list(range(len(sizes))), ticktext=sizes, range=(-0.5, len(sizes) - 0.5), row=at[0], col=at[1]
    )
