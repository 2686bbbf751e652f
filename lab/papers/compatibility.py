"""Compatibility matrices: what an architecture that was optimized for one task gains on each, over the baseline."""

import numpy as np
import pandas as pd

from lab.errors import LabError
from lab.statistics import half_width
from lab.tasks.named import TASK_TITLES, learned

BASELINE = "baseline"
NO_MODEL_LEARNS = "#E9E9E9"  # behind the column of a task
FAINT = "#565656"  # numbers in it


def delta(table: pd.DataFrame) -> pd.DataFrame:
    """Differences to the baseline, one row a cell, in percentage points.

    table: architecture ("baseline" or a task), task, seed, accuracy (0 to 1): one part, one row a run.
    Columns of the result: architecture, task, delta (mean over seeds of architecture minus baseline of the same seed),
    error (its standard error), low and high (95 % interval, Student's t; NaN for one seed), seeds (pairs in the mean),
    lost (pairs left out, because a run of theirs diverged; where all are, delta is NaN). Raises LabError where the
    table has no baseline for a task.
    """
    if lacking := sorted({*table["task"]} - {*table.loc[table["architecture"] == BASELINE, "task"]}):
        raise LabError(f"the table lacks the baseline of {', '.join(lacking)}; differences need one run of it at least")
    if table.duplicated(["architecture", "task", "seed"]).any():
        raise ValueError("two runs of one architecture, task and seed")
    rows, learned = [], table[table["architecture"] != BASELINE]
    base = table[table["architecture"] == BASELINE].set_index(["task", "seed"])["accuracy"]
    base = base.reindex(pd.MultiIndex.from_frame(learned[["task", "seed"]]))
    all_pairs = 100 * (learned["accuracy"].to_numpy(float) - base.to_numpy(float))
    places = learned.groupby(["architecture", "task"], sort=False).indices
    for architecture, task in sorted(places, key=lambda cell: [*map(_order, cell)]):
        pairs = all_pairs[places[architecture, task]]
        gains = pairs[np.isfinite(pairs)].round(9)  # equal accuracies differ by 0, not by float64 rounding
        mean, half = (gains.mean().round(9), half_width(gains)) if len(gains) else (np.nan, np.nan)
        row = {"architecture": architecture, "task": task, "delta": mean}
        row["error"] = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
        row |= {"low": mean - half, "high": mean + half, "seeds": len(gains), "lost": len(pairs) - len(gains)}
        rows.append(row)
    return pd.DataFrame(rows)


def square(cells: pd.DataFrame, value: str = "delta") -> pd.DataFrame:
    """One column of `delta`'s result as a matrix, architectures × tasks, in the paper's order."""
    matrix = cells.pivot(index="architecture", columns="task", values=value)
    return matrix.loc[sorted(matrix.index, key=_order), sorted(matrix.columns, key=_order)]


def _order(name: str) -> tuple[int, str]:
    """Sorts names of tasks as the paper's matrix has them; others come last."""
    return ([*TASK_TITLES].index(name) if name in TASK_TITLES else len(TASK_TITLES)), name


def clear(cells: pd.DataFrame) -> pd.Series:
    """Which cells differ from 0 by more than the noise of seeds: the 95 % interval leaves 0 out.

    A cell of one seed has no interval, and counts as clear unless it is 0.
    """
    known = np.where(cells["low"].isna(), cells["delta"] != 0, (cells["low"] > 0) | (cells["high"] < 0))
    return pd.Series(known & cells["delta"].notna(), index=cells.index)


def best(matrix: pd.DataFrame) -> set[tuple[str, str]]:
    """Cells (architecture, task) with the largest number of their column; all of them where several are equal.

    A column of equal numbers has no best: there, the architecture made no difference.

    >>> sorted(best(pd.DataFrame({"add": [1, 2], "copy": [5, 5], "mano": [3, 3.5]}, index=["add", "mano"])))
    [('mano', 'add'), ('mano', 'mano')]
    """
    telling = [task for task in matrix if matrix[task].max() > matrix[task].min()]
    return {(a, t) for t in telling for a in matrix.index if matrix.loc[a, t] == matrix[t].max()}


def unlearned(table: pd.DataFrame) -> frozenset[str]:
    """Tasks on which no architecture, in the mean over its seeds, does better than a trivial answer."""
    best_of = table.groupby(["task", "architecture"])["accuracy"].mean().groupby("task").max()
    return frozenset(task for task, best_one in best_of.items() if not learned(task, best_one))
