"""Which of two tiles networks rely on, over training and in the end (simplicity paper, Figures 9, 25 and 26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.shortcut.settings import FOR
from lab.papers.simplicity.shortcut.tile_plots import draw_bound, draw_ends, draw_ways, name_accuracies, names_of, title
from lab.plots.caption import set_reading, true_minus
from lab.plots.panels import grid
from lab.plots.style import GREY, SIZE, colour, faded
from lab.statistics import INTERVAL, diverged
from lab.tasks.collage import TILES

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

_LINES = (
    "Thin lines: one run a seed; thick: mean over seeds at each step, from the dot of the initial weights to the"
    " square of the last step."
)


def tile_titles(table: pd.DataFrame) -> dict[str, str]:
    """As `names_of`, for the collage of a table."""
    return names_of(table["task"].iloc[0])


def fig9(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """Top: accuracy on either tile with early stopping, and over training. Bottom: the learned functions.

    table: as `shortcut.trajectories` has it. functions: as `shortcut.functions` has it.
    """
    names = tile_titles(table)
    heads = ["early stopping", "over training", *(title(method, names) for method in FOR.values())]
    figure = grid(heads, 2, height=200, gap=82, top=92, horizontal=62)
    draw_ends(figure, table, (1, 1))
    draw_ways(figure, table, (1, 2), names, legend=True)
    for number, method in enumerate(FOR.values()):
        _draw_restarts(figure, functions[functions["method"] == method], method, (2, number + 1))
    name_accuracies(figure, names, 2)
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
        _diverged_runs(table, names),
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
        draw_ways(figure, rows, (1, number + 1), names, legend=number == 0)
        for tile in TILES:
            draw_bound(figure, rows, tile, (1, number + 1), names, legend=number == 0)
        curves = functions[functions["chosen"].astype(bool) & (functions["spectral"].astype(bool) == spectral)]
        for method in FOR.values():
            _draw_function(figure, curves[curves["method"] == method], method, (2, number + 1))
        alike = {names[tile]: relu_correlation(curves[curves["method"] == method]) for tile, method in FOR.items()}
        words = "<br>".join(f"{name} {r}" for name, r in alike.items() if r)
        _inside(figure, f"r with ReLU:<br>{words}" if words else "", (2, number + 1))
    name_accuracies(figure, names, 2)
    figure.update_xaxes(title_text="input x", row=2)
    figure.update_yaxes(title_text="φ(x)", row=2, col=1)
    set_reading(
        figure,
        _LINES,
        "Straight lines: ReLU networks that were trained where only this tile tells the label, with early stopping;"
        " mean over seeds.",
        _diverged_runs(table, names),
    )
    return figure


def _draw_restarts(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int]) -> None:
    """What all restarts of a search found, the chosen one last."""
    for restart, curve in rows[~rows["chosen"].astype(bool)].groupby("restart"):
        accuracy = 100 * curve["accuracy_val"].iloc[0]
        figure.add_scatter(
            x=curve["x"],
            y=curve["value"],
            mode="lines",
            name=f"restart {restart}",
            showlegend=False,
            line={"color": faded(GREY, 0.6), "width": 1},
            row=at[0],
            col=at[1],
            hovertemplate=f"restart {restart}, {accuracy:.1f} % on validation data: φ(%{{x:.2f}}) = %{{y:.3g}}",
        )
    best = rows[rows["chosen"].astype(bool)]
    _draw_function(figure, best, method, at)
    r = relu_correlation(best)
    _inside(figure, f"r = {r} with ReLU" if r else "", at)


def _inside(figure: go.Figure, text: str, at: tuple[int, int]) -> None:
    """Lines in the upper left corner of a panel, where a function like ReLU is far away."""
    if not text:
        return
    figure.add_annotation(
        text=text,
        xref="x domain",
        yref="y domain",
        x=0.02,
        y=0.98,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        font={"size": SIZE - 2},
        row=at[0],
        col=at[1],
    )


def relu_correlation(rows: pd.DataFrame) -> str:
    """The correlation of a function's values with ReLU's, in words; empty where there is none."""
    if rows.empty or np.ptp(rows["value"]) == 0:
        return ""
    correlation = np.corrcoef(rows["x"].clip(lower=0), rows["value"])[0, 1].round(2) + 0.0  # no -0.00
    return true_minus(f"{correlation:.2f}")


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


def _diverged_runs(table: pd.DataFrame, names: dict[str, str]) -> str:
    counts = {keys: diverged(rows) for keys, rows in table.groupby(["spectral", "method"], sort=False)}
    words = [
        f"{title(method, names)}{', spectral normalization' if spectral else ''}: {count} of {runs}"
        for (spectral, method), (count, runs) in counts.items()
        if count
    ]
    return f"Diverged runs (left out from there on): {'; '.join(words)}." if words else ""
