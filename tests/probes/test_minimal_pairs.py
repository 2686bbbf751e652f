"""Minimal pairs: a bigram model by hand, the library's own losses as an independent scorer, ties, the three years."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from lab.data.sentence_sets import FILES, PAIRS, PARADIGMS, PHENOMENA, PairsShape, blimp_pairs
from lab.data.sentences import Pair
from lab.errors import ArgumentError
from lab.probes.language import CONVENTIONS, Reader, minimal_pairs, reader_of
from lab.tasks import Text
from lab.training.text import MaskedText
from tests.models.making import decoder

WORDS = ["<start>", "the", "cat", "cats", "sleeps", " the", "<mask>", "<cls>", "<sep>"]
NUMBER = {word: number for number, word in enumerate(WORDS)}


def encode(text):
    """Words at blanks; a blank in front belongs to the first one."""
    words = text.strip().split(" ")
    return [NUMBER[" " + words[0] if text.startswith(" ") else words[0]], *(NUMBER[word] for word in words[1:])]


class Bigram(nn.Module):
    """Logits of the next token from the last one alone."""

    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(torch.tensor(table))

    def forward(self, tokens):
        return self.table[tokens]


TABLE = np.log(np.random.default_rng(0).dirichlet(np.ones(len(WORDS)), len(WORDS)))
GOOD, BAD = "the cat sleeps", "the cats sleeps"


@pytest.mark.parametrize(
    ("year", "chain"),
    [
        ("2023", ["<start>", " the", "cat", "sleeps"]),
        ("2024", ["<start>", " the", "cat", "sleeps"]),
        ("2025", ["the", "cat", "sleeps"]),  # the first word is not scored
    ],
)
def test_a_bigram_model_by_hand(year, chain):
    reader = Reader(encode, start=NUMBER["<start>"])
    found = minimal_pairs(Bigram(TABLE), reader, [Pair("p", "q", GOOD, BAD)], year)
    wanted = []
    for noun in ("cat", "cats"):
        own = [NUMBER[word if word != "cat" else noun] for word in chain]
        wanted.append(sum(TABLE[a, b] for a, b in zip(own[:-1], own[1:], strict=True)))
    assert found.good[0, 0] == pytest.approx(wanted[0], abs=1e-5)
    assert found.bad[0, 0] == pytest.approx(wanted[1], abs=1e-5)
    assert found.mean == (wanted[0] > wanted[1]) and not found.tied.any()


def small(kind, seed=0):
    transformers = pytest.importorskip("transformers")
    shape = {"vocab_size": 40, "hidden_size": 16, "max_position_embeddings": 32}
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "causal":
            own = {"num_layers": 1, "num_heads": 2, "attention_types": [[["global"], 1]]}
            config = transformers.GPTNeoConfig(**shape, **own, **dict.fromkeys(names), initializer_range=0.5)
            return transformers.GPTNeoForCausalLM(config).eval()
        own = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24, "type_vocab_size": 1}
        names = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
        config = transformers.RobertaConfig(**shape, **own, **names, initializer_range=0.5)
        return transformers.RobertaForMaskedLM(config).eval()


def letters(text):
    """A token a character; a blank is 1."""
    return [1 if letter == " " else 10 + (ord(letter) - 97) % 26 for letter in text]


SENTENCES = ["abc de", "a", "zebra cat", "ab", "cat zebra", "longer than others"]
SOME = [Pair(f"p{i % 2}", "q", good, bad) for i, (good, bad) in enumerate(zip(SENTENCES, SENTENCES[::-1], strict=True))]


@pytest.mark.parametrize("year", CONVENTIONS["causal"])
def test_causal_scores_are_the_librarys_own_losses(year):
    """Its loss is the mean of what is predicted: one sentence at a time."""
    model = small("causal")
    found = minimal_pairs(model, Reader(letters, start=5), SOME, year)
    for pair, score in zip(SOME, found.good[0], strict=True):
        row = letters(pair.good) if year == "2025" else [5, *letters(" " + pair.good)]
        ids = torch.tensor([row])
        scored = len(row) - 1
        wanted = -model(input_ids=ids, labels=ids).loss.item() * scored if scored else 0.0
        assert score == pytest.approx(wanted, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("year", CONVENTIONS["masked"])
def test_masked_scores_are_the_librarys_own_losses(year):
    model = small("masked")
    reader = Reader(letters, start=5, mask=4, before=(2,), after=(3,))
    found = minimal_pairs(model, reader, SOME, year)
    for pair, score in zip(SOME, found.good[0], strict=True):
        own = {"2023": letters(" " + pair.good), "2024": letters(" " + pair.good), "2025": letters(pair.good)}[year]
        lead = [2, 5] if year == "2024" else [2]
        logs = []
        for place in range(len(own)):
            row = torch.tensor([[*lead, *own, 3]])
            labels = torch.full_like(row, -100)
            at = place + len(lead)
            labels[0, at], row[0, at] = own[place], 4
            logs.append(-model(input_ids=row, labels=labels).loss.item())
        wanted = {"2023": sum(logs) / math.log(2), "2024": np.mean(logs), "2025": sum(logs)}[year]
        assert score == pytest.approx(wanted, rel=1e-5, abs=1e-5)


def test_runs_of_the_lab_are_scored_side_by_side_as_each_alone():
    both, _ = decoder(2)
    reader = Reader(lambda text: [token % 11 for token in letters(text)], start=5, length=9)
    some = [Pair("p", "q", *words) for words in (("abc de", "ab"), ("a", "abc de"), ("zebra", "cat"))]
    found = minimal_pairs(both, reader, some, "2024")
    assert found.good.shape == (2, len(some))
    for run in range(2):
        alone, _ = decoder(1)
        alone.load_state_dict({name: value[run : run + 1] for name, value in both.state_dict().items()})
        np.testing.assert_allclose(minimal_pairs(alone, reader, some, "2024").good[0], found.good[run], rtol=1e-6)


class Same(nn.Module):
    def forward(self, tokens):
        return torch.zeros(*tokens.shape, 60)


def test_equal_scores_are_wrong_and_told():
    pairs = [
        Pair("p", "q", "ab", "cd"),
        Pair("p", "q", "ab", "ab"),
        Pair("r", "q", "a", "abc"),
        Pair("r", "q", "abc", "a"),
    ]
    found = minimal_pairs(Same(), Reader(letters, start=5), pairs, "2024")
    assert found.right.tolist() == [[False, False, True, False]] and found.tied.tolist() == [[True, True, False, False]]
    assert found.paradigms == {"p": [0.0], "r": [0.5]} and found.ties == {"p": [1.0], "r": [0.0]}


def test_sentences_of_the_same_tokens_tie_in_whatever_batches():
    model, reader = small("causal"), Reader(lambda text: letters(text.lower()), start=5)
    pairs = [Pair("p", "q", f"cat {'x' * i}", f"CAT {'X' * i}") for i in range(1, 20)]
    found = minimal_pairs(model, reader, [*pairs, *SOME], "2023")
    assert found.tied[0, : len(pairs)].all() and not found.right[0, : len(pairs)].any()


def test_the_mean_is_that_of_the_year():
    pairs = [Pair("p", "one", "a", "abc")] * 3 + [Pair("r", "one", "abc", "a")] + [Pair("s", "two", "a", "abc")]
    reader = Reader(letters, start=5)
    by_phenomenon, by_paradigm = (minimal_pairs(Same(), reader, pairs, year) for year in ("2023", "2024"))
    assert by_phenomenon.mean == pytest.approx((3 / 4 + 1) / 2) and by_paradigm.mean == pytest.approx((1 + 0 + 1) / 3)
    assert by_phenomenon.phenomena == {"one": [0.75], "two": [1.0]}


def test_readers_of_tasks():
    text = Text("moby_dick", context=64)
    causal, masked = reader_of(text), reader_of(MaskedText(text))
    assert causal.kind == "causal" and masked.kind == "masked" and masked.mask == len(text.vocabulary)
    assert causal.decode(causal.encode("Call me.")) == "Call me." and causal.decode([causal.start]) == "\n"
    found = minimal_pairs(Same(), Reader(causal.encode, 0, decode=causal.decode), [Pair("p", "q", "cat", "c\u4e2dt")])
    assert found.altered.tolist() == [True]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="give the reader a start"):
        minimal_pairs(Same(), Reader(letters), SOME, "2023")
    with pytest.raises(ArgumentError, match="a sentence has 18 tokens, the model reads 9; train with more"):
        minimal_pairs(Same(), Reader(letters, length=9), SOME)
    with pytest.raises(ArgumentError, match="'2022'"):
        minimal_pairs(Same(), Reader(letters), SOME, "2022")
    with pytest.raises(ArgumentError, match="there are no pairs"):
        minimal_pairs(Same(), Reader(letters), [])


def blimp_files(change=None):
    """The publisher's files, with made-up sentences."""
    made = {
        file: "".join(
            f'{{"sentence_good": "Good {i}.", "sentence_bad": "Bad {i}.", "UID": "{file[:-6]}"}}\n'
            for i in range(PAIRS)
        )
        for file in FILES
    }
    return {file: text.encode() for file, text in (made | (change or {})).items()}


def test_blimp_has_67_paradigms_of_12_phenomena():
    counts = [len(own) for own in PHENOMENA.values()]
    assert counts == [2, 9, 7, 5, 8, 2, 7, 2, 8, 7, 4, 6] and len(set(PARADIGMS)) == sum(counts) == 67
    arrays = blimp_pairs(blimp_files())
    lines = arrays["text"].tobytes().decode().splitlines()
    assert len(lines) == 67_000 and lines[0].split("\t") == ["adjunct_island", "island_effects", "Good 0.", "Bad 0."]
    assert PairsShape(9.5).misfit(arrays) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]\n", "wh_island.jsonl, line 1: no pair of sentences"),
        (
            '{"sentence_good": "a", "sentence_bad": "b", "UID": "other"}\n',
            "line 1: a pair of 'other', or one with a tab",
        ),
    ],
)
def test_files_that_are_no_pairs_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        blimp_pairs(blimp_files({"wh_island.jsonl": text}))


def test_missing_pairs_are_told():
    short = blimp_files({"wh_island.jsonl": '{"sentence_good": "a", "sentence_bad": "b", "UID": "wh_island"}\n'})
    assert PairsShape(9.5).misfit(blimp_pairs(short)) == "1 pairs of wh_island, not 1,000"
    assert "no pair of a known paradigm" in PairsShape(9.5).misfit({"text": np.frombuffer(b"a\tb\n", np.uint8)})
