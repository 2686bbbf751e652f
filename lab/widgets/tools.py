"""The last line of an explorer: what is seen, to take away."""

from __future__ import annotations

from pathlib import Path

import anywidget
from traitlets import Unicode

from lab.widgets import modules


class Tools(anywidget.AnyWidget):
    """The last line of an explorer: buttons to take away what is seen. `page/tools.js` is its side in the page.

    It also looks after the figures. Plotly's widget is drawn before it is on the page, 700 px wide, and looks again
    only when the window is resized: it would not notice that it was shown, nor that a side bar opened.
    """

    _esm = modules.widget("tools.js")
    _css = Path(__file__).with_name("page") / "plots.css"  # the notebook may be dark

    name = Unicode("explorer").tag(sync=True)
