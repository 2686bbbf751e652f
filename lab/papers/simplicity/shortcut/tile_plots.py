"""Accuracy of networks on either tile of a collage, in the end and over training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.settings import RELU
from lab.papers.simplicity.shortcut.claims import stopped, watched
from lab.papers.simplicity.shortcut.settings import ALONE, FOR, image_title
from lab.plots.panels import place
from lab.plots.style import BLACK, GREY, METHOD_SYMBOLS, SIZE, colour, faded
from lab.statistics import half_width
from lab.tasks.collage import TILES

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

METHODS = (RELU, *FOR.values())
BOUNDS = {"easy": ("v", "dash"), "hard": ("h", "dot")}


def names_of(task: str) -> dict[str, str]:
    """Titles of both tiles, from the name of a collage.

    >>> names_of("fashion_mnist_sample over mnist_sample")
    {'easy': 'Fashion-MNIST', 'hard': 'MNIST'}
    """
    return dict(zip(TILES, map(image_title, task.split(", ")[0].split(" over ")), strict=True))


def title(method: str, names: dict[str, str]) -> str:
    """A method's name with the data set of its tile.

    >>> title("learned for hard", {"easy": "Fashion-MNIST", "hard": "MNIST"})
    'learned for MNIST'
    """
    return next((f"learned for {names[tile]}" for tile, name in FOR.items() if name == method), method)


def draw_ends(figure: go.Figure, table: pd.DataFrame, at: tuple[int, int]) -> None:
    """Accuracy on either tile with early stopping; arrows from ReLU with that stopping to the learned functions."""
    where, means = {"row": at[0], "col": at[1]}, {}
    for method in METHODS:
        ends = 100 * stopped(table[table["method"] == method], watched(method))[list(TILES)].dropna()
        look = {"color": colour(method), "symbol": METHOD_SYMBOLS[method]}
        figure.add_scatter(
            x=ends["easy"],
            y=ends["hard"],
            mode="markers",
            name=f"{method}, runs",
            showlegend=False,
            legendgroup=method,
            marker=look | {"size": 4, "opacity": 0.5},
            customdata=ends.index,
            hovertemplate="seed %{customdata}: %{x:.1f} %, %{y:.1f} %",
            **where,
        )
        if ends.empty:
            continue
        halves = [half_width(ends[tile].to_numpy()) for tile in TILES]
        means[method] = ends.mean()
        bars = [
            None if np.isnan(half) else {"array": [half], "color": colour(method), "thickness": 1.2} for half in halves
        ]
        figure.add_scatter(
            x=[means[method]["easy"]],
            y=[means[method]["hard"]],
            mode="markers",
            name=f"{method}, mean",
            showlegend=False,
            legendgroup=method,
            marker=look | {"size": 8},
            error_x=bars[0],
            error_y=bars[1],
            hovertemplate="mean: %{x:.1f} %, %{y:.1f} %",
            **where,
        )
    panel = figure.get_subplot(*at)
    axes = [axis.plotly_name.replace("axis", "") for axis in (panel.xaxis, panel.yaxis)]
    for tile, method in FOR.items():
        start = 100 * stopped(table[table["method"] == RELU], f"val_{tile}")[list(TILES)].mean()
        if method not in means or start.isna().any():
            continue
        figure.add_scatter(
            x=[start["easy"]],
            y=[start["hard"]],
            mode="markers",
            name=f"ReLU, stopped as {method}",
            showlegend=False,
            legendgroup=RELU,
            marker={"color": colour(RELU), "symbol": f"{METHOD_SYMBOLS[RELU]}-open", "size": 9},
            hovertemplate=f"ReLU, stopped as {method}, mean: %{{x:.1f}} %, %{{y:.1f}} %",
            **where,
        )
        figure.add_annotation(
            x=means[method]["easy"],
            y=means[method]["hard"],
            ax=start["easy"],
            ay=start["hard"],
            xref=axes[0],
            yref=axes[1],
            axref=axes[0],
            ayref=axes[1],
            showarrow=True,
            arrowhead=2,
            arrowwidth=1.2,
            arrowcolor=GREY,
            standoff=7,
            startstandoff=5,
            text="",
        )


def draw_ways(figure: go.Figure, table: pd.DataFrame, at: tuple[int, int], names: dict[str, str], legend: bool) -> None:
    """Accuracy on either tile over training."""
    where = {"row": at[0], "col": at[1]}
    for method in METHODS:
        rows = table[table["method"] == method]
        seeds = {tile: 100 * rows.pivot(index="step", columns="seed", values=tile) for tile in TILES}
        ink, label = colour(method), title(method, names)
        for seed in seeds["easy"]:
            figure.add_scatter(
                x=seeds["easy"][seed],
                y=seeds["hard"][seed],
                mode="lines",
                name=f"{label}, seed {seed}",
                legendgroup=method,
                showlegend=False,
                line={"color": faded(ink, 0.35), "width": 1},
                hoverinfo="skip",
                **where,
            )
        mean = {tile: values.mean(axis=1) for tile, values in seeds.items()}
        figure.add_scatter(
            x=mean["easy"],
            y=mean["hard"],
            mode="lines",
            name=label,
            legendgroup=method,
            showlegend=legend,
            line={"color": ink, "width": 2.4},
            customdata=mean["easy"].index,
            hovertemplate="step %{customdata}: %{x:.1f} %, %{y:.1f} % (mean)",
            **where,
        )
        for place_, symbol, name in ((0, "circle", "initial weights"), (-1, "square", "last step")):
            figure.add_scatter(
                x=mean["easy"].iloc[[place_]],
                y=mean["hard"].iloc[[place_]],
                mode="markers",
                name=f"{label}, {name}",
                legendgroup=method,
                showlegend=False,
                hovertemplate=f"{name}: %{{x:.1f}} %, %{{y:.1f}} %",
                marker={"color": BLACK if place_ == 0 else ink, "symbol": symbol, "size": 7},
                **where,
            )


def draw_bound(
    figure: go.Figure, table: pd.DataFrame, tile: str, at: tuple[int, int], names: dict[str, str], legend: bool
) -> None:
    """A straight line at the accuracy of models that were trained on one tile."""
    rows = table[table["method"] == ALONE[tile]]
    if rows.empty:
        return
    value, (other,) = 100 * stopped(rows, "val")[tile].mean(), set(TILES) - {tile}
    across = [0, 100 * table[other].max()]  # as far as there is something to see
    ends = ([value] * 2, across) if BOUNDS[tile][0] == "v" else (across, [value] * 2)
    figure.add_scatter(
        x=ends[0],
        y=ends[1],
        mode="lines",
        name=f"ReLU trained on {names[tile]} alone",
        legendgroup=ALONE[tile],
        showlegend=legend,
        line={"color": GREY, "width": 1.4, "dash": BOUNDS[tile][1]},
        hovertemplate=f"{value:.1f} %",
        row=at[0],
        col=at[1],
    )


def name_accuracies(figure: go.Figure, names: dict[str, str], count: int) -> None:
    for number in range(count):
        row, column = place(number, count)
        figure.update_xaxes(title_text=f"accuracy on {names['easy']} (%)", row=row, col=column)
        figure.update_yaxes(title_text=f"on {names['hard']} (%)" if column == 1 else None, row=row, col=column)
    figure.update_xaxes(title_font_size=SIZE, row=1)
