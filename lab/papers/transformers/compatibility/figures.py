"""Section 3.2 and Figure 11 of the transformers paper: do functions learned for one task serve another?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab import tasks
from lab.papers.entry import Entry, Planned
from lab.papers.tables import curves
from lab.papers.transformers.compatibility import claims, matrix, plots
from lab.papers.transformers.individual_tasks.figures import attention_notes
from lab.papers.transformers.origin import origin
from lab.papers.transformers.settings import setting
from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd

PARTS = {"MLP": ("mlp",), "attention": ("attention",), "both": ("mlp", "attention")}


def plan(scale: str, seeds: int, parts: Sequence[str]) -> list[Planned]:
    """Each task with the standard architecture and with each one that was optimized for a task.

    Cells off the diagonal stop at the step that the matrix reads; the others are runs of figure 10, read at that step.
    """
    planned = []
    for task in tasks.NAMES:
        target = setting(task, scale)
        for part in parts:
            labels = {"part": part, "task": task, "read": target.read}
            planned += [(labels | {"architecture": "baseline"}, spec) for spec in target.runs(seeds)]
            for source in tasks.NAMES:
                search = setting(source, scale).search(PARTS[part])
                whole = source == task and part != "attention"
                specs = target.runs(seeds, search, short=not whole)
                planned += [(labels | {"architecture": source}, spec) for spec in specs]
    return planned


def measure(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a run: part, architecture, task, seed, and the accuracy at the step where the paper reads the matrix."""
    table = curves(runs)
    return table[table["step"] == table["read"]].drop(columns="read").reset_index(drop=True)


def _summary(table: pd.DataFrame) -> str:
    """How far the MLP matrix agrees with the paper's, and how often the best of a column is on the diagonal."""
    rows = table[table["part"] == "MLP"]
    return matrix.compare(matrix.delta(rows), unlearned=plots.unlearned(rows)).sentence()


def _fig5_notes(scale: str) -> list[str]:
    return [] if scale == "paper" else [f"{_FIG5_SEEDS[scale]} seeds a cell (paper 6)"]


def _fig11_notes(scale: str) -> list[str]:
    fewer = [] if scale == "paper" else [f"{_FIG11_SEEDS[scale]} seeds a cell (paper 6)"]
    return [*attention_notes(scale), *fewer]


_FIG5_SEEDS = {"smoke": 2, "laptop": 3, "paper": 6}
_FIG11_SEEDS = {"smoke": 2, "laptop": 2, "paper": 6}

ENTRIES = (
    Entry(
        "transformers/fig5",
        "3.2",
        "Compatibility of architectures across algorithmic tasks",
        "Difference in test accuracy with the baseline, in percentage points, after a fixed number of steps:"
        " non-linearities learned for the row's task, models trained on the column's task",
        "the best option of a task is usually on the diagonal; some positive transfer, mostly between related tasks",
        tasks=tasks.NAMES,
        plan=lambda scale, seeds: plan(scale, seeds, ("MLP",)),
        measure=measure,
        histories=True,
        plot=plots.fig5,
        notes=_fig5_notes,
        summary=_summary,
        seeds=_FIG5_SEEDS,
        curves=True,
        claims=claims.FIG5,
        printed=claims.printed,
        origin=origin(tasks.NAMES, matrix=True),
        minutes={"smoke": 0.5, "laptop": 14, "paper": 15},
    ),
    Entry(
        "transformers/fig11",
        "C",
        "Compatibility: MLP, attention, both",
        "The matrix of Figure 5 with the functions of the MLP, of the attention, or of both learned",
        "optimizing the attention is hard; the best results come from the MLP alone",
        tasks=tasks.NAMES,
        plan=lambda scale, seeds: plan(scale, seeds, tuple(PARTS)),
        measure=measure,
        histories=True,
        plot=plots.fig11,
        notes=_fig11_notes,
        summary=_summary,
        seeds=_FIG11_SEEDS,
        curves=True,
        claims=claims.FIG11,
        printed=claims.printed,
        origin=origin(tasks.NAMES, matrix=True),
        minutes={"smoke": 1, "laptop": 32, "paper": 40},
    ),
)
