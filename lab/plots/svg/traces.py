"""Traces of a picture: lines, points, bars, boxes, cells, contours."""

from collections.abc import Callable, Mapping, Sequence
from math import floor, log10
from typing import Any

import numpy as np

from lab.plots.style import ink_on
from lab.plots.svg.axes import Axis, merged, numbers
from lab.plots.svg.canvas import Canvas, colours, faint, png, short

LEVELS = 96  # colours of a heatmap: few, so that its picture is small
POINTS = 1500  # of one trace; of more, one a px is drawn
ROUND = "circle"
SYMBOLS: dict[str, list[tuple[float, float]]] = {  # corners, of radius 1; a circle has none
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    "diamond-tall": [(0, -1.4), (0.7, 0), (0, 1.4), (-0.7, 0)],
    "triangle-up": [(0, -1), (1.15, 0.5), (-1.15, 0.5)],
    "hexagon": [(0, -1), (0.87, -0.5), (0.87, 0.5), (0, 1), (-0.87, 0.5), (-0.87, -0.5)],
}
SYMBOLS["triangle-down"] = [(x, -y) for x, y in SYMBOLS["triangle-up"]]
SYMBOLS["triangle-left"] = [(y, x) for x, y in SYMBOLS["triangle-up"]]
SYMBOLS["triangle-right"] = [(-y, x) for x, y in SYMBOLS["triangle-up"]]
_ARM = [(-0.4, -0.4), (-0.4, -1.2), (0.4, -1.2)]  # of a cross, which has four
SYMBOLS["cross"] = [*_ARM, *((-y, x) for x, y in _ARM), *((-x, -y) for x, y in _ARM), *((y, -x) for x, y in _ARM)]
SYMBOLS["x"] = [((x - y) * 0.71, (x + y) * 0.71) for x, y in SYMBOLS["cross"]]
SYMBOLS["x-thin"] = [(-1, -1), (1, 1), (0, 0), (1, -1), (-1, 1), (0, 0)]
SYMBOLS["line-ns"], SYMBOLS["line-ew"] = [(0, -1.4), (0, 1.4)], [(-1.4, 0), (1.4, 0)]
SYMBOLS["cross-thin"] = [(0, -1.4), (0, 1.4), (0, 0), (1.4, 0), (-1.4, 0), (0, 0)]
_TURNS = np.arange(10) * np.pi / 5
SYMBOLS["star"] = [(far * np.sin(turn), -far * np.cos(turn)) for far, turn in zip((1.4, 0.53) * 5, _TURNS, strict=True)]


def scatter(canvas: Canvas, trace: Mapping, x: Axis, y: Axis, layout: Mapping, others: Sequence[Mapping]) -> None:
    """Lines, what is filled below them, error bars, points, texts."""
    up = y.values(trace.get("y", ()))
    across = x.values(trace["x"]) if trace.get("x") is not None else np.arange(len(up), dtype=float)
    count = min(len(across), len(up))
    px, py = x.px(across[:count]), y.px(up[:count])
    known = np.isfinite(px) & np.isfinite(py)
    line, colour = trace.get("line", {}), trace["colour"]
    mode, opacity = trace["mode"], trace.get("opacity", 1)
    if trace.get("fill", "none") != "none" and known.any():
        d = course(px, py, known, line.get("shape"))
        if trace["fill"] == "tozeroy":
            zero = short(y.px(0.0) if y.type != "log" else y.start)
            d = f"M{short(px[known][0])},{zero}L{d[1:].replace('M', 'L')}L{short(px[known][-1])},{zero}Z"
        canvas.path(d, None, fill=trace.get("fillcolor") or faint(colour), opacity=opacity)
    for name, axis, values in (("error_y", y, up), ("error_x", x, across)):
        if trace.get(name):
            whiskers(canvas, trace[name], axis, values[:count], px, py, trace[name].get("color") or colour)
    if "lines" in mode and known.any():
        d = course(px, py, known, line.get("shape"))
        canvas.path(d, line.get("color") or colour, line.get("width", 2), dash=line.get("dash", ""), opacity=opacity)
    if "markers" in mode:
        markers(canvas, trace.get("marker", {}), px, py, colour, opacity, layout, others)
    if "text" in mode:
        size = trace.get("marker", {}).get("size", 6) if "markers" in mode else 0
        away = size / 2 + 3 if isinstance(size, (int, float)) and size else 6 * ("markers" in mode)
        _texts(canvas, trace, px, py, merged(layout.get("font", {}), trace.get("textfont", {})), away)


def _texts(canvas: Canvas, trace: Mapping, px: Any, py: Any, font: dict, away: float) -> None:
    def each(value: Any) -> Any:
        return [value] * len(px) if value is None or isinstance(value, str) else value

    texts, places = each(trace.get("text", "")), each(trace.get("textposition", "middle center"))
    inks = each(font.get("color"))
    for n in np.flatnonzero(np.isfinite(px) & np.isfinite(py)):
        above, side = places[n].split()
        right, down = ({"left": -1, "right": 1, "bottom": 1, "top": -1}.get(word, 0) * away for word in (side, above))
        across = {"left": "right", "right": "left"}.get(side, side)
        up = {"top": "bottom", "bottom": "top"}.get(above, above)
        canvas.words(texts[n], px[n] + right, py[n] + down, across, up, font | {"color": inks[n] or canvas.ink})


def course(px: Any, py: Any, known: Any, shape: str | None = None) -> str:
    """A line through points, broken where one is missing; points of the same place are one.

    >>> course(np.array([0, 1, 2.0]), np.zeros(3), np.array([True, True, False]))
    'M0,0L1,0'
    """
    d: list[str] = []
    last_x, last_y, pen = 0.0, 0.0, "M"
    for x, y, here in zip(px, py, known, strict=True):
        if not here:
            pen = "M"
        elif pen == "M" or abs(x - last_x) >= 0.15 or abs(y - last_y) >= 0.15:
            step = {"hv": f"H{short(x)}V{short(y)}", "vh": f"V{short(y)}H{short(x)}"}
            step["hvh"] = f"H{short((last_x + x) / 2)}V{short(y)}H{short(x)}"
            d.append(step[shape] if shape in step and pen == "L" else f"{pen}{short(x)},{short(y)}")
            pen, last_x, last_y = "L", x, y
    return "".join(d)


def whiskers(canvas: Canvas, bars: Mapping, axis: Axis, values: Any, px: Any, py: Any, ink: str) -> None:
    """Error bars along an axis, around values as it counts them."""
    if bars.get("array") is None:  # a template's colour
        return
    more = numbers(bars["array"])
    less = numbers(bars["arrayminus"]) if bars.get("arrayminus") is not None else more
    plain = 10.0**values if axis.type == "log" else values
    cap, d = bars.get("width", 4), []
    for n in np.flatnonzero(np.isfinite(px + py + more + less)):
        for end in (axis.px(axis.values([plain[n] + by])[0]) for by in (more[n], -less[n])):
            reached = end if np.isfinite(end) else axis.start  # below 0, where a logarithm has no end
            x, y, far = short(px[n]), short(py[n]), short(reached)
            if axis.along == "y":
                d.append(f"M{x},{y}V{far}M{short(px[n] - cap)},{far}h{2 * cap:g}")
            else:
                d.append(f"M{x},{y}H{far}M{far},{short(py[n] - cap)}v{2 * cap:g}")
    canvas.path("".join(d), ink, bars.get("thickness", 2))


def markers(
    canvas: Canvas,
    marker: Mapping,
    px: Any,
    py: Any,
    colour: str,
    opacity: float,
    layout: Mapping,
    others: Sequence[Mapping] = (),
) -> None:
    """Points: one path for each colour."""
    places = np.flatnonzero(np.isfinite(px) & np.isfinite(py))
    if len(places) > POINTS:
        _, first = np.unique(np.round(np.stack([px[places], py[places]])), axis=1, return_index=True)
        places = places[np.sort(first)]
    inks, size, symbols = marker.get("color") or colour, marker.get("size", 6), marker.get("symbol", ROUND)
    if not isinstance(inks, str) and numbers(inks).dtype != object:
        low, high, scale = coloured(marker, numbers(inks), "c", layout, others)
        shades = colours(scale, np.nan_to_num((numbers(inks) - low) / ((high - low) or 1)))
        inks = ["#" + "".join(f"{round(channel):02x}" for channel in shade) for shade in shades]
    single = isinstance(size, (int, float))
    sizes = np.full(len(px), float(size)) if isinstance(size, (int, float)) else numbers(size)
    edge, strength = marker.get("line", {}), marker.get("opacity", 1 if single else 0.7)
    strength = opacity * strength if isinstance(strength, (int, float)) else opacity
    rim = edge.get("color") if isinstance(edge.get("color"), str) else "#444444"
    wide = edge.get("width", 0 if single else 1)
    wide = wide if isinstance(wide, (int, float)) else 1
    groups: dict[tuple[str, bool, float], list[str]] = {}
    for n in places:
        symbol = str(symbols if isinstance(symbols, str) else symbols[n])
        hollow, form = symbol.endswith("-open"), symbol.removesuffix("-open")
        # the end of a line, which is a third of the text of a circle
        dot = float(sizes[n]) if form not in SYMBOLS and not hollow and not wide else 0.0
        ink = str(inks if isinstance(inks, str) else inks[n])
        mark = f"M{short(px[n])},{short(py[n])}h0" if dot else _mark(form, px[n], py[n], sizes[n] / 2)
        groups.setdefault((ink, hollow, dot), []).append(mark)
    for (ink, hollow, dot), marks in groups.items():
        if dot:
            canvas.path("".join(marks), ink, dot, dash="round", opacity=strength)
        else:
            fill, stroke, line = ("none", ink, wide or 1) if hollow else (ink, rim, wide)
            canvas.path("".join(marks), stroke, line, fill, opacity=strength)


def _mark(symbol: str, x: float, y: float, radius: float) -> str:
    if symbol not in SYMBOLS:
        r, across = f"{radius:.2f}", f"{2 * radius:.2f}"
        return f"M{short(x - radius)},{short(y)}a{r},{r} 0 1 1 {across},0a{r},{r} 0 1 1 -{across},0Z"
    return f"M{'L'.join(f'{short(x + a * radius)},{short(y + b * radius)}' for a, b in SYMBOLS[symbol])}Z"


def coloured(
    said: Mapping, values: Any, letter: str, layout: Mapping, traces: Sequence[Mapping]
) -> tuple[float, float, list]:
    """First and last value of a scale of colours, and the scale. letter: "z" of cells, "c" of points."""
    if name := said.get("coloraxis"):
        shared = [trace["z"] for trace in traces if trace.get("coloraxis") == name and trace.get("z") is not None]
        values = np.concatenate([np.ravel(numbers(one)) for one in shared] or [np.ravel(values)])
        said, letter = layout.get(name, {}), "c"
    known = np.ravel(values)[np.isfinite(np.ravel(values))]
    low, high = said.get(f"{letter}min"), said.get(f"{letter}max")
    scale: Any = said.get("colorscale") or layout.get("colorscale", {}).get("sequential") or "Plasma"
    if isinstance(scale, str):
        from plotly.colors import get_colorscale

        scale = get_colorscale(scale)
    scale = [(1 - at, ink) for at, ink in reversed(scale)] if said.get("reversescale") else list(scale)
    low = low if low is not None else known.min() if len(known) else 0.0
    return float(low), float(high if high is not None else known.max() if len(known) else 1.0), scale


def heatmap(canvas: Canvas, trace: Mapping, x: Axis, y: Axis, layout: Mapping, others: Sequence[Mapping]) -> None:
    """Cells, or what is smooth between them, as a small picture; lines of contours are where its levels meet."""
    z = numbers(trace["z"])
    if not z.size:
        return
    lines, template = trace["type"] == "contour", trace.get("texttemplate")
    text = np.asarray(trace["text"] if template == "%{text}" else z, object)
    low, high, scale = coloured(trace, z, "z", layout, others)
    at = [
        axis.values(trace[axis.along]) if trace.get(axis.along) is not None else np.arange(size, dtype=float)
        for axis, size in ((y, z.shape[0]), (x, z.shape[1]))
    ]
    if at[0][0] > at[0][-1]:
        at[0], z, text = at[0][::-1], z[::-1], text[::-1]
    if at[1][0] > at[1][-1]:
        at[1], z, text = at[1][::-1], z[:, ::-1], text[:, ::-1]
    edges = [_edges(one, size, lines) for one, size in zip(at, z.shape, strict=True)]
    (top, bottom), (left, right) = (
        sorted((axis.px(edge[0]), axis.px(edge[-1]))) for axis, edge in zip((y, x), edges, strict=True)
    )
    size = [max(1, min(900, round(px))) for px in (bottom - top, right - left)]
    rows, columns = (np.linspace(edge[0], edge[-1], 2 * n + 1)[1::2] for edge, n in zip(edges, size, strict=True))
    if (lines or trace.get("zsmooth") in ("best", "fast")) and (len(at[0]), len(at[1])) == z.shape:
        wide = np.stack([np.interp(columns, at[1], row) for row in z])
        shown = np.stack([np.interp(rows, at[0], column) for column in wide.T], axis=1)
    else:
        row, column = (
            np.clip(np.searchsorted(edge, place) - 1, 0, n - 1)
            for edge, place, n in zip(edges, (rows, columns), z.shape, strict=True)
        )
        shown = z[row][:, column]
        if trace.get("ygap"):
            shown[np.flatnonzero(np.diff(row))] = np.nan
        if trace.get("xgap"):
            shown[:, np.flatnonzero(np.diff(column))] = np.nan
    shown = shown[::-1] if y.px(edges[0][-1]) < y.px(edges[0][0]) else shown
    shown = shown if x.px(edges[1][-1]) > x.px(edges[1][0]) else shown[:, ::-1]
    picture = _picture(shown, low, high, scale, trace.get("ncontours", 15) if lines else 0)
    place = f'x="{short(left)}" y="{short(top)}" width="{short(right - left)}" height="{short(bottom - top)}"'
    canvas.parts.append(f'<image {place} preserveAspectRatio="none" href="data:image/png;base64,{picture}"/>')
    if template:
        form = template[len("%{z:") : -1] if template != "%{text}" else ""
        for i, j in np.argwhere(np.isfinite(z)):
            ink = ink_on("rgb({}, {}, {})".format(*colours(scale, (z[i, j] - low) / ((high - low) or 1))))
            font = {"size": 12, **trace.get("textfont", {}), "color": ink}
            words = format(text[i, j], form).replace("-", "−")
            canvas.words(words, x.px(at[1][j]), y.px(at[0][i]), "center", "middle", font)


def _edges(at: Any, count: int, through: bool) -> Any:
    """Where cells end, from their middles; contours go through the values themselves."""
    if through or len(at) == count + 1:
        return at
    if len(at) == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    between = (at[1:] + at[:-1]) / 2
    return np.concatenate([[2 * at[0] - between[0]], between, [2 * at[-1] - between[-1]]])


def _picture(values: Any, low: float, high: float, scale: list, contours: int) -> str:
    share = np.clip((values - low) / ((high - low) or 1), 0, 1)
    index = np.where(np.isfinite(values), np.round(np.nan_to_num(share) * (LEVELS - 1)) + 1, 0)
    palette = np.concatenate([[[0, 0, 0]], colours(scale, np.linspace(0, 1, LEVELS))])
    palette = np.concatenate([palette, palette[1:] * 0.7 + 255 * 0.3])  # the same, under a line of contours
    if contours and high > low:
        step = 10.0 ** floor(log10((high - low) / contours))
        step *= next(by for by in (1, 2, 5, 10) if by == 10 or (high - low) / (by * step) <= contours)
        level = np.floor(np.nan_to_num(values) / step)
        edge = np.zeros(values.shape, bool)
        edge[:, 1:] |= level[:, 1:] != level[:, :-1]
        edge[1:] |= level[1:] != level[:-1]
        index = np.where(edge & (index > 0), index + LEVELS, index)
    return png(index, palette)


def bar(canvas: Canvas, trace: Mapping, x: Axis, y: Axis, layout: Mapping, others: Sequence[Mapping]) -> None:
    """Bars next to one another, or (barmode "overlay") in one place."""
    flat = trace.get("orientation") == "h"
    along, up = (y, x) if flat else (x, y)
    heights = up.values(trace[up.along])
    every = list(range(len(heights)))
    places = along.values(trace.get(along.along, every))
    neighbours = _neighbours(trace, others)
    mode = layout.get("barmode", "group")
    taken = [str(place) for one in neighbours for place in np.ravel(numbers(one.get(along.along, every)))]
    alone = len(taken) == len(set(taken))  # where no place has two bars, each is as wide as its place
    number, of = _place(trace, neighbours) if mode == "group" and not alone else (0, 1)
    steps = np.diff(np.unique(places))
    size = (min(steps) if len(steps) else 1.0) * (1 - layout.get("bargap", 0.2)) / of
    size = trace["width"] if isinstance(trace.get("width"), (int, float)) else size
    middle = places + (number - (of - 1) / 2) * size
    base = np.zeros(len(places)) + (0.0 if trace.get("base") is None else numbers(trace["base"]))
    inks = trace["colour"]
    for n in np.flatnonzero(np.isfinite(heights) & np.isfinite(places)):
        ends = sorted([up.px(base[n]) if up.type != "log" else up.start, up.px(base[n] + heights[n])])
        sides = sorted(along.px(middle[n] + by * size / 2) for by in (-1, 1))
        (x0, x1), (y0, y1) = (ends, sides) if flat else (sides, ends)
        canvas.rect(x0, y0, x1 - x0, y1 - y0, inks if isinstance(inks, str) else inks[n])
    tops = up.px(base + heights)
    px, py = (tops, along.px(middle)) if flat else (along.px(middle), tops)
    if bars := trace.get(f"error_{up.along}"):
        whiskers(canvas, bars, up, base + heights, px, py, bars.get("color") or canvas.ink)


def box(canvas: Canvas, trace: Mapping, x: Axis, y: Axis, layout: Mapping, others: Sequence[Mapping]) -> None:
    """Boxes of which the quartiles are given."""
    number, of = _place(trace, _neighbours(trace, others)) if layout.get("boxmode") == "group" else (0, 1)
    places = x.values(trace.get("x", list(range(len(numbers(trace["q1"]))))))
    parts = [y.px(y.values(trace[name])) for name in ("lowerfence", "q1", "median", "q3", "upperfence")]
    for place, *levels in zip(places + (number - (of - 1) / 2) * 0.7 / of, *parts, strict=True):
        left, middle, right = (short(x.px(place + by * 0.28 / of)) for by in (-1, 0, 1))
        low, q1, median, q3, high = map(short, levels)
        canvas.path(f"M{left},{q1}H{right}V{q3}H{left}Z", trace["colour"], 2, faint(trace["colour"]))
        canvas.path(f"M{left},{median}H{right}M{middle},{q1}V{low}M{middle},{q3}V{high}", trace["colour"], 2)


def _neighbours(trace: Mapping, others: Sequence[Mapping]) -> list[Mapping]:
    """The traces of the same kind in the same panel."""
    same = ("type", "xaxis", "yaxis")
    return [one for one in others if [one.get(name) for name in same] == [trace.get(name) for name in same]]


def _place(trace: Mapping, neighbours: Sequence[Mapping]) -> tuple[int, int]:
    """The number of a trace among the bars at one place, and their count."""
    return next(n for n, one in enumerate(neighbours) if one is trace), len(neighbours)


# in the order in which they are drawn
DRAWN: dict[str, Callable] = {"heatmap": heatmap, "contour": heatmap, "bar": bar, "box": box, "scatter": scatter}
