"""What the transformers paper claims: what the claims of its sections share.

Where functions come from one search a task, intervals over seeds are of models trained with it, not of other searches;
Figure 2 has several searches of the tasks that train fastest. What is over tasks is over those that are learned (see
`lab.papers.transformers.conditions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.runs import per_seed
from lab.papers.transformers.settings import BASELINE, MLP

if TYPE_CHECKING:
    import pandas as pd

    from lab.estimates import Estimate

# What would decide open claims:
TWO_MORE = "ADD and ADDREVERSED with three searches each, and 12 seeds a cell"


def gain(table: pd.DataFrame, method: str = MLP) -> Estimate:
    """Accuracy with the learned function minus the baseline's on one task, in percentage points: means of a run's rows,
    of runs. Searches and their seeds are nested where the table has several searches."""
    kinds = per_seed(table, "method")
    ours = table[table["method"] == method]
    each = [rows for _, rows in ours.groupby("search")] if "search" in table else [ours]
    by_search = [per_seed(rows, "method")[method] for rows in each if len(rows)]
    return estimates.nested(by_search, kinds[BASELINE] if BASELINE in kinds else [])


def over_tasks(values: pd.Series) -> Estimate:
    """Mean over tasks, each by its runs."""
    return estimates.mean(values, "tasks", "tasks, of one search each")
