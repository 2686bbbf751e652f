"""Runs: a task, a model, a recipe and a seed; fine-tuning of one; and the searches that a spec needs."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from lab.spec.models import Learned, Shaped
from lab.spec.own import OwnTask
from lab.spec.recipes import TUNINGS, Tuning
from lab.spec.searches import OfTask, SharedSearch
from lab.tasks.stream import StreamTask
from lab.tasks.table import TableTask
from lab.versions import ARITHMETIC

INPUTS: dict[str, Any] = {"tokens": str | OwnTask, "vectors": StreamTask, "row": TableTask}  # kinds of tasks


@dataclass(frozen=True)
class RunSpec(OfTask):
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
    def tuning(self) -> bool:
        """Whether it is followed on `val` alone: it chooses a setting, and no figure reports its seed."""
        return self.evaluate == ("val",)

    @property
    def arithmetic(self) -> int:
        """The revision of how it is trained (`lab.versions`), with plain steps where the task is of another kind, as
        texts are."""
        inputs = next((name for name, kind in INPUTS.items() if isinstance(self.task, kind)), "")
        return getattr(self.model, "arithmetic", {}).get(inputs, ARITHMETIC)


@dataclass(frozen=True)
class FineTuning(OfTask):
    """A run of a GPT-Neo or RoBERTa whose weights are tuned, with a new head of two classes.

    task: of GLUE ("cola", "sst2", "mrpc", "rte"). seed: of the head's initial weights and the order of examples.
    examples: of the task's training examples the first so many; None: all.
    """

    pretrained: RunSpec
    task: str
    tuning: Tuning = TUNINGS["2024"]
    seed: int = 0
    examples: int | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The data set of its task."""
        return (self.task,)

    @property
    def model(self) -> Any:
        """That of the run."""
        return self.pretrained.model

    @property
    def recipe(self) -> Any:
        """That of the run."""
        return self.pretrained.recipe


def needs(spec: Any) -> list[Any]:
    """What has to be there before this spec is trained: the searches whose functions its model has; of a `FineTuning`
    the run whose weights it begins with."""
    if isinstance(spec, FineTuning):
        return [spec.pretrained]
    models = [search.model for search in spec.searches] if isinstance(spec, SharedSearch) else [spec.model]
    parts = (part.of if isinstance(part, Shaped) else part for model in models for part in model.parts.values())
    return [part.search for part in parts if isinstance(part, Learned)]


def all_needs(spec: Any) -> list[Any]:
    """What has to be there before this spec is trained, and what that needs in turn, first of all; some of it twice."""
    return [each for need in needs(spec) for each in [*all_needs(need), need]]


def sources(spec: Any) -> set[str]:
    """Names of the data sets that a spec reads, in any of its parts: also those of the searches that it needs."""
    if isinstance(spec, tuple):
        return set().union(*map(sources, spec))
    if not is_dataclass(spec):
        return set()
    return set(getattr(spec, "sources", ())).union(*(sources(getattr(spec, field.name)) for field in fields(spec)))
