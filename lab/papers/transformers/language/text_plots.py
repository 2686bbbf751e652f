"""Figures 8 and 15: perplexity by text and method; loss over training, and what a learned function takes from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.runs import compare_one
from lab.papers.transformers.language.measures import losses_by_method, perplexity_changes, spread
from lab.papers.transformers.settings import BASELINE, MLP
from lab.plots.caption import interval_note, set_reading, signed
from lab.plots.panels import STEP, above, grid, place
from lab.plots.style import GREY, SIZE, colour, faded, methods_of
from lab.statistics import LEVEL, over_seeds
from lab.tasks.named import task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go


def fig8(table: pd.DataFrame) -> go.Figure:
    """One panel a text, one bar a method: training perplexity, and below it its difference from the baseline in %."""
    tasks, columns = list(table["task"].unique()), 2
    figure = grid([task_title(task) for task in tasks], columns, height=150, gap=58, top=88)
    named: set[str] = set()
    for number, task in enumerate(tasks):
        rows, at = table[table["task"] == task], place(number, columns)
        changes = perplexity_changes(rows, "method", BASELINE)
        stats = over_seeds(rows[~rows["diverged"].astype(bool)], "method", "perplexity")
        tops = stats["mean"] + stats["half"].fillna(0)
        for method in methods_of(rows):
            if method not in stats.index:
                continue
            mean, half = stats.loc[method, ["mean", "half"]]
            figure.add_bar(
                x=[method],
                y=[mean],
                error_y={"array": [half], "thickness": 1.2, "width": 3},
                marker={"color": colour(method)},
                name=method,
                legendgroup=method,
                showlegend=method not in named,
                hovertemplate=f"{method}: %{{y:.3f}} ± %{{error_y.array:.3f}}",
                row=at[0],
                col=at[1],
            )
            named.add(method)
        shown = [method for method in methods_of(rows) if method in stats.index]
        # the baseline's alone has "%": six of them have to stand side by side in half of a narrow page
        numbers = {BASELINE: "0 %"} | {method: signed(change.effect) for method, change in changes.items()}
        texts = [numbers.get(method, "") for method in shown]
        figure.update_yaxes(range=(0, 1.06 * float(tops.max())), row=at[0], col=at[1])
        below = {"tickvals": shown, "ticktext": texts, "ticks": "", "tickangle": 0, "tickfont": {"size": SIZE - 2}}
        figure.update_xaxes(**below, row=at[0], col=at[1])
        if at[1] == 1:
            figure.update_yaxes(title_text="training perplexity", row=at[0], col=at[1])
    set_reading(
        figure,
        "Lower is better. Numbers: difference from the baseline, in percent.",
        interval_note(table, "Whiskers"),
    )
    return figure


def fig15(table: pd.DataFrame) -> go.Figure:
    """One row a text. Left: loss on held-out text over training, by method; right: the baseline's minus the other's."""
    tasks = list(table["task"].unique())
    titles = [title for task in tasks for title in (task_title(task), "")]
    figure = grid(titles, 2, height=130, gap=46, top=60, horizontal=66)
    for row, task in enumerate(tasks, 1):
        rows = table[table["task"] == task]
        for method in methods_of(rows):
            _draw_loss(figure, rows[rows["method"] == method], method, row, legend=row == 1)
        _draw_gain(figure, losses_by_method(rows), row)
        figure.update_yaxes(title_text="loss (nats a token)", row=row, col=1)
        figure.update_yaxes(title_text="gain (nats)", row=row, col=2)
        if row == 1:
            above(figure, "baseline − learned", row, 2)
    figure.update_xaxes(title_text=STEP, row=len(tasks))
    set_reading(
        figure,
        "Left: held-out text; thin: one run a seed, thick: mean. Right: how much lower the loss is with the learned"
        " function.",
        spread(table, "Band"),
    )
    return figure


def _draw_loss(figure: go.Figure, rows: pd.DataFrame, method: str, row: int, legend: bool) -> None:
    runs = rows.pivot(index="step", columns="seed", values="loss")
    mark = {"mode": "lines", "legendgroup": method, "row": row, "col": 1}
    for seed in runs:
        line = {"color": faded(colour(method), 0.35), "width": 1}
        figure.add_scatter(
            x=runs.index,
            y=runs[seed],
            name=f"{method}, seed {seed}",
            line=line,
            showlegend=False,
            hoverinfo="skip",
            **mark,
        )
    mean = runs.mean(axis=1)
    figure.add_scatter(
        x=mean.index,
        y=mean,
        name=method,
        line={"color": colour(method), "width": 2.4},
        showlegend=legend,
        hovertemplate="step %{x}: %{y:.3f} nats",
        **mark,
    )


def _draw_gain(figure: go.Figure, losses: dict[str, pd.DataFrame], row: int) -> None:
    if not {BASELINE, MLP} <= set(losses):
        return
    x, ink = losses[BASELINE].index.to_numpy(), colour(MLP)
    gains = [compare_one({kind: losses[kind].loc[step] for kind in (BASELINE, MLP)}, BASELINE, MLP) for step in x]
    ends = np.array([one.interval(LEVEL) for one in gains])
    mark = {"mode": "lines", "showlegend": False, "row": row, "col": 2}
    if np.isfinite(ends).any():
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([ends[:, 1], ends[::-1, 0]]),
            fill="toself",
            fillcolor=faded(ink, 0.18),
            line={"width": 0},
            hoverinfo="skip",
            name="interval",
            **mark,
        )
    figure.add_scatter(
        x=x,
        y=[one.effect for one in gains],
        line={"color": ink, "width": 2.2},
        name="gain",
        hovertemplate="step %{x}: %{y:.3f}",
        **mark,
    )
    figure.add_hline(y=0, line={"color": GREY, "width": 1.2}, row=row, col=2)
