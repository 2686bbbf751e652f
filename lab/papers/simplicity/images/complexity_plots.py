"""Accuracies on image sets against the complexity of what is trained (simplicity paper, Figures 4 and 18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.images.claims import rank
from lab.papers.simplicity.images.plots import diverged_runs
from lab.papers.simplicity.images.settings import CLASSIFICATION, TITLES
from lab.plots.caption import set_reading, true_minus
from lab.plots.panels import above, grid, log_axis, place
from lab.plots.style import BLACK, METHOD_SYMBOLS, SIZE, colour, faded, method_title, methods_of

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

RESAMPLES = 1_000  # of configurations, for the interval of a rank correlation


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
    set_reading(figure, _COMPLEXITY, _flat(table), diverged_runs(table))
    return figure


def fig18(table: pd.DataFrame) -> go.Figure:
    """One row a set and mode: test against training accuracy, test accuracy against complexity. table: as of `fig4`."""
    pairs = list(table.drop_duplicates(["set", "mode"])[["set", "mode"]].itertuples(index=False, name=None))
    heads = [text for name, mode in pairs for text in (f"{TITLES[name]}, {mode}", "")]
    figure = grid(heads, 2, 190, gap=84, top=96, horizontal=60)
    for line, (name, mode) in enumerate(pairs):
        rows = table[(table["set"] == name) & (table["mode"] == mode)]
        for method in methods_of(rows):
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
    set_reading(figure, _COMPLEXITY, _flat(table), diverged_runs(table))
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


def _rank_text(table: pd.DataFrame) -> str:
    low, high = rank_interval(table)
    interval = "" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    return true_minus(f"{rank(table):.2f}{interval}")


def _against_complexity(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], legend: bool) -> None:
    every = rows[~rows["diverged"].astype(bool)]
    rows = every[every["tv"] > 0]
    for method in methods_of(rows):
        part = rows[rows["method"] == method]
        _points(figure, part, part["tv"], method, at, legend, about="total variation %{x:.3g}")
    unit = "probability" if len(rows) and rows["mode"].iloc[0] == CLASSIFICATION else "class id"
    figure.update_xaxes(title_text=f"total variation ({unit})", row=at[0], col=at[1], **log_axis(rows["tv"]))
    if len(every) > 2:
        above(figure, f"ρ = {_rank_text(every)}", *at, side="right", size=SIZE - 1)


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


def correlations(table: pd.DataFrame) -> str:
    """Rank correlations in a sentence."""
    rows = table[~table["diverged"].astype(bool)]
    words = [
        f"{TITLES[name]}, {mode} {_rank_text(part)}"
        for (name, mode), part in rows.groupby(["set", "mode"], sort=False)
        if len(part) > 2
    ]
    return f"Rank correlation of test accuracy and total variation over models: {', '.join(words)}." if words else ""
