"""Small multiples and what is in them: a grid of panels with sizes in pixels, lines, points, whiskers, bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lab.plots import go, make_subplots
from lab.plots.style import (
    DIVERGING,
    LEGEND_ABOVE,
    METHOD_SYMBOLS,
    SEQUENTIAL,
    SIZE,
    TEMPLATE,
    cell_ink,
    colour,
    faded,
    method_title,
)
from lab.statistics import half_width

BOTTOM = 50  # px below the lowest panels: tick labels and axis title
LEFT, RIGHT = 62, 16
ACCURACY = "test accuracy (%)"
STEP = "training step"
FULL = (-3, 104)  # axis of an accuracy in percent, with room for the width of a line
LOG_STEPS = (  # of a power of ten
    *((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)),
    *(range(1, 10), np.arange(1, 10, 0.5), np.arange(1, 10, 0.1)),
)
FEWEST = 3  # numbers on an axis


def grid(
    titles: Sequence[str],
    columns: int,
    height: int,
    gap: int = 60,
    top: int = 60,
    left: int = LEFT,
    horizontal: int = 45,
    share_y: bool = False,
    second_y: bool = False,
) -> go.Figure:
    """Empty panels, `columns` in a row, `height` px each, `gap` px between rows, `top` px for the legend and titles.

    horizontal: px between columns in a figure 600 px wide. A title stands left above its panel.
    share_y: one y axis a row. second_y: a hidden axis y2 over each panel, from 0, for what has another unit.
    """
    rows = -(-len(titles) // columns)
    inner = rows * height + (rows - 1) * gap
    figure = make_subplots(
        rows,
        columns,
        vertical_spacing=gap / inner if rows > 1 else 0,
        horizontal_spacing=horizontal / (600 - left - RIGHT) if columns > 1 else 0,
        shared_yaxes=share_y,
        specs=[
            [{"secondary_y": second_y} if r * columns + c < len(titles) else None for c in range(columns)]
            for r in range(rows)
        ],
    )
    edge = max(axis.domain[1] for axis in figure.select_xaxes())  # plotly keeps room on the right for a second y axis
    figure.for_each_xaxis(lambda axis: axis.update(domain=[min(1.0, end / edge) for end in axis.domain]))
    figure.update_layout(
        template=TEMPLATE,
        height=top + inner + BOTTOM,
        margin={"l": left, "r": RIGHT, "t": top, "b": BOTTOM},
        legend={"orientation": "h"} | LEGEND_ABOVE,
    )
    for number, title in enumerate(titles):
        if title:
            above(figure, f"<b>{title}</b>", *place(number, columns), size=SIZE + 1)
    return figure


def place(number: int, columns: int) -> tuple[int, int]:
    """Row and column of a panel, counted from 1 as plotly does.

    >>> place(3, columns=2)
    (2, 2)
    """
    return number // columns + 1, number % columns + 1


def above(
    figure: go.Figure, text: str, row: int, column: int, side: str = "left", size: int = SIZE, **place: float
) -> None:
    """Write a line or several above a panel, at its left or right end. place: yshift (px above it), xshift."""
    panel = figure.get_subplot(row, column)
    x, y = panel.xaxis.domain[0 if side == "left" else 1], panel.yaxis.domain[1]
    look = {"xref": "paper", "yref": "paper", "x": x, "xanchor": side, "y": y, "yanchor": "bottom", "yshift": 3}
    look |= place | ({"align": side} if "<br>" in text else {})
    figure.add_annotation(text=text, showarrow=False, font={"size": size}, **look)


def blank(figure: go.Figure, row: int, column: int, words: str = "") -> None:
    """In the place of a panel nothing, or words in its middle."""
    figure.add_scatter(x=[None], y=[None], showlegend=False, row=row, col=column)  # without a trace there is no panel
    middle = {"x": 0.5, "y": 0.5, "xref": "x domain", "yref": "y domain", "showarrow": False}
    if words:
        figure.add_annotation(text=words, row=row, col=column, **middle)
    figure.update_xaxes(visible=False, row=row, col=column)
    figure.update_yaxes(visible=False, row=row, col=column)


def name_axes(figure: go.Figure, count: int, columns: int, x: str, y: str) -> None:
    """Name the y axis of each row once, and the x axis below the lowest panel of each column."""
    for number in range(count):
        row, column = place(number, columns)
        if column == 1:
            figure.update_yaxes(title_text=y, row=row, col=column, secondary_y=False)
        if number + columns >= count:
            figure.update_xaxes(title_text=x, row=row, col=column)


def log_axis(values: pd.Series) -> dict:
    """A logarithmic axis around positive values, its numbers written out; few, so that they stay apart at 600 px."""
    if values.empty:
        return {"type": "log"}
    low, high = np.log10([values.min() / 1.2, values.max() * 1.2])
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    for steps in LOG_STEPS:  # the fewest numbers that are enough
        ticks = [round(step * 10.0**power, 12) for power in powers for step in steps]
        if sum(low <= np.log10(tick) <= high for tick in ticks) >= FEWEST:
            break
    return {"type": "log", "range": (low, high), "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _bar(title: str, length: float, y: float) -> dict:
    small = {"size": SIZE - 1}
    flat = {"orientation": "h", "thickness": 9, "outlinewidth": 0, "ypad": 0, "yanchor": "top"}
    return flat | {"len": length, "y": y, "title": {"text": title, "side": "top", "font": small}, "tickfont": small}


def colour_bar(title: str, y: float, ticks: Iterable[float]) -> dict:
    """The bar of a colour scale that all panels share, below them at `y` (in heights of the panels)."""
    return _bar(title, 1, y) | {"xpad": 0, "tickvals": list(ticks)}


HEIGHT = 46  # px of a bar with its title


def colour_axis(number: int) -> str:
    """Plotly's name of a colour axis, counted from 0.

    >>> colour_axis(0), colour_axis(1)
    ('coloraxis', 'coloraxis2')
    """
    return f"coloraxis{number + 1 if number else ''}"


def place_bars(figure: go.Figure, titles: Sequence[str]) -> None:
    """A colour axis for each title, its bar side by side with the others' below everything."""
    if not titles:
        return
    inner = figure.layout.height - figure.layout.margin.t - BOTTOM
    for number, title in enumerate(titles):
        bar = _bar(title, 0.9 / len(titles), -BOTTOM / inner) | {"x": (number + 0.5) / len(titles)}
        figure.update_layout({colour_axis(number): {"colorscale": SEQUENTIAL, "colorbar": bar}})
    figure.update_layout(height=figure.layout.height + HEIGHT, margin={"b": BOTTOM + HEIGHT})


Numbers = Sequence | np.ndarray
Panel = tuple[int | None, int | None]  # row and column, from 1; None in a figure of one panel
ALONE: Panel = (None, None)


def line(
    figure: go.Figure, x: Numbers, y: Numbers, ink: str, at: Panel = ALONE, width: float = 2, dash: str = "", **trace
) -> None:
    """Draw a line. trace: further settings of Plotly's scatter, such as name or hovertemplate."""
    stroke = {"color": ink, "width": width} | ({"dash": dash} if dash else {})
    figure.add_scatter(x=x, y=y, line=stroke, row=at[0], col=at[1], **{"mode": "lines"} | trace)


def points(
    figure: go.Figure,
    x: Numbers,
    y: Numbers,
    ink: str,
    at: Panel = ALONE,
    size: float = 7,
    symbol: str | Sequence[str] = "circle",
    **trace,
) -> None:
    """Draw marks. symbol: "" is Plotly's own. trace: as of `line`."""
    mark = {"color": ink, "size": size} | ({"symbol": symbol} if symbol else {})
    figure.add_scatter(x=x, y=y, marker=mark, row=at[0], col=at[1], **{"mode": "markers"} | trace)


def method_line(
    figure: go.Figure,
    x: Numbers,
    y: Numbers,
    method: str,
    at: Panel = ALONE,
    width: float = 2,
    size: float = 7,
    **trace,
) -> None:
    """Draw a method's line with its marks in the method's colour and symbol; the first line of a method in a figure
    names it in the legend. size: of the marks; 0: none. trace: as of `line`; what it says replaces what a method has.
    """
    look: dict[str, Any] = {
        "name": method_title(method),
        "legendgroup": method,
        "showlegend": not named(figure, method),
    }
    if size:
        look |= {"mode": "lines+markers", "marker": {"symbol": METHOD_SYMBOLS[method], "size": size}}
    line(figure, x, y, colour(method), at, width, **look | trace)


def run_dots(figure: go.Figure, x: Numbers, y: Numbers, method: str, at: Panel = ALONE) -> None:
    """Draw single runs as small dots in the method's colour, beside its mean."""
    look: dict[str, Any] = {"name": f"{method_title(method)}, one run", "legendgroup": method, "showlegend": False}
    points(figure, x, y, faded(colour(method), 0.5), at, 4, "", hoverinfo="skip", **look)


def method_scores(figure: go.Figure, rows: pd.DataFrame, methods: Sequence[str], value: str, at: Panel) -> None:
    """Draw a score of each method side by side, in percent: a mark a run, and the mean with its interval.

    rows: method, seed, `value` (1 is 100 %), diverged: these runs are left out.
    """
    rows = rows[~rows["diverged"].astype(bool)]
    for rank, method in enumerate(methods):
        values = 100 * rows.loc[rows["method"] == method, value].to_numpy(float)
        if not len(values):
            continue
        faint = {"hoverinfo": "skip", "showlegend": False}
        points(figure, [rank + 0.22] * len(values), values, faded(colour(method), 0.4), at, 5, "", **faint)
        look: dict[str, Any] = {"name": method_title(method), "legendgroup": method, "showlegend": at == (1, 1)}
        error, hover = whiskers([half_width(values)], thickness=1.4), "%{y:.1f} ± %{error_y.array:.1f} %"
        mark = [rank], [values.mean()], colour(method), at, 10, METHOD_SYMBOLS[method]
        points(figure, *mark, error_y=error, hovertemplate=hover, **look)
    figure.update_xaxes(range=(-0.6, len(methods) - 0.4), showticklabels=False, ticks="", row=at[0], col=at[1])


def write_cells(
    figure: go.Figure,
    x: Sequence,
    y: Sequence,
    texts: Sequence[Sequence[str]],
    values: np.ndarray,
    ends: tuple[float, float],
    at: Panel = ALONE,
    size: float = SIZE,
    scale: Any = DIVERGING,
) -> None:
    """Write texts, (len(y), len(x)), on the cells of a heat map of values, in ink that can be read on each shade: the
    ink that Plotly chooses for a heat map's own text cannot be.

    ends: of the scale.
    """
    places = [(row, column) for row in range(len(y)) for column in range(len(x))]
    font = {"size": size, "color": [cell_ink(values[place], *ends, scale) for place in places]}
    look = {"mode": "text", "textfont": font, "hoverinfo": "skip", "showlegend": False, "row": at[0], "col": at[1]}
    across, up = [x[column] for _, column in places], [y[row] for row, _ in places]
    figure.add_scatter(x=across, y=up, text=[texts[row][column] for row, column in places], **look)


def named(figure: go.Figure, group: str) -> bool:
    """Whether the legend has an entry of this group already."""
    return any(trace.legendgroup == group and trace.showlegend is not False for trace in figure.data)


def whiskers(half: Numbers, width: float = 4, thickness: float = 1.2) -> dict:
    """Whiskers of so many units to both sides: for `error_x` or `error_y`. width: of the caps, in px."""
    return {"array": half, "thickness": thickness, "width": width}


def percent_whiskers(stats: pd.DataFrame, width: int) -> dict:
    """Whiskers of a mean in percent, which end where percentages do. stats: mean, half (NaN: none). width: px."""
    up, down = np.minimum(stats["half"], 100 - stats["mean"]), np.minimum(stats["half"], stats["mean"])
    return whiskers(up, width) | {"symmetric": False, "arrayminus": down}


def band(
    figure: go.Figure, stats: pd.DataFrame, ink: str, group: str, at: Panel = ALONE, percent: bool = False
) -> None:
    """Draw the interval of a mean as a band, where there is one; stats as `over_seeds` gives them. group: the entry of
    the legend that it belongs to. percent: cut at 0 and 100, where percentages end."""
    known = stats.dropna()
    if not len(known):
        return
    low, high = (known["mean"] + side * known["half"] for side in (-1, 1))
    if percent:
        low, high = low.clip(0, 100), high.clip(0, 100)
    x, y = np.concatenate([known.index, known.index[::-1]]), np.concatenate([high, low[::-1]])
    area = {"fill": "toself", "mode": "none", "fillcolor": faded(ink, 0.18), "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=y, name=f"{group}, interval", legendgroup=group, row=at[0], col=at[1], **area)
