"""Tasks whose examples are generated fresh, never stored: what such a task is, and endless batches of one.

A stream task is a frozen dataclass, so it can stand in a spec. Its examples have continuous tokens: `inputs` (T, D) go
into a dense layer, and `positions` names the tokens that are predicted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_whole, shown, summary
from lab.seeds import stream

BLOCK = 16  # batches drawn at once: small draws cost as much as larger ones


@dataclass(frozen=True, eq=False, repr=False)
class Examples:
    """Examples of one split, on the device of the generator that drew them.

    inputs   (N, T, D) float32
    targets  (N, K) float32 (regression) or int64 (classes), K = number of predicted tokens
    latents  ground truth by name; every tensor's leading axis is (N,)

    A batch for R runs has one more axis, in front: (R, N, T, D), (R, N, K), (R, N, ...).
    """

    inputs: Tensor
    targets: Tensor
    latents: Mapping[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:
        return summary(self)

    def __getitem__(self, index: int | slice | Tensor | tuple[slice, slice]) -> Self:
        """The examples at `index`; of a batch for R runs, those of the runs at `index`."""
        latents = {name: latent[index] for name, latent in self.latents.items()}
        return type(self)(self.inputs[index], self.targets[index], latents)

    @staticmethod
    def stack(parts: Sequence[Examples]) -> Examples:
        """The examples of R runs side by side, along a new axis in front."""
        latents = {name: torch.stack([part.latents[name] for part in parts]) for name in parts[0].latents}
        inputs = torch.stack([part.inputs for part in parts])
        return Examples(inputs, torch.stack([part.targets for part in parts]), latents)


class StreamTask(ABC):
    """What `Logic` and `Sraven` have in common.

    name        of the task
    inputs      D, the width of a token
    outputs     O, the size of one prediction: 1 for a number, the number of classes otherwise
    length      T, tokens of a sequence
    positions   the K tokens, counted from 0, at which there is something to predict
    splits      names: "train", "val" and "test" (fresh examples of the tasks seen in training), "ood" (unseen
                combinations of seen parts), maybe more
    metric_signs  by which one evaluation is better than another, the most important first; 1: more is better
    """

    metric_signs: ClassVar[Mapping[str, int]]
    if TYPE_CHECKING:  # a kind has each as a field, a class variable or a property; a default would be a field's, too

        @property
        def name(self) -> str: ...
        @property
        def inputs(self) -> int: ...
        @property
        def outputs(self) -> int: ...
        @property
        def length(self) -> int: ...
        @property
        def positions(self) -> tuple[int, ...]: ...
        @property
        def splits(self) -> tuple[str, ...]: ...

    @abstractmethod
    def sample(self, split: str, count: int, generator: torch.Generator, seed: int) -> Examples:
        """Draw `count` examples. `seed` decides which tasks are held out; `generator` which examples are drawn."""

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Training loss: outputs (R, N, K, O), targets (R, N, K) → (R,)."""

    @abstractmethod
    def statistics(self, outputs: Tensor, targets: Tensor, examples: Examples) -> dict[str, Tensor]:
        """Sums over examples, each (R,) float64: those of two batches are added before `summary`."""

    @abstractmethod
    def summary(self, statistics: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What is reported, each (R,) float64, from the statistics of all batches added up."""

    def scores(self, outputs: Tensor, targets: Tensor, examples: Examples) -> dict[str, Tensor]:
        """`summary` of the `statistics` of these examples alone, each (R,) float64.

        >>> from lab.tasks import Logic
        >>> task = Logic()
        >>> examples = task.sample("test", 50, torch.Generator().manual_seed(0), seed=0)
        >>> right = examples.targets[None, ..., None]
        >>> {name: value.tolist() for name, value in task.scores(right, examples.targets[None], examples).items()}
        {'mse': [0.0], 'r2': [1.0], 'r2_paper': [1.0]}
        """
        return self.summary(self.statistics(outputs, targets, examples))

    @abstractmethod
    def show(self, examples: Examples, i: int) -> str:
        """Example i as text to read."""


class Stream:
    """Fresh batches of one split for R runs, each from its own seed.

    The batch of a step does not depend on the steps before it, nor on which runs are side by side: a resumed run
    sees what it would have seen. It does depend on the kind of device, whose generator draws it. Streams of another
    `purpose` have other batches.

    >>> from lab.tasks import Logic
    >>> batches = Stream(Logic(length=16), seeds=[0, 1, 2], batch=128)
    >>> batches.at(7).inputs.shape, batches.at(7).targets.shape
    (torch.Size([3, 128, 16, 5]), torch.Size([3, 128, 1]))
    >>> bool((batches.at(7).inputs == batches.at(8).inputs).all())
    False
    """

    def __init__(
        self,
        task: StreamTask,
        seeds: Sequence[int],
        batch: int,
        split: str = "train",
        device: torch.device | str = "cpu",
        purpose: str = "batches",
    ):
        self.task, self.seeds, self.split, self.purpose = task, list(seeds), known(task, split), purpose
        self.batch, self.device = check_whole("batch", batch), torch.device(device)
        self._number = -1
        self._block: Examples

    def at(self, step: int) -> Examples:
        """The batch of this step: inputs (R, batch, T, D), targets (R, batch, K), latents (R, batch, ...)."""
        number, within = divmod(step, BLOCK)
        if number != self._number:
            self._number = number
            self._block = Examples.stack([self._draw(seed, number) for seed in self.seeds])
        return self._block[:, within * self.batch : (within + 1) * self.batch]

    def _draw(self, seed: int, number: int) -> Examples:
        generator = torch.Generator(self.device).manual_seed(stream(seed, self.purpose, number))
        return self.task.sample(self.split, BLOCK * self.batch, generator, seed)


def known(task: StreamTask, split: str) -> str:
    if split not in task.splits:
        raise ArgumentError(f"{task.name} has no split {split!r}; choose one of {', '.join(task.splits)}")
    return split


def fork(generator: torch.Generator, split: str) -> torch.Generator:
    """A generator of the split's own: two splits differ even where both are drawn from the same state."""
    device = generator.device
    start = int(torch.randint(2**62, (), generator=generator, device=device))
    return torch.Generator(device).manual_seed(stream(start, split))


def check_held_out(fraction: float) -> None:
    """Raise ArgumentError for what is no fraction of the combinations that could be held out."""
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 <= fraction < 1:
        raise ArgumentError(f"held_out={shown(fraction)}: give a fraction of the combinations, from 0 to below 1")


def hold_out(combinations: Tensor, fraction: float, seed: int, purpose: str) -> tuple[Tensor, Tensor]:
    """Split combinations (n, K) of parts into seen and unseen: int(n * fraction) of them, at random, are unseen.

    In floating point, as the reference rounds: 0.7 of 330 are 230. Both stay in the order given. Every part of an
    unseen combination is in a seen one as well (paper, Section 3); only where a combination has one part, K = 1,
    that cannot be, and unseen combinations are unseen parts.

    >>> pairs = torch.combinations(torch.arange(12), 2)
    >>> [len(part) for part in hold_out(pairs, 0.7, seed=0, purpose="example")]
    [20, 46]
    """
    check_held_out(fraction)
    count, parts = int(len(combinations) * fraction), len(combinations.unique())
    rng = np.random.default_rng([check_whole("seed", seed, 0), *purpose.encode()])
    for _ in range(10_000):
        order = torch.from_numpy(rng.permutation(len(combinations)))
        unseen, training = (combinations[part.sort().values] for part in (order[:count], order[count:]))
        if combinations.shape[1] == 1 or len(training.unique()) == parts:
            return training, unseen
    said = f"the {len(training)} combinations left for training do not contain all {parts} parts"
    raise ArgumentError(f"held_out={fraction}: {said}; hold out less")


def rank(subsets: Tensor, total: int) -> Tensor:
    """Rank (N,) of subsets (N, K) of 0..total-1, in increasing order, among all of K things, lexicographically."""
    size = subsets.shape[1]
    table = [[comb(total - 1 - thing, size - i) for thing in range(total)] for i in range(size)]
    follow = torch.tensor(table, device=subsets.device)[torch.arange(size, device=subsets.device), subsets].sum(1)
    return comb(total, size) - 1 - follow
