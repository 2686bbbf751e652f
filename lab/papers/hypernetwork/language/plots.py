"""Figure 6 of the hypernetwork paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plots.caption import interval_note, set_reading
from lab.plots.lines import band
from lab.plots.panels import grid, name_axes, place
from lab.plots.style import colour, method_title, methods_of
from lab.statistics import over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

LATE = 0.4  # of the training: where the second panel begins


def fig6(table: pd.DataFrame) -> go.Figure:
    """Loss against step, one line a method: the whole training, and its later part.

    table: method, seed, step, loss (nats a token), diverged.
    """
    last = table["step"].max()
    parts = [("whole training", table), ("later part", table[table["step"] >= LATE * last])]
    figure = grid([title for title, _ in parts], len(parts), 270, top=62, horizontal=50)
    for number, (_, rows) in enumerate(parts):
        at = place(number, len(parts))
        for method in methods_of(rows):
            stats = over_seeds(rows[rows["method"] == method], "step", "loss")
            band(figure, stats, colour(method), method, at)
            figure.add_scatter(
                x=stats.index,
                y=stats["mean"],
                mode="lines",
                name=method_title(method),
                legendgroup=method,
                showlegend=number == 0,
                line={"color": colour(method), "width": 2.5},
                hovertemplate="step %{x}: %{y:.3f} nats",
                row=at[0],
                col=at[1],
            )
    name_axes(figure, len(parts), len(parts), "training step", "loss on held-out text (nats a token)")
    set_reading(figure, f"Lines: mean over seeds. {interval_note(table, 'Bands')}")
    return figure
