"""Section 3.2 and Figure 11 of the transformers paper: do functions learned for one task serve another?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab import tasks
from lab.figures.algorithmic import curves
from lab.figures.registry import Planned
from lab.figures.settings import setting
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd

PARTS = {"MLP": ("mlp",), "attention": ("attention",), "both": ("mlp", "attention")}


def plan(scale: str, seeds: int, parts: Sequence[str]) -> list[Planned]:
    """Each task with the standard architecture and with each one that was optimized for a task.

    Cells off the diagonal stop at the step that the matrix reads; the others are runs of figure 10, read at that step.
    """
    found = []
    for task in tasks.NAMES:
        target = setting(task, scale)
        for part in parts:
            labels = {"part": part, "task": task, "read": target.read}
            found += [(labels | {"architecture": "baseline"}, spec) for spec in target.runs(seeds)]
            for source in tasks.NAMES:
                search = setting(source, scale).search(PARTS[part])
                whole = source == task and part != "attention"
                specs = target.runs(seeds, search, short=not whole)
                found += [(labels | {"architecture": source}, spec) for spec in specs]
    return found


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: part, architecture, task, seed, and the accuracy at the step where the paper reads the matrix."""
    table = curves(runs)
    return table[table["step"] == table["read"]].drop(columns="read").reset_index(drop=True)
