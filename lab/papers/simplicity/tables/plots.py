"""How methods stand among each other on tables, together and on each (simplicity paper, Figures 5 and 20)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.errors import shortened
from lab.papers.simplicity.tables.settings import LINEAR, METHODS
from lab.plots.caption import set_reading
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import METHOD_SYMBOLS, SIZE, colour
from lab.statistics import INTERVAL, over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

LEFT = 96  # px: names of methods
ROW = 21  # px a method
COLUMNS = 3
LONGEST_NAME = 21  # letters of a table above its panel, 600 px wide


def fig5(table: pd.DataFrame) -> go.Figure:
    """Left: accuracy between that of the worst and of the best method of each table, mean over tables. Right: mean
    rank. table: as `lab.papers.simplicity.tables.scores.scored` gives it; only what is chosen is drawn."""
    means = together(table)
    figure = _panels(["normalized accuracy", "rank"], means)
    for number, (name, x) in enumerate((("normalized", "0: worst method of a table, 1: best"), ("rank", "1: best"))):
        _draw(figure, means, name, (1, number + 1), ".2f")
        figure.update_xaxes(title_text=x, row=1, col=number + 1)
    set_reading(
        figure,
        "Test accuracy on each table, scaled to 0 for the method that is worst on it and 1 for the"
        " best, and the rank of methods, both averaged over tables. Whiskers:"
        f" {INTERVAL}. k-NN and trees are fitted once.",
    )
    return figure


def fig20(table: pd.DataFrame) -> go.Figure:
    """One panel per table: test accuracy by method. table: as for `fig5`."""
    best = table[table["chosen"].astype(bool)].assign(percent=100 * table["accuracy"])
    names = list(best["table"].unique())
    figure = _panels(names, best)
    for number, name in enumerate(names):
        rows, at = best[best["table"] == name], place(number, COLUMNS)
        _draw(figure, rows, "percent", at, ".1f")
        _zoom(figure, rows, at)
    name_axes(figure, len(names), COLUMNS, "test accuracy (%)", "")
    set_reading(
        figure,
        f"Mean over seeds. Whiskers: {INTERVAL}. k-NN and trees are fitted once. Axes differ; ←: left of the axis.",
    )
    return figure


def _zoom(figure: go.Figure, table: pd.DataFrame, at: tuple[int, int]) -> None:
    """Axis of all methods but the linear model; where that lies far outside, a number at the edge stands for it."""
    stats = over_seeds(table, "method", "percent")
    others = stats.drop(index=LINEAR, errors="ignore")
    if LINEAR not in stats.index or others.empty:
        return
    half = others["half"].fillna(0.0)
    low, high = float((others["mean"] - half).min()), float((others["mean"] + half).max())
    pad = 0.08 * (high - low) or 0.5
    mean = stats.loc[LINEAR, "mean"]
    if low - mean <= 0.5 * (high - low):
        return
    figure.update_xaxes(range=(low - 2 * pad, high + pad), row=at[0], col=at[1])
    panel = figure.get_subplot(*at)
    figure.add_annotation(
        text=f"← {mean:.1f}",
        xref=f"{panel.xaxis.plotly_name.replace('axis', '')} domain",
        x=0.01,
        xanchor="left",
        yref=panel.yaxis.plotly_name.replace("axis", ""),
        y=LINEAR,
        showarrow=False,
        font={"size": SIZE - 1, "color": colour(LINEAR)},
    )


def together(table: pd.DataFrame) -> pd.DataFrame:
    """Means over tables of what is chosen: method, seed, normalized (0 to 1), rank.

    k-NN and trees, which have one seed, stand beside the networks of each. A seed of which a run diverged is left out.
    """
    best = table[table["chosen"].astype(bool)]
    wide = best.pivot_table(index="seed", columns=["table", "method"], values="accuracy", aggfunc="mean")
    once = best.groupby(["table", "method"])["seed"].nunique() == 1
    alone = [column for column in wide if once[column]]
    if len(wide) > 1:
        wide[alone] = wide[alone].ffill().bfill()
    long = wide.stack(["table", "method"], future_stack=True).rename("accuracy").reset_index()
    means = long.groupby(["table", "method"])["accuracy"].mean().groupby("table")
    low, high = long["table"].map(means.min()), long["table"].map(means.max())
    long["normalized"] = (long["accuracy"] - low) / (high - low).where(high > low)
    long["rank"] = long.groupby(["seed", "table"])["accuracy"].rank(ascending=False)
    scores = long.groupby(["method", "seed"])[["normalized", "rank"]].agg(lambda a: a.mean(skipna=False)).reset_index()
    every = {method for _, method in alone} & set(scores["method"])
    return scores[~scores["method"].isin(every) | (scores["seed"] == scores["seed"].min())]


def _panels(titles: Sequence[str], table: pd.DataFrame) -> go.Figure:
    columns, methods = min(COLUMNS, len(titles)), _ordered(table)
    heads = [shortened(name, LONGEST_NAME) for name in titles]
    height = ROW * len(methods) + 14
    figure = grid(heads, columns, height, gap=74, top=30, left=LEFT, horizontal=26, share_y=True)
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=methods[::-1],
        range=(-0.6, len(methods) - 0.4),
        gridcolor="#F2F2F2",
    )
    figure.update_layout(showlegend=False)
    figure.update_xaxes(nticks=5)
    return figure


def _draw(figure: go.Figure, table: pd.DataFrame, value: str, at: tuple[int, int], digits: str) -> None:
    stats = over_seeds(table, "method", value)
    for method in (method for method in _ordered(table) if method in stats.index):
        mean, half, runs = stats.loc[method, ["mean", "half", "runs"]]
        if value == "normalized" and min(abs(mean), abs(1 - mean)) < 1e-9:
            half = float("nan")  # 0 and 1 by definition
        figure.add_scatter(
            x=[mean],
            y=[method],
            mode="markers",
            name=method,
            error_x={"array": [half], "thickness": 1.6, "width": 4} if half == half else None,
            marker={"color": colour(method), "symbol": METHOD_SYMBOLS[method], "size": 9},
            hovertemplate=f"{method}: %{{x:{digits}}}"
            + (f" ± {half:{digits}}" if half == half else "")
            + f", {runs:.0f} run{'s' if runs > 1 else ''}<extra></extra>",
            row=at[0],
            col=at[1],
        )


def _ordered(table: pd.DataFrame) -> list[str]:
    return [method for method in METHODS if method in set(table["method"])]
