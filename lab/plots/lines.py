"""Lines and points of a panel: one look for each method, its name in the legend once, intervals around means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lab.plots import go
from lab.plots.style import METHOD_SYMBOLS, colour, faded, method_title
from lab.statistics import half_width

Numbers = Sequence | np.ndarray
Panel = tuple[int | None, int | None]  # row and column, from 1; None in a figure of one panel
ALONE: Panel = (None, None)


def line(
    figure: go.Figure, x: Numbers, y: Numbers, ink: str, at: Panel = ALONE, width: float = 2, dash: str = "", **trace
) -> None:
    """Draw a line. trace: further settings of Plotly's scatter, such as name or hovertemplate."""
    stroke = {"color": ink, "width": width} | ({"dash": dash} if dash else {})
    figure.add_scatter(x=x, y=y, line=stroke, row=at[0], col=at[1], **{"mode": "lines"} | trace)


def points(
    figure: go.Figure,
    x: Numbers,
    y: Numbers,
    ink: str,
    at: Panel = ALONE,
    size: float = 7,
    symbol: str | Sequence[str] = "circle",
    **trace,
) -> None:
    """Draw marks. symbol: "" is Plotly's own. trace: as of `line`."""
    mark = {"color": ink, "size": size} | ({"symbol": symbol} if symbol else {})
    figure.add_scatter(x=x, y=y, marker=mark, row=at[0], col=at[1], **{"mode": "markers"} | trace)


def method_line(
    figure: go.Figure,
    x: Numbers,
    y: Numbers,
    method: str,
    at: Panel = ALONE,
    width: float = 2,
    size: float = 7,
    **trace,
) -> None:
    """Draw a method's line with its marks in the method's colour and symbol; the first line of a method in a figure
    names it in the legend. size: of the marks; 0: none. trace: as of `line`; what it says replaces what a method has.
    """
    look: dict[str, Any] = {
        "name": method_title(method),
        "legendgroup": method,
        "showlegend": not named(figure, method),
    }
    if size:
        look |= {"mode": "lines+markers", "marker": {"symbol": METHOD_SYMBOLS[method], "size": size}}
    line(figure, x, y, colour(method), at, width, **look | trace)


def method_scores(figure: go.Figure, rows: pd.DataFrame, methods: Sequence[str], value: str, at: Panel) -> None:
    """Draw a score of each method side by side, in percent: a mark a run, and the mean with its interval.

    rows: method, seed, `value` (1 is 100 %), diverged: these runs are left out.
    """
    rows = rows[~rows["diverged"].astype(bool)]
    for rank, method in enumerate(methods):
        values = 100 * rows.loc[rows["method"] == method, value].to_numpy(float)
        if not len(values):
            continue
        faint = {"hoverinfo": "skip", "showlegend": False}
        points(figure, [rank + 0.22] * len(values), values, faded(colour(method), 0.4), at, 5, "", **faint)
        look: dict[str, Any] = {"name": method_title(method), "legendgroup": method, "showlegend": at == (1, 1)}
        error, hover = whiskers([half_width(values)], thickness=1.4), "%{y:.1f} ± %{error_y.array:.1f} %"
        mark = [rank], [values.mean()], colour(method), at, 10, METHOD_SYMBOLS[method]
        points(figure, *mark, error_y=error, hovertemplate=hover, **look)
    figure.update_xaxes(range=(-0.6, len(methods) - 0.4), showticklabels=False, ticks="", row=at[0], col=at[1])


def named(figure: go.Figure, group: str) -> bool:
    """Whether the legend has an entry of this group already."""
    return any(trace.legendgroup == group and trace.showlegend is not False for trace in figure.data)


def whiskers(half: Numbers, width: float = 4, thickness: float = 1.2) -> dict:
    """Whiskers of so many units to both sides: for `error_x` or `error_y`. width: of the caps, in px."""
    return {"array": half, "thickness": thickness, "width": width}


def percent_whiskers(stats: pd.DataFrame, width: int) -> dict:
    """Whiskers of a mean in percent, which end where percentages do. stats: mean, half (NaN: none). width: px."""
    up, down = np.minimum(stats["half"], 100 - stats["mean"]), np.minimum(stats["half"], stats["mean"])
    return whiskers(up, width) | {"symmetric": False, "arrayminus": down}


def band(
    figure: go.Figure, stats: pd.DataFrame, ink: str, group: str, at: Panel = ALONE, percent: bool = False
) -> None:
    """Draw the interval of a mean as a band, where there is one; stats as `over_seeds` gives them. group: the entry of
    the legend that it belongs to. percent: cut at 0 and 100, where percentages end."""
    known = stats.dropna()
    if not len(known):
        return
    low, high = (known["mean"] + side * known["half"] for side in (-1, 1))
    if percent:
        low, high = low.clip(0, 100), high.clip(0, 100)
    x, y = np.concatenate([known.index, known.index[::-1]]), np.concatenate([high, low[::-1]])
    area = {"fill": "toself", "mode": "none", "fillcolor": faded(ink, 0.18), "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=x, y=y, name=f"{group}, interval", legendgroup=group, row=at[0], col=at[1], **area)
