"""A text as tokens: split into pieces for training and held out, tokenized once, kept in the cache, mapped into memory.

Where the publisher has no parts, the text is cut into `PIECES` pieces of equal length, at ends of lines, and pieces
from all over the text are held out: a play is not held out as a whole. No window reaches from one split into another.
Tokens that the training pieces have fewer than `least` times are left out everywhere (transformers paper, App. B).

Tokens are characters, those of GPT-2's byte-pair encoding, or of one trained on the text itself. Of a byte-pair
encoding, a token is a piece of UTF-8, which may be a part of a character.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from lab import files
from lab.data import cache, datasets, texts
from lab.data.shape import Arrays
from lab.errors import ArgumentError, LabError

KINDS = {
    "char": "characters",
    "gpt2": "GPT-2's byte-pair encoding",
    "bpe": "a byte-pair encoding trained on the training part of the text",
}
TRAINED = 2_048  # tokens of an encoding that is trained
END = b"<|endoftext|>"
_PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that stand for themselves in GPT-2's encoding
_OTHERS = [byte for byte in range(256) if byte not in _PRINTED]  # letters from 256 on stand for these
LETTERS = {byte: chr(byte) for byte in _PRINTED} | {byte: chr(256 + place) for place, byte in enumerate(_OTHERS)}
SPLITS = ("train", "search", "val", "test")
TRAINING = SPLITS[:2]  # weights of stage II are trained on both
PIECES = 100
# Of every 20 pieces, those that are not for training; of a publisher's training part, every tenth is for the search.
ROLES = {3: "search", 13: "search", 7: "val", 17: "test"}
SCHEMA = 1  # raise it when the same text would become other tokens
Segment = tuple[int, int]  # of a token file: from, to


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

    def only(self, keep: np.ndarray) -> "Vocabulary":
        """Some of its tokens. keep: (V,) bool."""
        chosen = np.flatnonzero(keep)
        if not len(chosen):
            raise ArgumentError("no token is frequent enough in the training text; give more text, or a lower least")
        if len(chosen) > texts.MOST_TOKENS:
            raise ArgumentError(f"{len(chosen):,} different tokens; at most {texts.MOST_TOKENS:,} can be told apart")
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


@lru_cache(maxsize=1)
def gpt2() -> Vocabulary:
    """GPT-2's, 50,257 tokens with the numbers that they have there; made from its merges alone.

    >>> gpt2().encode("Hello world"), len(gpt2())
    (array([15496,   995]), 50257)
    """
    tokenizers = _tokenizers()
    lines = datasets.load("gpt2_merges").text.splitlines()
    merges = [tuple(line.split(" ")) for line in lines if not line.startswith("#version")]
    words = [*LETTERS.values(), *("".join(pair) for pair in merges), END.decode()]
    encoding = tokenizers.Tokenizer(tokenizers.models.BPE({word: id for id, word in enumerate(words)}, merges))
    encoding.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _byte_level(encoding)


def trained(texts: Iterable[str], size: int = TRAINED) -> tuple[Vocabulary, str]:
    """A byte-pair encoding of at most `size` tokens, from a text; and the encoding as JSON, to be kept."""
    tokenizers = _tokenizers()
    encoding = tokenizers.Tokenizer(tokenizers.models.BPE())
    encoding.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    how = {"vocab_size": size, "min_frequency": 2, "initial_alphabet": sorted(alphabet), "show_progress": False}
    encoding.train_from_iterator(texts, tokenizers.trainers.BpeTrainer(**how))
    said = encoding.to_str()
    return encoding_from_json(said), said


def encoding_from_json(said: str) -> Vocabulary:
    """The encoding that `trained` gave as JSON."""
    try:
        encoding = _tokenizers().Tokenizer.from_str(said)
    except Exception as error:  # the library's own: a plain Exception
        raise LabError(f"no byte-pair encoding: {error}") from error
    return _byte_level(encoding)


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "replace"), "<u4").astype(np.int64)


def _byte_level(encoding) -> Vocabulary:
    """Of an encoding whose words are bytes, each written as a letter."""
    words = sorted(encoding.get_vocab(with_added_tokens=True).items(), key=lambda pair: pair[1])
    byte = {letter: byte for byte, letter in LETTERS.items()}
    pieces = tuple(END if word == END.decode() else bytes(byte[letter] for letter in word) for word, _ in words)

    def split(text: str) -> np.ndarray:
        return np.array(encoding.encode(text).ids, np.int64)

    return Vocabulary(pieces, np.arange(len(pieces)), split)


def _tokenizers():
    try:
        import tokenizers
    except ImportError as error:
        cure = "pip install 'lab-nonlinearities[text]'"
        raise LabError(f"byte-pair encodings need the package tokenizers; {cure}") from error
    return tokenizers


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
    """The tokens of a data set of text; made at first use, in seconds for some MB. kind: of `KINDS`.

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
            return _read_tokens(folder, kind)
        except (LabError, ValueError, LookupError, TypeError):  # a damaged file: tokens are made anew in seconds
            shutil.rmtree(folder, ignore_errors=True)
    _make(corpus, kind, least, folder)
    return _read_tokens(folder, kind)


def _read_tokens(folder: Path, kind: str) -> Tokens:
    said = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
    segments = {split: [(int(a), int(b)) for a, b in pairs] for split, pairs in said["segments"].items()}
    numbers = np.array(said["numbers"], np.int64)
    if kind == "char":
        vocabulary = characters(["".join(map(chr, numbers))])
    else:
        known = gpt2() if kind == "gpt2" else encoding_from_json(said["encoding"])
        vocabulary = Vocabulary(tuple(known.pieces[number] for number in numbers), numbers, known.split)
    return Tokens(texts.mapped_shard(folder / "tokens.bin"), segments, vocabulary, said["kept"])


def _make(corpus: str, kind: str, least: int, folder: Path) -> None:
    pieces = split_pieces(datasets.load(corpus).arrays)
    ready = not isinstance(pieces[0][1], str)
    if ready and kind != "gpt2":
        raise ArgumentError(f"{corpus} has GPT-2's tokens, and no text; give tokens='gpt2'")
    training = [cast(str, text) for split, text in pieces if split in TRAINING]
    said: dict = {}
    if kind == "char":
        known = characters(training)
    elif kind == "gpt2":
        known = gpt2()
    else:
        known, said["encoding"] = trained(training)
    size = np.uint16 if len(known) <= texts.MOST_TOKENS else np.uint32  # all tokens are in memory, this once
    encoded = [text if isinstance(text, np.ndarray) else known.encode(text).astype(size) for _, text in pieces]
    if ready and (highest := max(int(part.max()) for part in encoded)) >= len(known):
        raise ArgumentError(f"{corpus} has token {highest:,}; GPT-2 has {len(known):,}: it is of another encoding")
    counts = np.zeros(len(known), np.int64)
    for (split, _), part in zip(pieces, encoded, strict=True):
        if split in TRAINING:
            counts += np.bincount(part, minlength=len(known))
    frequent = counts >= least
    less = known.only(frequent)
    places = np.cumsum(frequent) - 1  # of what is kept
    tokens = [places[part[frequent[part]]] for part in encoded]
    said |= {"kept": sum(map(len, tokens)) / max(1, sum(map(len, encoded))), "numbers": less.kept.tolist()}
    ends = np.cumsum([0, *map(len, tokens)]).tolist()
    said["segments"] = segments([split for split, _ in pieces], ends)
    with cache.unfinished(cache.folder()) as temporary:
        made = temporary / "made"
        made.mkdir()
        texts.write_shard(made / "tokens.bin", tokens)
        (made / "tokens.json").write_text(json.dumps(said), encoding="utf-8")
        folder.parent.mkdir(exist_ok=True)
        try:
            files.keep(made, folder)
        except OSError:
            if not (folder / "tokens.json").is_file():  # else another process was faster
                raise


def split_pieces(arrays: Arrays) -> list[tuple[str, str | np.ndarray]]:
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
        said = f"pieces of {split!r} have at most {longest:,} tokens, and {length:,} are needed"
        raise ArgumentError(f"{corpus}: {said}; give a smaller context, or more text")
    return windows
