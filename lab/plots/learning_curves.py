"""Learning curves, scores of runs that were trained elsewhere, and the time that functions take."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from lab.data.measures import NAMES
from lab.estimates import power
from lab.plots import go
from lab.plots.page import Plot
from lab.plots.panels import LEFT, STEP, band, grid, line, points, whiskers
from lab.plots.style import BLUE, GREY, INK, TEMPLATE, faded, inks_against
from lab.probes.cost import Cost
from lab.statistics import INTERVAL, over_seeds

HEIGHT = 260  # px
CONSTANT = "constant answer"
LETTERS, LINES = 40, 3  # of all names below a panel side by side; of one name at most


def draw(curves: pd.DataFrame, metric: str, split: str) -> go.Figure:
    """Left: the metric by step. Right: the training loss.

    curves: run, step, the metric, and the training loss as `training`, one row a run and evaluation.
    """
    percent = metric == "accuracy"
    figure = _panels(f"{split} {NAMES.get(metric, metric)}" + (" (%)" if percent else ""))
    for column, (name, factor) in enumerate(((metric, 100 if percent else 1), ("training", 1)), 1):
        _fill(figure, column, curves[["run", "step"]].assign(value=factor * curves[name]))
    figure.update_xaxes(title_text=STEP)
    return figure.update_yaxes(title_text="training loss", row=1, col=2)


def _panels(title: str) -> go.Figure:
    """Two panels; title: of the y axes."""
    figure = grid(["", ""], columns=2, height=HEIGHT, top=50, left=LEFT, horizontal=62)
    figure.layout.meta = {"interval": INTERVAL}
    return figure.update_yaxes(title_text=title)


def _fill(figure: go.Figure, column: int, rows: pd.DataFrame) -> None:
    """One panel: faint lines of the runs, the interval as a band, the mean."""
    at, count = (1, column), rows["run"].nunique()
    stats = over_seeds(rows, "step", "value")[["mean", "half"]]
    band(figure, stats, BLUE, "mean", at)
    ink, width = (faded(BLUE, 0.45), 1) if count > 1 else (BLUE, 2)
    for name, run in rows.groupby("run", sort=False):
        line(figure, run["step"], run["value"], ink, at, width, name=name, showlegend=False)
    if count > 1:
        look: dict[str, Any] = {"name": f"mean of {count} runs", "legendgroup": "mean", "showlegend": column == 1}
        line(figure, stats.index, stats["mean"], BLUE, at, 3, **look)


def compared(
    curves: pd.DataFrame, metric: str, split: str, said: str | None = None, constant: float | None = None
) -> go.Figure:
    """Left: the mean over runs by step, with its band. Right: every run's last value, with the mean and its interval.

    curves: function, search, seed, step and the metric, one row a run and evaluation. Of several searches of a function
    the mean of each is one of the values that the interval is about. said: the metric in words, with its unit.
    constant: what a model scores that says the same of all examples.
    """
    percent = metric == "accuracy"
    said = NAMES.get(metric, metric) if said is None else said
    figure = _panels(f"{split} {said}" + (" (%)" if percent else ""))
    names, reached, ended = list(dict.fromkeys(curves["function"])), [np.empty(0)], [np.empty(0)]
    for name, ink in inks_against(names).items():
        rows = curves[curves["function"] == name]
        rows = rows.assign(value=(100 if percent else 1) * rows[metric])
        stats = over_seeds(_units(rows), "step", "value")[["mean", "half"]]
        known = stats.dropna()
        unnamed: dict[str, Any] = {"showlegend": False, "legendgroup": name}
        reached += [rows["value"], known["mean"] + known["half"], known["mean"] - known["half"]]
        band(figure, stats, ink, name, (1, 1))
        line(figure, stats.index, stats["mean"], ink, (1, 1), name=name, legendgroup=name)
        ends = rows.groupby(["search", "seed"], sort=False).tail(1)
        ended.append(ends["value"])
        hover: dict[str, Any] = {"customdata": ends[["search", "seed"]]}
        hover["hovertemplate"] = "search %{customdata[0]}, seed %{customdata[1]}: %{y:.4g}<extra></extra>"
        hover |= {"name": f"{name}, runs", **unnamed}
        points(figure, [name] * len(ends), ends["value"], faded(ink, 0.45), (1, 2), symbol="", **hover)
        if len(stats):
            last = stats.iloc[-1]
            ended.append(last["mean"] + last["half"] * np.array([-1.0, 0.0, 1.0]))
            error = whiskers([last["half"]], 8, 2) | {"color": ink}
            look: dict[str, Any] = {"name": f"{name}, mean", "hovertemplate": "mean %{y:.4g}<extra></extra>", **unnamed}
            look |= {"error_y": error, "marker_line_width": 2}
            points(figure, [name], [last["mean"]], ink, (1, 2), 11, "line-ew-open", **look)
    if constant is not None and np.isfinite(constant):
        level = (100 if percent else 1) * constant
        reached.append(np.array([level]))
        ended.append(np.array([level]))
        line(figure, [None], [None], INK, (1, 1), 1, "dash", name=f"{CONSTANT}: {level:.3g}")
        figure.add_hline(level, line={"color": INK, "width": 1, "dash": "dash"})
    figure.update_xaxes(title_text=STEP, row=1, col=1)
    labels = [_wrapped(one, LETTERS // len(names)) for one in names]
    more = 14 * max((label.count("<br>") for label in labels), default=0)  # px for further lines of names
    figure.update_layout(height=figure.layout.height + more, margin={"b": figure.layout.margin.b + more})
    ends_axis = {"type": "category", "tickvals": names, "ticktext": labels, "tickangle": 0}  # "1e-3" is a name here
    figure.update_xaxes(title_text="at the end: runs, mean, interval", ticks="", row=1, col=2, **ends_axis)
    figure.update_yaxes(range=_range(np.concatenate(reached), percent), row=1, col=1)
    return figure.update_yaxes(range=_range(np.concatenate(ended), percent), row=1, col=2)


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


SCORES_HEIGHT = 260  # px


def draw_scores(scores: pd.DataFrame, metric: str) -> go.Figure:
    """Draw scores side by side, the first function in grey. scores: function, seed, value (NaN: left out)."""
    figure = grid([""], columns=1, height=SCORES_HEIGHT, top=16, left=LEFT)
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


def draw_costs(cost: Cost) -> go.Figure:
    """A point a function, its median time, with quartiles as whiskers, on a logarithmic axis; as text how many times
    that of the first it is."""
    low, times, high = 1000 * np.percentile(cost.seconds, (25, 50, 75), axis=1)
    ratios = [cost.ratio(name, cost.names[0]) for name in cost.names]
    where = cost.device if cost.device != "cpu" else f"{cost.threads} CPU thread(s)"
    what = "forward and backward" if cost.backward else "forward"
    figure = go.Figure()
    figure.add_scatter(
        x=times,
        y=cost.names,
        mode="markers+text",
        marker={"color": [GREY if ratio == 1 else BLUE for ratio in ratios], "size": 9},
        error_x={"array": high - times, "arrayminus": times - low, "thickness": 1.2, "color": INK},
        text=[f"{time:.3g} ms, × {ratio:.2g}" for time, ratio in zip(times, ratios, strict=True)],
        textposition="top center",
        hovertemplate="%{y}: %{x:.3g} ms",
    )
    ends = np.log10(low.min()) - 0.3, np.log10(high.max()) + 0.3  # room for the text at both
    figure.update_layout(
        template=TEMPLATE,
        height=106 + 40 * len(times),
        margin={"l": 130, "r": 16, "t": 16, "b": 66},
        xaxis={
            "type": "log",
            "range": ends,
            "title": f"time (ms, log scale): {cost.elements:,} numbers,<br>{what}, {cost.dtype}, {where}",
        },
        yaxis={"type": "category", "range": (len(times) - 0.5, -0.8), "ticks": ""},  # the first on top
        showlegend=False,
    )
    return figure
