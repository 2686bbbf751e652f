"""Complexity on paths through the data: examples of paths, and two measures against each other (simplicity paper,
Figures 29 and 30)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.plots.caption import set_reading
from lab.plots.panels import BOTTOM, colour_bar, grid, log_axis, name_axes, place
from lab.plots.style import BLACK, BLUE, GREY, ORANGE, SEQUENTIAL, VERMILLION

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

SYMBOLS = ("circle", "diamond", "square", "triangle-up")  # by the number of hidden layers
BAR = 66  # px of the colour bar below the axes
TICKS = (0.1, 0.3, 1.0, 3.0, 8.0)
INKS = (BLUE, ORANGE, VERMILLION)
COLUMNS = 3


def fig29(table: pd.DataFrame) -> go.Figure:
    """One panel for each output that complexity is measured of, a mark a model, coloured by its prefactor.

    table: prefactor, layers, seed, output (text), tv, tv_low, tv_high, fourier, fourier_low, fourier_high, accuracy.
    """
    outputs = list(table["output"].unique())
    figure = grid(outputs, len(outputs), 300, top=64, left=70, horizontal=78)
    drawn = table[(table["tv"] > 0) & (table["fourier"] > 0)]  # both axes are logarithmic
    for number, output in enumerate(outputs):
        row, column = place(number, len(outputs))
        for rank, (layers, rows) in enumerate(drawn[drawn["output"] == output].groupby("layers")):
            figure.add_scatter(
                x=rows["fourier"],
                y=rows["tv"],
                customdata=rows[["prefactor", "seed", "tv_low", "tv_high", "fourier_low", "fourier_high", "accuracy"]],
                mode="markers",
                name=f"{layers} hidden layer{'s' if layers > 1 else ''}",
                legendgroup=str(layers),
                showlegend=not number,
                marker={
                    "symbol": SYMBOLS[rank],
                    "size": 8,
                    "color": np.log10(rows["prefactor"]),
                    "coloraxis": "coloraxis",
                    "line": {"width": 0.6, "color": BLACK},
                },
                hovertemplate="α = %{customdata[0]:g}, seed %{customdata[1]}<br>total variation %{y:.3g}"
                " (%{customdata[2]:.3g} to %{customdata[3]:.3g})<br>Fourier %{x:.3g} (%{customdata[4]:.3g} to"
                " %{customdata[5]:.3g}) cycles a path<br>test accuracy %{customdata[6]:.1%}",
                row=row,
                col=column,
            )
        figure.update_xaxes(
            title_text="Fourier complexity (cycles a path)", row=row, col=column, **log_axis(drawn["fourier"])
        )
        unit = "probability" if output == "probability" else "logit"
        values = drawn.loc[drawn["output"] == output, "tv"]
        figure.update_yaxes(title_text=f"total variation ({unit})", row=row, col=column, **log_axis(values))
    height, bottom = figure.layout.height + BAR, BOTTOM + BAR
    bar = colour_bar("prefactor α of tanh(αx), log scale", -(BOTTOM + 4) / 300, np.log10(TICKS))
    bar["ticktext"] = [f"{tick:g}" for tick in TICKS]
    low, high = np.log10([TICKS[0], TICKS[-1]])
    colours = {"colorscale": SEQUENTIAL, "cmin": low, "cmax": high, "colorbar": bar}
    figure.update_layout(height=height, margin={"b": bottom}, coloraxis=colours)
    zeros = len(table) - len(drawn)
    set_reading(
        figure,
        "Each mark is a mean over paths; point at it for its 95 % interval (bootstrap over paths). Both axes are"
        " logarithmic. The mean frequency does not depend on how far a function is from a straight line: of a parabola"
        " it is 0.59, however flat.",
        f"Not drawn, because a measure is 0: {zeros} of {len(table)}." if zeros else "",
    )
    return figure


def fig30(table: pd.DataFrame) -> go.Figure:
    """One panel a path; a line for each prefactor, the classes at the ends, and how far the nearest data is.

    table: prefactor, seed, path, along, value, truth, distance, tv.
    """
    table = table[table["seed"] == table["seed"].min()]
    paths = sorted(table["path"].unique())
    figure = grid([f"path {path + 1}" for path in paths], COLUMNS, 150, gap=58, top=86, horizontal=26, second_y=True)
    furthest = table["distance"].max()
    for number, path in enumerate(paths):
        row, column = place(number, COLUMNS)
        curves = table[table["path"] == path]
        for (prefactor, rows), ink in zip(curves.groupby("prefactor"), INKS, strict=False):
            figure.add_scatter(
                x=rows["along"],
                y=rows["value"],
                mode="lines",
                name=f"α = {prefactor:g}",
                legendgroup=str(prefactor),
                showlegend=not number,
                line={"color": ink, "width": 2},
                hovertemplate=f"α = {prefactor:g}: %{{y:.2f}}; total variation of this path {rows['tv'].iloc[0]:.2f}",
                row=row,
                col=column,
            )
        first = curves[curves["prefactor"] == curves["prefactor"].min()]
        ends = first.iloc[[0, -1]]
        figure.add_scatter(
            x=ends["along"],
            y=ends["truth"],
            mode="markers",
            name="class at the ends",
            showlegend=not number,
            legendgroup="ends",
            marker={"color": BLACK, "size": 8},
            hovertemplate="class %{y:g}",
            row=row,
            col=column,
        )
        figure.add_scatter(
            x=first["along"],
            y=first["distance"],
            mode="lines",
            name="distance to the nearest data",
            legendgroup="distance",
            showlegend=not number,
            line={"color": GREY, "width": 1.2, "dash": "dot"},
            hovertemplate="nearest training example: %{y:.2f} away",
            row=row,
            col=column,
            secondary_y=True,
        )
    figure.update_yaxes(range=(-0.08, 1.08), tickvals=(0, 0.5, 1), secondary_y=False)
    figure.update_yaxes(range=(-0.08 * furthest, 1.08 * furthest), secondary_y=True, visible=False, showgrid=False)
    figure.update_xaxes(range=(-0.05, 1.05), tickvals=(0, 0.5, 1))
    name_axes(figure, len(paths), COLUMNS, "along the path", "probability of class 1")
    set_reading(
        figure,
        f"Dotted: Euclidean distance, from 0 to {furthest:.2f} over the height of a panel; every input covers [-1, 1].",
    )
    return figure
