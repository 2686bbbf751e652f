"""What is asked of one function for several tasks; the transformers paper (Section 6) leaves it to future work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.runs import POINTS, gains, per_seed
from lab.papers.transformers.conditions import NOT_LEARNED, learned_tasks
from lab.papers.transformers.settings import BASELINE, MLP

if TYPE_CHECKING:
    import pandas as pd

ALL = "learned for all"


def differences(table: pd.DataFrame, first: str, second: str) -> list[Verdict]:
    """By task: accuracy over training with the one function minus that with the other."""
    known, verdicts = learned_tasks(table), []
    means = per_seed(table, ["task", "method"])
    for task in dict.fromkeys(table["task"]):
        if task not in known:
            verdicts.append(absent(NOT_LEARNED, case=task))
        else:
            verdicts += gains(means[task], {task: (first, second)}, above=0.0, unit=POINTS)
    return verdicts


def _helps(table: pd.DataFrame) -> Verdict:
    return all_of(differences(table, ALL, BASELINE))


def _own_is_better(table: pd.DataFrame) -> Verdict:
    return all_of(differences(table, MLP, ALL))


MULTITASK = (
    Claim("all", "One function learned for several tasks at once improves on the baseline on each of them", _helps),
    Claim(
        "own",
        "A function learned for a task alone improves more than one learned for several",
        _own_is_better,
        decides="three searches of each kind, and 12 seeds with each function",
        hours=0.5,
    ),
)
