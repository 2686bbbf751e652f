"""Embeddings: planted clusters stay together, a seed gives one map, and trust is that of its formula."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from lab import probes
from lab.errors import ArgumentError
from lab.probes import embedding

PER = 40


def clusters(heads=8, spread=0.02, per=PER, seed=0):
    rng = np.random.default_rng(seed)
    return np.repeat(np.eye(3, heads), per, axis=0) + spread * rng.normal(size=(3 * per, heads))


def trust(codes, points, k):
    """Venna & Kaski's formula, by loops."""
    n, total = len(codes), 0.0
    far, near = cdist(codes, codes), cdist(points, points)
    for i in range(n):
        ranks = {j: rank for rank, j in enumerate(j for j in np.argsort(far[i]) if j != i)}  # 0 is the nearest
        for j in [j for j in np.argsort(near[i]) if j != i][:k]:
            total += max(0, ranks[j] + 1 - k)
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * total


def neighbours_of_the_same_cluster(points):
    near = cdist(points, points)
    np.fill_diagonal(near, np.inf)
    return np.mean(near.argmin(1) // PER == np.arange(len(points)) // PER)


@pytest.mark.parametrize("method", ["tsne", "umap", "pca"])
def test_planted_clusters_stay_together_and_a_seed_gives_one_map(method):
    codes = clusters()
    found = probes.embed(codes, method, seed=3)
    assert found.points.shape == (3 * PER, 2) and np.isfinite(found.points).all()
    assert neighbours_of_the_same_cluster(found.points) == 1
    assert found.trustworthiness == pytest.approx(trust(codes, found.points, 5), abs=1e-12)
    assert found.trustworthiness > 0.8 and found.judged == 3 * PER
    again = probes.embed(codes, method, seed=3)
    np.testing.assert_array_equal(again.points, found.points)
    assert again.trustworthiness == found.trustworthiness


@pytest.mark.parametrize("method", embedding.METHODS)
@pytest.mark.parametrize("count", [1, 2])
def test_torchs_number_of_threads_is_left_alone(method, count):
    """One more thread than cores, in each of several processes, makes whatever is trained next many times slower."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(count)
        probes.embed(clusters(), method)
        assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)


def test_another_seed_gives_another_map():
    codes = clusters(spread=1.0)
    one, other = (probes.embed(codes, "umap", seed=seed).points for seed in (0, 1))
    assert np.abs(one - other).max() > 0.1


def test_no_use_of_the_global_generator():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for method in embedding.METHODS:
        probes.embed(clusters(), method)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_pca_keeps_the_plane_and_its_order():
    """Points on a plane in 5 dimensions: distances are kept exactly, so trust is 1."""
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(60, 2)) * [3, 1] @ np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    found = probes.embed(codes, "pca")
    np.testing.assert_allclose(cdist(found.points, found.points), cdist(codes, codes), atol=1e-12)
    assert found.trustworthiness == 1 and found.perplexity is None
    order = rng.permutation(60)
    np.testing.assert_allclose(probes.embed(codes[order], "pca").points, found.points[order], atol=1e-12)


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_one_head_is_enough(method):
    codes = np.random.default_rng(0).normal(size=(50, 1))
    assert probes.embed(codes, method).trustworthiness > 0.95


def test_points_without_meaning_are_not_trusted():
    codes = clusters(spread=1.0)
    shuffled = np.random.default_rng(0).permutation(codes)[:, :2]
    assert trust(codes, shuffled, 5) == pytest.approx(0.5, abs=0.1)  # neighbours of nobody in particular


def test_trust_of_many_examples_is_that_of_some(monkeypatch):
    monkeypatch.setattr(embedding, "JUDGED", 50)
    codes = clusters()
    found = probes.embed(codes, "pca", seed=1)
    some = np.random.default_rng(1).permutation(len(codes))[:50]
    assert found.judged == 50 and found.trustworthiness == pytest.approx(trust(codes[some], found.points[some], 5))


def test_few_examples_get_a_perplexity_that_fits():
    assert probes.embed(clusters(per=5)).perplexity == pytest.approx(14 / 3)
    assert probes.embed(clusters()).perplexity == 30


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"method": "lda"}, "unknown method 'lda'; choose one of tsne, umap, pca"),
        ({"codes": np.ones((20, 3))}, "all 20 codes are the same"),
        ({"perplexity": 120}, "perplexity=120: give more than 1, and less than there are codes, 120"),
        ({"neighbours": 60}, "fewer than half as many"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_mistakes_are_named(arguments, says):
    with pytest.raises(ArgumentError, match=says):
        probes.embed(**{"codes": clusters()} | arguments)
