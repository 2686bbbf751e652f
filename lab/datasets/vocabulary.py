"""Vocabularies: text to tokens and back. Characters, GPT-2's byte-pair encoding, or one trained on the text itself.

Of a byte-pair encoding, a token is a piece of UTF-8, which may be a part of a character.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from lab import datasets
from lab.datasets import shards
from lab.errors import ArgumentError, LabError

KINDS = {
    "char": "characters",
    "gpt2": "GPT-2's byte-pair encoding",
    "bpe": "a byte-pair encoding trained on the training part of the text",
}
TRAINED = 2_048  # tokens of an encoding that is trained
END = b"<|endoftext|>"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens that are kept, and how text becomes tokens.

    pieces: the bytes of each token. kept: its number in the encoding it comes from, where that is not its place.
    split: text → numbers in that encoding.
    """

    pieces: tuple[bytes, ...]
    kept: np.ndarray  # (V,)
    split: Callable[[str], np.ndarray]

    def __len__(self) -> int:
        return len(self.pieces)

    @cached_property
    def characters(self) -> np.ndarray:
        """How many characters begin in each token, (V,)."""
        return np.array([sum(byte & 0xC0 != 0x80 for byte in piece) for piece in self.pieces], np.int64)

    @cached_property
    def _places(self) -> np.ndarray:
        places = np.full(max(int(self.kept.max()) + 1, 1), -1, np.int64)
        places[self.kept] = np.arange(len(self.kept))
        return places

    def encode(self, text: str) -> np.ndarray:
        """Its tokens, (N,) int64. What the vocabulary does not have is left out."""
        numbers = self.split(text)
        places = self._places[numbers[numbers < len(self._places)]]
        return places[places >= 0]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens."""
        return b"".join(self.pieces[token] for token in tokens).decode(errors="replace")

    def only(self, keep: np.ndarray) -> Vocabulary:
        """Some of its tokens. keep: (V,) bool."""
        chosen = np.flatnonzero(keep)
        if not len(chosen):
            raise ArgumentError("no token is frequent enough in the training text; give more text, or a lower least")
        if len(chosen) > shards.MOST:
            raise ArgumentError(f"{len(chosen):,} different tokens; at most {shards.MOST:,} can be told apart")
        return Vocabulary(tuple(self.pieces[i] for i in chosen), self.kept[chosen], self.split)


def characters(texts: Iterable[str]) -> Vocabulary:
    """All characters of a text, in the order of their numbers in Unicode.

    >>> vocabulary = characters(["to be"])
    >>> vocabulary.pieces, vocabulary.encode("bet a"), vocabulary.decode([1, 2])
    ((b' ', b'b', b'e', b'o', b't'), array([1, 2, 4, 0]), 'be')
    """
    known = sorted(set().union(*map(set, texts)))
    if not known:
        raise ArgumentError("the text is empty; give one with characters")
    return Vocabulary(tuple(c.encode() for c in known), np.array([ord(c) for c in known], np.int64), _code_points)


def gpt2() -> Vocabulary:
    """GPT-2's, 50,257 tokens with the numbers that they have there; made from its merges alone.

    >>> gpt2().encode("Hello world"), len(gpt2())
    (array([15496,   995]), 50257)
    """
    return _gpt2()


def trained(texts: Iterable[str], size: int = TRAINED) -> tuple[Vocabulary, str]:
    """A byte-pair encoding of at most `size` tokens, from a text; and the encoding as JSON, to be kept."""
    tokenizers = _tokenizers()
    encoding = tokenizers.Tokenizer(tokenizers.models.BPE())
    encoding.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, min_frequency=2, initial_alphabet=sorted(alphabet), show_progress=False
    )
    encoding.train_from_iterator(texts, trainer)
    said = encoding.to_str()
    return from_json(said), said


def from_json(said: str) -> Vocabulary:
    """The encoding that `trained` gave as JSON."""
    try:
        encoding = _tokenizers().Tokenizer.from_str(said)
    except Exception as error:  # the library's own: a plain Exception
        raise LabError(f"no byte-pair encoding: {error}") from error
    return _byte_level(encoding)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "replace"), "<u4").astype(np.int64)


@lru_cache(maxsize=1)
def _gpt2() -> Vocabulary:
    tokenizers = _tokenizers()
    text = datasets.load("gpt2_merges").arrays["text"].tobytes().decode()
    merges = [tuple(line.split(" ")) for line in text.splitlines() if not line.startswith("#version")]
    alphabet = [letter for _, letter in sorted(_letters().items(), key=lambda pair: _rank(pair[0]))]
    words = [*alphabet, *("".join(pair) for pair in merges), END.decode()]
    model = tokenizers.models.BPE({word: number for number, word in enumerate(words)}, merges)
    encoding = tokenizers.Tokenizer(model)
    encoding.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _byte_level(encoding)


def _byte_level(encoding) -> Vocabulary:
    """Of an encoding whose words are bytes, each written as a letter."""
    words = sorted(encoding.get_vocab(with_added_tokens=True).items(), key=lambda pair: pair[1])
    byte = {letter: byte for byte, letter in _letters().items()}
    pieces = tuple(END if word == END.decode() else bytes(byte[letter] for letter in word) for word, _ in words)

    def split(text: str) -> np.ndarray:
        return np.array(encoding.encode(text).ids, np.int64)

    return Vocabulary(pieces, np.arange(len(pieces)), split)


def _printed(byte: int) -> bool:
    """Whether a byte stands for itself: GPT-2 writes the others as letters from 256 on."""
    return 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255


def _letters() -> dict[int, str]:
    others = [byte for byte in range(256) if not _printed(byte)]
    return {byte: chr(byte) if _printed(byte) else chr(256 + others.index(byte)) for byte in range(256)}


def _rank(byte: int) -> tuple[bool, int]:
    """Where a byte stands among GPT-2's tokens: those that are printed first."""
    return not _printed(byte), byte


def _tokenizers():
    try:
        import tokenizers
        import tokenizers.models
        import tokenizers.pre_tokenizers
        import tokenizers.trainers
    except ImportError as error:
        raise LabError("byte-pair encodings need the package tokenizers: pip install tokenizers") from error
    return tokenizers


def count(parts: Sequence[np.ndarray], size: int) -> np.ndarray:
    """How often each of `size` tokens occurs in parts of a text, (size,)."""
    counts = np.zeros(size, np.int64)
    for part in parts:
        counts += np.bincount(part, minlength=size)
    return counts
