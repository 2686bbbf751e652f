"""Tables 6 and 7 of the transformers paper, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.transformers.fineweb.printed import LAYERS, LOSSES, SECONDS
from lab.papers.transformers.fineweb.settings import GELU, LINEAR, METHODS, POLYNOMIAL, RELU, SPLINE
from lab.plots.caption import set_reading
from lab.plots.panels import grid
from lab.plots.style import GREY, METHOD_SYMBOLS, colour
from lab.statistics import INTERVAL, half_width

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

TITLES = {LINEAR: "linear", RELU: "ReLU", GELU: "GELU", SPLINE: "spline", POLYNOMIAL: "polynomial"}


def table6(table: pd.DataFrame) -> go.Figure:
    """Left: loss minus ReLU's by depth. Right: time of a step over GELU's; dotted: as the paper prints it.

    table: method, layers, seed, loss, ratio, ratio_spread, diverged. The linear MLP's loss is far above and left out.
    """
    figure = grid(["loss on held-out text", "time of a training step"], 2, height=270, top=64, horizontal=66)
    alive = table[~table["diverged"].astype(bool)]
    base = alive[alive["method"] == RELU].groupby("layers")["loss"].mean()
    for method in METHODS:
        rows = alive[alive["method"] == method]
        if method not in (LINEAR, RELU):
            each = rows.groupby("layers")["loss"]
            _line(figure, method, each.mean() - base, each.agg(half_width), 1)
            printed = [one - other for one, other in zip(LOSSES[method], LOSSES[RELU], strict=True)]
            _printed(figure, method, printed, 1)
        if method != GELU:
            times = rows.groupby("layers")[["ratio", "ratio_spread"]].first()
            _line(figure, method, times["ratio"], times["ratio_spread"], 2)
            _printed(
                figure, method, [one / other for one, other in zip(SECONDS[method], SECONDS[GELU], strict=True)], 2
            )
    figure.add_hline(y=0, line={"color": GREY, "width": 1.2}, row=1, col=1)
    figure.add_hline(y=1, line={"color": GREY, "width": 1.2}, row=1, col=2)
    figure.update_xaxes(title_text="layers")
    figure.update_yaxes(title_text="loss minus ReLU's (nats a token)", row=1, col=1)
    figure.update_yaxes(title_text="time over GELU's", row=1, col=2)
    one = table["seed"].nunique() < 2
    set_reading(
        figure,
        "Dotted, open marks: as the paper prints it, of FineWeb and a GPU. Left: the linear MLP's loss is far above,"
        " and not shown.",
        "One seed only: no interval." if one else f"Whiskers left: {INTERVAL}, of one search.",
        "Right: half of the range between quartiles, over rounds of a few steps each.",
    )
    return figure


def table7(table: pd.DataFrame) -> go.Figure:
    """Loss against the degree of the polynomial, beside the spline's and ReLU's.

    table: method, degree (0: none), seed, loss, diverged.
    """
    figure = grid([""], 1, height=260, top=44)
    alive = table[~table["diverged"].astype(bool)]
    rows = alive[alive["method"] == POLYNOMIAL].groupby("degree")["loss"]
    degrees = sorted(table["degree"].unique())
    for method in (RELU, SPLINE):
        values = alive.loc[alive["method"] == method, "loss"].to_numpy(float)
        if len(values):
            line = {"color": colour(method), "width": 2, "dash": "dash" if method == RELU else "solid"}
            ends = [0, degrees[-1] + 1]
            figure.add_scatter(
                x=ends,
                y=[values.mean()] * 2,
                mode="lines",
                line=line,
                name=TITLES[method],
                hovertemplate=f"%{{y:.3f}} ± {half_width(values):.3f}",
            )
    figure.add_scatter(
        x=list(rows.mean().index),
        y=rows.mean(),
        error_y={"array": rows.agg(half_width), "thickness": 1.2, "width": 3},
        mode="lines+markers",
        line={"color": colour(POLYNOMIAL), "width": 1.5},
        marker={"size": 8, "symbol": METHOD_SYMBOLS[POLYNOMIAL]},
        name=TITLES[POLYNOMIAL],
    )
    figure.update_xaxes(title_text="degree of the polynomial", range=(0, degrees[-1] + 1))
    figure.update_yaxes(title_text="loss on held-out text (nats a token)")
    one = table["seed"].nunique() < 2
    set_reading(
        figure, "Means over seeds.", "One seed only: no interval." if one else f"Whiskers: {INTERVAL}, of one search."
    )
    return figure


def _line(figure: go.Figure, method: str, values: pd.Series, halves: pd.Series, column: int) -> None:
    figure.add_scatter(
        x=list(values.index),
        y=values,
        error_y={"array": halves, "thickness": 1.2, "width": 3},
        mode="lines+markers",
        line={"color": colour(method), "width": 2},
        marker={"symbol": METHOD_SYMBOLS[method], "size": 8},
        name=TITLES[method],
        legendgroup=method,
        showlegend=column == 2 or method == GELU,
        hovertemplate="%{x} layers: %{y:.3f} ± %{error_y.array:.3f}",
        row=1,
        col=column,
    )


def _printed(figure: go.Figure, method: str, values: list[float], column: int) -> None:
    figure.add_scatter(
        x=list(LAYERS),
        y=values,
        mode="lines+markers",
        line={"color": colour(method), "width": 1, "dash": "dot"},
        marker={"symbol": f"{METHOD_SYMBOLS[method]}-open", "size": 6},
        legendgroup=method,
        showlegend=False,
        name=f"{TITLES[method]}, printed",
        hovertemplate="printed, %{x} layers: %{y:.3f}",
        row=1,
        col=column,
    )
