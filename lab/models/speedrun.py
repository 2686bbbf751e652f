"""The FineWeb model of the transformers paper (App. E): record 16 of the NanoGPT speedrun, R copies side by side.

Rotary positions; queries and keys of norm 1 for each head; root-mean-square norms without weights before the sublayers
and at the end; the embedding mixed into every block; skips from the first half of the blocks to the second; logits
between ±CAP; no biases; what goes into the stream is 0 at the start. Attention reaches back `window` tokens, in blocks
of BLOCK. The paper's counts of weights (91 to 162 million with 2 to 12 layers) fit the record without its embeddings of
values, and they are left out. In the record the window grows in training, and documents do not see each other; here the
window is fixed, and a text is one document.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice
from lab.kinds import Sizes, build, check
from lab.models.layers import Embedding, Linear, Rotary, at_positions, slices, split_heads
from lab.spec import Part, RunSpec, register

CAP = 30.0  # of logits: CAP tanh(logit / CAP)
BLOCK = 128  # tokens: windows are counted in blocks
PRECISIONS = ("float32", "bfloat16")


@register
@dataclass(frozen=True)
class SpeedrunModel:
    """A decoder over tokens. The paper's: 2 to 12 layers, width 768, 6 heads; its search: 2 layers, width 256, 4 heads.

    mlp: "relu2" in the record; the paper's table calls its baseline ReLU. window: tokens that a query sees at least;
    1792 is the record's at its end. A search of its function must start at a named one (`SearchSpec.start`): at zero
    neither the function nor the matrix behind it, which starts at zero, too, has a gradient. precision: "bfloat16"
    computes in that type, with weights in float32.
    """

    layers: int = 12
    heads: int = 6
    width: int = 768
    mlp: Part = "relu2"
    window: int = 1792
    precision: str = "float32"

    @property
    def parts(self) -> dict[str, Part]:
        return {"mlp": self.mlp}

    def activation_memory(self, length: int) -> float:
        return self.width


class Attention(nn.Module):
    """x (R, B, T, C) → the same shape, over the tokens of the window."""

    def __init__(self, runs: int, spec: SpeedrunModel, length: int):
        super().__init__()
        self.heads = spec.heads
        self.query, self.key, self.value, self.out = (Linear(runs, spec.width, spec.width, False) for _ in range(4))
        self.turn = Rotary(length, spec.width // spec.heads)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """mask (T, T): True where a query (row) sees a key; None: all up to its own."""
        v = split_heads(self.value(x), self.heads).flatten(0, 1)
        # norm 1 for each head, then the angle of the position; the record turns the other way round: the same
        q, k = (norm(split_heads(part(x), self.heads)) for part in (self.query, self.key))
        q, k = (self.turn(part).flatten(0, 1).to(v.dtype) for part in (q, k))
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return self.out(z.unflatten(0, x.shape[:2]).transpose(2, 3).flatten(3))


class Block(nn.Module):
    """Attention and MLP, each after a norm and with a residual; before them, some of the embedding comes in."""

    def __init__(self, runs: int, spec: SpeedrunModel, length: int, mlp: nn.Module):
        super().__init__()
        self.attention, self.phi = Attention(runs, spec, length), mlp
        self.up = Linear(runs, spec.width, 4 * spec.width, bias=False)
        self.down = Linear(runs, 4 * spec.width, spec.width, bias=False)
        self.mix = nn.Parameter(torch.empty(runs, 2))  # of the stream and of the embedding

    def forward(self, x: Tensor, embedded: Tensor, mask: Tensor | None) -> Tensor:
        x = of_run(self.mix[:, 0], x) * x + of_run(self.mix[:, 1], x) * embedded
        x = x + self.attention(norm(x), mask)
        return x + self.down(self.phi(self.up(norm(x))))


class SpeedrunTransformer(nn.Module):
    """R decoders for next-token prediction, one a seed. vocabulary, length: number of tokens known, longest input.

    >>> model = SpeedrunTransformer(SpeedrunModel(2, heads=2, width=8), 5, 4, [0, 1], nn.ReLU())
    >>> model(torch.zeros(2, 3, 4, dtype=torch.long)).abs().max().item()  # at the start all tokens are alike
    0.0
    """

    def __init__(self, spec: SpeedrunModel, vocabulary: int, length: int, seeds: Sequence[int], mlp: nn.Module):
        super().__init__()
        if spec.width % (2 * spec.heads):
            raise ArgumentError(f"width {spec.width} does not divide into {spec.heads} heads of even width")
        runs = len(seeds)
        self.window, self.in_bfloat16 = -(-spec.window // BLOCK), spec.precision == "bfloat16"
        self.embedding = Embedding(runs, vocabulary, spec.width)
        self.blocks = nn.ModuleList(Block(runs, spec, length, mlp) for _ in range(spec.layers))
        self.skips = nn.Parameter(torch.empty(runs, spec.layers // 2))
        self.unembedding = Linear(runs, spec.width, vocabulary, bias=False)
        initialize(self, seeds)

    @property
    def runs(self) -> int:
        return self.embedding.runs

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """As `Transformer.forward`: logits (R, B, T, V), or (R, B, K, V) at positions (R, B, K); float32."""
        with torch.autocast(tokens.device.type, torch.bfloat16, enabled=self.in_bfloat16):
            logits = self.unembedding(norm(at_positions(self._stream(tokens), positions)))
        return CAP * torch.tanh(logits.to(self.embedding.weight.dtype) / CAP)

    def _stream(self, tokens: Tensor) -> Tensor:
        embedded = norm(self.embedding(tokens))
        x, mask, outputs = embedded, self._mask(tokens), []
        blocks = list(cast(Iterable[Block], self.blocks))
        for block in blocks[: len(blocks) // 2]:
            x = block(x, embedded, mask)
            outputs.append(x)
        for number, block in enumerate(blocks[len(blocks) // 2 :]):
            if outputs:
                x = x + of_run(self.skips[:, number], x) * outputs.pop()
            x = block(x, embedded, mask)
        return x

    def _mask(self, tokens: Tensor) -> Tensor | None:
        """Which keys a query sees, where that is less than all up to its own."""
        length = tokens.shape[-1]
        if length <= BLOCK * self.window:
            return None
        token = torch.arange(length, device=tokens.device)
        back = token[:, None] // BLOCK - token // BLOCK
        return (token <= token[:, None]) & (back < self.window)


def norm(x: Tensor) -> Tensor:
    """x divided by its root mean square over the last axis."""
    return F.rms_norm(x, x.shape[-1:])


def of_run(numbers: Tensor, x: Tensor) -> Tensor:
    """Numbers (R,), shaped to multiply x (R, …), in its type."""
    return numbers.to(x.dtype).view(-1, *[1] * (x.dim() - 1))


def initialize(model: SpeedrunTransformer, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r, as the record does: embeddings N(0, 1), matrices U(±1 / √inputs), 0
    where they write into the stream or give the logits; numbers so that a block takes the stream alone."""
    with torch.no_grad():
        for owner, _, part, generator in slices(model, (Embedding, Linear), seeds):
            if isinstance(owner, Embedding):
                part.normal_(0.0, 1.0, generator=generator)
            else:
                part.uniform_(-1 / sqrt(part.shape[0]), 1 / sqrt(part.shape[0]), generator=generator)
        model.skips.fill_(1.0)
        model.unembedding.weight.zero_()
        for block in cast(Iterable[Block], model.blocks):
            block.mix.copy_(torch.tensor([1.0, 0.0]))
            block.attention.out.weight.zero_()
            block.down.weight.zero_()


@build.register(SpeedrunModel)
def _(model: SpeedrunModel, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    if sizes.form != "tokens":
        raise ArgumentError(f"a SpeedrunModel reads tokens, and this task has {sizes.form}; give another model")
    seeds = [spec.seed for spec in specs]
    return SpeedrunTransformer(model, sizes.inputs, sizes.length, seeds, cast(nn.Module, modules[0]))


@check.register(SpeedrunModel)
def _(model: SpeedrunModel, spec: RunSpec) -> None:
    check_choice("precision", model.precision, PRECISIONS)
    if model.layers < 2:
        raise ArgumentError(f"layers={model.layers}: skips lead from one half to the other; give two layers or more")
