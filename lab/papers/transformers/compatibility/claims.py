"""What the transformers paper claims of functions on tasks that they were not learned for (Figs. 5, 11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lab import estimates
from lab.papers.claims import Claim, Verdict, absent, all_of, any_of
from lab.papers.runs import POINTS, gains, per_seed
from lab.papers.transformers.claims import TWO_MORE, over_tasks
from lab.papers.transformers.compatibility import matrix
from lab.papers.transformers.conditions import NOT_LEARNED, comparable, unlike_paper
from lab.papers.transformers.settings import BASELINE
from lab.proportions import proportion

if TYPE_CHECKING:
    import pandas as pd

RELATED = ("add", "addreversed")
_FOREIGN = ~np.eye(len(matrix.PAPER), dtype=bool)
MANY = 100 * float((matrix.PAPER.to_numpy()[_FOREIGN] < 0).mean())  # % of the paper's cells that count as many


def _learned_matrix(table: pd.DataFrame, part: str = "MLP") -> pd.DataFrame:
    """The matrix of a part, of tasks that are learned, where the search of another has found nothing, in settings that
    can be the paper's."""
    known = comparable(table)
    learned = [task for task in matrix.PAPER if task in known]
    square = matrix.square(matrix.delta(table[table["part"] == part]))
    return square.reindex(index=learned, columns=learned)


def _best_on_diagonal(table: pd.DataFrame) -> Verdict:
    """Share of the tasks whose own function is best. Usually: of more than half; the paper's own matrix has half."""
    square = _learned_matrix(table)
    hits = len(matrix.best(square) & {(task, task) for task in square})
    share = proportion(hits, len(square.columns), "tasks").scaled(100)
    return Verdict(share, above=50.0, unit="%")


def _own_before_others(table: pd.DataFrame) -> Verdict:
    """What the function learned for a task gains there, minus the mean of what the others gain; over tasks."""
    square = _learned_matrix(table)
    lead = [square.loc[task, task] - square[task].drop(task).mean() for task in square]
    return Verdict(over_tasks(lead), above=0.0, unit=POINTS)


def _transfer(table: pd.DataFrame) -> Verdict:
    """The gain on one task at least of a function learned for another. The variance is pooled over the functions of a
    task."""
    means, verdicts = per_seed(table[table["part"] == "MLP"], ["task", "architecture"]), []
    learned = comparable(table)
    for task in learned:
        others = [source for source in means[task] if source in learned and source != task]
        pairs = {f"{source} on {task}": (source, BASELINE) for source in others}
        verdicts += gains(means[task], pairs, above=0.0, unit=POINTS)
    return any_of(verdicts)


def _related_gain(table: pd.DataFrame) -> Verdict:
    """Of each of two related tasks, the gain of the other's function minus the mean of what all others' gain."""
    learned, others, verdicts = comparable(table), unlike_paper(table), []
    if dead := [task for task in RELATED if task not in learned]:
        return all_of(absent(others.get(task, NOT_LEARNED), case=task) for task in dead)
    for one, other in (RELATED, RELATED[::-1]):
        cells = table[(table["part"] == "MLP") & (table["task"] == one)]
        means = per_seed(cells, "architecture")
        rest = means[[source for source in means if source in learned and source not in RELATED]]
        groups = {"other": means[other], "rest": rest.mean(axis=1)}
        verdicts += gains(groups, {f"{other} on {one}": ("other", "rest")}, above=0.0, unit=POINTS)
    return all_of(verdicts)


def _many_are_worse(table: pd.DataFrame) -> Verdict:
    """Share of functions of other tasks with less accuracy than the baseline; over functions and tasks."""
    square = _learned_matrix(table)
    diagonal = square.index.to_numpy()[:, None] == square.columns.to_numpy()
    worse = np.where(diagonal | square.isna(), np.nan, 100.0 * (square < 0))
    share = estimates.crossed(worse, "tasks", "functions and tasks").cut(0, 100)
    return Verdict(share, above=MANY, unit="%")


def _mlp_before(part: str) -> Callable[[pd.DataFrame], Verdict]:
    """On the diagonals: the gain with the MLP's function alone minus that with another part's; over tasks."""

    def measure(table: pd.DataFrame) -> Verdict:
        ours, other = (_learned_matrix(table, one) for one in ("MLP", part))
        gaps = [ours.loc[task, task] - other.loc[task, task] for task in ours]
        return Verdict(over_tasks(gaps), above=0.0, unit=POINTS)

    return measure


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of the MLP's matrix beside those that the paper prints: architecture, task, ours, theirs, clear."""
    cells = matrix.common_cells(matrix.delta(table[table["part"] == "MLP"]))
    return cells.rename(columns={"delta": "ours", "paper": "theirs"}).assign(clear=matrix.clear(cells))


FIG5 = (
    Claim(
        "diagonal",
        "The best option per task is usually on the diagonal (for more than half of the tasks)",
        _best_on_diagonal,
        decides=TWO_MORE,
        hours=2.0,
    ),
    Claim(
        "own",
        "Optimized architectures are task-specific: they gain more on their own task than others",
        _own_before_others,
        decides=TWO_MORE,
        hours=2.0,
    ),
    Claim(
        "transfer",
        "Some benefits transfer across tasks",
        _transfer,
        decides="6 seeds more a cell of ADDMOD and PARENTHESES",
        hours=0.5,
    ),
    Claim(
        "related",
        "Benefits transfer mostly across closely related tasks like ADD and ADDREVERSED",
        _related_gain,
        decides=TWO_MORE,
        hours=2.0,
    ),
    Claim(
        "worse",
        "Many perform worse than a standard transformer (as many as in the paper's matrix)",
        _many_are_worse,
        decides=TWO_MORE,
        hours=2.0,
    ),
)
FIG11 = (
    Claim(
        "mlp-alone",
        "Optimizing only the MLPs gains more than optimizing only the attention, over tasks",
        _mlp_before("attention"),
        decides=TWO_MORE,
        hours=2.0,
    ),
    Claim(
        "mlp-both",
        "Optimizing only the MLPs gains more than optimizing both, over tasks",
        _mlp_before("both"),
        decides=TWO_MORE,
        hours=2.0,
    ),
)
