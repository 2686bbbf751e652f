"""The picture of a function over a plane of its input space, as in Figure 7c of the simplicity paper."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from lab.figures.style import INK, TEMPLATE, VERMILLION
from lab.probes.slices import Slice2D

PLANE, POINT = range(2)  # traces
HEIGHT = 300  # px


def frame(title: str) -> go.Figure:
    """The picture without data: a plane in shades of grey, low values dark, and the point that it runs through."""
    figure = go.Figure([
        go.Heatmap(colorscale="Greys_r", zsmooth="best", showscale=True, hovertemplate="%{z:.4g}<extra></extra>",
                   colorbar={"thickness": 8, "outlinewidth": 0, "ticklen": 2, "nticks": 5, "x": 1.01, "xpad": 2}),
        go.Scatter(mode="markers", hovertemplate="the training point<extra></extra>",
                   marker={"symbol": "circle-open", "size": 11, "color": VERMILLION, "line": {"width": 2.5}}),
    ])  # fmt: skip
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        showlegend=False,
        title={"text": title, "font": {"size": 13, "color": INK}, "x": 0.02, "y": 0.98, "yanchor": "top"},
        margin={"t": 32, "l": 54, "r": 56, "b": 44},
    )
    figure.update_xaxes(showgrid=False, constrain="domain")
    figure.update_yaxes(showgrid=False)
    return figure


def fill(figure: go.Figure, found: Slice2D, output: int, point: np.ndarray, names: tuple[str, str]) -> None:
    """Put a slice into the picture; output: which of several; point (2,): where the training point is; names of axes.

    Shades reach from the lowest to the highest value of this picture, as in the paper: networks do not bound theirs.
    """
    values = found.values if found.values.ndim == 2 else found.values[..., min(output, found.values.shape[-1] - 1)]
    with figure.batch_update():
        figure.data[PLANE].update(x=found.x, y=found.y, z=values)
        figure.data[POINT].update(x=point[:1], y=point[1:])
        figure.layout.xaxis.update(title={"text": names[0]}, range=[found.x[0], found.x[-1]])
        figure.layout.yaxis.update(title={"text": names[1]}, range=[found.y[0], found.y[-1]])
