"""An explorer as a page of its own: its figures as they stand, its words, and what its controls were set to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lab.widgets import modules
from lab.widgets.still import as_line

HIDDEN = ("none", "hidden")
NO_SETTINGS = (widgets.FloatProgress, widgets.IntProgress, widgets.Text)


def page_of(explorer: Any, title: str) -> str:
    """The page: what the explorer shows, its figures drawn by the page itself; what takes a kernel is said in words."""
    frames = explorer.frames()
    options = list(frames.parts)
    menu = {"trait": "frame", "label": frames.menu, "kind": "menu", "options": options}
    table = pd.concat([_numbers(parts).assign(**{frames.menu or "of": name}) for name, parts in frames.parts.items()])
    state = {
        "view": "drawn",
        "frames": [[_part(part) for part in parts] for parts in frames.parts.values()],
        "frame": options.index(frames.shown) if frames.shown else 0,
        "controls": [menu] if len(options) > 1 else [],
        "code": explorer.code(),
        "table": table.astype(object).where(table.notna(), None).to_dict("list") if len(table) else None,
    }
    return modules.page(title, "hosted.js", {"state": state}, as_line(explorer.settings()))


def _part(part: go.Figure | str) -> dict[str, Any]:
    """A part as the page reads it."""
    return {"html": part} if isinstance(part, str) else {"figure": json.loads(go.Figure(part).to_json())}


def parts_of(explorer: widgets.Widget) -> list[go.Figure | str]:
    """The figures and the words of an explorer, as they stand."""
    parts = [part for part in visible(explorer) if isinstance(part, (go.FigureWidget, widgets.HTML))]
    return [part.value if isinstance(part, widgets.HTML) else part for part in parts]


def settings_of(explorer: widgets.Widget) -> list[tuple[str, str]]:
    """What the controls are set to, each with its name."""
    return [setting for part in visible(explorer) if (setting := _setting(part))]


def numbers_of(explorer: widgets.Widget) -> str:
    """The numbers of an explorer's figures as CSV: figure, trace, and x, y, z as far as a trace has them."""
    return _numbers(parts_of(explorer)).to_csv(index=False)


def _numbers(parts: Sequence[go.Figure | str]) -> pd.DataFrame:
    figures = enumerate((part for part in parts if not isinstance(part, str)), 1)
    traces = ((number, trace) for number, figure in figures for trace in figure.data if trace.visible is not False)
    rows = [row for number, trace in traces for row in _rows(number, trace)]
    return pd.DataFrame(rows, columns=["figure", "trace", "x", "y", "z"])


def written(table: Mapping[str, Sequence]) -> str:
    """Columns of numbers or texts as CSV."""
    return pd.DataFrame(dict(table)).to_csv(index=False)


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


def _setting(control: widgets.Widget) -> tuple[str, str] | None:
    """Name and value of a control; None for what has no value, such as a button or a bar, for what is not chosen, and
    for a line of text, which names files."""
    name, shown = getattr(control, "description", ""), getattr(control, "value", None)
    if not name or shown is None or shown is False or shown == () or type(control) in NO_SETTINGS:
        return None
    label = getattr(control, "label", None)
    if isinstance(label, str) and label:  # of a menu, in words; a slider of choices may have none
        shown = label
    if shown is True:
        shown = "yes"
    return name, f"{shown:.4g}" if isinstance(shown, float) else "; ".join(str(shown).splitlines())
