"""Pictures of scalar functions: one alone with its slope, several over their inputs, and what was learned with them."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pandas as pd

from lab.data.measures import NAMES
from lab.plots import go
from lab.plots.caption import set_reading
from lab.plots.panels import LEFT, STEP, above, grid, name_axes, place
from lab.plots.style import (
    GREY,
    INK,
    METHOD_COLOURS,
    SIZE,
    TEMPLATE,
    colour,
    faded,
    inks_against,
    method_title,
)
from lab.probes.profile import Profile
from lab.statistics import INTERVAL, over_seeds
from lab.tasks.named import learned, task_title


def alone(shape: Profile) -> go.Figure:
    """The function with its constant ends, dotted, where it has them; as wide as where it is not flat, and as high."""
    ink, middle, (low, high) = METHOD_COLOURS["ours MLP"], (shape.low + shape.high) / 2, shape.support()
    half = (0.6 * (high - low) or (shape.high - shape.low) / 2) + abs((low + high) / 2 - middle)
    figure = go.Figure()
    figure.add_scatter(x=shape.x, y=shape.y, line={"color": ink, "width": 2.5}, name="φ")
    if shape.constant:
        first, last = middle - (shape.high - shape.low), middle + (shape.high - shape.low)
        x = [first, shape.x[0], None, shape.x[-1], last]  # None lifts the pen between the two ends
        y = [shape.y[0], shape.y[0], None, shape.y[-1], shape.y[-1]]
        figure.add_scatter(x=x, y=y, line={"color": ink, "width": 2.5, "dash": "dot"}, name="constant ends")
    slope = {"color": ink, "width": 1.5, "shape": "hv"}
    figure.add_scatter(x=shape.x, y=np.append(shape.slope, 0.0), line=slope, yaxis="y2", name="slope")
    figure.update_traces(mode="lines", hovertemplate="%{x:.3g}: %{y:.4g}")
    for edge in (shape.low, shape.high):
        dots = {"color": GREY, "width": 1, "dash": "dot"}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=0, y1=1, yref="paper", line=dots)
    bottom, top = shape.heights(middle - half, middle + half)
    pad = 0.08 * (top - bottom) or 0.5
    return figure.update_layout(
        template=TEMPLATE,
        height=380,
        margin={"t": 60},
        showlegend=False,
        xaxis={
            "title": "x, the input of the non-linearity",
            "range": (middle - half, middle + half),
            "anchor": "free",
            "position": 0,
        },
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


HEIGHT = 260  # px
CONSTANT = "constant answer"
LETTERS, LINES = 40, 3  # of all names below a panel side by side; of one name at most


def compared(
    curves: pd.DataFrame, metric: str, split: str, said: str | None = None, constant: float | None = None
) -> go.Figure:
    """Left: the mean over runs by step, with its band. Right: every run's last value, with the mean and its interval.

    curves: function, search, seed, step and the metric, one row a run and evaluation. Of several searches of a function
    the mean of each is one of the values that the interval is about. said: the metric in words, with its unit.
    constant: what a model scores that says the same of all examples.
    """
    percent = metric == "accuracy"
    title = f"{split} {NAMES.get(metric, metric) if said is None else said}" + (" (%)" if percent else "")
    figure = grid(["", ""], columns=2, height=HEIGHT, top=50, left=LEFT, horizontal=62)
    names, reached, ended = list(dict.fromkeys(curves["function"])), [np.empty(0)], [np.empty(0)]
    for name, ink in inks_against(names).items():
        rows = curves[curves["function"] == name]
        rows = rows.assign(value=(100 if percent else 1) * rows[metric])
        stats = over_seeds(_units(rows), "step", "value")
        known = stats.dropna()
        reached += [rows["value"], known["mean"] + known["half"], known["mean"] - known["half"]]
        figure.add_scatter(
            x=np.concatenate([known.index, known.index[::-1]]),
            y=np.concatenate([known["mean"] + known["half"], (known["mean"] - known["half"])[::-1]]),
            fill="toself",
            mode="none",
            fillcolor=faded(ink, 0.18),
            hoverinfo="skip",
            showlegend=False,
            name=f"{name}, interval",
            legendgroup=name,
            row=1,
            col=1,
        )
        line = {"color": ink, "width": 2}
        figure.add_scatter(
            x=stats.index, y=stats["mean"], name=name, mode="lines", line=line, legendgroup=name, row=1, col=1
        )
        ends = rows.groupby(["search", "seed"], sort=False).tail(1)
        last = stats.iloc[-1] if len(stats) else None
        ended.append(ends["value"])
        figure.add_scatter(
            x=[name] * len(ends),
            y=ends["value"],
            mode="markers",
            marker={"color": faded(ink, 0.45), "size": 7},
            customdata=ends[["search", "seed"]],
            hovertemplate="search %{customdata[0]}, seed %{customdata[1]}: %{y:.4g}<extra></extra>",
            showlegend=False,
            legendgroup=name,
            name=f"{name}, runs",
            row=1,
            col=2,
        )
        if last is not None:
            ended.append(last["mean"] + last["half"] * np.array([-1.0, 0.0, 1.0]))
            figure.add_scatter(
                x=[name],
                y=[last["mean"]],
                error_y={"array": [last["half"]], "color": ink, "thickness": 2, "width": 8},
                mode="markers",
                marker={"color": ink, "size": 11, "symbol": "line-ew-open", "line": {"width": 2}},
                hovertemplate="mean %{y:.4g}<extra></extra>",
                showlegend=False,
                legendgroup=name,
                name=f"{name}, mean",
                row=1,
                col=2,
            )
    if constant is not None and np.isfinite(constant):
        level = (100 if percent else 1) * constant
        reached.append(np.array([level]))
        ended.append(np.array([level]))
        line = {"color": INK, "width": 1, "dash": "dash"}
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=f"{CONSTANT}: {level:.3g}", row=1, col=1)
        figure.add_hline(level, line=line)
    figure.update_xaxes(title_text=STEP, row=1, col=1)
    labels = [_wrapped(one, LETTERS // len(names)) for one in names]
    more = 14 * max((label.count("<br>") for label in labels), default=0)  # px for further lines of names
    figure.update_layout(height=figure.layout.height + more, margin={"b": figure.layout.margin.b + more})
    ends_axis = {"type": "category", "tickvals": names, "ticktext": labels, "tickangle": 0}  # "1e-3" is a name here
    figure.update_xaxes(title_text="at the end: runs, mean, interval", ticks="", row=1, col=2, **ends_axis)
    figure.update_yaxes(range=_range(np.concatenate(reached), percent), row=1, col=1)
    figure.update_yaxes(range=_range(np.concatenate(ended), percent), row=1, col=2)
    figure.update_yaxes(title_text=title)
    figure.layout.meta = {"interval": INTERVAL}
    return figure


def _wrapped(name: str, letters: int) -> str:
    """A name in lines of so many letters; what takes more lines ends in dots.

    >>> _wrapped("mine/digits-cnn, symmetrized", 12)
    'mine/digits-<br>cnn,<br>symmetrized'
    """
    lines = textwrap.wrap(name, max(6, letters))
    return "<br>".join(lines[:LINES]) + ("…" if len(lines) > LINES else "")


def _range(values: np.ndarray, percent: bool) -> tuple[float, float] | None:
    """Of an axis on which all of these are shown; of shares no further than there are any.

    >>> _range(np.array([100.0, 100.0]), percent=True)
    (89.6, 100.4)
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    values = values.clip(0, 100) if percent else values
    low, high = float(values.min()), float(values.max())
    if percent and low == high:  # a wider window, so that no tick is above 100
        low = max(low - 10, 0.0)
    pad = 0.04 * (high - low) or 0.5
    return low - pad, high + pad


def _units(rows: pd.DataFrame) -> pd.DataFrame:
    """The values that an interval is about: runs, or the means of searches where there are several."""
    if rows["search"].nunique() < 2:
        return rows
    return rows.groupby(["search", "step"], sort=False)["value"].mean().reset_index()


def by_method(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], legend: bool = False) -> None:
    """rows: method, x, value. at: row and column of the panel. legend: whether these lines stand for their methods."""
    for method, curve in rows.groupby("method", sort=False):
        figure.add_scatter(
            x=curve["x"],
            y=curve["value"],
            mode="lines",
            line={"color": colour(str(method)), "width": 2},
            name=method_title(str(method)),
            legendgroup=str(method),
            showlegend=legend,
            hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
            row=at[0],
            col=at[1],
        )
