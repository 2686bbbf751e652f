"""Functions in one and the same model: a metric over training with its interval, and of each run at the end."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from lab.data.measures import NAMES
from lab.plots.panels import LEFT, STEP, grid
from lab.plots.style import INK, faded, inks_against
from lab.statistics import INTERVAL, over_seeds

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

HEIGHT = 260  # px
CONSTANT = "constant answer"
LETTERS, LINES = 40, 3  # of all names below a panel side by side; of one name at most


def draw(
    curves: pd.DataFrame, metric: str, split: str, said: str | None = None, constant: float | None = None
) -> go.Figure:
    """Left: the mean over runs by step, with its band. Right: every run's last value, with the mean and its interval.

    curves: function, search, seed, step and the metric, one row a run and evaluation. Of several searches of a function
    the mean of each is one of the values that the interval is about. said: the metric in words, with its unit.
    constant: what a model scores that says the same of all examples.
    """
    percent = metric == "accuracy"
    title = f"{split} {NAMES.get(metric, metric) if said is None else said}" + (" (%)" if percent else "")
    figure = grid(["", ""], columns=2, height=HEIGHT, top=50, left=LEFT, horizontal=62)
    names, reached, ended = list(dict.fromkeys(curves["function"])), [np.empty(0)], [np.empty(0)]
    for name, ink in inks_against(names).items():
        rows = curves[curves["function"] == name]
        rows = rows.assign(value=(100 if percent else 1) * rows[metric])
        stats = over_seeds(_units(rows), "step", "value")
        known = stats.dropna()
        reached += [rows["value"], known["mean"] + known["half"], known["mean"] - known["half"]]
        figure.add_scatter(
            x=np.concatenate([known.index, known.index[::-1]]),
            y=np.concatenate([known["mean"] + known["half"], (known["mean"] - known["half"])[::-1]]),
            fill="toself",
            mode="none",
            fillcolor=faded(ink, 0.18),
            hoverinfo="skip",
            showlegend=False,
            name=f"{name}, interval",
            legendgroup=name,
            row=1,
            col=1,
        )
        line = {"color": ink, "width": 2}
        figure.add_scatter(
            x=stats.index, y=stats["mean"], name=name, mode="lines", line=line, legendgroup=name, row=1, col=1
        )
        ends = rows.groupby(["search", "seed"], sort=False).tail(1)
        last = stats.iloc[-1] if len(stats) else None
        ended.append(ends["value"])
        figure.add_scatter(
            x=[name] * len(ends),
            y=ends["value"],
            mode="markers",
            marker={"color": faded(ink, 0.45), "size": 7},
            customdata=ends[["search", "seed"]],
            hovertemplate="search %{customdata[0]}, seed %{customdata[1]}: %{y:.4g}<extra></extra>",
            showlegend=False,
            legendgroup=name,
            name=f"{name}, runs",
            row=1,
            col=2,
        )
        if last is not None:
            ended.append(last["mean"] + last["half"] * np.array([-1.0, 0.0, 1.0]))
            figure.add_scatter(
                x=[name],
                y=[last["mean"]],
                error_y={"array": [last["half"]], "color": ink, "thickness": 2, "width": 8},
                mode="markers",
                marker={"color": ink, "size": 11, "symbol": "line-ew-open", "line": {"width": 2}},
                hovertemplate="mean %{y:.4g}<extra></extra>",
                showlegend=False,
                legendgroup=name,
                name=f"{name}, mean",
                row=1,
                col=2,
            )
    if constant is not None and np.isfinite(constant):
        level = (100 if percent else 1) * constant
        reached.append(np.array([level]))
        ended.append(np.array([level]))
        line = {"color": INK, "width": 1, "dash": "dash"}
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=f"{CONSTANT}: {level:.3g}", row=1, col=1)
        figure.add_hline(level, line=line)
    figure.update_xaxes(title_text=STEP, row=1, col=1)
    labels = [_wrapped(one, LETTERS // len(names)) for one in names]
    more = 14 * max((label.count("<br>") for label in labels), default=0)  # px for further lines of names
    figure.update_layout(height=figure.layout.height + more, margin={"b": figure.layout.margin.b + more})
    ends_axis = {"type": "category", "tickvals": names, "ticktext": labels, "tickangle": 0}  # "1e-3" is a name here
    figure.update_xaxes(title_text="at the end: runs, mean, interval", ticks="", row=1, col=2, **ends_axis)
    figure.update_yaxes(range=_range(np.concatenate(reached), percent), row=1, col=1)
    figure.update_yaxes(range=_range(np.concatenate(ended), percent), row=1, col=2)
    figure.update_yaxes(title_text=title)
    figure.layout.meta = {"interval": INTERVAL}
    return figure


def _wrapped(name: str, letters: int) -> str:
    """A name in lines of so many letters; what takes more lines ends in dots.

    >>> _wrapped("mine/digits-cnn, symmetrized", 12)
    'mine/digits-<br>cnn,<br>symmetrized'
    """
    lines = textwrap.wrap(name, max(6, letters))
    return "<br>".join(lines[:LINES]) + ("…" if len(lines) > LINES else "")


def _range(values: np.ndarray, percent: bool) -> tuple[float, float] | None:
    """Of an axis on which all of these are shown; of shares no further than there are any.

    >>> _range(np.array([100.0, 100.0]), percent=True)
    (89.6, 100.4)
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    values = values.clip(0, 100) if percent else values
    low, high = float(values.min()), float(values.max())
    if percent and low == high:  # a wider window, so that no tick is above 100
        low = max(low - 10, 0.0)
    pad = 0.04 * (high - low) or 0.5
    return low - pad, high + pad


def _units(rows: pd.DataFrame) -> pd.DataFrame:
    """The values that an interval is about: runs, or the means of searches where there are several."""
    if rows["search"].nunique() < 2:
        return rows
    return rows.groupby(["search", "step"], sort=False)["value"].mean().reset_index()
