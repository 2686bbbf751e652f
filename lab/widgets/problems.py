"""What a trained run was asked and what it answers, for explorers of latent codes: labels, words, pictures.

Problems are fresh: those that are looked at have combinations (of rules, of terms) that training never saw; as many
with combinations that it saw are there for decoders to learn from, as in the figures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.models.hyper import method_of
from lab.papers.hypernetwork.codes import fresh
from lab.plots.style import method_title
from lab.run import Run
from lab.tasks.stream import Examples

BATCH = 256
TABLE = 'style="border-collapse: collapse; line-height: 1.3; font-size: inherit; font-variant-numeric: tabular-nums"'
CELL = 'style="padding: 0 8px; text-align: right"'


class Problems(ABC):
    """`count` problems of unseen combinations, and as many of seen ones, with the run's answers.

    A query token says which answer is meant: its own; of a token that nothing is asked of, the last one.
    """

    group: str  # latent that tells combinations apart
    trait: str  # what a combination is made of
    score: str  # what `accuracy` is
    notation = ""  # what has to be said of how things are written

    def __init__(self, run: Run, count: int):
        self.run, self.task = run, run.spec.task
        self.seen, self.unseen = self._sample("test", count), self._sample("ood", count)
        self._answers = {id(part): self._answer(part) for part in (self.seen, self.unseen)}

    def __len__(self) -> int:
        return len(self.unseen)

    @property
    def name(self) -> str:
        """The model and the task in words."""
        method = method_of(self.run.spec.model)
        return f"{method_title(method) if method else 'a model'}, seed {self.run.spec.seed}"

    def groups(self, part: Examples) -> np.ndarray:
        """Which combination each problem is, (N, parts)."""
        return part.latents[self.group].numpy()

    def place(self, query: int) -> int:
        """Which answer is meant by a query token."""
        return self.task.positions.index(query) if query in self.task.positions else len(self.task.positions) - 1

    @property
    @abstractmethod
    def accuracy(self) -> str:
        """How well the unseen ones are answered."""

    @property
    @abstractmethod
    def tokens(self) -> list[str]:
        """What each token is."""

    @abstractmethod
    def colours(self, part: Examples, query: int) -> dict[str, np.ndarray]:
        """Text or numbers, one a problem, by name."""

    @abstractmethod
    def traits(self, part: Examples, query: int) -> tuple[list[str], np.ndarray]:
        """Their names (C,), and which each problem has, (N, C) bool."""

    @abstractmethod
    def decoded(self, colouring: str) -> str:
        """What a decoder is asked where points are coloured by this."""

    @abstractmethod
    def labels(self, part: Examples, query: int, colouring: str) -> np.ndarray:
        """What a decoder is to say, (N,) or (N, C)."""

    @abstractmethod
    def word(self, label: Any) -> str:
        """A class of a decoder in words."""

    @abstractmethod
    def hover(self, i: int) -> str:
        """The problem in words, with the model's answers."""

    @abstractmethod
    def show(self, i: int) -> str:
        """The problem as HTML."""

    def _sample(self, split: str, count: int) -> Examples:
        return fresh(self.run, split, count)

    def _answer(self, part: Examples) -> Tensor:
        """The model's outputs, (N, K, O)."""
        with torch.no_grad():
            return torch.cat([self._model(inputs[None])[0] for inputs in part.inputs.split(BATCH)])

    @cached_property
    def _model(self) -> torch.nn.Module:
        return self.run.model()
