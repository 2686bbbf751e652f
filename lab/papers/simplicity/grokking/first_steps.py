"""The first step at which runs solve their task, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.papers.runs import steps_to
from lab.papers.simplicity.settings import LEVEL
from lab.statistics import half_width

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 3  # runs that an interval is told of: that of two is wider than any axis


def reached(rows: pd.DataFrame) -> str:
    """The mean step at which runs of one kind reach `LEVEL` on test rows, its interval, and how many of them do.

    >>> import pandas as pd
    >>> reached(pd.DataFrame({"seed": [0, 0, 1, 1], "step": [10, 20, 10, 20], "accuracy": [0.0, 1.0, 0.0, 0.5]}))
    '20 (1 of 2)'
    """
    steps = steps_to(rows, LEVEL)
    first_steps = steps[np.isfinite(steps)]
    if not len(first_steps):
        return f"never (0 of {len(steps)})"
    half = half_width(first_steps.to_numpy()) if len(first_steps) >= FEWEST else np.nan
    interval = "" if np.isnan(half) else f" ± {half:,.0f}"
    share = "" if len(first_steps) == len(steps) else f" ({len(first_steps)} of {len(steps)})"
    return f"{first_steps.mean():,.0f}{interval}{share}"
