"""Matrices of differences from a baseline: colours where seeds tell, grey where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lab.papers.compatibility import FAINT, NO_MODEL_LEARNS, best, clear
from lab.plots import go, make_subplots
from lab.plots.panels import Panel, above, colour_bar
from lab.plots.style import DELTA_RANGE, DIVERGING, GREY, SIZE, TEMPLATE, cell_ink
from lab.tasks.named import task_title

TITLE, LABELS = 30, 56  # px: title above a matrix, task names below it
BELOW = 84  # px: axis name and colour bar below the last
LINE, TWO_LINES = 25, 32  # px: height of a row with one or two lines of text
SMALL = SIZE - 2  # px: numbers that are not clear, and the ± of all
MARK = " †"  # at the name of a task that no model has learned
UNCLEAR = "#F6F6F6"  # behind numbers whose interval includes 0
COLOURED = "Coloured: the interval leaves 0 out; pale, small: it does not."
FRAMED = "Framed: the best of its column, clearly so or not."
KEY = f"{COLOURED} {FRAMED}"
LONG = 8  # letters of a column's name, from which names of many columns are slanted


class Matrix(NamedTuple):
    """One heat map: its title and its cells (columns of `delta`; `low`, `high` NaN where there is no interval).

    unlearned: tasks that no model has learned, whose columns are grey and have no best. framed: whether the best of a
    column has a frame.
    """

    title: str
    cells: pd.DataFrame
    unlearned: frozenset[str] = frozenset()
    framed: bool = True


class Scale(NamedTuple):
    """What the numbers are, where their colours end, whether lower ones are better, and blue, and what hover texts say
    before the name of a column."""

    title: str
    end: float
    unit: str
    falling: bool = False
    column: str = "trained on"


POINTS = Scale("Δ test accuracy, optimized − baseline (percentage points)", DELTA_RANGE, "points")


def heatmaps(
    matrices: Sequence[Matrix],
    scale: Scale = POINTS,
    names: tuple[str, str] = ("architecture optimized for", "trained and tested on"),
    left: int = 104,
) -> go.Figure:
    """Matrices of differences below each other, on one colour scale. names: of rows and of columns. left: px for the
    names of rows."""
    rows = [(one.cells["architecture"].nunique(), one.cells["low"].notna().any()) for one in matrices]
    heights = [count * (TWO_LINES if spread else LINE) for count, spread in rows]
    inner = sum(heights) + (len(heights) - 1) * (TITLE + LABELS)
    spacing = (TITLE + LABELS) / inner if len(heights) > 1 else 0
    figure = make_subplots(len(heights), 1, row_heights=heights, vertical_spacing=spacing)
    margin = {"l": left, "r": 24, "t": TITLE, "b": LABELS + BELOW}
    for row, one in enumerate(matrices, 1):
        draw(figure, one, (row, 1), scale)
        if one.title:
            above(figure, f"<b>{one.title}</b>", row, 1, size=SIZE + 1)
        figure.update_yaxes(title_text=names[0], row=row)
    figure.update_xaxes(title_text=names[1], row=len(heights))
    ends, half = f"{scale.end:.0f}", f"{scale.end / 2:.0f}"
    bar = colour_bar(scale.title, -(LABELS + 24) / inner, scale.end * np.linspace(-1, 1, 5))
    bar |= {"ticktext": [f"≤ −{ends}", f"−{half}", "0", f"+{half}", f"≥ +{ends}"]}
    colours = {"colorscale": DIVERGING, "cmin": -scale.end, "cmax": scale.end, "colorbar": bar}
    colours["reversescale"] = scale.falling
    height = inner + margin["t"] + margin["b"]
    return figure.update_layout(template=TEMPLATE, height=height, margin=margin, coloraxis=colours)


def draw(figure: go.Figure, matrix: Matrix, panel: Panel, scale: Scale = POINTS) -> None:
    """Draw a matrix in a panel, on the figure's colour axis."""
    at: dict[str, Any] = {"row": panel[0], "col": panel[1]}
    cells = matrix.cells.assign(half=(matrix.cells["high"] - matrix.cells["low"]) / 2)
    cells["kind"] = np.where(clear(cells) | cells["low"].isna(), "clear", "unclear")
    cells.loc[cells["task"].isin(matrix.unlearned), "kind"] = "unlearned"
    columns, lines = list(cells["task"].unique()), list(cells["architecture"].unique())

    def square(name: str) -> pd.DataFrame:
        return cells.pivot(index="architecture", columns="task", values=name).loc[lines, columns]

    values, halves, kinds = square("delta"), square("half"), square("kind")
    x, y = [_two_lines(name) for name in columns], [task_title(name) for name in lines]
    grounds = {"clear": {"coloraxis": "coloraxis"}, "unclear": _flat(UNCLEAR), "unlearned": _flat(NO_MODEL_LEARNS)}
    look: dict[str, Any] = {"name": matrix.title, "xgap": 1, "ygap": 1, "hoverongaps": False}
    look |= {"customdata": [[[a, t, _interval(halves.loc[a, t])] for t in columns] for a in lines]}
    hover = f"%{{y}}, {scale.column} %{{x}}: %{{z:+.2f}}%{{customdata[2]}} {scale.unit}"
    look["hovertemplate"] = f"{hover}<extra></extra>"
    for kind, ground in grounds.items():
        if kind == "clear" or (kinds == kind).any(axis=None):
            figure.add_heatmap(x=x, y=y, z=values.where(kinds == kind).to_numpy(), **ground, **look, **at)
    _write(figure, cells, panel, scale)
    learned = values.drop(columns=[task for task in columns if task in matrix.unlearned])
    frames = best(-learned if scale.falling else learned) if matrix.framed else set()
    for architecture, task in sorted(frames):  # a set: in an order that stays
        column, line = columns.index(task), lines.index(architecture)
        box = {"x0": column - 0.48, "x1": column + 0.48, "y0": line - 0.46, "y1": line + 0.46}
        figure.add_shape(type="rect", **box, line={"color": GREY, "width": 1.5}, **at)
    plain = {"showgrid": False, "showline": False, "ticks": "", "categoryorder": "array"} | at
    marked = [f"{name}{MARK * (task in matrix.unlearned)}" for name, task in zip(x, columns, strict=True)]
    slant = -30 if len(columns) > 5 and max(map(len, x)) > LONG else 0
    figure.update_xaxes(tickangle=slant, categoryarray=x, tickvals=x, ticktext=marked, **plain)
    figure.update_yaxes(autorange="reversed", categoryarray=y, **plain)


def _two_lines(task: str) -> str:
    return task_title(task).replace(", ", "<br>")


def _flat(ink: str) -> dict:
    return {"colorscale": [(0, ink), (1, ink)], "showscale": False}


def _write(figure: go.Figure, cells: pd.DataFrame, panel: Panel, scale: Scale) -> None:
    """The numbers in the cells of tasks that are learned. Not the heat map's own text: it has one size and one ink."""
    for known, rows in cells[cells["kind"] != "unlearned"].groupby(cells["kind"] == "clear"):
        sign = -1 if scale.falling else 1
        shades = [cell_ink(sign * value, -scale.end, scale.end) if known else FAINT for value in rows["delta"]]
        numbers = [_number(v, half, bool(known)) for v, half in zip(rows["delta"], rows["half"], strict=True)]
        spreads = [_spread(half) for half in rows["half"]]
        size = SIZE if known else SMALL
        texts = [(numbers, size, "top" if any(spreads) else "middle"), (spreads, SMALL - (not known), "bottom")]
        x, y = [_two_lines(name) for name in rows["task"]], [task_title(name) for name in rows["architecture"]]
        for text, size, side in texts:
            look: dict[str, Any] = {"mode": "text", "hoverinfo": "skip", "name": "numbers", "showlegend": False}
            look |= {"textfont": {"size": size, "color": shades}, "textposition": f"{side} center"}
            if any(text):
                figure.add_scatter(x=x, y=y, text=text, row=panel[0], col=panel[1], **look)


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


def _spread(half: float) -> str:
    """Half an interval; none that is wider than the scale of differences.

    >>> _spread(3.21), _spread(404.0), _spread(float("nan"))
    ('± 3.2', '± > 40', '')
    """
    if np.isnan(half):
        return ""
    return f"± > {DELTA_RANGE:.0f}" if half > DELTA_RANGE else f"± {half:{_places(half)}}"


def _places(value: float) -> str:
    return ".0f" if abs(value) >= 9.95 else ".1f"


def _interval(half: float) -> str:
    return "" if np.isnan(half) else f" ± {half:.2f}"
