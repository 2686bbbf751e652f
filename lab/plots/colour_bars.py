"""Bars of colours below the panels of a figure, where neither a legend nor a plot's buttons cover them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.plots.panels import BOTTOM
from lab.plots.style import SEQUENTIAL, SIZE

if TYPE_CHECKING:  # imported where a figure is drawn
    import plotly.graph_objects as go

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
        bar = {
            "orientation": "h",
            "thickness": 9,
            "len": 0.9 / len(titles),
            "x": (number + 0.5) / len(titles),
            "y": -BOTTOM / inner,
            "yanchor": "top",
            "ypad": 0,
            "outlinewidth": 0,
            "title": {"text": title, "side": "top", "font": {"size": SIZE - 1}},
            "tickfont": {"size": SIZE - 1},
        }
        figure.update_layout({colour_axis(number): {"colorscale": SEQUENTIAL, "colorbar": bar}})
    figure.update_layout(height=figure.layout.height + HEIGHT, margin={"b": BOTTOM + HEIGHT})
