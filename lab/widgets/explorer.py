"""The shell that all explorers share: controls in, figures out, one lock, one place where errors show.

A callback of a widget runs on another thread than the cells (JupyterLab ≥ 4.4), where torch's grad mode is the default
one and where an exception would vanish. So every callback goes through `safely`.
"""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pprint import pformat
from typing import Any

import ipywidgets as widgets
import plotly.graph_objects as go
import torch
from IPython.core.getipython import get_ipython

from lab import temporary
from lab.errors import ArgumentError, LabError, absolute_path, listed, shown
from lab.widgets.error_area import ErrorArea, place_all
from lab.widgets.state import controls_of, put, read
from lab.widgets.still import Still
from lab.widgets.tools import Tools

ROW = {"flex_flow": "row wrap", "align_items": "center", "grid_gap": "2px 14px"}
LABEL = {"description_width": "initial"}  # labels as long as they are: ipywidgets would cut them at 80 px
ROUNDS = 4  # of setting controls that depend on each other
CODE = "import lab\n\nlab.explore({source}, state={state})\n"


@dataclass(frozen=True)
class Frames:
    """What a saved page shows: for each option of a menu its parts, figures and HTML. One option needs no menu.

    menu: its name. shown: the option that the page begins with; default: the first.
    """

    menu: str
    parts: Mapping[str, Sequence[go.Figure | str]]
    shown: str = ""


class Explorer(widgets.VBox):
    """A column of rows of controls, the figures, a line that says what is shown, and an area for errors.

    Subclasses make their controls and figures, hand them to `arrange`, and connect them with `watch` and `press`.
    """

    forgotten: tuple[str, ...] = ()  # controls that are no part of what is shown
    source = ""  # what `lab.explore` was given, as Python

    def __init__(self):
        self.lock = threading.RLock()  # held by whoever changes what is shown
        self.status = widgets.HTML()
        self.error = ErrorArea()
        self._depth = 0
        self._quiet: int | None = None  # the thread that sets controls
        self._still: Still | None = None  # what shows the view where there is no kernel
        self.tools = Tools(name=type(self).__name__)
        self.tools.on_msg(self._asked)
        super().__init__(layout={"width": "100%", "overflow": "hidden"})
        self.add_class("lab-explorer")

    def arrange(self, *parts: widgets.Widget | list[widgets.Widget]) -> None:
        """Show these parts below each other; a list is a row of controls that wraps where the page is narrow."""
        rows = [_row(part) for part in parts]
        self.children = [*rows, self.status, self.error, self.tools]
        place_all(self.children)

    def watch(self, redraw: Callable[[], None], *controls: widgets.Widget) -> None:
        """Call `redraw` when one of the controls has a new value.

        Where changes come faster than they are drawn, only the newest is: a call that finds a newer one waiting for
        the lock leaves the work to it.
        """
        newest = 0

        def changed(change) -> None:
            nonlocal newest
            if self._quiet == threading.get_ident():
                return
            newest += 1  # before the lock, so that whoever holds it or waits for it can see that it is stale
            mine = newest
            with self.safely(change.owner):
                if mine == newest:
                    redraw()

        for control in controls:
            control.observe(changed, "value")

    def press(self, action: Callable[[], None], button: widgets.Button) -> None:
        """Call `action` when the button is pressed."""

        def pressed(_) -> None:
            with self.safely(button):
                action()

        button.on_click(pressed)

    @contextmanager
    def safely(self, control: widgets.Widget | None = None) -> Iterator[None]:
        """Hold the lock, without gradients; an exception ends in the error area, the next success clears it.

        control: what was used; an error shows below the row that it is in.
        """
        with self.lock, torch.no_grad():
            self._depth += 1  # one control may set another: only the outermost of such calls clears the area
            try:
                if self._depth == 1:
                    self.error.value = ""
                yield
            except Exception as error:
                self.error.place(self.children, control)
                self.error.show(error)
            finally:
                self._depth -= 1

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Set controls here without the redraws that a person's moving them would cause."""
        with self.lock:
            before, self._quiet = self._quiet, threading.get_ident()
            try:
                yield
            finally:
                self._quiet = before

    @property
    def state(self) -> dict[str, Any]:
        """What is shown, as a small dictionary that JSON can hold: what controls are set to, what was chosen or drawn.

        Given back, here or as `lab.explore(x, state=…)`, it shows the same. Raises ArgumentError for a state that does
        not fit; then all stays as it was.
        """
        with self.lock:
            marks = {name: get() for name, (get, _) in self._marks().items()}
            return {name: read(control) for name, control in self._controls_kept().items()} | marks

    @state.setter
    def state(self, wanted: Mapping[str, Any]) -> None:
        if not isinstance(wanted, Mapping):
            raise ArgumentError(f"state={shown(wanted)}: give a dictionary, such as the state of an explorer")
        known = [*self._controls_kept(), *self._marks()]
        if strange := [str(name) for name in wanted if name not in known]:
            kind = type(self).__name__
            raise ArgumentError(f"state: a {kind} has no {strange[0]!r}; it has {listed(known, strange[0])}")
        before = self.state
        try:
            self._restore(wanted)
        except ArgumentError:
            self._restore(before)
            raise

    def _restore(self, wanted: Mapping[str, Any]) -> None:
        """Set controls until they are as wanted: the options and ends of some follow others, some after a while."""
        for rest in reversed(range(ROUNDS)):
            controls = self._controls_kept()
            for name, control in controls.items():
                if name in wanted and read(control) != wanted[name]:
                    try:
                        put(name, control, wanted[name])
                    except ArgumentError:
                        if not rest:
                            raise
            self._settle()
            if all(read(control) == wanted[name] for name, control in controls.items() if name in wanted):
                break
        with self.lock, torch.no_grad():
            for name, (_, give) in self._marks().items():
                if name in wanted:
                    give(wanted[name])

    def _settle(self) -> None:
        """Wait until what the controls ask for is there."""

    def _controls_kept(self) -> dict[str, Any]:
        """Controls that belong to what is shown, by name."""
        return {name: control for name, control in controls_of(self).items() if name not in self.forgotten}

    def _marks(self) -> dict[str, tuple[Callable[[], Any], Callable[[Any], None]]]:
        """What belongs to what is shown and is no control, by name: how to read it, how to put it."""
        return {}

    def code(self) -> str:
        """Python that shows the same; of an explorer that `lab.explore` did not make, its state alone."""
        state = pformat(self.state, width=110, compact=True, sort_dicts=False)
        return CODE.format(source=self.source, state=state) if self.source else f"explorer.state = {state}\n"

    def numbers(self) -> str:
        """What is drawn, as CSV."""
        from lab.widgets.saved import numbers_of, written

        table = self._table()
        return numbers_of(self) if table is None else written(table)

    def _table(self) -> Mapping[str, Sequence] | None:
        """The numbers that are shown, by column, where the page draws them itself; None: they are those of figures."""
        return None

    def _asked(self, _, content: dict, __) -> None:
        """The page wants something, or has a picture of what is shown."""
        kind = str(content.get("kind"))
        if kind == "picture":
            if self._still is not None:
                words = (self.heading, self.settings(), self.status.value)
                self._still.update(*words, content["data"], round(content["width"]))
            return
        with self.safely(self.tools):
            self.tools.send(
                {"kind": kind, "text": {"code": self.code, "page": self.page, "numbers": self.numbers}[kind]()}
            )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Where it is shown in a notebook, outputs for its words and its picture go before it."""
        if hasattr(get_ipython(), "kernel"):
            self._still = Still(self.heading, self.settings(), self.status.value)
        bundle = super()._repr_mimebundle_(**kwargs)
        said = f"{self.heading}: JupyterLab shows it, and .save(path) writes it as a page"
        return bundle | {"text/html": "", "text/plain": said} if isinstance(bundle, dict) else bundle

    @property
    def heading(self) -> str:
        """Of a page: what it is an explorer of."""
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", type(self).__name__)  # "LatentExplorer": "Latent Explorer"
        return words.capitalize()

    def settings(self) -> list[tuple[str, str]]:
        """What the picture says about itself, each with its name: what controls are set to, where they act at once.

        Explorers whose controls say what is drawn next (by Train) say here of what is drawn."""
        from lab.widgets.saved import settings_of

        return settings_of(self)

    def frames(self) -> Frames:
        """What a saved page shows: what is seen now, or more of what needs no kernel."""
        from lab.widgets.saved import parts_of

        return Frames("", {"": parts_of(self)})

    def page(self) -> str:
        """What is shown, as an HTML page."""
        from lab.widgets.saved import page_of

        return page_of(self, self.heading)

    def save(self, path: str | Path) -> Path:
        """Write what is shown as one HTML file that anyone can open, without the lab, a server or a network.

        What it shows, and how that came about, stands above it. Its controls are there as far as they need no kernel.
        Returns the file's absolute path. Raises LabError where it cannot be written.
        """
        path = absolute_path("path", path)
        with self.lock:
            page = self.page()
        try:
            temporary.put(path, page.encode())
        except OSError as error:
            raise LabError(f"cannot write {shown(str(path))} ({error.strerror}); name another file") from error
        return path

    def say(self, text: str) -> None:
        """Put a text below the figures."""
        style = "line-height: 1.4; max-width: 50rem; white-space: pre-line"  # a text may have lines
        self.status.value = f'<div style="{style}">{html.escape(text)}</div>'


def _row(part: widgets.Widget | list[widgets.Widget]) -> widgets.Widget:
    if isinstance(part, list):
        return widgets.HBox(part, layout=ROW)
    # a figure's `layout` is Plotly's own, and says nothing of its place on the page
    return widgets.VBox([part], layout={"width": "100%"}) if isinstance(part, go.FigureWidget) else part
