"""The matrix of functions and models, one column a model with its own unit."""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from lab.crossing.compatibility.measures import best_rates, gains, models_of
from lab.crossing.places import BASELINE
from lab.plots.caption import set_reading, signed
from lab.plots.style import DIVERGING, SIZE, TEMPLATE, cell_ink
from lab.statistics import LEVEL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

ROW = 46  # px
SCORES = {"HYLA": "R²"}  # others: accuracy


def matrix(table: pd.DataFrame) -> go.Figure:
    """table: model, function, rate, split, seed, score (0 to 1), diverged."""
    from lab.plots import go

    models, known, rates = models_of(table), gains(table), best_rates(table)
    cells = np.array([[_effect(known, model, source) for model in models] for source in models])
    most = np.array([np.nanmax(np.abs(column), initial=0.0) for column in cells.T])
    titles = [f"{model}<br>({SCORES.get(model, 'accuracy')})" for model in models]
    figure = go.Figure()
    figure.add_heatmap(
        x=titles,
        y=models,
        z=cells / np.where(most > 0, most, 1.0),
        zmin=-1,
        zmax=1,
        colorscale=DIVERGING,
        showscale=False,
        xgap=2,
        ygap=2,
        customdata=[[_words(known, rates, model, source) for model in models] for source in models],
        hovertemplate="function of the %{y} in the %{x}: %{customdata}<extra></extra>",
    )
    for source in models:
        for model, title in zip(models, titles, strict=True):
            effect = _effect(known, model, source)
            dark = isfinite(effect) and abs(effect) > 0.85 * most[models.index(model)] > 0
            figure.add_annotation(
                x=title,
                y=source,
                text=_text(known, model, source),
                font={"color": cell_ink(effect, dark), "size": SIZE},
            )
    figure.update_xaxes(title_text="in the model", showgrid=False, showline=False, ticks="")
    figure.update_yaxes(
        title_text="function learned in", autorange="reversed", showgrid=False, showline=False, ticks=""
    )
    figure.update_layout(template=TEMPLATE, height=ROW * len(models) + 90, margin={"l": 130, "r": 16, "t": 14, "b": 76})
    one = table["seed"][table["split"] == "test"].nunique() < 2
    set_reading(
        figure,
        "Numbers: points above the model's own baseline, functions and baseline each at the rate that is best on val;"
        " colours compare within a column.",
        "One seed only: no interval."
        if one
        else f"±: {100 * LEVEL:.0f} % interval over seeds of one search; bold: it leaves 0 out.",
    )
    return figure


def _effect(known: dict, model: str, source: str) -> float:
    return known[model, source].effect if (model, source) in known else nan


def _text(known: dict, model: str, source: str) -> str:
    effect = _effect(known, model, source)
    if not isfinite(effect):
        return "–"
    low, high = known[model, source].interval(LEVEL)
    words = signed(effect)
    if isfinite(low):
        words = f"<b>{words}</b>" if low > 0 or high < 0 else words
        words += f" ± {(high - low) / 2:.1f}"
    return words


def _words(known: dict, rates: dict, model: str, source: str) -> str:
    theirs = rates.get((model, BASELINE))
    return f"{_text(known, model, source)} points, at rates {rates.get((model, source))} and {theirs}"
