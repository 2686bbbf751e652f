"""What the page draws: its modules as text, views that follow their traits, Plotly's figures, and saved pages."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import numpy as np
import pandas as pd
import plotly.graph_objects as go
from traitlets import Unicode

from lab.plots.page import CONFIG, THEME, templates, with_policy, with_room

FOLDER = Path(__file__).with_name("page")
IMPORT = re.compile(r'^import (.+) from "\./([a-z_]+\.js)";$', re.M)
EXPORT = re.compile(r"^export (default |(?:async )?(?:function|const) (\w+))", re.M)
LISTED = (widgets.Dropdown, widgets.ToggleButtons, widgets.SelectionSlider, widgets.SelectMultiple)
HIDDEN = ("none", "hidden")
NO_SETTINGS = (widgets.FloatProgress, widgets.IntProgress, widgets.Text)

TEMPLATES = templates("lab.widgets", "page")


def filled(template: str, **content: Any) -> str:
    """HTML of a template in `page/`; what it is given is text, unless the template says that it is HTML."""
    return TEMPLATES.get_template(template).render(**content)


@cache
def linked(name: str) -> str:
    """An expression of JavaScript: the exports of a module, with all that it imports, each file once. So it stands in
    any script: a page that was opened from disk may import no other file.

    >>> linked("frames.js").startswith("(() => {") and linked("drawn.js").count("function chart(")
    1
    """
    variable = name.replace(".", "_")
    return f"(() => {{\n{''.join(_parts(name, {}).values())}return {variable};\n}})()"


def _parts(name: str, parts: dict[str, str]) -> dict[str, str]:
    """By name a module's source as a variable that holds its exports, after those that it imports."""
    source, variable = (FOLDER / name).read_text(encoding="utf-8"), name.replace(".", "_")
    for _, needed in IMPORT.findall(source):
        parts = parts if needed in parts else _parts(needed, parts)
    exports = [exported or f"default: {variable}" for _, exported in EXPORT.findall(source)]
    source = EXPORT.sub(lambda at: at[1] if at[2] else f"const {variable} = ", source)
    source = IMPORT.sub(lambda at: f"const {at[1]} = {at[2].replace('.', '_')};", source)
    source = re.sub(r"^const (\w+) = (\w+_js);$", r"const { default: \1 } = \2;", source, flags=re.M)
    return parts | {name: f"const {variable} = (() => {{\n{source}return {{ {', '.join(exports)} }};\n}})();\n"}


def widget(name: str) -> str:
    """A module of `page/` as what anywidget loads."""
    return f"export default {linked(name)}.default;\n"


def style() -> str:
    """How pages look, light or dark as the reader's system is."""
    return (FOLDER / "page.css").read_text(encoding="utf-8") + THEME


@dataclass(frozen=True)
class Content:
    """What an explorer shows without a kernel.

    view: a file of `page/` with a function `render`; state: what its model gives, as JSON; above it stand words, HTML,
    and settings.
    """

    title: str
    view: str
    state: dict[str, Any]
    words: str = ""
    settings: Sequence[tuple[str, str]] = ()

    def page(self, *, site: bool = False) -> str:
        """An HTML page that holds all of it and sends nothing anywhere: one file, without a server or a network.
        site: its words may load the files beside it."""
        above, shown = self._above(), part(self.view, {"state": self.state})
        return with_policy(filled("page.html", title=self.title, style=style(), above=above, part=shown), site=site)

    def module(self) -> str:
        """An ES module that shows it in any element of any page, as anywidget has it: `export default { render }`."""
        data = {"state": self.state, "style": style(), "above": self._above(), "title": self.title}
        return filled("module.mjs", embedded=linked("embedded.js"), view=linked(self.view), data=as_script(data))

    def _above(self) -> str:
        return filled("above.html", words=self.words, settings=self.settings)


def as_script(value: Any) -> str:
    """JSON that may stand in a script: no `</script>` in a name ends it."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def part(module: str, state: dict, name: str = "lab", words: str = "") -> str:
    """What a module shows, as a part of a page. name: no other part of the page has it; words: HTML, as long as no
    script has run."""
    return filled("part.html", state=as_script(state), module=linked(module), name=name, words=words)


def short(values: Any, digits: int = 9) -> Any:
    """Numbers in lists, as JSON has them, with all digits that float32 has, or fewer; None for what is no number.

    >>> short([[0.25, float("nan")], [1 / 3, 1.0]], 3)
    [[0.25, None], [0.333, 1.0]]
    """
    flat: list[Any] = [float(f"{x:.{digits}g}") if isfinite(x) else None for x in np.ravel(values).tolist()]
    for size in reversed(np.shape(values)[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return flat


class PageView(anywidget.AnyWidget):
    """A picture that its module in the page draws from its traits, and changes without asking the kernel.

    Subclasses name the module, `name`, and declare traits. What goes into a file is every trait of theirs.
    """

    name = ""
    _links: tuple[tuple[widgets.Widget, str, str], ...] = ()  # control, what of it, trait: in the order of the file's

    def follow(self, **controls: widgets.Widget) -> None:
        """Let each trait and a control go together, in the page: the place of an option, or the value."""
        for trait, control in controls.items():
            part = "index" if isinstance(control, LISTED) else "value"
            setattr(self, trait, getattr(control, part))
            widgets.jslink((control, part), (self, trait))
            self._links += ((control, part, trait),)

    def data(self) -> dict[str, Any]:
        """Every trait of its own, as JSON has it; where one goes with a control, what the control says: without a page
        nothing else keeps them together."""
        common = anywidget.AnyWidget.class_trait_names()  # a widget has a class of its own: its traits are not told so
        names = [name for name in self.trait_names(sync=True) if name[0] != "_" and name not in common]
        values = {name: getattr(self, name) for name in names}
        return values | {trait: getattr(control, part) for control, part, trait in self._links}

    def controls(self) -> list[dict[str, Any]]:
        """The controls that it follows and that are shown, as a page makes them."""
        return [_declared(control, trait) for control, _, trait in self._links if control.layout.display != "none"]


def _declared(control: widgets.Widget, trait: str) -> dict[str, Any]:
    named = {"trait": trait, "label": control.description}
    if isinstance(control, widgets.SelectionSlider):
        names = [str(label) for label in control._options_labels]
        return named | {"kind": "range", "options": names, "min": 0, "max": len(names) - 1, "step": 1, "play": True}
    if isinstance(control, LISTED):
        return named | {"kind": "menu", "options": [str(label) for label in control._options_labels]}
    if isinstance(control.value, bool):
        return named | {"kind": "check"}
    return named | {"kind": "range", "min": control.min, "max": control.max, "step": control.step}


class LiveFigure(go.FigureWidget):
    """Plotly's figure widget, with a script of its own that loads Plotly once a page, however long that takes."""

    _esm = Path(__file__).with_name("figure.js")
    _plotly = Unicode(str(go.FigureWidget._esm)).tag(sync=True)


def live(figure: go.Figure, height: int | None = None) -> go.FigureWidget:
    """A figure that is changed in place from here on; as wide as the page lets it be. height: default: its own.

    Draw it before: the page can lose changes that are made between here and the first time it is shown.
    """
    drawn = with_room(go.Figure(figure).update_layout(height=height or figure.layout.height))
    widget = LiveFigure(drawn.update_layout(autosize=True, width=None))
    widget._config = dict(CONFIG)
    return widget


def view_content(
    title: str,
    view: PageView,
    code: str,
    words: str = "",
    table: Mapping[str, Sequence] | None = None,
    below: Sequence[Mapping[str, Any]] = (),
    second: Mapping[str, Any] | None = None,
) -> Content:
    """A view without a kernel.

    code: Python that opens the explorer again; words: HTML above; table: numbers to take away, by column; below: what
    further views hold, with their names as `view`; they stay as they are. second: one next to it (hosted.js).
    """
    columns = None if table is None else {name: list(values) for name, values in table.items()}
    state = {"view": view.name, "controls": view.controls(), "code": code, "below": list(below), "table": columns}
    state |= {} if second is None else {"second": dict(second)}
    return Content(title, "hosted.js", view.data() | state | {"heading": title}, words)


@dataclass(frozen=True)
class Frames:
    """What a saved page shows: for each option of a menu its parts, figures and HTML. One option needs no menu.

    menu: its name. shown: the option that the page begins with; default: the first. slides: a slider over the options,
    in the place of the menu.
    """

    menu: str
    parts: Mapping[str, Sequence[go.Figure | str]]
    shown: str = ""
    slides: bool = False


def figures_content(title: str, frames: Frames, code: str, settings: Sequence[tuple[str, str]]) -> Content:
    """Figures, which the page draws by itself. code: Python that opens the explorer again; settings: put above."""
    options = list(frames.parts)
    menu: dict[str, Any] = {"trait": "frame", "label": frames.menu, "kind": "menu", "options": options}
    menu |= {"kind": "range", "min": 0, "max": len(options) - 1, "step": 1, "play": True} if frames.slides else {}
    table = pd.concat([numbers(parts).assign(**{frames.menu or "of": name}) for name, parts in frames.parts.items()])
    state = {
        "view": "drawn",
        "heading": title,
        "frames": [[_as_read(part) for part in parts] for parts in frames.parts.values()],
        "frame": options.index(frames.shown) if frames.shown else 0,
        "controls": [menu] if len(options) > 1 else [],
        "code": code,
        "table": table.astype(object).where(table.notna(), None).to_dict("list") if len(table) else None,
    }
    return Content(title, "hosted.js", state, settings=settings)


def _as_read(part: go.Figure | str) -> dict[str, Any]:
    return {"html": part} if isinstance(part, str) else {"figure": json.loads(go.Figure(part).to_json())}


def numbers(parts: Sequence[go.Figure | str]) -> pd.DataFrame:
    """The numbers of figures: figure, trace, and x, y, z as far as a trace has them."""
    figures = enumerate((part for part in parts if not isinstance(part, str)), 1)
    traces = ((number, trace) for number, figure in figures for trace in figure.data if trace.visible is not False)
    rows = [row for number, trace in traces for row in _rows(number, trace)]
    return pd.DataFrame(rows, columns=["figure", "trace", "x", "y", "z"])


def _rows(figure: int, trace: go.Figure) -> Iterator[tuple]:
    x, y, z = (getattr(trace, name, None) for name in "xyz")
    if z is not None and np.ndim(z) == 2:
        across = range(np.shape(z)[1]) if x is None else x
        up = range(np.shape(z)[0]) if y is None else y
        for place, line in zip(up, z, strict=False):
            yield from ((figure, trace.name, at, place, value) for at, value in zip(across, line, strict=False))
    elif x is not None and y is not None:
        yield from ((figure, trace.name, at, place, None) for at, place in zip(x, y, strict=False))


def visible(part: widgets.Widget) -> Iterator[widgets.Widget]:
    """What can be seen of a widget, in its order; boxes are opened."""
    layout = getattr(part, "layout", None)
    if isinstance(layout, widgets.Layout) and (layout.display in HIDDEN or layout.visibility in HIDDEN):
        return
    if isinstance(part, widgets.Box):
        for child in part.children:
            yield from visible(child)
    else:
        yield part


def setting(control: widgets.Widget) -> tuple[str, str] | None:
    """Name and value of a control; None for what has no value, such as a button or a bar, for what is not chosen, and
    for a line of text, which names files."""
    name, value = getattr(control, "description", ""), getattr(control, "value", None)
    if not name or value is None or value is False or value == () or type(control) in NO_SETTINGS:
        return None
    label = getattr(control, "label", None)
    if isinstance(label, str) and label:  # of a menu, in words; a slider of choices may have none
        value = label
    if value is True:
        value = "yes"
    return name, f"{value:.4g}" if isinstance(value, float) else "; ".join(str(value).splitlines())
