"""Recipes: how weights are trained."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast


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

    def taking(self, steps: int) -> Self:
        """The recipe with so many steps: up to its own number it stops early, on the same schedule; beyond, the
        schedule is as long as that.

        >>> AdamTrapezoid(500, 0.002, 64).taking(20).last, AdamTrapezoid(500, 0.002, 64).taking(2000).steps
        (20, 2000)
        """
        changes = {"stop": steps} if steps <= self.steps else {"steps": steps, "stop": None}
        return replace(cast(Any, self), **changes)

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
    optimizer: str = "sgd"  # or "rmsprop", "adam", with torch's defaults; "muon", "grokfast", "perpgrad" on AdamW
    average: int = 50  # what is evaluated and kept is the mean of the weights after the last so many steps (App. E.1)
    keep: str = "best"  # evaluation that is kept: the "best" by accuracy, then loss, on `watch`; or the "last"
    watch: str = "val"  # the split that decides on `keep` and `patience`
    patience: int | None = None  # a run ends after so many evaluations without a better one
    trajectory: int | None = None  # the weights of every so many steps are remembered, from the initial ones on
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 50  # steps between two evaluations
    decay: float = field(default=0.0, metadata={"since": 2})  # weights shrink by rate × decay a step; not with "sgd"

    @property
    def watched(self) -> tuple[str, ...]:
        """As in `Steps`."""
        return (self.watch,) if self.keep == "best" or self.patience is not None else ()


@dataclass(frozen=True)
class Fit(Steps):
    """How modules of the user's are trained."""

    steps: int
    rate: float  # peak learning rate
    batch: int | None = 128  # examples a step; None: all of them
    optimizer: str = "adam"  # or "adamw", "sgd"
    schedule: str = "trapezoid"  # linear warm-up, constant, cosine to zero; or "cosine", "constant"
    decay: float = 0.0  # of "adamw": matrices and kernels shrink by rate × decay a step, biases and norms do not
    momentum: float = 0.9  # of "sgd"
    warmup: float = 0.05  # fraction of the steps
    cooldown: float = 0.5  # fraction of the steps, of the trapezoid
    precision: str = "float32"  # or "bfloat16": torch.autocast
    stop: int | None = None
    every: int = 50  # steps between two evaluations
    threads: int = field(default=1, metadata={"since": 2})  # of torch on a CPU; another number rounds otherwise

    watch: ClassVar[str] = "val"  # the split that decides between restarts of a search


@dataclass(frozen=True)
class Tuning:
    """How weights are tuned, by AdamW.

    The rate rises for a fraction of the steps, `warmup`, then falls, in a straight "line" or as a "cosine", to the
    fraction `floor`. Of all epochs the best on `val` counts; training ends after `patience` worse ones.
    """

    rate: float = 5e-5
    batch: int = 64
    epochs: int = 10
    decay: float = 0.0
    length: int = 128  # tokens; longer examples are cut
    warmup: float = 0.0
    schedule: str = "line"
    floor: float = 0.0
    patience: int | None = None


# By the scripts of the evaluations; 2023 looks every 200 steps, here after every epoch.
TUNINGS = {
    "2023": Tuning(patience=10),
    "2024": Tuning(patience=3),
    "2025": Tuning(3e-5, 32, decay=0.01, length=512, warmup=0.06, schedule="cosine", floor=0.1),
}
