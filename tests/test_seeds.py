"""Seeds of random streams."""

import itertools

import pytest

from lab.seeds import stream


def test_streams_of_a_seed_are_distinct_and_fit_a_generator():
    asked = list(
        itertools.product([0, 1, 2, 2**32, 2**40 + 1], ["weights", "batches 0", "batches 1", "search batches 0"])
    )
    found = {stream(seed, purpose) for seed, purpose in asked}
    assert len(found) == len(asked)
    assert all(0 <= number < 2**63 for number in found)
    assert stream(1, "a", 2) != stream(1, "a") != stream(1, 2)


@pytest.mark.parametrize(
    ("values", "seed"),
    [
        ((0, "weights"), 3245395985266979118),
        ((3, "episode 5 rows"), 441898491975720151),
        ((2**40 + 1, "search batches", 7), 3738565613662376297),
    ],
)
def test_a_seed_stays_what_it_was_when_results_were_shipped(values, seed):
    """Every shipped result was trained with these numbers."""
    assert stream(*values) == seed
