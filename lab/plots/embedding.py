"""Codes as points, coloured by what they may stand for (hypernetwork paper, Figs. 2D, 5A, 5B, A2, A6, A7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lab.plots.caption import set_reading
from lab.plots.panels import BOTTOM, grid, name_axes, place
from lab.plots.style import GREY, SEQUENCE, SEQUENTIAL, SIZE, method_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import plotly.graph_objects as go

NAMES = {"tsne": "t-SNE", "umap": "UMAP", "pca": "PCA"}
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x")  # a second way to tell labels apart
LISTED = 24  # labels in a legend; where there are more, pointing at a point tells its own
BAR = 46  # px of a colour bar, below everything
LINE = 28  # px of a line of the legend


def maps(table: pd.DataFrame, height: int = 165) -> go.Figure:
    """One panel for each method (columns) and each layer and colouring (rows).

    table: method, layer, colouring, x, y, label, value, trustworthiness, embedding ("tsne", …), one row a point. A
    colouring has either labels, text, or values, numbers; the other column is empty there. Layers count from 0.
    """
    methods = list(table["method"].unique())
    rows = list(table[["layer", "colouring"]].drop_duplicates().itertuples(index=False, name=None))
    panels = [(method, layer, colouring) for layer, colouring in rows for method in methods]
    titles = [method_title(method) for method in methods] + [""] * (len(panels) - len(methods))
    figure = _drawn(table, panels, titles, len(methods), height, gap=22)
    for row, (layer, colouring) in enumerate(rows, 1):
        figure.update_yaxes(title_text=f"<b>layer {layer + 1}</b><br>by {colouring}", row=row, col=1)
    return figure


def layers(table: pd.DataFrame, height: int = 125) -> go.Figure:
    """All layers of one method, however many: a panel each, four a row, once for each colouring. table: as `maps`."""
    found = sorted(table["layer"].unique())
    columns = max(count for count in (1, 2, 3, 4) if len(found) % count == 0)  # a colouring begins a row
    colourings = list(table["colouring"].unique())
    panels = [(table["method"].iloc[0], layer, colouring) for colouring in colourings for layer in found]
    titles = [f"layer {layer + 1}" for _, layer, _ in panels]
    figure = _drawn(table, panels, titles, columns, height, gap=34)
    for number, (_, _, colouring) in enumerate(panels[::columns], 1):
        figure.update_yaxes(title_text=f"by {colouring}", row=number, col=1)
    return figure


def _drawn(table: pd.DataFrame, panels: list[tuple], titles: list[str], columns: int, height: int,
           gap: int) -> go.Figure:  # fmt: skip
    """A panel for each (method, layer, colouring)."""
    labels = _labels(table)
    listed = bool(labels) and len(labels) <= LISTED
    widest = 22 + 7 * max(map(len, labels), default=0)  # px of an entry
    lines = -(-len(labels) * widest // 560) + 1 if listed else 0
    figure = grid(titles, columns, height, gap=gap, top=30 + LINE * lines, left=72, horizontal=14)
    shown, named = look(labels), set()
    colourings = list(dict.fromkeys(colouring for _, _, colouring in panels))
    numbers = [colouring for colouring in colourings if not _labels(_of(table, colouring=colouring))]
    for number, (method, layer, colouring) in enumerate(panels):
        points = _of(table, method=method, layer=layer, colouring=colouring)
        at = place(number, columns)
        if colouring in numbers:
            _draw_values(figure, points, numbers.index(colouring), at)
        else:
            _draw_labels(figure, points, shown, named if listed else set(labels), at)
        _tell_trust(figure, points, at)
    figure.update_xaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    figure.update_yaxes(showticklabels=False, ticks="", showgrid=False, mirror=True)
    kinds = [NAMES.get(kind, kind) for kind in table["embedding"].unique()]
    name_axes(figure, len(panels), columns, f"{' / '.join(kinds)} (no unit)", "")
    _place_bars(figure, numbers)
    set_reading(
        figure,
        "One point an example: the attention scores across heads of one query and key.",
        "Trust: trustworthiness of nearest neighbours (1: those of a point are those of its code, too)."
        if table["trustworthiness"].notna().any()
        else "",
        "Distances between clusters and their sizes mean nothing." if set(kinds) & {"t-SNE", "UMAP"} else "",
        f"{len(labels)} labels: colours and symbols repeat; point at a point for its own."
        if labels and not listed
        else "",
    )
    return figure


def _of(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    chosen = np.logical_and.reduce([table[column] == value for column, value in values.items()])
    return table[chosen]


def _labels(table: pd.DataFrame) -> list[str]:
    return in_order(table["label"].dropna().unique())


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels sorted, 2 before 10."""
    return sorted(labels, key=lambda label: (len(label), label))


def look(labels: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and symbol of each label: first all colours, then again with another symbol."""
    colours = [colour for colour in SEQUENCE if colour != GREY]
    return {
        label: (colours[i % len(colours)], SYMBOLS[i // len(colours) % len(SYMBOLS)]) for i, label in enumerate(labels)
    }


def _draw_labels(figure: go.Figure, points: pd.DataFrame, shown: dict[str, tuple[str, str]], named: set[str],
                 at: tuple[int, int]) -> None:  # fmt: skip
    for label in _labels(points):
        some = points[points["label"] == label]
        colour, symbol = shown[label]
        figure.add_scatter(
            x=some["x"],
            y=some["y"],
            name=label,
            legendgroup=label,
            showlegend=label not in named,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 3.5, "opacity": 0.75},
            hovertemplate=f"{label}<extra></extra>",
            row=at[0],
            col=at[1],
        )
        named.add(label)


def _draw_values(figure: go.Figure, points: pd.DataFrame, number: int, at: tuple[int, int]) -> None:
    colouring = points["colouring"].iloc[0]
    figure.add_scatter(
        x=points["x"],
        y=points["y"],
        name=colouring,
        showlegend=False,
        mode="markers",
        marker={"color": points["value"], "coloraxis": _axis(number), "size": 3.5, "opacity": 0.75},
        hovertemplate=f"{colouring} %{{marker.color:.3g}}<extra></extra>",
        row=at[0],
        col=at[1],
    )


def _axis(number: int) -> str:
    return f"coloraxis{number + 1 if number else ''}"


def _place_bars(figure: go.Figure, colourings: list[str]) -> None:
    """A colour bar for each colouring by numbers, side by side below the panels."""
    if not colourings:
        return
    inner = figure.layout.height - figure.layout.margin.t - BOTTOM
    for number, colouring in enumerate(colourings):
        bar = {
            "orientation": "h",
            "thickness": 9,
            "len": 0.9 / len(colourings),
            "x": (number + 0.5) / len(colourings),
            "y": -BOTTOM / inner,
            "yanchor": "top",
            "ypad": 0,
            "outlinewidth": 0,
            "title": {"text": colouring, "side": "top", "font": {"size": SIZE - 1}},
            "tickfont": {"size": SIZE - 1},
        }
        figure.update_layout({_axis(number): {"colorscale": SEQUENTIAL, "colorbar": bar}})
    figure.update_layout(height=figure.layout.height + BAR, margin={"b": BOTTOM + BAR})


def _tell_trust(figure: go.Figure, points: pd.DataFrame, at: tuple[int, int]) -> None:
    """Trustworthiness in the corner of the panel."""
    found = points["trustworthiness"].dropna()
    if not len(found):
        return
    panel = figure.get_subplot(*at)
    figure.add_annotation(
        text=f"trust {found.iloc[0]:.2f}",
        showarrow=False,
        font={"size": SIZE - 2},
        bgcolor="rgba(255,255,255,0.7)",
        xref="paper",
        yref="paper",
        x=panel.xaxis.domain[1],
        xanchor="right",
        y=panel.yaxis.domain[0],
        yanchor="bottom",
    )
