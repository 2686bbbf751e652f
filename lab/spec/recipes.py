"""Recipes: how weights are trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

Recipe = TypeVar("Recipe", bound="Steps")


class Steps:
    """What recipes have in common: how long they are, and how often and on what they are evaluated."""

    steps: int
    rate: float
    batch: int | None
    stop: int | None
    every: int
    examples: int = 2048  # of each split in an evaluation, where a task makes its examples as they are needed
    threads: int = 1  # of torch on a CPU; another number rounds otherwise

    @property
    def last(self) -> int:
        """Number of steps that are really taken."""
        return self.steps if self.stop is None else min(self.stop, self.steps)

    def taking(self: Recipe, steps: int) -> Recipe:
        """The recipe with so many steps: up to its own number it stops early, on the same schedule; beyond, the
        schedule is as long as that.

        >>> AdamTrapezoid(500, 0.002, 64).taking(20).last, AdamTrapezoid(500, 0.002, 64).taking(2000).steps
        (20, 2000)
        """
        changes = {"stop": steps} if steps <= self.steps else {"steps": steps, "stop": None}
        return replace(self, **changes)  # type: ignore[type-var]

    @property
    def watched(self) -> tuple[str, ...]:
        """The splits that decide which evaluation is kept, or when a run ends."""
        return ()


@dataclass(frozen=True)
class AdamTrapezoid(Steps):
    """How weights are trained: Adam, linear warm-up, constant, cosine cool-down to zero."""

    steps: int  # length of the schedule
    rate: float  # peak learning rate
    batch: int  # sequences a step
    betas: tuple[float, float] = (0.9, 0.999)
    warmup: float = 0.05  # fraction of the steps
    cooldown: float = 0.5  # fraction of the steps
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 25  # steps between two evaluations


@dataclass(frozen=True)
class AdamWCosine(Steps):
    """How weights are trained (hypernetwork paper, App. C): AdamW, linear warm-up from 0, cosine to a tenth.

    Biases, norms and relative positions do not decay, as the text says of biases and norms. The reference code lets
    decay whatever it does not keep as a vector: decay_tables=True.
    """

    steps: int
    rate: float  # peak learning rate
    batch: int  # sequences a step
    decay: float = 0.1  # weights shrink by rate × decay a step
    warmup: int = 100  # steps; the cosine ends as many steps before the last one, as in the reference code
    betas: tuple[float, float] = (0.9, 0.999)
    decay_tables: bool = False  # also decay relative positions and the biases of queries, keys and values
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 500  # steps between two evaluations
    examples: int = 2048  # of each split, in an evaluation


@dataclass(frozen=True)
class ConstantRate(Steps):
    """How weights are trained (simplicity paper, App. E): a constant rate, large batches, averaged weights, and of all
    evaluations the one that is best on validation data is kept.
    """

    steps: int
    rate: float
    batch: int | None = None  # rows a step; None: all of them
    optimizer: str = "sgd"  # or "rmsprop", "adam", with torch's defaults
    average: int = 50  # what is evaluated and kept is the mean of the weights after the last so many steps (App. E.1)
    keep: str = "best"  # evaluation that is kept: the "best" by accuracy, then loss, on `watch`; or the "last"
    watch: str = "val"  # the split that decides on `keep` and `patience`
    patience: int | None = None  # a run ends after so many evaluations without a better one
    trajectory: int | None = None  # the weights of every so many steps are remembered, from the initial ones on
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 50  # steps between two evaluations

    @property
    def watched(self) -> tuple[str, ...]:
        """As in `Steps`."""
        return (self.watch,) if self.keep == "best" or self.patience is not None else ()
