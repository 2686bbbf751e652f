"""Compatibility of architectures across tasks as numbers: our matrix of differences, the paper's, and how they compare;
and what claims of several sections share: gains, means over tasks, which tasks compare with the paper's.

Cell (a, t): accuracy on task t of the architecture optimized for a, minus the baseline's, in percentage points, after
the number of steps of App. B. Where functions come from one search a task, intervals over seeds are of models trained
with it, not of other searches. What is over tasks is over those that are learned.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from lab import estimates
from lab.papers.claims import Agreement, agreement
from lab.papers.compatibility import best, clear, square
from lab.papers.tables import alive, per_seed
from lab.papers.transformers.settings import BASELINE, MLP, printed
from lab.plots.caption import counted, true_minus
from lab.task_names import TASK_TITLES
from lab.tasks.named import learned

PAPER_SOURCE = "transformers paper, Figure 5 (printed as text; 6 seeds, no interval)"
# Rows: architecture optimized for. Columns: trained and tested on. Both in the order of TASK_TITLES.
PAPER = pd.DataFrame(
    [
        [43, 0, 9, 13, -4, -10, -15, 0],
        [16, 16, 14, 21, -1, -9, 6, -4],
        [17, 7, 15, 18, 29, 7, 13, 0],
        [14, 6, 14, 17, 29, 6, 12, 1],
        [9, 3, 9, 12, 22, 13, 17, 0],
        [1, 3, 8, -2, -6, 12, 15, 0],  # the last is printed "-0", where others are "+0"
        [0, 3, 11, -3, -11, 11, 19, -1],  # the first, too
        [7, 5, 9, 10, 13, 11, 13, 0],
    ],
    index=pd.Index(TASK_TITLES, name="architecture"),
    columns=pd.Index(TASK_TITLES, name="task"),
    dtype=float,
)
MINUS_ZEROS = 2  # cells of it that are below 0 by less than half a point
NOT_LEARNED = "no better than a trivial answer, so there is nothing to compare"


@dataclass(frozen=True)
class Comparison(Agreement):
    """How our matrix compares with the paper's, over the cells that both have."""

    best_on_diagonal: int  # tasks whose own architecture is best; ties count, unless all are equal
    paper_best_on_diagonal: int
    tasks: int

    @property
    def rank_correlation(self) -> str:
        """Spearman's correlation and its interval in digits."""
        low, high = self.low, self.high
        interval = "" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]"
        return true_minus(f"{self.spearman:.2f}{interval}")

    def sentence(self) -> str:
        """The comparison in words."""
        signs = f"None of {self.cells} cells is clear of seed noise, with a sign in the paper"
        if self.clear:
            agree = f"{self.signs * self.clear:.0f} agree{'s' * (round(self.signs * self.clear) == 1)}"
            signs = f"The paper prints {self.clear} of them with a sign; {agree}"
        rho = f"{self.rank_correlation}"
        if np.isnan(self.spearman):
            rho = "unknown: the numbers here are all equal"
        return (
            f"{signs}. Spearman {rho}. Best on the diagonal: {self.best_on_diagonal} of "
            f"{counted(self.tasks, 'task')} learned here (paper: {self.paper_best_on_diagonal})."
        )


def compare(ours: pd.DataFrame, paper: pd.DataFrame = PAPER, unlearned: Iterable[str] = ()) -> Comparison:
    """Compare what `delta` found with a published matrix (architectures × tasks).

    unlearned: tasks that no model learned here; their columns have no best, and their cells are left out.
    """
    both = common_cells(ours, paper)
    here, there = square(both), square(both, "paper")
    cells = both[["architecture", "task"]].assign(ours=both["delta"], theirs=both["paper"], clear=clear(both))
    left = [task for task in here if task not in set(unlearned)]
    ours_best, paper_best = (len(best(side[left]) & {(task, task) for task in left}) for side in (here, there))
    ranks = asdict(agreement(cells[cells["task"].isin(left)]))
    return Comparison(**ranks, best_on_diagonal=ours_best, paper_best_on_diagonal=paper_best, tasks=len(left))


def common_cells(ours: pd.DataFrame, paper: pd.DataFrame = PAPER) -> pd.DataFrame:
    """The rows of what `delta` found that a published matrix has, too, with its numbers as a column `paper`."""
    theirs = paper.rename_axis(index="architecture", columns="task").T.unstack().rename("paper")
    both = ours.set_index(["architecture", "task"]).join(theirs, how="inner")
    return both.dropna(subset=["delta", "paper"]).reset_index()


def gain(table: pd.DataFrame, method: str = MLP) -> estimates.Estimate:
    """Accuracy with the learned function minus the baseline's on one task, in percentage points: means of a run's rows,
    of runs. Searches and their seeds are nested where the table has several searches."""
    kinds = per_seed(table, "method")
    ours = table[table["method"] == method]
    each = [rows for _, rows in ours.groupby("search")] if "search" in table else [ours]
    by_search = [per_seed(rows, "method")[method] for rows in each if len(rows)]
    return estimates.nested(by_search, kinds[BASELINE] if BASELINE in kinds else [])


def over_tasks(values: Iterable[float]) -> estimates.Estimate:
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
