"""The language model of the hypernetwork paper (Section 5, App. C): NanoDO with rotary positions, R side by side.

As NanoDO (Liu et al. 2024): norms before the sublayers and at the end, with a scale and no shift; no biases; one hidden
layer with GELU; logits by the transposed embedding, not scaled; weights uniform (Glorot & Bengio 2010), embeddings
N(0, 1 / width). As the paper: rotary positions in place of learned ones; softmax, linear attention or HYLA. "kqv_dim"
64 of its Table A3 is read as the width of one head, as NanoDO has it: shared out, heads would have 8 each.

Attention is that of `lab.models.hyper`, causal, without biases and without relative positions. HYLA's value networks
act on every pair of tokens: written directly, u has (B, Q, K, d) numbers. Here queries come in chunks, each with the
keys up to its last token, and what a chunk computes is not kept but computed again on the way back: of u there are
PAIRS numbers at once. Exact, for about a third more time. Softmax and linear attention have no u, and take shorter
ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from lab.errors import ArgumentError, check_choice
from lab.kinds import Sizes, build
from lab.models.hyper import EPSILON, NORMALIZATIONS, mix, normalize
from lab.models.layers import Decoder, Embedding, FeedForward, Linear, Norm, Rotary, at_positions, slices, split_heads
from lab.models.transformer import DIRECT, chunked
from lab.spec import Part, RunSpec, register

NETWORKS = ("head", "pair")
PAIRS = {"cpu": 2**22, "cuda": 2**26}  # numbers of u at once, by device: 16 and 256 MB in float32


@register
@dataclass(frozen=True)
class RotaryHyperModel:
    """A decoder over tokens whose attention may be a hypernetwork. `lab.models.hyper.method` sets which."""

    layers: int = 6
    heads: int = 8
    width: int = 512  # of the residual stream
    head_width: int = 64  # of queries, keys and values of a head
    mlp_width: int = 2048
    normalization: str = "softmax"  # as in `HyperModel`
    network: str = "head"  # as there, without "deep"
    phi: Part = "identity"  # the non-linearity of the value network
    mlp: Part = "gelu"

    @property
    def parts(self) -> dict[str, Part]:
        return {"phi": self.phi, "mlp": self.mlp}

    def activation_memory(self, length: int) -> float:
        return self.width


class RotaryHyperAttention(nn.Module):
    """x (R, B, T, C) → (R, B, T, C). length: T at most.

    >>> spec = RotaryHyperModel(heads=2, width=8, head_width=4, normalization="rms_head", network="pair")
    >>> layer = RotaryHyperAttention(1, spec, length=5, phi=nn.ReLU())
    >>> _ = [nn.init.ones_(weight) for weight in layer.parameters()]
    >>> layer(torch.zeros(1, 3, 5, 8)).shape
    torch.Size([1, 3, 5, 8])
    """

    def __init__(self, runs: int, spec: RotaryHyperModel, length: int, phi: nn.Module):
        super().__init__()
        check_choice("normalization", spec.normalization, NORMALIZATIONS)
        check_choice("network", spec.network, NETWORKS)
        if spec.head_width % 2:
            cure = "rotary positions turn pairs of channels; give an even one"
            raise ArgumentError(f"head_width={spec.head_width}: {cure}")
        self.heads, self.normalization, self.network, self.phi = spec.heads, spec.normalization, spec.network, phi
        inner = spec.heads * spec.head_width
        self.query, self.key, self.value = (Linear(runs, spec.width, inner, bias=False) for _ in range(3))
        self.out = Linear(runs, inner, spec.width, bias=False)
        self.turn = Rotary(length, spec.head_width)

    def forward(self, x: Tensor) -> Tensor:
        q, k = self._queries_and_keys(x)
        v = split_heads(self.value(x), self.heads)
        if self.network == "pair" or self.normalization == "rms_head":
            z = in_chunks(q, k, v, self.normalization, self.network, self.phi)
        elif self.normalization == "softmax":
            q, k, v = (part.flatten(0, 1) for part in (q, k, self.phi(v)))
            z = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0).view(*x.shape[:2], *q.shape[1:])
            z = z.transpose(2, 3)
        elif x.shape[2] > DIRECT:
            z = chunked(q, k, self.phi(v))[0].transpose(2, 3)
        else:
            z = mix((q @ k.mT).tril(), v, self.network, self.phi)
        return self.out(z.flatten(3))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """The latent codes of all pairs, (R, B, H, query, key); before normalization (and mask) if so asked."""
        q, k = self._queries_and_keys(x)
        raw = q @ k.mT
        return normalize(raw, self.normalization, _after(0, raw)) if normalized else raw

    def _queries_and_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(R, B, H, T, d) each, turned by their positions; queries are scaled."""
        q, k = (self.turn(split_heads(part(x), self.heads)) for part in (self.query, self.key))
        return q * q.shape[-1] ** -0.5, k


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


class Block(nn.Module):
    """Attention and feed-forward layer, each after a norm and with a residual."""

    def __init__(self, runs: int, spec: RotaryHyperModel, length: int, phi: nn.Module, mlp: nn.Module):
        super().__init__()
        self.norm1, self.norm2 = (Norm(runs, spec.width, EPSILON, bias=False) for _ in range(2))
        self.attention = RotaryHyperAttention(runs, spec, length, phi)
        self.mlp = FeedForward(runs, spec.width, spec.mlp_width, mlp, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        return self.attention.scores(self.norm1(x), normalized)


class RotaryHyperTransformer(Decoder):
    """R decoders for next-token prediction, one a seed. vocabulary, length: number of tokens known, longest input.

    >>> spec = RotaryHyperModel(layers=1, heads=2, width=8, head_width=4, mlp_width=16)
    >>> model = RotaryHyperTransformer(spec, 5, 4, [0, 1], nn.Identity(), nn.GELU())
    >>> model(torch.zeros(2, 3, 4, dtype=torch.long)).shape  # (runs, batch, tokens, vocabulary)
    torch.Size([2, 3, 4, 5])
    """

    def __init__(
        self, spec: RotaryHyperModel, vocabulary: int, length: int, seeds: Sequence[int], phi: nn.Module, mlp: nn.Module
    ):
        super().__init__()
        if spec.layers < 1:
            raise ArgumentError(f"layers={spec.layers}: give one or more")
        runs = len(seeds)
        self.embedding = Embedding(runs, vocabulary, spec.width)
        self.blocks = nn.ModuleList(Block(runs, spec, length, phi, mlp) for _ in range(spec.layers))
        self.norm = Norm(runs, spec.width, EPSILON, bias=False)
        initialize(self, seeds)

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """As `Transformer.forward`: logits (R, B, T, V), or (R, B, K, V) at positions (R, B, K)."""
        x = self.norm(at_positions(self.stream(tokens), positions))
        return cast(Embedding, self.embedding).logits(x)


def initialize(model: nn.Module, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r, as NanoDO does."""
    for owner, _, part, generator in slices(model, (Embedding, Linear, Norm), seeds):
        if isinstance(owner, Embedding):
            part.normal_(0.0, 1 / sqrt(part.shape[-1]), generator=generator)
        else:
            bound = sqrt(6 / sum(part.shape))
            part.uniform_(-bound, bound, generator=generator)


@build.register(RotaryHyperModel)
def _(
    model: RotaryHyperModel, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]
) -> nn.Module:
    if sizes.form != "tokens":
        raise ArgumentError(f"a RotaryHyperModel reads tokens, and this task has {sizes.form}; give a HyperModel")
    phi, mlp = cast(Sequence[nn.Module], modules)
    return RotaryHyperTransformer(model, sizes.inputs, sizes.length, [spec.seed for spec in specs], phi, mlp)
