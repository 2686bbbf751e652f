"""Print: the size of a column and of its text, a drawing with its font in it, and labels that meet."""

import base64
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from lab.plots.svg.canvas import BREAK, KEY, Canvas, Label, width

INCHES = 3.25
WIDTH = 366.0  # px that are drawn on these inches: so 11 px are 7 pt
POINT = INCHES * 72 / WIDTH  # pt a px
SIZES = (7.0, 9.0)  # pt of text; an exponent has 0.7 of it
FONT = "DejaVu Sans Condensed"


def paper(canvas: Canvas, title: str = "") -> str:
    """A drawing as SVG for print: on white, with its font in it, and as wide as it will be."""
    faces = "".join(
        f'@font-face{{font-family:"{FONT}";font-weight:{weight};src:url(data:font/woff2;base64,{_font(name)})}}'
        for name, weight in (("regular", "normal"), ("bold", "bold"))
    )
    high = canvas.height * INCHES / WIDTH
    size = f'width="{INCHES}in" height="{high:.3f}in" viewBox="0 0 {canvas.width:g} {canvas.height:g}"'
    family = f'font-family="{FONT}, Arial, sans-serif" style="font-kerning:none"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {family} role="img">'
    return (
        f"{head}<title>{escape(title, quote=False)}</title><style>{faces}</style>{''.join(canvas.parts)}</svg>".replace(
            KEY, "column"
        )
    )


def _font(name: str) -> str:
    """Letters that figures use, of DejaVu Sans Condensed, whose licence is in the file."""
    return base64.b64encode((Path(__file__).parent / "svg" / f"{name}.woff2").read_bytes()).decode()


def crowded(canvas: Canvas) -> list[str]:
    """Labels that meet another one or leave the picture, in words."""
    problems = [f"{label.text!r} leaves the picture" for label in canvas.labels if _leaves(label, canvas)]
    boxes = [(label, *label.corners.min(0), *label.corners.max(0)) for label in canvas.labels]
    boxes.sort(key=lambda box: box[1])
    for n, (one, _, top, right, bottom) in enumerate(boxes):
        for other, left, above, _, below in boxes[n + 1 :]:
            if left >= right - 0.5:
                break
            if above < bottom - 0.5 and below > top + 0.5 and meet(one.corners, other.corners):
                problems.append(f"{one.text!r} meets {other.text!r}")
    return problems


def _leaves(label: Label, canvas: Canvas) -> bool:
    return bool((label.corners < -0.5).any() or (label.corners > (canvas.width + 0.5, canvas.height + 0.5)).any())


def meet(one: Any, two: Any, least: float = 0.5) -> bool:
    """Whether two rectangles, turned at will, have more than so many px in common: no side of either parts them."""
    for box in (one, two):
        for start, end in ((0, 1), (1, 2)):
            way = box[end] - box[start]
            across = [corners @ (way / (np.hypot(*way) or 1)) for corners in (one, two)]
            if min(part.max() for part in across) - max(part.min() for part in across) <= least:
                return False
    return True


def wrapped(text: str, room: float, size: float) -> str:
    """A text in lines of at most `room` px, if its words are so short; bold as it was.

    >>> wrapped("<b>one two</b>", 30, 12)
    '<b>one</b><br><b>two</b>'
    """
    bold = text.startswith("<b>") and text.endswith("</b>") and text.count("<b>") == 1
    inner = text[3:-4] if bold else text
    if not bold and width(text, size) <= room:
        return text
    tags = ("<b>", "</b>") if bold else ("", "")
    lines: list[str] = []
    for part in BREAK.split(inner):
        line = ""
        for word in part.split(" "):
            longer = f"{line} {word}".strip()
            if line and width(f"{tags[0]}{longer}", size) > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return "<br>".join(f"{tags[0]}{line}{tags[1]}" for line in lines)
