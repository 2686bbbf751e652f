"""What a task is: sequences of tokens in named splits, and which tokens a model has to predict.

A sequence is an input part, the separator "<sep>" and an output part, padded on the right with token 0.
Loss and metric are computed on the whole output part, its first token included (that one is predicted
from the separator).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.data.splits import DEFAULT_SPLITS, divide
from lab.errors import ArgumentError, check_type, check_whole, described, shown

PAD, SEPARATOR = "<pad>", "<sep>"
METRICS = ("token", "sequence")
REQUIRED_SPLITS = ("train", "search", "val", "test")


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
            raise ArgumentError(
                f"output is {described(output)}; give bool of the shape of tokens, {tuple(tokens.shape)}"
            )
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
        if self.metric not in METRICS:
            raise ArgumentError(f"unknown metric {self.metric!r} of {self.name}; choose one of {', '.join(METRICS)}")
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
            lab's, and no words here. splits: as `lab.Data` has
            them: search, val and test, a share, a number of examples or their indices each; default .2, .1, .1.

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
        vocabulary = (PAD, SEPARATOR, *words)
        ids = {word: number for number, word in enumerate(vocabulary)}
        rows = [[*x, SEPARATOR, *y] for x, y in zip(read, answered, strict=True)]
        tokens = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
        output = torch.zeros_like(tokens, dtype=torch.bool)
        for number, (row, x) in enumerate(zip(rows, read, strict=True)):
            tokens[number, : len(row)] = torch.tensor([ids[word] for word in row])
            output[number, len(x) + 1 : len(row)] = True
        indices = _indices(DEFAULT_SPLITS if splits is None else splits, read, check_whole("seed", seed, 0))
        return cls(name, vocabulary, {key: Split(tokens[at], output[at]) for key, at in indices.items()}, metric)

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
        """The longest sequence of any split, in tokens."""
        return max(split.tokens.shape[1] for split in self.splits.values())

    @cached_property
    def training(self) -> Split:
        """What stage II trains on: train, followed by search where `search_in_training` says so."""
        train, search = self.splits["train"], self.splits["search"]
        if not self.search_in_training:
            return train
        width = max(train.tokens.shape[1], search.tokens.shape[1])
        tokens, output = (
            torch.cat([torch.nn.functional.pad(part, (0, width - part.shape[1])) for part in parts])
            for parts in ((train.tokens, search.tokens), (train.output, search.output))
        )
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
    """Texts or lists of words as lists of tokens."""
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
