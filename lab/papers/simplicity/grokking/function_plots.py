"""Functions of networks that generalize late, with their inputs and the nearest sine; all restarts of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.simplicity.settings import LEARNED
from lab.plots.function_grid import SHOWN, draw_inputs
from lab.plots.panels import above
from lab.plots.style import BLACK, GREY, SIZE, colour, faded

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

SINE = "nearest sine"
FUNCTION = (
    f"Shaded: inputs that the learned function receives in a trained network, on test rows; at least {100 * SHOWN:g} %"
    " of them are in the panel. Dotted: the sine, on a straight line, that is nearest to the function where its inputs"
    " are, with its periods per unit of x; R²: the share of the function's variance around the best line that this sine"
    " explains (noise: what it explains of random values at the same knots, at most in 19 of 20 draws); no sine is"
    " drawn where it explains less than noise."
)


def draw_function(
    figure: go.Figure, functions: pd.DataFrame, at: tuple[int, int], legend: bool, narrow: bool = False
) -> None:
    """The chosen function, its inputs, the nearest sine and what that is. narrow: a panel of some 100 px, in which
    that takes two lines, without the share of noise."""
    rows = functions[functions["chosen"].astype(bool)].sort_values("x")
    x, density = rows["x"].to_numpy(), np.nan_to_num(rows["density"].to_numpy(float))
    where = {"row": at[0], "col": at[1]}
    draw_inputs(figure, x, density, at, legend)
    figure.add_scatter(
        x=x,
        y=rows["value"],
        name="learned φ",
        legendgroup="φ",
        showlegend=legend,
        mode="lines",
        line={"color": colour(LEARNED), "width": 2},
        hovertemplate="φ(%{x:.2f}) = %{y:.3g}",
        secondary_y=False,
        **where,
    )
    visible = rows["explained"].iloc[0] > rows["noise"].iloc[0]
    sine = rows["sine"] if visible else [None] * len(x)
    figure.add_scatter(
        x=x,
        y=sine,
        name=SINE,
        legendgroup="sine",
        showlegend=bool(visible) and not any(trace.name == SINE and trace.showlegend for trace in figure.data),
        mode="lines",
        line={"color": BLACK, "width": 1.2, "dash": "dot"},
        hoverinfo="skip",
        secondary_y=False,
        **where,
    )
    low, high = _window(x, density)
    inside = rows.loc[rows["x"].between(low, high), ["value", "sine"] if visible else ["value"]].to_numpy()
    pad = 0.1 * np.ptp(inside) or 0.5
    figure.update_xaxes(range=(low, high), **where)
    figure.update_yaxes(
        range=(inside.min() - pad, inside.max() + (6 if narrow else 3) * pad), nticks=5, secondary_y=False, **where
    )
    frequency, explained = rows["frequency"].iloc[0], rows["explained"].iloc[0]
    sine_words = f"{frequency:.2f} per unit" if visible else "no sine"
    text = f"{sine_words}, R² {explained:.2f} (noise {rows['noise'].iloc[0]:.2f})"
    if narrow:
        text = f"{sine_words}<br>R² {explained:.2f}"
    if np.isnan(frequency):
        text = "a straight line"
    figure.add_annotation(
        text=text,
        x=0.5,
        xref="x domain",
        y=1,
        yref="y domain",
        yanchor="top",
        name="wave",
        font={"size": SIZE - 1},
        **where,
    )


def draw_restarts(figure: go.Figure, functions: pd.DataFrame, at: tuple[int, int]) -> None:
    """What each restart found, the chosen one last."""
    groups = sorted(functions.groupby("restart"), key=lambda pair: bool(pair[1]["chosen"].iloc[0]))
    accuracies = []
    for restart, rows in groups:
        chosen, share = bool(rows["chosen"].iloc[0]), 100 * rows["accuracy_val"].iloc[0]
        accuracies.append((restart, f"{share:.0f}"))
        figure.add_scatter(
            x=rows["x"],
            y=rows["value"],
            name=f"restart {restart}",
            showlegend=False,
            mode="lines",
            line={"color": colour(LEARNED) if chosen else faded(GREY, 0.7), "width": 2 if chosen else 1},
            hovertemplate=f"restart {restart} ({share:.0f} % on validation rows)<br>φ(%{{x:.2f}}) = %{{y:.3g}}",
            secondary_y=False,
            row=at[0],
            col=at[1],
        )
    shares = ", ".join(share for _, share in sorted(accuracies))
    above(figure, f"val: {shares} %", *at, side="right", size=SIZE - 2)
    figure.update_yaxes(visible=False, secondary_y=True, row=at[0], col=at[1])


def _window(x: np.ndarray, density: np.ndarray) -> tuple[float, float]:
    """The stretch of knots, symmetric around 0, that has SHOWN of the inputs; all where none are known."""
    if not density.sum() > 0:
        return float(x[0]), float(x[-1])
    reach = np.abs(x)
    order = np.argsort(reach, kind="stable")
    total = np.cumsum(density[order]) / density.sum()
    far = 1.05 * float(reach[order[np.searchsorted(total, SHOWN).clip(max=len(x) - 1)]])
    return max(float(x[0]), -far), min(float(x[-1]), far)
