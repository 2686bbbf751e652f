"""Captions inside a plot, for images: wrapped to the width, in room added below everything that is drawn.

A page or a notebook wraps text by itself, so there the caption stands as text below the plot.
"""

from __future__ import annotations

import html
import textwrap
from typing import TYPE_CHECKING

from lab.figures.style import SIZE

if TYPE_CHECKING:  # imported where a figure is drawn
    import plotly.graph_objects as go

LINE = 1.4 * SIZE  # px from one line to the next
GLYPH = 0.53 * SIZE  # px of an average character, with room for wide fonts: Liberation Sans has 0.44 of its size
EDGE = 12  # px left, right and below


def wrap(text: str, width: int) -> list[str]:
    """Lines of `text` that fit into `width` px; line breaks of the text are kept.

    >>> wrap("one two three", 100)
    ['one two', 'three']
    """
    letters = max(12, int((width - 2 * EDGE) / GLYPH))
    return [line for part in text.splitlines() for line in textwrap.wrap(part, letters) or [""]]


def captioned(figure: go.Figure, caption: str, width: int) -> go.Figure:
    """A copy of the figure, `width` px wide, made taller by a caption below it.

    The room below the axes stays as it is: the caption starts under it, whatever its number of lines.
    """
    import plotly.graph_objects as go

    copy = go.Figure(figure)
    lines = wrap(caption, width)
    margin, room = copy.layout.margin, EDGE + LINE * len(lines)
    left, bottom = margin.l, margin.b
    if None in (left, bottom, copy.layout.height):
        raise ValueError("a figure needs its height and its left and bottom margins in px to get a caption")
    copy.add_annotation(
        name="caption",
        text="<br>".join(html.escape(line, quote=False) for line in lines),
        showarrow=False,
        align="left",
        font={"size": SIZE},
        xref="paper",
        x=0,
        xanchor="left",
        xshift=EDGE - left,
        yref="paper",
        y=0,
        yanchor="top",
        yshift=-bottom,
    )
    copy.update_layout(width=width, height=copy.layout.height + room, margin={"b": bottom + room})
    return copy


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "search", "searches"), counted(1200, "run")
    ('1 search', '1,200 runs')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def reading(figure: go.Figure) -> str:
    """How to read the plot, as its plot function left it: what lines, bands and numbers are."""
    return (figure.layout.meta or {}).get("reading", "")


def set_reading(figure: go.Figure, *sentences: str) -> None:
    """Leave the key to the plot in its metadata, from where captions take it."""
    figure.update_layout(meta={"reading": " ".join(sentence for sentence in sentences if sentence)})
