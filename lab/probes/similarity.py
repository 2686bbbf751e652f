"""How alike the codes of two labels are (hypernetwork paper, Figs. 5E and A8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.probes import arguments
from lab.probes.codes import as_codes


@dataclass(frozen=True, eq=False)
class CodeSimilarity:
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
