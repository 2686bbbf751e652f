"""The picture of a landscape over a plane of weight space, flat or as a surface (simplicity paper, Figure 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from lab.plots import go, make_subplots
from lab.plots.caption import set_reading
from lab.plots.panels import line
from lab.plots.style import BLACK, SEQUENTIAL, SIZE, SOLID_INK, TEMPLATE, VERMILLION
from lab.probes.landscape import Landscape

GROUND, WAY, MODEL, CHOSEN = range(4)  # traces of a side of the surfaces
SIDES = range(2)
HEIGHT = 430  # px
LIFT = 0.02  # of the height of a surface: how far above it the training is drawn, so that it is not half hidden
LEGEND = {"xref": "container", "yref": "container", "x": 0.01, "y": 0.99, "yanchor": "top"}
BARS = ((0.0, 0.44), (0.56, 1.0))  # where the sides begin and end, as shares of the width


def flat(landscape: Landscape) -> go.Figure:
    """Contours of the first two measures, or of one, the training on them, and the model."""
    names = list(landscape.values)[:2]
    figure = make_subplots(1, len(names), subplot_titles=names, horizontal_spacing=BARS[1][0] - BARS[0][1])
    star = {"symbol": "star", "size": 14, "color": "white", "line": {"color": BLACK, "width": 1}}
    for side, name in enumerate(names):
        at, quiet = (1, side + 1), {"hoverinfo": "skip", "showlegend": side == 0}
        ground = go.Contour(x=landscape.x, y=landscape.y, z=landscape.values[name], hovertext=readings(landscape))
        ground.update(colorscale=SEQUENTIAL, contours={"coloring": "heatmap"}, ncontours=18, showlegend=False)
        ground.update(colorbar=_bar(BARS[side] if len(names) == 2 else (0, 1), -0.2), hoverinfo="text")
        figure.add_trace(ground.update(line={"width": 0.6, "color": "rgba(255, 255, 255, 0.55)"}), *at)
        if landscape.trajectory is not None:
            marker = {"size": 4, "color": VERMILLION}
            way: dict[str, Any] = {"mode": "lines+markers", "name": "training", "marker": marker, **quiet}
            x, y = landscape.trajectory.T
            line(figure, x, y, VERMILLION, at, 1.5, **way)
        figure.add_scatter(x=[0], y=[0], mode="markers", name="the model", marker=star, row=1, col=side + 1, **quiet)
    figure.update_layout(template=TEMPLATE, height=HEIGHT, legend=LEGEND, margin={"t": 60, "l": 50, "r": 10, "b": 100})
    figure.update_annotations(font={"size": 13})
    ends = [{"range": [axis[0], axis[-1]]} for axis in (landscape.x, landscape.y)]
    figure.update_xaxes(showgrid=False, nticks=5, title_text=axis_title(landscape, 0), **ends[0])
    figure.update_yaxes(showgrid=False, nticks=6, title={"text": axis_title(landscape, 1), "standoff": 2}, **ends[1])
    set_reading(figure, *(f"Note: {note}." for note in landscape.notes))
    return figure


def surface() -> go.Figure:
    """Two surfaces without data: for each side the ground, the training, the model, and the point that was chosen.

    One figure for both sides: every figure widget of a page loads the whole of Plotly once more.
    """
    figure = make_subplots(1, 2, specs=[[{"type": "scene"}] * 2], subplot_titles=(" ", " "), horizontal_spacing=0.02)
    for side in SIDES:
        place, quiet = {"row": 1, "col": side + 1}, {"hoverinfo": "skip", "showlegend": side == 0}
        figure.add_surface(
            colorscale=SEQUENTIAL, hoverinfo="text", showlegend=False, colorbar=_bar(BARS[side], -0.05), **place
        )
        figure.add_scatter3d(mode="lines", name="training", line={"color": VERMILLION, "width": 5}, **quiet, **place)
        for name, size, colour in (("the model", 5, BLACK), ("chosen", 6, VERMILLION)):
            mark = {"size": size, "color": colour}
            figure.add_scatter3d(mode="markers", name=name, marker=mark, **quiet, **place)
    figure.update_layout(template=TEMPLATE, height=HEIGHT, legend=LEGEND, margin={"t": 60, "l": 0, "r": 0, "b": 60})
    figure.update_annotations(font={"size": 13})
    figure.update_scenes(aspectmode="cube", camera={"eye": {"x": 1.8, "y": -1.9, "z": 1.1}})
    lines = {"gridcolor": SOLID_INK, "zerolinecolor": SOLID_INK, "showbackground": False}
    axis = {"color": SOLID_INK, "title": {"font": {"size": SIZE + 1}}, **lines}
    figure.update_scenes(xaxis=axis, yaxis=axis, zaxis=axis | {"title": {"text": ""}})
    return figure


def _bar(ends: tuple[float, float], y: float) -> dict:
    """The colour bar below a side; ends: as shares of the width."""
    low, high = ends
    place = {"orientation": "h", "x": (low + high) / 2, "y": y, "yanchor": "top", "len": high - low}
    return place | {"thickness": 10, "outlinewidth": 0, "nticks": 5, "ticklen": 3}


def fill(
    figure: go.Figure, side: int, landscape: Landscape, name: str, logarithm: bool, point: tuple[float, float]
) -> None:
    """Put a measure of a landscape on a side of the surfaces, and the point that was chosen."""
    z, (ground, way, model, chosen) = heights(landscape, name, logarithm), traces(figure, side)
    ground.update(x=landscape.x, y=landscape.y, z=z, hovertext=readings(landscape))
    names = [{"title": {"text": axis_title(landscape, number)}} for number in range(2)]
    figure.layout[f"scene{side + 1 if side else ''}"].update(xaxis=names[0], yaxis=names[1])
    steps = np.empty((0, 2)) if landscape.trajectory is None else landscape.trajectory
    way.visible = len(steps) > 0
    for marks, points in ((way, steps), (model, np.zeros((1, 2))), (chosen, np.array([point]))):
        marks.update(_points(landscape, z, points))
    figure.layout.annotations[side].text = f"{name} (log₁₀)" if logarithm else name


def choose(
    figure: go.Figure, side: int, landscape: Landscape, name: str, logarithm: bool, point: tuple[float, float]
) -> None:
    """Move the mark of the chosen point."""
    z = heights(landscape, name, logarithm)
    traces(figure, side)[CHOSEN].update(_points(landscape, z, np.array([point])))


def traces(figure: go.Figure, side: int) -> tuple:
    """Those of a side: the ground, the way, the model, the point chosen."""
    return figure.data[4 * side : 4 * side + 4]


def heights(landscape: Landscape, name: str, logarithm: bool) -> np.ndarray:
    """What is drawn of a measure, (grid, grid); of its logarithm, nothing where it is not above 0."""
    values = landscape.values[name]
    if not logarithm:
        return values
    positive = np.where(values > 0, values, np.nan)
    return np.log10(positive)


def readings(landscape: Landscape) -> list[list[str]]:
    """For each point of the grid all measures, in words."""
    names = list(landscape.values)
    return [
        [
            "<br>".join(
                [*(f"{name}: {landscape.values[name][row, column]:.4g}" for name in names), f"at ({x:.3g}, {y:.3g})"]
            )
            for column, x in enumerate(landscape.x)
        ]
        for row, y in enumerate(landscape.y)
    ]


def axis_title(landscape: Landscape, number: int) -> str:
    """What a direction is called: shortly, it stands below half a figure."""
    explained, curvatures = landscape.plane.explained, landscape.plane.curvatures
    if curvatures is not None:
        return f"eigenvector {number + 1} (λ = {curvatures[number]:.3g})"
    return f"direction {number + 1}" if explained is None else f"PC {number + 1} ({100 * explained[number]:.0f} %)"


def _points(landscape: Landscape, z: np.ndarray, points: np.ndarray) -> dict:
    """Coordinates of marks on a surface; no heights where they are beside it."""
    height = RegularGridInterpolator((landscape.y, landscape.x), z, bounds_error=False)(points[:, ::-1])
    known = z[np.isfinite(z)]
    return {"x": points[:, 0], "y": points[:, 1], "z": height + (LIFT * np.ptp(known) if known.size else 0)}
