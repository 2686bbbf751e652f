"""What tells two groups of codes apart: planted differences are found, noise is not told apart, too few is refused."""

import numpy as np
import pytest

from lab.errors import ArgumentError
from lab.probes import contrast
from lab.probes.decoding import regions

RULES, PARTS = 4, 8


def planted(noise=0.05, examples=600, seed=0):
    """Codes in which head h fires for rule h; the rule, and something else that the code does not tell."""
    rng = np.random.default_rng(seed)
    rule, other = rng.integers(RULES, size=examples), rng.integers(PARTS, size=examples)
    return np.eye(RULES)[rule] + noise * rng.normal(size=(examples, RULES)), rule, other


def traits(rule):
    return rule[:, None] == np.arange(RULES)


def test_a_planted_rule_separates_and_is_decoded():
    codes, rule, other = planted()
    a, b = np.flatnonzero(np.isin(rule, (0, 1))), np.flatnonzero(np.isin(rule, (2, 3)))
    found = contrast(codes, a, b, traits(rule), np.stack([rule, other], axis=1))
    assert found.widest in range(RULES) and found.unseen
    np.testing.assert_allclose(found.share_a[:2], [(rule[a] == r).mean() for r in (0, 1)])
    assert (found.share_a[2:] == 0).all() and (found.share_b[:2] == 0).all()
    assert found.decoding.accuracy.value == 1.0 and found.decoding.accuracy.shuffled.mean() < 0.7


def test_groups_of_noise_are_at_chance():
    _, rule, _ = planted()
    noise = np.random.default_rng(1).normal(size=(600, 4))
    found = contrast(noise, np.arange(300), np.arange(300, 600), traits(rule), np.arange(600) % 100)
    assert found.decoding.accuracy.low < 0.5 < found.decoding.accuracy.high
    assert np.abs(found.share_a - found.share_b).max() < 0.15


def test_names_of_a_and_b_and_order_of_their_members_do_not_matter():
    codes, rule, other = planted()
    a, b = np.flatnonzero(rule == 0), np.flatnonzero(rule == 3)
    one, two = contrast(codes, a, b, traits(rule), other), contrast(codes, b[::-1], a, traits(rule), other)
    assert one.share_a.tolist() == two.share_b.tolist() and one.share_b.tolist() == two.share_a.tolist()
    assert {one.widest, two.widest} <= {0, 3} and one.decoding.accuracy.value == two.decoding.accuracy.value == 1.0


def test_one_combination_each_is_tested_on_other_examples_and_says_so():
    codes, rule, _ = planted()
    a, b = np.flatnonzero(rule == 0), np.flatnonzero(rule == 1)
    found = contrast(codes, a, b, traits(rule), rule)
    assert not found.unseen and found.decoding.accuracy.value == 1.0
    assert contrast(codes, a, b, traits(rule)).unseen is False


def test_what_cannot_be_compared_is_refused():
    codes, rule, other = planted()
    for a, b, word in (
        (np.arange(7), np.arange(20, 90), "A has 7 examples and B 70"),
        (np.arange(50), np.arange(45, 90), "5 examples in common"),
    ):
        with pytest.raises(ArgumentError, match=word):
            contrast(codes, a, b, traits(rule), other)
    with pytest.raises(ArgumentError, match=r"traits are int64 of shape \(600,\)"):
        contrast(codes, np.arange(50), np.arange(50, 99), rule, other)


def test_any_two_regions_of_a_map_differ_and_that_is_said():
    """Codes without structure: a line between two halves tells them apart, and so it does between any two regions."""
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(300, 2))
    left, right = np.flatnonzero(codes[:, 0] < -0.5), np.flatnonzero(codes[:, 0] > 0.5)
    traits = rng.random((300, 4)) < 0.3
    found = contrast(codes, left, right, traits, points=codes)
    assert found.decoding.accuracy.value > 0.95 and np.median(found.elsewhere) > 0.95
    assert (found.gaps >= found.gap).mean() > 0.05, "so is the difference of traits, which are noise"


def test_regions_of_a_map_that_knows_nothing_of_the_codes_do_not_differ():
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=300)
    codes, points = np.eye(2)[kind] + rng.normal(size=(300, 2)) / 20, rng.normal(size=(300, 2))
    a, b = (np.flatnonzero(kind == k) for k in (0, 1))
    found = contrast(codes, a, b, np.eye(2, dtype=bool)[kind], points=points)
    assert found.decoding.accuracy.value == 1 and np.quantile(found.elsewhere, 0.95) < 0.75
    assert found.gap == 1 and (found.gaps < 0.5).all()


def test_regions_are_apart_as_large_as_asked_and_compact():
    rng = np.random.default_rng(0)
    points = rng.random((200, 2))
    wide = np.linalg.norm(points - points.mean(0), axis=1).mean()
    for a, b in ((range(30), range(30, 100)), (range(100), range(100, 200))):
        for one, other in regions(points, a, b, 10):
            assert (len(one), len(other)) == (len(a), len(b)) and not set(one) & set(other)
            # a line separates them: the points on its two sides are nearer to one centre than to the other
            across = points[other].mean(0) - points[one].mean(0)
            assert (points[one] @ across).mean() < (points[other] @ across).mean()
    for pair in regions(points, range(20), range(20, 40), 10):
        for one in pair:  # a tenth of the map: not a tenth of its points, from anywhere
            assert np.linalg.norm(points[one] - points[one].mean(0), axis=1).mean() < 0.45 * wide
