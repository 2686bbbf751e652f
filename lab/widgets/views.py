"""The pictures of LatentExplorer: a map of codes, bars of a decoder's scores, the scores of one code over its heads.

Each is made once and then filled in place; nothing here computes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from lab.plots.decoding import CONTROLS
from lab.plots.embedding import NAMES, in_order, look
from lab.plots.style import BLACK, BLUE, GREY, SEQUENTIAL, SIZE, SKY, TEMPLATE, VERMILLION
from lab.probes.decoding import Decoding

POINTS, CHOSEN, A, B, NAMED = 0, 1, 2, 3, 4  # traces of a map; from NAMED on, one for each name in the legend
RINGS = {A: ("A", BLACK, "circle-open"), B: ("B", VERMILLION, "square-open")}
PLAIN = {"showticklabels": False, "ticks": "", "showgrid": False, "mirror": True}
HEIGHT = 470  # px
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
        # the line that was drawn shows what is selected; points that are faded would stay so when the line is gone,
        # because a page takes "no selection" for "none is selected"
        unselected={"marker": {"opacity": marker["opacity"]}},
    )
    figure.add_scatter(
        x=[],
        y=[],
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        marker={"symbol": "star-open", "size": 17, "color": BLACK, "line": {"width": 2}},
    )
    for name, ink, symbol in RINGS.values():
        marker = {"symbol": symbol, "size": 10, "color": ink, "line": {"width": 1.3}}
        figure.add_scatter(x=[], y=[], mode="markers", hoverinfo="skip", name=name, marker=marker, showlegend=False)
    figure.update_traces(unselected_marker_opacity=1, selector={"hoverinfo": "skip"})  # the star and the rings, too
    for _ in range(LISTED):
        figure.add_scatter(x=[None], y=[None], mode="markers", marker={"size": 8}, visible=False, hoverinfo="skip")
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        dragmode="lasso",
        margin={"l": 10, "r": 10, "t": 56, "b": 130},
        title={"font": {"size": SIZE}, "x": 0.02, "y": 0.97, "yanchor": "top"},
        legend={
            "yref": "container",
            "y": 0.01,
            "yanchor": "bottom",
            "x": 0,
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
    told = f"trust {trust:.2f}" if trust == trust else "all problems have one code here"
    figure.layout.title.text = f"{NAMES[method]} of codes, {place}<br>{told}"


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


def ring(figure: go.Figure, trace: int, points: np.ndarray, which: np.ndarray | None) -> None:
    """Mark some of the points (N, 2), those of the indices `which`, as the chosen one, or as A or B; None: none."""
    some = points[:0] if which is None else points[which]
    figure.data[trace].x, figure.data[trace].y = some[:, 0], some[:, 1]
    figure.data[trace].showlegend = bool(len(some)) and trace in RINGS


def unselect(figure: go.Figure) -> None:
    """Remove the line that was drawn, and what it selects. Only the page knows of them: it is told of others first,
    because what seems to be as it was is not sent."""
    trace = figure.data[POINTS]
    figure.layout.selections, trace.selectedpoints = [{"type": "rect", "x0": 0, "x1": 0, "y0": 0, "y1": 0}], []
    figure.layout.selections, trace.selectedpoints = [], None


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
        told = f"%{{y}}, {name}: %{{x:.0f}} %<extra></extra>"
        figure.add_scatter(x=[], y=[], mode="markers", name=name, hovertemplate=told, marker=marker)
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"l": 112, "r": 14, "t": 56, "b": 110},
        title={"font": {"size": SIZE}, "x": 0.02, "y": 0.97, "yanchor": "top"},
        legend={
            "yref": "container",
            "y": 0.01,
            "yanchor": "bottom",
            "x": 0,
            "xref": "container",
            "font": {"size": SIZE - 1},
        },
        xaxis={"title": {"text": "F1 on unseen combinations (%)"}, "range": (0, 103)},
        yaxis={"autorange": "reversed", "type": "category", "showgrid": False},
    )
    figure.add_annotation(x=0.5, y=0.5, xref="paper", yref="paper", text="", align="left")
    return figure


def fill_bars(figure: go.Figure, found: Decoding | str, names: Sequence[str], what: str) -> None:
    """found: a decoder's scores, or why there are none; names: of its classes; what is decoded."""
    bar, chance, shuffled = figure.data
    if isinstance(found, str):
        for trace in figure.data:
            trace.x, trace.y = [], []
        figure.layout.annotations[0].text = "<br>".join(_lines(found, 44))
        figure.layout.title.text = f"Decoding the {what}"
        return
    score = found.f1
    percent = [100 * np.nan_to_num(values) for values in (score.value, score.low, score.high)]
    bar.x, bar.y = percent[0], list(names)
    bar.error_x.array, bar.error_x.arrayminus = percent[2] - percent[0], percent[0] - percent[1]
    for trace, values in ((chance, score.chance), (shuffled, score.shuffled.mean(0))):
        trace.x, trace.y = 100 * values, list(names)
    figure.layout.annotations[0].text = ""
    several = found.predicted.ndim == 2  # classes do not exclude each other: then few examples have all of them right
    total, kind = (score, "mean F1") if several else (found.accuracy, "right")
    numbers = [f"{100 * np.nanmean(value):.0f} %" for value in (total.value, total.chance, total.shuffled)]
    figure.layout.title.text = (
        f"Decoding the {what} by logistic regression: {numbers[0]} {kind}"
        f"<br>constant answer {numbers[1]}, shuffled labels {numbers[2]}"
    )


def heads_frame(heads: int) -> go.Figure:
    """The scores of one example over heads, and the mean of its like, without scores."""
    figure = go.Figure()
    x, told = list(range(1, heads + 1)), "head %{x}: %{y:.3g}<extra></extra>"
    figure.add_bar(x=x, y=[], name="this problem", marker={"color": BLUE}, hovertemplate=told)
    marker = {"symbol": "line-ew-open", "size": 12, "color": VERMILLION, "line": {"width": 2}}
    figure.add_scatter(x=x, y=[], mode="markers", marker=marker, hovertemplate=told)
    figure.update_layout(
        template=TEMPLATE,
        height=290,
        margin={"l": 58, "r": 14, "t": 34, "b": 84},
        title={"font": {"size": SIZE}, "x": 0.02, "y": 0.98, "yanchor": "top"},
        legend={"yref": "container", "y": 0.01, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": "head"}, "dtick": 1, "showgrid": False, "range": (0.4, heads + 0.6)},
        yaxis={"title": {"text": "attention score"}, "zeroline": True, "zerolinecolor": GREY},
    )
    return figure


def fill_heads(figure: go.Figure, code: np.ndarray, mean: np.ndarray, like: str, title: str) -> None:
    """code, mean (heads,): of the example and of all problems that are `like` it."""
    figure.data[0].y, figure.data[1].y, figure.data[1].name = code, mean, like
    figure.layout.title.text = title


def _lines(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width)
