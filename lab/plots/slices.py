"""The picture of functions over a plane of their input space, a panel each, as in the simplicity paper's Figure 7c."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.plots import go, make_subplots
from lab.plots.style import TEMPLATE, VERMILLION
from lab.probes.calling import Slice2D

ROW = 270  # px: height of a row of panels
COLUMNS = 3  # at most


def frame(titles: Sequence[str]) -> go.Figure:
    """The picture without data: for each panel a plane in shades of grey, and the point that it runs through.

    One figure for all panels: every figure widget of a page loads the whole of Plotly once more.
    """
    columns = min(len(titles), COLUMNS)
    rows = -(-len(titles) // columns)
    height = ROW * rows + 24
    figure = make_subplots(
        rows, columns, subplot_titles=titles, horizontal_spacing=0.24 / columns, vertical_spacing=72 / height
    )
    for number in range(len(titles)):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        figure.add_heatmap(
            colorscale="Greys_r", zsmooth="best", showscale=False, hovertemplate="%{z:.4g}<extra></extra>", **place
        )
        mark = {"symbol": "circle-open", "size": 11, "color": VERMILLION, "line": {"width": 2.5}}
        figure.add_scatter(mode="markers", marker=mark, hovertemplate="the training point<extra></extra>", **place)
    figure.update_layout(template=TEMPLATE, height=height, showlegend=False, margin={"t": 28, "l": 50, "r": 10})
    figure.update_annotations(font={"size": 13})
    figure.update_xaxes(showgrid=False, mirror=True, nticks=4)  # a frame: white is a value, too
    figure.update_yaxes(showgrid=False, mirror=True, nticks=5, title={"standoff": 2})
    return figure


def fill(
    figure: go.Figure, panel: int, slice_: Slice2D, output: int, point: np.ndarray, names: tuple[str, str]
) -> None:
    """Put a slice into a panel; output: which of several; point (2,): where the training point is; names of the axes.

    Shades reach from the lowest to the highest value of the panel, as in the paper: networks do not bound theirs.
    """
    values = slice_.values if slice_.values.ndim == 2 else slice_.values[..., min(output, slice_.values.shape[-1] - 1)]
    plane, mark = figure.data[2 * panel : 2 * panel + 2]
    plane.update(x=slice_.x, y=slice_.y, z=values)
    mark.update(x=point[:1], y=point[1:])
    across, up = (f"{axis}axis{panel + 1 if panel else ''}" for axis in "xy")
    figure.layout[across].update(title={"text": names[0]}, range=[slice_.x[0], slice_.x[-1]])
    first = panel % min(len(figure.data) // 2, COLUMNS) == 0  # of its row; the others go along the same inputs
    figure.layout[up].update(title={"text": names[1] if first else None}, range=[slice_.y[0], slice_.y[-1]])
