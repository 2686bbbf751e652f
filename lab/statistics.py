"""Spread over seeds: means with 95 % confidence intervals (Student's t, runs taken as independent)."""

import numpy as np
import pandas as pd

LEVEL = 0.95
INTERVAL = "95 % confidence interval of the mean over seeds (Student's t)"


def half_width(values: np.ndarray, level: float = LEVEL) -> float:
    """Half the width of the interval around the mean of `values` (runs,); NaN for fewer than two runs.

    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 4)  # 4.3027 · 1 / √3
    2.4841
    """
    from scipy.special import stdtrit

    runs = len(values)
    if runs < 2:
        return float("nan")
    return float(stdtrit(runs - 1, 0.5 + level / 2) * np.std(values, ddof=1) / np.sqrt(runs))


def over_seeds(table: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """Mean and interval of `value` at each `by`: columns mean, half (NaN for one run), runs; sorted by `by`.

    Values that are not finite (a diverged run has none) are left out, and `runs` says how many are in.
    """
    finite = table[np.isfinite(table[value].astype(float))]
    groups = finite.groupby(by)[value]
    return groups.agg(mean="mean", half=lambda v: half_width(v.to_numpy(float)), runs="size").sort_index()


# Columns that tell runs of one kind apart, where a table has them
RUN = ("search", "start", "layers", "width", "prefactor", "problems", "heads", "features", "held_out", "seed")


def diverged(table: pd.DataFrame) -> tuple[int, int]:
    """How many of the runs of one kind diverged, and how many there are; 0 where no column says so. A run is a seed, of
    a search or of a size where the table has several.

    >>> diverged(pd.DataFrame({"width": [8, 8, 16], "seed": [0, 1, 0], "diverged": [True, False, False]}))
    (1, 3)
    """
    run = [name for name in RUN if name in table]
    runs = len(table.drop_duplicates(run))
    if "diverged" not in table:
        return 0, runs
    return len(table[table["diverged"].astype(bool)].drop_duplicates(run)), runs
