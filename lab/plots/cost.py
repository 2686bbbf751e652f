"""Appendix F of the transformers paper: what a spline costs beside other functions, how near polynomials come to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

import lab.plots.page  # noqa: F401 (notebooks display these plots as they are)
from lab.nonlinearity.spline import Spline
from lab.plots import go
from lab.plots.style import BLUE, GREY, INK, TEMPLATE, colour
from lab.probes.cost import Cost

KINDS = {"polynomial": "powers, least squares", "Chebyshev": "Chebyshev series"}  # by the method's name in figures
DASHES = {"polynomial": "dash", "Chebyshev": "dot"}


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


def errors(phi: Spline, degrees: Sequence[int]) -> pd.DataFrame:
    """How far polynomials of rising degree are from a spline: kind, degree, rms_error, maximum_error.

    Errors are measured on the interval where the function is not zero, in float32, the way a model evaluates it.
    """
    fits = {"polynomial": phi.polynomial, "Chebyshev": phi.chebyshev}
    rows = [(kind, degree, fit(degree)) for kind, fit in fits.items() for degree in degrees]
    return pd.DataFrame(
        [{"kind": k, "degree": d, "rms_error": f.rms_error, "maximum_error": f.maximum_error} for k, d, f in rows]
    )


def draw_errors(table: pd.DataFrame, height: float) -> go.Figure:
    """RMS error by degree, a line a kind, in percent of `height`: the function's largest minus its smallest value."""
    figure = go.Figure()
    for kind, rows in table.groupby("kind", sort=False):
        figure.add_scatter(
            x=rows["degree"],
            y=100 * rows["rms_error"] / height,
            name=KINDS[kind],
            mode="lines+markers",
            line={"color": colour(kind), "width": 2, "dash": DASHES[kind]},
            customdata=100 * rows["maximum_error"] / height,
            hovertemplate="degree %{x}: %{y:.2g} % RMS, %{customdata:.2g} % at most",
        )
    degrees = sorted(table["degree"].unique().tolist())
    figure.update_layout(
        template=TEMPLATE,
        height=320,
        margin={"l": 62, "r": 16, "t": 40, "b": 50},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"title": "degree (log scale)", "type": "log", "tickvals": degrees, "minor": {"ticks": ""}},
        yaxis={"title": "RMS error (% of the height)", "type": "log"},
        showlegend=True,
    )
    return figure
