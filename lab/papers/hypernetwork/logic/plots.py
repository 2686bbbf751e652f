"""Fuzzy logic by number of tokens and fraction held out (hypernetwork paper, Figs. 2C and A3).

Plot functions take the table of `lab.papers.hypernetwork.logic.figures.finals`, one row a run, and draw the runs that
are `chosen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.hypernetwork.printed import AT, PAPER
from lab.plots.caption import counted, interval_note, set_reading
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import METHOD_SYMBOLS, colour, method_title, methods_of
from lab.statistics import diverged, over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

LOWEST = -100  # percent: the axis of R² goes no lower, however bad one run is
TOKENS = "tokens (log scale)"


def fig2c(table: pd.DataFrame) -> go.Figure:
    """R² on unseen combinations, one panel a fraction held out.

    table: method, length, held_out, seed, r2_paper_ood, r2_ood, diverged, chosen.
    """
    table = table[table["chosen"]]
    fractions = sorted(table["held_out"].unique())
    figure = grid([f"{100 * f:.0f} % held out" for f in fractions], len(fractions), 270, top=62, horizontal=20)
    for number, fraction in enumerate(fractions):
        at, rows = place(number, len(fractions)), table[table["held_out"] == fraction]
        _draw(figure, rows, "r2_paper_ood", at, legend=number == 0)
        _draw_second(figure, rows, "r2_ood", at)
        if fraction == AT[1] and AT[0] in set(rows["length"]):
            _draw_paper(figure, methods_of(rows), at)
    _tokens(figure, table)
    figure.update_yaxes(range=_range(table, ["r2_paper_ood", "r2_ood"]))
    figure.update_yaxes(showticklabels=False, matches="y", col=2)
    figure.update_yaxes(showticklabels=False, matches="y", col=3)
    name_axes(figure, len(fractions), len(fractions), TOKENS, "R² on unseen combinations (%)")
    set_reading(
        figure,
        "Lines: R² as in the paper, the mean over sequences of 1 - SE / Var; mean over seeds.",
        interval_note(table, "Whiskers"),
        "Thin dotted: 1 - ΣSE / ΣVar over all sequences, mean over seeds.",
        "Open: printed in the paper (Table A1), ± standard error." if AT[1] in fractions else "",
        _low(table, ["r2_paper_ood", "r2_ood"]),
        _diverged_runs(table),
    )
    return figure


def fig_a3(table: pd.DataFrame) -> go.Figure:
    """R² on trained functions, R² on unseen terms and training loss (rows), by fraction held out (columns).

    table: as for `fig2c`, with r2_paper_test, r2_paper_unseen_terms, loss.
    """
    table = table[table["chosen"]]
    fractions = sorted(table["held_out"].unique())
    columns = len(fractions)
    rows = {
        "r2_paper_test": "R², trained<br>functions (%)",
        "r2_paper_unseen_terms": "R², unseen<br>terms (%)",
        "loss": "training loss<br>(squared error)",
    }
    titles = [f"{100 * f:.0f} % held out" if not row else "" for row in range(len(rows)) for f in fractions]
    figure = grid(titles, columns, 150, gap=44, top=62, left=78, horizontal=20)
    for row, value in enumerate(rows, 1):
        low, high = (0, 1.05 * _reach(table, value)[1]) if value == "loss" else (_lowest(table, value), 104)
        for column, fraction in enumerate(fractions, 1):
            part = table[table["held_out"] == fraction]
            _draw(figure, part, value, (row, column), legend=row == column == 1, scale=1 if value == "loss" else 100)
            figure.update_yaxes(range=(low, high), showticklabels=column == 1, row=row, col=column)
        figure.update_yaxes(title_text=rows[value], row=row, col=1)
    _tokens(figure, table)
    figure.update_xaxes(title_text=TOKENS, row=len(rows))
    set_reading(
        figure,
        "R² as in the paper: the mean over sequences of 1 - SE / Var. Lines: mean over seeds.",
        interval_note(table, "Whiskers"),
        "Training loss: mean since the evaluation before, with dropout of attention scores.",
        _low(table, list(rows)[:2]),
        _diverged_runs(table),
    )
    return figure


def _draw(
    figure: go.Figure, table: pd.DataFrame, value: str, at: tuple[int, int], legend: bool, scale: float = 100
) -> None:
    """One line a method, its mean over seeds with intervals."""
    for rank, method in enumerate(methods_of(table)):
        stats = scale * over_seeds(table[table["method"] == method], "length", value)[["mean", "half"]]
        figure.add_scatter(
            x=stats.index * 1.03 ** (rank - 1),  # beside each other, so that whiskers can be told apart
            customdata=stats.index,
            y=stats["mean"],
            error_y={"array": stats["half"], "thickness": 1.2, "width": 4},
            name=method_title(method),
            legendgroup=method,
            showlegend=legend,
            mode="lines+markers",
            line={"color": colour(method), "width": 2},
            marker={"symbol": METHOD_SYMBOLS[method], "size": 7},
            hovertemplate="%{customdata} tokens: %{y:.3g} ± %{error_y.array:.2g}",
            row=at[0],
            col=at[1],
        )


def _draw_second(figure: go.Figure, table: pd.DataFrame, value: str, at: tuple[int, int]) -> None:
    for method in methods_of(table):
        mean = 100 * over_seeds(table[table["method"] == method], "length", value)["mean"]
        figure.add_scatter(
            x=mean.index,
            y=mean,
            name=f"{method_title(method)}, 1 - ΣSE / ΣVar",
            legendgroup=method,
            showlegend=False,
            mode="lines",
            line={"color": colour(method), "width": 1.2, "dash": "dot"},
            hovertemplate="1 - ΣSE / ΣVar: %{y:.1f} %",
            row=at[0],
            col=at[1],
        )


def _draw_paper(figure: go.Figure, methods: list[str], at: tuple[int, int]) -> None:
    for rank, method in enumerate(methods):
        if method in PAPER:
            mean, error = PAPER[method]
            figure.add_scatter(
                x=[AT[0] * 1.03 ** (rank - 1)],  # where ours is: the same number of tokens
                y=[mean],
                error_y={"array": [error], "thickness": 1, "width": 3},
                name=f"{method_title(method)}, paper",
                legendgroup=method,
                showlegend=False,
                mode="markers",
                marker={"color": colour(method), "symbol": f"{METHOD_SYMBOLS[method]}-open", "size": 12},
                hovertemplate="paper: %{y:.1f} ± %{error_y.array:.1f} %",
                row=at[0],
                col=at[1],
            )


def _tokens(figure: go.Figure, table: pd.DataFrame) -> None:
    lengths = sorted(table["length"].unique())
    ends = np.log10([lengths[0] / 1.2, lengths[-1] * 1.2])
    figure.update_xaxes(type="log", tickvals=lengths, range=list(ends), minor={"ticks": ""})


def _range(table: pd.DataFrame, values: list[str]) -> tuple[float, float]:
    """From the lowest run, or from LOWEST where that is lower, to 100 %."""
    percents = 100 * table[values].to_numpy(float)
    lowest = np.nanmin(percents, initial=0.0)
    return max(LOWEST, float(lowest) - 4) if lowest < 0 else -4.0, 104.0


def _reach(table: pd.DataFrame, value: str) -> tuple[float, float]:
    """The lowest and the highest end of a whisker."""
    each = [over_seeds(rows, "length", value) for _, rows in table.groupby(["method", "held_out"], sort=False)]
    lows, highs = zip(
        *((stats["mean"] - stats["half"].fillna(0), stats["mean"] + stats["half"].fillna(0)) for stats in each),
        strict=True,
    )
    return min(float(low.min()) for low in lows), max(float(high.max()) for high in highs)


def _lowest(table: pd.DataFrame, value: str) -> float:
    """Where an axis of R² in percent begins: below all whiskers, but not below LOWEST."""
    return max(float(LOWEST), min(-4.0, 100 * _reach(table, value)[0] - 4))


def _low(table: pd.DataFrame, values: list[str]) -> str:
    below = int((100 * table[values] < LOWEST).any(axis=1).sum())
    lowest = min(100 * _reach(table, value)[0] for value in values)
    cut = f"Whiskers are cut at {LOWEST} %. " if lowest < LOWEST else ""
    words = f"{counted(below, 'run is', 'runs are')} below {LOWEST} %, where the axis ends."
    return f"{cut}{words}" if below else cut.strip()


def _diverged_runs(table: pd.DataFrame) -> str:
    phrases = []
    for (method, length, held_out), rows in table.groupby(["method", "length", "held_out"], sort=False):
        count, runs = diverged(rows)
        if count:
            phrases.append(f"{method_title(method)}, {length} tokens, {100 * held_out:.0f} %: {count} of {runs}")
    return f"Diverged runs (left out of means): {'; '.join(phrases)}." if phrases else ""
