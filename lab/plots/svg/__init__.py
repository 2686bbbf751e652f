"""A Plotly figure as SVG, drawn without a browser: what a saved notebook shows where no script runs.

Scatter, bar, box, heatmap and contour traces on linear, logarithmic and category axes, with shapes, annotations,
legends and colour bars: what the lab's plots consist of (`lab.plots.svg.known`). Ticks and ranges follow Plotly's own
rules.
"""

from collections.abc import Mapping

from lab.plots.svg.drawing import Drawing
from lab.plots.svg.known import is_known

WIDTH = 760  # px where a figure has none: that of a notebook's cell


def svg(figure: Mapping, width: int = WIDTH) -> str | None:
    """A figure, as `go.Figure.to_dict` gives it, as SVG; None where it has something that is not drawn as
    Plotly draws it.

    >>> drawn = svg({"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"height": 300}})
    >>> drawn[:4], 'height="300"' in drawn, svg({"data": [{"type": "surface", "z": [[1]]}], "layout": {}})
    ('<svg', True, None)
    """
    if not is_known(figure):
        return None
    traces = [trace for trace in figure["data"] if trace.get("visible", True) is True]
    return Drawing(traces, figure.get("layout", {}), width).text()
