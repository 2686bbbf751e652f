"""Views that the page draws by itself: in a notebook under controls of ipywidgets, and in a file under plain ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import anywidget
import ipywidgets as widgets
import numpy as np

from lab.widgets import modules

LISTED = (widgets.Dropdown, widgets.ToggleButtons, widgets.SelectionSlider)


class PageView(anywidget.AnyWidget):
    """A picture that its module in the page draws from its traits, and changes without asking the kernel.

    Subclasses name the module, `name`, and declare traits. What goes into a file is every trait of theirs.
    """

    name = ""

    def __init__(self, **traits: Any):
        super().__init__(**traits)
        self.links: list[tuple[widgets.Widget, str]] = []  # control and trait, in the order of the file's controls

    def follow(self, control: widgets.Widget, trait: str) -> None:
        """Let a trait and a control go together, in the page: the place of an option, or the value."""
        setattr(self, trait, getattr(control, _key(control)))
        widgets.jslink((control, _key(control)), (self, trait))
        self.links.append((control, trait))

    def data(self) -> dict[str, Any]:
        """Every trait of its own, as JSON has it; where one goes with a control, what the control says: without a page
        nothing else keeps them together."""
        common = anywidget.AnyWidget.class_trait_names()  # a widget has a class of its own: its traits are not told so
        names = [name for name in self.trait_names(sync=True) if name[0] != "_" and name not in common]
        values = {name: getattr(self, name) for name in names}
        return values | {trait: getattr(control, _key(control)) for control, trait in self.links}


def hosted_page(
    title: str,
    view: PageView,
    code: str,
    words: str = "",
    table: Mapping[str, Sequence] | None = None,
    below: Sequence[Mapping[str, Any]] = (),
) -> str:
    """A view as a page of its own: one file, without a server or a network.

    code: Python that opens the explorer again; words: HTML above; table: numbers to take away, by column; below: what
    further views hold, with their names as `view`; they stay as they are.
    """
    state = view.data() | {
        "view": view.name,
        "controls": [_declared(control, trait) for control, trait in view.links if _shown(control)],
        "code": code,
        "below": list(below),
        "table": None if table is None else {name: list(values) for name, values in table.items()},
    }
    return modules.page(title, "hosted.js", {"state": state}, words)


def _key(control: widgets.Widget) -> str:
    """What of a control goes with a trait."""
    return "index" if isinstance(control, LISTED) else "value"


def short(numbers: np.ndarray) -> list[float | None]:
    """Nine digits, all that float32 has; None for what is no number, since JSON has no word for it."""
    return [float(f"{number:.9g}") if isfinite(number) else None for number in numbers]


def _shown(control: widgets.Widget) -> bool:
    return control.layout.display != "none"


def _declared(control: widgets.Widget, trait: str) -> dict[str, Any]:
    """A control as the page makes one."""
    named = {"trait": trait, "label": control.description}
    if isinstance(control, LISTED):
        return named | {"kind": "menu", "options": [str(label) for label in control._options_labels]}
    if isinstance(control.value, bool):
        return named | {"kind": "check"}
    return named | {"kind": "range", "min": control.min, "max": control.max, "step": control.step}
