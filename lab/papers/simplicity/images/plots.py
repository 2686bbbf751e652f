"""Accuracies on image sets, by method and number of hidden layers (simplicity paper, Figures 2 and 17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.simplicity.images.claims import retained
from lab.papers.simplicity.images.settings import FROM_ZERO, REGRESSION, RELU, TITLES
from lab.plots.caption import set_reading
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import METHOD_SYMBOLS, colour, faded, method_title, methods_of
from lab.statistics import INTERVAL, diverged, over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

SPREAD = 0.15  # of a category's width, from one method to the next
BESIDE = 0.05  # single runs left of their mean, which would cover them
# Regression with 4 hidden layers (Table 4: ReLU, and learned on the set itself) and with 1 (Table 1: ReLU, best).
PRINTED = {
    ("mnist", 4): (76.7, 79.7),
    ("fashion_mnist", 4): (73.9, 75.1),
    ("svhn", 4): (42.9, 54.1),
    ("cifar10", 4): (16.1, 22.6),
    ("fashion_mnist", 1): (53.1, 57.2),
}


def fig2(table: pd.DataFrame) -> go.Figure:
    """One panel a mode: the sets across, a mark a method at its best number of hidden layers.

    table: set, mode, method, layers, seed, accuracy, accuracy_val (0 to 1), diverged.
    """
    modes = list(table["mode"].unique())
    figure, best = grid(modes, len(modes), 260, top=92, horizontal=34), retained(table)
    names = list(table["set"].unique())
    for number, mode in enumerate(modes):
        at = place(number, len(modes))
        for slot, method in enumerate(methods_of(table)):
            rows = best[(best["mode"] == mode) & (best["method"] == method)]
            x = rows["set"].map(names.index) + (slot - 1.5) * SPREAD
            _marks(figure, rows.assign(x=x), method, at, legend=not number)
        figure.update_xaxes(
            tickvals=list(range(len(names))),
            ticktext=[TITLES[name] for name in names],
            range=(-0.5, len(names) - 0.5),
            row=at[0],
            col=at[1],
        )
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    set_reading(
        figure,
        "Each method with the number of hidden layers that is best on validation data. Small: one run"
        f" a seed. Large: their mean; whisker: {INTERVAL}.",
        diverged_runs(table),
    )
    return figure


def fig17(table: pd.DataFrame) -> go.Figure:
    """One row a set, one column a mode: accuracy by number of hidden layers. table: as of `fig2`."""
    names, modes = list(table["set"].unique()), list(table["mode"].unique())
    heads = [f"{TITLES[name]}, {mode}" for name in names for mode in modes]
    figure = grid(heads, len(modes), 190, gap=66, top=112, horizontal=50)
    depths = sorted(table["layers"].unique())
    legend = True
    for number, (name, mode) in enumerate((name, mode) for name in names for mode in modes):
        at = place(number, len(modes))
        for slot, method in enumerate(methods_of(table)):
            rows = table[(table["set"] == name) & (table["mode"] == mode) & (table["method"] == method)]
            rows = rows.assign(x=rows["layers"] + (slot - 1.5) * SPREAD / 2)
            _marks(figure, rows, method, at, legend=not number, joined=True)
        if mode == REGRESSION:
            theirs = [(depth, *PRINTED[name, depth]) for depth in depths if (name, depth) in PRINTED]
            for column, method in ((1, RELU), (2, FROM_ZERO)) if theirs else ():
                slot = methods_of(table).index(method)  # where ours is: the same number of layers
                figure.add_scatter(
                    x=[row[0] + (slot - 1.5) * SPREAD / 2 for row in theirs],
                    y=[row[column] for row in theirs],
                    mode="markers",
                    name="printed in the paper: ReLU" if method == RELU else "printed: learned",
                    showlegend=legend,
                    legendgroup=f"printed {method}",
                    row=at[0],
                    col=at[1],
                    marker={"symbol": "x-thin-open", "size": 9, "color": colour(method), "line": {"width": 2}},
                    hovertemplate="paper, %{y:.1f} %",
                )
            legend &= not theirs
    figure.update_xaxes(tickvals=depths, range=(min(depths) - 0.5, max(depths) + 0.5))
    name_axes(figure, len(heads), len(modes), "hidden layers", "test accuracy (%)")
    set_reading(
        figure,
        f"Small: one run a seed. Large: their mean; whisker: {INTERVAL}. ×: what the paper prints"
        " (Tables 1 and 4), of models of its own size on the whole sets; it does not say from which start"
        " their functions were learned.",
        diverged_runs(table),
    )
    return figure


def _marks(
    figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool, joined: bool = False
) -> None:
    """Runs as small marks, their means with whiskers, at the column `x`."""
    rows = rows[~rows["diverged"].astype(bool)].assign(percent=100 * rows["accuracy"])
    stats = over_seeds(rows, "x", "percent")
    ink, symbol = colour(method), METHOD_SYMBOLS[method]
    where = {"row": at[0], "col": at[1], "legendgroup": method}
    layers = rows.groupby("x")["layers"].first()
    figure.add_scatter(
        x=rows["x"] - BESIDE,
        y=rows["percent"],
        mode="markers",
        name=f"{method}, one run",
        marker={"color": faded(ink, 0.75), "size": 5, "symbol": symbol},
        hovertemplate="%{y:.1f} %",
        showlegend=False,
        **where,
    )
    figure.add_scatter(
        x=stats.index,
        y=stats["mean"],
        mode="lines+markers" if joined else "markers",
        name=method_title(method),
        showlegend=legend,
        customdata=layers.reindex(stats.index).to_numpy()[:, None],
        line={"color": ink, "width": 1.6},
        marker={"color": ink, "size": 9, "symbol": symbol},
        error_y={"array": stats["half"].fillna(0.0), "color": ink, "thickness": 1.4, "width": 3},
        hovertemplate="%{y:.1f} % (mean), %{customdata[0]} hidden layers",
        **where,
    )


def diverged_runs(table: pd.DataFrame) -> str:
    """How many runs are left out, in a sentence."""
    words = []
    for (name, mode, method), rows in table.groupby(["set", "mode", "method"], sort=False):
        count = sum(diverged(part)[0] for _, part in rows.groupby("layers"))
        words += [f"{TITLES[name]}, {mode}, {method}: {count} of {len(rows)}"] if count else []
    return f"Diverged runs (left out): {'; '.join(words)}." if words else ""
