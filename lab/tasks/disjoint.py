"""Splits that cannot overlap: the input tokens of a sequence alone decide which split it may be in.

Every input is hashed to a number in [0, 1), and each split owns an interval of it. A sequence met in one
split is therefore in no other, however short it is, however often it is drawn, and whatever the seed. The
hash is plain integer arithmetic: the same on every platform and in every process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from lab.tasks.task import Split

# The share of all possible inputs that each split owns. train : search is 4 : 1, as "hold out e.g. 20%"
# (paper, Section 2). val and test own a tenth each, much more than their 1,000 examples need, because short
# sequences are few: of the 147 one-operation expressions of MANO, about 15 are then unseen, and not 1 or 2.
SHARES = {"train": 0.64, "search": 0.16, "val": 0.10, "test": 0.10}


@dataclass(frozen=True, eq=False)
class Examples:
    """Sequences before they are laid out. Both parts (examples, width) are padded on the right with 0."""

    inputs: np.ndarray
    outputs: np.ndarray
    latents: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, index: np.ndarray | slice) -> "Examples":
        """The examples at `index`: positions, a mask or a slice."""
        return Examples(self.inputs[index], self.outputs[index], {k: v[index] for k, v in self.latents.items()})

    @staticmethod
    def join(parts: "Sequence[Examples]") -> "Examples":
        """The examples of all parts one after the other. Their widths must agree."""
        latents = {name: np.concatenate([part.latents[name] for part in parts]) for name in parts[0].latents}
        inputs = np.concatenate([part.inputs for part in parts])
        return Examples(inputs, np.concatenate([part.outputs for part in parts]), latents)

    def split(self, separator: int) -> Split:
        """Lay out `inputs <sep> outputs` in each row, without gaps, and mark the outputs."""
        lengths = (self.inputs != 0).sum(1)
        width = int((lengths + 1 + (self.outputs != 0).sum(1)).max())
        tokens = np.zeros((len(self), width), dtype=np.int64)
        output = np.zeros((len(self), width), dtype=bool)
        rows, columns = self.inputs.nonzero()
        tokens[rows, columns] = self.inputs[rows, columns]
        tokens[np.arange(len(self)), lengths] = separator
        rows, columns = self.outputs.nonzero()
        tokens[rows, lengths[rows] + 1 + columns] = self.outputs[rows, columns]
        output[rows, lengths[rows] + 1 + columns] = True
        latents = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in self.latents.items()}
        return Split(torch.from_numpy(tokens), torch.from_numpy(output), latents)


def fraction(inputs: np.ndarray) -> np.ndarray:
    """Hash each row of `inputs` (examples, width) to a float64 in [0, 1). Padding (0) does not count.

    Each token is mixed in with the finalizer of SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable
    pseudorandom number generators").
    """
    state = np.full(len(inputs), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for token in inputs.T.astype(np.uint64):
        mixed = state + token * np.uint64(0x9E3779B97F4A7C15)  # wraps around, as it should
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = np.where(token == 0, state, mixed ^ (mixed >> np.uint64(31)))
    return (state >> np.uint64(11)) * 2.0**-53


def draw(
    propose: Callable[[int], Examples], sizes: Mapping[str, int], shares: Mapping[str, float] = SHARES
) -> dict[str, Examples]:
    """Draw each split's examples from `propose(n)`, keeping for a split only inputs that it owns.

    propose  gives n examples, in arrays of the same widths each time
    sizes    examples wanted of each split
    shares   the part of all inputs that each split owns, in a fixed order; their sum is at most 1
    """
    edges = np.cumsum([0.0, *shares.values()])
    # A little more than needed on average, so that a second round is rare.
    batch = int(1.05 * max(size / shares[name] for name, size in sizes.items())) + 100
    chunks: dict[str, list[Examples]] = {name: [] for name in sizes}
    missing = dict(sizes)
    while any(missing.values()):
        proposed = propose(batch)
        owner = np.searchsorted(edges, fraction(proposed.inputs), side="right") - 1
        for position, name in enumerate(shares):
            if missing.get(name):
                rows = np.flatnonzero(owner == position)[: missing[name]]
                chunks[name].append(proposed.take(rows))
                missing[name] -= len(rows)
    return {name: Examples.join(parts) for name, parts in chunks.items()}


def draw_evenly(
    propose: Callable[..., Examples],
    levels: Sequence[int],
    sizes: Mapping[str, int],
    generator: np.random.Generator,
) -> dict[str, Examples]:
    """As `draw`, with equally many examples of each level in each split, shuffled.

    `propose(n, level=level)` gives n examples of one level, a length for instance. Short sequences are few,
    so a split may own more or less than its share of them: drawn together, they would be too many or too few.
    """
    parts = []
    for rank, level in enumerate(levels):
        counts = {name: (rank + 1) * n // len(levels) - rank * n // len(levels) for name, n in sizes.items()}
        parts.append(draw(partial(propose, level=level), counts))
    return {
        name: Examples.join([part[name] for part in parts]).take(generator.permutation(size))
        for name, size in sizes.items()
    }
