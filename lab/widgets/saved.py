"""An explorer as a page of its own: its figures as they stand, its words, and what its controls were set to."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

import ipywidgets as widgets
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from lab.plots.page import CONFIG
from lab.widgets import modules

STYLE = """.js-plotly-plot { margin: .4rem 0; } dl { color: var(--faint); }
dt, dd { display: inline; margin: 0; } dd:not(:last-child)::after { content: " · "; }"""
HIDDEN = ("none", "hidden")


def page_of(explorer: widgets.Widget, title: str) -> str:
    """The page; figures can be zoomed and pointed at, but controls are words: what they ask for takes a kernel."""
    parts, settings, plots = [], [], 0
    for part in visible(explorer):
        if isinstance(part, go.FigureWidget):
            height = f"{part.layout.height or 450}px"
            drawn = go.Figure(part).to_html(
                full_html=False, include_plotlyjs=not plots, config=CONFIG, default_height=height
            )
            parts.append(drawn)
            plots += 1
        elif isinstance(part, widgets.HTML):
            parts.append(f"<div>{part.value}</div>")
        elif setting := _setting(part):
            settings.append(f"<dt>{html.escape(setting[0])}: </dt><dd>{html.escape(setting[1])}</dd>")
    body = "\n".join([f"<dl>{''.join(settings)}</dl>" if settings else "", *parts])
    head = f"<style>{modules.style()} {STYLE}</style>"
    return modules.document(title, head, f"<h1>{html.escape(title)}</h1>\n{body}")


def numbers_of(explorer: widgets.Widget) -> str:
    """The numbers of an explorer's figures as CSV: figure, trace, and x, y, z as far as a trace has them."""
    rows, number = [], 0
    for part in visible(explorer):
        if isinstance(part, go.FigureWidget):
            number += 1
            rows += [row for trace in part.data if trace.visible is not False for row in _rows(number, trace)]
    return pd.DataFrame(rows, columns=["figure", "trace", "x", "y", "z"]).to_csv(index=False)


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
    """Name and value of a control; None for what has no value to be set, such as a button or a bar."""
    name, shown = getattr(control, "description", ""), getattr(control, "value", None)
    if not name or shown is None or isinstance(control, (widgets.FloatProgress, widgets.IntProgress)):
        return None
    label = getattr(control, "label", None)
    if isinstance(label, str) and label:  # of a menu, in words; a slider of choices may have none
        shown = label
    if isinstance(shown, bool):
        shown = "yes" if shown else "no"
    return name, f"{shown:.4g}" if isinstance(shown, float) else "; ".join(str(shown).splitlines())
