"""The decoder written twice more, without a run axis: with torch.nn's layers, and in numpy with loops."""

import math

import numpy as np
import torch
from torch import nn


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def alibi(head, heads, query, key):
    """Press et al. 2021: a geometric sequence of slopes that starts at, and has the ratio, 2^(-8 / heads)."""
    return -(2 ** (-8 * (head + 1) / heads)) * (query - key)


def weights_of(model, run):
    """The weights of one run by name, without the run axis, as numpy arrays in float64."""
    arrays = {name: p.detach()[run].double().numpy() for name, p in model.named_parameters() if "phi" not in name}
    return {name: a[0] if name.endswith("bias") and a.ndim == 2 else a for name, a in arrays.items()}


class TorchDecoder(nn.Module):
    """Softmax, no Canon: nn.TransformerEncoderLayer with the causal mask is the post-norm GPT-2 block."""

    def __init__(self, spec, weights):
        super().__init__()
        self.spec = spec
        entries, width = weights["embedding.weight"].shape
        self.embedding = nn.Embedding(entries, width)
        self.position = nn.Embedding(*weights["position.weight"].shape) if spec.positions == "learned" else None
        settings = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": False}
        layer = nn.TransformerEncoderLayer(width, spec.heads, 4 * width, **settings)
        self.blocks = nn.TransformerEncoder(layer, spec.layers, enable_nested_tensor=False)
        self.unembedding = nn.Linear(width, entries, bias=False)
        self.double().load_state_dict({k: torch.from_numpy(v.copy()) for k, v in self._named(weights)}, strict=True)

    def _named(self, weights):
        """torch.nn keeps matrices as (out, in), and has names of its own."""
        yield "embedding.weight", weights["embedding.weight"]
        if self.position is not None:
            yield "position.weight", weights["position.weight"]
        yield "unembedding.weight", weights.get("unembedding.weight", weights["embedding.weight"].T).T
        names = {
            "attention.out": "self_attn.out_proj",
            "up": "linear1",
            "down": "linear2",
            "norm1": "norm1",
            "norm2": "norm2",
        }
        for i in range(self.spec.layers):
            for kind in ("weight", "bias"):
                yield (
                    f"blocks.layers.{i}.self_attn.in_proj_{kind}",
                    weights[f"blocks.{i}.attention.qkv.{kind}"].T,
                )
                for ours, theirs in names.items():
                    yield f"blocks.layers.{i}.{theirs}.{kind}", weights[f"blocks.{i}.{ours}.{kind}"].T

    def forward(self, tokens):
        """tokens (B, T) → logits (B, T, V)."""
        batch, length = tokens.shape
        heads = self.spec.heads
        mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.float64)
        if self.spec.positions == "alibi":
            bias = [[[alibi(h, heads, i, j) for j in range(length)] for i in range(length)] for h in range(heads)]
            mask = (mask + torch.tensor(bias, dtype=torch.float64)).repeat(batch, 1, 1)
        x = self.embedding(tokens)
        if self.position is not None:
            x = x + self.position(torch.arange(length))
        return self.unembedding(self.blocks(x, mask=mask))


def literal_logits(spec, weights, tokens, mlp, kernel=None, epsilon=0.0):
    """Logits (T, V) of one sequence, token by token, as the paper's formulas say.

    mlp, kernel: functions of numbers; kernel None means softmax. epsilon: added to a kernel's denominator.
    """
    x = weights["embedding.weight"][tokens]
    if spec.positions == "learned":
        x = x + weights["position.weight"][: len(tokens)]

    def canon(x, name):
        if not spec.canon:
            return x
        w = weights[f"{name}.weight"]
        return np.stack([x[t] + sum(w[j] * x[t - j] for j in range(4) if t >= j) for t in range(len(x))])

    def linear(x, name):
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return unit * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    for i in range(spec.layers):
        block = f"blocks.{i}"
        qkv = canon(linear(canon(x, f"{block}.canon.0"), f"{block}.attention.qkv"), f"{block}.attention.canon")
        mixed = np.concatenate([_head(spec, h, qkv, kernel, epsilon) for h in range(spec.heads)], axis=1)
        x = norm(x + linear(mixed, f"{block}.attention.out"), f"{block}.norm1")
        hidden = canon(linear(canon(x, f"{block}.canon.1"), f"{block}.up"), f"{block}.canon.2")
        if spec.gated:
            half = hidden.shape[1] // 2
            hidden = mlp(hidden[:, :half]) * hidden[:, half:]
        else:
            hidden = mlp(hidden)
        x = norm(x + linear(hidden, f"{block}.down"), f"{block}.norm2")
    return x @ (weights["embedding.weight"].T if spec.tied else weights["unembedding.weight"])


def _head(spec, head, qkv, kernel, epsilon):
    """Output (T, d) of one attention head: for each query a sum over the keys before it."""
    d = spec.width // spec.heads
    q, k, v = (part[:, head * d : (head + 1) * d] for part in np.split(qkv, 3, axis=1))
    out = np.zeros_like(v)
    for i in range(len(v)):
        total = epsilon if kernel else 0.0
        for j in range(i + 1):
            bias = alibi(head, spec.heads, i, j) if spec.positions == "alibi" else 0.0
            similarity = kernel(q[i]) @ kernel(k[j]) if kernel else math.exp(q[i] @ k[j] / math.sqrt(d))
            out[i] += similarity * math.exp(bias) * v[j]
            total += similarity * math.exp(bias)
        out[i] /= total
    return out
