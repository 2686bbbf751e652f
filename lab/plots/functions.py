"""Functions of one variable: with their inputs, with what follows from them, and the laws that they keep."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import above, grid, line, name_axes, place
from lab.plots.style import (
    BLUE,
    GREY,
    INK,
    LEGEND_ABOVE,
    METHOD_COLOURS,
    SIZE,
    TEMPLATE,
    VERMILLION,
    colour,
    method_title,
)
from lab.probes.complexity import spectrum
from lab.probes.profile import CORNERS, Portrait, Profile
from lab.tasks.named import learned, task_title


def alone(shape: Profile) -> go.Figure:
    """The function with its constant ends, dotted, where it has them; as wide as where it is not flat, and as high."""
    ink, middle, (low, high) = METHOD_COLOURS["learned MLP"], (shape.low + shape.high) / 2, shape.support()
    half = (0.6 * (high - low) or (shape.high - shape.low) / 2) + abs((low + high) / 2 - middle)
    figure = go.Figure()
    line(figure, shape.x, shape.y, ink, width=2.5, name="φ")
    if shape.constant:
        first, last = middle - (shape.high - shape.low), middle + (shape.high - shape.low)
        x = [first, shape.x[0], None, shape.x[-1], last]  # None lifts the pen between the two ends
        y = [shape.y[0], shape.y[0], None, shape.y[-1], shape.y[-1]]
        line(figure, x, y, ink, width=2.5, dash="dot", name="constant ends")
    line(figure, shape.x, np.append(shape.slope, 0.0), ink, width=1.5, yaxis="y2", name="slope", line_shape="hv")
    figure.update_traces(hovertemplate="%{x:.3g}: %{y:.4g}")
    for edge in (shape.low, shape.high):
        dots = {"color": GREY, "width": 1, "dash": "dot"}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=0, y1=1, yref="paper", line=dots)
    bottom, top = shape.heights(middle - half, middle + half)
    pad = 0.08 * (top - bottom) or 0.5
    ends = {"range": (middle - half, middle + half), "anchor": "y2"}
    return figure.update_layout(
        template=TEMPLATE,
        height=380,
        margin={"t": 60},
        showlegend=False,
        xaxis={"title": "x, the input of the non-linearity", **ends},
        yaxis={"title": "φ(x)", "range": (bottom - pad, top + pad), "domain": (0.41, 1)},
        yaxis2={"title": "slope φ′(x)", "nticks": 5, "domain": (0, 0.36)},  # at most: of fewer, one may be left
    )


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
    faint: dict[str, Any] = {"showlegend": False, "hoverinfo": "skip", "secondary_y": False}
    dotted = False
    for number, task in enumerate(tasks):
        row, column = at = place(number, columns)
        rows, first = table[table["task"] == task].sort_values("x"), number == 0
        x, value, density = (rows[name].to_numpy() for name in ("x", "value", "density"))
        accuracy = rows["accuracy"].iloc[0]
        known = learned(task, accuracy)
        ink = METHOD_COLOURS["learned MLP"] if known else FADED
        draw_inputs(figure, x, density, at, first)
        line(figure, x, gelu(x), GREY, at, 1, name="GELU", legendgroup="GELU", **faint | {"showlegend": first})
        low, high = window(x, density)
        dotted |= bool(low < x[0] or high > x[-1])
        reach = x[-1] - x[0]  # the ends go on for as long again
        ends = [x[0] - reach, x[0], None, x[-1], x[-1] + reach], [value[0], value[0], None, value[-1], value[-1]]
        line(figure, *ends, ink, at, dash="dot", name="constant ends", legendgroup="learned", **faint)
        shown: dict[str, Any] = {"showlegend": first, "hovertemplate": "φ(%{x:.2f}) = %{y:.3g}", "secondary_y": False}
        line(figure, x, value, ink, at, name="learned function", legendgroup="learned", **shown)
        inside = np.append(value[(x >= low) & (x <= high)], 0.0)
        pad = 0.1 * np.ptp(inside) or 0.5
        heights = (inside.min() - pad, inside.max() + pad)
        figure.update_xaxes(range=(low, high), row=row, col=column)
        figure.update_yaxes(range=heights, nticks=5, row=row, col=column, secondary_y=False)
        if not known:
            words = f"accuracy {100 * accuracy:.1f} %: not above a trivial answer"
            above(figure, words, row, column, side="right", size=SIZE - 2)
    name_axes(figure, len(tasks), columns, "input x", "φ(x)")
    set_reading(
        figure,
        "Shaded: inputs that the non-linearity receives in the trained model, all layers. Each panel shows where "
        f"at least {100 * SHOWN:g} % of them are.",
        "Dotted: constant beyond the first and last knot." if dotted else "",
        "No inputs: that model diverged." if table["density"].isna().any() else "",
    )
    return figure


def draw_inputs(figure: go.Figure, x: np.ndarray, density: np.ndarray, at: tuple[int, int], legend: bool) -> None:
    """A histogram of inputs on the second y axis of a panel; density: the share of the inputs nearest to each knot x,
    NaN where none are known."""
    where = {"row": at[0], "col": at[1], "secondary_y": True}
    area = {"fill": "tozeroy", "fillcolor": "rgba(128, 128, 128, 0.3)", "line": {"shape": "hvh", "width": 0}}
    hover = "x = %{x:.2f}: %{y:.2g} % of inputs"
    look = {"name": "inputs", "legendgroup": "inputs", "showlegend": legend, "mode": "lines", "hovertemplate": hover}
    figure.add_scatter(x=x, y=100 * density, **area, **look, **where)
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


def by_method(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], legend: bool = False) -> None:
    """rows: method, x, value. at: row and column of the panel. legend: whether these lines stand for their methods."""
    for method, curve in rows.groupby("method", sort=False):
        look: dict[str, Any] = {"name": method_title(str(method)), "legendgroup": str(method), "showlegend": legend}
        hover = "φ(%{x:.2f}) = %{y:.3g}"
        line(figure, curve["x"], curve["value"], colour(str(method)), at, hovertemplate=hover, **look)


SLOPE, SPECTRUM, LINE = (0, 1), (2, 3), (4, 5)  # traces: before, now
PLANE, WAY = 6, 7


def portrait_frame() -> go.Figure:
    """The figure without data, to be filled in place."""
    figure = go.Figure()
    for axis, shape in (("", "hv"), ("2", "linear"), ("3", "linear")):
        for ink, width, name in ((GREY, 1.5, "before"), (BLUE, 2, "edited")):
            panel: dict[str, Any] = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "showlegend": axis == ""}
            panel |= {"line_shape": shape, "hovertemplate": "%{x:.3g}: %{y:.4g}"}
            line(figure, [], [], ink, width=width, name=name, **panel)
    panel, hover = {"xaxis": "x4", "yaxis": "y4"}, "(%{x:.2f}, %{y:.2f}): %{z:.3f}<extra></extra>"
    shades = {"colorscale": "Greys", "reversescale": True, "showscale": False, "zsmooth": "fast"}
    figure.add_heatmap(hovertemplate=hover, **shades, **panel)
    x, y = zip(*CORNERS, strict=True)
    line(figure, x, y, VERMILLION, width=1.5, hoverinfo="skip", showlegend=False, **panel)
    left, right, upper, lower = (0, 0.43), (0.57, 1), (0.61, 1), (0, 0.39)
    titles = ("slope of φ", "spectrum of φ", "random network, along the orange line", "random network, on a square")
    corners = [(x, y[1]) for y in (upper, lower) for x in (left, right)]
    for ((low, _), top), title in zip(corners, titles, strict=True):
        place = {"x": low, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(text=title, yshift=2, font={"size": 12, "color": INK}, **place)
    figure.update_layout(
        template=TEMPLATE,
        margin={"l": 46, "r": 10, "t": 46, "b": 40},
        legend=LEGEND_ABOVE,
        xaxis={"domain": left, "anchor": "y", "title": "x"},
        yaxis={"domain": upper, "anchor": "x"},
        xaxis2={"domain": right, "anchor": "y2", "title": "cycles per unit of x", "rangemode": "tozero"},
        yaxis2={"domain": upper, "anchor": "x2", "rangemode": "tozero"},
        xaxis3={"domain": left, "anchor": "y3", "title": "share of the way", "range": (0, 1)},
        yaxis3={"domain": lower, "anchor": "x3"},
        xaxis4={"domain": right, "anchor": "y4", "title": "first input", "range": (-1, 1)},
        yaxis4={"domain": lower, "anchor": "x4", "range": (-1, 1)},
    )
    return figure


def fill_shape(figure: go.Figure, when: int, shape: Profile) -> None:
    """Slope and spectrum of a function, before (0) or now (1)."""
    amplitudes = spectrum(shape.y)
    frequency = np.arange(1, len(amplitudes) + 1) / 2 / (shape.high - shape.low)
    figure.data[SLOPE[when]].update(x=shape.x, y=np.append(shape.slope, 0.0))
    figure.data[SPECTRUM[when]].update(x=frequency, y=amplitudes)


def fill_network(figure: go.Figure, when: int, portrait: Portrait) -> None:
    """The random network with a function, before (0) or now (1); the plane is of now only."""
    figure.data[LINE[when]].update(x=portrait.line.along, y=portrait.line.values)
    if when:
        figure.data[PLANE].z = portrait.plane.values.astype(np.float32)
        # Not as arrays: the page sends those of a heatmap back, and FigureWidget fails on them, unseen and slowly.
        for axis, at in (("x", portrait.plane.x), ("y", portrait.plane.y)):
            figure.data[PLANE].update({f"{axis}0": at[0], f"d{axis}": at[1] - at[0]})


def show_range(figure: go.Figure, low: float, high: float) -> None:
    """Show the slope on this interval."""
    figure.layout.xaxis.range = (low, high)


ROW = 22  # px
LETTERS = 70  # of a detail
LOOKS = {"holds": (BLUE, "circle"), "does not hold": (VERMILLION, "x"), "does not apply": (GREY, "circle-open")}


def draw_laws(table: pd.DataFrame) -> go.Figure:
    """Draw a mark a law, the first on top. table: law, reason, passed (missing: does not apply), detail."""
    from lab.plots.page import Plot

    verdicts = table["passed"].map({True: "holds", False: "does not hold"}).astype(object).fillna("does not apply")
    figure = go.Figure()
    for verdict, (ink, symbol) in LOOKS.items():
        rows = table[verdicts == verdict]
        details = [textwrap.shorten(detail, LETTERS, placeholder=" …") for detail in rows["detail"]]
        figure.add_scatter(
            x=[0] * len(rows),
            y=rows["law"],
            name=f"{verdict}: {len(rows)}",
            mode="markers+text",
            marker={"color": ink, "symbol": symbol, "size": 10},
            text=[f"  {detail}" for detail in details],
            textposition="middle right",
            textfont={"size": SIZE - 1},
            customdata=rows["reason"],
            hovertemplate="%{y}: %{customdata}<extra></extra>",
        )
    figure.update_layout(
        template=TEMPLATE,
        height=60 + ROW * len(table),
        margin={"l": 200, "r": 16, "t": 44, "b": 16},
        legend=LEGEND_ABOVE,
        xaxis={"visible": False, "range": (-0.03, 1)},
        yaxis={"type": "category", "categoryarray": list(table["law"])[::-1], "ticks": "", "showgrid": False},
    )
    return Plot(figure)
