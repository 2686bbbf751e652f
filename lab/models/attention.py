"""Causal multi-head attention: softmax, what the literature puts in its place, or the kernel form with a learned
non-linearity (transformers paper, Sec. 2).

Kernel attention weighs key j for query i with K_ij / Σ_j K_ij, K_ij = φ(Q_i)ᵀ φ(K_j). The paper leaves φ free, so that
K can change sign and the denominator can cross zero, where the output has a pole. Here φ passes through
`positive`: its values are cut at zero. Then every K_ij ≥ 0, the denominator is a sum of non-negative terms, and
EPSILON keeps it away from zero: it cannot cross. A token for which every kernel value is zero attends to nothing.
ALiBi enters as it does under a softmax: exp(bias) multiplies the kernel. Beyond DIRECT tokens the sums are taken chunk
by chunk (`lab.models.kernel_attention`), and no tensor has a number for each pair of tokens.
"""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice
from lab.models.canon import Canon
from lab.models.kernel_attention import CHUNK, chunked
from lab.models.layers import Linear
from lab.models.positions import alibi_bias, alibi_slopes
from lab.models.weighting import POLYNOMIALS, WEIGHTINGS, before_softmax, weigh

DIRECT = 2 * CHUNK  # tokens up to which all pairs are cheaper than chunks
EPSILON = 1e-3  # well below one kernel value at the start of a search (φ = 1 gives K = head width)


class Attention(nn.Module):
    """x (R, B, T, C) → the same shape. `phi` None means softmax, or what `weighting` names in its place."""

    bias: Tensor | None
    causal: Tensor

    def __init__(
        self,
        runs: int,
        width: int,
        heads: int,
        length: int,
        alibi: bool,
        canon: bool,
        phi: nn.Module | None,
        weighting: str = "softmax",
    ):
        super().__init__()
        check_choice("weighting", weighting, WEIGHTINGS)
        if phi is not None and weighting != "softmax":
            raise ArgumentError(f"weighting={weighting!r} with a kernel: give attention='softmax', too")
        self.heads, self.length, self.phi, self.weighting = heads, length, phi, weighting
        self.qkv = Linear(runs, width, 3 * width)
        self.out = Linear(runs, width, width)
        self.canon = Canon(runs, 3 * width) if canon else None
        pairs = length if phi is None else min(length, DIRECT)  # a kernel on more tokens needs no number for each pair
        self.slopes = alibi_slopes(heads) if alibi else None
        bias = alibi_bias(heads, pairs) if alibi else None
        self.register_buffer("bias", bias, persistent=False)  # (heads, T, T) or None
        self.register_buffer("causal", torch.ones(pairs, pairs).tril(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attention of every token over itself and the tokens before it."""
        q, k, v = self._project(x)
        if self.phi is not None:
            y = self._kernel(self.phi, q, k, v)
        else:
            y = self._softmax(q, k, v) if self.weighting == "softmax" else self._weights(q, k) @ v
        return self.out(y.transpose(2, 3).reshape(x.shape))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """How much each query attends to each key: x (R, B, T, C) → (R, B, heads, query, key).

        With them, outputs are Σ_key score · value. normalized=False: what goes into the softmax (-inf for keys after
        the query), or the kernel values before they are divided by their sum (0 there).
        """
        q, k, _ = self._project(x)
        if self.phi is not None:
            kernel = self._kernel_values(self.phi, q, k)
            return kernel / (kernel.sum(-1, keepdim=True) + EPSILON) if normalized else kernel
        if normalized or self.weighting in POLYNOMIALS:  # these are not normalized
            return self._weights(q, k)
        hidden, bias = self._mask(q.shape[-2])
        return before_softmax(self.weighting, q @ k.mT, q.shape[-1], hidden, bias)

    def _project(self, x: Tensor) -> Tensor:
        """Queries, keys and values, (3, R, B, heads, T, d)."""
        qkv = self.qkv(x)
        if self.canon is not None:
            qkv = self.canon(qkv)
        return qkv.view(*x.shape[:3], 3, self.heads, -1).permute(3, 0, 1, 4, 2, 5)

    def _softmax(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        shape, tokens = v.shape, q.shape[-2]
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))  # no parameters in here: runs are one more batch axis
        if self.bias is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True).view(shape)
        hidden, bias = self._mask(tokens)
        mask = cast(Tensor, bias).masked_fill(hidden, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).view(shape)

    def _weights(self, q: Tensor, k: Tensor) -> Tensor:
        """What each key counts for each query, (R, B, heads, query, key)."""
        return weigh(self.weighting, q @ k.mT, q.shape[-1], self.length, *self._mask(q.shape[-2]))

    def _mask(self, tokens: int) -> tuple[Tensor, Tensor | None]:
        """Which keys a query must not see, (query, key), and the bias (heads, query, key) of ALiBi."""
        hidden = self.causal[:tokens, :tokens] == 0
        return hidden, None if self.bias is None else self.bias[:, :tokens, :tokens]

    def _kernel(self, phi: nn.Module, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if q.shape[-2] > DIRECT:
            total, weight = chunked(positive(phi, q), positive(phi, k), v, self.slopes)
            return total / (weight + EPSILON)
        kernel = self._kernel_values(phi, q, k)
        return (kernel @ v) / (kernel.sum(-1, keepdim=True) + EPSILON)

    def _kernel_values(self, phi: nn.Module, q: Tensor, k: Tensor) -> Tensor:
        tokens = q.shape[-2]
        kernel = positive(phi, q) @ positive(phi, k).mT  # (R, B, heads, query, key), no negative entry
        if tokens > len(self.causal):  # asked for every pair of a long input, by `scores`
            decay = torch.ones_like(kernel[0, 0, 0]).tril()
            bias = None if self.slopes is None else alibi_bias(self.heads, tokens).to(kernel)
        else:
            decay = self.causal[:tokens, :tokens]
            bias = None if self.bias is None else self.bias[:, :tokens, :tokens]
        return kernel * (decay if bias is None else decay * bias.exp())


def positive(phi: nn.Module, x: Tensor) -> Tensor:
    """φ(x), its negative values cut at zero: what keeps the denominator of kernel attention from crossing zero."""
    return F.relu(phi(x))
