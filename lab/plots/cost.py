"""Appendix F of the transformers paper: the time of a spline next to that of other functions."""

from __future__ import annotations

import numpy as np

import lab.plots.page  # noqa: F401 (notebooks display these plots as they are)
from lab.plots import go
from lab.plots.style import BLUE, GREY, INK, TEMPLATE
from lab.probes.cost import Cost


def draw_costs(cost: Cost) -> go.Figure:
    """A point a function, its median time, with quartiles as whiskers, on a logarithmic axis; as text how many times
    that of the first it is."""
    low, times, high = 1000 * np.percentile(cost.seconds, (25, 50, 75), axis=1)
    ratios = [cost.ratio(name, cost.names[0]) for name in cost.names]
    where = cost.device if cost.device != "cpu" else f"{cost.threads} CPU thread(s)"
    what = "forward and backward" if cost.backward else "forward"
    figure = go.Figure()
    figure.add_scatter(
        x=times,
        y=cost.names,
        mode="markers+text",
        marker={"color": [GREY if ratio == 1 else BLUE for ratio in ratios], "size": 9},
        error_x={"array": high - times, "arrayminus": times - low, "thickness": 1.2, "color": INK},
        text=[f"{time:.3g} ms, × {ratio:.2g}" for time, ratio in zip(times, ratios, strict=True)],
        textposition="top center",
        hovertemplate="%{y}: %{x:.3g} ms",
    )
    ends = np.log10(low.min()) - 0.3, np.log10(high.max()) + 0.3  # room for the text at both
    figure.update_layout(
        template=TEMPLATE,
        height=106 + 40 * len(times),
        margin={"l": 130, "r": 16, "t": 16, "b": 66},
        xaxis={
            "type": "log",
            "range": ends,
            "title": f"time (ms, log scale): {cost.elements:,} numbers,<br>{what}, {cost.dtype}, {where}",
        },
        yaxis={"type": "category", "range": (len(times) - 0.5, -0.8), "ticks": ""},  # the first on top
        showlegend=False,
    )
    return figure
