"""Where an explorer shows what went wrong: below the row of the control that was used."""

from __future__ import annotations

import html
import traceback
from collections.abc import Sequence

import ipywidgets as widgets

from lab.errors import LabError

BOX = (
    '<div role="alert" style="border-left: 4px solid #c62828; background: #fdecea; color: #611a15;'
    ' padding: 4px 10px; line-height: 1.4">{}</div>'
)


class ErrorArea(widgets.HTML):
    """Empty, or the message of the last error."""

    def __init__(self):
        super().__init__()
        self.add_class("lab-error")

    def show(self, error: Exception) -> None:
        """The message of an error of the lab's own, the traceback of any other."""
        text = html.escape(str(error) or type(error).__name__)
        if not isinstance(error, LabError):
            trace = html.escape("".join(traceback.format_exception(error)))
            text = f"{type(error).__name__}: {text}<details><summary>where</summary><pre>{trace}</pre></details>"
        self.value = BOX.format(text)

    def place(self, parts: Sequence[widgets.Widget], control: widgets.Widget | None) -> None:
        """Below the one of these parts that holds a control, where the eyes are; below all where none does.

        The parts have the even places on the page (`place_all`), so that an odd one is free below each.
        """
        place = len(parts) - 1
        for number, part in enumerate(parts):
            if control is not None and part is not self and _holds(part, control):
                place = number
        self.layout.order = str(2 * place + 1)


def place_all(parts: Sequence[widgets.Widget]) -> None:
    """Give parts of a page their places below each other, and leave one free below each."""
    for number, part in enumerate(parts):
        part.layout.order = str(2 * number)


def _holds(part: widgets.Widget, control: widgets.Widget) -> bool:
    return part is control or any(_holds(child, control) for child in getattr(part, "children", ()))
