"""Tasks of token sequences in named splits, which tokens a model has to predict, and splits that cannot overlap.

A sequence is an input part, the separator "<sep>" and an output part, padded on the right with token 0. Loss and metric
are computed on the whole output part, its first token included (that one is predicted from the separator).

Where sequences are generated, the input alone decides which split it may be in: it is hashed to a number in [0, 1), and
each split owns an interval of it. A sequence met in one split is therefore in no other, however short it is, however
often it is drawn, and whatever the seed. The hash is plain integer arithmetic: the same on every platform and in every
process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from lab.data.splits import DEFAULT_SPLITS, divide
from lab.errors import ArgumentError, check_choice, check_type, check_whole, described, shown

PAD, SEPARATOR = "<pad>", "<sep>"
SIZES = {"train": 80_000, "search": 20_000, "val": 1_000, "test": 1_000}  # of most tasks of the transformers paper
METRICS = ("token", "sequence")
REQUIRED_SPLITS = ("train", "search", "val", "test")
# The share of all possible inputs that each split owns. train : search is 4 : 1, as "hold out e.g. 20%" (paper, Section
# 2). val and test own a tenth each, much more than their 1,000 examples need, because short sequences are few: of the
# 147 one-operation expressions of MANO, about 15 are then unseen, and not 1 or 2.
SHARES = {"train": 0.64, "search": 0.16, "val": 0.10, "test": 0.10}


@dataclass(frozen=True, eq=False)
class Split:
    """Examples of one split, pre-generated. Shared between callers: do not write into the tensors.

    tokens   (examples, length) int64, padded on the right with 0
    output   (examples, length) bool, True where a token belongs to the output part
    latents  ground truth of each example, by name; every tensor's leading axis is (examples,)
    """

    tokens: Tensor
    output: Tensor
    latents: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self):
        tokens, output = (check_type(name, getattr(self, name), Tensor, "a tensor") for name in ("tokens", "output"))
        if tokens.ndim != 2 or tokens.dtype != torch.int64 or 0 in tokens.shape:
            raise ArgumentError(f"tokens are {described(tokens)}; give int64 of shape (examples, length), not empty")
        if output.shape != tokens.shape or output.dtype != torch.bool:
            raise ArgumentError(f"output is {described(output)}; give bool of tokens' shape, {tuple(tokens.shape)}")
        padding = tokens == 0
        if (padding[:, :-1] & ~padding[:, 1:]).any():
            raise ArgumentError("a token follows padding (token 0); pad sequences on the right only")
        if (output & padding).any() or output[:, 0].any() or not output.any(1).all():
            raise ArgumentError(
                "output has a row without a token, or marks padding or the first token of a sequence;"
                " mark one token or more in every example, each with a token before it"
            )
        for name, latent in self.latents.items():
            if len(latent) != len(tokens):
                raise ArgumentError(f"latent {name!r} has {len(latent)} rows; give one an example, {len(tokens)}")

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Split of {len(self)} examples of at most {self.tokens.shape[1]} tokens"

    def targets(self) -> tuple[Tensor, Tensor, Tensor]:
        """What to predict, and from where: (positions, targets, weights), each (examples, K).

        K is the largest number of output tokens in the split. `positions` (int64) is the index of the token
        before each output token, `targets` (int64) the output token, `weights` (float32) 1. Where an example
        has fewer than K output tokens, all three are 0 at its end.
        """
        rows, columns = self.output.nonzero(as_tuple=True)
        rank = self.output.cumsum(1)[rows, columns] - 1  # 0, 1, 2, … along the output part of each example
        shape = len(self), int(rank.max()) + 1
        positions, targets = torch.zeros(2, *shape, dtype=torch.int64)
        weights = torch.zeros(shape)
        positions[rows, rank] = columns - 1
        targets[rows, rank] = self.tokens[rows, columns]
        weights[rows, rank] = 1.0
        return positions, targets, weights


@dataclass(frozen=True, eq=False)
class Task:
    """A named dataset of token sequences: its vocabulary, its splits, and how it is measured. `Task.from_pairs` makes
    one of your own; `lab.train` and `lab.search` take it, and what is stored of it goes by its content (`digest`).

    vocabulary          the index of a name is the token's id; id 0 is "<pad>"
    splits              "train", "search" (the non-linearity's data in stage I), "val", "test", maybe more
    metric              "token" (accuracy over output tokens) or "sequence" (all tokens of an example right)
    search_in_training  stage II trains on train + search: so for tasks whose splits are drawn alike; not
                        where the search split holds longer sequences than training may see
    held_out            False where nothing can be held out: then all splits are the same object
    """

    name: str
    vocabulary: tuple[str, ...]
    splits: Mapping[str, Split]
    metric: str = "token"
    search_in_training: bool = True
    held_out: bool = True

    def __post_init__(self):
        if self.vocabulary[:1] != (PAD,) or len(set(self.vocabulary)) != len(self.vocabulary):
            raise ArgumentError(f"vocabulary {self.vocabulary} of {self.name}: let names differ, the first be {PAD!r}")
        check_choice("metric", self.metric, METRICS)
        missing = [name for name in REQUIRED_SPLITS if name not in self.splits]
        if missing:
            raise ArgumentError(f"{self.name} has no {missing[0]!r} split; give {', '.join(REQUIRED_SPLITS)}")
        for name, split in self.splits.items():
            low, high = split.tokens.aminmax()
            if low < 0 or high >= len(self.vocabulary):
                last = len(self.vocabulary) - 1
                raise ArgumentError(f"{self.name} has tokens {low}..{high} in {name!r}; its vocabulary is 0..{last}")

    def __repr__(self) -> str:
        parts = {name: len(self.splits[name]) for name in (*REQUIRED_SPLITS, *self.splits)}
        sizes = f"{sum(parts.values())} examples ({', '.join(f'{name} {count}' for name, count in parts.items())})"
        if not self.held_out:  # one object
            sizes = f"{parts['train']} examples in every split"
        of = f"of at most {self.max_length} tokens, vocabulary of {len(self.vocabulary)}, accuracy by {self.metric}"
        return f"Task {self.name!r}: {sizes} {of}"

    @classmethod
    def from_pairs(
        cls,
        inputs: Sequence[str | Sequence[str]],
        outputs: Sequence[str | Sequence[str]],
        name: str,
        splits: Mapping[str, Any] | None = None,
        seed: int = 0,
        metric: str = "token",
    ) -> Task:
        """A task of one's own: what a model reads, and what it is to answer.

        inputs, outputs: a text each, whose tokens are its characters, or words in a list; "<pad>" and "<sep>" are the
            lab's, and no words here.
        splits: as `lab.Data` has them: search, val and test, a share, a number of examples or their indices each;
            default .2, .1, .1.

        Examples of equal inputs are drawn into one split, so that none of `test` was trained on; splits have about
        their shares then. Their outputs may differ: the best that a model can do is to answer with the most common
        one. Examples given by their indices stay where they are put.

        >>> words = [f"{a}{b}" for a in "abcd" for b in "abcd"]
        >>> task = Task.from_pairs(words, [word[::-1] for word in words], name="reversed")
        >>> task.vocabulary, {name: len(split) for name, split in task.splits.items()}, task.show("test", 0)
        (('<pad>', '<sep>', 'a', 'b', 'c', 'd'), {'search': 3, 'val': 2, 'test': 2, 'train': 9}, 'a a <sep> a a')
        >>> twice = Task.from_pairs(words * 2, words * 2, name="copied twice")
        >>> train, test = (set(map(tuple, twice.splits[name].tokens.tolist())) for name in ("train", "test"))
        >>> len(train), len(test), len(train & test)
        (9, 2, 0)
        """
        check_type("name", name, str, "a name, such as 'reversed'")
        read, answered = _rows("inputs", inputs), _rows("outputs", outputs)
        if len(read) != len(answered):
            raise ArgumentError(f"{len(read)} inputs and {len(answered)} outputs; give one output an input")
        empty = [i for i, (x, y) in enumerate(zip(read, answered, strict=True)) if not len(x) or not len(y)]
        if empty or not len(read):
            where = f"example {empty[0]} has no input or no output" if empty else "there are no examples"
            raise ArgumentError(f"{where}; give one token or more of each")
        words = sorted({token for side in (read, answered) for row in side for token in row})
        if taken := [word for word in words if word in (PAD, SEPARATOR)]:
            said = f"{' and '.join(map(repr, taken))} mark{'' if len(taken) > 1 else 's'}"
            raise ArgumentError(f"{said} padding and the end of an input in the lab's sequences; give another word")
        ids = {word: number for number, word in enumerate((PAD, SEPARATOR, *words))}
        sides = ([torch.tensor([ids[word] for word in row]) for row in side] for side in (read, answered))
        asked, answers = (pad_sequence(side, batch_first=True).numpy() for side in sides)
        whole = Sequences(asked, answers, {}).split(ids[SEPARATOR])
        indices = _indices(DEFAULT_SPLITS if splits is None else splits, read, check_whole("seed", seed, 0))
        parts = {key: Split(whole.tokens[at], whole.output[at]) for key, at in indices.items()}
        return cls(name, tuple(ids), parts, metric)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of vocabulary, splits and measure: what the task is, whatever it is called."""
        hasher = hashlib.sha256(repr((self.vocabulary, self.metric, self.search_in_training, self.held_out)).encode())
        for name, split in sorted(self.splits.items()):
            for part in (split.tokens, split.output):
                hasher.update(f"{name} {tuple(part.shape)}\n".encode())
                hasher.update(part.contiguous().numpy().tobytes())
        return hasher.hexdigest()

    @property
    def max_length(self) -> int:
        return max(split.tokens.shape[1] for split in self.splits.values())

    @cached_property
    def training(self) -> Split:
        """What stage II trains on: train, followed by search where `search_in_training` says so."""
        train, search = self.splits["train"], self.splits["search"]
        if not self.search_in_training:
            return train
        width = max(train.tokens.shape[1], search.tokens.shape[1])
        pairs = (train.tokens, search.tokens), (train.output, search.output)
        tokens, output = (torch.cat([pad(part, (0, width - part.shape[1])) for part in pair]) for pair in pairs)
        latents = {name: torch.cat([train.latents[name], search.latents[name]]) for name in train.latents}
        return Split(tokens, output, latents)

    def show(self, split: str, i: int) -> str:
        """Example `i` of the split so named, as readable tokens between blanks, without padding."""
        if split not in self.splits:
            raise ArgumentError(f"{self.name} has no split {split!r}; choose one of {', '.join(self.splits)}")
        rows = self.splits[split].tokens
        if not -len(rows) <= i < len(rows):
            raise ArgumentError(f"{self.name} has no example {i} in {split!r}; choose 0..{len(rows) - 1}")
        return " ".join(self.vocabulary[token] for token in rows[i].tolist() if token)


def _rows(name: str, given: Any) -> list[list[str]]:
    try:
        rows = list(given)
    except TypeError as error:
        raise ArgumentError(f"{name}={shown(given)}: give a list of texts, or of lists of words") from error
    for number, row in enumerate(rows):
        try:
            rows[number] = [str(token) for token in (row.tolist() if isinstance(row, torch.Tensor) else row)]
        except TypeError as error:
            said = f"{name}[{number}]={shown(row)} is no row of tokens"
            raise ArgumentError(f"{said}; give a text, or a list of words") from error
    return rows


def _indices(splits: Mapping[str, Any], inputs: list[list[str]], seed: int) -> dict[str, np.ndarray]:
    """The examples of each split; those with equal inputs in one, as far as they are drawn."""
    indices = divide(splits, len(inputs), seed=seed)
    numbers: dict[tuple[str, ...], int] = {}
    groups = np.array([numbers.setdefault(tuple(row), len(numbers)) for row in inputs])
    if len(numbers) == len(inputs) or not any(isinstance(part, Real) for part in splits.values()):
        return indices
    try:
        return divide(splits, len(inputs), groups=groups, seed=seed)
    except ArgumentError as error:
        raise ArgumentError(
            f"{len(inputs)} examples have {len(numbers)} distinct inputs, too few for these splits: equal inputs are"
            " drawn into one; give more inputs, or the examples of each split by their indices"
        ) from error


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences before they are laid out. Both parts (examples, width) are padded on the right with 0."""

    inputs: np.ndarray
    outputs: np.ndarray
    latents: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, index: np.ndarray | slice) -> Sequences:
        """The examples at `index`: positions, a mask or a slice."""
        return Sequences(self.inputs[index], self.outputs[index], {k: v[index] for k, v in self.latents.items()})

    @staticmethod
    def join(parts: Sequence[Sequences]) -> Sequences:
        """The examples of all parts one after the other. Their widths must agree."""
        latents = {name: np.concatenate([part.latents[name] for part in parts]) for name in parts[0].latents}
        inputs = np.concatenate([part.inputs for part in parts])
        return Sequences(inputs, np.concatenate([part.outputs for part in parts]), latents)

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


def of_sequences(name: str, words: Sequence[str], splits: Mapping[str, Sequences], **settings: Any) -> Task:
    """A task of sequences, whose tokens from id 1 on are `words`, the separator among them. settings: as of `Task`."""
    vocabulary = (PAD, *words)
    separator = vocabulary.index(SEPARATOR)
    return Task(name, vocabulary, {key: part.split(separator) for key, part in splits.items()}, **settings)


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
    propose: Callable[[int], Sequences], sizes: Mapping[str, int], shares: Mapping[str, float] = SHARES
) -> dict[str, Sequences]:
    """Draw each split's examples from `propose(n)`, keeping for a split only inputs that it owns.

    propose  gives n examples, in arrays of the same widths each time
    sizes    examples wanted of each split
    shares   the part of all inputs that each split owns, in a fixed order; their sum is at most 1
    """
    edges = np.cumsum([0.0, *shares.values()])
    # A little more than needed on average, so that a second round is rare.
    batch = int(1.05 * max(size / shares[name] for name, size in sizes.items())) + 100
    chunks: dict[str, list[Sequences]] = {name: [] for name in sizes}
    missing = dict(sizes)
    while any(missing.values()):
        proposed = propose(batch)
        owner = np.searchsorted(edges, fraction(proposed.inputs), side="right") - 1
        for position, name in enumerate(shares):
            if missing.get(name):
                rows = np.flatnonzero(owner == position)[: missing[name]]
                chunks[name].append(proposed.take(rows))
                missing[name] -= len(rows)
    return {name: Sequences.join(parts) for name, parts in chunks.items()}


def draw_evenly(
    propose: Callable[..., Sequences], levels: Sequence[int], sizes: Mapping[str, int], generator: np.random.Generator
) -> dict[str, Sequences]:
    """As `draw`, with equally many examples of each level in each split, shuffled.

    `propose(n, level=level)` gives n examples of one level, a length for instance. Short sequences are few,
    so a split may own more or less than its share of them: drawn together, they would be too many or too few.
    """
    parts = []
    for rank, level in enumerate(levels):
        counts = {name: (rank + 1) * n // len(levels) - rank * n // len(levels) for name, n in sizes.items()}
        parts.append(draw(partial(propose, level=level), counts))
    return {
        name: Sequences.join([part[name] for part in parts]).take(generator.permutation(size))
        for name, size in sizes.items()
    }
