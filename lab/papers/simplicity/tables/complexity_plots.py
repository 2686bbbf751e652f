"""Accuracy of many models against their complexity, and against their accuracy in training (simplicity paper, Figures
6, 22 and 23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.errors import shortened
from lab.papers.simplicity.tables.plots import COLUMNS, LONGEST_NAME
from lab.papers.simplicity.tables.settings import LEARNED, LINEAR, METHODS, NEIGHBOURS, RELU, TANH, TREES
from lab.plots.caption import set_reading
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import BLACK, METHOD_SYMBOLS, SKY, colour

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

HEIGHT = 190
FROM_ZERO, FROM_RELU = "learned, from zero", "learned, from ReLU"
COMPLEXITY, TEST, TRAIN = "total variation (of probabilities)", "test accuracy (%)", "training accuracy (%)"


def fig6(table: pd.DataFrame) -> go.Figure:
    """One panel per table: complexity and test accuracy of networks with ReLU and with learned functions.

    table: as `lab.papers.simplicity.tables.scores.measured` gives it; every model is drawn."""
    return _scatter(table[table["method"].isin((RELU, LEARNED))], "tv", COMPLEXITY)


def fig22(table: pd.DataFrame) -> go.Figure:
    """One panel per table: accuracy in training and in testing of all models. table: as for `fig6`."""
    return _scatter(table.assign(x=100 * table["accuracy_train"]), "x", TRAIN)


def fig23(table: pd.DataFrame) -> go.Figure:
    """One panel per table: complexity and test accuracy of all models. table: as for `fig6`."""
    return _scatter(table, "tv", COMPLEXITY)


def kinds(table: pd.DataFrame) -> pd.Series:
    """What a mark is, in words: its method, and of learned functions where the search began."""
    starts = table["start"].map({"zero": FROM_ZERO, "relu": FROM_RELU})
    return table["method"].where(table["method"] != LEARNED, starts)


def _scatter(table: pd.DataFrame, x: str, x_title: str) -> go.Figure:
    table = table.assign(kind=kinds(table), percent=100 * table["accuracy"], training=100 * table["accuracy_train"])
    names, kind_set = list(table["table"].unique()), set(table["kind"])
    order = [kind for method in METHODS for kind in ((FROM_RELU, FROM_ZERO) if method == LEARNED else (method,))]
    order = [kind for kind in order if kind in kind_set]
    heads = [shortened(name, LONGEST_NAME) for name in names]
    figure = grid(heads, min(COLUMNS, len(names)), HEIGHT, gap=66, top=112 if len(order) > 4 else 64, horizontal=44)
    for number, name in enumerate(names):
        row, column = place(number, min(COLUMNS, len(names)))
        for kind in order:
            rows = table[(table["table"] == name) & (table["kind"] == kind) & table["percent"].notna()]
            details = rows[["layers", "prefactor", "seed", "tv", "training", "percent"]]
            figure.add_scatter(
                x=rows[x],
                y=rows["percent"],
                customdata=details,
                mode="markers",
                name=kind,
                legendgroup=kind,
                showlegend=not number,
                marker=_mark(kind),
                row=row,
                col=column,
                hovertemplate=f"{kind}<br>%{{customdata[0]}} hidden layers, α = %{{customdata[1]:g}}, seed"
                " %{customdata[2]}<br>total variation %{customdata[3]:.3g}<br>training %{customdata[4]:.1f} %, test"
                " %{customdata[5]:.1f} %<extra></extra>",
            )
    figure.update_xaxes(nticks=5)
    figure.update_yaxes(nticks=6)
    name_axes(figure, len(names), min(COLUMNS, len(names)), x_title, TEST)
    for axis in figure.select_xaxes():
        axis.title.text = axis.title.text and x_title.replace(" (of ", "<br>(of ")
    figure.update_layout(height=figure.layout.height + 14, margin_b=figure.layout.margin.b + 14)
    divergences = int(table["percent"].isna().sum())
    alpha = ", and for TanH an α" if TANH in kind_set else ""
    set_reading(
        figure,
        f"One mark a model: a seed, a number of layers{alpha}. Axes differ between panels.",
        f"Not drawn, because they diverged: {divergences} of {len(table)}." if divergences else "",
    )
    return figure


def _mark(kind: str) -> dict:
    method = LEARNED if kind in (FROM_ZERO, FROM_RELU) else kind
    ink = SKY if kind == FROM_ZERO else colour(method)
    alone = kind in (LINEAR, NEIGHBOURS, TREES)
    return {
        "color": ink,
        "symbol": METHOD_SYMBOLS[method],
        "size": 10 if alone else 6,
        "opacity": 1 if alone else 0.75,
        "line": {"width": 0.8 if alone else 0.4, "color": BLACK},
    }
