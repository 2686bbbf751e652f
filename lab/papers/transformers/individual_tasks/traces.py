"""What the plots of Figures 2, 3, 4 and 10 are made of: curves of runs, trivial answers, notes on diverged runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.plots.panels import above
from lab.plots.style import BLACK, GREY, METHOD_COLOURS, SIZE, colour, faded
from lab.statistics import diverged
from lab.tasks.named import learned, task_title, trivial

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go


def draw_runs(figure: go.Figure, rows: pd.DataFrame, method: str, at: tuple[int, int], legend: bool) -> None:
    """One thin curve a seed, dotted where the run diverged; the mean of those that have a value at a step on top."""
    rows = rows.assign(search=rows["search"] if "search" in rows else 0)
    runs = rows.pivot(index="step", columns=["search", "seed"], values="accuracy").sort_index(axis=1)
    ink = colour(method)
    diverged_rows = rows[rows["diverged"].astype(bool)] if "diverged" in rows else rows[:0]
    dotted = set(zip(diverged_rows["search"], diverged_rows["seed"], strict=True))
    several = rows["search"].nunique() > 1
    for search, seed in runs:
        figure.add_scatter(
            x=runs.index,
            y=100 * runs[search, seed],
            mode="lines",
            name=f"{method}, search {search}, seed {seed}" if several else f"{method}, seed {seed}",
            legendgroup=method,
            line={"color": faded(ink, 0.4), "width": 1, "dash": "dot" if (search, seed) in dotted else "solid"},
            showlegend=False,
            hovertemplate="step %{x}: %{y:.1f} %",
            row=at[0],
            col=at[1],
        )
    mean = 100 * runs.mean(axis=1)
    figure.add_scatter(
        x=mean.index,
        y=mean,
        mode="lines",
        name=method,
        legendgroup=method,
        showlegend=legend,
        line={"color": ink, "width": 2.6},
        hovertemplate="step %{x}: %{y:.1f} % (mean)",
        row=at[0],
        col=at[1],
    )


def draw_floor(figure: go.Figure, rows: pd.DataFrame, by: str, at: tuple[int, int], note: bool = True) -> None:
    """The trivial answer's accuracy over a panel; note: say so where no method, in the mean, is better at the end."""
    task = rows["task"].iloc[0]
    if not np.isfinite(trivial(task)):
        return
    figure.add_scatter(
        x=[rows[by].min(), rows[by].max()],
        y=[100 * trivial(task)] * 2,
        mode="lines",
        name="trivial answer",
        showlegend=False,
        line={"color": BLACK, "width": 1, "dash": "dash"},
        hovertemplate="best trivial answer: %{y:.1f} %",
        row=at[0],
        col=at[1],
    )
    if note and not learned(task, rows.groupby([by, "method"])["accuracy"].mean().max()):
        write_in(figure, "not learned: no better<br>than a trivial answer", at)


def write_in(figure: go.Figure, text: str, at: tuple[int, int]) -> None:
    """Why a panel shows nothing, in its upper half."""
    panel = figure.get_subplot(*at)
    figure.add_annotation(
        text=text,
        font={"size": SIZE - 2, "color": GREY},
        xref=f"{panel.xaxis.plotly_name.replace('axis', '')} domain",
        yref=f"{panel.yaxis.plotly_name.replace('axis', '')} domain",
        x=0.5,
        y=0.7,
        showarrow=False,
    )


def draw_reference(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int]) -> None:
    """The baseline's mean, dotted."""
    mean = 100 * rows.groupby("step")["accuracy"].mean()
    figure.add_scatter(
        x=mean.index,
        y=mean,
        mode="lines",
        name="baseline, mean again",
        showlegend=False,
        hoverinfo="skip",
        line={"color": METHOD_COLOURS["baseline"], "width": 1.4, "dash": "dot"},
        row=at[0],
        col=at[1],
    )


def mark_diverged(figure: go.Figure, rows: pd.DataFrame, task: str, at: tuple[int, int]) -> list[str]:
    """Write above a panel how many of its runs diverged, and give the same as phrases."""
    counts = [(method, *diverged(part)) for method, part in rows.groupby("method", sort=False)]
    counts = [(method, count, runs) for method, count, runs in counts if count]
    if counts:
        words = ", ".join(
            f'<span style="color:{colour(method)}">{count} of {runs}</span>' for method, count, runs in counts
        )
        above(figure, f"diverged: {words}", *at, side="right", size=SIZE - 2)
    return [f"{task_title(task)}, {method}: {count} of {runs}" for method, count, runs in counts]


def diverged_runs(table: pd.DataFrame) -> list[str]:
    """The phrases of `mark_diverged`, for a table without panels of curves."""
    by = [name for name in ("task", "method", "width") if name in table]
    phrases = []
    for names, rows in table.groupby(by, sort=False):
        count, runs = diverged(rows)
        if count:
            words = [
                f"width {name}" if label == "width" else task_title(name) for label, name in zip(by, names, strict=True)
            ]
            phrases.append(f"{', '.join(words)}: {count} of {runs}")
    return phrases


def divergence_note(divergences: list[str]) -> str:
    """The phrases of `mark_diverged` or `diverged_runs` as a sentence; nothing where no run diverged."""
    return f"Diverged runs (left out of means from there on): {'; '.join(divergences)}." if divergences else ""
