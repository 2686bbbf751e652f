"""What a picture is drawn with: lines, areas, text, colours, small pictures."""

import base64
import json
import re
import struct
import zlib
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lab.plots.style import FONT

DASHES = {"dash": (3, 3), "dot": (1, 1), "dashdot": (3, 1, 1, 1), "longdash": (5, 5), "longdashdot": (5, 2, 1, 2)}
KEY = "\0"  # in names and rules: stands for what tells a picture from the others of a page
# In a page a picture is as dark as the page says that it is; alone, or as an image, it follows who shows it (:root).
STYLE = """#\0:root{color-scheme:light dark}#\0 .ground{fill:light-dark(#fff,#16181b)}
#\0 :is([fill="#222222"],[fill="#000000"]){fill:light-dark(#222,#ddd)}
#\0 :is([stroke="#222222"],[stroke="#000000"]){stroke:light-dark(#222,#ddd)}
#\0 :is([stroke="#E4E4E4"],[stroke="#F2F2F2"]){stroke:light-dark(#e4e4e4,#3d3d3d)}
#\0 [stroke="#0072B2"]{stroke:light-dark(#0072b2,#2488cc)}#\0 [fill="#0072B2"]{fill:light-dark(#0072b2,#2488cc)}"""
SHARE = {"left": 0.0, "center": 0.5, "right": 1.0}
_TAG = re.compile(r"</?(b|i|sup|sub|span|strong|em)\b[^>]*>", re.IGNORECASE)
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SPANS = {"sup": 'font-size="70%" dy="-.4em"', "sub": 'font-size="70%" dy=".3em"'}
_SPANS |= dict.fromkeys(("b", "strong"), 'font-weight="bold"') | dict.fromkeys(("i", "em"), 'font-style="italic"')


class Label(NamedTuple):
    """Where a text stands. owner: the axis, annotation or other part that it belongs to. corners: (4, 2), in px."""

    text: str
    owner: Hashable
    corners: Any


class Canvas:
    """Parts of an SVG, in the order in which they are drawn. Places are in px from the upper left corner."""

    def __init__(self, width: float, height: float, ink: str):
        self.width, self.height, self.ink = width, height, ink
        self.parts: list[str] = []
        self.labels: list[Label] = []
        self.owner: Hashable = None  # of the labels that are drawn next
        self.rect(0, 0, width, height, "#fff", 'class="ground"')

    def text(self) -> str:
        """The whole picture; its names and rules are its own, also where one page has several."""
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        head = f'<svg id="{KEY}" xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img"'
        look = f'style="max-width:100%;height:auto"><style>{STYLE}</style>'
        whole = f"{head} {look}{''.join(self.parts)}</svg>"
        return whole.replace(KEY, f"plot-{sha256(whole.encode()).hexdigest()[:12]}")

    def path(
        self, d: str, ink: str | None, wide: float = 1, fill: str = "none", dash: str = "", opacity: float = 1
    ) -> None:
        """A path. dash: as Plotly names it; "round": points are round. ink None: it is filled alone."""
        stroke = f' stroke="{ink}" stroke-width="{wide:g}" stroke-linejoin="round"' if ink and wide else ""
        lengths = ",".join(f"{by * max(wide, 3):g}" for by in DASHES.get(dash, ())) if not dash[:1].isdigit() else dash
        stroke += f' stroke-dasharray="{lengths}"' if lengths else ""
        stroke += ' stroke-linecap="round"' if dash == "round" else ""
        stroke += f' opacity="{opacity:g}"' if opacity != 1 else ""
        self.parts.append(f'<path d="{d}" fill="{fill}"{stroke}/>')

    def rect(self, x: float, y: float, wide: float, high: float, fill: str, more: str = "") -> None:
        place = f'x="{short(x)}" y="{short(y)}" width="{short(wide)}" height="{short(high)}"'
        self.parts.append(f'<rect {place} fill="{fill}" {more}/>'.replace(" />", "/>"))

    def words(
        self,
        text: str,
        x: float,
        y: float,
        across: str,
        up: str,
        font: Mapping,
        angle: float = 0,
        align: str | None = None,
        ground: str | None = None,
    ) -> None:
        """Lines of text, held at their left, center or right, and at their top, middle or bottom."""
        size, lines = font.get("size", 12), BREAK.split(str(text))
        wide = width(text, size)
        left = x - SHARE[across] * wide
        if len(lines) > 1:
            across = align or across
        below = (len(lines) - 1) * 1.3 * size
        first = y + {"top": size, "middle": 0.35 * size - below / 2, "bottom": -0.3 * size - below}[up]
        if ground:
            self.rect(left - 2, first - size, wide + 4, below + 1.3 * size + 2, ground)
        if plain_text(text).strip():
            ends = [(left, first - 0.76 * size), (left + wide, first + below + 0.2 * size)]
            corners = np.array([(ends[a][0], ends[b][1]) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]) - (x, y)
            sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
            turned = corners @ np.array([[cosine, sine], [-sine, cosine]]) + (x, y)
            self.labels.append(Label(plain_text(text), self.owner, turned))
        anchor = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}[across]
        turn = f' transform="rotate({angle:g} {short(x)} {short(y)})"' if angle else ""
        held = short(left + SHARE[across] * wide)
        for n, line in enumerate(lines):
            place = f'x="{held}" y="{short(first + n * 1.3 * size)}" font-size="{size:g}"'
            self.parts.append(f'<text {place} fill="{font.get("color", self.ink)}"{anchor}{turn}>{_spans(line)}</text>')


def short(value: float) -> str:
    """A length with one digit after the point.

    >>> short(3.0), short(1 / 3)
    ('3', '0.3')
    """
    return f"{value:.1f}".removesuffix(".0")


def width(text: str, size: float) -> float:
    """How wide a text is in px, in the lab's font; in another one, about."""
    return size * max(
        sum(_ems("<b>" in line).get(letter, 0.6) for letter in plain_text(line)) for line in BREAK.split(str(text))
    )


def plain_text(text: str) -> str:
    """A text without Plotly's tags, its lines separated by spaces.

    >>> plain_text("<b>a &lt; b</b><br>c")
    'a < b c'
    """
    return unescape(_TAG.sub("", BREAK.sub(" ", str(text))))


@cache
def _ems(bold: bool) -> dict[str, float]:
    """The width of each letter, in sizes of the font."""
    known = json.loads(Path(__file__).with_name("widths.json").read_text(encoding="utf-8"))
    return {c: units / 2048 for c, units in zip(known["letters"], known["bold" if bold else "regular"], strict=True)}


def _spans(line: str) -> str:
    """Plotly's tags as SVG has them; everything else is text."""
    out, start, opened = [], 0, 0
    for tag in _TAG.finditer(line):
        out.append(escape(unescape(line[start : tag.start()]), quote=False))
        start, closes = tag.end(), tag[0].startswith("</")
        out.append(f"<tspan {_SPANS.get(tag[1].lower(), '')}>" if not closes else "</tspan>" if opened else "")
        opened = max(0, opened + (-1 if closes else 1))
    return "".join(out) + escape(unescape(line[start:]), quote=False) + "</tspan>" * opened


def rgb(ink: str) -> list[float]:
    """Red, green and blue of "#rgb", "#rrggbb" and "rgb(r, g, b)"."""
    if ink.startswith("#"):
        ink = ink if len(ink) > 4 else "#" + "".join(2 * digit for digit in ink[1:])
        return [int(ink[i : i + 2], 16) for i in (1, 3, 5)]
    return [float(number) for number in re.findall(r"[\d.]+", ink)[:3]]


def colours(scale: Sequence, at: Any) -> Any:
    """Colours of a scale at shares of it, (..., 3).

    >>> colours([(0, "#000"), (1, "#fff")], 0.5).tolist()
    [127.5, 127.5, 127.5]
    """
    stops, inks = [stop for stop, _ in scale], np.array([rgb(ink) for _, ink in scale])
    return np.stack([np.interp(at, stops, inks[:, channel]) for channel in range(3)], axis=-1)


def faint(ink: str) -> str:
    """A colour at half its strength."""
    return f"rgba({','.join(f'{channel:g}' for channel in rgb(ink))},.5)" if ink[0] == "#" or "rgb(" in ink else ink


def png(index: Any, palette: Any) -> str:
    """A picture of few colours as PNG, in base64. index: (rows, columns); 0 is transparent. palette: (colours, 3)."""
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in index.astype(np.uint8)), 9)
    parts = [b"IHDR" + struct.pack(">IIBBBBB", index.shape[1], index.shape[0], 8, 3, 0, 0, 0)]
    parts += [b"PLTE" + np.clip(palette, 0, 255).astype(np.uint8).tobytes(), b"tRNS\0", b"IDAT" + packed, b"IEND"]
    chunks = (struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in parts)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()
