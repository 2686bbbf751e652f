"""Positions by attention bias: ALiBi (Press et al. 2021), and the buckets of relative positions (T5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def alibi_slopes(heads: int) -> Tensor:
    """Slope of each head, (heads,): 2^(-8 h / heads) for h = 1 … heads.

    >>> alibi_slopes(2).tolist()
    [0.0625, 0.00390625]
    """
    return 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)


def alibi_bias(heads: int, length: int) -> Tensor:
    """-slope × distance for keys at or before the query, (heads, length, length); entries after it are not used."""
    index = torch.arange(length)
    distance = (index[:, None] - index[None, :]).clamp(min=0)  # (query, key)
    return -alibi_slopes(heads)[:, None, None] * distance


def relative_buckets(length: int) -> Tensor:
    """Bucket of each pair of tokens, (query, key), int64, 0 … length - 1: T5's scheme with as many buckets as tokens.

    With n the number of tokens from the key on to the query, S the length and h = ⌊S / 2⌋: n < h has a bucket of its
    own, any other has h + ⌊ln(n / h) / ln(S / h) · (S − h)⌋. Keys after the query share bucket 0 with the query itself,
    as in the reference code of the hypernetwork paper, which uses the scheme of a decoder without its causal mask.

    >>> relative_buckets(4).tolist()
    [[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0], [3, 2, 1, 0]]
    """
    index = torch.arange(length)
    back = (index[:, None] - index[None, :]).clamp(min=0)  # (query, key)
    half = length // 2
    if half == 0:
        return back
    # float64: in float32, as there, the bucket of 139 of 175 tokens depends on the machine's logarithm
    grown = torch.log(back.clamp(min=1).double() / half) / math.log(length / half) * (length - half)
    return torch.where(back < half, back, (half + grown.to(torch.int64)).clamp(max=length - 1))
