"""Learning curves of runs that differ in their seed: each of them, and their mean with its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lab.data.measures import NAMES
from lab.plots import go
from lab.plots.panels import LEFT, STEP, grid
from lab.plots.style import BLUE, faded
from lab.statistics import INTERVAL, over_seeds

HEIGHT = 260  # px


def draw(curves: pd.DataFrame, metric: str, split: str) -> go.Figure:
    """Left: the metric by step. Right: the training loss.

    curves: run, step, the metric, and the training loss as `training`, one row a run and evaluation.
    """
    percent = metric == "accuracy"
    title = f"{split} {NAMES.get(metric, metric)}" + (" (%)" if percent else "")
    figure = grid(["", ""], columns=2, height=HEIGHT, top=50, left=LEFT, horizontal=62)
    for column, (name, factor) in enumerate(((metric, 100 if percent else 1), ("training", 1)), 1):
        _fill(figure, column, curves[["run", "step"]].assign(value=factor * curves[name]))
    figure.update_xaxes(title_text=STEP)
    figure.update_yaxes(title_text=title, row=1, col=1)
    figure.update_yaxes(title_text="training loss", row=1, col=2)
    figure.layout.meta = {"interval": INTERVAL}
    return figure


def _fill(figure: go.Figure, column: int, rows: pd.DataFrame) -> None:
    """One panel: faint lines of the runs, the interval as a band, the mean."""
    at = {"row": 1, "col": column}
    stats, shown = over_seeds(rows, "step", "value"), column == 1
    known = stats.dropna()
    if len(known):
        low, high = known["mean"] - known["half"], known["mean"] + known["half"]
        x, y = np.concatenate([known.index, known.index[::-1]]), np.concatenate([high, low[::-1]])
        fill = {"fill": "toself", "mode": "none", "fillcolor": faded(BLUE, 0.18), "hoverinfo": "skip"}
        figure.add_scatter(x=x, y=y, name="interval of the mean", legendgroup="mean", showlegend=False, **fill, **at)
    several = rows["run"].nunique() > 1
    for name, run in rows.groupby("run", sort=False):
        line = {"color": faded(BLUE, 0.45) if several else BLUE, "width": 1 if several else 2}
        figure.add_scatter(x=run["step"], y=run["value"], name=name, mode="lines", line=line, showlegend=False, **at)
    if several:
        line = {"color": BLUE, "width": 3}
        mean = {"name": f"mean of {rows['run'].nunique()} runs", "legendgroup": "mean", "showlegend": shown}
        figure.add_scatter(x=stats.index, y=stats["mean"], mode="lines", line=line, **mean, **at)
