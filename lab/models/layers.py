"""Layers with a run axis: R independent copies of a layer, one batched operation; rotary positions; what models share.

R runs, B batch, T tokens, C channels, V vocabulary, H heads, d width of a head. Parameters are empty until a model's
`initialize` fills each run's part from that run's own seed.
"""

import ctypes
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.nonlinearity import native
from lab.nonlinearity.op import cpu_kernel
from lab.seeds import stream

KERNEL = 4  # tokens that a Canon layer sums


class Layer(nn.Module):
    """A layer whose weight has the run axis in front."""

    weight: Tensor

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return len(self.weight)


class Linear(Layer):
    """x (R, …, in) → (R, …, out); weight (R, in, out), bias (R, 1, out)."""

    def __init__(self, runs: int, inputs: int, outputs: int, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, inputs, outputs))
        self.bias = nn.Parameter(torch.empty(runs, 1, outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 3:
            cure = "and the first axis is that of models side by side: give X[None]"
            raise ArgumentError(f"inputs have shape {tuple(x.shape)}, {cure}")
        flat = x.flatten(1, -2)  # (R, N, in)
        y = torch.bmm(flat, self.weight) if self.bias is None else torch.baddbmm(self.bias, flat, self.weight)
        return y.view(*x.shape[:-1], -1)


class Norm(Layer):
    """Layer normalization of x (R, …, C) over C; weight and, unless bias is False, bias (R, C), one pair a run."""

    def __init__(self, runs: int, width: int, epsilon: float = 1e-5, bias: bool = True):
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.empty(runs, width))
        self.bias = nn.Parameter(torch.empty(runs, width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if len(x) == 1:  # one run: torch's fused affine form
            bias = None if self.bias is None else self.bias[0]
            return F.layer_norm(x, x.shape[-1:], self.weight[0], bias, self.epsilon)
        shape = (len(x), *[1] * (x.dim() - 2), x.shape[-1])
        normal = F.layer_norm(x, x.shape[-1:], eps=self.epsilon)
        if self.bias is None:
            return normal * self.weight.view(shape)
        return torch.addcmul(self.bias.view(shape), normal, self.weight.view(shape))


class Embedding(Layer):
    """index (R, …) int64 → (R, …, C): a table, weight (R, V, C), for each run."""

    def __init__(self, runs: int, entries: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, entries, width))

    def forward(self, index: Tensor) -> Tensor:
        runs, entries, width = self.weight.shape
        offset = torch.arange(runs, device=index.device).mul_(entries).view(-1, *[1] * (index.dim() - 1))
        return F.embedding(index + offset, self.weight.view(runs * entries, width))

    def logits(self, x: Tensor) -> Tensor:
        """The transposed table as the last layer: x (R, B, T, C) → (R, B, T, V)."""
        return (x.flatten(1, 2) @ self.weight.mT).unflatten(1, x.shape[1:3])


class FeedForward(nn.Module):
    """x (R, …, C) → the same shape: W_down φ(W_up x), with biases unless bias is False."""

    def __init__(self, runs: int, width: int, hidden: int, phi: nn.Module, bias: bool = True):
        super().__init__()
        self.phi = phi
        self.up, self.down = Linear(runs, width, hidden, bias), Linear(runs, hidden, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.phi(self.up(x)))


class Experts(nn.Module):
    """Mixture of experts: Σ_i Softmax(Top_k(W_gate x))_i W_down_i φ(W_up_i x), x (R, …, C) → the same shape.

    The hypernetwork paper (App. A.1) gives the formula and no numbers. Chosen here: each expert as wide as the layer it
    replaces, no biases, no noise and no loss that balances the experts. All experts compute every token, those not
    chosen with weight 0: for a handful of experts that is faster than sorting tokens.

    >>> layer = Experts(1, width=4, hidden=8, experts=3, active=2, phi=nn.ReLU())
    >>> _ = [nn.init.ones_(p) for p in layer.parameters()]
    >>> layer(torch.ones(1, 5, 4)).shape, layer.gates(torch.ones(1, 5, 4))[0, 0].sort().values.tolist()
    (torch.Size([1, 5, 4]), [0.0, 0.5, 0.5])
    """

    def __init__(self, runs: int, width: int, hidden: int, experts: int, active: int, phi: nn.Module):
        super().__init__()
        if not 1 <= active <= experts:
            raise ArgumentError(f"active={active} of {experts} experts; choose 1..{experts}")
        self.phi, self.active, self.hidden = phi, active, hidden
        self.gate = Linear(runs, width, experts, bias=False)
        self.up = Linear(runs, width, experts * hidden, bias=False)
        self.down = Linear(runs, experts * hidden, width, bias=False)

    def gates(self, x: Tensor) -> Tensor:
        """Weight of each expert, (R, …, experts): `active` of them above 0, their sum 1."""
        logits = self.gate(x)
        chosen = logits.topk(self.active, dim=-1).indices
        outside = torch.ones_like(logits, dtype=torch.bool).scatter(-1, chosen, False)
        return logits.masked_fill(outside, -torch.inf).softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.phi(self.up(x)).unflatten(-1, (-1, self.hidden))  # (R, …, experts, hidden)
        return self.down((hidden * self.gates(x)[..., None]).flatten(-2))


class Canon(Layer):
    """Canon layer (Allen-Zhu 2025): h_t ← h_t + Σ_{j=0..3} w_j ⊙ h_{t-j}, a causal depthwise convolution with residual.

    x (R, B, T, C) → the same shape; weight (R, 4, C), weight[:, j] multiplies the token j steps back. The transformers
    paper uses it for MANO and language without saying where; the defaults of the reference are taken: all four places
    (A before attention, B on queries, keys and values, C before the MLP, D on the MLP's pre-activation), kernel 4, no
    bias, no activation, with residual.
    """

    def __init__(self, runs: int, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, KERNEL, width))

    def forward(self, x: Tensor) -> Tensor:
        # torch.func and torch.compile look into formulas, not into functions that bring their own gradient
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return canon_formula(x, self.weight)
        return _Canon.apply(x, self.weight)


def canon_formula(x: Tensor, weight: Tensor) -> Tensor:
    """What a Canon layer does, step by step: x (R, B, T, C), weight (R, 4, C)."""
    weight = weight[:, :, None, None]  # (R, 4, 1, 1, C)
    y = torch.addcmul(x, x, weight[:, 0])
    for back in range(1, min(KERNEL, x.shape[2])):
        shifted = F.pad(x[:, :, :-back], (0, 0, back, 0))  # zeros to the left of the sequence
        y = torch.addcmul(y, shifted, weight[:, back])
    return y


class _Canon(torch.autograd.Function):
    """The same by `canon.c`, 3 to 7 times as fast, where its kernel fits; elsewhere with nothing padded or copied."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        if canon_fits(x, weight):
            x, weight = x.contiguous(), weight.contiguous()
            y = torch.empty_like(x)
            _call_canon("forward", x, x, weight, y)
            return y
        by = weight[:, :, None, None]
        y = torch.addcmul(x, x, by[:, 0])
        for back in range(1, min(KERNEL, x.shape[2])):
            y[:, :, back:].addcmul_(x[:, :, :-back], by[:, back])
        return y

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        if not torch.is_grad_enabled() and canon_fits(x, weight):  # else it is differentiated again
            grad, x, weight = grad.contiguous(), x.contiguous(), weight.contiguous()
            gx, gw = torch.empty_like(x), torch.empty_like(weight)
            _call_canon("backward", x, x, grad, weight, gx, gw)  # weights are summed in double precision
            return gx, gw
        by = weight[:, :, None, None]
        of_x, of_weight = torch.addcmul(grad, grad, by[:, 0]), [(grad * x).sum((1, 2))]
        for back in range(1, KERNEL):
            later, earlier = grad[:, :, back:], x[:, :, : max(x.shape[2] - back, 0)]
            if back < x.shape[2]:
                of_x[:, :, :-back].addcmul_(later, by[:, back])
            of_weight.append((later * earlier).sum((1, 2)))  # zero where the sequence is shorter
        return of_x, torch.stack(of_weight, 1)


def canon_fits(x: Tensor, weight: Tensor) -> bool:
    """Whether the kernel takes these: float32 or float64 on the CPU, where C is compiled and wanted.

    The environment variable LAB_KERNEL, which chooses the spline's kernel, chooses this one too.
    """
    ours = x.device.type == "cpu" and x.dtype == weight.dtype and x.dtype in (torch.float32, torch.float64)
    return ours and cpu_kernel() is native and _canon_kernel() is not None


def _call_canon(name: str, like: Tensor, *tensors: Tensor) -> None:
    function = getattr(_canon_kernel(), f"canon_{name}_{str(like.dtype).removeprefix('torch.')}")
    if function(*(tensor.data_ptr() for tensor in tensors), *like.shape):
        raise MemoryError(f"no memory for the sums of {like.shape[-1]} channels")


@functools.cache
def _canon_kernel() -> ctypes.CDLL | None:
    """The library, or None where it cannot be built or loaded; PyTorch's operations take its place."""
    functions: dict[str, list] = {}
    for kind in ("float32", "float64"):
        for name, pointers in (("forward", 3), ("backward", 5)):
            functions[f"canon_{name}_{kind}"] = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * 4
    try:
        return native.loaded("canon", [Path(__file__).with_name("canon.c")], functions)
    except native.BuildError:
        return None


class Rotary(nn.Module):
    """Rotary positions (Su et al. 2024): x (…, T, width) → the same shape. Token t, of `length` at most, turns pair i,
    channels i and i + width / 2, by t · 10,000^(-2 i / width).

    >>> Rotary(length=2, width=2)(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """

    cosine: Tensor
    sine: Tensor

    def __init__(self, length: int, width: int):
        super().__init__()
        rates = 10_000.0 ** (-2 * torch.arange(width // 2, dtype=torch.float64) / width)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
        self.register_buffer("cosine", angles.cos().float(), persistent=False)
        self.register_buffer("sine", angles.sin().float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        cosine, sine = (table[: x.shape[-2]].to(x) for table in (self.cosine, self.sine))
        one, two = x.chunk(2, -1)
        return torch.cat((one * cosine - two * sine, one * sine + two * cosine), -1)


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(R, B, T, H d) → (R, B, H, T, d)."""
    return x.unflatten(-1, (heads, -1)).transpose(2, 3)


def at_positions(x: Tensor, positions: Tensor | None) -> Tensor:
    """x (…, T, C) at the tokens of positions (…, K), (…, K, C); all of x where there are none."""
    return x if positions is None else x.gather(-2, positions[..., None].expand(*positions.shape, x.shape[-1]))


class Decoder(nn.Module):
    """What transformers share: blocks with `scores`, and `embed`, which makes a residual stream of inputs."""

    embedding: Embedding | Linear
    blocks: Any  # a ModuleList
    stack: Any = None  # takes the blocks' place in a training step (`lab.training.blocks`)

    @property
    def runs(self) -> int:
        """R, models side by side."""
        return self.embedding.runs

    def embed(self, inputs: Tensor) -> Tensor:
        return self.embedding(inputs)

    def stream(self, inputs: Tensor) -> Tensor:
        """The residual stream behind the last block: inputs as of `embed` → (R, B, T, C)."""
        x = self.embed(inputs)
        if self.stack is not None:
            return self.stack(x)
        for block in self.blocks:
            x = block(x)
        return x

    def attention_scores(self, inputs: Tensor, normalized: bool = True) -> list[Tensor]:
        """How much each query attends to each key, a tensor (R, B, H, query, key) for each layer.

        inputs: as of `forward`. normalized=False: before the softmax, or what else normalizes, and, in attention as a
        hypernetwork, without a mask.
        """
        x, scores = self.embed(inputs), []
        for block in self.blocks:
            scores.append(block.scores(x, normalized))
            x = block(x)
        return scores


def slices(
    model: nn.Module, kinds: tuple[type[nn.Module], ...], seeds: Sequence[int]
) -> Iterator[tuple[nn.Module, str, Tensor, torch.Generator]]:
    """Every run's part of each weight of modules of these kinds, in a fixed order, to be filled from the run's own
    generator: the module, the parameter's name, the part, the generator. Biases become 0, weights of norms 1."""
    owners = [module for module in model.modules() if isinstance(module, kinds)]
    for run, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(stream(seed, "weights"))
        for owner in owners:
            for name, parameter in owner.named_parameters(recurse=False):
                part = parameter.data[run]
                if name == "bias" or isinstance(owner, Norm):
                    part.fill_(0.0 if name == "bias" else 1.0)
                else:
                    yield owner, name, part, generator
