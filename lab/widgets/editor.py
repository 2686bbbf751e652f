"""CurveEditor: a curve that is pulled or drawn with mouse, finger or keys. `page/editor.js` is its side in the page.

Plotly can drag whole shapes, but no points of a line.
"""

from __future__ import annotations

import anywidget
import numpy as np
import traitlets

from lab.plots.style import BLUE, FONT, GREY, SKY
from lab.widgets import modules

TOOLS = ("pull", "draw")


def _array(default: np.ndarray) -> traitlets.Bytes:
    """Numbers that travel as they are: float64, little-endian."""
    # what arrives is a view of the message
    return traitlets.Bytes(as_bytes(default)).tag(sync=True, from_json=lambda view, _: bytes(view))


def as_bytes(numbers: np.ndarray) -> bytes:
    """Numbers as the page reads them."""
    return np.ascontiguousarray(numbers, dtype="<f8").tobytes()


class CurveEditor(anywidget.AnyWidget):
    """Values at evenly spaced knots of [low, high], which the hand changes.

    With the tool "pull" the knot below the pointer follows it, and its neighbours with Gaussian weights of standard
    deviation `brush`, in units of x (0: it alone). With "draw", each knot that the pointer passes goes there. With the
    keyboard, left and right choose a knot, up and down pull it; Ctrl-Z and Ctrl-Y are told to `on_msg`.

    value, before: float64 as bytes; the curve, and one in grey behind it. density: for each knot how often it is used,
    in any unit. window: first and last x shown. strokes: how often the hand was lifted. smooth, polynomial, chebyshev:
    what sliders stand at, as numbers of their options (0: off), so that the page shows what they do without the kernel;
    bandwidths: what `smooth` counts.
    """

    _esm = modules.widget("editor.js")
    # the ring of the focus is for those who came with the keyboard
    _css = f".lab-editor {{ outline: 0 solid {SKY}; outline-offset: -2px }} "
    _css += ".lab-editor:focus-visible { outline-width: 2px }"

    value = _array(np.zeros(2))
    before = _array(np.zeros(2))
    density = _array(np.zeros(2))
    low = traitlets.Float(-1.0).tag(sync=True)
    high = traitlets.Float(1.0).tag(sync=True)
    window = traitlets.List(traitlets.Float(), [-1.0, 1.0], minlen=2, maxlen=2).tag(sync=True)
    brush = traitlets.Float(0.0, min=0.0).tag(sync=True)
    tool = traitlets.Enum(TOOLS, TOOLS[0]).tag(sync=True)
    strokes = traitlets.Int(0).tag(sync=True)
    smooth = traitlets.Int(0).tag(sync=True)
    polynomial = traitlets.Int(0).tag(sync=True)
    chebyshev = traitlets.Int(0).tag(sync=True)
    bandwidths = traitlets.List(traitlets.Float()).tag(sync=True)
    colours = traitlets.Dict(
        {"curve": BLUE, "before": GREY, "inputs": GREY, "faint": "#BFBFBF", "ink": "currentColor", "font": FONT}
    ).tag(sync=True)

    @property
    def values(self) -> np.ndarray:
        """The curve, (knots,)."""
        return np.frombuffer(self.value, dtype="<f8")
