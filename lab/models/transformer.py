"""The GPT-2-style decoder of the transformers paper (App. B), R copies side by side, and its attention.

Post-norm blocks (x ← norm(x + f(x))), MLP four times as wide as the stream or gated with as many weights, learned
absolute positions or ALiBi, optional Canon layers, tied or untied unembedding. One non-linearity serves the MLPs of all
layers, another, if it is not softmax, the attention of all layers.

Kernel attention (Sec. 2) weighs key j for query i with K_ij / Σ_j K_ij, K_ij = φ(Q_i)ᵀ φ(K_j). The paper leaves φ free,
so that K can change sign and the denominator can cross zero, where the output has a pole. Here φ passes through
`positive`: its values are cut at zero. Then every K_ij ≥ 0, the denominator is a sum of non-negative terms, and
EPSILON keeps it away from zero: it cannot cross. A token for which every kernel value is zero attends to nothing.
ALiBi enters as it does under a softmax: exp(bias) multiplies the kernel. Beyond DIRECT tokens the sums are taken chunk
by chunk (`chunked`), and no tensor has a number for each pair of tokens.

What Table 3 has in the place of softmax:

softmax   softmax(s), s = QᵀK / √d, plus the bias of ALiBi where there is one
adaptive  softmax(β s) (Veličković et al. 2024): with H the entropy of softmax(s), in nats, β = max(1, p(H)) where
          H > 0.5, else 1, with the polynomial p of their Figure 5. They change trained models; here it is in training,
          too, and gradients pass through β: a guess.
norm      NormSoftmax (Jiang et al. 2023): softmax(QᵀK / min(σ, √d)), σ the standard deviation of QᵀK over the keys.
          Guesses: over those that the query sees, of the population, with DEVIATION_EPSILON under the root.
p1, p3    (QᵀK)^p / √n (Saratchandran et al. 2024), neither normalized nor divided by √d, as the transformers paper
          prints it. Guesses: n is the longest input of the model, so that what a token receives does not depend on how
          many follow; ALiBi multiplies by exp(bias), as in kernel attention.
"""

import math
from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice
from lab.kinds import Sizes
from lab.models.layers import KERNEL, Canon, Decoder, Embedding, Linear, Norm, at_positions, slices
from lab.spec import ModelSpec

CHUNK = 64  # tokens: near the width of a head both terms of `chunked` are alike
DIRECT = 2 * CHUNK  # tokens up to which all pairs are cheaper than chunks
EPSILON = 1e-3  # well below one kernel value at the start of a search (φ = 1 gives K = head width)
POLYNOMIALS = {"p1": 1, "p3": 3}
WEIGHTINGS = ("softmax", "adaptive", "norm", *POLYNOMIALS)
INVERSE_TEMPERATURE = (-0.037, 0.481, -2.3, 4.917, -1.791)  # p, highest power first
DEVIATION_EPSILON = 1e-5  # under the root of NormSoftmax: where a query sees one key, the deviation is 0


class Attention(nn.Module):
    """x (R, B, T, C) → the same shape. `phi` None means softmax, or what `weighting` names in its place."""

    bias: Tensor | None
    causal: Tensor

    def __init__(self, runs: int, spec: ModelSpec, length: int, phi: nn.Module | None):
        super().__init__()
        check_choice("weighting", spec.weighting, WEIGHTINGS)
        if phi is not None and spec.weighting != "softmax":
            raise ArgumentError(f"weighting={spec.weighting!r} with a kernel: give attention='softmax', too")
        self.heads, self.length, self.phi, self.weighting = spec.heads, length, phi, spec.weighting
        self.qkv = Linear(runs, spec.width, 3 * spec.width)
        self.out = Linear(runs, spec.width, spec.width)
        self.canon = Canon(runs, 3 * spec.width) if spec.canon else None
        pairs = length if phi is None else min(length, DIRECT)  # a kernel on more tokens needs no number for each pair
        alibi = spec.positions == "alibi"
        self.slopes = alibi_slopes(spec.heads) if alibi else None
        bias = alibi_bias(spec.heads, pairs) if alibi else None
        self.register_buffer("bias", bias, persistent=False)  # (heads, T, T) or None
        self.register_buffer("causal", torch.ones(pairs, pairs).tril(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self._project(x)
        if self.phi is None:
            y = self._softmax(q, k, v) if self.weighting == "softmax" else self._weights(q, k) @ v
        elif x.shape[2] > DIRECT:
            total, weight = chunked(positive(self.phi, q), positive(self.phi, k), v, self.slopes)
            y = total / (weight + EPSILON)
        else:
            kernel = self._kernel(self.phi, q, k)
            y = (kernel @ v) / (kernel.sum(-1, keepdim=True) + EPSILON)
        return self.out(y.transpose(2, 3).reshape(x.shape))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """How much each query attends to each key: x (R, B, T, C) → (R, B, heads, query, key).

        With them, outputs are Σ_key score · value. normalized=False: what goes into the softmax (-inf for keys after
        the query), or the kernel values before they are divided by their sum (0 there).
        """
        q, k, _ = self._project(x)
        if self.phi is not None:
            kernel = self._kernel(self.phi, q, k)
            return kernel / (kernel.sum(-1, keepdim=True) + EPSILON) if normalized else kernel
        if normalized or self.weighting in POLYNOMIALS:  # these are not normalized
            return self._weights(q, k)
        hidden, bias = self._mask(q.shape[-2])
        return before_softmax(self.weighting, q @ k.mT, q.shape[-1], hidden, bias)

    def _project(self, x: Tensor) -> Tensor:
        """Queries, keys and values, (3, R, B, heads, T, d)."""
        qkv = self.qkv(x)
        if self.canon is not None:
            qkv = self.canon(qkv)
        return qkv.view(*x.shape[:3], 3, self.heads, -1).permute(3, 0, 1, 4, 2, 5)

    def _softmax(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        hidden, bias = self._mask(q.shape[-2])
        mask = None if bias is None else bias.masked_fill(hidden, -torch.inf)
        shape = v.shape
        q, k, v = (part.flatten(0, 1) for part in (q, k, v))  # no parameters in here: runs are one more batch axis
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None).view(shape)

    def _weights(self, q: Tensor, k: Tensor) -> Tensor:
        """What each key counts for each query, (R, B, heads, query, key)."""
        return weigh(self.weighting, q @ k.mT, q.shape[-1], self.length, *self._mask(q.shape[-2]))

    def _mask(self, tokens: int) -> tuple[Tensor, Tensor | None]:
        """Which keys a query must not see, (query, key), and the bias (heads, query, key) of ALiBi."""
        hidden = self.causal[:tokens, :tokens] == 0
        return hidden, None if self.bias is None else self.bias[:, :tokens, :tokens]

    def _kernel(self, phi: nn.Module, q: Tensor, k: Tensor) -> Tensor:
        tokens = q.shape[-2]
        kernel = positive(phi, q) @ positive(phi, k).mT  # (R, B, heads, query, key), no negative entry
        if tokens > len(self.causal):  # asked for every pair of a long input, by `scores`
            decay = torch.ones_like(kernel[0, 0, 0]).tril()
            bias = None if self.slopes is None else alibi_bias(self.heads, tokens).to(kernel)
        else:
            decay = self.causal[:tokens, :tokens]
            bias = None if self.bias is None else self.bias[:, :tokens, :tokens]
        return kernel * (decay if bias is None else decay * bias.exp())


def positive(phi: nn.Module, x: Tensor) -> Tensor:
    """φ(x), its negative values cut at zero: what keeps the denominator of kernel attention from crossing zero."""
    return F.relu(phi(x))


class Block(nn.Module):
    """Attention and MLP, each with its residual and, after it, its norm."""

    def __init__(self, runs: int, spec: ModelSpec, length: int, mlp: nn.Module, attention: nn.Module | None):
        super().__init__()
        width, self.phi, self.gated = spec.width, mlp, spec.gated
        self.attention = Attention(runs, spec, length, attention)
        self.norm1, self.norm2 = Norm(runs, width), Norm(runs, width)
        inner = gated_width(width) if spec.gated else 4 * width
        before = 2 * inner if spec.gated else inner  # what goes into φ and, side by side with it, what φ multiplies
        self.up, self.down = Linear(runs, width, before), Linear(runs, inner, width)
        widths = (width, width, before) if spec.canon else ()
        self.canon = nn.ModuleList(Canon(runs, w) for w in widths)  # A, C, D; B is inside the attention

    def forward(self, x: Tensor) -> Tensor:
        before, inside, hidden = self.canon or (nn.Identity(),) * 3
        x = self.norm1(x + self.attention(before(x)))
        h = hidden(self.up(inside(x)))
        if self.gated:
            gate, h = h.chunk(2, -1)
            return self.norm2(x + self.down(self.phi(gate) * h))
        return self.norm2(x + self.down(self.phi(h)))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        return self.attention.scores(self.canon[0](x) if self.canon else x, normalized)


def gated_width(width: int) -> int:
    """Hidden width of a gated MLP: 8/3 of the stream, so that its three matrices have as many weights as the two of a
    plain one (Shazeer 2020; the transformers paper is silent).

    >>> gated_width(256), 3 * 256 * gated_width(256) / (2 * 256 * 4 * 256)
    (683, 1.00048828125)
    """
    return round(8 * width / 3)


class Transformer(Decoder):
    """R decoders for next-token prediction, one a seed.

    spec: shape; its `mlp` and `attention` only say what is asked for, the modules come in as arguments.
    vocabulary, length: number of tokens known, longest input. mlp: the non-linearity. attention: None for softmax.
    seeds: one a run; a run's weights depend on its own seed alone.

    >>> model = Transformer(ModelSpec(width=8), vocabulary=5, length=4, seeds=[0, 1], mlp=nn.GELU())
    >>> model(torch.zeros(2, 3, 4, dtype=torch.long)).shape  # (runs, batch, tokens, vocabulary)
    torch.Size([2, 3, 4, 5])
    """

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
        check_choice("positions", spec.positions, ("learned", "alibi"))
        runs = len(seeds)
        self.embedding = Embedding(runs, vocabulary, spec.width)
        self.position = Embedding(runs, length, spec.width) if spec.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(runs, spec, length, mlp, attention) for _ in range(spec.layers))
        self.unembedding = None if spec.tied else Linear(runs, spec.width, vocabulary, bias=False)
        initialize(self, seeds)

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """Logits of the next token: tokens (R, B, T) → (R, B, T, V).

        positions (R, B, K): compute the logits at these tokens only → (R, B, K, V).
        """
        x = at_positions(self.stream(tokens), positions)
        return cast(Embedding, self.embedding).logits(x) if self.unembedding is None else self.unembedding(x)

    def embed(self, inputs: Tensor) -> Tensor:
        """Inputs (R, B, T, …) → (R, B, T, C), with learned positions."""
        x = self.embedding(inputs)
        if self.position is None:
            return x
        index = torch.arange(x.shape[2], device=x.device).expand(len(x), 1, -1)
        return x + self.position(index)


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
        return self.unembedding(self.stream(inputs)[:, :, self.positions])


def initialize(model: nn.Module, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r: truncated normal (0.02, cut at 2 standard deviations) for weights,
    zero biases, unit norms, and Canon's own uniform (torch's Conv1d default)."""
    for owner, _, part, generator in slices(model, (Embedding, Linear, Norm, Canon), seeds):
        if isinstance(owner, Canon):
            part.uniform_(-1 / math.sqrt(KERNEL), 1 / math.sqrt(KERNEL), generator=generator)
        else:
            nn.init.trunc_normal_(part, std=0.02, a=-0.04, b=0.04, generator=generator)


def alibi_slopes(heads: int) -> Tensor:
    """ALiBi (Press et al. 2021): slope of each head, (H,): 2^(-8 h / H) for h = 1 … H.

    >>> alibi_slopes(2).tolist()
    [0.0625, 0.00390625]
    """
    return 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)


def alibi_bias(heads: int, length: int) -> Tensor:
    """-slope × distance for keys at or before the query, (H, length, length); entries after it are not used."""
    index = torch.arange(length)
    distance = (index[:, None] - index[None, :]).clamp(min=0)  # (query, key)
    return -alibi_slopes(heads)[:, None, None] * distance


def weigh(name: str, dots: Tensor, width: int, length: int, hidden: Tensor, bias: Tensor | None = None) -> Tensor:
    """The weight of each key for each query, (…, query, key); 0 where `hidden`.

    name: one of WEIGHTINGS. dots (…, query, key): QᵀK. width: d, of a query. length: n. hidden (query, key): True
    where a query must not see a key. bias: what ALiBi adds, of a shape that fits.

    >>> hidden = torch.ones(3, 3, dtype=torch.bool).triu(1)
    >>> weigh("softmax", torch.zeros(3, 3), 4, 3, hidden)[1]
    tensor([0.5000, 0.5000, 0.0000])
    """
    check_choice("weighting", name, WEIGHTINGS)
    if name in POLYNOMIALS:
        weights = dots ** POLYNOMIALS[name] / length**0.5
        return (weights if bias is None else weights * bias.exp()).masked_fill(hidden, 0.0)
    return before_softmax(name, dots, width, hidden, bias).softmax(-1)


def before_softmax(name: str, dots: Tensor, width: int, hidden: Tensor, bias: Tensor | None = None) -> Tensor:
    """What the softmax of "softmax", "adaptive" or "norm" is taken of, -inf where `hidden`. As for `weigh`."""
    scale: Tensor | float = width**0.5
    if name == "norm":
        scale = _deviation(dots, hidden).clamp(max=scale)
    scores = dots / scale if bias is None else dots / scale + bias
    if name == "adaptive":  # multiplied before -inf comes in, which has no gradient times a number
        scores = scores * _sharpening(scores.masked_fill(hidden, -torch.inf))
    return scores.masked_fill(hidden, -torch.inf)


def _deviation(dots: Tensor, hidden: Tensor) -> Tensor:
    """Standard deviation over the keys that are seen, (…, query, 1)."""
    visible = ~hidden
    count = visible.sum(-1, keepdim=True)
    mean = (dots * visible).sum(-1, keepdim=True) / count
    return (((dots - mean) * visible).square().sum(-1, keepdim=True) / count + DEVIATION_EPSILON).sqrt()


def _sharpening(scores: Tensor) -> Tensor:
    """β (…, query, 1) of the adaptive softmax."""
    logs = scores.log_softmax(-1)
    entropy = -(logs.exp() * logs.masked_fill(logs == -torch.inf, 0.0)).sum(-1, keepdim=True)
    inverse = torch.zeros_like(entropy)
    for coefficient in INVERSE_TEMPERATURE:
        inverse = inverse * entropy + coefficient
    return torch.where(entropy > 0.5, inverse.clamp(min=1.0), 1.0)


def chunked(f: Tensor, g: Tensor, v: Tensor, slopes: Tensor | None = None, chunk: int = CHUNK) -> tuple[Tensor, Tensor]:
    """Numerator and denominator of kernel attention: Σ_{j ≤ i} K_ij v_j, (…, H, T, e), and Σ_{j ≤ i} K_ij,
    (…, H, T, 1), with K_ij = (f_i · g_j) exp(-slope (i - j)); exact, without a number for each pair of tokens.

    f, g (…, H, T, d): of queries and keys, with no negative entry, so that nothing cancels. v (…, H, T, e).
    slopes (H,): of ALiBi; None: 0.

    Sums split at the first token of a query's chunk. Keys of the same chunk are summed pair by pair. Keys before it
    come in through one matrix a chunk, Σ_j λ^… g_j v_jᵀ, however many they are. With chunks of c tokens, T c + T d² / c
    numbers a head are kept where the direct form keeps several T².

    >>> one = torch.ones(1, 5, 1)
    >>> chunked(one, one, torch.arange(5.0).view(1, 5, 1), chunk=2)[0].flatten()
    tensor([ 0.,  1.,  3.,  6., 10.])
    """
    tokens = f.shape[-2]
    v = torch.cat((v, torch.ones_like(v[..., :1])), -1)  # the sum of the kernel is that of the values 1
    f, g, v = (F.pad(x, (0, 0, 0, -tokens % chunk)).unflatten(-2, (-1, chunk)) for x in (f, g, v))  # (…, H, n, c, ·)
    # powers of λ = exp(-slope) between tokens: no exponent is positive, so nothing overflows
    rates = (torch.zeros(1) if slopes is None else slopes).to(f.device, torch.float64).view(-1, 1, 1)
    token, place = (torch.arange(n, device=f.device) for n in (chunk, f.shape[-3]))
    within = _powers(rates, token[:, None] - token)[:, None].to(f.dtype)  # (H, 1, c, c)
    to_end = torch.exp(-rates * (chunk - 1 - token))[..., None].to(f.dtype)  # (H, 1, c, 1)
    from_start = torch.exp(-rates * (token + 1))[..., None].to(f.dtype)  # (H, 1, c, 1)
    across = _powers(rates * chunk, place[:, None] - place - 1).to(f.dtype)  # (H, n, n), of chunks before
    inside = ((f @ g.mT) * within) @ v
    states = (g * to_end).mT @ v  # (…, H, n, d, e + 1)
    before = (across @ states.flatten(-2)).view(states.shape)
    y = (inside + (f * from_start) @ before).flatten(-3, -2)[..., :tokens, :]
    return y[..., :-1], y[..., -1:]


def _powers(rates: Tensor, distance: Tensor) -> Tensor:
    """exp(-rate · distance), 0 where the distance is negative."""
    return torch.exp(-rates * distance.clamp(min=0)) * (distance >= 0)
