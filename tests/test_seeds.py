"""Seeds of random streams."""

import itertools

from lab.seeds import stream


def test_streams_of_a_seed_are_distinct_and_fit_a_generator():
    asked = list(
        itertools.product([0, 1, 2, 2**32, 2**40 + 1], ["weights", "batches 0", "batches 1", "search batches 0"])
    )
    found = {stream(seed, purpose) for seed, purpose in asked}
    assert len(found) == len(asked)
    assert all(0 <= number < 2**63 for number in found)
    assert stream(2, "weights") == stream(2, "weights")


def test_words_and_numbers_are_told_apart_by_their_place():
    assert stream(1, "a", 2) != stream(1, "a") != stream(1, 2)
