"""What follows from a non-linearity, in four panels: slope, spectrum, and a random network on a line and on a plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.plots import go
from lab.plots.lines import line
from lab.plots.style import BLUE, GREY, INK, TEMPLATE, VERMILLION
from lab.probes.complexity import spectrum
from lab.probes.profile import CORNERS, Portrait, Profile

SLOPE, SPECTRUM, LINE = (0, 1), (2, 3), (4, 5)  # traces: before, now
PLANE, WAY = 6, 7


def frame() -> go.Figure:
    """The figure without data, to be filled in place."""
    figure = go.Figure()
    for axis, shape in (("", "hv"), ("2", "linear"), ("3", "linear")):
        for ink, width, name in ((GREY, 1.5, "before"), (BLUE, 2, "edited")):
            panel: dict[str, Any] = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "showlegend": axis == ""}
            panel |= {"line_shape": shape, "hovertemplate": "%{x:.3g}: %{y:.4g}"}
            line(figure, [], [], ink, width=width, name=name, **panel)
    panel, hover = {"xaxis": "x4", "yaxis": "y4"}, "(%{x:.2f}, %{y:.2f}): %{z:.3f}<extra></extra>"
    shades = {"colorscale": "Greys", "reversescale": True, "showscale": False, "zsmooth": "fast"}
    figure.add_heatmap(hovertemplate=hover, **shades, **panel)
    x, y = zip(*CORNERS, strict=True)
    line(figure, x, y, VERMILLION, width=1.5, hoverinfo="skip", showlegend=False, **panel)
    left, right, upper, lower = (0, 0.43), (0.57, 1), (0.61, 1), (0, 0.39)
    titles = ("slope of φ", "spectrum of φ", "random network, along the orange line", "random network, on a square")
    corners = [(x, y[1]) for y in (upper, lower) for x in (left, right)]
    for ((low, _), top), title in zip(corners, titles, strict=True):
        place = {"x": low, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
        figure.add_annotation(text=title, yshift=2, font={"size": 12, "color": INK}, **place)
    figure.update_layout(
        template=TEMPLATE,
        margin={"l": 46, "r": 10, "t": 46, "b": 40},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"domain": left, "anchor": "y", "title": "x"},
        yaxis={"domain": upper, "anchor": "x"},
        xaxis2={"domain": right, "anchor": "y2", "title": "cycles per unit of x", "rangemode": "tozero"},
        yaxis2={"domain": upper, "anchor": "x2", "rangemode": "tozero"},
        xaxis3={"domain": left, "anchor": "y3", "title": "share of the way", "range": (0, 1)},
        yaxis3={"domain": lower, "anchor": "x3"},
        xaxis4={"domain": right, "anchor": "y4", "title": "first input", "range": (-1, 1)},
        yaxis4={"domain": lower, "anchor": "x4", "range": (-1, 1)},
    )
    return figure


def fill_shape(figure: go.Figure, when: int, shape: Profile) -> None:
    """Slope and spectrum of a function, before (0) or now (1)."""
    amplitudes = spectrum(shape.y)
    frequency = np.arange(1, len(amplitudes) + 1) / 2 / (shape.high - shape.low)
    figure.data[SLOPE[when]].update(x=shape.x, y=np.append(shape.slope, 0.0))
    figure.data[SPECTRUM[when]].update(x=frequency, y=amplitudes)


def fill_network(figure: go.Figure, when: int, portrait: Portrait) -> None:
    """The random network with a function, before (0) or now (1); the plane is of now only."""
    figure.data[LINE[when]].update(x=portrait.line.along, y=portrait.line.values)
    if when:
        figure.data[PLANE].z = portrait.plane.values.astype(np.float32)
        # Not as arrays: the page sends those of a heatmap back, and FigureWidget fails on them, unseen and slowly.
        for axis, at in (("x", portrait.plane.x), ("y", portrait.plane.y)):
            figure.data[PLANE].update({f"{axis}0": at[0], f"d{axis}": at[1] - at[0]})


def look(figure: go.Figure, low: float, high: float) -> None:
    """Show the slope on this interval."""
    figure.layout.xaxis.range = (low, high)
