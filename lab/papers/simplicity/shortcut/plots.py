"""Which of two tiles networks go by, over training and in the end (simplicity paper, Figures 9, 25 and 26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.grokking.settings import RELU
from lab.papers.simplicity.shortcut.claims import stopped, watched
from lab.papers.simplicity.shortcut.settings import ALONE, FOR, image_title
from lab.plots.caption import set_reading
from lab.plots.panels import grid, place
from lab.plots.style import BLACK, GREY, METHOD_SYMBOLS, SIZE, colour, faded
from lab.statistics import INTERVAL, diverged, half_width
from lab.tasks.collage import TILES

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

METHODS = (RELU, *FOR.values())
BOUNDS = {"easy": ("v", "dash"), "hard": ("h", "dot")}
_LINES = (
    "Thin lines: one run a seed; thick: mean over seeds at each step, from the dot of the initial weights to the"
    " square of the last step."
)


def names_of(task: str) -> dict[str, str]:
    """Titles of both tiles, from the name of a collage.

    >>> names_of("fashion_mnist_sample over mnist_sample")
    {'easy': 'Fashion-MNIST', 'hard': 'MNIST'}
    """
    return dict(zip(TILES, map(image_title, task.split(", ")[0].split(" over ")), strict=True))


def tile_titles(table: pd.DataFrame) -> dict[str, str]:
    """As `names_of`, for the collage of a table."""
    return names_of(table["task"].iloc[0])


def title(method: str, names: dict[str, str]) -> str:
    """A method's name with the data set of its tile.

    >>> title("learned for hard", {"easy": "Fashion-MNIST", "hard": "MNIST"})
    'learned for MNIST'
    """
    return next((f"learned for {names[tile]}" for tile, name in FOR.items() if name == method), method)


def fig9(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: accuracy on either tile with early stopping, and over training. Bottom: the learned functions.

    table: as `shortcut.trajectories` has it. functions: as `shortcut.functions` has it.
    """
    names = tile_titles(table)
    heads = ["early stopping", "over training", *(title(method, names) for method in FOR.values())]
    figure = grid(heads, 2, height=200, gap=82, top=92, horizontal=62)
    _draw_ends(figure, table, (1, 1))
    _draw_ways(figure, table, (1, 2), names, legend=True)
    for number, method in enumerate(FOR.values()):
        _draw_restarts(figure, functions[functions["method"] == method], method, (2, number + 1))
    _name_accuracies(figure, names, 2)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1)
    set_reading(
        figure,
        "Early stopping: the evaluation of each run that is best on validation data, of ambiguous collages for ReLU, of"
        " those where only its tile tells the label for a learned function; small: one run; large: mean over seeds;"
        f" whiskers: {INTERVAL}. Hollow, where arrows begin: ReLU with the early stopping of a learned function, which"
        " alone moves it towards a tile.",
        _LINES,
        "Functions: the chosen one, and in grey what other restarts of its search found.",
        _lost(table, names),
    )
    return figure


def fig25(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Left: without, right: with spectral normalization. Top: accuracy over training; bottom: the learned functions.

    Arguments: as of `fig9`; the table has also runs that were trained on one tile.
    """
    names, kinds = tile_titles(table), (False, True)
    heads = ["no normalization", "spectral normalization", "learned functions", "learned functions"]
    figure = grid(heads, 2, height=210, gap=82, top=112, horizontal=62)
    for number, spectral in enumerate(kinds):
        rows = table[table["spectral"].astype(bool) == spectral]
        _draw_ways(figure, rows, (1, number + 1), names, legend=number == 0)
        for tile in TILES:
            _draw_bound(figure, rows, tile, (1, number + 1), names, legend=number == 0)
        own = functions[functions["chosen"].astype(bool) & (functions["spectral"].astype(bool) == spectral)]
        for method in FOR.values():
            _draw_function(figure, own[own["method"] == method], method, (2, number + 1))
        told = [like_relu(own[own["method"] == method]).removesuffix(" with ReLU") for method in FOR.values()]
        _inside(figure, f"{', '.join(filter(None, told))} with ReLU" if any(told) else "", (2, number + 1))
    _name_accuracies(figure, names, 2)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1)
    set_reading(
        figure,
        _LINES,
        "Straight lines: ReLU networks that were trained where only this tile tells the label, with early stopping;"
        " mean over seeds.",
        _lost(table, names),
    )
    return figure


def _draw_ends(figure: go.Figure, table: pd.DataFrame, at: tuple[int, int]) -> None:
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


def _draw_ways(
    figure: go.Figure, table: pd.DataFrame, at: tuple[int, int], names: dict[str, str], legend: bool
) -> None:
    """Accuracy on either tile over training."""
    where = {"row": at[0], "col": at[1]}
    for method in METHODS:
        rows = table[table["method"] == method]
        seeds = {tile: 100 * rows.pivot(index="step", columns="seed", values=tile) for tile in TILES}
        ink, told = colour(method), title(method, names)
        for seed in seeds["easy"]:
            figure.add_scatter(
                x=seeds["easy"][seed],
                y=seeds["hard"][seed],
                mode="lines",
                name=f"{told}, seed {seed}",
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
            name=told,
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
                name=f"{told}, {name}",
                legendgroup=method,
                showlegend=False,
                hovertemplate=f"{name}: %{{x:.1f}} %, %{{y:.1f}} %",
                marker={"color": BLACK if place_ == 0 else ink, "symbol": symbol, "size": 7},
                **where,
            )


def _draw_bound(
    figure: go.Figure, table: pd.DataFrame, tile: str, at: tuple[int, int], names: dict[str, str], legend: bool
) -> None:
    """A straight line at the accuracy of models that were trained on one tile."""
    rows = table[table["method"] == ALONE[tile]]
    if rows.empty:
        return
    value = 100 * stopped(rows, "val")[tile].mean()
    ends = ([value] * 2, [0, 100]) if BOUNDS[tile][0] == "v" else ([0, 100], [value] * 2)
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


def _draw_restarts(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    """What all restarts of a search found, the chosen one last."""
    for restart, own in rows[~rows["chosen"].astype(bool)].groupby("restart"):
        accuracy = 100 * own["accuracy_val"].iloc[0]
        figure.add_scatter(
            x=own["x"],
            y=own["value"],
            mode="lines",
            name=f"restart {restart}",
            showlegend=False,
            line={"color": faded(GREY, 0.6), "width": 1},
            row=at[0],
            col=at[1],
            hovertemplate=f"restart {restart}, {accuracy:.1f} % on validation data: φ(%{{x:.2f}}) = %{{y:.3g}}",
        )
    own = rows[rows["chosen"].astype(bool)]
    _draw_function(figure, own, method, at)
    _inside(figure, like_relu(own), at)


def _inside(figure: go.Figure, text: str, at: tuple[int, int]) -> None:
    """A line at the lower right end of a panel."""
    if not text:
        return
    panel = figure.get_subplot(*at)
    xref, yref = (f"{axis.plotly_name.replace('axis', '')} domain" for axis in (panel.xaxis, panel.yaxis))
    figure.add_annotation(
        text=text,
        xref=xref,
        yref=yref,
        x=0.99,
        y=0.01,
        xanchor="right",
        yanchor="bottom",
        showarrow=False,
        font={"size": SIZE - 2},
    )


def like_relu(rows: pd.DataFrame) -> str:
    """How far a function is ReLU, in words."""
    if rows.empty or np.ptp(rows["value"]) == 0:
        return ""
    found = np.corrcoef(rows["x"].clip(lower=0), rows["value"])[0, 1].round(2) + 0.0  # no -0.00
    return f"r = {found:.2f} with ReLU".replace("= -", "= −")


def _draw_function(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    figure.add_scatter(
        x=rows["x"],
        y=rows["value"],
        mode="lines",
        name=f"{method}, φ",
        legendgroup=method,
        showlegend=False,
        line={"color": colour(method), "width": 2},
        hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
        row=at[0],
        col=at[1],
    )


def _name_accuracies(figure: go.Figure, names: dict[str, str], count: int) -> None:
    for number in range(count):
        row, column = place(number, count)
        figure.update_xaxes(title_text=f"accuracy on {names['easy']} (%)", row=row, col=column)
        figure.update_yaxes(title_text=f"on {names['hard']} (%)" if column == 1 else None, row=row, col=column)
    figure.update_xaxes(title_font_size=SIZE, row=1)


def _lost(table: pd.DataFrame, names: dict[str, str]) -> str:
    found = {keys: diverged(rows) for keys, rows in table.groupby(["spectral", "method"], sort=False)}
    words = [
        f"{title(method, names)}{', spectral normalization' if spectral else ''}: {lost} of {runs}"
        for (spectral, method), (lost, runs) in found.items()
        if lost
    ]
    return f"Diverged runs (left out from there on): {'; '.join(words)}." if words else ""
