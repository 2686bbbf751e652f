"""SRAVEN by number of training problems (hypernetwork paper, Fig. 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.figures.caption import set_reading
from lab.figures.spread import INTERVAL, over_seeds
from lab.figures.style import METHOD_COLOURS, METHOD_SYMBOLS, TEMPLATE, colour, method_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go


def fig4a(table: pd.DataFrame) -> go.Figure:
    """Accuracy against the number of problems, one line a method.

    table: method, problems, seed, accuracy_ood, accuracy_test (0 to 1), diverged, chosen; one row a run.
    """
    import plotly.graph_objects as go

    figure, table = go.Figure(), table[table["chosen"]]
    for rank, method in enumerate(sorted(table["method"].unique(), key=list(METHOD_COLOURS).index)):
        rows = table[table["method"] == method]
        for split, width, dash in (("test", 1.2, "dot"), ("ood", 2.5, "solid")):
            stats = 100 * over_seeds(rows, "problems", f"accuracy_{split}")[["mean", "half"]]
            whiskers = {"array": stats["half"], "thickness": 1.2, "width": 4} if split == "ood" else None
            figure.add_scatter(
                x=stats.index * 1.02 ** (rank - 1),  # beside each other, so that whiskers can be told apart
                y=stats["mean"],
                error_y=whiskers,
                customdata=stats.index,
                name=method_title(method) if split == "ood" else f"{method_title(method)}, seen combinations",
                legendgroup=method,
                showlegend=split == "ood",
                mode="lines+markers",
                line={"color": colour(method), "width": width, "dash": dash},
                marker={"symbol": METHOD_SYMBOLS[method], "size": 8 if split == "ood" else 4},
                hovertemplate="%{customdata:,} problems: %{y:.1f} %",
            )
    numbers = sorted(table["problems"].unique())
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 62, "r": 16, "t": 40, "b": 50},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"type": "log", "title": {"text": "problems trained on (log scale)"}, "tickvals": numbers,
               "ticktext": [f"{number:,}" for number in numbers], "minor": {"ticks": ""},
               "range": list(np.log10([numbers[0] / 1.2, numbers[-1] * 1.2]))},
        yaxis={"title": {"text": "accuracy, whole answer (%)"}, "range": (-3, 104)},
    )  # fmt: skip
    lost, runs = int(table["diverged"].astype(bool).sum()), len(table)
    whiskers = f"Whiskers: {INTERVAL}." if table["seed"].nunique() > 1 else "One seed only: no interval."
    set_reading(
        figure,
        f"Solid: unseen combinations, mean over seeds. {whiskers} Thin dotted: seen combinations, fresh problems.",
        f"Diverged runs (left out of means): {lost} of {runs}." if lost else "",
    )
    return figure
