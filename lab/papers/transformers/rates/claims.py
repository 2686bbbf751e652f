"""What the transformers paper claims of the learning rate, and what becomes of its gains at other rates."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING

from lab.papers.claims import Claim, Verdict, absent, all_of
from lab.papers.runs import POINTS
from lab.papers.transformers.claims import gain
from lab.papers.transformers.rates.choice import at_best, at_printed, best_rates, known_tasks
from lab.papers.transformers.settings import BASELINE, MLP
from lab.plots.style import task_title
from lab.statistics import LEVEL
from lab.tasks.trivial import learned

if TYPE_CHECKING:
    import pandas as pd

NOT_LEARNED = "no model leaves the trivial answer at this rate"


def _gains(table: pd.DataFrame, chosen: Callable[[pd.DataFrame], pd.DataFrame]) -> list[Verdict]:
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


def summary(table: pd.DataFrame) -> str:
    """By task: the gain at the printed rate, and with each method at its best rate on `val`."""
    best, words = best_rates(table), []
    printed, tuned = ({v.case: v for v in _gains(table, rows)} for rows in (at_printed, at_best))
    for task in known_tasks(table):
        rates = f"{best[task, BASELINE]:g} and {best[task, MLP]:g}"
        words.append(
            f"{task_title(task)} {_told(printed[task])} at the printed rate, {_told(tuned[task])} with each at its best"
            f" rate on val ({rates})"
        )
    return (
        f"Mean accuracy over training, {MLP} minus baseline, in percentage points (95 % interval over seeds of one"
        f" search): {'; '.join(words)}."
    )


def _told(found: Verdict) -> str:
    if found.reason:
        return "not learned" if found.reason == NOT_LEARNED else "–"
    low, high = found.estimate.interval(LEVEL)
    return f"{found.effect:+.1f}" + (f" [{low:.1f}, {high:.1f}]" if isfinite(low) else "")


RATES = (
    Claim(
        "printed-rate",
        "At the rate that the paper prints, the learned function converges faster (mean accuracy over training), on"
        " each task that is learned there",
        lambda table: all_of(found for found in _gains(table, at_printed) if not found.reason),
        decides="the other tasks at the paper's scale",
        hours=8.0,
    ),
    Claim(
        "tuned-rates",
        "It still does with each of the two at its own best rate, chosen on val",
        lambda table: all_of(found for found in _gains(table, at_best) if not found.reason),
        decides="more seeds where the interval has 0 in it; the other tasks at the paper's scale",
        hours=8.0,
    ),
)
