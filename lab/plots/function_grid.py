"""Figure 6 of the transformers paper: the functions that were learned, above the inputs that they receive."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lab.plots.caption import set_reading
from lab.plots.panels import above, grid, name_axes, place
from lab.plots.style import GREY, METHOD_COLOURS, SIZE
from lab.tasks.named import learned, task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

SHOWN = 0.999  # share of the inputs inside the range that a panel shows at first
FADED = "#A9A9A9"  # functions of models that learned nothing
TALLEST = 0.3  # of the panel: the tallest column of the histogram


def fig6(table: pd.DataFrame) -> go.Figure:
    """One panel a task: the learned function, the inputs it receives, and GELU for comparison.

    table: task, x (knots, evenly spaced), value, density (share of the inputs nearest to each knot), accuracy (0 to 1,
    of the model at the end of its training). Functions of models that learned nothing are grey.
    """
    tasks, columns = list(table["task"].unique()), 2
    figure = grid([task_title(task) for task in tasks], columns, height=150, gap=62, top=58, second_y=True)
    for number, task in enumerate(tasks):
        row, column = place(number, columns)
        rows = table[table["task"] == task].sort_values("x")
        accuracy = rows["accuracy"].iloc[0]
        known = learned(task, accuracy)
        _draw(
            figure,
            rows["x"].to_numpy(),
            rows["value"].to_numpy(),
            rows["density"].to_numpy(),
            (row, column),
            number == 0,
            METHOD_COLOURS["ours MLP"] if known else FADED,
        )
        if not known:
            words = f"accuracy {100 * accuracy:.1f} %: not above a trivial answer"
            above(figure, words, row, column, side="right", size=SIZE - 2)
    name_axes(figure, len(tasks), columns, "input x", "φ(x)")
    set_reading(
        figure,
        "Shaded: inputs that the non-linearity receives in the trained model, all layers. Each panel shows where "
        f"at least {100 * SHOWN:g} % of them are; zoom out for the rest. Dotted: constant beyond the first and last "
        "knot, where the panel reaches that far.",
        "No inputs: that model diverged." if table["density"].isna().any() else "",
    )
    return figure


def _draw(
    figure: go.Figure,
    x: np.ndarray,
    value: np.ndarray,
    density: np.ndarray,
    at: tuple[int, int],
    legend: bool,
    ink: str,
) -> None:
    row, column = at
    low, high = window(x, density)
    draw_inputs(figure, x, density, at, legend)
    figure.add_scatter(
        x=x,
        y=gelu(x),
        name="GELU",
        legendgroup="GELU",
        showlegend=legend,
        mode="lines",
        hoverinfo="skip",
        line={"color": GREY, "width": 1},
        row=row,
        col=column,
        secondary_y=False,
    )
    reach = x[-1] - x[0]  # the ends go on for as long again
    figure.add_scatter(
        x=[x[0] - reach, x[0], None, x[-1], x[-1] + reach],
        y=[value[0], value[0], None, value[-1], value[-1]],
        name="constant ends",
        legendgroup="ours",
        showlegend=False,
        mode="lines",
        hoverinfo="skip",
        line={"color": ink, "width": 2, "dash": "dot"},
        row=row,
        col=column,
        secondary_y=False,
    )
    figure.add_scatter(
        x=x,
        y=value,
        name="learned function",
        legendgroup="ours",
        showlegend=legend,
        mode="lines",
        line={"color": ink, "width": 2},
        hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
        row=row,
        col=column,
        secondary_y=False,
    )
    inside = np.append(value[(x >= low) & (x <= high)], 0.0)
    pad = 0.1 * np.ptp(inside) or 0.5
    figure.update_xaxes(range=(low, high), row=row, col=column)
    figure.update_yaxes(
        range=(inside.min() - pad, inside.max() + pad), nticks=5, row=row, col=column, secondary_y=False
    )


def draw_inputs(figure: go.Figure, x: np.ndarray, density: np.ndarray, at: tuple[int, int], legend: bool) -> None:
    """A histogram of inputs on the second y axis of a panel; density: the share of the inputs nearest to each knot x,
    NaN where none are known."""
    where = {"row": at[0], "col": at[1], "secondary_y": True}
    figure.add_scatter(
        x=x,
        y=100 * density,
        name="inputs",
        legendgroup="inputs",
        showlegend=legend,
        fill="tozeroy",
        line={"shape": "hvh", "width": 0},
        fillcolor="rgba(128, 128, 128, 0.3)",
        mode="lines",
        hovertemplate="x = %{x:.2f}: %{y:.2g} % of inputs",
        **where,
    )
    figure.update_yaxes(range=(0, 100 * np.nan_to_num(density).max() / TALLEST or 1), visible=False, **where)


def window(x: np.ndarray, density: np.ndarray) -> tuple[float, float]:
    """The smallest stretch of knots, both tails cut alike, with SHOWN of the inputs; a little wider, and around 0.
    All knots where no inputs are known.

    >>> window(np.arange(-5.0, 6.0), np.eye(11)[5])  # all inputs at 0: the knot, its neighbours and a margin
    (-1.1, 1.1)
    """
    if not density.sum() > 0:
        return float(x[0]), float(x[-1])
    spacing, total = x[1] - x[0], np.cumsum(density) / density.sum()
    tail = (1 - SHOWN) / 2
    first = x[np.searchsorted(total, tail, side="right")]
    last = x[min(int(np.searchsorted(total, 1 - tail)), len(x) - 1)]
    low, high = min(first, 0.0) - spacing, max(last, 0.0) + spacing
    pad = 0.05 * (high - low)
    return round(float(low - pad), 6), round(float(high + pad), 6)


def gelu(x: np.ndarray) -> np.ndarray:
    """GELU, exactly: x·Φ(x)."""
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x])
