"""What captions of Figures 11, 12, 13 and 28 of the simplicity paper say of first steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lab.papers.claims import Verdict
from lab.papers.runs import steps_to
from lab.papers.simplicity.grokking import claims, plots
from lab.papers.simplicity.grokking.first_steps import FEWEST, reached
from lab.papers.simplicity.settings import FLOOR, LEARNED, LEVEL, RELU
from lab.plots.caption import counted

if TYPE_CHECKING:
    import pandas as pd

PERCENT = f"{100 * LEVEL:.0f} %"


def steps(table: pd.DataFrame) -> str:
    """Steps to `LEVEL` by task and method, and their ratio with its interval."""
    words, unreached = [], []
    for task, rows in table.groupby("task", sort=False):
        kinds = [rows[rows["method"] == method] for method in (LEARNED, RELU)]
        if not any(map(_gets_there, kinds)):
            unreached.append(plots.title(task))
            continue
        learned, relu = map(reached, kinds)
        ratio = claims.faster(rows)
        times = f", {_times(ratio, rows)} times as fast" if ratio.effect > 0 else ""
        words.append(f"{plots.title(task)} {learned} and {relu}{times}")
    if unreached:
        words.append(f"never with either: {', '.join(unreached)}")
    return f"Step with {PERCENT} test accuracy, learned function and {RELU}: {'; '.join(words)}."


def versions(table: pd.DataFrame) -> str:
    """Mean steps to `LEVEL` by version: with the learned function, of several searches the least and the largest, and
    with ReLU. What is never reached is left out."""
    table = table if "search" in table else table.assign(search=0)
    words = []
    for task, rows in table.groupby("task", sort=False):
        means = rows.groupby(["method", "search"])[["seed", "step", "accuracy", "diverged"]].apply(
            lambda runs: steps_to(runs, LEVEL).replace(np.inf, np.nan).mean()
        )
        if means.notna().all():
            learned = " to ".join(
                dict.fromkeys(f"{mean:,.0f}" for mean in (means[LEARNED].min(), means[LEARNED].max()))
            )
            words.append(f"{_version(task)}: {learned} ({means[RELU].mean():,.0f})")
    return f"Step with {PERCENT} test accuracy, learned functions ({RELU}): {', '.join(words)}." if words else ""


def sines(functions: pd.DataFrame) -> str:
    """How many functions are like a sine, and how much of them it explains, by version."""
    waves = claims.sines(functions)
    shares = waves.groupby("task", sort=False)["explained"].mean()
    each = ", ".join(f"{100 * share:.0f} % ({_version(task)})" for task, share in shares.items())
    count = f"{(waves['excess'] > 0).sum()} of {counted(len(waves), 'function')}"
    return f"{count} are more like a sine than noise is; it explains {each} of their variance."


def _version(task: str) -> str:
    """A version of addition by its modulus: "mod 13"."""
    return task.removeprefix("a+b ")


def speeds(table: pd.DataFrame) -> str:
    """How many times faster the learned function is, by task, and how many tasks no run learns."""
    words, unreached = [], 0
    for task, rows in table.groupby("task", sort=False):
        known = {method: _gets_there(rows[rows["method"] == method]) for method in (RELU, LEARNED)}
        unreached += not any(known.values())
        if any(known.values()):
            never = "" if known[RELU] else f" at least ({RELU} never)"
            never += "" if known[LEARNED] else " at most (learned never)"
            words.append(f"{plots.title(task)} {_times(claims.faster(rows), rows)}{never}")
    words += [f"never with either on {counted(unreached, 'operation')}"] if unreached else []
    return f"Times as fast to {PERCENT} test accuracy with the learned function: {'; '.join(words)}."


def _gets_there(rows: pd.DataFrame) -> bool:
    """Whether a run of one kind reaches `LEVEL` on test rows."""
    return bool(np.isfinite(steps_to(rows, LEVEL)).any())


def _times(ratio: Verdict, rows: pd.DataFrame) -> str:
    interval = f" [{ratio.low:.1f}, {ratio.high:.1f}]" if rows["seed"].nunique() >= FEWEST else ""
    return f"{ratio.effect:.1f}{interval}"


def settings(table: pd.DataFrame) -> str:
    """Mean first step by setting: ReLU, learned."""
    words = []
    for fraction, width, rows in _by_setting(table):
        means = [rows.loc[rows["method"] == method, "step"].mean() for method in (RELU, LEARNED)]
        text = " and ".join("never" if np.isnan(mean) else f"{mean:,.0f}" for mean in means)
        words.append(f"{100 * fraction:.0f} %, {width}: {text}")
    return f"First step with {PERCENT}, {RELU} and {LEARNED}, by share of the table and width: {'; '.join(words)}."


def all_settings(table: pd.DataFrame) -> str:
    """How many runs get there, by setting and method, and those that end far below."""
    words = []
    for fraction, width, rows in _by_setting(table):
        first = {method: rows.loc[rows["method"] == method, "step"] for method in (RELU, LEARNED)}
        text = ", ".join(f"{method} {one.notna().sum()} of {len(one)}" for method, one in first.items())
        words.append(f"{100 * fraction:.0f} % of the table, width {width}: {text}")
    return (
        f"First steps are means over the seeds that reach {PERCENT}: {'; '.join(words)}. Runs end at step"
        f" {table['last'].max():,}{_fallen(table)}."
    )


def _by_setting(table: pd.DataFrame) -> Iterator[tuple[float, int, pd.DataFrame]]:
    for (fraction, width), rows in table.groupby(["fraction", "width"], sort=False):
        yield fraction, width, rows


def _fallen(table: pd.DataFrame) -> str:
    """Runs that reached the level, and ended far below it."""
    back = table[table["step"].notna() & (table["accuracy"] < FLOOR)]
    words = [
        f"{counted(len(rows), 'run')} with {method}, width {width}, at"
        f" {100 * rows['accuracy'].min():.0f} to {100 * rows['accuracy'].max():.0f} %"
        for (method, width), rows in back.groupby(["method", "width"], sort=False)
    ]
    return f"; later far below it again: {', '.join(words)}" if words else ""
