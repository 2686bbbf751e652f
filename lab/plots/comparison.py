"""Rows of numbers: ours beside what a paper prints, with the spread of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.caption import true_minus
from lab.plots.panels import grid, place, points, whiskers
from lab.plots.style import BLUE, INK, SIZE

NUMBERS = 92  # px right of a panel: what its marks stand for, in digits
HALF = 0.19  # of a row: ours is so much above its middle, the paper's as much below


def rows(
    panels: Sequence[tuple[str, pd.DataFrame]],
    ends: Sequence[tuple[float, float]],
    height: int = 36,
    left: int = 158,
    top: int = 78,
) -> go.Figure:
    """One panel per table, one row per name; all panels have the same names.

    panels: title and table each; table: name, mean, error (half the whisker, NaN: none), paper, paper_error (NaN where
    nothing is printed). ends: of each panel's axis.
    """
    names = list(panels[0][1]["name"])
    figure = grid(
        [title for title, _ in panels], len(panels), height * len(names), top=top, left=left, horizontal=NUMBERS + 8
    )
    figure.update_layout(margin={"r": NUMBERS})
    for number, (_, table) in enumerate(panels):
        at = place(number, len(panels))
        shown = table.set_index("name").reindex(names)
        for label, value, error, ink, symbol, shift in (
            ("here", "mean", "error", BLUE, "circle", -HALF),
            ("printed in the paper", "paper", "paper_error", INK, "diamond-open", HALF),
        ):
            y = np.arange(len(names)) + shift
            look: dict[str, Any] = {"name": label, "legendgroup": label, "showlegend": not number, "customdata": names}
            look["hovertemplate"] = f"%{{customdata}}, {label}: %{{x:.1f}} ± %{{error_x.array:.1f}} %"
            points(figure, shown[value], y, ink, at, 8, symbol, error_x=whiskers(shown[error], 3), **look)
            for place_, mean, half in zip(y, shown[value], shown[error], strict=True):
                _write(figure, at, float(place_), digits(mean, half), ink)
        figure.update_xaxes(range=ends[number], row=at[0], col=at[1])
        ticks = {"tickvals": list(range(len(names))), "ticktext": names, "showticklabels": not number, "ticks": ""}
        figure.update_yaxes(range=(len(names) - 0.5, -0.5), showgrid=False, row=at[0], col=at[1], **ticks)
        for line in range(1, len(names)):
            figure.add_hline(line - 0.5, line={"color": "#E4E4E4", "width": 1}, row=at[0], col=at[1])
    return figure


def _write(figure: go.Figure, at: tuple[int, int], y: float, text: str, ink: str) -> None:
    """Digits in the margin right of a panel."""
    panel = figure.get_subplot(*at)
    place = {"xref": "paper", "x": panel.xaxis.domain[1], "xanchor": "left", "xshift": 4, "y": y}
    place["yref"] = panel.yaxis.plotly_name.replace("axis", "")
    figure.add_annotation(text=text, showarrow=False, font={"size": SIZE - 1, "color": ink}, **place)


def digits(mean: float, error: float) -> str:
    """A number and its spread, as many places as one reads.

    >>> digits(63.28, 2.31), digits(5.0, float("nan")), digits(float("nan"), 1.0), digits(-512.3, 60.7)
    ('63.3 ± 2.3', '5.0', '–', '−512 ± 61')
    """
    places = 1 if abs(mean) < 100 else 0
    if mean != mean:
        return "–"
    return true_minus(f"{mean:.{places}f}" if error != error else f"{mean:.{places}f} ± {error:.{places}f}")
