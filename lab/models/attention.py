"""Causal multi-head attention: softmax, or the kernel form with a learned non-linearity (transformers paper, Sec. 2).

Kernel attention weighs key j for query i with K_ij / Σ_j K_ij, K_ij = φ(Q_i)ᵀ φ(K_j). The paper leaves φ free, so that
K can change sign and the denominator can cross zero, where the output has a pole. Here φ passes through
`positive`: its values are cut at zero. Then every K_ij ≥ 0, the denominator is a sum of non-negative terms, and
EPSILON keeps it away from zero: it cannot cross. A token for which every kernel value is zero attends to nothing.
ALiBi enters as it does under a softmax: exp(bias) multiplies the kernel.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.models.canon import Canon
from lab.models.layers import Linear
from lab.models.positions import alibi_bias

EPSILON = 1e-3  # well below one kernel value at the start of a search (φ = 1 gives K = head width)


class Attention(nn.Module):
    """x (R, B, T, C) → the same shape. `phi` None means softmax."""

    bias: Tensor | None
    causal: Tensor

    def __init__(self, runs: int, width: int, heads: int, length: int, alibi: bool, canon: bool, phi: nn.Module | None):
        super().__init__()
        self.heads, self.phi = heads, phi
        self.qkv = Linear(runs, width, 3 * width)
        self.out = Linear(runs, width, width)
        self.canon = Canon(runs, 3 * width) if canon else None
        bias = alibi_bias(heads, length) if alibi else None
        self.register_buffer("bias", bias, persistent=False)  # (heads, T, T) or None
        self.register_buffer("causal", torch.ones(length, length).tril(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attention of every token over itself and the tokens before it."""
        q, k, v = self._project(x)
        y = self._softmax(q, k, v) if self.phi is None else self._kernel(self.phi, q, k, v)
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
        tokens = q.shape[-2]
        score = q @ k.mT / q.shape[-1] ** 0.5
        if self.bias is not None:
            score = score + self.bias[:, :tokens, :tokens]
        score = score.masked_fill(self.causal[:tokens, :tokens] == 0, -torch.inf)
        return score.softmax(-1) if normalized else score

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
        hidden = self.causal[:tokens, :tokens] == 0
        mask = self.bias[:, :tokens, :tokens].masked_fill(hidden, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).view(shape)

    def _kernel(self, phi: nn.Module, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        kernel = self._kernel_values(phi, q, k)
        return (kernel @ v) / (kernel.sum(-1, keepdim=True) + EPSILON)

    def _kernel_values(self, phi: nn.Module, q: Tensor, k: Tensor) -> Tensor:
        tokens = q.shape[-2]
        kernel = positive(phi, q) @ positive(phi, k).mT  # (R, B, heads, query, key), no negative entry
        decay = self.causal[:tokens, :tokens]
        if self.bias is not None:
            decay = decay * self.bias[:, :tokens, :tokens].exp()
        return kernel * decay


def positive(phi: nn.Module, x: Tensor) -> Tensor:
    """φ(x), its negative values cut at zero: what keeps the denominator of kernel attention from crossing zero."""
    return F.relu(phi(x))
