"""Figures 5 and 11 of the transformers paper: matrices of differences to the baseline, drawn one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lab.papers.transformers.compatibility.matrix import PAPER, PAPER_SOURCE, best, clear, compare, delta, square
from lab.plots import make_subplots
from lab.plots.caption import counted, set_reading, signed
from lab.plots.panels import above, colour_bar
from lab.plots.style import CELL_INK, DELTA_RANGE, DIVERGING, GREY, SIZE, TEMPLATE, cell_ink
from lab.statistics import INTERVAL
from lab.tasks.named import learned, task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    from lab.plots import go

CORRELATION = "Correlation with the paper: in brackets a 95 % bootstrap interval over rows and columns."
TITLE, LABELS, BELOW = (
    30,
    56,
    84,
)  # px: title above a matrix, task names below it; axis name and colour bar below the last
LINE, TWO_LINES = 25, 36  # px: height of a row with one or two lines of text
SMALL = SIZE - 2
DARK = 0.85 * DELTA_RANGE  # from here on cells are so dark that their numbers are white
UNLEARNED, MARK = "#E9E9E9", " †"  # behind a column, and at the name of its task


@dataclass(frozen=True)
class Matrix:
    """One heat map: its title and its cells (columns of `delta`; `low`, `high` NaN where there is no interval).

    unlearned: tasks that no model has learned, whose columns are grey and have no best.
    """

    title: str
    cells: pd.DataFrame
    unlearned: frozenset[str] = frozenset()

    @property
    def row_height(self) -> int:
        """Height of a row in px."""
        return LINE if self.cells["low"].isna().all() else TWO_LINES


def fig5(table: pd.DataFrame) -> go.Figure:
    """Our matrix above the paper's. table: architecture, task, seed, accuracy (and part, of one value)."""
    cells, dead = delta(table), unlearned(table)
    seeds = counted(int((cells["seeds"] + cells["lost"]).max()), "seed")
    paper = Matrix("Paper, Figure 5 (mean of 6 seeds)", published(cells))
    figure = heatmaps([Matrix(f"Ours (mean of {seeds})", cells, dead), paper])
    comparison = compare(cells)
    if not np.isnan(comparison.spearman):
        above(figure, f"Spearman {comparison.rank_correlation}", 2, 1, side="right", size=SIZE - 1)
    set_reading(figure, *_key(cells, dead), f"Paper: {PAPER_SOURCE}.", CORRELATION)
    return figure


def fig11(table: pd.DataFrame) -> go.Figure:
    """One matrix for each part that was optimized. table: part, architecture, task, seed, accuracy."""
    parts = {part: delta(table[table["part"] == part]) for part in table["part"].unique()}
    dead = unlearned(table)
    figure = heatmaps([Matrix(f"Optimized: {part}. {_means(cells)}", cells, dead) for part, cells in parts.items()])
    everything = pd.concat(parts.values(), ignore_index=True)
    means = "Means in the titles: over cells, architecture and task the same or not."
    set_reading(figure, *_key(everything, dead), means, CORRELATION)
    return figure


def unlearned(table: pd.DataFrame) -> frozenset[str]:
    """Tasks on which no architecture, in the mean over its seeds, does better than a trivial answer."""
    best_of = table.groupby(["task", "architecture"])["accuracy"].mean().groupby("task").max()
    return frozenset(task for task, best_one in best_of.items() if not learned(task, best_one))


def published(cells: pd.DataFrame) -> pd.DataFrame:
    """The paper's numbers for these cells, in the form of `delta`'s result."""
    pairs = cells[["architecture", "task"]].copy()
    known = [PAPER.loc[a, t] if a in PAPER.index and t in PAPER else np.nan for a, t in pairs.itertuples(index=False)]
    return pairs.assign(delta=known, error=np.nan, low=np.nan, high=np.nan, seeds=6, lost=0)


def heatmaps(matrices: Sequence[Matrix]) -> go.Figure:
    """Matrices of differences below each other, on one colour scale."""
    figure = _stack(matrices)
    for number, matrix in enumerate(matrices, 1):
        _draw(figure, matrix, number)
        above(figure, f"<b>{matrix.title}</b>", number, 1, size=SIZE + 1)
    figure.update_yaxes(title_text="architecture optimized for")
    figure.update_xaxes(title_text="trained and tested on", row=len(matrices))
    inner = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    ends = f"{DELTA_RANGE:.0f}"
    title = "Δ test accuracy, optimized − baseline (percentage points)"
    ticks = [-DELTA_RANGE, -DELTA_RANGE / 2, 0, DELTA_RANGE / 2, DELTA_RANGE]
    words = [f"≤ −{ends}", f"−{DELTA_RANGE / 2:.0f}", "0", f"+{DELTA_RANGE / 2:.0f}", f"≥ +{ends}"]
    bar = colour_bar(title, -(LABELS + 24) / inner, ticks) | {"ticktext": words}
    figure.update_layout(
        coloraxis={"colorscale": DIVERGING, "cmin": -DELTA_RANGE, "cmax": DELTA_RANGE, "colorbar": bar}
    )
    return figure


def _stack(matrices: Sequence[Matrix]) -> go.Figure:
    heights = [matrix.row_height * matrix.cells["architecture"].nunique() for matrix in matrices]
    inner = sum(heights) + (len(heights) - 1) * (TITLE + LABELS)
    spacing = (TITLE + LABELS) / inner if len(heights) > 1 else 0
    figure = make_subplots(len(heights), 1, row_heights=heights, vertical_spacing=spacing)
    margin = {"l": 104, "r": 24, "t": TITLE, "b": LABELS + BELOW}
    figure.update_layout(template=TEMPLATE, height=inner + margin["t"] + margin["b"], margin=margin)
    return figure


def _draw(figure: go.Figure, matrix: Matrix, row: int) -> None:
    cells = matrix.cells.assign(half=(matrix.cells["high"] - matrix.cells["low"]) / 2, clear=clear(matrix.cells))
    values, halves = square(cells), square(cells, "half")
    dead = [task for task in values if task in matrix.unlearned]
    x, y = [task_title(t) for t in values.columns], [task_title(a) for a in values.index]
    keys = [[[a, t, _interval(halves.loc[a, t])] for t in values.columns] for a in values.index]
    figure.add_heatmap(
        x=x,
        y=y,
        z=values.assign(**dict.fromkeys(dead, np.nan)).to_numpy(),
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        hoverongaps=False,
        name=matrix.title,
        customdata=keys,
        row=row,
        col=1,
        hovertemplate="optimized for %{y}, trained on %{x}: %{z:+.2f}%{customdata[2]} points<extra></extra>",
    )
    _write(figure, cells, row, dead)
    for task in dead:
        column = values.columns.get_loc(task)
        figure.add_shape(
            type="rect",
            x0=column - 0.5,
            x1=column + 0.5,
            y0=-0.5,
            y1=len(values) - 0.5,
            layer="below",
            fillcolor=UNLEARNED,
            line={"width": 0},
            row=row,
            col=1,
        )
    for architecture, task in sorted(best(values.drop(columns=dead))):  # a set: in an order that stays
        column, line = values.columns.get_loc(task), values.index.get_loc(architecture)
        figure.add_shape(
            type="rect",
            x0=column - 0.48,
            x1=column + 0.48,
            y0=line - 0.46,
            y1=line + 0.46,
            line={"color": CELL_INK, "width": 2},
            row=row,
            col=1,
        )
    plain = {"showgrid": False, "showline": False, "ticks": ""}
    figure.update_xaxes(tickangle=-30, categoryorder="array", categoryarray=x, row=row, col=1, **plain)
    if dead:
        marked = [f"{name}{MARK}" if task in dead else name for name, task in zip(x, values.columns, strict=True)]
        figure.update_xaxes(tickvals=x, ticktext=marked, row=row, col=1)
    figure.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=y, row=row, col=1, **plain)


def _write(figure: go.Figure, cells: pd.DataFrame, row: int, dead: Sequence[str]) -> None:
    """The numbers in the cells. Not the heat map's own text, which lays the lines of a cell on top of each other."""
    spread = cells["half"].notna()
    lines = [
        ([_number(d, h, c) for d, h, c in zip(cells["delta"], cells["half"], cells["clear"], strict=True)], cells, SIZE)
    ]
    if spread.any():
        lines.append(([_spread(half) for half in cells.loc[spread, "half"]], cells[spread], SMALL))
    grey = set(dead)
    for (text, rows, size), side in zip(lines, ("top", "bottom") if spread.any() else ("middle",), strict=True):
        figure.add_scatter(
            x=[task_title(t) for t in rows["task"]],
            y=[task_title(a) for a in rows["architecture"]],
            mode="text",
            text=text,
            textposition=f"{side} center",
            hoverinfo="skip",
            showlegend=False,
            row=row,
            col=1,
            textfont={"size": size, "color": [_ink(row.delta, row.task in grey) for row in rows.itertuples()]},
        )


def _number(value: float, half: float, clear: bool) -> str:
    """A difference, bold where it is clear of noise; whole numbers where the source prints whole numbers.

    >>> _number(-12.34, 0.5, True)
    '<b>−12</b>'
    """
    if np.isnan(value):
        return "–"
    published = np.isnan(half) and value == round(value)
    text = f"{value + 0.0:+.0f}" if published else f"{value:+{_places(value)}}"
    text = text.replace("-0.0", "+0.0").replace("-", "−")
    return f"<b>{text}</b>" if clear and not np.isnan(half) else text


def _ink(value: float, grey: bool) -> str:
    return GREY if grey else cell_ink(value, abs(value) > DARK)


def _spread(half: float) -> str:
    """Half an interval; none that is wider than the scale of differences.

    >>> _spread(3.21), _spread(404.0)
    ('± 3.2', '± > 40')
    """
    return f"± > {DELTA_RANGE:.0f}" if half > DELTA_RANGE else f"± {half:{_places(half)}}"


def _places(value: float) -> str:
    return ".0f" if abs(value) >= 9.95 else ".1f"


def _interval(half: float) -> str:
    return "" if np.isnan(half) else f" ± {half:.2f}"


def _key(cells: pd.DataFrame, dead: frozenset[str]) -> list[str]:
    divergences, runs = int(cells["lost"].sum()), int((cells["seeds"] + cells["lost"]).sum())
    return [
        "Framed: best of the column.",
        "Grey †: no model here does better than a trivial answer, so that differences are noise." if dead else "",
        f"±: {INTERVAL}, of differences between runs of the same seed; bold: it leaves 0 out."
        if cells["low"].notna().any()
        else "One seed only: no interval.",
        f"Diverged: {divergences} of {runs} pairs of runs, left out of the means." if divergences else "",
    ]


def _means(cells: pd.DataFrame) -> str:
    same = cells["architecture"] == cells["task"]
    on, off = cells.loc[same, "delta"].mean(), cells.loc[~same, "delta"].mean()
    return f"Mean Δ {signed(on)} on the diagonal, {signed(off)} off it"
