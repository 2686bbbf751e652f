"""Fine-tuning: a finished run whose weights are tuned on a task of GLUE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.spec.runs import RunSpec


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


@dataclass(frozen=True)
class FineTuning:
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
    def task_name(self) -> str:
        """The task of GLUE."""
        return self.task

    @property
    def model(self) -> Any:
        """That of the run."""
        return self.pretrained.model

    @property
    def recipe(self) -> Any:
        """That of the run."""
        return self.pretrained.recipe
