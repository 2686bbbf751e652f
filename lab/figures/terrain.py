"""The picture of a landscape over a plane of weight space, flat or as a surface (simplicity paper, Figure 7)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from scipy.interpolate import RegularGridInterpolator

from lab.figures.style import BLACK, SEQUENTIAL, TEMPLATE, VERMILLION
from lab.probes.landscape import Landscape

GROUND, WAY, MODEL, CHOSEN = range(4)  # traces, of the flat picture and of the surface
HEIGHT = 380  # px
LIFT = 0.02  # of the height of a surface: how far above it the training is drawn, so that it is not half hidden


def flat() -> go.Figure:
    """The flat picture without data: ground, training, the model, the point that was chosen."""
    figure = go.Figure([
        go.Contour(colorscale=SEQUENTIAL, contours={"coloring": "heatmap"}, ncontours=18, hoverinfo="text",
                   line={"width": 0.6, "color": "rgba(255, 255, 255, 0.55)"}, connectgaps=False,
                   colorbar={"thickness": 10, "outlinewidth": 0, "x": 1.01, "xpad": 2, "ticklen": 3}),
        go.Scatter(mode="lines+markers", name="training", hoverinfo="skip",
                   line={"color": VERMILLION, "width": 1.5}, marker={"size": 4, "color": VERMILLION}),
        go.Scatter(mode="markers", name="the model", hoverinfo="skip",
                   marker={"symbol": "star", "size": 14, "color": "white", "line": {"color": BLACK, "width": 1}}),
        go.Scatter(mode="markers", name="chosen", hoverinfo="skip",
                   marker={"symbol": "circle-open", "size": 15, "color": VERMILLION, "line": {"width": 3}}),
    ])  # fmt: skip
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        title={"font": {"size": 13}, "x": 0.02, "y": 0.98, "yanchor": "top"},
        margin={"t": 56, "l": 58, "r": 70, "b": 48},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 0.925, "yanchor": "top"},
        showlegend=True,
    )
    figure.data[GROUND].showlegend = False
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(showgrid=False)
    return figure


def surface() -> go.Figure:
    """The surface without data, its traces as those of the flat picture."""
    figure = go.Figure([
        go.Surface(colorscale=SEQUENTIAL, hoverinfo="text", showlegend=False, colorbar={"thickness": 10, "len": 0.8}),
        go.Scatter3d(mode="lines", name="training", hoverinfo="skip", line={"color": VERMILLION, "width": 5}),
        go.Scatter3d(mode="markers", name="the model", hoverinfo="skip", marker={"size": 5, "color": BLACK}),
        go.Scatter3d(mode="markers", name="chosen", hoverinfo="skip", marker={"size": 6, "color": VERMILLION}),
    ])  # fmt: skip
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        title={"font": {"size": 13}, "x": 0.02, "y": 0.98, "yanchor": "top"},
        margin={"t": 56, "l": 0, "r": 0, "b": 0},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 0.925, "yanchor": "top"},
        scene={"aspectmode": "cube", "camera": {"eye": {"x": 1.4, "y": -1.5, "z": 0.9}}},
    )
    return figure


def fill(figure: go.Figure, found: Landscape, name: str, logarithm: bool, point: tuple[float, float]) -> None:
    """Put a measure of a landscape into either picture, and the point that was chosen."""
    z = heights(found, name, logarithm)
    solid = figure.data[GROUND].type == "surface"
    with figure.batch_update():
        ground = figure.data[GROUND]
        ground.update(x=found.x, y=found.y, z=z)
        if solid:
            ground.update(surfacecolor=z, hovertext=readings(found))
            figure.layout.scene.update(xaxis={"title": {"text": _axis(found, 0, short=True)}},
                                       yaxis={"title": {"text": _axis(found, 1, short=True)}},
                                       zaxis={"title": {"text": ""}})  # fmt: skip
        else:
            ground.update(hovertext=readings(found))
            figure.layout.xaxis.update(title={"text": _axis(found, 0)}, range=[found.x[0], found.x[-1]])
            figure.layout.yaxis.update(title={"text": _axis(found, 1)}, range=[found.y[0], found.y[-1]])
        way = np.empty((0, 2)) if found.trajectory is None else found.trajectory
        figure.data[WAY].visible = figure.data[WAY].showlegend = len(way) > 0
        figure.data[WAY].update(_points(found, z, way, solid))
        figure.data[MODEL].update(_points(found, z, np.zeros((1, 2)), solid))
        figure.data[CHOSEN].update(_points(found, z, np.array([point]), solid))
        figure.layout.title.text = f"{name} (log₁₀)" if logarithm else name


def choose(figure: go.Figure, found: Landscape, name: str, logarithm: bool, point: tuple[float, float]) -> None:
    """Move the mark of the chosen point."""
    solid = figure.data[GROUND].type == "surface"
    z = heights(found, name, logarithm) if solid else np.empty(0)
    figure.data[CHOSEN].update(_points(found, z, np.array([point]), solid))


def heights(found: Landscape, name: str, logarithm: bool) -> np.ndarray:
    """What is drawn of a measure, (grid, grid); of its logarithm, nothing where it is not above 0."""
    values = found.values[name]
    if not logarithm:
        return values
    positive = np.where(values > 0, values, np.nan)
    return np.log10(positive)


def readings(found: Landscape) -> list[list[str]]:
    """For each point of the grid all measures, in words."""
    names = list(found.values)
    return [
        [
            "<br>".join(
                [*(f"{name}: {found.values[name][row, column]:.4g}" for name in names), f"at ({x:.3g}, {y:.3g})"]
            )
            for column, x in enumerate(found.x)
        ]
        for row, y in enumerate(found.y)
    ]


def _axis(found: Landscape, number: int, short: bool = False) -> str:
    explained = found.plane.explained
    if explained is None:
        kind = f"direction {number + 1}"
        return kind if short or number else f"{kind} ({found.plane.normalization})"
    share = f"{100 * explained[number]:.0f} %"
    return f"PC {number + 1} ({share})" if short or number else f"PC {number + 1} ({share} of the training's variance)"


def _points(found: Landscape, z: np.ndarray, points: np.ndarray, solid: bool) -> dict:
    """Coordinates of marks; on a surface their heights, too, none where they are beside it."""
    where = {"x": points[:, 0], "y": points[:, 1]}
    if solid:
        height = RegularGridInterpolator((found.y, found.x), z, bounds_error=False)(points[:, ::-1])
        where["z"] = height + LIFT * (np.nanmax(z) - np.nanmin(z))
    return where
