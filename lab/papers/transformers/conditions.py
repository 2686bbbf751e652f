"""What a table of the transformers paper has to show before it says something about the paper's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.transformers.compatibility import matrix
from lab.papers.transformers.settings import BASELINE, TRAINED_TO, printed
from lab.statistics import LEVEL
from lab.tasks.named import learned

if TYPE_CHECKING:
    import pandas as pd

NOT_LEARNED = "no better than a trivial answer, so there is nothing to compare"


def learned_tasks(table: pd.DataFrame) -> list[str]:
    """Tasks on which some kind of models is clear of the trivial answer, at the last step of the table; a kind: all
    columns but the seed, the step and what is measured."""
    if "diverged" in table:
        table = table[~table["diverged"].astype(bool)]
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
    known = table[(table[kind] == BASELINE) & table["task"].isin(matrix.PAPER.columns)]
    for task, rows in known.groupby("task", sort=False):
        away = (rows["step"] - printed(str(task)).read).abs()
        at, gain = rows[away == away.min()], float(matrix.PAPER[task].max())
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


def left_trivial(table: pd.DataFrame) -> bool:
    """Whether models of one task are clear of the trivial answer, by the interval of their mean: accuracies at the last
    step. Below, what they lack may be nothing but training."""
    task = table["task"].iloc[0]
    return learned(task, estimates.mean(table["accuracy"]).interval(LEVEL)[0])


def copies(table: pd.DataFrame, scale: str) -> str:
    """ALiBi has learned to copy what it was trained on: else it has nothing to extend."""
    known = table[(table["method"] == "ALiBi") & (table["length"] == TRAINED_TO)]
    share = known["accuracy"].mean()
    return "" if share > 0.5 else f"at length {TRAINED_TO}, up to which it is trained, ALiBi copies {100 * share:.0f} %"
