"""Pictures of latent codes: a map, and bars of a decoder's scores.

Each is made once and then filled in place; nothing here computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lab.plots.latent_codes import CONTROLS, NAMES, in_order, look
from lab.plots.style import BLACK, SEQUENTIAL, SIZE, SKY, TEMPLATE, VERMILLION
from lab.probes.decoding import Decoding

POINTS, NAMED = 0, 1  # traces of a map; from NAMED on, one for each name in the legend
PLAIN = {"showticklabels": False, "ticks": "", "showgrid": False, "mirror": True}
HEIGHT = 470  # px
TITLE = {"font": {"size": SIZE}, "x": 0.02, "y": 0.97, "yanchor": "top"}
BELOW = {"yref": "container", "y": 0.01, "yanchor": "bottom", "x": 0}  # where a legend is
LISTED = 24  # labels in a legend; where there are more, pointing at a point tells its own


def map_frame(hover: Sequence[str]) -> go.Figure:
    """A map without points; hover: a text for each."""
    figure = go.Figure()
    bar = {"title": {"side": "top"}, "orientation": "h", "thickness": 10, "len": 0.8, "y": -0.04, "yanchor": "top"}
    marker = {"size": 6, "opacity": 0.8, "colorscale": SEQUENTIAL, "colorbar": bar, "showscale": False}
    figure.add_scatter(
        x=[],
        y=[],
        mode="markers",
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        marker=marker,
    )
    for _ in range(LISTED):
        figure.add_scatter(x=[None], y=[None], mode="markers", marker={"size": 8}, visible=False, hoverinfo="skip")
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"l": 10, "r": 10, "t": 56, "b": 130},
        title=TITLE,
        legend={
            **BELOW,
            "itemclick": False,
            "itemdoubleclick": False,
            "font": {"size": SIZE - 1},
        },
        xaxis=PLAIN,
        yaxis=PLAIN,
    )
    return figure


def fill_map(figure: go.Figure, points: np.ndarray, trust: float, method: str, place: str) -> None:
    """Points (N, 2); trust: trustworthiness, NaN where all codes are the same."""
    span = np.where(np.ptp(points, axis=0) > 0, np.ptp(points, axis=0), 1.0)
    low, high = points.min(0) - 0.06 * span, points.max(0) + 0.06 * span
    trace = figure.data[POINTS]
    trace.x, trace.y = points[:, 0], points[:, 1]
    figure.layout.xaxis.range, figure.layout.yaxis.range = (low[0], high[0]), (low[1], high[1])
    words = trusted(trust) if trust == trust else "all problems have one code here"
    figure.layout.title.text = f"{NAMES[method]} of codes, {place}<br>{words}"


def trusted(trust: float) -> str:
    """A trustworthiness in words."""
    return f"trustworthiness {trust:.2f}: how far neighbours here are neighbours among the codes"


def colour_map(figure: go.Figure, shown: np.ndarray, colouring: str) -> None:
    """shown (N,): text, a colour and a symbol for each of its labels, or numbers."""
    labels = [str(label) for label in in_order(np.unique(shown))] if shown.dtype.kind == "U" else []
    looks = look(labels)
    # every part by itself: a page does not follow where a whole marker takes the place of another
    marker = figure.data[POINTS].marker
    marker.color = [looks[label][0] for label in shown] if labels else shown
    marker.symbol = [looks[label][1] for label in shown] if labels else "circle"
    marker.showscale, marker.colorbar.title.text = not labels, "" if labels else colouring
    listed = labels if len(labels) <= LISTED else []
    for number, trace in enumerate(figure.data[NAMED:]):
        trace.visible = trace.showlegend = number < len(listed)
        if number < len(listed):
            name = listed[number]
            trace.name, (trace.marker.color, trace.marker.symbol) = name, looks[name]


def bars_frame() -> go.Figure:
    """Bars of a decoder's scores, without scores."""
    figure = go.Figure()
    figure.add_bar(
        x=[],
        y=[],
        orientation="h",
        name="F1, 95 % interval over combinations",
        marker={"color": SKY},
        error_x={"thickness": 1.2, "width": 3, "color": BLACK},
        hovertemplate="%{y}: F1 %{x:.0f} %<extra></extra>",
    )
    symbols = {"chance": ("line-ns-open", BLACK), "shuffled": ("diamond-open", VERMILLION)}
    for control, (symbol, ink) in symbols.items():
        name = CONTROLS[control][0]
        marker = {"symbol": symbol, "color": ink, "size": 9, "line": {"width": 2}}
        hover = f"%{{y}}, {name}: %{{x:.0f}} %<extra></extra>"
        figure.add_scatter(x=[], y=[], mode="markers", name=name, hovertemplate=hover, marker=marker)
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"l": 112, "r": 14, "t": 56, "b": 110},
        title=TITLE,
        legend={
            **BELOW,
            "xref": "container",
            "font": {"size": SIZE - 1},
        },
        xaxis={"title": {"text": "F1 on unseen combinations (%)"}, "range": (0, 103)},
        yaxis={"autorange": "reversed", "type": "category", "showgrid": False},
    )
    figure.add_annotation(x=0.5, y=0.5, xref="paper", yref="paper", text="", align="left")
    return figure


def fill_bars(figure: go.Figure, decoding: Decoding | str, names: Sequence[str], what: str) -> None:
    """decoding: a decoder's scores, or why there are none; names: of its classes; what is decoded."""
    bar, chance, shuffled = figure.data
    if isinstance(decoding, str):
        for trace in figure.data:
            trace.x, trace.y = [], []
        figure.layout.annotations[0].text = "<br>".join(_lines(decoding, 44))
        figure.layout.title.text = f"Decoding the {what}"
        return
    score = decoding.f1
    percent = [100 * np.nan_to_num(values) for values in (score.value, score.low, score.high)]
    bar.x, bar.y = percent[0], list(names)
    bar.error_x.array, bar.error_x.arrayminus = percent[2] - percent[0], percent[0] - percent[1]
    for trace, values in ((chance, score.chance), (shuffled, score.shuffled.mean(0))):
        trace.x, trace.y = 100 * values, list(names)
    figure.layout.annotations[0].text = ""
    several = decoding.predicted.ndim == 2  # classes that do not exclude each other: few examples have all right
    total, kind = (score, "mean F1") if several else (decoding.accuracy, "right")
    numbers = [f"{100 * np.nanmean(value):.0f} %" for value in (total.value, total.chance, total.shuffled)]
    figure.layout.title.text = (
        f"Decoding the {what} by logistic regression: {numbers[0]} {kind}"
        f"<br>constant answer {numbers[1]}, shuffled labels {numbers[2]}"
    )


def _lines(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width)
