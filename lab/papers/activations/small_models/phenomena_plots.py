"""BLiMP by phenomenon: a heat map a family, below the table, a row an activation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.datasets.blimp import PHENOMENA
from lab.papers.activations.small_models.claims import CHANCE
from lab.papers.activations.small_models.settings import FAMILIES, TITLES
from lab.plots.panels import above
from lab.plots.style import DIVERGING, SIZE

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

DOMAINS = ((0.0, 0.48), (0.52, 1.0))  # of the two panels, in widths of the figure
RANGE = 50.0  # points from chance to the end of the colours
NAMES = 150  # px below the panels, for the names of phenomena


def draw(figure: go.Figure, alive: pd.DataFrame, methods: Sequence[str], row: int) -> None:
    """Fill the first two panels of a row of the grid, and make room for the names below it."""
    for column, (family, title) in enumerate(FAMILIES.items(), 1):
        means = alive[alive["family"] == family].groupby("method")[list(PHENOMENA)].mean().reindex(methods)
        names = [name.replace("_", " ") for name in PHENOMENA]
        figure.add_heatmap(
            x=names,
            y=list(range(len(methods))),
            z=means,
            zmid=CHANCE,
            zmin=CHANCE - RANGE,
            zmax=CHANCE + RANGE,
            colorscale=[list(stop) for stop in DIVERGING],
            showscale=False,
            texttemplate="%{z:.0f}",
            textfont={"size": SIZE - 3},
            customdata=[[TITLES[method]] * len(names) for method in methods],
            hovertemplate="%{customdata}, %{x}: %{z:.1f} %<extra></extra>",
            row=row,
            col=column,
        )
        figure.update_xaxes(domain=DOMAINS[column - 1], tickangle=-60, showgrid=False, row=row, col=column)
        figure.update_yaxes(
            range=(len(methods) - 0.5, -0.5),
            tickvals=list(range(len(methods))),
            ticktext=[TITLES[method] for method in methods],
            showticklabels=column == 1,
            showgrid=False,
            ticks="",
            row=row,
            col=column,
        )
        above(figure, f"<b>{title}, BLiMP by phenomenon</b>", row, column)
    figure.update_layout(height=figure.layout.height + NAMES, margin={"b": figure.layout.margin.b + NAMES})
