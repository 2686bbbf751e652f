"""Runs: a task, a model, a recipe and a seed; and the searches that a run or a search needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.spec.modules import ModuleSearch
from lab.spec.parts import Learned, Shaped
from lab.spec.searches import EpisodeSpec, SearchSpec, SharedSearch, TwoLossSpec


@dataclass(frozen=True)
class RunSpec:
    """One trained model: task + model + recipe + seed."""

    # a name of `lab.tasks.NAMES`, a `Text`, a `MaskedText`, an `OwnTask`, a `DataSpec`, a table, or a task whose
    # examples are made as they are needed
    task: Any
    model: Any
    recipe: Any
    seed: int  # of weights and batches; where examples are made as needed, also of what is held out
    evaluate: tuple[str, ...] = ("test",)  # splits that scores are followed on during training
    task_seed: int = 0  # seed of the data set that a name stands for, or of a table's splits

    @property
    def task_name(self) -> str:
        """The name of the task, without its parameters."""
        return self.task if isinstance(self.task, str) else self.task.name

    @property
    def tuning(self) -> bool:
        """Whether it is followed on `val` alone: it chooses a setting, and no figure reports its seed."""
        return self.evaluate == ("val",)


Search = SearchSpec | SharedSearch | EpisodeSpec | TwoLossSpec | ModuleSearch


def needs(spec: Any) -> list[Any]:
    """What has to be there before this spec is trained: the searches whose functions its model has; of a `FineTuning`
    the run whose weights it begins with."""
    if hasattr(spec, "pretrained"):
        return [spec.pretrained]
    models = [search.model for search in spec.searches] if isinstance(spec, SharedSearch) else [spec.model]
    parts = (part.of if isinstance(part, Shaped) else part for model in models for part in model.parts.values())
    return [part.search for part in parts if isinstance(part, Learned)]


def all_needs(spec: Any) -> list[Any]:
    """What has to be there before this spec is trained, and what that needs in turn, first of all; some of it twice."""
    return [each for need in needs(spec) for each in [*all_needs(need), need]]


def is_search(spec: object) -> bool:
    """Whether a spec is of a search, and not of a run."""
    return isinstance(spec, Search)
