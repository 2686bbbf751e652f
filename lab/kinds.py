"""What training must know of each kind of task, model and recipe. Each kind implements these functions in its own file.

`sizes`, `training_data`  of a task: what its examples look like to a model, and what a fleet trains on
`build`                   of a model: the module with a run axis, for any task whose sizes fit
`optimizer`               of a recipe: what takes the steps
`side_by_side`            of a model: how many of them make a fleet, where its sizes do not say it
`batch_key`, `check`      of all three: runs with equal keys train in one fleet; what cannot be trained

They dispatch on the type of their first argument. To add a kind, write one file: a frozen dataclass that is given to
`lab.spec.register`, and its implementations, e.g. `@build.register(MyModel)` above a function with build's arguments.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.spec import RunSpec


@dataclass(frozen=True)
class Sizes:
    """What the examples of a task look like to a model.

    form       "tokens": integers (R, B, T) below `inputs`; each batch says which K of them predict the next one.
               "masked": the same, some hidden; each batch says which K, and the model predicts those themselves.
               "vectors": numbers (R, B, T, inputs), with something to predict at the K tokens of `positions`.
               "row": numbers (R, B, inputs), with one prediction.
    outputs    size of one prediction
    length     T, the longest sequence; 1 for a row
    trained    tokens of a sequence in training, which may be shorter; None: T
    examples   how many there are to train on; None where they are made as they are needed
    """

    form: str
    inputs: int
    outputs: int
    length: int = 1
    positions: tuple[int, ...] = (0,)
    trained: int | None = None
    examples: int | None = None

    @property
    def of_model(self) -> tuple:
        """What decides the shape of a model."""
        return self.form, self.inputs, self.outputs, self.length, self.positions


class Batch(Protocol):
    """One step's examples for R runs."""

    def outputs(self, model: nn.Module) -> Tensor:
        """What the model predicts, with the axes (R, B, …, outputs)."""

    def loss(self, outputs: Tensor) -> Tensor:
        """The loss of each run, (R,)."""


class TrainingData(Protocol):
    """What a fleet of R runs trains on and is measured by.

    columns       names of the scores, as far as they are known before the first evaluation
    metric_signs  by which one evaluation is better than another, without the split's name, the most important first;
                  1: more is better, -1: less
    """

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def metric_signs(self) -> Mapping[str, int]: ...

    def at(self, step: int) -> Batch:
        """The training batch of each run at this step; it depends on the runs' seeds and the step alone."""

    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """<score>_<split> (R,), for each split that is followed."""


class Optimizer(Protocol):
    """A `torch.optim.Optimizer` for weights whose leading axis are runs."""

    @property
    def state(self) -> MutableMapping[Any, Any]:
        """What it remembers, by weight."""

    def zero_grad(self) -> None:
        """Forget the gradients."""

    def step(self) -> None:
        """One step for all runs, from the gradients."""

    def set_rates(self, recipes: Sequence[Any], step: int) -> None:
        """The learning rates of this step, of one recipe a run."""

    def hold(self, alive: Sequence[bool]) -> None:
        """No rate in this step for runs that are not alive: without one, their weights do not decay either."""


@singledispatch
def sizes(task: object, seed: int) -> Sizes:
    """What the examples of a task look like; `seed` is that of its data set."""
    raise _unknown("task", task)


@singledispatch
def training_data(task: object, specs: Sequence[RunSpec], device: torch.device) -> TrainingData:
    """What the runs of a fleet train on; `task` is that of the first."""
    raise _unknown("task", task)


@singledispatch
def build(model: object, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    """Freshly initialized models side by side, one a run, from the seeds of the specs.

    modules: the non-linearities, in the order of `model.parts`; None stands for softmax.
    """
    raise _unknown("model", model)


@singledispatch
def optimizer(recipe: object, recipes: Sequence[Any], model: nn.Module) -> Optimizer:
    """The optimizer of R runs, one recipe each, of which `recipe` is the first, for the weights of a model."""
    raise _unknown("recipe", recipe)


@singledispatch
def side_by_side(model: object, spec: RunSpec, device: str) -> int | None:
    """How many runs of this model train side by side at most; None: as many as its sizes say is fastest."""
    return None


@singledispatch
def batch_key(part: object, spec: RunSpec) -> object:
    """Runs with equal keys of their task, model and recipe train in one fleet; this is one of the three in `spec`."""
    return part


@singledispatch
def check(part: object, spec: RunSpec) -> None:
    """Raise ArgumentError where this task, model or recipe cannot be trained as a part of `spec`."""


def check_run(spec: RunSpec) -> None:
    """Say what does not fit together in a run before anything is built."""
    for part in (spec.task, spec.model, spec.recipe):
        check(part, spec)


def fleet_key(spec: RunSpec) -> tuple:
    """The batch keys of a run's task, model and recipe: runs with equal ones train in one fleet."""
    return *(batch_key(part, spec) for part in (spec.task, spec.model, spec.recipe)), spec.evaluate


def batch_size(spec: RunSpec) -> int:
    """Examples of a step."""
    # where examples are made as they are needed, `check` has seen that the recipe says how many
    return cast(int, spec.recipe.batch or sizes(spec.task, spec.task_seed).examples)


def _unknown(what: str, given: object) -> ArgumentError:
    functions: dict[str, Any] = {"task": sizes, "model": build, "recipe": optimizer}
    names = ", ".join(sorted(kind.__name__ for kind in functions[what].registry if kind is not object))
    return ArgumentError(f"{type(given).__name__} is no {what} that the lab can train; known: {names}")
