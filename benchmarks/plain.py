"""The lab's models as one would write them plainly in PyTorch, one model at a time; parameters have the same names."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.models.hyper import relative_buckets
from lab.spec import HyperModel, ModelSpec, Perceptron


class Attention(nn.Module):
    """Causal softmax attention."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) → the same shape."""
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    """Attention and a GELU layer, each followed by a norm."""

    def __init__(self, spec: ModelSpec):
        super().__init__()
        self.attention = Attention(spec.width, spec.heads)
        self.norm1, self.norm2 = nn.LayerNorm(spec.width), nn.LayerNorm(spec.width)
        self.up, self.down = nn.Linear(spec.width, 4 * spec.width), nn.Linear(4 * spec.width, spec.width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) → the same shape."""
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Transformer(nn.Module):
    """A decoder with learned positions."""

    def __init__(self, spec: ModelSpec, vocabulary: int, length: int):
        super().__init__()
        self.embedding, self.position = nn.Embedding(vocabulary, spec.width), nn.Embedding(length, spec.width)
        self.blocks = nn.ModuleList(Block(spec) for _ in range(spec.layers))
        self.unembedding = nn.Linear(spec.width, vocabulary, bias=False)

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """Logits (B, T, V), or of some tokens (B, K)."""
        x = self.embedding(tokens) + self.position.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        if positions is not None:
            x = x.gather(1, positions[..., None].expand(*positions.shape, x.shape[-1]))
        return self.unembedding(x)


class Hyla(nn.Module):
    """Attention as a hypernetwork with one hidden layer (hypernetwork paper, Eq. 7)."""

    def __init__(self, spec: HyperModel, length: int):
        super().__init__()
        self.heads = spec.heads
        self.query, self.key, self.value = (nn.Linear(spec.width, spec.key_width) for _ in range(3))
        self.out = nn.Linear(spec.key_width, spec.width)
        self.relative = nn.Parameter(torch.zeros(spec.heads, length))
        self.register_buffer("buckets", relative_buckets(length), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) → the same shape."""
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)) for each in (self.query, self.key, self.value))
        a = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5 + self.relative[:, self.buckets]
        a = a * torch.rsqrt(a.square().mean(1, keepdim=True) + 1e-6)
        hidden = F.relu(torch.einsum("bhqk,bkhd->bqkd", a, v))
        return self.out(torch.einsum("bhqk,bqkd->bqhd", a, hidden).flatten(2))


class FeedForward(nn.Module):
    """Two layers with a GELU."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """(…, C) → the same shape."""
        return self.down(F.gelu(self.up(x)))


class HyperBlock(nn.Module):
    """HYLA and a feed-forward layer, each after a norm."""

    def __init__(self, spec: HyperModel, length: int):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(spec.width, eps=1e-6) for _ in range(2))
        self.attention, self.mlp = Hyla(spec, length), FeedForward(spec.width, spec.mlp_width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C) → the same shape."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class HyperTransformer(nn.Module):
    """A transformer over vectors that predicts at some tokens."""

    def __init__(self, spec: HyperModel, inputs: int, outputs: int, length: int, positions: Sequence[int]):
        super().__init__()
        self.positions = list(positions)
        self.embedding, self.head = nn.Linear(inputs, spec.width), nn.Linear(spec.width, outputs)
        self.blocks = nn.ModuleList(HyperBlock(spec, length) for _ in range(spec.layers))
        self.norm = nn.LayerNorm(spec.width, eps=1e-6)

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, T, D) → (B, K, O)."""
        x = self.embedding(inputs.to(self.embedding.weight.dtype))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, self.positions]))


class MLP(nn.Module):
    """A perceptron with ReLU."""

    def __init__(self, spec: Perceptron, inputs: int, outputs: int):
        super().__init__()
        sizes = [inputs, *[spec.width] * spec.layers, outputs]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in zip(sizes[:-1], sizes[1:], strict=True))

    def forward(self, x: Tensor) -> Tensor:
        """(B, D) → (B, O)."""
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class WithRunAxis(nn.Module):
    """A plain model, called as the lab calls its own: tensors have an axis of one run in front."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, *given: Tensor | None) -> Tensor:
        """(1, …) → (1, …)."""
        return self.model(*(part[0] for part in given if part is not None))[None]


def same(model: nn.Module, ours: nn.Module) -> nn.Module:
    """The plain model with the weights of our first run. KeyError, RuntimeError: it is another model."""
    known = dict(ours.named_parameters())
    linear = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            of_run = known.pop(name)[0]
            weight.copy_(of_run.T if name in linear else of_run.reshape(weight.shape))
    if known:
        raise KeyError(f"the plain model has no {', '.join(known)}")
    return model
