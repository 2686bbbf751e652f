"""What a model answers to a SRAVEN problem: how probable it finds each value of a feature; and what a person says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lab.plots.style import BLUE, GREY, TEMPLATE, VERMILLION

if TYPE_CHECKING:  # imported where a figure is drawn
    import plotly.graph_objects as go

ROW, TOP, BOTTOM = 62, 52, 46  # px: of a feature, above and below all
SHARE = 0.82  # of a row that a bar of probability 1 takes


def frame() -> go.Figure:
    """The picture without data: bars of wrong values, bars of right ones, a mark for what a person says."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, colour in (("model, other values", GREY), ("model, the right value", BLUE)):
        figure.add_bar(
            x=[],
            y=[],
            base=[],
            width=0.7,
            name=name,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate="value %{x}: %{customdata:.0%}<extra></extra>",
            showlegend=True,
        )
    figure.add_scatter(
        x=[],
        y=[],
        name="you",
        mode="markers",
        marker={"symbol": "diamond", "size": 11, "color": VERMILLION, "line": {"color": "white", "width": 1}},
        hovertemplate="you: %{x}<extra></extra>",
        showlegend=True,
    )
    figure.add_annotation(xref="paper", yref="paper", x=0, y=1, xanchor="left", yanchor="bottom", showarrow=False)
    figure.update_layout(
        template=TEMPLATE,
        barmode="overlay",
        margin={"l": 40, "r": 14, "t": TOP, "b": BOTTOM},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"title": {"text": "value (height: probability)"}, "dtick": 1, "showgrid": False},
        yaxis={"tickfont": {"size": 14}, "ticks": ""},
    )
    return figure


def refill(
    figure: go.Figure,
    values: int,
    probabilities: np.ndarray | None,
    right: Sequence[int],
    answer: Sequence[int | None],
    note: str = "",
) -> None:
    """Change a `frame` to another problem or answer: a row of bars for each feature, A at the top.

    probabilities: (K, values), or None for no bars. right (K,): the values of the ninth panel. answer (K,): what a
    person says, None for nothing. note: written above the rows.

    >>> figure = frame()
    >>> refill(figure, 4, np.array([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]), right=[3, 0], answer=[0, None])
    >>> figure.data[1].x, figure.data[1].customdata, figure.data[2].x
    ((3, 0), (0.4, 1.0), (0,))
    """
    count = len(right)
    bases = [count - 1 - place for place in range(count)]
    rows = [] if probabilities is None else list(zip(bases, probabilities.tolist(), right, strict=True))
    shown = [(value, base, share, value == true) for base, row, true in rows for value, share in enumerate(row)]
    for bars, true in zip(figure.data, (False, True), strict=False):
        mine = [bar for bar in shown if bar[3] == true]
        bars.x, bars.base = [bar[0] for bar in mine], [bar[1] for bar in mine]
        bars.y, bars.customdata = [SHARE * bar[2] for bar in mine], [bar[2] for bar in mine]
    said = [(value, base + 0.06) for value, base in zip(answer, bases, strict=True) if value is not None]
    figure.data[2].x, figure.data[2].y = [value for value, _ in said], [height for _, height in said]
    figure.layout.annotations[0].text = note
    figure.layout.height = TOP + count * ROW + BOTTOM
    figure.layout.xaxis.range = (-0.6, values - 0.4)
    figure.layout.yaxis.range = (0, count)
    figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext = bases, [chr(ord("A") + i) for i in range(count)]
