"""The transformer of the hypernetwork paper (App. C), R copies side by side.

Vectors in, predictions out at some tokens. Pre-norm blocks, x ← x + attention(norm(x)), x ← x + mlp(norm(x)), a norm
and a dense layer at the end; relative positions in every layer, no absolute ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.experts import Experts, FeedForward
from lab.models.hyper_attention import HyperAttention
from lab.models.layers import Linear, Norm
from lab.models.transformer import slices
from lab.spec import HyperModel

EPSILON = 1e-6  # of norms: flax's default, torch's is 1e-5
CUT = 0.87962566  # standard deviation of a normal distribution that is cut at two of its own


class Block(nn.Module):
    """Attention and feed-forward layer, each after a norm and with a residual."""

    def __init__(self, runs: int, spec: HyperModel, length: int, phi: nn.Module, mlp: nn.Module):
        super().__init__()
        self.norm1, self.norm2 = Norm(runs, spec.width, EPSILON), Norm(runs, spec.width, EPSILON)
        self.attention = HyperAttention(runs, spec, length, phi)
        self.mlp: Experts | FeedForward
        if spec.experts:
            self.mlp = Experts(runs, spec.width, spec.mlp_width, spec.experts, spec.active, mlp)
        else:
            self.mlp = FeedForward(runs, spec.width, spec.mlp_width, mlp)

    def forward(self, x: Tensor, rows: Sequence[int] | None = None, keep: Tensor | None = None) -> Tensor:
        """x (R, B, T, C) → the same shape, or (R, B, rows, C): nothing is computed for tokens that nobody asks for."""
        attended = self.attention(self.norm1(x), rows, keep)
        x = attended + (x if rows is None else x[:, :, list(rows)])
        return x + self.mlp(self.norm2(x))


class HyperTransformer(nn.Module):
    """R transformers, one a seed, that read vectors and predict at some of them.

    spec: shape; its `phi` and `mlp` only say what is asked for, the modules come in as arguments.
    inputs, outputs, length, positions: width of a token, size of a prediction, number of tokens, the K tokens at which
        something is predicted; a task of `lab.tasks.stream` has them.
    seeds: one a run; a run's weights depend on its own seed alone.

    >>> import torch
    >>> from lab.tasks import Logic
    >>> task = Logic(length=16)
    >>> model = HyperTransformer(HyperModel(), task.inputs, task.outputs, task.length, task.positions, [0, 1],
    ...                          phi=nn.Identity(), mlp=nn.GELU())
    >>> inputs = torch.zeros(2, 3, 16, 5)
    >>> model(inputs).shape  # (runs, batch, positions, outputs)
    torch.Size([2, 3, 1, 1])
    >>> [layer.shape for layer in model.attention_scores(inputs)]  # (runs, batch, heads, query, key)
    [torch.Size([2, 3, 8, 16, 16]), torch.Size([2, 3, 8, 16, 16])]
    >>> sum(p.numel() for p in model.parameters()) // 2
    151009
    """

    def __init__(
        self,
        spec: HyperModel,
        inputs: int,
        outputs: int,
        length: int,
        positions: Sequence[int],
        seeds: Sequence[int],
        phi: nn.Module,
        mlp: nn.Module,
    ):
        super().__init__()
        if spec.layers < 1:
            raise ArgumentError(f"layers={spec.layers}: give one or more")
        runs = len(seeds)
        self.positions = list(positions)
        self.embedding = Linear(runs, inputs, spec.width)
        self.blocks = nn.ModuleList(Block(runs, spec, length, phi, mlp) for _ in range(spec.layers))
        self.norm = Norm(runs, spec.width, EPSILON)
        self.head = Linear(runs, spec.width, outputs)
        initialize(self, seeds)

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return self.embedding.runs

    def forward(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        """Predictions: inputs (R, B, T, D) → (R, B, K, O), computed in the precision of the weights.

        keep (R, layers, T, T): what scores are multiplied by, dropout; None leaves them whole.
        """
        x = self._embed(inputs)
        for i, block in enumerate(self.blocks):
            last = i == len(self.blocks) - 1
            x = block(x, self.positions if last else None, None if keep is None else keep[:, i])
        return self.head(self.norm(x))

    def attention_scores(self, inputs: Tensor, normalized: bool = True) -> list[Tensor]:
        """The latent codes of every query and key, a tensor (R, B, heads, query, key) for each layer.

        inputs (R, B, T, D). normalized=False: before normalization, with the relative bias and without a mask.
        """
        x, scores = self._embed(inputs), []
        for block in cast(Iterable[Block], self.blocks):
            scores.append(block.attention.scores(block.norm1(x), normalized))
            x = block(x)
        return scores

    def _embed(self, inputs: Tensor) -> Tensor:
        return self.embedding(inputs.to(self.embedding.weight.dtype))


def initialize(model: nn.Module, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r, as the reference code does: weights from a normal distribution cut at
    two standard deviations, with variance 1 / inputs, relative biases from one with variance 1 / buckets, not cut;
    biases 0, norms 1."""
    for owner, name, part, generator in slices(model, (HyperAttention, Linear, Norm), seeds):
        if isinstance(owner, Norm):
            part.fill_(1.0 if name == "weight" else 0.0)
        elif name == "bias":
            part.zero_()
        elif name == "relative":
            part.normal_(0.0, 1 / math.sqrt(part.shape[-1]), generator=generator)
        else:  # weight (inputs, outputs), inner (heads, inputs, outputs)
            std = 1 / math.sqrt(part.shape[-2]) / CUT
            nn.init.trunc_normal_(part, std=std, a=-2 * std, b=2 * std, generator=generator)
