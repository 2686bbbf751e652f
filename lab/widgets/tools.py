"""The last line of an explorer: what is shown, to take away."""

from __future__ import annotations

from pathlib import Path

import anywidget
from traitlets import Unicode

from lab.plots.page import CELL
from lab.widgets import modules


class Tools(anywidget.AnyWidget):
    """The last line of an explorer: buttons to take away what is shown. `page/tools.js` is its side in the page.

    It also looks after the figures. Plotly's widget is drawn before it is on the page, 700 px wide, and looks again
    only when the window is resized: it would not notice that it was shown, nor that a side bar opened.
    """

    _esm = modules.widget("tools.js")
    # the notebook may be dark, and its cells narrow
    _css = CELL + (Path(__file__).with_name("page") / "notebook.css").read_text(encoding="utf-8")

    name = Unicode("explorer").tag(sync=True)
