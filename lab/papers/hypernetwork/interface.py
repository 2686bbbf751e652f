"""What others may ask of this paper: settings of fuzzy logic and SRAVEN, and the runs on them that figures train."""

from collections.abc import Iterator, Sequence
from typing import Any

from lab.papers.hypernetwork.settings import (
    FIGURE_METHODS,
    FRACTIONS,
    LENGTHS,
    PROBLEMS,
    SEEDS,
    HyperSetting,
    of_task,
    run_of_codes,
    sraven,
)
from lab.spec import RunSpec, replace
from lab.tasks import Logic, Sraven

__all__ = ["candidates", "logic_tasks", "run_of_codes", "setting"]


def setting(task: Any, scale: str, attention: str | None = None) -> HyperSetting | None:
    """The setting of fuzzy logic or SRAVEN with a method; None for other tasks, and where no method is asked for."""
    return of_task(task, scale, attention) if attention and isinstance(task, (Logic, Sraven)) else None


def logic_tasks(scale: str) -> list[Logic]:
    """Fuzzy logic as figures have it at a scale: the longest sequences first, of these the most held out."""
    pairs = [(length, part) for length in reversed(LENGTHS[scale]) for part in reversed(FRACTIONS)]
    return [Logic(length=length, held_out=part) for length, part in pairs]


def candidates(tasks: Sequence[Logic | Sraven], scales: Sequence[str]) -> Iterator[Iterator[RunSpec]]:
    """For each method of the figures, its runs on these tasks that there may be, the best first."""
    for method in FIGURE_METHODS:
        yield (run for scale in scales for task in tasks for run in _runs(task, scale, method))


def _runs(task: Logic | Sraven, scale: str, method: str) -> list[RunSpec]:
    base = of_task(task, scale, method)
    if isinstance(task, Logic):
        return base.runs(SEEDS[scale])
    recipes = (sraven(scale, method, problems=problems).recipe for problems in reversed(PROBLEMS[scale]))
    return [run for recipe in recipes for run in replace(base, recipe=recipe).runs(SEEDS[scale])]
