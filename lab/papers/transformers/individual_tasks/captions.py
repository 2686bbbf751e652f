"""What captions of Figures 2, 3, 4, 6 and 10 of the transformers paper say of accuracies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from lab.papers.transformers.claims import gain
from lab.papers.transformers.conditions import learned_tasks, unlike_paper
from lab.papers.transformers.settings import MLP, TRAINED_TO
from lab.plots.caption import signed
from lab.statistics import LEVEL
from lab.tasks.named import learned, task_title

if TYPE_CHECKING:
    import pandas as pd

LEARNED_LENGTH = 10.0  # percent copied: below it a model has not learned the lengths that it was trained on


def advantage(table: pd.DataFrame) -> str:
    """By task: mean accuracy over training and seeds, ours minus baseline, in percentage points."""
    others = unlike_paper(table)
    words = f"Mean accuracy over training, {_differences(table, learned_tasks(table), others)}"
    return f"{words} *: another setting." if others else words


def lengths(table: pd.DataFrame) -> str:
    """Beyond the lengths that were trained on, and at the longest of these, without which nothing can be extended."""
    means = table.assign(beyond=table["length"] > TRAINED_TO, accuracy=100 * table["accuracy"])
    words, failed = [], []
    for method, rows in means.groupby("method", sort=False):
        if rows["accuracy"].isna().all():
            words.append(f"{method} – (every run diverged)")
            continue
        at = rows.loc[rows["length"] == TRAINED_TO, "accuracy"].mean()
        words.append(f"{method} {at:.1f} and {rows.loc[rows['beyond'], 'accuracy'].mean():.1f} %")
        failed += [method] if at < LEARNED_LENGTH else []
    text = f"Copied exactly at length {TRAINED_TO}, and in the mean of longer ones: {', '.join(words)}."
    return f"{text} Not even length {TRAINED_TO} is learned here by {', '.join(failed)}." if failed else text


def widths(table: pd.DataFrame) -> str:
    """The mean over the widths below a task's full one, as the claim has it."""
    small = table[table["width"] < table.groupby("task")["width"].transform("max")]
    return f"Below the full width, {_differences(small, learned_tasks(table))}"


def shapes(table: pd.DataFrame) -> str:
    """Which of the functions belong to models that learned something."""
    dead = [
        task_title(task)
        for task, rows in table.groupby("task", sort=False)
        if not learned(task, rows["accuracy"].iloc[0])
    ]
    count = table["task"].nunique()
    text = f"{count - len(dead)} of {count} are of models that do better than a trivial answer"
    return f"{text}; grey, of models no better than a trivial answer: {', '.join(dead)}." if dead else f"{text}."


def _differences(table: pd.DataFrame, known: Sequence[str], others: Collection[str] = ()) -> str:
    """By task; a run that diverged is left out whole: its first steps say nothing of the rest. known: tasks that some
    method has learned, without which there is no difference. others: tasks that get a star."""
    words, dead = [], []
    for task in table["task"].unique():
        if task not in known:
            dead.append(task_title(task))
            continue
        estimate = gain(table[table["task"] == task])
        low, high = estimate.interval(LEVEL)
        interval = f" [{low:.1f}, {high:.1f}]" if isfinite(low) else ""
        searches = f" ({estimate.n} searches)" if estimate.over == "searches" and estimate.n > 1 else ""
        words.append(
            f"{task_title(task)}{'*' if task in others else ''} "
            + (f"{signed(estimate.effect)}{interval}{searches}" if estimate.n else "–")
        )
    note = " (–: every run of a kind diverged)" if any(word.endswith("–") for word in words) else ""
    spread = " [95 % interval]" if any("[" in word for word in words) else ""
    text = f"{MLP} minus baseline, in points{spread}: {', '.join(words) or 'none'}{note}"
    return f"{text}; not learned: {', '.join(dead)}." if dead else f"{text}."
