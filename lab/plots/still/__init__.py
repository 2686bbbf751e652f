"""A Plotly figure as SVG, drawn without a browser: what a saved notebook shows where no script runs.

Known are scatter, bar, box, heatmap and contour traces on linear, logarithmic and category axes, with shapes,
annotations, legends and colour bars: what the lab's plots consist of. Ticks and ranges follow Plotly's own rules.
"""

from collections.abc import Mapping

from lab.plots.still.drawing import Drawing
from lab.plots.still.traces import DRAWN

WIDTH = 760  # px where a figure has none: that of a notebook's cell


def svg(figure: Mapping, width: int = WIDTH) -> str | None:
    """A figure, as `go.Figure.to_dict` gives it, as SVG; None where it has a kind of trace that is not known.

    >>> drawn = svg({"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"height": 300}})
    >>> drawn[:4], 'height="300"' in drawn, svg({"data": [{"type": "surface", "z": [[1]]}], "layout": {}})
    ('<svg', True, None)
    """
    traces = [trace for trace in figure["data"] if trace.get("visible", True) is True]
    if any(trace.get("type", "scatter").removesuffix("gl") not in DRAWN for trace in traces):
        return None
    return Drawing(traces, figure.get("layout", {}), width).text()
