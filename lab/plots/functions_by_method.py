"""Lines of functions in a panel, one a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plots.style import colour, method_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go


def draw(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], legend: bool = False) -> None:
    """rows: method, x, value. at: row and column of the panel. legend: whether these lines stand for their methods."""
    for method, curve in rows.groupby("method", sort=False):
        figure.add_scatter(
            x=curve["x"],
            y=curve["value"],
            mode="lines",
            line={"color": colour(str(method)), "width": 2},
            name=method_title(str(method)),
            legendgroup=str(method),
            showlegend=legend,
            hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
            row=at[0],
            col=at[1],
        )
