"""What decoders read from codes, beside their controls (hypernetwork paper, Figs. 2B and 5F)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lab.plots.caption import interval_note, set_reading
from lab.plots.lines import band, percent_whiskers
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import (
    GREY,
    METHOD_SYMBOLS,
    SIZE,
    TEMPLATE,
    colour,
    method_title,
    methods_of,
)
from lab.statistics import over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import plotly.graph_objects as go

FULL = (-3, 103)  # percent, with room for markers at the ends
CONTROLS = {  # column → what it is, its dash
    "chance": ("best constant answer", "dash"),
    "shuffled": ("trained on shuffled labels", "dot"),
}
KEY = (
    f"Dashed: the {CONTROLS['chance'][0]}, chosen with the test labels known. Dotted: the same decoder"
    f" {CONTROLS['shuffled'][0]}."
)


def by_layer(table: pd.DataFrame, score: str = "accuracy") -> go.Figure:
    """A score over layers, one line a method. table: method, seed, layer, value, chance, shuffled (0 to 1), one row a
    decoder; layers count from 0. score: its name."""
    import plotly.graph_objects as go

    figure = go.Figure()
    table = table.assign(layer=table["layer"] + 1)
    for method in methods_of(table):
        rows, ink = table[table["method"] == method], colour(method)
        stats = 100 * over_seeds(rows, "layer", "value")[["mean", "half"]]
        band(figure, stats, ink, method)
        figure.add_scatter(
            x=stats.index,
            y=stats["mean"],
            name=method_title(method),
            legendgroup=method,
            mode="lines+markers",
            line={"color": ink, "width": 2.5},
            marker={"symbol": METHOD_SYMBOLS[method], "size": 7},
            customdata=stats["half"],
            hovertemplate=f"layer %{{x}}: %{{y:.1f}} ± %{{customdata:.1f}} % {score}",
        )
        shuffled = 100 * rows.groupby("layer")["shuffled"].mean()
        figure.add_scatter(
            x=shuffled.index,
            y=shuffled,
            name=f"{method_title(method)}, {CONTROLS['shuffled'][0]}",
            legendgroup=method,
            showlegend=False,
            mode="lines",
            line={"color": ink, "width": 1.2, "dash": CONTROLS["shuffled"][1]},
            hovertemplate="shuffled labels: %{y:.1f} %",
        )
    chance = 100 * table.groupby("layer")["chance"].mean()
    figure.add_scatter(
        x=chance.index,
        y=chance,
        name=CONTROLS["chance"][0],
        mode="lines",
        line={"color": GREY, "width": 1.2, "dash": CONTROLS["chance"][1]},
        hovertemplate="constant answer: %{y:.1f} %",
    )
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 62, "r": 16, "t": 34, "b": 50},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"title": {"text": "layer"}, "dtick": 1 if table["layer"].max() <= 16 else None},
        yaxis={"title": {"text": f"{score} on unseen combinations (%)"}, "range": FULL},
    )
    set_reading(figure, f"Line: mean over seeds. {interval_note(table, 'Band')}", KEY)
    return figure


def by_class(table: pd.DataFrame, score: str = "F1", what: str = "term") -> go.Figure:
    """A score for each class, one panel a layer, methods beside each other.

    table: method, seed, layer, label (text), value, chance, shuffled (0 to 1), one row a decoder and class; layers
    count from 0. score, what: the names of the score and of a class.
    """
    layers, methods = sorted(table["layer"].unique()), methods_of(table)
    labels = sorted(table["label"].unique(), key=lambda label: (len(label), label))
    figure = grid([f"layer {layer + 1}" for layer in layers], 1, height=165, gap=64, top=84)
    steps = np.linspace(-0.25, 0.25, len(methods)) if len(methods) > 1 else [0.0]
    for number, layer in enumerate(layers):
        row, column = place(number, 1)
        rows = table[table["layer"] == layer]
        for method, step in zip(methods, steps, strict=True):
            method_rows = rows[rows["method"] == method]
            stats = 100 * over_seeds(method_rows, "label", "value")[["mean", "half"]].reindex(labels)
            figure.add_scatter(
                x=np.arange(len(labels)) + step,
                y=stats["mean"],
                error_y=percent_whiskers(stats, 3),
                name=method_title(method),
                legendgroup=method,
                showlegend=number == 0,
                mode="markers",
                marker={"color": colour(method), "symbol": METHOD_SYMBOLS[method], "size": 7},
                customdata=list(zip(labels, stats["half"], strict=True)),
                hovertemplate=f"{what} %{{customdata[0]}}: %{{y:.1f}} ± %{{customdata[1]:.1f}} % {score}",
                row=row,
                col=column,
            )
        for control, (name, dash) in CONTROLS.items():
            mean = 100 * rows.groupby("label")[control].mean().reindex(labels)
            x, y = _steps(mean.to_numpy())
            figure.add_scatter(
                x=x,
                y=y,
                name=name,
                legendgroup=control,
                showlegend=number == 0,
                mode="lines",
                line={"color": GREY, "width": 1.4, "dash": dash},
                hovertemplate=f"{name}: %{{y:.1f}} %",
                row=row,
                col=column,
            )
        figure.update_yaxes(range=FULL, row=row, col=column)
        figure.update_xaxes(
            tickvals=list(range(len(labels))),
            ticktext=labels,
            tickfont={"size": SIZE - 2},
            range=(-0.6, len(labels) - 0.4),
            showgrid=False,
            row=row,
            col=column,
        )
    name_axes(figure, len(layers), 1, what, f"{score}, unseen combinations (%)")
    dead = table.groupby(["method", "layer"])["value"].max().eq(0).any()
    same = "A layer with 0 for every class has one code for all examples: there is nothing to read." if dead else ""
    set_reading(figure, f"Points: mean over seeds. {interval_note(table, 'Whiskers')}", KEY, same)
    return figure


def _steps(heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A short level line over each of 0, 1, 2, …; NaN lifts the pen between two.

    >>> [part.tolist() for part in _steps(np.array([5.0]))]
    [[-0.4, 0.4, 0.4], [5.0, 5.0, nan]]
    """
    middle = np.arange(len(heights))[:, None]
    return (middle + [-0.4, 0.4, 0.4]).ravel(), np.stack([heights, heights, np.full_like(heights, np.nan)], 1).ravel()
