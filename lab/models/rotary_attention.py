"""Causal attention as a hypernetwork with rotary positions, for sequences of language (hypernetwork paper, Section 5).

The layer of `lab.models.hyper_attention` without biases and without relative positions. HYLA's value networks act on
every pair of tokens: written directly, u has (B, Q, K, d) numbers. Here queries come in chunks, each with the keys up
to its last token, and what a chunk computes is not kept but computed again on the way back: of u there are PAIRS
numbers at once. Exact, for about a third more time. Softmax and linear attention have no u, and take shorter ways.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from lab.errors import ArgumentError, check_choice
from lab.models.hyper_attention import NORMALIZATIONS, mix, normalize
from lab.models.kernel_attention import CHUNK, chunked
from lab.models.layers import Linear
from lab.models.positions import rotary_angles, rotate

NETWORKS = ("head", "pair")
PAIRS = {"cpu": 2**22, "cuda": 2**26}  # numbers of u at once, by device: 16 and 256 MB in float32


class RotaryHyperAttention(nn.Module):
    """x (R, B, T, C) → (R, B, T, C). length: T at most. normalization, network: as in `HyperAttention`.

    >>> layer = RotaryHyperAttention(1, 8, heads=2, head_width=4, length=5, normalization="rms_head", network="pair",
    ...                              phi=nn.ReLU())
    >>> _ = [nn.init.ones_(weight) for weight in layer.parameters()]
    >>> layer(torch.zeros(1, 3, 5, 8)).shape
    torch.Size([1, 3, 5, 8])
    """

    cosine: Tensor
    sine: Tensor

    def __init__(
        self,
        runs: int,
        width: int,
        heads: int,
        head_width: int,
        length: int,
        normalization: str,
        network: str,
        phi: nn.Module,
    ):
        super().__init__()
        check_choice("normalization", normalization, NORMALIZATIONS)
        check_choice("network", network, NETWORKS)
        if head_width % 2:
            raise ArgumentError(f"head_width={head_width}: rotary positions turn pairs of channels; give an even one")
        self.heads, self.normalization, self.network, self.phi = heads, normalization, network, phi
        self.query, self.key, self.value = (Linear(runs, width, heads * head_width, bias=False) for _ in range(3))
        self.out = Linear(runs, heads * head_width, width, bias=False)
        for name, part in zip(("cosine", "sine"), rotary_angles(length, head_width), strict=True):
            self.register_buffer(name, part.float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attention of every token over itself and the tokens before it."""
        q, k, v = self._turned(self.query(x)), self._turned(self.key(x)), self._split(self.value(x))
        q = q * q.shape[-1] ** -0.5
        if self.network == "pair" or self.normalization == "rms_head":
            z = in_chunks(q, k, v, self.normalization, self.network, self.phi)
        elif self.normalization == "softmax":
            q, k, v = (part.flatten(0, 1) for part in (q, k, self.phi(v)))
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0).view(*x.shape[:2], *q.shape[1:])
            z = z.transpose(2, 3)
        elif x.shape[2] > 2 * CHUNK:
            z = chunked(q, k, self.phi(v))[0].transpose(2, 3)
        else:
            z = mix((q @ k.mT).tril(), v, self.network, self.phi)
        return self.out(z.flatten(3))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """The latent codes of all pairs, (R, B, H, query, key); before normalization (and mask) if so asked."""
        q, k = self._turned(self.query(x)), self._turned(self.key(x))
        raw = (q * q.shape[-1] ** -0.5) @ k.mT
        return normalize(raw, self.normalization, _after(0, raw)) if normalized else raw

    def _split(self, x: Tensor) -> Tensor:
        """(R, B, T, H d) → (R, B, H, T, d)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(2, 3)

    def _turned(self, x: Tensor) -> Tensor:
        tokens = x.shape[2]
        return rotate(self._split(x), self.cosine[:tokens], self.sine[:tokens])


def in_chunks(
    q: Tensor, k: Tensor, v: Tensor, normalization: str, network: str, phi: nn.Module, rows: int | None = None
) -> Tensor:
    """z (R, B, T, H, d) of causal attention: q, k, v (R, B, H, T, d), the scale of scores in q already.

    rows: queries at once; None: so many that PAIRS bounds what there is at once.

    >>> one = torch.ones(1, 1, 1, 3, 2)
    >>> in_chunks(one, one, one, "none", "pair", nn.Identity(), rows=2)[0, 0, :, 0, 0]  # Σ_k (q · k)² v
    tensor([ 4.,  8., 12.])
    """
    tokens = q.shape[-2]
    if rows is None:
        rows = max(1, PAIRS.get(q.device.type, PAIRS["cpu"]) // max(1, v[:, :, 0].numel()))

    def part(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        a = q @ k.mT
        return mix(normalize(a, normalization, _after(k.shape[-2] - q.shape[-2], a)), v, network, phi)

    chunks = []
    for start in range(0, tokens, rows):
        end = min(start + rows, tokens)
        tensors = (q[..., start:end, :], k[..., :end, :], v[..., :end, :])
        chunks.append(checkpoint(part, *tensors, use_reentrant=False) if torch.is_grad_enabled() else part(*tensors))
    return chunks[0] if len(chunks) == 1 else torch.cat(chunks, 2)


def _after(first: int, a: Tensor) -> Tensor:
    """Keys that come after the query, (Q, K) bool, for codes a (…, Q, K) of queries from token `first` on."""
    return torch.ones(a.shape[-2:], dtype=torch.bool, device=a.device).triu(first + 1)
