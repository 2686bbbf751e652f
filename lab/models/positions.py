"""Positions: ALiBi (Press et al. 2021) and buckets of relative positions (T5) bias attention, rotary ones turn queries
and keys (Su et al. 2024)."""

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


def rotary_angles(length: int, width: int, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    """Cosines and sines of rotary positions (Su et al. 2024), (length, width / 2) each: token t turns pair i by
    t · base^(-2 i / width), in float64.

    >>> cosine, sine = rotary_angles(2, 4)
    >>> sine[0].tolist(), round(float(sine[1, 1]), 4)
    ([0.0, 0.0], 0.01)
    """
    rates = base ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """x (…, T, width), each token turned by its angles (T, width / 2). Channel i and channel i + width / 2 are a pair.

    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0]]), torch.tensor([[1.0]]))
    tensor([[0., 1.]])
    """
    cosine, sine = cosine.to(x), sine.to(x)
    one, two = x.chunk(2, -1)
    return torch.cat((one * cosine - two * sine, one * sine + two * cosine), -1)
