"""Accuracies on image sets, and the complexity of what is trained (simplicity paper, Figures 2, 4, 17 and 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.images.claims import rank, retained
from lab.papers.simplicity.images.settings import CLASSIFICATION, FROM_ZERO, METHODS, REGRESSION, RELU, TITLES
from lab.plots.caption import set_reading, true_minus
from lab.plots.panels import above, grid, log_axis, name_axes, place
from lab.plots.style import BLACK, METHOD_SYMBOLS, SIZE, colour, faded, method_title
from lab.statistics import INTERVAL, diverged, over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

SPREAD = 0.15  # of a category's width, from one method to the next
BESIDE = 0.05  # single runs left of their mean, which would cover them
RESAMPLES = 1_000  # of configurations, for the interval of a rank correlation
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
        for slot, method in enumerate(_methods(table)):
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
        _diverged_runs(table),
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
        for slot, method in enumerate(_methods(table)):
            rows = table[(table["set"] == name) & (table["mode"] == mode) & (table["method"] == method)]
            rows = rows.assign(x=rows["layers"] + (slot - 1.5) * SPREAD / 2)
            _marks(figure, rows, method, at, legend=not number, joined=True)
        if mode == REGRESSION:
            theirs = [(depth, *PRINTED[name, depth]) for depth in depths if (name, depth) in PRINTED]
            for column, method in ((1, RELU), (2, FROM_ZERO)) if theirs else ():
                slot = _methods(table).index(method)  # where ours is: the same number of layers
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
        _diverged_runs(table),
    )
    return figure


def fig4(table: pd.DataFrame) -> go.Figure:
    """One panel a mode: test accuracy against complexity, one mark a model.

    table: set, mode, method, layers, seed, accuracy, accuracy_train, tv, tv_low, tv_high, diverged.
    """
    modes = list(table["mode"].unique())
    figure = grid([f"as {mode}" for mode in modes], len(modes), 280, top=92, horizontal=50)
    for number, mode in enumerate(modes):
        rows = table[table["mode"] == mode]
        _against_complexity(figure, rows, place(number, len(modes)), legend=not number)
    figure.update_yaxes(title_text="test accuracy (%)", col=1)
    set_reading(figure, _COMPLEXITY, _flat(table), _diverged_runs(table))
    return figure


def fig18(table: pd.DataFrame) -> go.Figure:
    """One row a set and mode: test against training accuracy, test accuracy against complexity. table: as of `fig4`."""
    pairs = list(table.drop_duplicates(["set", "mode"])[["set", "mode"]].itertuples(index=False, name=None))
    heads = [text for name, mode in pairs for text in (f"{TITLES[name]}, {mode}", "")]
    figure = grid(heads, 2, 190, gap=84, top=96, horizontal=60)
    for line, (name, mode) in enumerate(pairs):
        rows = table[(table["set"] == name) & (table["mode"] == mode)]
        for method in _methods(rows):
            part = rows[rows["method"] == method]
            _points(
                figure,
                part,
                100 * part["accuracy_train"],
                method,
                (line + 1, 1),
                legend=not line,
                about="training accuracy %{x:.1f} %",
            )
        _against_complexity(figure, rows, (line + 1, 2), legend=False)
        figure.update_xaxes(title_text="training accuracy (%)", row=line + 1, col=1)
        figure.update_yaxes(title_text="test accuracy (%)", row=line + 1, col=1)
    set_reading(figure, _COMPLEXITY, _flat(table), _diverged_runs(table))
    return figure


_COMPLEXITY = (
    "One mark a model: methods, numbers of hidden layers, seeds; its size grows with the layers. Total variation: ups"
    " and downs of what a model answers on straight paths between training images, the straight line between a path's"
    " ends subtracted (mean over paths, logarithmic axis); of the number that it predicts, which lies in [-1, 1], or of"
    " the probability of a random class. ρ: Spearman's rank correlation of the marks, with its 95 % bootstrap interval"
    " over configurations (method and number of layers), whose seeds stay together."
)


def rank_interval(table: pd.DataFrame, seed: int = 0) -> tuple[float, float]:
    """95 % interval of `rank`, from configurations drawn anew, each with all its seeds; NaN for fewer than four."""
    groups = [rows[["tv", "accuracy"]].to_numpy(float) for _, rows in table.groupby(["method", "layers"])]
    if len(groups) < 4:
        return float("nan"), float("nan")
    from lab.papers.agreement import spearman

    rng, ranks = np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        ranks.append(spearman(drawn[:, 0], drawn[:, 1]))
    low, high = np.nanpercentile(ranks, (2.5, 97.5))
    return float(low), float(high)


def _told_rank(table: pd.DataFrame) -> str:
    low, high = rank_interval(table)
    interval = "" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    return true_minus(f"{rank(table):.2f}{interval}")


def _against_complexity(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], legend: bool) -> None:
    every = rows[~rows["diverged"].astype(bool)]
    rows = every[every["tv"] > 0]
    for method in _methods(rows):
        part = rows[rows["method"] == method]
        _points(figure, part, part["tv"], method, at, legend, about="total variation %{x:.3g}")
    unit = "probability" if len(rows) and rows["mode"].iloc[0] == CLASSIFICATION else "class id"
    figure.update_xaxes(title_text=f"total variation ({unit})", row=at[0], col=at[1], **log_axis(rows["tv"]))
    if len(every) > 2:
        above(figure, f"ρ = {_told_rank(every)}", *at, side="right", size=SIZE - 1)


def _flat(table: pd.DataFrame) -> str:
    zeros = int((table["tv"] == 0).sum())
    return f"Not drawn, because their total variation is 0: {zeros} of {len(table)}." if zeros else ""


def _points(
    figure: go.Figure, rows: pd.DataFrame, x: pd.Series, method: str, at: tuple[int, int], legend: bool, about: str
) -> None:
    look = {"symbol": METHOD_SYMBOLS[method], "size": 5 + 1.5 * rows["layers"], "color": faded(colour(method), 0.75)}
    figure.add_scatter(
        x=x,
        y=100 * rows["accuracy"],
        mode="markers",
        name=method_title(method),
        legendgroup=method,
        showlegend=legend,
        customdata=rows[["layers", "seed"]],
        row=at[0],
        col=at[1],
        marker=look | {"line": {"width": 0.6, "color": BLACK}},
        hovertemplate=f"{method_title(method)}, %{{customdata[0]}} hidden layers, seed %{{customdata[1]}}<br>{about},"
        " test accuracy %{y:.1f} %<extra></extra>",
    )


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


def _methods(table: pd.DataFrame) -> list[str]:
    here = set(table["method"])
    return [method for method in METHODS if method in here]


def _diverged_runs(table: pd.DataFrame) -> str:
    words = []
    for (name, mode, method), rows in table.groupby(["set", "mode", "method"], sort=False):
        count = sum(diverged(part)[0] for _, part in rows.groupby("layers"))
        words += [f"{TITLES[name]}, {mode}, {method}: {count} of {len(rows)}"] if count else []
    return f"Diverged runs (left out): {'; '.join(words)}." if words else ""


def correlations(table: pd.DataFrame) -> str:
    """Rank correlations in a sentence."""
    rows = table[~table["diverged"].astype(bool)]
    words = [
        f"{TITLES[name]}, {mode} {_told_rank(part)}"
        for (name, mode), part in rows.groupby(["set", "mode"], sort=False)
        if len(part) > 2
    ]
    return f"Rank correlation of test accuracy and total variation over models: {', '.join(words)}." if words else ""
