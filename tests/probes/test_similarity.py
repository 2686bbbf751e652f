"""Similarity of codes: pair by pair, and what leaves it as it is."""

import numpy as np
import pytest

from lab import probes
from lab.errors import ArgumentError


def made(examples=60, heads=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["add", "constant", "subtract"], size=examples)
    return rng.normal(size=(examples, heads)) + 2 * (labels == "add")[:, None], labels


def cosine(u, v):
    return u @ v / np.linalg.norm(u) / np.linalg.norm(v)


def test_every_number_is_that_of_loops_over_pairs():
    codes, labels = made()
    found = probes.code_similarity(codes, labels)
    assert found.labels.tolist() == ["add", "constant", "subtract"] and found.count.sum() == 60
    for a, one in enumerate(found.labels):
        of_a = np.flatnonzero(labels == one)
        np.testing.assert_allclose(found.mean[a], codes[of_a].mean(0), atol=1e-12)
        np.testing.assert_allclose(found.std[a], codes[of_a].std(0), atol=1e-12)
        for b, other in enumerate(found.labels):
            of_b = np.flatnonzero(labels == other)
            means = codes[of_a].mean(0), codes[of_b].mean(0)
            assert found.similarity[a, b] == pytest.approx(cosine(*means))
            pairs = [cosine(codes[i], codes[j]) for i in of_a for j in of_b if i != j]
            assert found.pairs[a, b] == pytest.approx(np.mean(pairs))
            assert found.pairs_std[a, b] == pytest.approx(np.std(pairs))


def test_planted_directions():
    """Labels 0 and 1 share a code but for its length, 2 has the opposite one, 3 an orthogonal one; no spread."""
    labels = np.repeat(np.arange(4), 3)
    codes = np.array([[1.0, 0], [5, 0], [-2, 0], [0, 3]])[labels]
    found = probes.code_similarity(codes, labels)
    wanted = [[1, 1, -1, 0], [1, 1, -1, 0], [-1, -1, 1, 0], [0, 0, 0, 1]]
    for given in (found.similarity, found.pairs):
        np.testing.assert_allclose(given, wanted, atol=1e-12)
    np.testing.assert_allclose(found.pairs_std, 0, atol=1e-7)  # a root of a difference that rounding leaves at 1e-16


def test_laws():
    codes, labels = made()
    found = probes.code_similarity(codes, labels)
    names = ("similarity", "pairs", "pairs_std")
    for name in names:
        matrix = getattr(found, name)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(found.similarity), 1)

    order = np.random.default_rng(1).permutation(60)
    rotation = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 5)))[0]
    for changed, renamed in ((codes[order], labels[order]), (7.5 * codes, labels), (codes @ rotation, labels)):
        again = probes.code_similarity(changed, renamed)
        for name in names:
            np.testing.assert_allclose(getattr(again, name), getattr(found, name), atol=1e-9)

    stretched = codes * np.random.default_rng(3).uniform(0.1, 10, size=(60, 1))
    again = probes.code_similarity(stretched, labels)
    np.testing.assert_allclose(again.pairs, found.pairs, atol=1e-12)  # each code counts by its direction alone
    assert np.abs(again.similarity - found.similarity).max() > 1e-3  # a mean does not


def test_noise_is_like_nothing_and_zero_codes_neither():
    codes = np.random.default_rng(0).normal(size=(4000, 16))
    found = probes.code_similarity(codes, np.arange(4000) % 2)
    # cosines of independent directions in 16 dimensions: mean 0, variance 1/16
    np.testing.assert_allclose(found.pairs, 0, atol=0.01)
    np.testing.assert_allclose(found.pairs_std, 0.25, atol=0.01)
    nothing = probes.code_similarity(np.zeros((4, 3)), [0, 0, 1, 1])
    assert (nothing.similarity == 0).all() and (nothing.pairs == 0).all()


def test_a_label_with_one_example_has_no_pairs():
    found = probes.code_similarity([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], ["lone", "two", "two"])
    assert np.isnan(found.pairs[0, 0]) and np.isnan(found.pairs_std[0, 0])
    assert found.pairs[0, 1] == 0 and found.pairs[1, 1] == 1


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match=r"labels have shape \(3,\); give one for each of 60 examples, \(60,\)"):
        probes.code_similarity(made()[0], [0, 1, 2])
    with pytest.raises(ArgumentError, match=r"shape \(60, 1\)"):
        probes.code_similarity(made()[0], np.zeros((60, 1)))


@pytest.mark.parametrize("kind", [str, np.array])
def test_numbers_that_are_words_keep_their_order_in_every_probe(kind):
    labels = np.array([number % 12 for number in range(240)])
    labels = np.array([str(label) for label in labels]) if kind is str else labels
    codes = np.random.default_rng(0).normal(size=(240, 3))
    expected = list(map(str, range(12)))
    assert [str(label) for label in probes.code_similarity(codes, labels).labels] == expected
    assert [str(name) for name in probes.decode(codes, labels, shuffles=1).classes] == expected
