"""A fuzzy logic function on a plane of two of its variables, the truth beside a model's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lab.plots import go
from lab.plots.panels import grid, place_bars
from lab.plots.style import CELL_INK

TITLES = ("the function", "the model")


def frame() -> go.Figure:
    """Two empty planes with one scale of colours: the function, the model; on each, the examples in context."""
    figure = grid(TITLES, 2, height=250, top=40, share_y=False)
    hover = "%{x:.2f}, %{y:.2f}: %{z:.2f}<extra></extra>"
    for column in (1, 2):
        figure.add_heatmap(x=[], y=[], z=[], coloraxis="coloraxis", hovertemplate=hover, row=1, col=column)
    dots: dict[str, Any] = {"marker": {"size": 8, "coloraxis": "coloraxis", "line": {"width": 1.2, "color": CELL_INK}}}
    dots["hovertemplate"] = "example in context: %{marker.color:.2f}<extra></extra>"
    for column in (1, 2):
        figure.add_scatter(x=[], y=[], mode="markers", showlegend=False, row=1, col=column, **dots)
    place_bars(figure, ["truth value"])
    figure.update_layout(coloraxis={"cmin": 0, "cmax": 1})
    figure.add_annotation(xref="x2 domain", yref="y2 domain", x=0.5, y=0.5, showarrow=False)
    return figure


def refill(
    figure: go.Figure,
    axes: tuple[str, str],
    ticks: np.ndarray,
    truth: np.ndarray,
    model: np.ndarray | None,
    points: np.ndarray,
    values: Sequence[float],
    note: str = "",
) -> None:
    """Change a `frame`: axes: names of the two variables. ticks (n,). truth, model (n, n): row is the second variable;
    None for a model that is not there. points (examples, 2), values (examples,): those in context.

    >>> figure = frame()
    >>> plane = np.array([[0.0, 0.5], [0.5, 1.0]])
    >>> refill(figure, ("x1", "x2"), np.array([0, 1]), plane, plane / 2, np.array([[0.2, 0.3]]), [0.4])
    >>> figure.data[1].z.max(), figure.data[2].marker.color
    (np.float64(0.5), (0.4,))
    """
    nothing = np.empty((0, 0))  # not NaN, which JSON has no word for
    for plane, z in zip(figure.data[:2], (truth, nothing if model is None else model), strict=True):
        plane.x, plane.y, plane.z = ticks, ticks, z
    for dots in figure.data[2:]:
        dots.x, dots.y, dots.marker.color = points[:, 0], points[:, 1], list(values)
    for axis in (figure.layout.xaxis, figure.layout.xaxis2):
        axis.title.text = axes[0]
    figure.layout.yaxis.title.text = axes[1]
    figure.layout.annotations[-1].text = note
