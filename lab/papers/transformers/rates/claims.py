"""What the transformers paper claims of the learning rate, and what becomes of its gains at other rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.runs import POINTS
from lab.papers.transformers.claims import gain
from lab.papers.transformers.rates.choice import at_best, at_printed, known_tasks
from lab.tasks.trivial import learned

if TYPE_CHECKING:
    import pandas as pd

NOT_LEARNED = "no model leaves the trivial answer at this rate"


def gains(table: pd.DataFrame, chosen: Callable[[pd.DataFrame], pd.DataFrame]) -> list[Verdict]:
    """By task: ours minus baseline in the rows that are chosen, mean accuracy over training."""
    rows, found = chosen(table), []
    for task in known_tasks(table):
        own = rows[rows["task"] == task]
        if own.empty:
            found.append(absent("no runs at this rate", case=task))
        elif not learned(task, own.groupby("method")["last"].mean().max()):
            found.append(absent(NOT_LEARNED, case=task))
        else:
            found.append(Verdict(gain(own), above=0.0, unit=POINTS, case=task))
    return found


RATES = (
    Claim(
        "printed-rate",
        "At the printed rate the learned function converges faster, on each task that is learned",
        lambda table: all_of(found for found in gains(table, at_printed) if not found.reason),
        decides="the other tasks at the paper's scale",
        hours=8.0,
    ),
    Claim(
        "tuned-rates",
        "With each at its best rate (chosen on val), the learned function converges faster",
        lambda table: all_of(found for found in gains(table, at_best) if not found.reason),
        decides="more seeds where the interval has 0 in it; the other tasks at the paper's scale",
        hours=8.0,
    ),
)
