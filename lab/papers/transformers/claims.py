"""What the claims of several sections share: gains, means over tasks, and whether tasks can be compared with the paper.

Where functions come from one search a task, intervals over seeds are of models trained with it, not of other searches;
Figure 2 has several searches of the tasks that train fastest. What is over tasks is over those that are learned.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from lab import estimates
from lab.estimates import Estimate
from lab.papers.runs import per_seed
from lab.papers.tables import alive
from lab.papers.transformers.matrix import PAPER
from lab.papers.transformers.settings import BASELINE, MLP, printed
from lab.tasks.named import learned

NOT_LEARNED = "no better than a trivial answer, so there is nothing to compare"


def gain(table: pd.DataFrame, method: str = MLP) -> Estimate:
    """Accuracy with the learned function minus the baseline's on one task, in percentage points: means of a run's rows,
    of runs. Searches and their seeds are nested where the table has several searches."""
    kinds = per_seed(table, "method")
    ours = table[table["method"] == method]
    each = [rows for _, rows in ours.groupby("search")] if "search" in table else [ours]
    by_search = [per_seed(rows, "method")[method] for rows in each if len(rows)]
    return estimates.nested(by_search, kinds[BASELINE] if BASELINE in kinds else [])


def over_tasks(values: Iterable[float]) -> Estimate:
    """Mean over tasks, each by its runs."""
    return estimates.mean(values, "tasks", "tasks, of one search each")


def learned_tasks(table: pd.DataFrame) -> list[str]:
    """Tasks on which some kind of models is clear of the trivial answer, at the last step of the table; a kind: all
    columns but the seed, the step and what is measured."""
    if "diverged" in table:
        table = alive(table)
    if "step" in table:
        table = table[table["step"] == table.groupby("task")["step"].transform("max")]
    kinds = [name for name in ("task", "part", "architecture", "method", "degree", "width") if name in table]
    means = table.groupby(kinds, sort=False)["accuracy"].mean().groupby("task", sort=False).max()
    return [task for task, best in means.items() if learned(task, best)]


def unlike_paper(table: pd.DataFrame) -> dict[str, str]:
    """Tasks whose setting cannot be the paper's, and why: the baseline is better than the paper's can have been. With
    the largest gain that Figure 5 prints for a task, the paper's baseline must stay below 100 %; at the step of that
    matrix (App. B), or at the nearest one of the table.

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"task": "mano", "method": "baseline", "seed": [0, 1], "step": 3000, "accuracy": 0.96})
    >>> unlike_paper(runs)["mano"]
    "the baseline has 96 % at step 3,000, the paper's at most 71 (a gain of 29 is printed): not the paper's setting"
    """
    kind = "method" if "method" in table else "architecture"
    reasons = {}
    for task, rows in table[(table[kind] == BASELINE) & table["task"].isin(PAPER.columns)].groupby("task", sort=False):
        away = (rows["step"] - printed(str(task)).read).abs()
        at, gain = rows[away == away.min()], float(PAPER[task].max())
        best = 100 * float(at["accuracy"].mean())
        if best > 100 - gain:
            reasons[str(task)] = (
                f"the baseline has {best:.0f} % at step {at['step'].iloc[0]:,}, the paper's at most {100 - gain:.0f}"
                f" (a gain of {gain:.0f} is printed): not the paper's setting"
            )
    return reasons


def comparable(table: pd.DataFrame) -> list[str]:
    """Tasks that are learned in a setting that can be the paper's."""
    unlike = unlike_paper(table)
    return [task for task in learned_tasks(table) if task not in unlike]
