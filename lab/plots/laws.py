"""The laws of a non-linearity: a line each, with whether it holds and what was measured."""

from __future__ import annotations

import textwrap

import pandas as pd

from lab.plots import go
from lab.plots.page import Plot
from lab.plots.style import BLUE, GREY, SIZE, TEMPLATE, VERMILLION

ROW = 22  # px
LETTERS = 70  # of a detail
LOOKS = {"holds": (BLUE, "circle"), "does not hold": (VERMILLION, "x"), "does not apply": (GREY, "circle-open")}


def draw_laws(table: pd.DataFrame) -> go.Figure:
    """Draw a mark a law, the first on top. table: law, reason, passed (missing: does not apply), detail."""
    verdicts = table["passed"].map({True: "holds", False: "does not hold"}).astype(object).fillna("does not apply")
    figure = go.Figure()
    for verdict, (ink, symbol) in LOOKS.items():
        rows = table[verdicts == verdict]
        details = [textwrap.shorten(detail, LETTERS, placeholder=" …") for detail in rows["detail"]]
        figure.add_scatter(
            x=[0] * len(rows),
            y=rows["law"],
            name=f"{verdict}: {len(rows)}",
            mode="markers+text",
            marker={"color": ink, "symbol": symbol, "size": 10},
            text=[f"  {detail}" for detail in details],
            textposition="middle right",
            textfont={"size": SIZE - 1},
            customdata=rows["reason"],
            hovertemplate="%{y}: %{customdata}<extra></extra>",
        )
    figure.update_layout(
        template=TEMPLATE,
        height=60 + ROW * len(table),
        margin={"l": 200, "r": 16, "t": 44, "b": 16},
        legend={"orientation": "h", "xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"visible": False, "range": (-0.03, 1)},
        yaxis={"type": "category", "categoryarray": list(table["law"])[::-1], "ticks": "", "showgrid": False},
    )
    return Plot(figure)
