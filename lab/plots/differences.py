"""Differences with their intervals: filled marks where 0 is outside, open and pale ones where it is not; and rows of
numbers, ours and what a paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from lab.estimates import Estimate
from lab.plots import go
from lab.plots.caption import true_minus
from lab.plots.panels import ALONE, Numbers, Panel, grid, place, points, whiskers
from lab.plots.style import BLUE, GRID, INK, METHOD_SYMBOLS, SIZE, colour, faded, method_title
from lab.statistics import LEVEL

BEYOND = "interval goes on"  # name of its arrow
PALE = 0.55  # opacity of intervals, and of marks whose interval includes 0
OUTLYING = 3.0  # times the median interval: axes do not make room for wider ones


def around(values: Numbers, lows: Numbers, highs: Numbers) -> tuple[float, float]:
    """The ends of an axis around 0, all values, and their intervals but those that are far wider than most and than it.

    >>> around([1.0, 2.0, 3.0], [0.0, 1.0, -50.0], [2.0, 3.0, 56.0])
    (-0.18, 3.18)
    """
    values, lows, highs = (np.asarray(numbers, float) for numbers in (values, lows, highs))
    widths = highs - lows
    most = np.nanmedian(widths) if np.isfinite(widths).any() else np.inf
    wide = widths > max(OUTLYING * most, np.ptp([0.0, *values[np.isfinite(values)]]))
    marks = np.concatenate([[0.0], values, np.where(wide, np.nan, lows), np.where(wide, np.nan, highs)])
    low, high = float(np.nanmin(marks)), float(np.nanmax(marks))
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def arrows(
    figure: go.Figure,
    places: Numbers,
    lows: Numbers,
    highs: Numbers,
    limits: tuple[float, float],
    ink: str,
    at: Panel = ALONE,
    upright: bool = False,
) -> None:
    """Arrow heads where intervals go on beyond an axis that ends at `limits`; upright: it is the y axis."""
    low, high = limits
    for end, side, passed in (
        (low, "down" if upright else "left", np.asarray(lows, float) < low),
        (high, "up" if upright else "right", np.asarray(highs, float) > high),
    ):
        inside = end + 0.012 * (low + high - 2 * end)
        across = [place for place, far in zip(places, passed, strict=True) if far]
        x, y = (across, [inside] * len(across)) if upright else ([inside] * len(across), across)
        if across:
            look: dict[str, Any] = {"name": BEYOND, "hoverinfo": "skip", "showlegend": False}
            points(figure, x, y, ink, at, 8, f"triangle-{side}", **look)


def spans(effects: Iterable[Estimate]) -> np.ndarray:
    """Effects, and the lower and the upper ends of their intervals: (3, effects)."""
    return np.array([(one.effect, *one.interval(LEVEL)) for one in effects], float).reshape(-1, 3).T


def differences(
    figure: go.Figure,
    places: Numbers,
    known: Numbers,
    method: str,
    at: Panel = ALONE,
    upright: bool = True,
    limits: tuple[float, float] | None = None,
    **trace,
) -> None:
    """Draw differences with their intervals in a method's colour: filled where the interval leaves 0 out, open and pale
    where it does not. known: values, and both ends of their intervals, as `spans` gives them. upright: values go up.
    limits: where their axis ends, with arrows for what is beyond. trace: as of `line`."""
    values, lows, highs = np.asarray(known, float)
    ink = colour(method)
    pale = faded(ink, PALE)
    x, y = (places, values) if upright else (values, places)
    error = whiskers(highs - values, 3) | {"symmetric": False, "arrayminus": values - lows, "color": pale}
    look: dict[str, Any] = {"name": method_title(method), "legendgroup": method, "showlegend": False, "mode": "markers"}
    look["marker"] = {"size": 9} | _clear_or_not(lows, highs, ink, pale, METHOD_SYMBOLS[method])
    look[f"error_{'y' if upright else 'x'}"] = error
    figure.add_scatter(x=x, y=y, row=at[0], col=at[1], **look | trace)
    if limits is not None:
        arrows(figure, places, lows, highs, limits, pale, at, upright)


def _clear_or_not(lows: Numbers, highs: Numbers, ink: str, pale: str, symbol: str) -> dict:
    """Ink and symbol of each mark: pale and open where its interval includes 0."""
    unclear = [low <= 0 <= high for low, high in zip(lows, highs, strict=True)]
    symbols = [symbol.removesuffix("-open") + "-open" if one else symbol for one in unclear]
    return {"color": [pale if one else ink for one in unclear], "symbol": symbols}


def difference_key(figure: go.Figure) -> str:
    """What open marks and arrows of differences stand for, where the figure has them."""
    marks = [trace for trace in figure.data if trace.type == "scatter" and trace.name != PRINTED]
    symbols = [str(symbol) for trace in marks for symbol in np.ravel(trace.marker.symbol)]
    words = ["Open, pale: the interval includes 0: these seeds do not tell."] * any("-open" in one for one in symbols)
    words += ["Arrow: it goes on beyond the axis."] * any(trace.name == BEYOND for trace in marks)
    return " ".join(words)


PRINTED = "printed in the paper"
NUMBERS = 92  # px right of a panel: what its marks stand for, in digits
HALF = 0.19  # of a row: ours is so much above its middle, the paper's as much below


def beside_printed(
    panels: Sequence[tuple[str, pd.DataFrame]],
    ends: Sequence[tuple[float, float]],
    height: int = 36,
    left: int = 158,
    errors: float = 1.0,
) -> go.Figure:
    """One panel per table, one row per name; all panels have the same names.

    panels: title and table each; table: name, mean, error (half the whisker, NaN: none), paper, paper_error (NaN where
    nothing is printed). ends: of each panel's axis. errors: how many of them a filled mark is from 0 at least.
    """
    names = list(panels[0][1]["name"])
    figure = grid(
        [title for title, _ in panels], len(panels), height * len(names), top=78, left=left, horizontal=NUMBERS + 8
    )
    figure.update_layout(margin={"r": NUMBERS})
    for number, (_, table) in enumerate(panels):
        at = place(number, len(panels))
        shown = table.set_index("name").reindex(names)
        for label, value, error, ink, symbol, shift in (
            ("here", "mean", "error", BLUE, "circle", -HALF),
            (PRINTED, "paper", "paper_error", INK, "diamond-open", HALF),
        ):
            y, mean = np.arange(len(names)) + shift, shown[value]
            lows, highs = mean - shown[error], mean + shown[error]
            look: dict[str, Any] = {"name": label, "legendgroup": label, "showlegend": False}
            hover = f"%{{customdata}}, {label}: %{{x:.1f}} ± %{{error_x.array:.1f}} %"
            look |= {"customdata": names, "hovertemplate": hover}
            look |= {"error_x": whiskers(shown[error], 3) | {"color": faded(ink, PALE)}}
            # of a difference; what is no difference is far from 0
            sure = mean - errors * shown[error], mean + errors * shown[error]
            look["marker"] = {"size": 8} | _clear_or_not(*sure, ink, faded(ink, 0.45), symbol)
            figure.add_scatter(x=mean, y=y, mode="markers", row=at[0], col=at[1], **look)
            if not number:
                points(figure, [None], [None], ink, at, 8, symbol, name=label, legendgroup=label)
            arrows(figure, y, lows, highs, ends[number], faded(ink, PALE), at)
            for place_, one, half in zip(y, mean, shown[error], strict=True):
                write_digits(figure, at, float(place_), digits(one, half), ink)
        figure.update_xaxes(range=ends[number], row=at[0], col=at[1])
        ticks = {"tickvals": list(range(len(names))), "ticktext": names, "showticklabels": not number, "ticks": ""}
        figure.update_yaxes(range=(len(names) - 0.5, -0.5), showgrid=False, row=at[0], col=at[1], **ticks)
        for line in range(1, len(names)):
            figure.add_hline(line - 0.5, line={"color": GRID, "width": 1}, row=at[0], col=at[1])
    return figure


def write_digits(figure: go.Figure, at: tuple[int, int], y: float, text: str, ink: str) -> None:
    """Digits in the margin right of a panel."""
    panel = figure.get_subplot(*at)
    place = {"xref": "paper", "x": panel.xaxis.domain[1], "xanchor": "left", "xshift": 4, "y": y}
    place["yref"] = panel.yaxis.plotly_name.replace("axis", "")
    figure.add_annotation(text=text, showarrow=False, font={"size": SIZE - 1, "color": ink}, **place)


def digits(mean: float, error: float) -> str:
    """A number and its spread, as many places as one reads.

    >>> digits(63.28, 2.31), digits(5.0, float("nan")), digits(float("nan"), 1.0), digits(-512.3, 60.7)
    ('63.3 ± 2.3', '5.0', '–', '−512 ± 61')
    """
    places = 1 if abs(mean) < 100 else 0
    if mean != mean:
        return "–"
    return true_minus(f"{mean:.{places}f}" if error != error else f"{mean:.{places}f} ± {error:.{places}f}")
