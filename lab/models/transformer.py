"""The GPT-2-style decoder of the transformers paper (App. B), R copies side by side.

Post-norm blocks (x ← norm(x + f(x))), MLP four times as wide as the stream or gated with as many weights, learned
absolute positions or ALiBi, optional Canon layers, tied or untied unembedding. One non-linearity serves the MLPs of all
layers, another, if it is not softmax, the attention of all layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.attention import Attention
from lab.models.canon import KERNEL, Canon
from lab.models.layers import Embedding, Linear, Norm
from lab.seeds import stream
from lab.spec import ModelSpec


class Block(nn.Module):
    """Attention and MLP, each with its residual and, after it, its norm."""

    def __init__(self, runs: int, spec: ModelSpec, length: int, mlp: nn.Module, attention: nn.Module | None):
        super().__init__()
        width = spec.width
        self.phi = mlp
        alibi = spec.positions == "alibi"
        self.attention = Attention(runs, width, spec.heads, length, alibi, spec.canon, attention, spec.weighting)
        self.norm1, self.norm2 = Norm(runs, width), Norm(runs, width)
        self.gated = spec.gated
        inner = gated_width(width) if spec.gated else 4 * width
        before = 2 * inner if spec.gated else inner  # what goes into φ and, side by side with it, what φ multiplies
        self.up, self.down = Linear(runs, width, before), Linear(runs, inner, width)
        widths = (width, width, before) if spec.canon else ()
        self.canon = nn.ModuleList(Canon(runs, w) for w in widths)  # A, C, D; B is inside the attention

    def forward(self, x: Tensor) -> Tensor:
        """x (R, B, T, C) → the same shape."""
        before, inside, hidden = self.canon or (nn.Identity(),) * 3
        x = self.norm1(x + self.attention(before(x)))
        h = hidden(self.up(inside(x)))
        if self.gated:
            gate, h = h.chunk(2, -1)
            return self.norm2(x + self.down(self.phi(gate) * h))
        return self.norm2(x + self.down(self.phi(h)))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """What the attention of this block weighs tokens with, (R, B, heads, query, key)."""
        return self.attention.scores(self.canon[0](x) if self.canon else x, normalized)


def gated_width(width: int) -> int:
    """Hidden width of a gated MLP: 8/3 of the stream, so that its three matrices have as many weights as the two of a
    plain one (Shazeer 2020; the transformers paper is silent).

    >>> gated_width(256), 3 * 256 * gated_width(256) / (2 * 256 * 4 * 256)
    (683, 1.00048828125)
    """
    return round(8 * width / 3)


class Transformer(nn.Module):
    """R decoders for next-token prediction, one a seed.

    spec: shape; its `mlp` and `attention` only say what is asked for, the modules come in as arguments.
    vocabulary, length: number of tokens known, longest input. mlp: the non-linearity. attention: None for softmax.
    seeds: one a run; a run's weights depend on its own seed alone.

    >>> model = Transformer(ModelSpec(width=8), vocabulary=5, length=4, seeds=[0, 1], mlp=nn.GELU())
    >>> model(torch.zeros(2, 3, 4, dtype=torch.long)).shape  # (runs, batch, tokens, vocabulary)
    torch.Size([2, 3, 4, 5])
    """

    embedding: Embedding | Linear
    unembedding: Linear | None

    def __init__(
        self,
        spec: ModelSpec,
        vocabulary: int,
        length: int,
        seeds: Sequence[int],
        mlp: nn.Module,
        attention: nn.Module | None = None,
    ):
        super().__init__()
        if spec.width % spec.heads:
            raise ArgumentError(f"width {spec.width} does not divide into {spec.heads} heads")
        if spec.positions not in ("learned", "alibi"):
            raise ArgumentError(f"unknown positions {spec.positions!r}; known: learned, alibi")
        runs = len(seeds)
        self.embedding = Embedding(runs, vocabulary, spec.width)
        self.position = Embedding(runs, length, spec.width) if spec.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(runs, spec, length, mlp, attention) for _ in range(spec.layers))
        self.unembedding = None if spec.tied else Linear(runs, spec.width, vocabulary, bias=False)
        initialize(self, seeds)

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return self.embedding.runs

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """Logits of the next token: tokens (R, B, T) → (R, B, T, V).

        positions (R, B, K): compute the logits at these tokens only → (R, B, K, V).
        """
        x = self._embed(tokens)
        for block in self.blocks:
            x = block(x)
        if positions is not None:
            x = x.gather(2, positions[..., None].expand(*positions.shape, x.shape[-1]))
        if self.unembedding is not None:
            return self.unembedding(x)
        return (x.flatten(1, 2) @ self.embedding.weight.mT).unflatten(1, x.shape[1:3])

    def attention_scores(self, tokens: Tensor, normalized: bool = True) -> list[Tensor]:
        """How much each query attends to each key, a tensor (R, B, heads, query, key) for each layer.

        tokens (R, B, T). normalized=False: before the softmax, or before kernel values are divided by their sum.
        """
        x, scores = self._embed(tokens), []
        for block in cast(Iterable[Block], self.blocks):
            scores.append(block.scores(x, normalized))
            x = block(x)
        return scores

    def _embed(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        if self.position is None:
            return x
        index = torch.arange(tokens.shape[-1], device=tokens.device).expand(len(tokens), 1, -1)
        return x + self.position(index)


def initialize(model: nn.Module, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r: truncated normal (0.02, cut at 2 standard deviations) for weights,
    zero biases, unit norms, and Canon's own uniform (torch's Conv1d default)."""
    for owner, name, part, generator in slices(model, (Embedding, Linear, Norm, Canon), seeds):
        if isinstance(owner, Norm):
            part.fill_(1.0 if name == "weight" else 0.0)
        elif name == "bias":
            part.zero_()
        elif isinstance(owner, Canon):
            part.uniform_(-1 / math.sqrt(KERNEL), 1 / math.sqrt(KERNEL), generator=generator)
        else:
            nn.init.trunc_normal_(part, std=0.02, a=-0.04, b=0.04, generator=generator)


def slices(
    model: nn.Module, kinds: tuple[type[nn.Module], ...], seeds: Sequence[int]
) -> Iterator[tuple[nn.Module, str, Tensor, torch.Generator]]:
    """Every run's part of each parameter of modules of these kinds, in a fixed order, to be filled from the run's own
    generator: the module, the parameter's name, the part, the generator."""
    owners = [module for module in model.modules() if isinstance(module, kinds)]
    for run, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(stream(seed, "weights"))
        for owner in owners:
            for name, parameter in owner.named_parameters(recurse=False):
                yield owner, name, parameter.data[run], generator
