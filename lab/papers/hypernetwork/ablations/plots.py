"""The ablations of HYLA as rows: ours beside what the paper prints (hypernetwork paper, Table A1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.hypernetwork.printed import PRINTED_AT, means
from lab.plots import comparison
from lab.plots.caption import set_reading
from lab.plots.style import method_title

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

TITLES = {"logic": "fuzzy logic: R² (%)", "sraven": "SRAVEN: accuracy (%)"}
LOWEST = -40  # percent: the axis goes no lower, the digits do


def table_a1(table: pd.DataFrame) -> go.Figure:
    """A panel a task, a row a method: mean and standard error, ours and the paper's. table: as for `means`."""
    means_by_cell = means(table)
    panels, ends = [], []
    for task, rows in means_by_cell.groupby("task", sort=False):
        tokens = table.loc[table["task"] == task, "tokens"].iloc[0]
        lengths = f"<br>here {tokens:.0f} tokens, printed {PRINTED_AT}" if tokens == tokens else ""
        rows = rows.assign(name=[_two_lines(method_title(name)) for name in rows["method"]])
        panels.append((f"{TITLES[task]}{lengths}", rows))
        ends.append((max(LOWEST, min(0.0, np.nanmin(rows[["mean", "paper"]].to_numpy(float)) - 8)), 104))
    figure = comparison.rows(panels, ends)
    single = table["seed"].nunique() == 1
    set_reading(
        figure,
        "Mean over seeds on unseen combinations;",
        "one seed only, so ours have no interval."
        if single
        else "whiskers and ±: one standard error, as in the paper.",
        _diverged_runs(means_by_cell),
    )
    return figure


def other_length(table: pd.DataFrame) -> str:
    """A sentence where fuzzy logic has another length than the paper's numbers."""
    here = set(table["tokens"].dropna()) - {PRINTED_AT}
    note = f" Not the paper's task: {{}} tokens, there {PRINTED_AT}."
    return note.format(", ".join(f"{length:.0f}" for length in sorted(here))) if here else ""


def _two_lines(title: str) -> str:
    """The title broken before a sign, where it is too long for the margin.

    >>> _two_lines("HYLA + MoE"), _two_lines("linear attention + RMSHead + nonlinear value")
    ('HYLA + MoE', 'linear attention<br>+ RMSHead + nonlinear value')
    """
    if len(title) <= 24:
        return title
    cut = min(place for sign in "+−" if (place := title.find(f" {sign} ")) > 0)
    return f"{title[:cut]}<br>{title[cut + 1 :]}"


def _diverged_runs(table: pd.DataFrame) -> str:
    divergences = [
        f"{method_title(row.method)} ({row.task}): {row.lost} of {row.lost + row.runs}"
        for row in table.itertuples()
        if row.lost
    ]
    return f"Diverged runs (left out of means): {'; '.join(divergences)}." if divergences else ""
