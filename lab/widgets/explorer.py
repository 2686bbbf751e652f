"""The shell that all explorers share: controls in, figures out, one lock, one place where errors show.

A callback of a widget runs on another thread than the cells (JupyterLab ≥ 4.4), where torch's grad mode is the default
one and where an exception would vanish. So every callback goes through `safely`.
"""

import html
import re
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from pprint import pformat
from typing import Any

import anywidget
import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go
import torch
from IPython.core.getipython import get_ipython
from IPython.display import display
from traitlets import Unicode

from lab import files
from lab.errors import ArgumentError, LabError, absolute_path, listed, shown
from lab.plots.page import CELL
from lab.run import Run
from lab.widgets import pages
from lab.widgets.state import controls_of, put, read

ROW = {"flex_flow": "row wrap", "align_items": "center", "grid_gap": "2px 14px"}
LABEL = {"description_width": "initial"}  # labels as long as they are: ipywidgets would cut them at 80 px
WIDE = {"width": "100%"}
MODULES = (".mjs", ".js")
ROUNDS = 4  # of setting controls that depend on each other
CODE = "import lab\n\nlab.explore({source}, state={state})\n"


def menu(name: str, options: Any, value: Any = None, **layout: str) -> widgets.Dropdown:
    """A menu with its whole name; value: what is chosen, by default the first option."""
    made = widgets.Dropdown(description=name, options=options, style=LABEL, layout=layout)
    if value is not None:
        made.value = value
    return made


def button(name: str, tooltip: str = "", kind: Any = widgets.Button, **settings: Any) -> Any:
    """A button as wide as its name."""
    return kind(description=name, tooltip=tooltip, layout={"width": "auto"}, **settings)


toggle = partial(button, kind=widgets.ToggleButton)  # a button that stays pressed


def check(name: str, value: bool = True) -> widgets.Checkbox:
    """A box to tick, as wide as its name."""
    return widgets.Checkbox(value, description=name, indent=False, layout={"width": "auto"})


def check_alive(name: str, model: object) -> None:
    """ArgumentError for a run that diverged: its weights are no trained model's."""
    if isinstance(model, Run) and model.diverged:
        raise ArgumentError(f"{name} diverged at step {model.diverged[0]}; leave it out")


def side_by_side(*columns: widgets.Widget | Sequence[widgets.Widget], least: int = 400) -> widgets.HBox:
    """Next to each other where the page is wide enough, each `least` px or more, else one below the other."""
    layout = {"flex": f"1 1 {least}px", "min_width": "0", "overflow": "hidden"}
    parts = [[column] if isinstance(column, widgets.Widget) else column for column in columns]
    return widgets.HBox([widgets.VBox(part, layout=layout) for part in parts], layout={"flex_flow": "row wrap"})


class ErrorArea(widgets.HTML):
    """Empty, or the message of the last error, below the row of the control that was used."""

    def show(self, error: Exception) -> None:
        """The message of an error of the lab's own, the traceback of any other."""
        trace = "" if isinstance(error, LabError) else "".join(traceback.format_exception(error))
        kind = type(error).__name__
        self.value = pages.filled("error.html", text=str(error) or kind, kind=kind, trace=trace)

    def place(self, parts: Sequence[widgets.Widget], control: widgets.Widget | None) -> None:
        """Below the one of these parts that holds a control, where the eyes are; below all where none does.

        The parts have the even places on the page (`Explorer.arrange`), so that an odd one is free below each.
        """
        holding = [number for number, part in enumerate(parts) if part is not self and _holds(part, control)]
        self.layout.order = str(2 * (holding[-1] if holding else len(parts) - 1) + 1)


def _holds(part: widgets.Widget, control: widgets.Widget | None) -> bool:
    return part is control or any(_holds(child, control) for child in getattr(part, "children", ()))


class Tools(anywidget.AnyWidget):
    """The last line of an explorer: buttons to take away what is shown. `page/tools.js` is its side in the page.

    It also looks after the figures. Plotly's widget is drawn before it is on the page, 700 px wide, and looks again
    only when the window is resized: it would not notice that it was shown, nor that a side bar opened.
    """

    _esm = pages.widget("tools.js")
    _css = CELL + (pages.FOLDER / "notebook.css").read_text(encoding="utf-8")  # it may be dark, and its cells narrow

    name = Unicode("explorer").tag(sync=True)


class Explorer(widgets.VBox):
    """A column of rows of controls, the figures, a line that says what is shown, and an area for errors.

    Subclasses make their controls and figures, hand them to `arrange`, and connect them with `watch` and `press`.
    """

    forgotten: tuple[str, ...] = ()  # controls that are no part of what is shown
    worker: threading.Thread | None = None  # computes in the background what the controls ask for
    source: Callable[[], str] | None = None  # what `lab.explore` was given, as Python

    def __init__(self):
        self.lock = threading.RLock()  # held by whoever changes what is shown
        self.status = widgets.HTML()
        self.error = ErrorArea(_dom_classes=["lab-error"])
        self._depth = 0
        self._quiet: int | None = None  # the thread that sets controls
        self._still: tuple[Any, Any] | None = None  # words and picture that a notebook shows without a kernel
        self.tools = Tools(name=type(self).__name__)
        self.tools.on_msg(self._asked)
        super().__init__(layout={"width": "100%", "overflow": "hidden"})
        self.add_class("lab-explorer")

    def arrange(self, *parts: widgets.Widget | list[widgets.Widget]) -> None:
        """Show these parts below each other; a list is a row of controls that wraps where the page is narrow."""
        boxes: list[widgets.Widget] = []
        for part in parts:
            if isinstance(part, list):
                boxes.append(widgets.HBox(part, layout=ROW))
            else:  # a figure's `layout` is Plotly's own, and says nothing of its place on the page
                boxes.append(widgets.VBox([part], layout=WIDE) if isinstance(part, go.FigureWidget) else part)
        self.children = [*boxes, self.status, self.error, self.tools]
        for number, box in enumerate(self.children):
            box.layout.order = str(2 * number)

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
            Explorer.wait(self)  # and not for a training
            if all(read(control) == wanted[name] for name, control in controls.items() if name in wanted):
                break
        with self.lock, torch.no_grad():
            for name, (_, give) in self._marks().items():
                if name in wanted:
                    give(wanted[name])

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what the controls ask for is computed; whether it is."""
        worker = self.worker
        if worker is not None:
            worker.join(timeout)
        return worker is None or not worker.is_alive()

    def _controls_kept(self) -> dict[str, Any]:
        """Controls that belong to what is shown, by name."""
        return {name: control for name, control in controls_of(self).items() if name not in self.forgotten}

    def _marks(self) -> dict[str, tuple[Callable[[], Any], Callable[[Any], None]]]:
        """What belongs to what is shown and is no control, by name: how to read it, how to put it."""
        return {}

    def code(self) -> str:
        """Python that shows the same; of an explorer that `lab.explore` did not make, its state alone."""
        state = pformat(self.state, width=110, compact=True, sort_dicts=False)
        return CODE.format(source=self.source(), state=state) if self.source else f"explorer.state = {state}\n"

    def numbers(self) -> str:
        """What is drawn, as CSV."""
        table = self._table()
        drawn = pages.numbers(self._parts()) if table is None else pd.DataFrame(dict(table))
        return drawn.to_csv(index=False)

    def _table(self) -> Mapping[str, Sequence] | None:
        """The numbers that are shown, by column, where the page draws them itself; None: they are those of figures."""
        return None

    def _parts(self) -> list[go.Figure | str]:
        """The figures and the words, as they stand."""
        parts = [part for part in pages.visible(self) if isinstance(part, (go.FigureWidget, widgets.HTML))]
        return [part.value if isinstance(part, widgets.HTML) else part for part in parts]

    def _asked(self, _, content: dict, __) -> None:
        """The page wants something, or has a picture of what is shown: a PNG as base64, for `width` px of the page."""
        kind = str(content.get("kind"))
        if kind != "picture":
            with self.safely(self.tools):
                made = {"code": self.code, "page": self.page, "numbers": self.numbers}[kind]
                self.tools.send({"kind": kind, "text": made()})
        elif self._still is not None:
            words, picture = self._still
            words.update(self._kept_words(), raw=True)
            data = {"image/png": content["data"], "text/plain": self.heading}
            picture.update(data, metadata={"image/png": {"width": round(content["width"])}}, raw=True)

    def _kept_words(self) -> dict[str, str]:
        """What a notebook without a kernel says of it."""
        parts = {"heading": self.heading, "settings": self.settings(), "status": self.status.value}
        return {"text/html": pages.filled("still.html", **parts), "text/plain": self.heading}

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Where it is shown in a notebook, outputs for its words and its picture go before it."""
        if hasattr(get_ipython(), "kernel"):
            empty = {"text/html": "", "text/plain": ""}
            words, picture = (display(data, raw=True, display_id=True) for data in (self._kept_words(), empty))
            self._still = words, picture
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
        return [setting for part in pages.visible(self) if (setting := pages.setting(part))]

    def frames(self) -> pages.Frames:
        """What a saved page shows: what is seen now, or more of what needs no kernel."""
        return pages.Frames("", {"": self._parts()})

    def content(self) -> pages.Content:
        """What is shown, as far as it needs no kernel."""
        return pages.figures_content(self.heading, self.frames(), self.code(), self.settings())

    def page(self) -> str:
        """What is shown, as an HTML page."""
        return self.content().page()

    def save(self, path: str | Path) -> Path:
        """Write what is shown as one HTML file that anyone can open, without the lab, a server or a network.

        What it shows, and how that came about, stands above it. Its controls are there as far as they need no kernel.
        Returns the file's absolute path. Raises LabError where it cannot be written, ArgumentError for a module's name.
        """
        path = absolute_path("path", path)
        if path.suffix in MODULES:
            raise ArgumentError(f"path={shown(path.name)}: save writes a page, as phi.html; .module(…) writes a module")
        with self.lock:
            return _put(path, self.page())

    def module(self, path: str | Path) -> Path:
        """Write what is shown as one ES module with its data, for pages of others: MyST, marimo, JupyterLab, Quarto, or
        `<lab-explorer src="phi.mjs"></lab-explorer>` on any page (docs/embedding.md). It asks nothing of a network.

        path: ends in .mjs or .js. Returns the file's absolute path. Raises ArgumentError for another name, LabError
        where it cannot be written, and for an explorer that shows nothing without a kernel.
        """
        path = absolute_path("path", path)
        if path.suffix not in MODULES:
            raise ArgumentError(f"path={shown(path.name)}: a module's name ends in {' or '.join(MODULES)}")
        if self.lacking:
            raise LabError(f"a {type(self).__name__} shows nothing without a kernel: {self.lacking}")
        with self.lock:
            return _put(path, self.content().module())

    @property
    def lacking(self) -> str:
        """What it takes before there is something to see without a kernel."""
        return ""

    def say(self, text: str) -> None:
        """Put a text below the figures."""
        style = "line-height: 1.4; max-width: 50rem; white-space: pre-line"  # a text may have lines
        self.status.value = f'<div style="{style}">{html.escape(text)}</div>'


def _put(path: Path, text: str) -> Path:
    try:
        files.put(path, text.encode())
    except OSError as error:
        raise LabError(f"cannot write {shown(str(path))} ({error.strerror}); name another file") from error
    return path
