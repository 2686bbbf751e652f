"""Figures of language models."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

from lab.estimates import Estimate
from lab.papers.transformers.language.designs import DESIGNS, GELU
from lab.papers.transformers.language.measures import accuracy_gains, perplexity_changes, spread
from lab.plots import comparison
from lab.plots.caption import set_reading
from lab.plots.style import GREY
from lab.statistics import LEVEL

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd

    from lab.plots import go


def table3(table: pd.DataFrame) -> go.Figure:
    """One row a design: how its perplexity and its accuracy differ from GELU's; beside them the printed difference."""
    perplexities, accuracies = perplexity_changes(table, "method", GELU), accuracy_gains(table, "method", GELU)
    base = next(design for design in DESIGNS if design.name == GELU)
    left, right = [], []
    for design in DESIGNS:
        if (name := design.name) in perplexities:
            left.append((name, perplexities[name], 100 * (design.perplexity / base.perplexity - 1)))
            right.append((name, accuracies[name], design.accuracy - base.accuracy))
    figure = comparisons(left, right, 118)
    set_reading(
        figure,
        f"Left: lower is better; right: higher. {spread(table)}",
        "The paper's numbers are of TinyStories; where its table has lost its borders, none stands here.",
    )
    return figure


Rows = Sequence[tuple[str, Estimate, float]]  # name, ours, the paper's


def comparisons(perplexities: Rows, accuracies: Rows, left: int) -> go.Figure:
    """Differences from GELU, ours beside the printed ones. left: px for names."""
    import pandas as pd

    tables = [pd.DataFrame([_row(*row) for row in rows]) for rows in (perplexities, accuracies)]
    panels = list(zip(("training perplexity", "held-out accuracy"), tables, strict=True))
    figure = comparison.rows(panels, [_ends(rows) for rows in tables], left=left)
    figure.update_xaxes(title_text="against GELU (%)", row=1, col=1)
    figure.update_xaxes(title_text="against GELU (% points)", row=1, col=2)
    for column in (1, 2):
        figure.add_vline(x=0, line={"color": GREY, "width": 1.2}, row=1, col=column)
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
