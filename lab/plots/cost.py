"""Appendix F of the transformers paper: the time of a spline next to that of other functions."""

from __future__ import annotations

import numpy as np
import pandas as pd

import lab.plots.page  # noqa: F401 (notebooks display these plots as they are)
from lab.plots import go
from lab.plots.style import BLUE, GREY, INK, TEMPLATE
from lab.probes.cost import Cost


def costs(cost: Cost, reference: str = "GELU") -> pd.DataFrame:
    """One row a function: milliseconds (median), low, high (quartiles), ratio of medians to the reference."""
    low, middle, high = 1000 * np.percentile(cost.seconds, (25, 50, 75), axis=1)
    table = pd.DataFrame({"function": cost.names, "milliseconds": middle, "low": low, "high": high})
    table["ratio"] = [cost.ratio(name, reference) for name in cost.names]
    how = {"elements": cost.elements, "backward": cost.backward, "dtype": cost.dtype, "threads": cost.threads}
    return table.assign(device=cost.device, repeats=cost.seconds.shape[1], **how)


def draw_costs(table: pd.DataFrame) -> go.Figure:
    """A point a function, its median time, with quartiles as whiskers, on a logarithmic axis. table: see `costs`."""
    one, times = table.iloc[0], table["milliseconds"]
    where = one["device"] if one["device"] != "cpu" else f"{one['threads']} CPU thread(s)"
    what = "forward and backward" if one["backward"] else "forward"
    figure = go.Figure()
    figure.add_scatter(
        x=times,
        y=table["function"],
        mode="markers+text",
        marker={"color": [GREY if ratio == 1 else BLUE for ratio in table["ratio"]], "size": 9},
        error_x={"array": table["high"] - times, "arrayminus": times - table["low"], "thickness": 1.2, "color": INK},
        text=[f"{row.milliseconds:.3g} ms, × {row.ratio:.2g}" for row in table.itertuples()],
        textposition="top center",
        hovertemplate="%{y}: %{x:.3g} ms",
    )
    ends = np.log10(table["low"].min()) - 0.3, np.log10(table["high"].max()) + 0.3  # room for the text at both
    figure.update_layout(
        template=TEMPLATE,
        height=106 + 40 * len(table),
        margin={"l": 130, "r": 16, "t": 16, "b": 66},
        xaxis={
            "type": "log",
            "range": ends,
            "title": f"time (ms, log scale): {one['elements']:,} numbers,<br>{what}, {one['dtype']}, {where}",
        },
        yaxis={"type": "category", "range": (len(table) - 0.5, -0.8), "ticks": ""},  # the first on top
        showlegend=False,
    )
    return figure
