"""Figures 10 and 27 of the simplicity paper: tables of binary operations as images. Nothing is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.papers.entry import Entry, Planned
from lab.papers.origin import counted
from lab.plots.caption import set_reading
from lab.plots.operation_table import GREYS, operation_title
from lab.plots.panels import grid, place
from lab.plots.style import SIZE
from lab.run import Run
from lab.scale import COMMON, SCALES
from lab.tasks import Operation
from lab.tasks.operation import ALL

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

SIX = (
    Operation("a+b", modulus=27),
    Operation("ab", modulus=27),
    Operation("a^2+ab+b^2", modulus=53),
    Operation("a^2+b^2", modulus=27),
    Operation("a^3+ab", modulus=53),
    Operation("ab", group="S4"),
)


def _nothing(scale: str, seeds: int) -> list[Planned]:
    return []


def tables(operations: Sequence[Operation]) -> pd.DataFrame:
    """One row for each operation and pair of operands: task, a, b, result.

    >>> tables([Operation("a+b", modulus=3)])["result"].tolist()
    [0, 1, 2, 1, 2, 0, 2, 0, 1]
    """
    import pandas as pd

    parts = []
    for task in operations:
        a, b = np.indices((task.classes, task.classes))
        result = task.table().numpy().ravel()
        parts.append(pd.DataFrame({"task": task.name, "a": a.ravel(), "b": b.ravel(), "result": result}))
    return pd.concat(parts, ignore_index=True)


def _six(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    return tables(SIX)


def _all(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    return tables(ALL)


def fig10(table: pd.DataFrame) -> go.Figure:
    """Three images in a row. table: task, a, b, result."""
    return _images(table, columns=3, height=165)


def fig27(table: pd.DataFrame) -> go.Figure:
    """Four images in a row. table: task, a, b, result."""
    return _images(table, columns=4, height=112)


def _images(table: pd.DataFrame, columns: int, height: int) -> go.Figure:
    import plotly.graph_objects as go

    tasks = list(table["task"].unique())
    heads = [operation_title(task).replace(" (", "<br></b>(") + "<b>" for task in tasks]  # ring below the form
    figure = grid(heads, columns, height=height, gap=46, top=44, left=34, horizontal=26)
    for number, (_, rows) in enumerate(table.groupby("task", sort=False)):
        values = rows.pivot(index="a", columns="b", values="result").to_numpy(np.int16)
        image = go.Heatmap(
            z=values, colorscale=GREYS, showscale=False, name=tasks[number], hovertemplate="a = %{y}, b = %{x}: %{z}"
        )
        row, column = place(number, columns)
        figure.add_trace(image, row=row, col=column)
        x = figure.get_subplot(row, column).xaxis
        figure.update_yaxes(
            scaleanchor=x.plotly_name.replace("axis", ""),
            constrain="domain",
            constraintoward="top",
            autorange="reversed",
            row=row,
            col=column,
        )
    figure.update_xaxes(constrain="domain", constraintoward="left")
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        axis.update(showticklabels=False, ticks="", showgrid=False, showline=False)
    for number in range(len(tasks)):
        row, column = place(number, columns)
        if column == 1:
            figure.update_yaxes(title={"text": "a", "standoff": 2}, row=row, col=1)
        if number + columns >= len(tasks):
            figure.update_xaxes(title={"text": "b", "standoff": 2}, row=row, col=column)
    figure.update_annotations(font_size=SIZE - 1, align="left")
    set_reading(
        figure,
        "One pixel a pair of operands: a from top to bottom, b from left to right, each from 0. Black:"
        " 0, or the identity; white: the highest result. Permutations are in lexicographic order.",
    )
    return figure


def _sizes(table: pd.DataFrame) -> str:
    pairs = table.groupby("task", sort=False).size()
    return f"{len(pairs)} operations, with {pairs.min():,} to {pairs.max():,} pairs of operands."


def _notes(scale: str) -> list[str]:
    return [
        "the paper's text names nine operations; the others of its 22 are drawn in it, and guessed here (see"
        " lab.tasks.operation)",
        "the paper does not say in which order it draws permutations",
    ]


_SAME: dict[str, Any] = {
    "plan": _nothing,
    "summary": _sizes,
    "seeds": dict.fromkeys(SCALES, 1),
    "minutes": dict.fromkeys(COMMON, 0.1),
    "origin": counted("counted by lab.tasks.operation", name="operation"),
}

ENTRIES = (
    Entry(
        "simplicity/fig10",
        "3.5",
        "Tables of binary operations",
        "Six of the operations on which grokking is studied, as images: the result for every pair of operands a, b",
        "these patterns are very different from the tasks for which typical architectures were developed",
        measure=_six,
        plot=fig10,
        tasks=tuple(task.name for task in SIX),
        notes=lambda scale: _notes(scale)[1:],
        **_SAME,
    ),
    Entry(
        "simplicity/fig27",
        "E.6",
        "Tables of all binary operations",
        "All operations on which grokking is studied, as images: the result for every pair of operands a, b",
        "22 operations, those of Power et al. (2022)",
        measure=_all,
        plot=fig27,
        tasks=tuple(task.name for task in ALL),
        notes=_notes,
        **_SAME,
    ),
)
