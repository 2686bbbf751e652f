"""Attention as a hypernetwork (hypernetwork paper, Section 2): softmax, linear, HYLA and what lies between.

The scores a[h, q, k] over the heads h are the latent code of what is done with key k for query q. `normalization` says
what they are divided by, `network` what they configure:

head   z[q, h] = Σ_k a[h, q, k] φ(v[k, h]); with the identity for φ that is multi-head attention (Eqs. 2-4)
pair   u[q, k] = φ(Σ_h a[h, q, k] v[k, h]); z[q, h] = Σ_k a[h, q, k] u[q, k]: HYLA (Eq. 7)
deep   the same with one more layer in between, u' = φ(Σ_h a[h, q, k] W'_h u) (App. A.1)

Then the heads' z go, side by side, through the output map. The paper's text has one φ for "deep"; that the second
hidden layer has one, too, is our reading. As in the reference code, scores are divided by the root of the head's width
and get the relative bias before any normalization, and queries, keys and values have biases.

R runs, B batch, T tokens, C channels, H heads, Q queries, K keys, d width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.layers import Linear
from lab.models.positions import relative_buckets
from lab.spec import HyperModel

EPSILON = 1e-6  # of RMSHead, as in the reference code
NORMALIZATIONS, NETWORKS = ("softmax", "none", "rms_head"), ("head", "pair", "deep")
CACHED = 2**18  # scores that a CPU works on at once: more leave its cache, and cost up to four times the time
NARROW = 2  # width of a head up to which a CPU sums faster over whole (query, key) planes than by small matrix products


class HyperAttention(nn.Module):
    """x (R, B, T, C) → (R, B, T, C), without a causal mask unless the spec says so. length: T at most.

    >>> from lab.models.hyper import initialize
    >>> layer = HyperAttention(1, HyperModel(heads=2, width=8, key_width=4), length=5, phi=nn.ReLU())
    >>> initialize(layer, [0])
    >>> layer(torch.zeros(1, 3, 5, 8)).shape
    torch.Size([1, 3, 5, 8])
    """

    buckets: Tensor
    hidden: Tensor | None

    def __init__(self, runs: int, spec: HyperModel, length: int, phi: nn.Module):
        super().__init__()
        if spec.key_width % spec.heads:
            raise ArgumentError(f"key_width {spec.key_width} does not divide into {spec.heads} heads")
        if spec.normalization not in NORMALIZATIONS:
            raise ArgumentError(f"unknown normalization {spec.normalization!r}; known: {', '.join(NORMALIZATIONS)}")
        if spec.network not in NETWORKS:
            raise ArgumentError(f"unknown network {spec.network!r}; known: {', '.join(NETWORKS)}")
        self.heads, self.normalization, self.network, self.phi = spec.heads, spec.normalization, spec.network, phi
        self.query, self.key, self.value = (Linear(runs, spec.width, spec.key_width) for _ in range(3))
        self.out = Linear(runs, spec.key_width, spec.width)
        self.relative = nn.Parameter(torch.empty(runs, spec.heads, length))  # one number a bucket
        inner = spec.key_width // spec.heads
        self.inner = nn.Parameter(torch.empty(runs, spec.heads, inner, inner)) if spec.network == "deep" else None
        self.register_buffer("buckets", relative_buckets(length), persistent=False)
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1) if spec.causal else None
        self.register_buffer("hidden", hidden, persistent=False)  # (query, key): True where a key is not to be seen

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.relative)

    def forward(self, x: Tensor, rows: Sequence[int] | None = None, keep: Tensor | None = None) -> Tensor:
        """Attention of the tokens `rows`, or of all, over all tokens: (R, B, Q, C).

        keep (R, T, T): scores are multiplied by it after normalization; that is dropout.
        """
        chosen = slice(None) if rows is None else list(rows)
        q, k, v = self._split(self.query(x[:, :, chosen])), self._split(self.key(x)).mT, self._split(self.value(x))
        bias, hidden = self._bias(x.shape[2], chosen)
        keep = None if keep is None else keep[:, None, None, chosen]  # (R, 1, 1, Q, K)
        step = x.shape[1]
        if x.device.type == "cpu":
            step = max(1, CACHED // max(1, bias.numel()))
        parts = [
            mix(
                normalize(self._raw(q[:, i : i + step], k[:, i : i + step], bias), self.normalization, hidden, keep),
                v[:, i : i + step],
                self.network,
                self.phi,
                self.inner,
            )
            for i in range(0, x.shape[1], step)
        ]
        z = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        return self.out(z.flatten(3))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """The latent codes a of all pairs, (R, B, H, query, key); before normalization (and mask) if so asked."""
        bias, hidden = self._bias(x.shape[2], slice(None))
        raw = self._raw(self._split(self.query(x)), self._split(self.key(x)).mT, bias)
        return normalize(raw, self.normalization, hidden) if normalized else raw

    def _split(self, x: Tensor) -> Tensor:
        """(R, B, T, H d) → (R, B, H, T, d)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(2, 3)

    def _bias(self, tokens: int, rows: slice | list[int]) -> tuple[Tensor, Tensor | None]:
        """Relative bias (R, 1, H, Q, K) and mask (Q, K)."""
        bias = self.relative[:, None, :, self.buckets[:tokens, :tokens][rows]]
        return bias, None if self.hidden is None else self.hidden[:tokens, :tokens][rows]

    def _raw(self, q: Tensor, k: Tensor, bias: Tensor) -> Tensor:
        return (q * q.shape[-1] ** -0.5) @ k + bias


def normalize(a: Tensor, how: str, hidden: Tensor | None = None, keep: Tensor | None = None) -> Tensor:
    """The latent codes (R, B, H, Q, K) of raw scores. how: one of NORMALIZATIONS. hidden, keep: as in the layer.

    >>> normalize(torch.tensor([3.0, -3.0]).view(1, 1, 2, 1, 1), "rms_head").flatten()
    tensor([ 1.0000, -1.0000])
    """
    if how == "softmax":
        a = (a if hidden is None else a.masked_fill(hidden, -torch.inf)).softmax(-1)
    elif hidden is not None:
        a = a.masked_fill(hidden, 0.0)  # before RMSHead: a pair that is not to be seen stays 0
    if how == "rms_head":
        a = a * torch.rsqrt(a.square().mean(2, keepdim=True) + EPSILON)
    return a if keep is None else a * keep


def mix(a: Tensor, v: Tensor, network: str, phi: nn.Module, inner: Tensor | None = None) -> Tensor:
    """What the value networks give: codes a (R, B, H, Q, K), values v (R, B, H, K, d) → z (R, B, Q, H, d).

    network: one of NETWORKS. inner (R, H, d, d): the layer in between of "deep".
    """
    if network == "head":
        return (a @ phi(v)).transpose(2, 3)
    if network == "pair" and v.shape[-1] <= NARROW and v.device.type == "cpu":
        u = phi(torch.stack([(a * part[..., None, :]).sum(2) for part in v.unbind(-1)], 2))  # (R, B, d, Q, K)
        return torch.stack([(a * part[:, :, None]).sum(-1).mT for part in u.unbind(2)], -1)
    u = phi(a.permute(0, 1, 4, 3, 2) @ v.transpose(2, 3))  # (R, B, K, Q, d)
    if inner is not None:
        deeper = torch.einsum("rbkqi,rhij->rbkqhj", u, inner)
        u = phi((a.permute(0, 1, 4, 3, 2)[..., None] * deeper).sum(-2))
    return a.transpose(2, 3) @ u.transpose(2, 3)


def hypernetwork(codes: Tensor, value: Tensor, out: Tensor) -> Tensor:
    """The linear value networks that latent codes generate, W[q, k] = Σ_h a[h, q, k] W_out_h W_value_h (Eqs. 3 and 4).

    codes (R, B, H, Q, K), from `HyperAttention.scores`; value (R, C, H d) and out (R, H d, C), weights of its `Linear`
    maps → (R, B, Q, K, C, C). The output of attention for query q is Σ_k W[q, k] x_k where biases are zero. This is how
    to look at what a code does; to compute attention so takes C² times the memory.

    >>> codes = torch.tensor([2.0, 3.0]).view(1, 1, 2, 1, 1)  # two heads, one query, one key
    >>> hypernetwork(codes, torch.eye(2)[None], torch.eye(2)[None])[0, 0, 0, 0]
    tensor([[2., 0.],
            [0., 3.]])
    """
    heads = codes.shape[2]
    by_head = torch.einsum("rchd,rhdo->rhoc", value.unflatten(-1, (heads, -1)), out.unflatten(1, (heads, -1)))
    return torch.einsum("rbhqk,rhoc->rbqkoc", codes, by_head)
