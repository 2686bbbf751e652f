"""The language half of Figure 12, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.transformers.language.measures import accuracy_gains, by_size, spread
from lab.papers.transformers.settings import BASELINE
from lab.plots.caption import set_reading
from lab.plots.functions import by_method
from lab.plots.panels import grid
from lab.plots.style import GREY, METHOD_SYMBOLS, colour
from lab.statistics import LEVEL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go


def symmetry(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row a size: the function and its symmetrized version; what models gain with either.

    table: method, layers, width, seed, accuracy, diverged. functions: method, layers, width, x, value.
    """
    sizes = by_size(table)
    figure = grid([title for size, _ in sizes for title in (f"layers × width {size}", "")], 2, 140, gap=54, top=62)
    for row, (size, rows) in enumerate(sizes, 1):
        layers, width = map(int, size.split("×"))
        drawn = functions[(functions["layers"] == layers) & (functions["width"] == width)]
        by_method(figure, drawn, (row, 1), legend=row == 1)
        for place, (method, gain) in enumerate(accuracy_gains(rows, "method", BASELINE).items()):
            low, high = gain.interval(LEVEL)
            figure.add_scatter(
                x=[gain.effect],
                y=[place],
                error_x={"array": [(high - low) / 2], "thickness": 1.2, "width": 3},
                mode="markers",
                marker={"color": colour(method), "symbol": METHOD_SYMBOLS[method], "size": 9},
                name=method,
                legendgroup=method,
                showlegend=False,
                hovertemplate="%{x:+.2f} ± %{error_x.array:.2f} points",
                row=row,
                col=2,
            )
        figure.add_vline(x=0, line={"color": GREY, "width": 1.2}, row=row, col=2)
        figure.update_yaxes(title_text="φ(x)", row=row, col=1)
        figure.update_yaxes(range=(-0.7, 1.7), showticklabels=False, ticks="", row=row, col=2)
    figure.update_xaxes(title_text="input x", row=len(sizes), col=1)
    figure.update_xaxes(title_text="accuracy minus baseline (% points)", row=len(sizes), col=2)
    set_reading(figure, f"Left: where the learned function is not zero. {spread(table)}")
    return figure
