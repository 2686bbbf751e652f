"""A figure for a column of a paper: the arrangement of its panels that fits, with its font in the file."""

import base64
from collections.abc import Mapping
from html import escape
from pathlib import Path

from lab.errors import ArgumentError
from lab.plots.column import INCHES, WIDTH, Column
from lab.plots.svg.canvas import KEY, Canvas
from lab.plots.svg.known import is_known
from lab.plots.svg.labels import crowded

# Panels beside each other (None: as in the figure), and how much higher they are; the first that fits is taken
ARRANGEMENTS = ((None, 1.0), (None, 1.5), (3, 1.0), (2, 1.0), (2, 1.5), (1, 1.0), (1, 1.5), (None, 2.2), (1, 2.2))
MANY = 1000  # labels that meet are as bad as a panel that is too narrow
FONT = "DejaVu Sans Condensed"


def column(figure: Mapping) -> Canvas:
    """A figure, as `go.Figure.to_dict` gives it, drawn for a column. ArgumentError where it cannot be.

    >>> canvas = column({"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"height": 300}})
    >>> canvas.width, crowded(canvas)
    (366.0, [])
    """
    if not is_known(figure):
        raise ArgumentError("this figure has something that is drawn by a browser alone; give it the width of a page")
    best, fewest = None, 0
    for columns, stretch in ARRANGEMENTS:
        arrangement = Column(figure, columns, stretch)
        canvas = arrangement.canvas
        assert canvas is not None
        problems = len(crowded(canvas)) + len(arrangement.cut) + MANY * arrangement.is_narrow
        if best is None or problems < fewest:
            best, fewest = canvas, problems
        if not problems:
            break
    assert best is not None
    return best


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
