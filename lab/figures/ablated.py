"""The ablations of HYLA as rows: ours beside what the paper prints (hypernetwork paper, Table A1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.figures import beside
from lab.figures.caption import set_reading
from lab.figures.style import method_title
from lab.models.methods import METHODS

if TYPE_CHECKING:  # imported where a figure is drawn
    import pandas as pd
    import plotly.graph_objects as go

# In percent, with the standard error over 3 seeds. Logic: R² on unseen combinations with 32 tokens and 70 % held out.
# SRAVEN: accuracy on unseen combinations, 4 layers, 20 million problems.
PRINTED: dict[str, dict[str, tuple[float, float]]] = {
    "logic": {
        "softmax": (63.28, 2.31),
        "linear": (59.89, 5.22),
        "hyla": (81.13, 7.77),
        "linear_rms_head": (68.93, 5.10),
        "linear_rms_head_nonlinear": (56.91, 4.25),
        "hyla_no_rms_head": (81.27, 7.88),
        "hyla_linear": (84.54, 5.32),
        "hyla_linear_no_rms_head": (79.42, 7.43),
        "hyla_softmax": (70.98, 7.08),
        "hyla_deep": (87.65, 4.54),
        "softmax_experts": (63.83, 6.07),
        "linear_experts": (60.09, 6.16),
        "hyla_experts": (82.37, 6.55),
    },
    "sraven": {
        "softmax": (56.56, 1.05),
        "linear": (56.30, 1.11),
        "hyla": (69.13, 1.90),
        "linear_rms_head": (59.01, 2.50),
        "linear_rms_head_nonlinear": (55.38, 0.32),
        "hyla_no_rms_head": (62.53, 5.73),
        "hyla_linear": (56.54, 0.21),
        "hyla_linear_no_rms_head": (56.33, 1.41),
        "hyla_softmax": (38.21, 2.98),
        "hyla_deep": (66.59, 0.08),
        "softmax_experts": (57.68, 1.31),
        "linear_experts": (64.34, 4.3),
        "hyla_experts": (66.94, 3.94),
    },
}
TITLES = {"logic": "fuzzy logic: R² (%)", "sraven": "SRAVEN: accuracy (%)"}
PRINTED_AT = 32  # tokens of the printed column of fuzzy logic
LOWEST = -40  # percent: the axis goes no lower, the digits do


def means(table: pd.DataFrame) -> pd.DataFrame:
    """One row a task and method, in the order of Table A1, in percent: task, method, mean over seeds, error (standard
    error; NaN for one run), runs in the mean, lost (diverged), paper, paper_error.

    table: task, method, tokens (NaN where a task has none), seed, value (0 to 1), diverged, chosen, one row a run.
    """
    import pandas as pd

    table, rows = table[table["chosen"]], []
    for task in (task for task in PRINTED if task in set(table["task"])):
        for method in (method for method in METHODS if method in set(table["method"])):
            own = table[(table["task"] == task) & (table["method"] == method)]
            values = 100 * own["value"].to_numpy(float)
            values = values[np.isfinite(values)]
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            rows.append({"task": task, "method": method, "mean": values.mean() if len(values) else np.nan,
                         "error": error, "runs": len(values), "lost": int(own["diverged"].astype(bool).sum()),
                         **dict(zip(("paper", "paper_error"), PRINTED[task][method], strict=True))})  # fmt: skip
    return pd.DataFrame(rows)


def table_a1(table: pd.DataFrame) -> go.Figure:
    """A panel a task, a row a method: mean and standard error, ours and the paper's. table: as for `means`."""
    found = means(table)
    panels, ends = [], []
    for task, rows in found.groupby("task", sort=False):
        tokens = table.loc[table["task"] == task, "tokens"].iloc[0]
        lengths = f"<br>here {tokens:.0f} tokens, printed {PRINTED_AT}" if tokens == tokens else ""
        rows = rows.assign(name=[_two_lines(method_title(name)) for name in rows["method"]])
        panels.append((f"{TITLES[task]}{lengths}", rows))
        ends.append((max(LOWEST, min(0.0, np.nanmin(rows[["mean", "paper"]].to_numpy(float)) - 8)), 104))
    figure = beside.rows(panels, ends)
    single = table["seed"].nunique() == 1
    set_reading(
        figure,
        "Mean over seeds on unseen combinations;",
        "one seed only, so ours have no interval."
        if single
        else "whiskers and ±: one standard error, as in the paper.",
        _lost(found),
    )
    return figure


def other_length(table: pd.DataFrame) -> str:
    """A sentence where fuzzy logic has another length than the paper's numbers."""
    here = set(table["tokens"].dropna()) - {PRINTED_AT}
    told = f" The printed numbers of fuzzy logic are of {PRINTED_AT} tokens, those here of {{}}: not the same task."
    return told.format(", ".join(f"{length:.0f}" for length in sorted(here))) if here else ""


def _two_lines(title: str) -> str:
    """The title broken before a sign, where it is too long for the margin.

    >>> _two_lines("HYLA + MoE"), _two_lines("linear attention + RMSHead + nonlinear value")
    ('HYLA + MoE', 'linear attention<br>+ RMSHead + nonlinear value')
    """
    if len(title) <= 24:
        return title
    cut = min(place for sign in "+−" if (place := title.find(f" {sign} ")) > 0)
    return f"{title[:cut]}<br>{title[cut + 1 :]}"


def _lost(found: pd.DataFrame) -> str:
    lost = [f"{method_title(row.method)} ({row.task}): {row.lost} of {row.lost + row.runs}"
            for row in found.itertuples() if row.lost]  # fmt: skip
    return f"Diverged runs (left out of means): {'; '.join(lost)}." if lost else ""
