"""What others may ask of this paper: settings of tables; for the zoo, rows and runs with functions that
were learned for them."""

from typing import Any

import pandas as pd

from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.papers.simplicity.settings import LEARNED, RELU, TableSetting, of_table
from lab.papers.simplicity.settings import scale_of_table as scale_of
from lab.scale import check_scale
from lab.spec import (
    EpisodeSpec,
    Learned,
    OwnTable,
    RunSpec,
    Search,
    TwoLossSpec,
    known_here_alone,
    on_sequences,
    replace,
)

__all__ = ["compared_rows", "compared_runs", "has", "scale_of", "setting"]


def setting(task: Any, scale: str, attention: str | None = None) -> TableSetting:
    """The setting of a table, an operation or images; ArgumentError for any other task: this paper is asked last."""
    return of_table(task, check_scale(scale))


def has(search: Search) -> bool:
    """Whether a search is for a task of this paper, or one like these."""
    return not on_sequences(search)


def compared_rows(rows: pd.DataFrame, search: EpisodeSpec | TwoLossSpec) -> tuple[pd.Series, pd.Series] | None:
    """Which rows of a table of learning curves are of runs with what a search found, and which of the baseline's; None
    where the table does not tell."""
    return (rows["method"] == LEARNED, rows["method"] == RELU) if "method" in rows else None


def compared_runs(
    phi: Spline, search: EpisodeSpec | TwoLossSpec, scale: str, seeds: int
) -> tuple[list[RunSpec], list[list[RunSpec]]]:
    """Runs of the baseline, and runs with the function: named by its search, or by its values."""
    task = search.task
    if search.learn != "shared" or isinstance(task, tuple):
        return [], []
    if isinstance(task, OwnTable) and not (known_here_alone(task) and task.classification):
        return [], []  # whose data is not here, or has no accuracy
    base = of_table(task, scale).runs(seeds)
    parts = (Learned(search, "phi"), as_part(phi))
    return base, [[replace(run, model=replace(run.model, phi=part)) for run in base] for part in parts]
