"""Causal kernel attention in chunks: exact, without a number for each pair of tokens.

What query i receives, Σ_{j ≤ i} (f_i · g_j) λ^(i - j) v_j, splits at the first token of its chunk. Keys of the same
chunk are summed pair by pair. Keys before it come in through one matrix a chunk, Σ_j λ^… g_j v_jᵀ, however many they
are. With T tokens, chunks of c and heads of width d, T c + T d² / c numbers a head are kept where the direct form keeps
several T².
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK = 64  # tokens: near the width of a head both terms are alike


def chunked(f: Tensor, g: Tensor, v: Tensor, slopes: Tensor | None = None, chunk: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Numerator and denominator of kernel attention: Σ_{j ≤ i} K_ij v_j, (…, H, T, e), and Σ_{j ≤ i} K_ij,
    (…, H, T, 1), with K_ij = (f_i · g_j) exp(-slope (i - j)).

    f, g (…, H, T, d): of queries and keys, with no negative entry, so that nothing cancels. v (…, H, T, e).
    slopes (H,): of ALiBi; None: 0.

    >>> one = torch.ones(1, 5, 1)
    >>> chunked(one, one, torch.arange(5.0).view(1, 5, 1), chunk=2)[0].flatten()
    tensor([ 0.,  1.,  3.,  6., 10.])
    """
    tokens = f.shape[-2]
    v = torch.cat((v, torch.ones_like(v[..., :1])), -1)  # the sum of the kernel is that of the values 1
    short = -tokens % chunk
    f, g, v = (F.pad(x, (0, 0, 0, short)).unflatten(-2, (-1, chunk)) for x in (f, g, v))  # (…, H, n, c, ·)
    fade = _Fade(slopes, chunk, f.shape[-3], f)
    inside = ((f @ g.mT) * fade.inside) @ v
    states = (g * fade.to_end).mT @ v  # (…, H, n, d, e + 1)
    before = (fade.across @ states.flatten(-2)).view(states.shape)
    y = (inside + (f * fade.from_start) @ before).flatten(-3, -2)[..., :tokens, :]
    return y[..., :-1], y[..., -1:]


class _Fade:
    """Powers of λ = exp(-slope) between tokens; all 1 without slopes. No exponent is positive: nothing overflows."""

    def __init__(self, slopes: Tensor | None, chunk: int, chunks: int, like: Tensor):
        slopes = torch.zeros(1) if slopes is None else slopes
        rates = slopes.to(like.device, torch.float64).view(-1, 1, 1)
        token, place = (torch.arange(n, device=like.device) for n in (chunk, chunks))
        self.inside = _powers(rates, token[:, None] - token)[:, None].to(like.dtype)  # (H, 1, c, c)
        self.to_end = torch.exp(-rates * (chunk - 1 - token))[..., None].to(like.dtype)  # (H, 1, c, 1)
        self.from_start = torch.exp(-rates * (token + 1))[..., None].to(like.dtype)  # (H, 1, c, 1)
        self.across = _powers(rates * chunk, place[:, None] - place - 1).to(like.dtype)  # (H, n, n), of chunks before


def _powers(rates: Tensor, distance: Tensor) -> Tensor:
    """exp(-rate · distance), 0 where the distance is negative."""
    return torch.exp(-rates * distance.clamp(min=0)) * (distance >= 0)
