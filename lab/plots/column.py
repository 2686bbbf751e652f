"""A figure as wide as a column of a paper: its panels, in one or two columns, and its text, large enough to be read.

Panels are placed as their labels need: a first picture is drawn, what its labels take around each panel is measured,
and the next one is placed by it. Of the arrangements the first is taken in which no label meets another.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from lab.plots.style import LEGEND_ABOVE
from lab.plots.svg.axes import Axis, numbers
from lab.plots.svg.canvas import Canvas, Label, plain_text, width
from lab.plots.svg.drawing import CELLS, ROW, Drawing
from lab.plots.svg.labels import meet, wrapped

INCHES = 3.25
WIDTH = 366.0  # px that are drawn on these inches: so 11 px are 7 pt
POINT = INCHES * 72 / WIDTH  # pt a px
SIZES = (7.0, 9.0)  # pt of text; an exponent has 0.7 of it
EDGE, GAP, LINE = 3.0, 10.0, 15.0  # px: around all, between panels with their labels, of a line of text
ROUNDS = 4  # of measuring and placing
LEAST = 32.0  # px of a panel's width
BAR = 31.0  # px of a colour bar with its numbers


@dataclass
class Panel:
    """Axes in one place, and what stands at them. old, new: left, right, top and bottom in px, as in the figure and in
    the column. room: what labels take left, right, above and below."""

    axes: set[str]
    old: tuple[float, float, float, float]
    notes: list[int] = field(default_factory=list)
    new: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    room: tuple[float, float, float, float] = (30.0, 6.0, 6.0, 24.0)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in the figure."""
        return self.old[1] - self.old[0], self.old[3] - self.old[2]


class Column:
    """One arrangement of a figure's panels, so many beside each other, and its drawing."""

    def __init__(self, figure: Mapping, columns: int | None, stretch: float = 1.0):
        self.stretch, self.flips = stretch, 0
        self.canvas: Canvas | None = None
        self.traces = [deepcopy(trace) for trace in figure["data"] if trace.get("visible", True) is True]
        self.layout: dict[str, Any] = deepcopy(dict(figure["layout"]))
        self.layout = {name: value for name, value in self.layout.items() if value is not None}
        first = Drawing(self.traces, {"width": 600} | self.layout, 600)
        self.first = first
        self.notes = self.layout["annotations"] = [dict(note) for note in self.layout.get("annotations", ())]
        self.texts = [str(note.get("text", "")) for note in self.notes]
        self.panels = list(_panels(first))
        self._say_axes()
        self._assign_notes()
        self.rows = self._rows(columns)
        self._fit_sizes()
        if columns:
            self._show_hidden()
        for trace in self.traces:
            cells = any(self._cells(panel) > 1 for panel in self.panels if self._is_in(trace, panel))
            if cells and "text" in (trace.get("mode") or "") and not isinstance(trace["text"], str):
                trace["text"] = [re.sub("(?<=[±>]) ", "", str(text)) for text in trace["text"]]
        self.bars = list(self._colour_bars())
        self.layout["legend"] = dict(self.layout.get("legend") or {}) | LEGEND_ABOVE | {"orientation": "h", "x": 0.0}
        self.layout |= {"margin": dict.fromkeys("lrtb", 0), "width": WIDTH}
        for _ in range(ROUNDS):
            self.canvas = self._placed().draw(data=False)
            self._measure()
        self.canvas = self._placed().draw()
        while self.flips < 2 and self._flip():
            self.canvas, self.flips = self._placed().draw(), self.flips + 1
        self.cut = self._cut()

    def _say_axes(self) -> None:
        """Each axis with all that its template says."""
        for name in self.first.names:
            said = dict(self.first.axes[name].said) | {"automargin": False}
            said["title"] = dict(said.get("title") or {})
            self.layout[f"{name[0]}axis{name[1:]}"] = said
        self.titles = {name: str(self._axis(name)["title"].get("text") or "") for name in self.first.names}

    def _axis(self, name: str) -> dict:
        return self.layout[f"{name[0]}axis{name[1:]}"]

    def _assign_notes(self) -> None:
        """Each annotation to the panel that it stands at."""
        for n, note in enumerate(self.notes):
            refs = [str(note.get(f"{along}ref", along)).partition(" ")[0] for along in "xy"]
            here = [panel for panel in self.panels if panel.axes & set(refs)] or self.panels
            if self.first._known(note) is None:
                continue
            x, y = self._at(n)

            def away(panel: Panel, x: float = x, y: float = y) -> float:
                left, right, top, bottom = panel.old
                sideways, upright = max(left - x, x - right, 0.0), max(top - y, y - bottom, 0.0)
                return sideways + upright + 0.01 * abs(y - top) + 0.001 * abs(x - left)

            min(here, key=away).notes.append(n)

    def _rows(self, columns: int | None) -> list[list[Panel]]:
        """The panels in rows, in the order in which they are read."""
        tops: list[list[Panel]] = []
        for panel in sorted(self.panels, key=lambda panel: (panel.old[2], panel.old[0])):
            if tops and abs(tops[-1][0].old[2] - panel.old[2]) < 3:
                tops[-1].append(panel)
            else:
                tops.append([panel])
        tops = [sorted(row, key=lambda panel: panel.old[0]) for row in tops]
        if columns is None or columns >= max(map(len, tops)) or self._has_column_heads(tops):
            return tops
        if len({len(row) for row in tops[:-1]} | {len(tops[-1])}) > 2 or any(row[0].size[0] > 260 for row in tops):
            return [row[n : n + columns] for row in tops for n in range(0, len(row), columns)]
        every = [panel for row in tops for panel in row]
        return [every[n : n + columns] for n in range(0, len(every), columns)]

    def _has_column_heads(self, rows: list[list[Panel]]) -> bool:
        """Whether panels of the first row alone have a title, which stands for all panels below it."""
        titled = [sum(any(self._is_head(n) for n in panel.notes) for panel in row) for row in rows]
        return len(rows) > 1 and titled[0] > 1 and not any(titled[1:])

    def _is_head(self, n: int) -> bool:
        """Whether an annotation stands above its panel."""
        note = self.notes[n]
        above = note.get("yref") == "paper" or str(note.get("yref")).endswith("domain")
        return above and note.get("yanchor") == "bottom" and not note.get("showarrow", False)

    def _spans(self, n: int, panel: Panel) -> bool:
        """Whether a title is that of a row: no other panel of the row has one at this height."""
        shifts = [note.get("yshift", 0) for note in self.first.layout["annotations"]]
        row = next(row for row in self.rows if any(one is panel for one in row))
        others = [m for one in row if one is not panel for m in one.notes if self._is_head(m)]
        return row[0] is panel and bool(others) and all(shifts[m] < shifts[n] for m in others)

    def _is_inside(self, n: int, panel: Panel) -> bool:
        """Whether an annotation is held at a place within its panel."""
        (x, y), shift = self._at(n), self.first.layout["annotations"][n].get("yshift", 0)
        return panel.old[0] <= x <= panel.old[1] and panel.old[2] <= y - shift < panel.old[3]

    def _at(self, n: int) -> tuple[float, float]:
        """Where an annotation is held in the figure, in px."""
        note = self.first.layout["annotations"][n]
        x, y = (self.first._place(along, str(note.get(f"{along}ref", along)), note.get(along, 0.5)) for along in "xy")
        return x, y

    def _fit_sizes(self) -> None:
        """Every text at a size that can be read, and not larger."""
        for note in self.notes:
            note.setdefault("font", {})
        axes = [self._axis(name) for name in self.first.names]
        for part in (*self.notes, *self.traces, *axes, *(axis["title"] for axis in axes)):
            for name in ("font", "textfont", "tickfont"):
                size = (part.get(name) or {}).get("size")
                if isinstance(size, (int, float)):
                    part[name] = dict(part[name]) | {"size": min(max(size, SIZES[0] / POINT), SIZES[1] / POINT)}

    def _show_hidden(self) -> None:
        """Labels and titles that panels share with their neighbours stand at those that are first now."""
        leads: dict[str, str] = {}  # the axis whose labels an axis has
        for panel in self.panels:
            for along, side in (("x", 0), ("y", 2)):
                same = [one for one in self.panels if abs(one.old[side] - panel.old[side]) < 3]
                others = [name for one in same for name in sorted(one.axes) if name[0] == along]
                for name in (name for name in panel.axes if name[0] == along):
                    if not self._axis(name).get("overlaying"):
                        self.titles[name] = self.titles[name] or next(filter(None, map(self.titles.get, others)), "")
                        hidden = self._axis(name).get("showticklabels") is False
                        of = [one for one in others if hidden and self._shares(name, one)]
                        leads[name] = next((one for one in of if self._axis(one).get("showticklabels", True)), name)
        titles = dict(self.titles)
        for r, row in enumerate(self.rows):
            for c, panel in enumerate(row):
                below = self.rows[r + 1][c] if r + 1 < len(self.rows) and c < len(self.rows[r + 1]) else None
                for name in panel.axes & leads.keys():
                    neighbour = (row[c - 1] if c else None) if name[0] == "y" else below
                    others = [one for one in neighbour.axes if one in leads and one[0] == name[0]] if neighbour else []
                    self.titles[name] = "" if any(titles[one] == titles[name] for one in others) else titles[name]
                    if leads[name] != name:
                        labelled = not any(leads[one] == leads[name] for one in others)
                        lead = self._axis(leads[name])
                        said = {one: lead[one] for one in ("tickvals", "ticktext", "ticks") if labelled and one in lead}
                        self._axis(name).update(said, showticklabels=labelled)

    def _shares(self, name: str, other: str) -> bool:
        """Whether an axis has the labels of another one."""
        one, two = self._axis(name), self._axis(other)
        texts = [[*map(str, said.get("ticktext") or ())] for said in (one, two)]
        same = texts[0] == texts[1] != []
        places = [[*numbers(said.get("tickvals") or ())] for said in (one, two)]
        same = same or (not texts[0] and places[0] == places[1] != [] and one.get("range") == two.get("range"))
        return same or one.get("matches") == other or (one.get("matches") or name) == (two.get("matches") or other)

    def _colour_bars(self) -> Iterator[dict]:
        """The colour bars, each a row of its own below all panels."""
        axes = [self.layout[name] for name in list(self.layout) if name.startswith("coloraxis")]
        marks = [trace if trace["type"] in CELLS else trace.get("marker") or {} for trace in self.first.traces]
        alone = [
            (trace, mark)
            for trace, mark in zip(self.traces, marks, strict=True)
            if not mark.get("coloraxis") and mark.get("showscale", trace.get("type") in CELLS)
        ]
        for said in [*axes, *(trace if trace.get("type") in CELLS else trace["marker"] for trace, _ in alone)]:
            if said.get("showscale", True) and (said in axes or said.get("colorscale")):
                bar = said["colorbar"] = dict(said.get("colorbar") or {})
                title = bar.get("title") or {}
                bar["words"] = str(title if isinstance(title, str) else title.get("text") or "")
                bar |= {"orientation": "h", "xpad": 0, "yanchor": "top", "thickness": 9}
                yield bar

    def _wrap(self) -> None:
        """Titles in lines that fit their panels; ticks as many as fit."""
        axes = Drawing(self.traces, self.layout, int(WIDTH)).axes
        for panel in self.panels:
            wide, high = panel.new[1] - panel.new[0], panel.new[3] - panel.new[2]
            for trace, before in zip(self.traces, self.first.traces, strict=True):
                if before.get("mode") == "text" and self._is_in(trace, panel) and self._cells(panel) == 1:
                    size, texts = SIZES[0] / POINT, np.atleast_1d(before["text"])
                    trace["textfont"] = dict(trace.get("textfont") or {}) | {"size": size}
                    trace["text"] = [wrapped(str(text), wide, size) for text in texts]
            for n in panel.notes:
                note, size = self.notes[n], self.notes[n]["font"].get("size", 12)
                if self._is_head(n):
                    room = WIDTH - EDGE - panel.new[0] if self._spans(n, panel) else wide + 0.5 * panel.room[1]
                    note["text"] = wrapped(self.texts[n], room, size)
                elif note.get("textangle"):
                    note["text"] = wrapped(self.texts[n], high, size)
                elif self._is_inside(n, panel):
                    note["text"] = wrapped(self.texts[n], wide / self._cells(panel), size)
            heads = [n for n in panel.notes if self._is_head(n)]
            self._stack([n for n in heads if not self._spans(n, panel)])
            for n in (n for n in heads if self._spans(n, panel)):
                row = next(row for row in self.rows if row[0] is panel)
                below = [self.notes[m] for one in row for m in one.notes if self._is_head(m) and m != n]
                tops = [one.get("yshift", 0) + LINE * (1 + one["text"].count("<br>")) for one in below]
                self.notes[n]["yshift"] = max(self.first.layout["annotations"][n].get("yshift", 0), *tops)
            self._part([n for n in panel.notes if not self._is_head(n)])
            for name in panel.axes:
                said = self._axis(name)
                flat = name[0] == "x"
                size = (said["title"].get("font") or {}).get("size", 12)
                said["title"]["text"] = wrapped(self.titles[name], wide if flat else high + panel.room[2], size)
                self._thin(name, axes[name], wide if flat else high)

    def _cells(self, panel: Panel) -> int:
        """How many annotations stand in a row of a matrix; 1 where there is none."""
        counts = [
            np.shape(numbers(t["z"]))[1] for t in self.first.traces if t["type"] in CELLS and self._is_in(t, panel)
        ]
        return max(counts, default=1)

    def _boxes(self, notes: list[int]) -> dict[int, Any]:
        """The corners of annotations in the drawing before this one."""
        labels = self.canvas.labels if self.canvas else ()
        return {label.owner: label.corners for label in labels if isinstance(label.owner, int) and label.owner in notes}

    def _stack(self, heads: list[int]) -> None:
        """Lines above a panel that would meet: above each other."""
        ends = {n: (box[:, 0].min() - 4, box[:, 0].max()) for n, box in self._boxes(heads).items()}
        pairs = combinations(ends.values(), 2)
        if not any(one[0] < two[1] and two[0] < one[1] for one, two in pairs):
            return
        up, notes = 0.0, [self.notes[n] for n in heads]
        shifts = [note.setdefault("shift", note.get("yshift", 0)) for note in notes]
        order = sorted(zip(shifts, notes, strict=True), key=lambda pair: (pair[0], pair[1].get("xanchor") != "right"))
        for shift, note in order:
            note["yshift"] = max(shift, up)
            up = note["yshift"] + LINE * (1 + note["text"].count("<br>"))

    def _part(self, notes: list[int]) -> None:
        """Annotations in a panel that meet: the upper one moves up."""
        boxes = self._boxes(notes)
        for one, two in combinations(sorted(boxes, key=lambda n: boxes[n][:, 1].min()), 2):
            if meet(boxes[one], boxes[two]):
                more = float(boxes[one][:, 1].max() - boxes[two][:, 1].min()) + 1
                self.notes[one]["yshift"] = self.notes[one].get("yshift", 0) + more

    def _cut(self) -> list[tuple[Label, str, str]]:
        """Texts at points that reach over an end of their panel, which cuts them: the end, and the other one."""
        assert self.canvas is not None
        boxes = [
            (label, *label.corners[[0, 1], 0], *panel.new[:2])
            for panel in self.panels
            for label in self.canvas.labels
            if label.owner in {(x, y) for x in panel.axes for y in panel.axes}
        ]
        cut = [(label, "left", "right") for label, low, _, left, _ in boxes if low < left - 3]
        return cut + [(label, "right", "left") for label, _, high, _, right in boxes if high > right + 3]

    def _flip(self) -> bool:
        """Texts at points to the other side of them, where they meet or are cut; whether there was one."""
        assert self.canvas is not None
        texts = [label for label in self.canvas.labels if isinstance(label.owner, tuple)]
        upper = [
            (min(pair, key=lambda x: x.corners[:, 1].min()), "bottom", "top")
            for pair in combinations(texts, 2)
            if pair[0].owner == pair[1].owner and meet(pair[0].corners, pair[1].corners)
        ]
        flipped = False
        for label, side, other in upper + self._cut():
            for trace in self.traces:
                of = (trace.get("xaxis") or "x", trace.get("yaxis") or "y")
                place, given = trace.get("textposition"), trace.get("text")
                if of == label.owner and isinstance(place, str) and label.text in map(plain_text, given or ()):
                    turned = place.replace("middle" if side == "bottom" else "center", other)
                    trace["textposition"] = turned.replace(side, other)
                    flipped = flipped or trace["textposition"] != place
        return flipped

    def _thin(self, name: str, axis: Axis, length: float) -> None:
        """Fewer ticks on an axis whose labels would meet; long words stand upright below it."""
        said = self._axis(name)
        size = (said.get("tickfont") or {}).get("size", 12)
        ticks = axis.ticks()
        if len(ticks) < 2 or not said.get("showticklabels", True):
            return
        needed = [width(text, size) + 5 if name[0] == "x" else LINE - 2 for _, text in ticks]
        places = np.sort([axis.px(value) for value, _ in ticks])
        if min(np.diff(places)) >= max(needed):
            return
        texts = [text for _, text in ticks]
        if any(re.search(r"[^\W\d]{2}", text) for text in texts):
            said["tickangle"] = -90 if name[0] == "x" else 0
            return
        every = next((n for n in range(2, len(ticks)) if min(np.diff(places)) * n >= max(needed)), len(ticks))
        if said.get("tickvals") is None and axis.type == "linear":
            said.pop("dtick", None)
            said["nticks"] = max(1, int(length / max(needed)))
        else:
            values = [10.0**value if axis.type == "log" else value for value, _ in ticks]
            said["tickvals"], said["ticktext"] = values[::every], texts[::every]

    def _measure(self) -> None:
        """What the labels of each panel take around it."""
        assert self.canvas is not None
        for panel in self.panels:
            left, right, top, bottom = panel.new
            labels = [
                x
                for x in self.canvas.labels
                if x.owner in panel.axes or (x.owner in panel.notes and x.owner is not None)
            ]
            low = [label.corners.min(0) for label in labels] + [np.array([left, top])]
            high = [label.corners.max(0) for label in labels] + [np.array([right, bottom])]
            (x0, y0), (_, y1) = np.min(low, 0), np.max(high, 0)
            spans = [
                isinstance(x.owner, int) and self._is_head(x.owner) and self._spans(x.owner, panel) for x in labels
            ]
            x1 = max((far[0] for far, span in zip(high, [*spans, False], strict=True) if not span), default=right)
            panel.room = (max(left - x0, 1), max(x1 - right, 6), max(top - y0, 4), max(y1 - bottom, 4))

    def _placed(self) -> Drawing:
        """The figure with its panels where their labels leave them room."""
        count = max(map(len, self.rows))
        whole = [row for row in self.rows if len(row) == count]
        room = [[max(row[c].room[side] for row in whole) for c in range(count)] for side in (0, 1)]
        share = np.array([max(row[c].size[0] for row in whole) for c in range(count)])
        inner = WIDTH - 2 * EDGE - sum(map(sum, room)) - GAP * (count - 1)
        wides = share / share.sum() * max(inner, 20.0 * count)
        legend = ROW * self._legend_rows()
        self.is_narrow = bool(wides.min() < LEAST)
        y = EDGE + legend + (4 if legend else 0)
        for row in self.rows:
            is_wide = len(row) < count and sum(panel.size[0] for panel in row) > 0.75 * 520
            y += max(panel.room[2] for panel in row)
            high = max(self._height(panel, float(wides[0])) for panel in row)
            x = EDGE
            for c, panel in enumerate(row):
                left = panel.room[0] if is_wide else room[0][c]
                wide = WIDTH - 2 * EDGE - panel.room[0] - panel.room[1] if is_wide else float(wides[c])
                panel.new = (x + left, x + left + wide, y, y + high)
                x += left + wide + room[1][c] + GAP
            y += high + max(panel.room[3] for panel in row) + GAP
        places = []
        for bar in self.bars:
            left, right = 24.0, WIDTH - 24  # half a label beside it
            font = (bar.get("title") or {}).get("font") or {}
            text = wrapped(bar["words"], right - left, font.get("size", 12))
            bar["title"] = {"text": text, "font": font, "side": "top"}
            more = LINE * (1 + text.count("<br>")) if text else 0.0
            places.append((bar, y + more - (18 if text else 0)))
            bar |= {"x": (left + right) / 2 / WIDTH, "len": (right - left) / WIDTH}
            y += BAR + more
        self.layout["height"] = high = y + EDGE
        for bar, top in places:
            bar["y"] = 1 - top / high
        self._move(high)
        self._wrap()
        return Drawing(self.traces, self.layout, int(WIDTH))

    def _height(self, panel: Panel, wide: float) -> float:
        """A panel's height: as in the figure, but not much more than its width where nothing stands in rows."""
        rows = [len(numbers(self._axis(name).get("tickvals") or ())) for name in panel.axes if name[0] == "y"]
        rows += [
            len(numbers(trace["z"])) for trace in self.traces if trace.get("texttemplate") and self._is_in(trace, panel)
        ]
        least = LINE * (max(rows, default=0) + 0.5)
        if any(self._axis(name).get("scaleanchor") for name in panel.axes):
            return wide * panel.size[1] / panel.size[0]
        return self.stretch * min(panel.size[1], max(0.72 * wide, least, 60.0))

    def _is_in(self, trace: Mapping, panel: Panel) -> bool:
        return {trace.get("xaxis") or "x", trace.get("yaxis") or "y"} <= panel.axes

    def _legend_rows(self) -> int:
        drawing = Drawing(self.traces, self.layout | {"height": 100}, int(WIDTH))
        return round(drawing._legend_height / ROW) if drawing.rows else 0

    def _move(self, high: float) -> None:
        """Axes, annotations and shapes to the places of their panels."""
        for panel in self.panels:
            left, right, top, bottom = panel.new
            for name in panel.axes:
                ends = (left / WIDTH, right / WIDTH) if name[0] == "x" else (1 - bottom / high, 1 - top / high)
                self._axis(name)["domain"] = ends
            for n in panel.notes:
                note, said = self.notes[n], self.first.layout["annotations"][n]
                for along, size in (("x", WIDTH), ("y", high)):
                    if note.get(f"{along}ref") == "paper":
                        note[along] = self._at_new(panel, along, said.get(along, 0.5), size)

    def _at_new(self, panel: Panel, along: str, value: float, size: float) -> float:
        at = self.first._place(along, "paper", value)
        start, stop = panel.old[:2] if along == "x" else panel.old[2:]
        first, last = panel.new[:2] if along == "x" else panel.new[2:]
        near = start if at < start else stop if at > stop else None
        share = (at - start) / (stop - start)
        px = first + share * (last - first) if near is None else (first if near == start else last) + at - near
        return px / size if along == "x" else 1 - px / size


def _panels(drawing: Drawing) -> Iterator[Panel]:
    panels: dict[tuple, Panel] = {}
    pairs = [(trace.get("xaxis", "x"), trace.get("yaxis", "y")) for trace in drawing.traces]
    for x, y in dict.fromkeys(pairs):
        one, two = drawing.axes[x], drawing.axes[y]
        place = tuple(float(at) for at in (*drawing.ends(one), *drawing.ends(two)))
        panel = panels.setdefault(tuple(round(at) for at in place), Panel(set(), place))  # type: ignore[arg-type]
        panel.axes |= {x, y}
    yield from panels.values()
