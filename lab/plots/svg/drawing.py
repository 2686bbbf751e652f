"""A picture from its layout: room, axes, shapes, annotations, legend, colour bars."""

import re
from collections.abc import Iterator, Mapping
from math import log10
from typing import Any

import numpy as np

from lab.plots.svg.axes import Axis, merged, numbers
from lab.plots.svg.canvas import BREAK, KEY, Canvas, faint, short, width
from lab.plots.svg.traces import DRAWN, coloured, markers

COLORWAY = ("#636EFA", "#EF553B", "#00CC96", "#AB63FA", "#FFA15A", "#19D3F3", "#FF6692", "#B6E880")  # Plotly's own
ROW = 19  # px of a line of the legend
BEFORE = 40  # px before a name in the legend
CELLS = ("heatmap", "contour")


class Drawing:
    """One picture: traces, a layout, and the axes on which they stand."""

    def __init__(self, traces: list[dict], layout: Mapping, wide: int):
        template = layout.get("template") or {}
        self.defaults = template.get("layout", {})
        self.layout = merged(self.defaults, layout)
        inks = self.layout.get("colorway") or COLORWAY
        of = template.get("data", {})
        self.traces = [_trace(trace, of, inks[n % len(inks)]) for n, trace in enumerate(traces)]
        self.font = merged({"size": 12, "color": "#2a3f5f"}, self.layout.get("font", {}))
        self.canvas = Canvas(self.layout.get("width") or wide, self.layout.get("height") or 450, self.font["color"])
        self.names = list(dict.fromkeys(self._names()))
        margin = {"l": 80, "r": 80, "t": 100, "b": 80} | self.layout.get("margin", {})
        self.left, self.right = margin["l"], self.canvas.width - margin["r"]
        self.top, self.bottom = margin["t"], self.canvas.height - margin["b"]
        self.legend = self.layout.get("legend", {})
        self.rows = self._rows(self._entries())
        self._make_room()
        self.axes: dict[str, Axis] = {name: self._axis(name) for name in self.names}
        for axis in self.axes.values():
            if (other := self.axes.get(axis.said.get("matches", ""))) is not None:
                axis.low, axis.high = other.low, other.high
            if (other := self.axes.get(str(axis.said.get("scaleanchor")))) is not None:
                axis.keep_square(other)

    def text(self) -> str:
        """The picture as SVG."""
        return self.draw().text()

    def draw(self, data: bool = True) -> Canvas:
        """The picture, with its data or its axes and texts alone; who calls it calls it once."""
        panels = dict.fromkeys((t.get("xaxis", "x"), t.get("yaxis", "y")) for t in self.traces)
        shown = [self.axes[name] for name in dict.fromkeys(name for panel in panels for name in panel)]
        shown = [axis for axis in shown if axis.said.get("visible", True)]
        ground = str(self.layout.get("plot_bgcolor", "white"))
        for x, y in ((self.axes[x], self.axes[y]) for x, y in panels if ground != "white"):
            self.canvas.rect(x.start, y.stop, x.stop - x.start, y.start - y.stop, ground)
        for axis in shown:
            if "overlaying" not in axis.said:
                self._grid(axis)
        self._shapes("below")
        for n, (x, y) in enumerate(panels if data else ()):
            self.canvas.owner = (x, y)
            self._panel(f"{KEY}-panel{n}", self.axes[x], self.axes[y])
        for axis in shown:
            self.canvas.owner = next(name for name, one in self.axes.items() if one is axis)
            self._frame(axis)
        self._shapes("above")
        self.canvas.owner = "colour bar"
        self._colour_bars()
        for n, note in enumerate(self.layout.get("annotations", ())):
            self.canvas.owner = n
            self._annotation(merged({"showarrow": True} | self.layout.get("annotationdefaults", {}), note))
        self.canvas.owner = "legend"
        self._legend()
        self._title()
        return self.canvas

    def _names(self) -> Iterator[str]:
        for trace in self.traces:
            yield from (trace.get("xaxis", "x"), trace.get("yaxis", "y"))
        yield from (name.replace("axis", "") for name in self.layout if re.fullmatch(r"[xy]axis\d+", name))

    def _said(self, name: str) -> dict:
        """What the layout says of an axis."""
        along, number = name[0], name[1:]
        return merged(self.defaults.get(f"{along}axis", {}), self.layout.get(f"{along}axis{number}", {}))

    def _axis(self, name: str) -> Axis:
        said, along = self._said(name), name[0]
        over = self._said(said["overlaying"]) if isinstance(said.get("overlaying"), str) else {}
        first, last = said.get("domain") or over.get("domain") or (0, 1)
        start, size = (self.left, self.right - self.left) if along == "x" else (self.bottom, self.top - self.bottom)
        group = said.get("matches", name)
        of = {one for one in self.names if one == group or self._said(one).get("matches") == group}
        traces = [trace for trace in self.traces if trace.get(f"{along}axis", along) in of]
        marks = [
            log10(place) if said.get("type") == "log" else place
            for shape in self.layout.get("shapes", ())
            if shape.get(f"{along}ref", along) in of
            for place in (shape.get(f"{along}0"), shape.get(f"{along}1"))
            if isinstance(place, (int, float)) and (place > 0 or said.get("type") != "log")
        ]
        return Axis(along, said, start + first * size, start + last * size, traces, marks)

    def ends(self, axis: Axis) -> tuple[float, float]:
        """The px, from the smaller to the larger one, that are an axis's own, whether or not it keeps to a ratio."""
        over = axis.said.get("overlaying")
        low, high = (
            axis.said.get("domain") or (self._said(over).get("domain") if isinstance(over, str) else None) or (0, 1)
        )
        start, size = (
            (self.left, self.right - self.left) if axis.along == "x" else (self.bottom, self.top - self.bottom)
        )
        low, high = sorted((start + low * size, start + high * size))
        return low, high

    def _entries(self) -> list[list[dict]]:
        """The traces of the legend, in its groups."""
        several = sum(trace.get("showlegend", True) for trace in self.traces) > 1
        shown = [t for t in self.traces if t.get("showlegend", several) and t["type"] not in CELLS and t["name"]]
        if not self.layout.get("showlegend", bool(shown)):
            return []
        groups: dict[Any, list[dict]] = {}
        for n, trace in enumerate(sorted(shown, key=lambda trace: trace.get("legendrank", 1000))):
            groups.setdefault(trace.get("legendgroup") or n, []).append(trace)
        return list(groups.values())

    def _rows(self, groups: list[list[dict]]) -> list[list[tuple[float, list[dict]]]]:
        """Groups of the legend, each with its width, in rows; in a legend that stands upright, each is a row."""
        rows: list[list[tuple[float, list[dict]]]] = []
        for group in groups:
            wide = max(width(trace["name"], 12) for trace in group) + BEFORE + 10
            full = rows and sum(size for size, _ in rows[-1]) + wide > self.canvas.width - 20
            if not rows or full or self.legend.get("orientation") != "h":
                rows.append([])
            rows[-1].append((wide, group))
        return rows

    @property
    def _legend_height(self) -> float:
        title = bool((self.legend.get("title") or {}).get("text", "").strip())
        return ROW * (title + sum(max(len(group) for _, group in row) for row in self.rows))

    def _make_room(self) -> None:
        """Margins grow for a legend right of or above the plot, and where the labels of an axis ask for it."""
        outside = self.legend.get("yref") != "container" and self.legend.get("xref") != "container"
        if self.rows and outside and self.legend.get("orientation") == "h":
            if self.legend.get("yanchor") == "bottom" and self.legend.get("y", 0) >= 1:
                self.top = max(self.top, self._legend_height + 12)
        elif self.rows and outside and self.legend.get("x", 1.02) > 1:
            self.right = min(self.right, self.canvas.width - 20 - max(wide for row in self.rows for wide, _ in row))
        for name in self.names:
            said = self._said(name)
            if name[0] == "y" and said.get("automargin") and said.get("side") != "right":
                of = [trace.get("y") for trace in self.traces if trace.get("yaxis", "y") == name]
                texts = [one for given in of if given is not None for one in np.ravel(numbers(given))]
                widest = max((width(one, 12) for one in texts if isinstance(one, str)), default=0)
                self.left = max(self.left, widest + 40)

    def _across(self, axis: Axis) -> Axis:
        """The axis that an axis stands on."""
        other = self.axes.get(axis.said.get("anchor") or ("y" if axis.along == "x" else "x"))
        return other or next(one for one in self.axes.values() if one.along != axis.along)

    def _line(self, axis: Axis, at: float, first: float, last: float, ink: str, wide: float = 1) -> None:
        """A line across an axis, at a place along it."""
        x0, y0, x1, y1 = (at, first, at, last) if axis.along == "x" else (first, at, last, at)
        self.canvas.path(f"M{short(x0)},{short(y0)}L{short(x1)},{short(y1)}", ink, wide)

    def _grid(self, axis: Axis) -> None:
        other, said = self._across(axis), axis.said
        if said.get("showgrid", axis.type != "category"):
            for value, _ in axis.ticks():
                self._line(axis, axis.px(value), other.start, other.stop, said.get("gridcolor", "#E4E4E4"))
        if said.get("zeroline") and axis.type == "linear" and min(axis.low, axis.high) < 0 < max(axis.low, axis.high):
            self._line(axis, axis.px(0), other.start, other.stop, said.get("zerolinecolor", "#E4E4E4"), 2)

    def _panel(self, name: str, x: Axis, y: Axis) -> None:
        """The traces of two axes, within their limits."""
        canvas, kinds = self.canvas, list(DRAWN)
        canvas.parts.append(f'<clipPath id="{name}">')
        canvas.rect(x.start - 1, y.stop - 1, x.stop - x.start + 2, y.start - y.stop + 2, "none")
        canvas.parts.append(f'</clipPath><g clip-path="url(#{name})">')
        of = [t for t in self.traces if self.axes[t.get("xaxis", "x")] is x and self.axes[t.get("yaxis", "y")] is y]
        for trace in sorted(of, key=lambda trace: kinds.index(trace["type"])):
            DRAWN[trace["type"]](canvas, trace, x, y, self.layout, self.traces)
        canvas.parts.append("</g>")

    def _frame(self, axis: Axis) -> None:
        """An axis: its line, its ticks, their labels, its title."""
        said, other, flat, canvas = axis.said, self._across(axis), axis.along == "x", self.canvas
        far = said.get("side", "bottom" if flat else "left") in ("top", "right")
        place, out = (other.stop if far else other.start), (1 if flat != far else -1)
        ink = said.get("linecolor", "#444")
        if said.get("showline"):
            self._line(other, place, axis.start, axis.stop, ink)
            if said.get("mirror"):
                self._line(other, other.start if far else other.stop, axis.start, axis.stop, ink)
        length = said.get("ticklen", 5) if said.get("ticks") == "outside" else 0
        for value, _ in axis.ticks() if length else ():
            self._line(axis, axis.px(value), place, place + out * length, said.get("tickcolor", ink))
        font = merged(self.font, said.get("tickfont", {}))
        labels = axis.ticks() if said.get("showticklabels", True) else []
        widest = max((width(text, font["size"]) for _, text in labels), default=0)
        steps = np.abs(np.diff([axis.px(value) for value, _ in labels]))
        angle = said.get("tickangle", "auto")
        angle = (30 if flat and len(steps) and min(steps) < widest + 2 else 0) if angle in ("auto", None) else angle
        anchor = "center" if not angle else "left" if (angle > 0) != far else "right"
        for value, text in labels:
            at, away = axis.px(value), place + out * (length + 3)
            if flat:
                up = "middle" if abs(angle) == 90 else "bottom" if far else "top"
                canvas.words(text, at, away, anchor, up, font, angle)
            else:
                canvas.words(text, away, at, "left" if far else "right", "middle", font, angle)
        lines = max((len(BREAK.split(text)) for _, text in labels), default=1)
        tall = (14 + 1.3 * font["size"] * (lines - 1)) * (abs(angle) != 90)
        depth = (tall + widest * abs(np.sin(np.radians(angle))) if flat else widest + 3) if labels else 0
        title, font = self._titled(said, 14)
        at, standoff = (axis.start + axis.stop) / 2, said.get("title", {}).get("standoff", 8)
        away = place + out * (length + depth + standoff)
        x, y, angle = (at, away, 0) if flat else (away, at, -90)
        canvas.words(title, x, y, "center", "top" if flat != far else "bottom", font, angle)

    def _titled(self, said: Mapping, size: float) -> tuple[str, dict]:
        """The title of a part, and its font."""
        title = said.get("title") or {}
        title = {"text": title} if isinstance(title, str) else title
        return title.get("text") or "", merged(merged(self.font, {"size": size}), title.get("font", {}))

    def _title(self) -> None:
        text, font = self._titled(self.layout, 17)
        said = {} if isinstance(self.layout.get("title"), str) else self.layout.get("title") or {}
        at, up = said.get("x", 0.05), said.get("y", "auto")
        anchor = said.get("xanchor", "auto")
        anchor = _third(at, ("left", "center", "right")) if anchor == "auto" else anchor
        y = self.top / 2 if up == "auto" else (1 - up) * self.canvas.height
        held = said.get("yanchor", "auto")
        self.canvas.words(text, at * self.canvas.width, y, anchor, "middle" if held == "auto" else held, font)

    def _place(self, along: str, ref: str, value: Any, logarithm: bool = True) -> float:
        """Where a shape or an annotation stands, in px. logarithm: whether a logarithmic axis is told logarithms."""
        name, _, domain = ref.partition(" ")
        if name == "paper" or domain:
            ends = (self.left, self.right) if along == "x" else (self.bottom, self.top)
            start, stop = (self.axes[name].start, self.axes[name].stop) if domain else ends
            return start + value * (stop - start)
        axis = self.axes[name]
        counted = axis.type == "log" and logarithm and not isinstance(value, str)
        return float(axis.px(value if counted else axis.values([value])[0]))

    def _known(self, part: Mapping) -> dict[str, str] | None:
        """What a part's places refer to; None where there is no such axis."""
        refs = {along: part.get(f"{along}ref", along) for along in "xy"}
        return refs if all(ref.partition(" ")[0] in {"paper", *self.axes} for ref in refs.values()) else None

    def _shapes(self, layer: str) -> None:
        for shape in self.layout.get("shapes", ()):
            refs = self._known(shape)
            if shape.get("layer", "above") != layer or shape.get("type") not in ("line", "rect") or refs is None:
                continue
            ends = [self._place(a, refs[a], shape[f"{a}{n}"], logarithm=False) for n in "01" for a in "xy"]
            if not np.isfinite(ends).all():
                continue
            x0, y0, x1, y1 = map(short, ends)
            line = {"color": "#444444", "width": 2} | shape.get("line", {})
            d = f"M{x0},{y0}L{x1},{y1}" if shape["type"] == "line" else f"M{x0},{y0}H{x1}V{y1}H{x0}Z"
            fill = shape.get("fillcolor", "none") if shape["type"] == "rect" else "none"
            self.canvas.path(d, line["color"], line["width"], fill, line.get("dash", ""), shape.get("opacity", 1))

    def _annotation(self, note: dict) -> None:
        refs = self._known(note)
        if refs is None:
            return
        x, y = (self._place(along, refs[along], note.get(along, 0.5)) for along in "xy")
        x, y = x + note.get("xshift", 0), y - note.get("yshift", 0)
        held = {"x": note.get("xanchor", "auto"), "y": note.get("yanchor", "auto")}
        names = {"x": ("left", "center", "right"), "y": ("bottom", "middle", "top")}
        for along in "xy":
            if held[along] == "auto":
                by_place = not note["showarrow"] and (refs[along] == "paper" or "domain" in refs[along])
                held[along] = _third(note.get(along, 0.5), names[along]) if by_place else names[along][1]
        if note["showarrow"]:
            x, y = self._arrow(note, x, y)
        font = merged(self.font, note.get("font", {}))
        angle, align = note.get("textangle", 0), note.get("align", "center")
        self.canvas.words(note.get("text", ""), x, y, held["x"], held["y"], font, angle, align, note.get("bgcolor"))

    def _arrow(self, note: Mapping, x: float, y: float) -> tuple[float, float]:
        """Draw the arrow of an annotation; where it begins."""
        tail = []
        for along, at, default in (("x", x, 0), ("y", y, -30)):
            ref, by = str(note.get(f"a{along}ref", "pixel")), note.get(f"a{along}", default)
            tail.append(at + by if ref == "pixel" else self._place(along, ref, by))
        ink, wide = note.get("arrowcolor", self.canvas.ink), note.get("arrowwidth", 1)
        way = np.array([x, y]) - tail
        way /= np.hypot(*way) or 1.0
        start, tip = tail + way * note.get("startstandoff", 0), [x, y] - way * note.get("standoff", 0)
        size, side = 3 + 1.5 * wide, np.array([way[1], -way[0]])
        corners = [tip, *(tip - way * size + by * side * size / 2 for by in (1, -1))]
        self.canvas.path(f"M{_at(start)}L{_at(tip)}", ink, wide)
        self.canvas.path(f"M{'L'.join(map(_at, corners))}Z", None, fill=ink)
        return tail[0], tail[1]

    def _colour_bars(self) -> None:
        drawn = set()
        for trace in self.traces:
            cells = trace["type"] in CELLS
            said = trace if cells else trace.get("marker", {})
            name = said.get("coloraxis")
            whole = self.layout.get(name, {}) if name else said
            if not whole.get("showscale", bool(name) or cells) or name in drawn:
                continue
            drawn |= {name} - {None}
            values = numbers(trace["z"] if cells else said.get("color", [0.0, 1.0]))
            low, high, scale = coloured(said, values, "z" if cells else "c", self.layout, self.traces)
            self._colour_bar(whole.get("colorbar", {}), low, high, scale)

    def _colour_bar(self, bar: Mapping, low: float, high: float, scale: list) -> None:
        flat, canvas = bar.get("orientation") == "h", self.canvas
        across, up, share = self.right - self.left, self.bottom - self.top, bar.get("len", 1)
        title, title_font = self._titled(bar, self.font["size"])
        above = 18 if title else 0
        if flat:
            wide, tall = share * across, bar.get("thickness", 30)
            left = self.left + bar.get("x", 0.5) * across - wide / 2
            top = self.bottom - bar.get("y", 1.02) * up + above
            top -= 0 if bar.get("yanchor", "bottom") == "top" else tall + above + 20
        else:
            wide, tall = min(bar.get("thickness", 30), 18), share * up - above
            left = self.left + bar.get("x", 1.02) * across + 10
            top = self.bottom - bar.get("y", 0.5) * up - share * up / 2 + above
        stops = "".join(f'<stop offset="{at:.3f}" stop-color="{ink}"/>' for at, ink in scale)
        key, vector = f"{KEY}-scale{len(canvas.parts)}", 'x2="1"' if flat else 'x2="0" y1="1"'
        canvas.parts.append(f'<linearGradient id="{key}" {vector}>{stops}</linearGradient>')
        canvas.rect(left, top, wide, tall, f"url(#{key})")
        ends = (left, left + wide) if flat else (top + tall, top)
        axis, font = Axis("xy"[not flat], {**bar, "range": [low, high]}, *ends, []), self._font(bar)
        for value, text in axis.ticks():
            if flat:
                canvas.words(text, axis.px(value), top + tall + 3, "center", "top", font)
            else:
                canvas.words(text, left + wide + 4, axis.px(value), "left", "middle", font)
        canvas.words(
            title, left + wide / 2 if flat else left, top - 3, "center" if flat else "left", "bottom", title_font
        )

    def _font(self, bar: Mapping) -> dict:
        return merged(self.font, bar.get("tickfont", {}))

    def _legend(self) -> None:
        if not self.rows:
            return
        said, flat = self.legend, self.legend.get("orientation") == "h"
        font, title = merged(self.font, said.get("font", {})), (said.get("title") or {}).get("text", "").strip()
        wide, high = max(sum(size for size, _ in row) for row in self.rows), self._legend_height
        at_x, at_y = said.get("x", 0 if flat else 1.02), said.get("y", -0.1 if flat else 1)
        x = at_x * self.canvas.width if said.get("xref") == "container" else self._place("x", "paper", at_x)
        y = (1 - at_y) * self.canvas.height if said.get("yref") == "container" else self._place("y", "paper", at_y)
        up = said.get("yanchor") or ("top" if flat else _third(at_y, ("bottom", "middle", "top")))
        x -= {"center": wide / 2, "right": wide}.get(said.get("xanchor", "left"), 0)
        y -= {"bottom": high, "middle": high / 2}.get(up, 0)
        y = min(max(y, 4), self.canvas.height - high)
        if title:
            self.canvas.words(title, x + 5, y + 10, "left", "middle", font)
            y += ROW
        for row in self.rows:
            left = x
            for size, group in row:
                for n, trace in enumerate(group):
                    self._key(trace, left, y + ROW * n + 10)
                    self.canvas.words(trace["name"], left + BEFORE, y + ROW * n + 10, "left", "middle", font)
                left += size
            y += ROW * max(len(group) for _, group in row)

    def _key(self, trace: dict, x: float, y: float) -> None:
        """What stands before a name in the legend."""
        line, colour, mode = trace.get("line", {}), trace["colour"], trace.get("mode", "lines+markers")
        colour = colour if isinstance(colour, str) else "#808080"
        if trace["type"] in ("bar", "box"):
            self.canvas.rect(x + 14, y - 6, 12, 12, colour)
            return
        if trace.get("fill", "none") != "none":
            self.canvas.rect(x + 5, y - 4, 30, 8, trace.get("fillcolor") or faint(colour))
        if "lines" in mode:
            d, ink = f"M{short(x + 5)},{short(y)}h30", line.get("color") or colour
            self.canvas.path(d, ink, line.get("width", 2), dash=line.get("dash", ""))
        if "markers" in mode:
            marker = trace.get("marker", {})
            size, symbol = marker.get("size", 6), marker.get("symbol", "circle")
            constant = self.legend.get("itemsizing") == "constant"
            size = 11 if constant else min(size, 16) if isinstance(size, (int, float)) else 9
            one = {"size": size, "symbol": symbol if isinstance(symbol, str) else "circle"}
            one |= {"line": marker.get("line", {}), "opacity": marker.get("opacity", 1)}
            markers(self.canvas, one, np.array([x + 20]), np.array([y]), colour, 1, self.layout)


def _trace(trace: dict, defaults: Mapping, colour: str) -> dict:
    """A trace with its template's defaults, and with its colour."""
    kind = trace.get("type", "scatter").removesuffix("gl")
    whole = merged((defaults.get(kind) or [{}])[0], trace)
    line, marker = trace.get("line", {}).get("color"), trace.get("marker", {}).get("color")
    marker = marker if isinstance(marker, str) or (kind == "bar" and marker is not None) else None
    first = (line, marker) if kind == "scatter" and "lines" in whole.get("mode", "lines") else (marker, line)
    first_ink = next((ink for ink in first if ink is not None), colour)
    if kind == "scatter" and "mode" not in whole:
        few = np.size(numbers(next((trace[along] for along in "yx" if trace.get(along) is not None), ()))) < 20
        whole["mode"] = "lines+markers" if few else "lines"
    return whole | {"type": kind, "colour": first_ink, "name": str(trace.get("name") or "")}


def _third(share: float, names: tuple[str, str, str]) -> str:
    """How Plotly holds what stands at a share of the width or the height."""
    return names[int(min(2, max(0, share * 3)))]


def _at(place: Any) -> str:
    return f"{short(place[0])},{short(place[1])}"
