"""The transformer of the hypernetwork paper (App. C), R copies side by side, its attention, and the paper's methods.

Vectors in, predictions out at some tokens. Pre-norm blocks, x ← x + attention(norm(x)), x ← x + mlp(norm(x)), a norm
and a dense layer at the end; relative positions in every layer, no absolute ones.

Attention as a hypernetwork (Section 2): softmax, linear, HYLA and what lies between.

The scores a[h, q, k] over the heads h are the latent code of what is done with key k for query q. `normalization` says
what they are divided by, `network` what they configure:

head   z[q, h] = Σ_k a[h, q, k] φ(v[k, h]); with the identity for φ that is multi-head attention (Eqs. 2-4)
pair   u[q, k] = φ(Σ_h a[h, q, k] v[k, h]); z[q, h] = Σ_k a[h, q, k] u[q, k]: HYLA (Eq. 7)
deep   the same with one more layer in between, u' = φ(Σ_h a[h, q, k] W'_h u) (App. A.1)

Then the heads' z go, side by side, through the output map. The paper's text has one φ for "deep"; that the second
hidden layer has one, too, is our reading. As in the reference code, scores are divided by the root of the head's width
and get the relative bias before any normalization, and queries, keys and values have biases.

R runs, B batch, T tokens, C channels, H heads, Q queries, K keys, d width of a head.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar, overload

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, check_choice
from lab.kinds import Sizes
from lab.models.layers import Decoder, Experts, FeedForward, Linear, Norm, at_positions, slices, split_heads
from lab.spec import HyperModel, replace

EPSILON = 1e-6  # of RMSHead, and of norms: flax's default, torch's is 1e-5
CUT = 0.87962566  # standard deviation of a normal distribution that is cut at two of its own
NORMALIZATIONS, NETWORKS = ("softmax", "none", "rms_head"), ("head", "pair", "deep")
CACHED = 2**18  # scores that a CPU works on at once: more leave its cache, and cost up to four times the time
NARROW = 2  # width of a head up to which a CPU sums faster over whole (query, key) planes than by small matrix products


class HyperAttention(nn.Module):
    """x (R, B, T, C) → (R, B, T, C), without a causal mask unless the spec says so. length: T at most.

    >>> layer = HyperAttention(1, HyperModel(heads=2, width=8, key_width=4), length=5, phi=nn.ReLU())
    >>> initialize(layer, [0])
    >>> layer(torch.zeros(1, 3, 5, 8)).shape
    torch.Size([1, 3, 5, 8])
    """

    buckets: Tensor
    hidden: Tensor | None

    def __init__(self, runs: int, spec: HyperModel, length: int, phi: nn.Module):
        super().__init__()
        if spec.key_width % spec.heads:
            raise ArgumentError(f"key_width {spec.key_width} does not divide into {spec.heads} heads")
        check_choice("normalization", spec.normalization, NORMALIZATIONS)
        check_choice("network", spec.network, NETWORKS)
        self.heads, self.normalization, self.network, self.phi = spec.heads, spec.normalization, spec.network, phi
        self.query, self.key, self.value = (Linear(runs, spec.width, spec.key_width) for _ in range(3))
        self.out = Linear(runs, spec.key_width, spec.width)
        self.relative = nn.Parameter(torch.empty(runs, spec.heads, length))  # one number a bucket
        inner = spec.key_width // spec.heads
        self.inner = nn.Parameter(torch.empty(runs, spec.heads, inner, inner)) if spec.network == "deep" else None
        self.register_buffer("buckets", relative_buckets(length), persistent=False)
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1) if spec.causal else None
        self.register_buffer("hidden", hidden, persistent=False)  # (query, key): True where a key is not to be seen

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.relative)

    def forward(self, x: Tensor, rows: Sequence[int] | None = None, keep: Tensor | None = None) -> Tensor:
        """Attention of the tokens `rows`, or of all, over all tokens: (R, B, Q, C).

        keep (R, T, T): scores are multiplied by it after normalization; that is dropout.
        """
        chosen = slice(None) if rows is None else list(rows)
        q, k, bias, hidden = self._pairs(x, chosen)
        v = split_heads(self.value(x), self.heads)
        keep = None if keep is None else keep[:, None, None, chosen]  # (R, 1, 1, Q, K)
        step = max(1, CACHED // max(1, bias.numel())) if x.device.type == "cpu" else x.shape[1]
        parts = []
        for i in range(0, x.shape[1], step):
            raw = q[:, i : i + step] @ k[:, i : i + step] + bias
            a = normalize(raw, self.normalization, hidden, keep)
            parts.append(mix(a, v[:, i : i + step], self.network, self.phi, self.inner))
        return self.out((parts[0] if len(parts) == 1 else torch.cat(parts, 1)).flatten(3))

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        """The latent codes a of all pairs, (R, B, H, query, key); before normalization (and mask) if so asked."""
        q, k, bias, hidden = self._pairs(x, slice(None))
        raw = q @ k + bias
        return normalize(raw, self.normalization, hidden) if normalized else raw

    def _pairs(self, x: Tensor, rows: slice | list[int]) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Queries (R, B, H, Q, d), scaled; keys (R, B, H, d, K); relative bias (R, 1, H, Q, K) and mask (Q, K)."""
        q, k = split_heads(self.query(x[:, :, rows]), self.heads), split_heads(self.key(x), self.heads).mT
        tokens = x.shape[2]
        bias = self.relative[:, None, :, self.buckets[:tokens, :tokens][rows]]
        hidden = None if self.hidden is None else self.hidden[:tokens, :tokens][rows]
        return q * q.shape[-1] ** -0.5, k, bias, hidden


def relative_buckets(length: int) -> Tensor:
    """Bucket of each pair of tokens, (query, key), int64, 0 … length - 1: T5's scheme with as many buckets as tokens.

    With n the number of tokens from the key on to the query, S the length and h = ⌊S / 2⌋: n < h has a bucket of its
    own, any other has h + ⌊ln(n / h) / ln(S / h) · (S − h)⌋. Keys after the query share bucket 0 with the query itself,
    as in the reference code of the hypernetwork paper, which uses the scheme of a decoder without its causal mask.

    >>> relative_buckets(4).tolist()
    [[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0], [3, 2, 1, 0]]
    """
    index = torch.arange(length)
    back = (index[:, None] - index[None, :]).clamp(min=0)  # (query, key)
    half = length // 2
    if half == 0:
        return back
    # float64: in float32, as there, the bucket of 139 of 175 tokens depends on the machine's logarithm
    grown = torch.log(back.clamp(min=1).double() / half) / math.log(length / half) * (length - half)
    return torch.where(back < half, back, (half + grown.to(torch.int64)).clamp(max=length - 1))


def normalize(a: Tensor, how: str, hidden: Tensor | None = None, keep: Tensor | None = None) -> Tensor:
    """The latent codes (R, B, H, Q, K) of raw scores. how: one of NORMALIZATIONS. hidden, keep: as in the layer.

    >>> normalize(torch.tensor([3.0, -3.0]).view(1, 1, 2, 1, 1), "rms_head").flatten()
    tensor([ 1.0000, -1.0000])
    """
    if how == "softmax":
        a = (a if hidden is None else a.masked_fill(hidden, -torch.inf)).softmax(-1)
    elif hidden is not None:
        a = a.masked_fill(hidden, 0.0)  # before RMSHead: a pair that is not to be seen stays 0
    if how == "rms_head":
        a = a * torch.rsqrt(a.square().mean(2, keepdim=True) + EPSILON)
    return a if keep is None else a * keep


def mix(a: Tensor, v: Tensor, network: str, phi: nn.Module, inner: Tensor | None = None) -> Tensor:
    """What the value networks give: codes a (R, B, H, Q, K), values v (R, B, H, K, d) → z (R, B, Q, H, d).

    network: one of NETWORKS. inner (R, H, d, d): the layer in between of "deep".
    """
    if network == "head":
        return (a @ phi(v)).transpose(2, 3)
    if network == "pair" and v.shape[-1] <= NARROW and v.device.type == "cpu":
        u = phi(torch.stack([(a * part[..., None, :]).sum(2) for part in v.unbind(-1)], 2))  # (R, B, d, Q, K)
        return torch.stack([(a * part[:, :, None]).sum(-1).mT for part in u.unbind(2)], -1)
    u = phi(a.permute(0, 1, 4, 3, 2) @ v.transpose(2, 3))  # (R, B, K, Q, d)
    if inner is not None:
        deeper = torch.einsum("rbkqi,rhij->rbkqhj", u, inner)
        u = phi((a.permute(0, 1, 4, 3, 2)[..., None] * deeper).sum(-2))
    return a.transpose(2, 3) @ u.transpose(2, 3)


def hypernetwork(codes: Tensor, value: Tensor, out: Tensor) -> Tensor:
    """The linear value networks that latent codes generate, W[q, k] = Σ_h a[h, q, k] W_out_h W_value_h (Eqs. 3 and 4).

    codes (R, B, H, Q, K), from `HyperAttention.scores`; value (R, C, H d) and out (R, H d, C), weights of its `Linear`
    maps → (R, B, Q, K, C, C). The output of attention for query q is Σ_k W[q, k] x_k where biases are zero. This is how
    to look at what a code does; to compute attention so takes C² times the memory.

    >>> codes = torch.tensor([2.0, 3.0]).view(1, 1, 2, 1, 1)  # two heads, one query, one key
    >>> hypernetwork(codes, torch.eye(2)[None], torch.eye(2)[None])[0, 0, 0, 0]
    tensor([[2., 0.],
            [0., 3.]])
    """
    heads = codes.shape[2]
    by_head = torch.einsum("rchd,rhdo->rhoc", value.unflatten(-1, (heads, -1)), out.unflatten(1, (heads, -1)))
    return torch.einsum("rbhqk,rhoc->rbqkoc", codes, by_head)


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

    def scores(self, x: Tensor, normalized: bool = True) -> Tensor:
        return self.attention.scores(self.norm1(x), normalized)


class HyperTransformer(Decoder):
    """R transformers, one a seed, that read vectors and predict at some of them.

    spec: shape; its `phi` and `mlp` only say what is asked for, the modules come in as arguments.
    sizes: of vectors. seeds: one a run; a run's weights depend on its own seed alone.

    >>> sizes = Sizes("vectors", 5, 1, length=16, positions=(15,))
    >>> model = HyperTransformer(HyperModel(), sizes, [0, 1], phi=nn.Identity(), mlp=nn.GELU())
    >>> inputs = torch.zeros(2, 3, 16, 5)
    >>> model(inputs).shape  # (runs, batch, positions, outputs)
    torch.Size([2, 3, 1, 1])
    >>> [layer.shape for layer in model.attention_scores(inputs)]  # (runs, batch, heads, query, key)
    [torch.Size([2, 3, 8, 16, 16]), torch.Size([2, 3, 8, 16, 16])]
    >>> sum(p.numel() for p in model.parameters()) // 2
    151009
    """

    def __init__(self, spec: HyperModel, sizes: Sizes, seeds: Sequence[int], phi: nn.Module, mlp: nn.Module):
        super().__init__()
        if spec.layers < 1:
            raise ArgumentError(f"layers={spec.layers}: give one or more")
        runs = len(seeds)
        self.positions = list(sizes.positions)
        self.embedding = Linear(runs, sizes.inputs, spec.width)
        self.blocks = nn.ModuleList(Block(runs, spec, sizes.length, phi, mlp) for _ in range(spec.layers))
        self.norm = Norm(runs, spec.width, EPSILON)
        self.head = Linear(runs, spec.width, sizes.outputs)
        initialize(self, seeds)

    def forward(self, inputs: Tensor, keep: Tensor | None = None) -> Tensor:
        """Predictions: inputs (R, B, T, D) → (R, B, K, O), computed in the precision of the weights.

        keep (R, layers, T, T): what scores are multiplied by, dropout; None leaves them whole.
        """
        x = self.embed(inputs)
        if self.stack is not None:
            return self.head(self.norm(self.stack(x, self.positions, keep)))
        for i, block in enumerate(self.blocks):
            last = i == len(self.blocks) - 1
            x = block(x, self.positions if last else None, None if keep is None else keep[:, i])
        return self.head(self.norm(x))

    def embed(self, inputs: Tensor) -> Tensor:
        """Inputs (R, B, T, D) → (R, B, T, C), in the precision of the weights."""
        return self.embedding(inputs.to(self.embedding.weight.dtype))


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
        super().__init__(spec, sizes, seeds, phi, mlp)

    def forward(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        """As `Transformer.forward`: logits (R, B, T, V), or (R, B, K, V) at positions (R, B, K)."""
        return self.head(self.norm(at_positions(self.stream(tokens), positions)))

    def embed(self, inputs: Tensor) -> Tensor:
        return super().embed(nn.functional.one_hot(inputs, self.embedding.weight.shape[1]))


def initialize(model: nn.Module, seeds: Sequence[int]) -> None:
    """Fill run r of every parameter from seed r, as the reference code does: weights from a normal distribution cut at
    two standard deviations, with variance 1 / inputs, relative biases from one with variance 1 / buckets, not cut;
    biases 0, norms 1."""
    for _, name, part, generator in slices(model, (HyperAttention, Linear, Norm), seeds):
        if name == "relative":
            part.normal_(0.0, 1 / math.sqrt(part.shape[-1]), generator=generator)
        else:  # weight (inputs, outputs), inner (heads, inputs, outputs)
            std = 1 / math.sqrt(part.shape[-2]) / CUT
            nn.init.trunc_normal_(part, std=std, a=-2 * std, b=2 * std, generator=generator)


Model = TypeVar("Model")
_HYLA: dict[str, Any] = {"normalization": "rms_head", "network": "pair", "phi": "relu"}
_LINEAR: dict[str, Any] = {"normalization": "none"}
_EXPERTS: dict[str, Any] = {"experts": 4}  # the paper does not say how many

# In the order of Table A1.
METHODS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "linear": _LINEAR,
    "hyla": _HYLA,
    "linear_rms_head": {"normalization": "rms_head"},
    # The paper has no formula; our reading: values pass through φ before they are summed over the keys.
    "linear_rms_head_nonlinear": {"normalization": "rms_head", "phi": "relu"},
    "hyla_no_rms_head": _HYLA | {"normalization": "none"},
    "hyla_linear": _HYLA | {"phi": "identity"},
    "hyla_linear_no_rms_head": _HYLA | {"normalization": "none", "phi": "identity"},
    "hyla_softmax": _HYLA | {"normalization": "softmax"},
    "hyla_deep": _HYLA | {"network": "deep"},
    "softmax_experts": _EXPERTS,
    "linear_experts": _LINEAR | _EXPERTS,
    "hyla_experts": _HYLA | _EXPERTS,
}


@overload
def method(name: str) -> HyperModel: ...
@overload
def method(name: str, model: Model) -> Model: ...
def method(name: str, model: Any = None) -> Any:
    """The model with the attention of that name, its sizes as given: a `HyperModel`, or a `RotaryHyperModel`.

    >>> method("hyla", HyperModel(layers=4)).network
    'pair'
    """
    model = HyperModel() if model is None else model
    check_choice("method", name, names_of(model))
    plain: dict[str, Any] = {"normalization": "softmax", "network": "head", "phi": "identity"}
    if isinstance(model, HyperModel):
        plain["experts"] = 0
    return replace(model, **plain | METHODS[name])


def names_of(model: object) -> tuple[str, ...]:
    """The methods that a model can have: those of language have neither experts nor deeper value networks.

    >>> len(names_of(HyperModel()))
    13
    """
    if isinstance(model, HyperModel):
        return tuple(METHODS)
    return tuple(name for name, its in METHODS.items() if "experts" not in its and its.get("network") != "deep")


def method_of(model: object) -> str | None:
    """The name of a model's method, if it has one.

    >>> method_of(method("hyla", HyperModel(layers=4)))
    'hyla'
    """
    return next((name for name in names_of(model) if method(name, model) == model), None)
