"""What the transformers paper claims of the learning rate, and what becomes of its gains at other rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent
from lab.papers.runs import POINTS
from lab.papers.transformers.claims import gain
from lab.papers.transformers.rates.choice import at_best, known_tasks
from lab.tasks.named import learned

if TYPE_CHECKING:
    import pandas as pd

NOT_LEARNED = "no model leaves the trivial answer at this rate"


def gains(table: pd.DataFrame, chosen: Callable[[pd.DataFrame], pd.DataFrame]) -> list[Verdict]:
    """By task: ours minus baseline in the rows that are chosen, mean accuracy over training."""
    rows, verdicts = chosen(table), []
    for task in known_tasks(table):
        task_rows = rows[rows["task"] == task]
        if task_rows.empty:
            verdicts.append(absent("no runs at this rate", case=task))
        elif not learned(task, task_rows.groupby("method")["last"].mean().max()):
            verdicts.append(absent(NOT_LEARNED, case=task))
        else:
            verdicts.append(Verdict(gain(task_rows), above=0.0, unit=POINTS, case=task))
    return verdicts


def _faster(table: pd.DataFrame) -> Verdict:
    """The gain on MEMORIZE, each method at its best rate. That at the printed one, and those of ADDMOD, which differ
    between searches, are Figure 2's: this figure has one search."""
    measured = {verdict.case: verdict for verdict in gains(table, at_best)}
    return measured.get("memorize", absent("it is not trained here", case="memorize"))


RATES = (Claim("tuned-rates", "On MEMORIZE ours converges faster with each method at its best rate on val", _faster),)
