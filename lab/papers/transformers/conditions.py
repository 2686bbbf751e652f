"""What a table of the transformers paper has to show before it says something about the paper's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.transformers.individual_tasks.plots import TRAINED_TO

if TYPE_CHECKING:
    import pandas as pd

# Accuracy without learning the task, on `test`: the most frequent token at each position; for HAYSTACK, some value of
# the list. A sequence (COPY) is never right as a whole.
TRIVIAL = {
    "memorize": 0.041,
    "addmod": 0.030,
    "add": 0.225,
    "addreversed": 0.233,
    "mano": 0.206,
    "haystack": 0.302,
    "copy": 0.0,
    "parentheses": 0.514,
}
CLEAR = 0.05  # above it: more than three standard errors of 1,000 test problems, of which a third are right
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
    return [task for task, best in means.items() if best > TRIVIAL.get(task, 0.0) + CLEAR]


def copies(table: pd.DataFrame, scale: str) -> str:
    """ALiBi has learned to copy what it was trained on: else it has nothing to extend."""
    known = table[(table["method"] == "ALiBi") & (table["length"] == TRAINED_TO)]
    share = known["accuracy"].mean()
    return "" if share > 0.5 else f"at length {TRAINED_TO}, up to which it is trained, ALiBi copies {100 * share:.0f} %"


def language(table: pd.DataFrame, scale: str) -> str:
    """Functions of language models."""
    tasks = table["task"].unique()
    return "" if set(tasks) <= set(LANGUAGE) else f"the paper's models are of language, these of {', '.join(tasks)}"
