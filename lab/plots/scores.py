"""Scores of runs that were trained elsewhere: a mark a run, the mean of each group and its interval."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lab.estimates import power
from lab.plots import go
from lab.plots.lines import points, whiskers
from lab.plots.page import Plot
from lab.plots.panels import LEFT, grid
from lab.plots.style import faded, inks_against
from lab.statistics import INTERVAL, over_seeds

HEIGHT = 260  # px


def draw_scores(scores: pd.DataFrame, metric: str) -> go.Figure:
    """Draw scores side by side, the first function in grey. scores: function, seed, value (NaN: left out)."""
    figure = grid([""], columns=1, height=HEIGHT, top=16, left=LEFT)
    factor = power(scores["value"])
    stats = over_seeds(scores.assign(value=factor * scores["value"]), "function", "value")
    for name, ink in inks_against(list(dict.fromkeys(scores["function"]))).items():
        rows = scores[scores["function"] == name]
        hover = "seed %{customdata}: %{y:.4g}<extra></extra>"
        plain: dict[str, Any] = {"showlegend": False, "legendgroup": name}
        points(
            figure,
            [name] * len(rows),
            rows["value"],
            faded(ink, 0.45),
            name=f"{name}, runs",
            customdata=rows["seed"].astype(str),
            hovertemplate=hover,
            **plain,
        )
        if name in stats.index:
            mean, half = stats.loc[name, ["mean", "half"]] / factor
            error = whiskers([half], width=8, thickness=2) | {"color": ink}
            points(figure, [name], [mean], ink, size=11, name=f"{name}, mean", error_y=error, **plain)
    figure.update_xaxes(type="category", title_text="runs, mean, interval", ticks="")
    figure.update_yaxes(title_text=metric)
    figure.layout.meta = {"interval": INTERVAL}
    return Plot(figure)
