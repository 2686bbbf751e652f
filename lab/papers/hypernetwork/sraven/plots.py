"""SRAVEN by the size of the model, the number of problems, or how hard they are (hypernetwork paper, Figs. 4, 5C, 5D,
A4, A5).

Plot functions take tables of `lab.papers.hypernetwork.logic.figures.finals`, one row a run, and draw the runs that are
`chosen`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.plots.caption import interval_note, set_reading
from lab.plots.panels import above, grid, place
from lab.plots.style import GREY, METHOD_SYMBOLS, SIZE, colour, method_title, methods_of
from lab.statistics import over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

ACCURACY = "accuracy, whole answer (%)"
SYMBOLS, FEATURES = 8, 2  # of SRAVEN below paper scale: with more features guessing is right less often still
APART = 0.02  # of the width of a panel, between marks of two methods at one place, so that whiskers can be told apart
# column → name, unit or other words on the axis, and how a number is written
WHERE: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "problems": ("problems trained on", "log scale", "{:,}".format),
    "layers": ("layers", "log scale", str),
    "heads": ("heads", "log scale", str),
    "features": ("features a panel", "K", str),
    "held_out": ("combinations of rules held out", "%", lambda share: f"{100 * share:g}"),
}


def name(by: str) -> str:
    """What a column of WHERE is called, with its unit."""
    words, unit, _ = WHERE[by]
    return f"{words} ({unit})" if unit == "%" else words


def accuracy(table: pd.DataFrame, by: str, *sentences: str) -> go.Figure:
    """Accuracy on unseen combinations (and thin, on seen ones) against the column `by`, one line a method; where the
    numbers of problems are several and not on the axis, one panel each.

    table: method, problems, `by` (see WHERE), seed, accuracy_ood, accuracy_test (0 to 1), diverged, chosen.
    sentences: more to tell of how to read it.
    """
    table = table[table["chosen"]]
    numbers = sorted(table["problems"].unique()) if by != "problems" else []
    panels = [table[table["problems"] == number] for number in numbers] if len(numbers) > 1 else [table]
    titles = [f"{number:,} problems" for number in numbers] if len(numbers) > 1 else [""]
    figure = grid(titles, len(panels), 270, top=40 if len(panels) == 1 else 62, horizontal=24)
    for number, rows in enumerate(panels):
        at = place(number, len(panels))
        _draw(figure, rows, by, "accuracy_test", at, 100, thin=True)
        _draw(figure, rows, by, "accuracy_ood", at, 100, legend=not number)
        _draw_guess(figure, rows, by, at)
        _name_x(figure, rows, by, at)
    most = table[["accuracy_ood", "accuracy_test"]].max().max()
    high = 100 if most != most else min(100, 20 * np.ceil(5 * most + 0.2))  # the next 20 % above all points
    figure.update_yaxes(range=(-0.03 * high, 1.04 * high))
    figure.update_yaxes(title_text=ACCURACY, col=1)
    set_reading(
        figure,
        "Solid: unseen combinations, mean over seeds.",
        interval_note(table, "Whiskers"),
        "Thin dotted: seen combinations, fresh problems. Dashed: guessing, 1 of 8 for each feature"
        f"{'' if by == 'features' else ', drawn for two'}.",
        *sentences,
        _diverged_runs(table),
    )
    return figure


def fig4a(table: pd.DataFrame) -> go.Figure:
    """Against the number of problems."""
    return accuracy(table, "problems")


def fig_a4(table: pd.DataFrame) -> go.Figure:
    """Training loss at the end, against the number of problems and against the number of layers, a panel each.

    table: varied ("problems" or "layers"), method, problems, layers, seed, loss (nats), diverged, chosen.
    """
    table = table[table["chosen"]]
    panels = [
        (by, rows)
        for by, part in table.groupby("varied", sort=False)
        for _, rows in part.groupby("problems" if by == "layers" else "layers")
    ]
    figure = grid([""] * len(panels), len(panels), 270, top=62, left=70, horizontal=24)
    for number, (by, rows) in enumerate(panels):
        at = place(number, len(panels))
        _draw(figure, rows, by, "loss", at, legend=not number)
        _name_x(figure, rows, by, at)
        same = f"{rows['layers'].iloc[0]} layers" if by == "problems" else f"{rows['problems'].iloc[0]:,} problems"
        above(figure, f"<b>{same}</b>", *at, size=SIZE + 1)
    figure.update_yaxes(range=(0, 1.08 * table["loss"].max()))
    figure.update_yaxes(showticklabels=False, matches="y")
    figure.update_yaxes(showticklabels=True, title_text="training loss (nats a feature)", col=1)
    set_reading(
        figure,
        "Lines: mean over seeds.",
        interval_note(table, "Whiskers"),
        "Training loss: mean since the evaluation before, with dropout of attention scores; guessing has ln 8 = 2.08.",
        _diverged_runs(table),
    )
    return figure


def _draw(
    figure: go.Figure,
    table: pd.DataFrame,
    by: str,
    value: str,
    at: tuple[int, int],
    scale: float = 1,
    legend: bool = False,
    thin: bool = False,
) -> None:
    """One line a method, its mean over seeds, with intervals unless thin."""
    axis, write, methods = _axis(table, by), WHERE[by][2], methods_of(table)
    for rank, method in enumerate(methods):
        stats = scale * over_seeds(table[table["method"] == method], by, value)[["mean", "half"]]
        name, unit = method_title(method), "%" if scale == 100 else "nats"
        figure.add_scatter(
            x=_along(stats.index, by) + APART * np.ptp(axis) * (rank - (len(methods) - 1) / 2),
            y=stats["mean"],
            error_y=None if thin else {"array": stats["half"], "thickness": 1.2, "width": 4},
            customdata=[write(point) for point in stats.index],
            name=f"{name}, seen combinations" if thin else name,
            legendgroup=method,
            showlegend=legend,
            mode="lines+markers",
            line={"color": colour(method), "width": 1.2 if thin else 2.5, "dash": "dot" if thin else "solid"},
            marker={"symbol": METHOD_SYMBOLS[method], "size": 4 if thin else 8},
            hovertemplate=f"{WHERE[by][0]} %{{customdata}}: %{{y:.3g}} {unit}",
            row=at[0],
            col=at[1],
        )


def _draw_guess(figure: go.Figure, table: pd.DataFrame, by: str, at: tuple[int, int]) -> None:
    """Accuracy of guessing all features, of FEATURES where their number is not the axis."""
    numbers = sorted(table[by].unique())
    features = numbers if by == "features" else [FEATURES] * 2
    places = _along(numbers, by) if by == "features" else _axis(table, by)
    figure.add_scatter(
        x=places,
        y=[100 / SYMBOLS**count for count in features],
        mode="lines",
        name="guessing",
        showlegend=False,
        line={"color": GREY, "width": 1.2, "dash": "dash"},
        hovertemplate="guessing: %{y:.2g} %",
        row=at[0],
        col=at[1],
    )


def _along(values: Sequence, by: str) -> np.ndarray:
    """Where numbers stand on the axis."""
    return np.log2(np.array(values, float)) if WHERE[by][1] == "log scale" else np.array(values, float)


def _axis(table: pd.DataFrame, by: str) -> tuple[float, float]:
    """The ends of the axis, with room beside the outermost numbers."""
    places = _along(table[by].unique(), by)
    room = 0.12 * np.ptp(places) if len(places) > 1 else 0.5
    return float(places.min() - room), float(places.max() + room)


def _name_x(figure: go.Figure, table: pd.DataFrame, by: str, at: tuple[int, int]) -> None:
    name, unit, write = WHERE[by]
    numbers = sorted(table[by].unique())
    figure.update_xaxes(
        title_text=f"{name} ({unit})",
        tickvals=_along(numbers, by),
        ticktext=[write(number) for number in numbers],
        range=_axis(table, by),
        row=at[0],
        col=at[1],
    )


def _diverged_runs(table: pd.DataFrame) -> str:
    count, runs = int(table["diverged"].astype(bool).sum()), len(table)
    return f"Diverged runs (left out of means): {count} of {runs}." if count else ""
