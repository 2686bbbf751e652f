"""Positions by attention bias: ALiBi (Press et al. 2021)."""

from __future__ import annotations

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
