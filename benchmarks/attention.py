"""What attention to many tokens takes in memory: spline kernels and HYLA, in chunks and with all pairs at once.

    python benchmarks/attention.py                              # prints; a minute on one core
    python benchmarks/attention.py --write benchmarks/README.md

One layer (4 sequences, 8 heads of width 64), forward and backward once. Told are the most bytes that tensors have at a
time, counted as they are made and freed: what an allocator keeps besides is not in it, nor what torch's own kernels
take inside. Softmax, as torch has it, stands next to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from datetime import date

import torch
from report import heading, publish, table_parser
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lab.models import transformer
from lab.models.hyper import mix, normalize
from lab.models.layers import split_heads
from lab.models.rotary_hyper import RotaryHyperAttention, RotaryHyperModel
from lab.models.transformer import Attention
from lab.nonlinearity.spline import Spline
from lab.spec import ModelSpec

SEQUENCES, HEADS, HEAD_WIDTH = 4, 8, 64
WIDTH = HEADS * HEAD_WIDTH
TOKENS = (256, 512, 1024, 2048)


class Alive(TorchDispatchMode):
    """Counts the bytes of tensors from when they are made until they are freed."""

    def __init__(self):
        super().__init__()
        self.now, self.most, self._sizes = 0, 0, {}

    def __torch_dispatch__(self, function, types, given=(), named=None):
        result = function(*given, **(named or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and (key := (storage := leaf.untyped_storage())._cdata) not in self._sizes:
                self._sizes[key] = storage.nbytes()
                self.now += storage.nbytes()
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self._freed, key)
        return result

    def _freed(self, key: int) -> None:
        self.now -= self._sizes.pop(key, 0)


def softmax(tokens: int) -> Callable[[Tensor], Tensor]:
    """torch's own attention in the lab's layer."""
    return drawn(Attention(1, ModelSpec(width=WIDTH, heads=HEADS), tokens, None))


def kernel(tokens: int) -> Callable[[Tensor], Tensor]:
    """Kernel attention with a spline."""
    phi = Spline(torch.linspace(-1, 2, 122), -20.0, 20.0)
    return drawn(Attention(1, ModelSpec(width=WIDTH, heads=HEADS), tokens, phi))


def kernel_of_pairs(tokens: int) -> Callable[[Tensor], Tensor]:
    """The same, with a number for each pair of tokens."""
    layer = kernel(tokens)

    def forward(x: Tensor) -> Tensor:
        q, k, v = layer._project(x)
        values = layer._kernel(layer.phi, q, k)
        y = (values @ v) / (values.sum(-1, keepdim=True) + transformer.EPSILON)
        return layer.out(y.transpose(2, 3).reshape(x.shape))

    return forward


def hyla(tokens: int) -> RotaryHyperAttention:
    """HYLA's layer for language."""
    spec = RotaryHyperModel(width=WIDTH, heads=HEADS, head_width=HEAD_WIDTH, normalization="rms_head", network="pair")
    return drawn(RotaryHyperAttention(1, spec, tokens, nn.ReLU()))


def hyla_of_pairs(tokens: int) -> Callable[[Tensor], Tensor]:
    """The same as it is written: a code and a value network for every pair, kept for the way back."""
    layer = hyla(tokens)

    def forward(x: Tensor) -> Tensor:
        (q, k), v = layer._queries_and_keys(x), split_heads(layer.value(x), HEADS)
        hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        codes = normalize(q @ k.mT, "rms_head", hidden)
        return layer.out(mix(codes, v, "pair", layer.phi).flatten(3))

    return forward


LAYERS = {
    "softmax": softmax,
    "spline kernel": kernel,
    "spline kernel, all pairs": kernel_of_pairs,
    "HYLA": hyla,
    "HYLA, all pairs": hyla_of_pairs,
}
LARGEST = {"HYLA, all pairs": 512}  # with more, its tensors have 10 GB and more


def drawn(layer: nn.Module) -> nn.Module:
    """The layer with weights of ordinary size."""
    for name, weight in layer.named_parameters():
        if "phi" not in name:
            nn.init.normal_(weight, std=0.02)
    return layer


def megabytes(make: Callable[[int], Callable[[Tensor], Tensor]], tokens: int) -> float:
    """The most that the tensors of a step have at one time, weights and input not counted."""
    layer, x = make(tokens), torch.randn(1, SEQUENCES, tokens, WIDTH)
    with Alive() as alive:
        layer(x).square().sum().backward()
    return alive.most / 2**20


def main() -> None:
    """Measure, print, write."""
    parser = table_parser(__doc__)
    given = parser.parse_args()
    torch.set_num_threads(1)
    lines = [f"{date.today():%-d %B %Y}, torch {torch.__version__}; MB.", ""]
    lines += heading(["tokens", *LAYERS])
    for tokens in TOKENS:
        cells = [
            f"{megabytes(make, tokens):,.0f}" if tokens <= LARGEST.get(name, tokens) else "–"
            for name, make in LAYERS.items()
        ]
        lines.append(f"| {tokens:,} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    publish("\n".join(lines), given.write, "attention")


if __name__ == "__main__":
    main()
