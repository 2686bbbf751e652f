"""What a saved notebook shows of an explorer where no kernel is: in words what is seen, and a picture of it.

A notebook keeps three outputs of an explorer: the words, the picture, which the page sends while the explorer is on it,
and the explorer. Where the explorer lives, the page hides the first two (notebook.css). Where it cannot, JupyterLab
writes a message in its place; the style that comes with the words hides that.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from IPython.display import display

CHILD, WORDS = ".jp-OutputArea-child", ".jp-OutputArea-child:has(.lab-words)"
EMPTY = ":not(:has(> .jp-OutputArea-output *))"  # no element in it, at most a message
STYLE = f"{WORDS} + {CHILD}{EMPTY}, {WORDS} + {CHILD} + {CHILD}{EMPTY} {{ display: none; }}"
HTML = """<div class="lab-words"><style>{style}</style><b>{heading}</b>{settings}{status}
<p><small>As it was left; run this cell to use it.</small></p></div>"""
NOTHING = {"text/html": "", "text/plain": ""}


class Still:
    """The words and the picture of an explorer in one place of a notebook, from the words on."""

    def __init__(self, heading: str, settings: Sequence[tuple[str, str]], status: str):
        self._words: Any = display(_words(heading, settings, status), raw=True, display_id=True)
        self._picture: Any = display(NOTHING, raw=True, display_id=True)

    def update(self, heading: str, settings: Sequence[tuple[str, str]], status: str, picture: str, width: int) -> None:
        """picture: a PNG as base64, for `width` px of the page; narrower pages scale it."""
        self._words.update(_words(heading, settings, status), raw=True)
        data = {"image/png": picture, "text/plain": heading}
        self._picture.update(data, metadata={"image/png": {"width": width}}, raw=True)


def as_line(settings: Sequence[tuple[str, str]]) -> str:
    """What a picture says about itself, as HTML."""
    items = "".join(f"<dt>{html.escape(name)}: </dt><dd>{html.escape(value)}</dd>" for name, value in settings)
    return f"<dl>{items}</dl>" if items else ""


def _words(heading: str, settings: Sequence[tuple[str, str]], status: str) -> dict[str, str]:
    """status: HTML."""
    line = " · ".join(f"{html.escape(name)}: {html.escape(value)}" for name, value in settings)
    line = f"<br>{line}" if line else ""
    return {
        "text/html": HTML.format(style=STYLE, heading=html.escape(heading), settings=line, status=status),
        "text/plain": heading,
    }
