"""What others may ask of this paper: settings of sequences; for the zoo, rows and runs with functions that
were learned for them, and what these receive."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.papers.transformers.compatibility import PARTS
from lab.papers.transformers.functions import mlp_inputs
from lab.papers.transformers.settings import BASELINE, BOTH, MLP, Setting, of_sequences, scale_of
from lab.spec import OwnTask, RunSpec, Search, SearchSpec, on_sequences
from lab.tasks import NAMES, Task, Text
from lab.tasks.text import text_named

__all__ = ["INPUTS", "compared_rows", "compared_runs", "has", "mlp_inputs", "runs_with", "scale_of", "setting"]

INPUTS = "transformers/fig6"  # whose table has what each function receives, as `density`
METHODS = {("mlp",): MLP, ("mlp", "attention"): BOTH}  # in tables of learning curves, by what the search learned


def setting(task: Any, scale: str, attention: str | None = None) -> Setting | None:
    """The setting of an algorithmic task or a text, by its name or itself; None for other tasks."""
    by_name = isinstance(task, str) and (task in NAMES or text_named(task) is not None)
    return of_sequences(task, scale) if by_name or isinstance(task, (Task, Text, OwnTask)) else None


def has(search: Search) -> bool:
    """Whether a search is for a task of this paper, or one like these."""
    return on_sequences(search)


def compared_rows(rows: pd.DataFrame, search: SearchSpec) -> tuple[pd.Series, pd.Series] | None:
    """Which rows of a table of learning curves are of runs with what a search found, and which of the baseline's; None
    where the table does not tell."""
    if search.start != "zero":  # figures call what begins with another function by another name
        return None
    if "method" in rows:
        ours = rows["method"] == METHODS.get(search.learn)
        return ours & (rows["search"] == search.seed) if "search" in rows else ours, rows["method"] == BASELINE
    part = rows["part"] == {learned: part for part, learned in PARTS.items()}[search.learn]
    return part & (rows["architecture"] == search.task), part & (rows["architecture"] == BASELINE)


def compared_runs(phi: Spline, search: SearchSpec, scale: str, seeds: int) -> tuple[list[RunSpec], list[list[RunSpec]]]:
    """Runs of the baseline, and runs with the function: named by its search, or by its values."""
    if not isinstance(search.task, (str, Text)):  # with one's own models no runs without the function are kept
        return [], []
    settings = of_sequences(search.task, scale)
    with_function = [settings.runs(seeds, search)]
    if search.learn in (("mlp",), ("attention",)):
        changes: dict[str, Any] = {search.learn[0]: as_part(phi)}
        with_function.append(settings.runs(seeds, **changes))
    return settings.runs(seeds), with_function


def runs_with(phi: Spline, scale: str) -> Iterator[RunSpec]:
    """For each task a run with what its search finds, as figures train it, and one with this function."""
    for task in NAMES:
        base = of_sequences(task, scale)
        yield base.runs(1, base.search(("mlp",)))[0]
        yield base.runs(1, mlp=as_part(phi))[0]
