"""A Plotly figure that explorers change in place."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go
from traitlets import Unicode

from lab.plots.page import CONFIG

BAR = 34  # px at the right for the buttons of a plot, which would cover its legend


class LiveFigure(go.FigureWidget):
    """Plotly's figure widget, with a script of its own that loads Plotly once a page, however long that takes."""

    _esm = Path(__file__).with_name("figure.js")
    _plotly = Unicode(str(go.FigureWidget._esm)).tag(sync=True)


def live(figure: go.Figure, height: int) -> go.FigureWidget:
    """A figure that is changed in place from here on; as wide as the page lets it be.

    Draw it before: the page can lose changes that are made between here and the first time it is shown.
    """
    drawn = go.Figure(figure).update_layout(height=height, autosize=True, width=None)
    drawn.update_layout(modebar={"orientation": "v"}, margin={"r": max(BAR, drawn.layout.margin.r or 0)})
    widget = LiveFigure(drawn)
    widget._config = dict(CONFIG)
    return widget
