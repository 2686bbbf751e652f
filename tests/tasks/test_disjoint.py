"""Which split an input belongs to: the hash, the shares, and drawing by them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lab.tasks.task import SHARES, Sequences, draw, draw_evenly, fraction

SEQUENCES = st.lists(st.integers(1, 500), min_size=1, max_size=40)


def splitmix(sequence):
    """The hash in Python's unbounded integers."""
    word, golden = 2**64, 0x9E3779B97F4A7C15
    state = golden
    for token in sequence:
        mixed = (state + token * golden) % word
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % word
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % word
        state = mixed ^ (mixed >> 31)
    return (state >> 11) / 2**53


@given(SEQUENCES, st.integers(0, 5))
def test_the_hash_is_splitmix_and_padding_does_not_count(sequence, padding):
    assert fraction(np.array([sequence + [0] * padding])) == splitmix(sequence)


def test_the_hash_is_uniform_and_knows_the_order_of_tokens():
    first, second = np.divmod(np.arange(300**2), 300)
    numbers = fraction(np.stack([first + 1, second + 1], axis=1))
    assert len(np.unique(numbers)) == len(numbers)
    counts, _ = np.histogram(numbers, bins=100, range=(0, 1))
    assert abs(counts - 900).max() < 5 * np.sqrt(900)


def test_draw_fills_every_split_with_inputs_it_owns():
    generator = np.random.default_rng(0)

    def propose(n):
        inputs = generator.integers(1, 9, size=(n, 3))
        return Sequences(inputs, inputs[:, :1], {"sum": inputs.sum(1)})

    sizes = {"train": 500, "search": 7, "val": 30, "test": 300}
    drawn = draw(propose, sizes)
    assert {name: len(examples) for name, examples in drawn.items()} == sizes
    low = 0.0
    for name, share in SHARES.items():
        numbers = fraction(drawn[name].inputs)
        assert (low <= numbers).all() and (numbers < low + share + 1e-12).all()
        assert (drawn[name].latents["sum"] == drawn[name].inputs.sum(1)).all()
        low += share


def test_draw_evenly_has_as_many_of_each_level():
    generator = np.random.default_rng(0)

    def propose(n, level):
        inputs = generator.integers(1, 100, size=(n, 2))
        return Sequences(inputs, inputs, {"level": np.full(n, level)})

    levels = draw_evenly(propose, range(3), {"train": 100, "test": 11}, generator)
    assert np.bincount(levels["train"].latents["level"]).tolist() == [33, 33, 34]
    assert sorted(np.bincount(levels["test"].latents["level"])) == [3, 4, 4]
    assert (np.diff(levels["train"].latents["level"]) < 0).any()  # shuffled


@given(st.lists(st.tuples(SEQUENCES, SEQUENCES), min_size=1, max_size=6))
def test_rows_are_input_separator_output_without_gaps(rows):
    def padded(parts):
        width = max(map(len, parts)) + 2
        return np.array([part + [0] * (width - len(part)) for part in parts])

    before, after = zip(*rows, strict=True)
    split = Sequences(padded(before), padded(after), {}).split(separator=501)
    assert [[t for t in row if t] for row in split.tokens.tolist()] == [a + [501] + b for a, b in rows]
    for (a, b), marked in zip(rows, split.output.tolist(), strict=True):
        assert [place for place, mark in enumerate(marked) if mark] == list(range(len(a) + 1, len(a) + 1 + len(b)))
