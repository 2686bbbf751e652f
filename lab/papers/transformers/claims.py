"""What the transformers paper claims: what the claims of its sections share.

Functions come from one search a task: intervals over seeds are of models trained with it, not of other searches. What
is over tasks is over those that are learned (see `lab.papers.transformers.conditions`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import estimates

if TYPE_CHECKING:
    import pandas as pd

    from lab.estimates import Estimate

# What would decide open claims:
TWO_MORE = "ADD and ADDREVERSED at width 64, batch 256, 3 searches each"


def over_tasks(values: pd.Series) -> Estimate:
    """Mean over tasks, each by its runs."""
    return estimates.mean(values, "tasks", "tasks, of one search each")
