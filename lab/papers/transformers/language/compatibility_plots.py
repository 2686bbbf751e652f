"""Figure 9: a matrix of relative perplexities, functions × texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.transformers.language.measures import perplexity_changes, spread
from lab.papers.transformers.settings import BASELINE
from lab.plots.caption import set_reading, signed
from lab.plots.style import DIVERGING, SIZE, TEMPLATE, cell_ink
from lab.statistics import LEVEL
from lab.tasks.named import task_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go

END = 10.0  # percent at which the colours end
DARK = 0.7 * END  # from here on cells are so dark that their numbers are white
LEFT, TOP, ROW = 176, 96, 46  # px


def fig9(table: pd.DataFrame) -> go.Figure:
    """Rows: whose function; columns: what the model is trained on. table: task, architecture, seed, perplexity."""
    from lab.plots import go

    tasks = list(table["task"].unique())
    kinds = [name for name in table["architecture"].unique() if name != BASELINE]
    changes = np.full((len(kinds), len(tasks)), np.nan)
    texts = np.full(changes.shape, "–", object)
    for column, task in enumerate(tasks):
        effects = perplexity_changes(table[table["task"] == task], "architecture", BASELINE)
        for row, kind in enumerate(kinds):
            if kind in effects:
                low, high = effects[kind].interval(LEVEL)
                changes[row, column] = effects[kind].effect
                half = "" if np.isnan(low) else f"<br>± {(high - low) / 2:.1f}"
                texts[row, column] = f"{signed(effects[kind].effect)}{half}"
    figure = go.Figure(
        go.Heatmap(
            z=-changes,  # lower perplexity is better, and blue
            x=[task_title(task).replace(", ", "<br>") for task in tasks],
            y=[task_title(kind) for kind in kinds],
            zmin=-END,
            zmax=END,
            colorscale=DIVERGING,
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=changes,
            hovertemplate="function of %{y}, trained on %{x}: %{customdata:+.2f} %<extra></extra>",
        )
    )
    for row, column in np.ndindex(changes.shape):
        change = float(changes[row, column])
        ink = cell_ink(change, abs(change) > DARK)
        figure.add_annotation(
            x=column, y=row, text=texts[row, column], showarrow=False, font={"size": SIZE - 1, "color": ink}
        )
    figure.update_layout(
        template=TEMPLATE,
        height=TOP + ROW * len(kinds) + 20,
        margin={"l": LEFT, "r": 16, "t": TOP, "b": 20},
        xaxis={"side": "top", "title": {"text": "trained on"}, "showgrid": False},
        yaxis={"autorange": "reversed", "title": {"text": "function learned for"}, "showgrid": False},
    )
    set_reading(
        figure,
        "Difference of training perplexity from the baseline in %; below 0 (blue) is better.",
        f"{spread(table, '±')} Colours end at ±{END:.0f} %.",
    )
    return figure
