"""Learned activations: the functions before and after training, and the distribution of what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.activations.small_models.measures import FIXED_LINE, QUANTILES
from lab.papers.activations.small_models.plots import COLOURS
from lab.papers.activations.small_models.settings import FAMILIES, FIXED, TITLES
from lab.plots.caption import set_reading
from lab.plots.panels import grid, place
from lab.plots.style import INK, faded

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

SHARED = ("prelu", "swish", "learnable_gelu", "learnable_geglu", "kan")
NAMES = {"slope": "slope", "beta": "β"}


def fig_functions(table: pd.DataFrame, functions: pd.DataFrame) -> go.Figure:
    """One row an activation. Left: its functions, a panel a family; right: its learned parameters by family and layer.

    table: family, method, layer, parameter, value, diverged; functions: family, method, line, x, value.
    """
    methods, columns = [name for name in SHARED if name in set(functions["method"])], len(FAMILIES) + 1
    titles = [title for method in methods for title in _titles(method)]
    figure = grid(titles, columns, 118, gap=52, top=70, horizontal=52)
    alive = table[~table["diverged"].astype(bool)]
    for row, method in enumerate(methods):
        for column, family in enumerate(FAMILIES):
            curves = functions[(functions["method"] == method) & (functions["family"] == family)]
            _draw_functions(figure, curves, family, place(row * columns + column, columns), legend=not row)
        at = place(row * columns + len(FAMILIES), columns)
        _draw_parameters(figure, alive[alive["method"] == method], at, last=method == list(FIXED)[-1])
    figure.update_xaxes(title_text="input", row=len(methods), col=1)
    figure.update_xaxes(title_text="input", row=len(methods), col=2)
    set_reading(
        figure,
        "Left and middle: dotted, the activation without parameters; line, the median of all channels, layers and"
        " seeds; band, from their 5th to their 95th percentile. Of gated activations, the gate's function. Of a KAN,"
        " functions of edges, which have no parameter in common. Right: G1 is GPT-Neo's first layer; boxes, quartiles;"
        " whiskers, 5th to 95th percentile; dotted, before training.",
    )
    return figure


def _titles(method: str) -> list[str]:
    first, second = FAMILIES.values()
    return [f"{TITLES[method]}, {first}", second, "" if method == "kan" else "by layer"]


def _draw_functions(figure: go.Figure, rows: pd.DataFrame, family: str, at: tuple[int, int], legend: bool) -> None:
    lines = {line: part.set_index("x")["value"] for line, part in rows.groupby("line")}
    low, middle, high = (lines.get(name) for name in QUANTILES)
    if low is None or middle is None or high is None:
        return  # every run diverged
    ink, mark = COLOURS[family], {"row": at[0], "col": at[1]}
    figure.add_scatter(
        x=np.concatenate([low.index, low.index[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        mode="none",
        fillcolor=faded(ink, 0.25),
        name="5th to 95th percentile",
        showlegend=False,
        hoverinfo="skip",
        **mark,
    )
    figure.add_scatter(
        x=middle.index,
        y=middle,
        mode="lines",
        line={"color": ink, "width": 2.2},
        name=f"{FAMILIES[family]}, learned",
        legendgroup=family,
        showlegend=legend,
        hovertemplate="φ(%{x:.2f}) = %{y:.3f}",
        **mark,
    )
    if FIXED_LINE in lines:
        figure.add_scatter(
            x=lines[FIXED_LINE].index,
            y=lines[FIXED_LINE],
            mode="lines",
            line={"color": INK, "width": 1.2, "dash": "dot"},
            name="without parameters",
            legendgroup=FIXED_LINE,
            showlegend=legend and at[1] == 1,
            hoverinfo="skip",
            **mark,
        )


def _draw_parameters(figure: go.Figure, rows: pd.DataFrame, at: tuple[int, int], last: bool) -> None:
    """A box a layer and family: G1 is GPT-Neo's first layer."""
    if rows.empty:
        return
    for family in FAMILIES:
        values = rows[rows["family"] == family].groupby("layer")["value"]
        shares = values.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).unstack()
        figure.add_box(
            x=[f"{FAMILIES[family][0]}{layer + 1}" for layer in shares.index],
            lowerfence=shares[0.05],
            q1=shares[0.25],
            median=shares[0.5],
            q3=shares[0.75],
            upperfence=shares[0.95],
            marker={"color": COLOURS[family]},
            name=FAMILIES[family],
            showlegend=False,
            row=at[0],
            col=at[1],
        )
    start = BEFORE[str(rows["method"].iloc[0])]
    figure.add_hline(start, line={"color": INK, "width": 1.2, "dash": "dot"}, row=at[0], col=at[1])
    figure.update_yaxes(title_text=NAMES[rows["parameter"].iloc[0]], row=at[0], col=at[1])
    if last:
        figure.update_xaxes(title_text="model and layer", row=at[0], col=at[1])


BEFORE = dict.fromkeys(FIXED, 1.0) | {"prelu": 0.25}  # a learned parameter before training
