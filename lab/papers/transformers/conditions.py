"""What a table of the transformers paper has to show before it says something about the paper's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import estimates
from lab.papers.transformers.settings import TRAINED_TO
from lab.statistics import LEVEL
from lab.tasks.trivial import learned

if TYPE_CHECKING:
    import pandas as pd

NOT_LEARNED = "no better than a trivial answer, so there is nothing to compare"
LANGUAGE = ("tinystories", "fineweb")  # of the paper's Figure 12 and Table 7


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


def language(table: pd.DataFrame, scale: str) -> str:
    """Functions of language models."""
    tasks = table["task"].unique()
    return "" if set(tasks) <= set(LANGUAGE) else f"the paper's models are of language, these of {', '.join(tasks)}"
