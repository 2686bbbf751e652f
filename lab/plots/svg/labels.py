"""Labels of a picture: those that meet, and texts in lines."""

from typing import Any

import numpy as np

from lab.plots.svg.canvas import BREAK, Canvas, Label, width


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
