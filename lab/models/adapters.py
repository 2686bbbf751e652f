"""Models on tasks of another form than their own: transformers of words on vectors, of vectors on words, both on rows.

A row of D numbers becomes a sequence of D tokens with one number each, and the last token predicts. A sequence of
vectors becomes one row for a perceptron. Words become one-hot vectors for a transformer that reads vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import Sizes
from lab.models.hyper import HyperTransformer
from lab.models.layers import Linear
from lab.models.transformer import Transformer, initialize
from lab.spec import HyperModel, ModelSpec


def as_vectors(sizes: Sizes) -> Sizes:
    """The sizes of rows as sequences of numbers.

    >>> as_vectors(Sizes("row", inputs=7, outputs=2)).of_model
    ('vectors', 1, 2, 7, (6,))
    """
    return replace(sizes, form="vectors", inputs=1, length=sizes.inputs, positions=(sizes.inputs - 1,))


class Columns(nn.Module):
    """A model that reads vectors, on rows: x (R, B, D) → (R, B, outputs)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """Each column is a token."""
        return self.model(x[..., None])[:, :, 0]

    def attention_scores(self, x: Tensor, normalized: bool = True) -> list[Tensor]:
        """As those of the model: (R, B, heads, query, key) for each layer; tokens are columns."""
        return cast(Transformer | HyperTransformer, self.model).attention_scores(x[..., None], normalized)


class Flat(nn.Module):
    """A perceptron on sequences of vectors: (R, B, T, D) → (R, B, K, outputs)."""

    def __init__(self, model: nn.Module, positions: int):
        super().__init__()
        self.model, self.positions = model, positions

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """All tokens of a sequence in one row. There are no attention scores that `keep` could drop."""
        return self.model(x.flatten(2)).unflatten(-1, (self.positions, -1))


class VectorTransformer(Transformer):
    """R decoders that read vectors: a dense layer in place of each embedding, predictions at fixed tokens.

    >>> sizes = Sizes("vectors", 3, 2, length=4, positions=(3,))
    >>> model = VectorTransformer(ModelSpec(width=8), sizes, [0, 1], nn.GELU())
    >>> model(torch.zeros(2, 5, 4, 3)).shape  # (runs, batch, positions, outputs)
    torch.Size([2, 5, 1, 2])
    """

    unembedding: Linear

    def __init__(
        self, spec: ModelSpec, sizes: Sizes, seeds: Sequence[int], mlp: nn.Module, attention: nn.Module | None = None
    ):
        if spec.tied:
            raise ArgumentError("tied=True: what goes in are numbers, what comes out are others; give tied=False")
        super().__init__(spec, 1, sizes.length, seeds, mlp, attention)
        self.positions = list(sizes.positions)
        self.embedding = Linear(len(seeds), sizes.inputs, spec.width)
        self.unembedding = Linear(len(seeds), spec.width, sizes.outputs)
        initialize(self, seeds)

    def forward(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        """Predictions: inputs (R, B, T, D) → (R, B, K, O). Attention is never dropped: `keep` must be None."""
        if keep is not None:
            raise ArgumentError("this transformer has no dropout of attention scores; give keep=None")
        x = self._embed(inputs)
        for block in self.blocks:
            x = block(x)
        return self.unembedding(x[:, :, self.positions])

    def _embed(self, inputs: Tensor) -> Tensor:
        x = self.embedding(inputs)
        if self.position is None:
            return x
        index = torch.arange(inputs.shape[2], device=inputs.device).expand(len(inputs), 1, -1)
        return x + self.position(index)


class TokenHyperTransformer(HyperTransformer):
    """R transformers of the hypernetwork paper that read tokens, as one-hot vectors, and predict the next one.

    >>> sizes = Sizes("tokens", 9, 9, length=4)
    >>> model = TokenHyperTransformer(HyperModel(causal=True, dropout=0.0), sizes, [0], nn.Identity(), nn.GELU())
    >>> model(torch.zeros(1, 5, 4, dtype=torch.long)).shape  # (runs, batch, tokens, vocabulary)
    torch.Size([1, 5, 4, 9])
    """

    def __init__(self, spec: HyperModel, sizes: Sizes, seeds: Sequence[int], phi: nn.Module, mlp: nn.Module):
        if not spec.causal:
            raise ArgumentError("causal=False: tokens would see those that they predict; give causal=True")
        if spec.dropout:
            raise ArgumentError(f"dropout={spec.dropout}: tasks of tokens train without dropout; give dropout=0.0")
        super().__init__(spec, sizes.inputs, sizes.outputs, sizes.length, (), seeds, phi, mlp)

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """As `Transformer.forward`: logits (R, B, T, V), or (R, B, K, V) at positions (R, B, K)."""
        x = self._embed(tokens)
        for block in self.blocks:
            x = block(x)
        if positions is not None:
            x = x.gather(2, positions[..., None].expand(*positions.shape, x.shape[-1]))
        return self.head(self.norm(x))

    def _embed(self, tokens: Tensor) -> Tensor:
        hot = nn.functional.one_hot(tokens, self.embedding.weight.shape[1])
        return self.embedding(hot.to(self.embedding.weight.dtype))
