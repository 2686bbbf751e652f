"""The picture of a scalar function: its course, its slope and its inputs in panels above one x axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lab.plots.style import BLUE, GREY, METHOD_COLOURS, SEQUENCE, TEMPLATE
from lab.probes.profile import Profile, Received

PHI, ENDS, SLOPE, INPUTS, OTHERS = range(5)  # traces; from OTHERS on, one for each function to compare with
COLOURS = tuple(colour for colour in SEQUENCE if colour not in (BLUE, GREY))  # blue is φ, grey is GELU
HOVER = "%{x:.3g}: %{y:.4g}"
GAP = 0.05  # between two panels, as a share of the figure


def frame(others: Sequence[str]) -> go.Figure:
    """The figure without data: every trace, panel and mark that a function may need, to be filled in place."""
    ours = METHOD_COLOURS["ours MLP"]
    figure = go.Figure(
        [
            go.Scatter(line={"color": ours, "width": 2.5}, mode="lines"),
            go.Scatter(line={"color": ours, "width": 2.5, "dash": "dot"}, mode="lines", name="constant ends"),
            go.Scatter(line={"color": ours, "width": 1.5, "shape": "hv"}, yaxis="y2", showlegend=False, name="slope"),
            go.Bar(
                marker={"color": GREY, "line": {"width": 0}, "opacity": 0.6},
                yaxis="y3",
                showlegend=False,
                name="inputs",
            ),
        ]
    )
    figure.add_traces([other(name, i) for i, name in enumerate(others)])
    figure.update_traces(hovertemplate=HOVER)
    edge = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": GREY, "width": 1, "dash": "dot"}}
    figure.update_layout(
        template=TEMPLATE,
        shapes=[edge, edge],
        bargap=0,
        margin={"t": 60},  # three lines of names
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"title": "x, the input of the non-linearity", "anchor": "free", "position": 0},
        yaxis={"title": "φ(x)"},
        yaxis2={"title": "slope φ′(x)", "nticks": 5},  # at most: of fewer, one may be left
        yaxis3={"title": "inputs (%)", "rangemode": "tozero"},
    )
    return figure


def other(name: str, number: int) -> go.Scatter:
    """The line of a function to compare with, not yet shown; number: its place in the menu."""
    colour = METHOD_COLOURS["baseline"] if name == "GELU" else COLOURS[number % len(COLOURS)]
    line = {"color": colour, "width": 1.5}
    return go.Scatter(name=name, line=line, mode="lines", visible=False, hovertemplate=HOVER)


def fill(figure: go.Figure, name: str, shape: Profile, inputs: Received | None, reach: float) -> None:
    """Put a function and its inputs into the figure; `reach`: how far from the middle the constant ends are drawn."""
    x, y = reaching(shape, reach)
    figure.data[PHI].update(x=shape.x, y=shape.y, name=name)
    # None lifts the pen between the two ends
    figure.data[ENDS].update(x=[x[0], x[1], None, x[-2], x[-1]], y=[y[0], y[1], None, y[-2], y[-1]])
    figure.data[SLOPE].update(x=shape.x, y=np.append(shape.slope, 0.0))
    if inputs is not None:
        figure.data[INPUTS].update(x=inputs.x, y=100 * inputs.share, width=inputs.x[1] - inputs.x[0])
    for edge, at in zip(figure.layout.shapes, (shape.low, shape.high), strict=True):
        edge.update(x0=at, x1=at)


def reaching(shape: Profile, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """The course of a function with its constant ends, where it has them: x and y, (points + 2,)."""
    if not shape.constant:
        return shape.x, shape.y
    middle = (shape.low + shape.high) / 2
    x = np.concatenate([[middle - reach], shape.x, [middle + reach]])
    return x, np.concatenate([shape.y[:1], shape.y, shape.y[-1:]])


def panels(figure: go.Figure, slope: bool, inputs: bool) -> None:
    """Share the height among φ and what is shown besides it."""
    figure.data[SLOPE].visible, figure.data[INPUTS].visible = slope, inputs
    shown = {"yaxis": 1.0, "yaxis2": 0.6 * slope, "yaxis3": 0.45 * inputs}  # shares of the height
    unit, top = (1.0 - GAP * (slope + inputs)) / sum(shown.values()), 1.0
    for axis, share in shown.items():
        bottom = max(0.0, top - share * unit)
        # a hidden panel is still there, in front of others: so it is put away at the bottom
        figure.layout[axis].update(visible=bool(share), domain=(bottom, top) if share else (0.0, 0.001))
        top = max(0.0, bottom - GAP) if share else top


def look(figure: go.Figure, shape: Profile, half: float, others: Sequence[Profile] = ()) -> None:
    """Show x within `half` of the middle of the function's range, and y as high as the function, and each of the others
    that are shown, is there."""
    middle = (shape.low + shape.high) / 2
    heights = [one.heights(middle - half, middle + half) for one in (shape, *others)]
    low, high = min(low for low, _ in heights), max(high for _, high in heights)
    pad = 0.08 * (high - low) or 0.5
    figure.layout.xaxis.range = (middle - half, middle + half)
    figure.layout.yaxis.range = (low - pad, high + pad)
