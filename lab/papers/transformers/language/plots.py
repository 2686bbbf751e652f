"""Figures of language models."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from lab.estimates import Estimate
from lab.papers.transformers.language.designs import DESIGNS, GELU
from lab.papers.transformers.language.measures import accuracy_gains, perplexity_changes
from lab.plots import comparison
from lab.plots.caption import set_reading
from lab.statistics import LEVEL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

WHISKERS = "Whiskers: 95 % interval of the difference over seeds"


def table3(table: pd.DataFrame) -> go.Figure:
    """One row a design: how its perplexity and its accuracy differ from GELU's; beside them the printed difference."""
    import pandas as pd

    perplexities, accuracies = perplexity_changes(table, "method", GELU), accuracy_gains(table, "method", GELU)
    printed = {design.name: design for design in DESIGNS}
    base = printed[GELU]
    names = [design.name for design in DESIGNS if design.name in perplexities]
    left, right = [], []
    for name in names:
        theirs = printed[name]
        left.append(_row(name, perplexities[name], 100 * (theirs.perplexity / base.perplexity - 1)))
        right.append(_row(name, accuracies[name], theirs.accuracy - base.accuracy))
    panels = [("training perplexity", pd.DataFrame(left)), ("held-out accuracy", pd.DataFrame(right))]
    figure = comparison.rows(panels, [_ends(rows) for _, rows in panels], left=96)
    figure.update_xaxes(title_text="against GELU (%)", row=1, col=1)
    figure.update_xaxes(title_text="against GELU (% points)", row=1, col=2)
    for column in (1, 2):
        figure.add_vline(x=0, line={"color": "#808080", "width": 1.2}, row=1, col=column)
    set_reading(
        figure,
        f"Left: lower is better; right: higher. {WHISKERS}.",
        "The paper's numbers are of TinyStories; where its table has lost its borders, none stands here.",
    )
    return figure


def _row(name: str, ours: Estimate, paper: float) -> dict:
    low, high = ours.interval(LEVEL)
    row = {"name": name, "mean": ours.effect, "error": (high - low) / 2}
    return row | {"paper": paper, "paper_error": nan}


def _ends(rows: pd.DataFrame) -> tuple[float, float]:
    """An axis around all marks and whiskers, and zero."""
    marks = [rows["mean"] - rows["error"].fillna(0), rows["mean"] + rows["error"].fillna(0), rows["paper"]]
    low, high = min(0.0, *(one.min() for one in marks)), max(0.0, *(one.max() for one in marks))
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad
