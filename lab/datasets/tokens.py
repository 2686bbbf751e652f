"""A text as tokens: split into pieces for training and held out, tokenized once, kept in the cache, mapped into memory.

Where the publisher has no parts, the text is cut into `PIECES` pieces of equal length, at ends of lines, and pieces
from all over the text are held out: a play is not held out as a whole. No window reaches from one split into another.
Tokens that the training pieces have fewer than `least` times are left out everywhere (transformers paper, App. B).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from lab import datasets
from lab.datasets import cache, shards, vocabulary
from lab.datasets.vocabulary import Vocabulary
from lab.errors import ArgumentError, LabError

SPLITS = ("train", "search", "val", "test")
TRAINING = SPLITS[:2]  # weights of stage II are trained on both
PIECES = 100
# Of every 20 pieces, those that are not for training; of a publisher's training part, every tenth is for the search.
ROLES = {3: "search", 13: "search", 7: "val", 17: "test"}
SCHEMA = 1  # raise it when the same text would become other tokens
Segment = tuple[int, int]  # of a token file: from, to


@dataclass(frozen=True, eq=False)
class Tokens:
    """A tokenized text.

    stream: all tokens, (N,) uint16, mapped into memory. segments: by split, where its pieces are; "training" is train
    and search together. kept: share of the text's tokens that are not left out as rare.
    """

    stream: np.ndarray
    segments: dict[str, list[Segment]]
    vocabulary: Vocabulary = field(repr=False)
    kept: float = 1.0


def tokenized(corpus: str, kind: str, least: int) -> Tokens:
    """The tokens of a data set of text; made at first use, in seconds for some MB. kind: of `vocabulary.KINDS`.

    >>> found = tokenized("moby_dick", "char", 200)
    >>> len(found.vocabulary), found.vocabulary.decode(found.stream[:20])
    (57, 'CHAPTER . Loomings.\\n')
    """
    return _tokenized(corpus, datasets.digest(corpus), kind, least)


@lru_cache(maxsize=16)  # the stream itself is mapped
def _tokenized(corpus: str, digest: str, kind: str, least: int) -> Tokens:
    folder = cache.folder() / "tokens" / f"{corpus}-{kind}-{least}-{digest[:16]}-{SCHEMA}"
    if (folder / "tokens.json").is_file():
        try:
            return _read(folder, kind)
        except (LabError, ValueError, LookupError, TypeError):  # a damaged file: tokens are made anew in seconds
            shutil.rmtree(folder, ignore_errors=True)
    _make(corpus, kind, least, folder)
    return _read(folder, kind)


def _read(folder: Path, kind: str) -> Tokens:
    said = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
    segments = {split: [(int(a), int(b)) for a, b in pairs] for split, pairs in said["segments"].items()}
    vocabulary = _restored(kind, said)
    return Tokens(shards.mapped(folder / "tokens.bin"), segments, vocabulary, said["kept"])


def _make(corpus: str, kind: str, least: int, folder: Path) -> None:
    pieces = split_pieces(datasets.load(corpus).arrays)
    ready = not isinstance(pieces[0][1], str)
    if ready and kind != "gpt2":
        raise ArgumentError(f"{corpus} has GPT-2's tokens, and no text; give tokens='gpt2'")
    training = [cast(str, text) for split, text in pieces if split in TRAINING]
    said: dict = {}
    if kind == "char":
        known = vocabulary.characters(training)
    elif kind == "gpt2":
        known = vocabulary.gpt2()
    else:
        known, said["encoding"] = vocabulary.trained(training)
    size = np.uint16 if len(known) <= shards.MOST else np.uint32  # all tokens are in memory, this once
    encoded = [text if isinstance(text, np.ndarray) else known.encode(text).astype(size) for _, text in pieces]
    if ready and (highest := max(int(part.max()) for part in encoded)) >= len(known):
        raise ArgumentError(f"{corpus} has token {highest:,}; GPT-2 has {len(known):,}: it is of another encoding")
    training_parts = [part for (split, _), part in zip(pieces, encoded, strict=True) if split in TRAINING]
    frequent = vocabulary.count(training_parts, len(known)) >= least
    less = known.only(frequent)
    places = np.cumsum(frequent) - 1  # of what is kept
    tokens = [places[part[frequent[part]]] for part in encoded]
    said |= {"kept": sum(map(len, tokens)) / max(1, sum(map(len, encoded))), "numbers": less.kept.tolist()}
    ends = np.cumsum([0, *map(len, tokens)]).tolist()
    said["segments"] = segments([split for split, _ in pieces], ends)
    with cache.unfinished(cache.folder()) as temporary:
        made = temporary / "made"
        made.mkdir()
        shards.write(made / "tokens.bin", tokens)
        (made / "tokens.json").write_text(json.dumps(said), encoding="utf-8")
        folder.parent.mkdir(exist_ok=True)
        try:
            made.rename(folder)
        except OSError:
            if not (folder / "tokens.json").is_file():  # else another process was faster
                raise


def _restored(kind: str, said: dict) -> Vocabulary:
    numbers = np.array(said["numbers"], np.int64)
    if kind == "char":
        return vocabulary.characters(["".join(map(chr, numbers))])
    known = vocabulary.gpt2() if kind == "gpt2" else vocabulary.from_json(said["encoding"])
    return Vocabulary(tuple(known.pieces[number] for number in numbers), numbers, known.split)


def split_pieces(arrays: datasets.convert.Arrays) -> list[tuple[str, str | np.ndarray]]:
    """The text in pieces, each with the name of its split, in the order of the text; tokens where it has these."""
    if "text" in arrays:
        cut = pieces(arrays["text"], PIECES)
        return [(ROLES.get(number % 20, "train"), text) for number, text in enumerate(cut)]
    cut = pieces(arrays["train"], PIECES)
    training = [("search" if number % 10 == 3 else "train", text) for number, text in enumerate(cut)]
    if "test" in arrays:
        return training + [(part, pieces(arrays[part], 1)[0]) for part in ("val", "test")]
    return training + list(zip(("val", "test"), pieces(arrays["val"], 2), strict=True))


def pieces(part: np.ndarray, count: int) -> list[str | np.ndarray]:
    """A text (its bytes) in `count` pieces of nearly equal length, each cut at the end of a line where there is one.
    Tokens, which are no bytes, are cut where they are.

    >>> pieces(np.frombuffer(b"To be,\\nor not\\nto be:", np.uint8), 2)
    ['To be,\\nor not\\n', 'to be:']
    """
    if part.dtype != np.uint8:
        return list(np.array_split(part, count))
    return list(_lines(part.tobytes(), count))


def _lines(text: bytes, count: int) -> Iterator[str]:
    start = 0
    for number in range(1, count + 1):
        aim = len(text) * number // count
        end = text.find(b"\n", max(aim - 1, start), len(text) * (number + 1) // count) + 1 or aim
        while end < len(text) and text[end] & 0xC0 == 0x80:  # inside a character
            end += 1
        end = max(end, start)
        yield text[start:end].decode()
        start = end


def segments(splits: Sequence[str], ends: Sequence[int]) -> dict[str, list[Segment]]:
    """Where the pieces of each split are: those that follow each other are one segment. ends: of the pieces, after 0.

    >>> segments(["train", "search", "val", "train"], [0, 10, 20, 30, 40])["training"]
    [(0, 20), (30, 40)]
    """
    by_split: dict[str, list[Segment]] = {split: [] for split in (*SPLITS, "training")}
    for split, start, end in zip(splits, ends[:-1], ends[1:], strict=True):
        for name in (split, "training") if split in TRAINING else (split,):
            spans = by_split[name]
            if spans and spans[-1][1] == start:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
    return by_split


class Windows:
    """All windows of `length` tokens in some segments of a stream, by number.

    >>> windows = Windows(np.arange(10), [(0, 4), (6, 9)], 3)
    >>> len(windows), windows.at(np.array([0, 1, 2])).tolist()
    (3, [[0, 1, 2], [1, 2, 3], [6, 7, 8]])
    """

    def __init__(self, stream: np.ndarray, segments: Sequence[Segment], length: int):
        self.stream, self.length = stream, length
        counts = np.array([max(0, end - start - length + 1) for start, end in segments], np.int64)
        self._starts = np.array([start for start, _ in segments], np.int64)
        self._ends = np.cumsum(counts)
        self._before = self._ends - counts

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def at(self, numbers: np.ndarray) -> np.ndarray:
        """Windows by number: (…) → (…, length), int64."""
        segment = np.searchsorted(self._ends, numbers, side="right")
        starts = self._starts[segment] + numbers - self._before[segment]
        return self.stream[starts[..., None] + np.arange(self.length)].astype(np.int64)


def windows_of(tokens: Tokens, split: str, length: int, corpus: str) -> Windows:
    """The windows of a split; ArgumentError where it has none of that length."""
    windows = Windows(tokens.stream, tokens.segments[split], length)
    if not len(windows):
        longest = max((end - start for start, end in tokens.segments[split]), default=0)
        raise ArgumentError(
            f"{corpus}: pieces of {split!r} have at most {longest:,} tokens, and {length:,} are needed; give a smaller"
            " context, or more text"
        )
    return windows
