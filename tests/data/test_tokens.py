"""Token files, vocabularies and splits: nothing held out is trained on, nothing is lost but rare tokens."""

import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.data import datasets, texts, tokens
from lab.data.tokens import SPLITS, Windows, split_pieces
from lab.errors import ArgumentError, LabError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(TEXT)
def test_byte_pair_encoding_gives_the_text_back(text):
    known = tokens.gpt2()
    found = known.encode(text)
    assert known.decode(found) == text
    assert known.characters[found].sum() == len(text)


def test_gpt2_has_its_published_numbers():
    """As the reference encoder gives them (tiktoken, "gpt2")."""
    known = tokens.gpt2()
    for text, numbers in {
        "Hello world": [15496, 995],
        "The quick brown fox jumps over the lazy dog.": [464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290, 13],
        " 12 \n\n": [1105, 220, 628],
    }.items():
        assert known.encode(text).tolist() == numbers
    assert known.pieces[50256] == b"<|endoftext|>" and known.pieces[:2] == (b"!", b'"')


def test_an_encoding_that_was_trained_comes_back_from_json():
    known, said = tokens.trained(["to be or not to be, that is the question"] * 9, 300)
    again = tokens.encoding_from_json(said)
    assert again.pieces == known.pieces and again.decode(again.encode("to be, ü")) == "to be, ü"
    assert b" be" in known.pieces
    with pytest.raises(LabError, match="no byte-pair encoding"):
        tokens.encoding_from_json("{}")


def test_vocabularies_that_miss_what_they_need(monkeypatch):
    with pytest.raises(ArgumentError, match="the text is empty"):
        tokens.characters([])
    with pytest.raises(ArgumentError, match="no token is frequent enough"):
        tokens.characters(["ab"]).only(np.array([False, False]))
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(LabError, match=r"pip install .*\[text\]"):
            tokens.trained(["ab"])
    assert tokens.characters(["ab"]).encode("bäb").tolist() == [1, 1], "what it does not have is left out"


@pytest.mark.parametrize("kind", tokens.KINDS)
def test_only_rare_tokens_are_left_out_and_rare_is_counted_in_training(kind):
    found = tokens.tokenized("moby_dick", kind, 200)
    counts = Counter()
    for start, end in found.segments["training"]:
        counts.update(found.stream[start:end].tolist())
    assert set(counts) == set(range(len(found.vocabulary))) and min(counts.values()) >= 200
    if kind == "char":
        whole = datasets.load("moby_dick").arrays["text"].tobytes().decode()
        trained = "".join(
            text for split, text in split_pieces(datasets.load("moby_dick").arrays) if split in SPLITS[:2]
        )
        frequent = {c for c, count in Counter(trained).items() if count >= 200}
        assert found.vocabulary.decode(found.stream) == "".join(c for c in whole if c in frequent)
        assert found.kept == pytest.approx(len(found.stream) / len(whole))


@pytest.mark.parametrize("parts", [("text",), ("train", "val"), ("train", "val", "test")], ids="+".join)
def test_pieces_of_a_text_are_all_of_it_and_splits_do_not_overlap(parts):
    lines = "".join(f"line {n} of thé text\n" for n in range(3_000)).encode()
    arrays = {part: np.frombuffer(part.encode() + b": " + lines, np.uint8) for part in parts}
    cut = split_pieces(arrays)
    assert "".join(text for _, text in cut).encode() == b"".join(map(bytes, arrays.values()))
    shares = {split: sum(len(text) for part, text in cut if part == split) for split in SPLITS}
    assert all(shares.values()) and shares["train"] > 4 * shares["search"]
    if len(parts) > 1:
        held_out = "".join(text for split, text in cut if split in ("val", "test"))
        assert held_out.startswith("val: ") and "train:" not in held_out
    ends = np.cumsum([0, *(len(text) for _, text in cut)]).tolist()
    found = tokens.segments([split for split, _ in cut], ends)
    stream = np.arange(ends[-1])
    reached = {name: set() for name in found}
    for name, places in found.items():
        windows = Windows(stream, places, 50)
        reached[name] = set(windows.at(np.arange(len(windows))).ravel().tolist())
    for one, other in (("training", "val"), ("training", "test"), ("val", "test"), ("train", "search")):
        assert reached[one] and reached[other] and not reached[one] & reached[other]
    assert reached["train"] | reached["search"] <= reached["training"]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=4), st.integers(1, 6))
def test_windows_are_all_that_there_are(lengths, length):
    places, at = [], 0
    for size, gap in lengths:
        places.append((at, at + size))
        at += size + gap + 1
    stream = np.random.default_rng(0).integers(0, 99, at).astype(np.uint16)
    windows = Windows(stream, places, length)
    expected = [stream[s : s + length].tolist() for a, b in places for s in range(a, b - length + 1)]
    assert windows.at(np.arange(len(windows))).reshape(-1, length).tolist() == expected


def test_a_held_out_piece_that_is_too_short_says_so():
    with pytest.raises(ArgumentError, match=r"moby_dick char: pieces of 'val' have at most .* give a smaller context"):
        found = tokens.tokenized("moby_dick", "char", 200)
        tokens.windows_of(found, "val", 60_000, "moby_dick char")


def test_tokens_are_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    tokens._tokenized.cache_clear()
    first = tokens.tokenized("moby_dick", "char", 200)
    assert isinstance(first.stream, np.memmap)
    tokens._tokenized.cache_clear()
    monkeypatch.setattr(tokens, "_make", None)
    monkeypatch.setattr(datasets, "load", None)  # nor is the text read again
    again = tokens.tokenized("moby_dick", "char", 200)
    assert np.array_equal(again.stream, first.stream) and again.segments == first.segments
    assert again.vocabulary.pieces == first.vocabulary.pieces
    tokens._tokenized.cache_clear()


@pytest.mark.parametrize(("file", "length"), [("tokens.bin", 2_000), ("tokens.bin", 10), ("tokens.json", 40)])
def test_damaged_tokens_are_made_anew(tmp_path, monkeypatch, file, length):
    monkeypatch.setenv("LAB_CACHE", str(tmp_path))
    tokens._tokenized.cache_clear()
    first = np.array(tokens.tokenized("moby_dick", "char", 200).stream)
    (path,) = tmp_path.glob(f"tokens/*/{file}")
    path.write_bytes(path.read_bytes()[:length])
    tokens._tokenized.cache_clear()
    assert np.array_equal(tokens.tokenized("moby_dick", "char", 200).stream, first)
    assert path.stat().st_size > length
    tokens._tokenized.cache_clear()


# Shards.


def test_a_shard_is_what_the_speedrun_reads(tmp_path):
    """256 numbers of 32 bits, of which three say something; then 16 bits a token, the lower byte first."""
    assert texts.write_shard(tmp_path / "a.bin", [np.array([1, 258]), np.array([65_535])]) == 3
    content = (tmp_path / "a.bin").read_bytes()
    header = [int.from_bytes(content[4 * n : 4 * n + 4], "little") for n in range(256)]
    assert header == [20240520, 1, 3, *[0] * 253] and content[1024:] == b"\x01\x00\x02\x01\xff\xff"
    assert texts.mapped_shard(tmp_path / "a.bin").tolist() == [1, 258, 65_535]


@pytest.mark.parametrize(
    ("header", "body", "said"),
    [
        ([1, 1, 3], 6, "is no token file: it does not begin with 20240520"),
        ([20240520, 2, 3], 6, "has version 2 of the format"),
        ([20240520, 1, 3], 4, "says that it has 3 tokens, and has 2"),
        ([20240520, 1, 0], 0, "says that it has 0 tokens"),
        (None, 0, "is no token file"),
    ],
    ids=["mark", "version", "cut", "empty", "short"],
)
def test_shards_of_another_format_are_named_in_one_line(tmp_path, header, body, said):
    path = tmp_path / "a.bin"
    start = b"text" if header is None else np.array([*header, *[0] * 253], "<i4").tobytes()
    path.write_bytes(start + bytes(body))
    for read in (
        lambda: texts.mapped_shard(path),
        lambda: texts.shard_parts({"a.bin": path.read_bytes()}, {"val": "a.bin"}),
    ):
        with pytest.raises(LabError, match=said) as caught:
            read()
        assert "a.bin" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(LabError, match="cannot be read"):
        texts.mapped_shard(tmp_path / "none.bin")


@pytest.fixture
def fineweb(tmp_path, monkeypatch):
    """A function that writes small shards into LAB_DATA."""
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LAB_DATA", str(tmp_path))

    def write(highest, shift=0):
        numbers = np.arange(4_000) % highest + shift
        texts.write_shard(tmp_path / "fineweb_train_000001.bin", [numbers])
        texts.write_shard(tmp_path / "fineweb_val_000000.bin", [numbers[:100]])

    return write


def test_shards_of_the_speedrun_are_a_text_whose_tokens_are_known(fineweb):
    fineweb(50)
    found = tokens.tokenized("fineweb_shard", "gpt2", 1)
    assert len(found.vocabulary) == 50 and found.stream[:60].tolist() == [*range(50), *range(10)]
    assert found.vocabulary.pieces == tokens.gpt2().pieces[:50]
    assert {split: sum(b - a for a, b in at) for split, at in found.segments.items()} == {
        "train": 3_600,
        "search": 400,
        "val": 50,
        "test": 50,
        "training": 4_000,
    }
    with pytest.raises(ArgumentError, match="fineweb_shard has GPT-2's tokens, and no text; give tokens='gpt2'"):
        tokens.tokenized("fineweb_shard", "char", 1)


def test_shards_of_another_encoding_are_refused(fineweb):
    fineweb(50, shift=60_000)
    with pytest.raises(ArgumentError, match="fineweb_shard has token 60,049; GPT-2 has 50,257"):
        tokens.tokenized("fineweb_shard", "gpt2", 1)
