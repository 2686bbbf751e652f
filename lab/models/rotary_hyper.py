"""The language model of the hypernetwork paper (Section 5, App. C): NanoDO with rotary positions, R side by side.

As NanoDO (Liu et al. 2024): norms before the sublayers and at the end, with a scale and no shift; no biases; one hidden
layer with GELU; logits by the transposed embedding, not scaled; weights uniform (Glorot & Bengio 2010), embeddings
N(0, 1 / width). As the paper: rotary positions in place of learned ones; softmax, linear attention or HYLA. "kqv_dim"
64 of its Table A3 is read as the width of one head, as NanoDO has it: shared out, heads would have 8 each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import cast

from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import Sizes, build, signature
from lab.models.experts import FeedForward
from lab.models.layers import Embedding, Linear, Norm
from lab.models.rotary_attention import RotaryHyperAttention
from lab.models.transformer import slices
from lab.spec import Part, RunSpec, register, replace
from lab.spec.forms import form

EPSILON = 1e-6  # of norms: flax's default


@register
@dataclass(frozen=True)
class RotaryHyperModel:
    """A decoder over tokens whose attention may be a hypernetwork. `lab.models.methods.method` sets which."""

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
        """Its non-linearities by name."""
        return {"phi": self.phi, "mlp": self.mlp}

    def activation_memory(self, length: int) -> float:
        """As in `ModelSpec`."""
        return self.width


class Block(nn.Module):
    """Attention and feed-forward layer, each after a norm and with a residual."""

    def __init__(self, runs: int, spec: RotaryHyperModel, length: int, phi: nn.Module, mlp: nn.Module):
        super().__init__()
        self.norm1, self.norm2 = (Norm(runs, spec.width, EPSILON, bias=False) for _ in range(2))
        shape = (spec.heads, spec.head_width, length, spec.normalization, spec.network)
        self.attention = RotaryHyperAttention(runs, spec.width, *shape, phi)
        self.mlp = FeedForward(runs, spec.width, spec.mlp_width, mlp, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """x (R, B, T, C) → the same shape."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class RotaryHyperTransformer(nn.Module):
    """R decoders for next-token prediction, one a seed. vocabulary, length: number of tokens known, longest input.

    >>> import torch
    >>> spec = RotaryHyperModel(layers=1, heads=2, width=8, head_width=4, mlp_width=16)
    >>> model = RotaryHyperTransformer(spec, 5, 4, [0, 1], nn.Identity(), nn.GELU())
    >>> model(torch.zeros(2, 3, 4, dtype=torch.long)).shape  # (runs, batch, tokens, vocabulary)
    torch.Size([2, 3, 4, 5])
    """

    def __init__(
        self,
        spec: RotaryHyperModel,
        vocabulary: int,
        length: int,
        seeds: Sequence[int],
        phi: nn.Module,
        mlp: nn.Module,
    ):
        super().__init__()
        if spec.layers < 1:
            raise ArgumentError(f"layers={spec.layers}: give one or more")
        runs = len(seeds)
        self.embedding = Embedding(runs, vocabulary, spec.width)
        self.blocks = nn.ModuleList(Block(runs, spec, length, phi, mlp) for _ in range(spec.layers))
        self.norm = Norm(runs, spec.width, EPSILON, bias=False)
        initialize(self, seeds)

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return self.embedding.runs

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """As `Transformer.forward`: logits (R, B, T, V), or (R, B, K, V) at positions (R, B, K)."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        if positions is not None:
            x = x.gather(2, positions[..., None].expand(*positions.shape, x.shape[-1]))
        return (self.norm(x).flatten(1, 2) @ self.embedding.weight.mT).unflatten(1, x.shape[1:3])

    def attention_scores(self, tokens: Tensor, normalized: bool = True) -> list[Tensor]:
        """The latent codes of every query and key, a tensor (R, B, heads, query, key) for each layer."""
        x, scores = self.embedding(tokens), []
        for block in cast(Iterable[Block], self.blocks):
            scores.append(block.attention.scores(block.norm1(x), normalized))
            x = block(x)
        return scores


def initialize(model: nn.Module, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r, as NanoDO does."""
    for owner, _, part, generator in slices(model, (Embedding, Linear, Norm), seeds):
        if isinstance(owner, Norm):
            part.fill_(1.0)
        elif isinstance(owner, Embedding):
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


@signature.register(RotaryHyperModel)
def _(model: RotaryHyperModel, spec: RunSpec) -> RotaryHyperModel:
    return replace(model, phi=form(model.phi), mlp=form(model.mlp))
