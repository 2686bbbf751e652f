"""Small multiples: a grid of panels with sizes in pixels, so that nothing overlaps at any width from 600 px on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lab.plots import go, make_subplots
from lab.plots.style import SEQUENTIAL, SIZE, TEMPLATE

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
        legend={"orientation": "h", "xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
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


def above(figure: go.Figure, text: str, row: int, column: int, side: str = "left", size: int = SIZE) -> None:
    """Write a line above a panel, at its left or right end."""
    panel = figure.get_subplot(row, column)
    x, y = panel.xaxis.domain[0 if side == "left" else 1], panel.yaxis.domain[1]
    place = {"xref": "paper", "yref": "paper", "x": x, "xanchor": side, "y": y, "yanchor": "bottom", "yshift": 3}
    figure.add_annotation(text=text, showarrow=False, font={"size": size}, **place)


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
