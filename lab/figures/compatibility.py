"""Section 3.2 and Figure 11 of the transformers paper: do functions learned for one task serve another?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab import tasks
from lab.figures import heatmap, matrix
from lab.figures.algorithmic import attention_notes, curves
from lab.figures.registry import Entry, Planned
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


def _summary(table: pd.DataFrame) -> str:
    """How far the MLP matrix agrees with the paper's, and how often the best of a column is on the diagonal."""
    found = matrix.compare(matrix.delta(table[table["part"] == "MLP"]))
    return (
        f"Against the paper's matrix: signs agree in {100 * found.sign_agreement_all:.0f} % of the cells "
        f"({100 * found.sign_agreement:.0f} % of the {found.clear} cells clear of our seed noise); Spearman correlation "
        f"{found.spearman:.2f} (95 % interval {found.spearman_low:.2f} to {found.spearman_high:.2f}); best on the diagonal "
        f"for {found.best_on_diagonal} of {found.tasks} tasks (paper: {found.paper_best_on_diagonal})."
    )


def _notes(scale: str) -> list[str]:
    if scale == "laptop":
        return ["3 seeds a cell (paper 6)", "cells off the diagonal stop at the step that is read, on the full schedule"]
    return ["cells off the diagonal stop at the step that is read, on the full schedule"]


_SEEDS = {"smoke": 2, "laptop": 3, "paper": 6}

ENTRIES = (
    Entry(
        "transformers/fig5", "3.2", "Compatibility of architectures across algorithmic tasks",
        "Difference in test accuracy with the baseline, in percentage points, after a fixed number of steps: functions learned"
        " for the row's task, models trained on the column's task",
        "the best option of a task is usually on the diagonal; some positive transfer, mostly between related tasks",
        tasks=tasks.NAMES, plan=lambda scale, seeds: plan(scale, seeds, ("MLP",)), measure=measure, plot=heatmap.fig5,
        notes=_notes, summary=_summary, seeds=_SEEDS, curves=True,
        minutes={"smoke": 0.5, "laptop": 30, "paper": 15},
    ),
    Entry(
        "transformers/fig11", "C", "Compatibility: MLP, attention, both",
        "The matrix of Figure 5 with the functions of the MLP, of the attention, or of both learned",
        "optimizing the attention is hard; the best results come from the MLP alone",
        tasks=tasks.NAMES, plan=lambda scale, seeds: plan(scale, seeds, tuple(PARTS)), measure=measure, plot=heatmap.fig11,
        notes=lambda scale: [*attention_notes(scale), *_notes(scale)], summary=_summary, seeds=_SEEDS, curves=True,
        minutes={"smoke": 1, "laptop": 60, "paper": 40},
    ),
)  # fmt: skip
