"""A landscape as the page draws it: two maps of one plane, and the chosen point."""

from __future__ import annotations

from typing import Any

import traitlets
from plotly.colors import sequential

from lab.plots.landscape import axis_title
from lab.probes.landscape import Landscape
from lab.widgets import modules
from lab.widgets.hosted import PageView, short


class LandscapeView(PageView):
    """Two measures and the chosen point; what the traits hold is said in `page/landscape.js`."""

    name, _esm = "landscape", modules.widget("landscape.js")

    land = traitlets.Dict().tag(sync=True)
    left = traitlets.Int(0).tag(sync=True)
    right = traitlets.Int(0).tag(sync=True)
    logarithm = traitlets.Bool(False).tag(sync=True)
    px = traitlets.Float(0.0).tag(sync=True)
    py = traitlets.Float(0.0).tag(sync=True)
    colours = traitlets.List(traitlets.Unicode(), list(sequential.Cividis)).tag(sync=True)


def as_read(landscape: Landscape) -> dict[str, Any]:
    """A landscape as the page reads it."""
    return {
        "x": landscape.x.tolist(),
        "y": landscape.y.tolist(),
        "values": {name: [short(row) for row in values] for name, values in landscape.values.items()},
        "trajectory": [] if landscape.trajectory is None else [short(point) for point in landscape.trajectory],
        "axes": [axis_title(landscape, number) for number in range(2)],
    }


def points_of(landscape: Landscape) -> Any:
    """The data of the measures, where they have any."""
    for measure in landscape.measures.values():
        for name in ("points", "inputs"):
            if hasattr(measure, name):
                return getattr(measure, name)
    return None
