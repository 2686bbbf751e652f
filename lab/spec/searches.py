"""Searches, each of which finds one non-linearity or several."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from lab.spec.models import ModuleSpec, Perceptron
from lab.spec.own import DataSpec
from lab.spec.recipes import ConstantRate, Fit
from lab.tasks.table import TableTask
from lab.versions import ARITHMETIC


class OfTask:
    """What specs with one task have in common."""

    task: Any

    @property
    def task_name(self) -> str:
        """The name of the task, without its parameters."""
        return self.task if isinstance(self.task, str) else self.task.name


@dataclass(frozen=True)
class SearchSpec(OfTask):
    """A stage-I search (`two_loss`, Algorithm 1): `models` models share the learned spline(s)."""

    task: Any  # a name, a `Text`, an `OwnTask`, or a task whose examples are made as they are needed
    model: Any  # what is searched for replaces non-linearities in its `parts`: of a ModelSpec these two
    recipe: Any
    learn: tuple[str, ...] = ("mlp",)  # "mlp", "attention" or both; of other models other names
    models: int = 8  # M of Algorithm 1
    low: float = -20.0
    high: float = 20.0
    knots: int = 361  # spacing 1/9 (Table 4)
    spline_rate: float = 0.005  # peak learning rate of the knots; the paper does not print it
    seed: int = 0
    task_seed: int = 0
    # Of all functions but attention's: "zero", or a named one ("gelu").
    start: str = field(default="zero", metadata={"since": 2})

    by: ClassVar[str] = "two_loss"


@dataclass(frozen=True)
class SharedSearch:
    """A search by two losses for one function, or one each of `learn`, that the models of several tasks share.

    Each step, the weights of every model follow its own task, and the knots the sum over tasks and models of the loss
    on held-out data. searches: one a task, each with its model and recipe; they agree in how many steps they take, and
    in what is learned, on which knots. The rate of the knots is the first one's.
    """

    searches: tuple[SearchSpec, ...]

    by: ClassVar[str] = "two_loss, shared"

    @property
    def task_name(self) -> str:
        """The names of its tasks."""
        return ", ".join(search.task_name for search in self.searches)

    @property
    def models(self) -> int:
        """Those of all tasks."""
        return sum(search.models for search in self.searches)

    def __getattr__(self, name: str) -> Any:
        """What the searches agree in, and of what they do not, the first one's."""
        if name in ("model", "recipe", "learn", "seed", "low", "high", "knots"):
            return getattr(self.searches[0], name)
        raise AttributeError(f"{type(self).__name__} has no {name}")


@dataclass(frozen=True)
class Restart:
    """One of the attempts of an episodic search, and what may differ between them (simplicity paper, App. C)."""

    seed: int = 0  # of the weights, splits and batches of its episodes, and of noise it starts from
    rate: float = 0.05  # of the knots; the paper has .01 to .2
    knots: int = 101  # the paper has 50 to 400
    window: int = 5  # t: the last inner steps, through which the gradient of the knots is taken; the paper has 1 to 50
    start: str = "zero"  # function it starts from: "zero", "relu", "identity" or "noise"


def later(restarts: Sequence[Restart], by: int) -> tuple[Restart, ...]:
    """The same restarts with later seeds.

    >>> [restart.seed for restart in later([Restart(0), Restart(1)], by=2)]
    [2, 3]
    """
    return tuple(replace(restart, seed=restart.seed + by) for restart in restarts)


@dataclass(frozen=True)
class EpisodeSpec:
    """A search by episodes (simplicity paper, Algorithm 1 and App. C): each restart learns a function of its own, and
    the one is kept that does best on validation data when models are trained with it from scratch.
    """

    task: TableTask | tuple[TableTask, ...]  # of several, each has its turn
    model: Perceptron  # of the inner loop; what is learned replaces its `phi`, or its `inputs`
    inner: ConstantRate  # of the inner loop: optimizer, rate, batch, and in `steps` the most it takes in an episode
    retrain: ConstantRate  # of the models that decide between restarts
    restarts: tuple[Restart, ...] = (Restart(),)
    learn: str = "shared"  # one function for all hidden layers; "layers": one each; "inputs": one an input dimension
    low: float = -5.0
    high: float = 5.0
    episodes: int = 200
    growth: float = 1.0  # inner steps that each episode of a task has more than the one before it
    pool: tuple[str, ...] = ("train",)  # splits that episodes draw their training and validation rows from
    held_out: float = 0.2  # fraction of the pool that an episode holds out
    objective: str = "val"  # of the knots: what an episode held out; "train": its training rows; or a split's name
    normalized: bool = False  # the gradient of a restart's knots is divided by its length
    patience: int | None = None  # a restart ends after so many episodes without a better mean loss
    retrain_width: int | None = None  # of the models that decide; None: that of `model`
    retrain_seeds: int = 1  # models a restart
    task_seed: int = 0

    by: ClassVar[str] = "episodes"
    arithmetic: ClassVar[int] = 4  # the revision of how it searches (`lab.versions`)

    @property
    def tasks(self) -> tuple[TableTask, ...]:
        """The tasks, one or more."""
        return self.task if isinstance(self.task, tuple) else (self.task,)

    @property
    def task_name(self) -> str:
        """The names of its tasks."""
        return ", ".join(task.name for task in self.tasks)

    def inner_steps(self, episode: int) -> int:
        """How long the inner loop of an episode is, counted from 0.

        >>> from lab.tasks import Operation
        >>> inner, retrain = ConstantRate(7, 1.0), ConstantRate(9, 1.0)
        >>> spec = EpisodeSpec(Operation(modulus=5), Perceptron(), inner, retrain, growth=0.5)
        >>> [spec.inner_steps(e) for e in (0, 1, 2, 99)]
        [1, 1, 2, 7]
        """
        turn = episode // len(self.tasks)
        return min(self.inner.steps, max(1, math.ceil((turn + 1) * self.growth)))


@dataclass(frozen=True)
class InterpolatedSpec(EpisodeSpec):
    """A search by episodes for functions that are no straight lines between their control points, `Restart.knots` of
    them: what is learned are the values there, what is found has finer knots (`lab.training.inner_task`).
    """

    interpolation: str = "cubic"  # or "nearest"

    by: ClassVar[str] = "episodes, interpolated"


@dataclass(frozen=True)
class ModuleEpisodes(EpisodeSpec):
    """A search by episodes in models of the user's: one function for all activations that are replaced."""

    task: DataSpec  # type: ignore[assignment]  # these three in the place of a table, a perceptron and their recipe
    model: ModuleSpec  # type: ignore[assignment]
    inner: ConstantRate
    retrain: Fit  # type: ignore[assignment]

    arithmetic: ClassVar[int] = ARITHMETIC  # steps are plain


@dataclass(frozen=True)
class TwoLossSpec(OfTask):
    """A search by two losses (transformers paper, Algorithm 1) for the functions of perceptrons: the models that an
    `EpisodeSpec` has, and a cheaper search, in which weights and function are learned at the same time.

    Each step, the weights of `models` models follow the loss on their own training rows, and the knots that they share
    the loss on rows that were held out. The rate is constant, and of the recipe's evaluations there are none.
    """

    task: TableTask
    model: Perceptron  # what is learned replaces its `phi`, or its `inputs`
    recipe: ConstantRate  # of the weights: optimizer, rate, batch, steps
    learn: str = "shared"  # as in `EpisodeSpec`
    models: int = 4  # M of Algorithm 1
    low: float = -5.0
    high: float = 5.0
    knots: int = 101
    spline_rate: float = 0.02  # of the knots, with Adam
    start: str = "zero"  # as in `Restart`
    pool: tuple[str, ...] = ("train",)  # splits whose rows are divided
    held_out: float = 0.2  # fraction of them that the knots follow
    seed: int = 0
    task_seed: int = 0

    by: ClassVar[str] = "two_loss"


@dataclass(frozen=True)
class ModuleSearch(OfTask):
    """A search by two losses (transformers paper, Algorithm 1) in models of the user's: `models` of them share one
    function, in the place of all activations that are replaced.
    """

    task: DataSpec
    model: ModuleSpec
    recipe: Fit
    models: int = 4  # M of Algorithm 1
    low: float = -8.0
    high: float = 8.0
    knots: int = 161
    spline_rate: float = 0.0005  # peak learning rate of the knots, with Adam
    # function that it begins with: "zero", or a name. At zero nothing passes through layers without a residual branch,
    # and all that the function can follow are the biases of the last one.
    start: str = "gelu"
    seed: int = 0
    task_seed: int = 0

    by: ClassVar[str] = "two_loss"


Search = SearchSpec | SharedSearch | EpisodeSpec | TwoLossSpec | ModuleSearch


def is_search(spec: object) -> bool:
    """Whether a spec is of a search, and not of a run."""
    return isinstance(spec, Search)


def on_sequences(search: Search) -> bool:
    """Whether a search is for a task of token sequences, and not for a table."""
    return isinstance(search, SearchSpec | SharedSearch)
