"""Drawing: a score of each method, one mark a run and the mean with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.plots.style import METHOD_SYMBOLS, colour, faded, method_title
from lab.statistics import half_width

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go


def scores(figure: go.Figure, rows: pd.DataFrame, methods: Sequence[str], value: str, at: tuple[int, int]) -> None:
    """Marks of a panel, in percent. rows: method, seed, `value` (1 is 100 %), diverged: these runs are left out."""
    alive = rows[~rows["diverged"].astype(bool)]
    for rank, method in enumerate(methods):
        values = 100 * alive.loc[alive["method"] == method, value].to_numpy(float)
        if not len(values):
            continue
        figure.add_scatter(
            x=[rank + 0.22] * len(values),
            y=values,
            mode="markers",
            marker={"color": faded(colour(method), 0.4), "size": 5},
            hoverinfo="skip",
            showlegend=False,
            row=at[0],
            col=at[1],
        )
        figure.add_scatter(
            x=[rank],
            y=[values.mean()],
            error_y={"array": [half_width(values)], "thickness": 1.4, "width": 4},
            mode="markers",
            marker={"color": colour(method), "symbol": METHOD_SYMBOLS[method], "size": 10},
            name=method_title(method),
            legendgroup=method,
            showlegend=at == (1, 1),
            hovertemplate="%{y:.1f} ± %{error_y.array:.1f} %",
            row=at[0],
            col=at[1],
        )
    figure.update_xaxes(range=(-0.6, len(methods) - 0.4), showticklabels=False, ticks="", row=at[0], col=at[1])
