"""A Plotly figure that explorers change in place."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go
from traitlets import Unicode

from lab.plots.page import CONFIG, with_room


class LiveFigure(go.FigureWidget):
    """Plotly's figure widget, with a script of its own that loads Plotly once a page, however long that takes."""

    _esm = Path(__file__).with_name("figure.js")
    _plotly = Unicode(str(go.FigureWidget._esm)).tag(sync=True)


def live(figure: go.Figure, height: int) -> go.FigureWidget:
    """A figure that is changed in place from here on; as wide as the page lets it be.

    Draw it before: the page can lose changes that are made between here and the first time it is shown.
    """
    drawn = with_room(go.Figure(figure).update_layout(height=height))
    widget = LiveFigure(drawn.update_layout(autosize=True, width=None))
    widget._config = dict(CONFIG)
    return widget
