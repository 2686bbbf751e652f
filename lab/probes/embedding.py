"""Embeddings of codes in the plane (t-SNE, UMAP, PCA), and cosine similarities of the codes of labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.data.targets import in_order
from lab.errors import ArgumentError, check_number, check_whole, shown
from lab.picture import HasPicture
from lab.probes import arguments
from lab.probes.codes import as_codes

METHODS = ("tsne", "umap", "pca")
SPREAD, OFFSET = 1e-10, 1e5  # of codes that are mapped as they are; OFFSET: in spreads
JUDGED = 2000  # examples of which trustworthiness is computed: it takes all distances between them


@dataclass(frozen=True, eq=False, repr=False)
class Embedding(HasPicture):
    """Codes as points.

    points (examples, 2). trustworthiness: 0 to 1, of `judged` examples, for their `neighbours` nearest; near 1 if
    neighbours of a point are neighbours of its code, 0.5 on average for random points. perplexity: None for PCA.
    """

    points: np.ndarray
    trustworthiness: float
    neighbours: int
    judged: int
    method: str
    seed: int
    perplexity: float | None


def embed(
    codes: Any, method: str = "tsne", seed: int = 0, perplexity: float | None = None, neighbours: int = 5
) -> Embedding:
    """Codes (examples, heads) as points of a plane, the same for the same seed (hypernetwork paper, Figs. 2D, 5A, 5B).

    method: "tsne" (van der Maaten & Hinton 2008), "umap" (McInnes et al. 2018; its first use in a process takes half a
        minute) or "pca".
    perplexity: roughly how many neighbours a point has; UMAP calls it n_neighbors. None: 30 for t-SNE, 15 for UMAP, and
        less where there are few examples. On one core t-SNE takes seconds for 1,000 examples, half a minute or more for
        3,000.
    neighbours: k of the trustworthiness (Venna & Kaski 2001). With U_k(i) those of the k points nearest to point i that
        are not among the k codes nearest to code i, and r(i, j) the rank of code j by distance to code i:

        T = 1 - 2 / (n k (2 n - 3 k - 1)) Σ_i Σ_{j ∈ U_k(i)} (r(i, j) - k)

    It speaks of neighbourhoods only: sizes of clusters and distances between them mean nothing in t-SNE and UMAP.

    Raises ArgumentError for codes that are not finite or all the same, and for fewer than 2 × neighbours + 1.

    >>> codes = np.repeat(np.eye(3, 8), 40, axis=0) + np.random.default_rng(0).normal(size=(120, 8)) / 50
    >>> result = embed(codes, "pca")  # three planted clusters
    >>> result.points.shape, result.trustworthiness > 0.8
    ((120, 2), True)
    """
    codes, seed = as_codes(codes), check_whole("seed", seed, 0, most=2**32 - 1)
    number = len(codes)
    if not isinstance(method, str) or method not in METHODS:
        raise ArgumentError(f"unknown method {shown(method)}; choose one of {', '.join(METHODS)}")
    if not (codes != codes[0]).any():
        raise ArgumentError(f"all {number} codes are the same; there is nothing to embed")
    if check_whole("neighbours", neighbours) * 2 >= number:
        raise ArgumentError(f"neighbours={neighbours}: give fewer than half as many as there are codes, {number}")
    if method == "pca":
        perplexity, points = None, _pca(codes)
    else:
        if perplexity is None:
            perplexity = min(30 if method == "tsne" else 15, (number - 1) / 3)
        if not 1 < check_number("perplexity", perplexity) < number:
            raise ArgumentError(f"perplexity={perplexity}: give more than 1, and less than there are codes, {number}")
        points = (_tsne if method == "tsne" else _umap)(_near_one(codes), perplexity, seed)
    some = np.random.default_rng(seed).permutation(number)[:JUDGED]
    from sklearn.manifold import trustworthiness

    trust = float(trustworthiness(_near_one(codes)[some], points[some], n_neighbors=neighbours))
    return Embedding(points, trust, neighbours, len(some), method, seed, perplexity)


def _near_one(codes: np.ndarray) -> np.ndarray:
    """Codes whose squared distances float32 can hold, with which t-SNE and UMAP compute: the same where they are."""
    away = codes - codes.mean(0)
    spread = np.abs(away).max()
    if SPREAD <= spread <= 1 / SPREAD and np.abs(codes).max() <= OFFSET * spread:
        return codes
    return np.ldexp(away, -int(np.frexp(spread)[1]))


def _pca(codes: np.ndarray) -> np.ndarray:
    from sklearn.decomposition import PCA

    points = PCA(min(2, *codes.shape), svd_solver="full").fit_transform(codes)
    return np.pad(points, ((0, 0), (0, 2 - points.shape[1])))  # one head: a line


def _tsne(codes: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    start = _pca(codes)
    start *= 1e-4 / start[:, 0].std()  # as sklearn's init="pca", which needs two heads
    # Threads add up in any order, and t-SNE makes much of a rounding error: one thread, for the same map every time.
    with threadpool_limits(1):
        return TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=seed).fit_transform(codes)


def _umap(codes: np.ndarray, neighbours: float, seed: int) -> np.ndarray:
    import torch
    import umap

    before = torch.get_num_threads()  # numba gives the library that both use for threads one a core
    try:
        return umap.UMAP(n_neighbors=max(2, round(neighbours)), random_state=seed, n_jobs=1).fit_transform(codes)
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True, eq=False, repr=False)
class CodeSimilarity(HasPicture):
    """Cosine similarities of codes by label; C labels, sorted.

    labels, count (C,): the labels, and how many examples each has.
    mean, std (C, heads): of the codes of a label, and their standard deviation over examples.
    similarity (C, C): between mean codes.
    pairs, pairs_std (C, C): mean and standard deviation of the similarity between two different examples, one of
    either label; NaN on the diagonal for a label with one example.
    """

    labels: np.ndarray
    count: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    similarity: np.ndarray
    pairs: np.ndarray
    pairs_std: np.ndarray


def code_similarity(codes: Any, labels: Any) -> CodeSimilarity:
    """Cosine similarities between labels: of their mean codes, and of their single codes (hypernetwork paper, Fig. 5E).

    The means can agree where the codes do not. With m_a the mean code of label a, and cos(u, v) = uᵀv / (|u| |v|), 0 if
    either is 0:

        similarity_ab = cos(m_a, m_b)        pairs_ab = mean of cos(c_i, c_j) over i of label a, j ≠ i of label b

    codes: (examples, heads). labels: (examples,), of any type. Raises ArgumentError for other shapes or missing labels.

    >>> result = code_similarity([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, -2.0]], ["a", "a", "b", "b"])
    >>> result.similarity.tolist(), result.pairs.tolist()
    ([[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, -1.0]])
    """
    codes = as_codes(codes)
    labels = arguments.labels("labels", labels, len(codes))
    names, which, count = np.unique(labels, return_inverse=True, return_counts=True)
    names, which = in_order(names, which) if names.dtype.kind in "US" else (names, which)
    groups = [codes[which == c] for c in range(len(names))]
    mean, std = (np.stack([getattr(group, part)(0) for group in groups]) for part in ("mean", "std"))
    unit = _unit(mean)
    # Of directions u, Σ_ij u_i·u_j = |Σ u|² and Σ_ij (u_i·u_j)² = tr(M_a M_b), M = Σ u uᵀ: no pair is visited.
    directions = [_unit(group) for group in groups]
    sums, moments = np.stack([u.sum(0) for u in directions]), np.stack([u.T @ u for u in directions])
    itself = np.array([(u**2).sum() for u in directions])  # pairs of an example with itself: 1 each, 0 where it is 0
    number = np.outer(count, count) - np.diag(count).astype(float)
    number[number == 0] = np.nan
    pairs = (sums @ sums.T - np.diag(itself)) / number
    square = (np.einsum("aij,bij->ab", moments, moments) - np.diag(itself)) / number
    pairs_std = np.sqrt(np.maximum(square - pairs**2, 0.0))
    return CodeSimilarity(names, count, mean, std, unit @ unit.T, pairs, pairs_std)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1; those of length 0 stay."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
