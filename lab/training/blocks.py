"""All blocks of transformers side by side in one call of C forward and one backward, with gradients written by hand.

Autograd sees one node for all blocks (`Stack`), or for the whole model and its loss where tokens are read and some of
them predicted (`Step`). A chunk of sequences passes through all blocks while it is in the cache; attention works on as
many sequences at once as a vector has numbers, so that nothing depends on how short they are. The kernel (`blocks.c`,
built like the spline's) has the products and functions of perceptrons'. It takes the models in `MODELS`, for few
tokens; `refusal` says what it lacks for others, whose steps are torch's. It rounds in its own way: specs whose steps it
takes where nothing is asked for have a revision of the arithmetic of their own (`lab.versions`).
"""

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lab.kinds import Batch, Sizes
from lab.models import hyper, transformer
from lab.models.layers import FeedForward
from lab.nonlinearity import native
from lab.nonlinearity.op import cpu_kernel
from lab.training import perceptron, sequences
from lab.training.optimizers import of_runs
from lab.training.perceptron import FUNCTIONS, TYPES, Function, function_of

SOURCES = tuple(Path(__file__).with_name(name) for name in ("blocks.c", "blocks.h", "attention.h", "tokens.h"))
MODELS: tuple[type, ...] = (transformer.Transformer, transformer.VectorTransformer)
MODELS += (hyper.HyperTransformer, hyper.TokenHyperTransformer)
WEIGHTINGS = ("softmax", "none", "rms_head", "kernel")  # as the kernel counts them
LONGEST = 64  # tokens: all scores of some sequences are in memory at once
ALONE = 2**17  # numbers of a residual stream below which waking another thread costs more than it saves
POINTER, WHOLE, REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
SIGNATURES: dict[str, list[Any]] = {
    "step": [POINTER] * 3 + [WHOLE] * 2,
    "room": [POINTER],
    "forward": [POINTER] * 4 + [WHOLE] * 2,
    "backward": [POINTER] * 4 + [WHOLE] * 2,
}


class _Layer(ctypes.Structure):
    _fields_ = [(name, POINTER) for name in ("weight", "bias", "of_weight", "of_bias")]
    _fields_ += [(name, WHOLE) for name in ("inputs", "outputs", "down")]


class _Block(ctypes.Structure):
    _fields_ = [("maps", _Layer * 3), *((name, _Layer) for name in ("out", "up", "lower", "first", "middle", "last"))]
    _fields_ += [("canon", _Layer * 4), ("epsilon", REAL), ("phi", Function)]
    _fields_ += [(name, WHOLE) for name in ("heads", "width", "queries", "keys", "weighting", "pair", "buckets", "own")]
    _fields_ += [("scale", REAL), ("least", REAL), ("value", Function), ("kernel", Function)]
    _fields_ += [(name, POINTER) for name in ("rows", "visible", "bucket", "relative", "of_relative", "keep")]
    _fields_ += [("keep_stride", WHOLE)]


class _Stack(ctypes.Structure):
    _fields_ = [("batch", WHOLE), ("blocks", WHOLE), ("classes", WHOLE), ("block", POINTER)]


class _Ends(ctypes.Structure):
    _fields_ = [(name, _Layer) for name in ("table", "places", "head")]
    _fields_ += [(name, POINTER) for name in ("tokens", "positions", "targets", "weights", "losses")]
    _fields_ += [("count", WHOLE)]


@functools.lru_cache(maxsize=1)
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    functions = {f"blocks_{name}_{word}": types for name, types in SIGNATURES.items() for word in TYPES.values()}
    try:
        kernel = native.loaded("blocks", SOURCES + perceptron.SOURCES, functions)
    except native.BuildError as error:
        return None, str(error)
    for word in TYPES.values():
        getattr(kernel, f"blocks_room_{word}").restype = WHOLE
    return kernel, ""


def _called(name: str, dtype: torch.dtype, *given: Any) -> int:
    """What a function in C gives."""
    pointers = (each.data_ptr() if isinstance(each, Tensor) else each for each in given)
    return getattr(_loaded()[0], f"blocks_{name}_{TYPES[dtype]}")(*pointers)


def refusal(model: nn.Module, sizes: Sizes) -> str:
    """What the kernel lacks for a model and examples of these sizes, in words; empty where it takes them."""
    if type(model) not in MODELS:
        return "it has transformers without gates, and those of the hypernetwork paper without rotary positions"
    blocks: list[Any] = list(cast(Any, model).blocks)
    attention = blocks[0].attention
    hyper_experts = isinstance(blocks[0], hyper.Block) and not isinstance(blocks[0].mlp, FeedForward)
    if getattr(blocks[0], "gated", False) or hyper_experts or getattr(attention, "network", "") == "deep":
        return "it has neither gated layers, nor experts, nor value networks with two hidden layers"
    if getattr(attention, "weighting", "softmax") != "softmax":
        return f"it does not have attention by {attention.weighting!r}"
    if (sizes.trained or sizes.length) > LONGEST:
        return f"it has attention to {LONGEST} tokens at most"
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if any(weight.dtype not in TYPES or not weight.is_cpu or not weight.is_contiguous() for weight in weights):
        return "it has weights in float32 or float64 on the CPU"
    functions = [phi for phi in (_phi(blocks[0]), attention.phi) if phi is not None]
    if missing := [type(phi).__name__ for phi in functions if perceptron.name_of(phi) not in FUNCTIONS]:
        return f"it does not have {missing[0]}"
    if any(parameter.requires_grad for phi in functions for parameter in phi.parameters()):
        return "its functions do not learn"
    if cpu_kernel() is not native:
        return "another kernel is asked for, or there is no compiler"
    return _loaded()[1]


def _phi(block: Any) -> nn.Module:
    return block.phi if isinstance(block, transformer.Block) else block.mlp.phi


class Losses:
    """The losses (R,) of a batch, ready for backward(), of a model without a `refusal`."""

    def __init__(self, model: Any):
        self.model = model
        self._begin()

    def _begin(self) -> None:
        self.at, self.stack = self._addresses(), Stack(self.model)
        self.step = Step(self.model) if type(self.model) is transformer.Transformer else None

    def _addresses(self) -> list[int]:
        """Where in memory all that C points to is."""
        return [parameter.data_ptr() for parameter in self.model.parameters()]

    def __call__(self, batch: Batch) -> Tensor:
        model = self.model
        if self.at != self._addresses():  # other tensors have come since
            self._begin()
        if self.step is not None and type(batch) is sequences.Batch:
            return cast(Tensor, _Losses.apply(self.step, batch, *self.step.weights))
        model.stack = self.stack  # in this pass alone: probes differentiate a model's own operations
        try:
            return batch.loss(batch.outputs(model))
        finally:
            model.stack = None


class Stack:
    """All blocks of a model: what the residual stream receives (R, B, T, C) → what it gives."""

    def __init__(self, model: Any, around: Sequence[Tensor] = ()):
        """around: other weights whose gradients are computed, too."""
        self.weights = [*around, *(weight for weight in model.blocks.parameters() if weight.requires_grad)]
        self.runs, self.dtype, self.owners = model.runs, self.weights[0].dtype, list(model.blocks)
        self.blocks = (_Block * len(self.owners))()
        self.c = _Stack(0, len(self.owners), 0, ctypes.addressof(self.blocks))
        self.used: list[Any] = []  # tensors that C points to
        # gradients of one call; the next one overwrites them, so that autograd is given copies
        self.grads = torch.empty(sum(weight.numel() for weight in self.weights), dtype=self.dtype)
        places = zip(torch._C._nn.unflatten_dense_tensors(self.grads, self.weights), self.weights, strict=True)
        self.of = {weight: grad.data_ptr() for grad, weight in places}
        for c, owner in zip(self.blocks, self.owners, strict=True):
            self._describe(c, owner)
        self.places: dict[Any, tuple[Tensor, Tensor, Tensor]] = {}
        self.free: list[Tensor] = []  # rooms
        self.asked: Any = None
        self.work = 0  # numbers of the residual stream

    def _describe(self, c: _Block, owner: Any) -> None:
        """Fill in what stays the same."""
        attention, is_post = owner.attention, isinstance(owner, transformer.Block)
        mlp = owner if is_post else owner.mlp
        maps = [attention.qkv] * 3 if is_post else [attention.query, attention.key, attention.value]
        channels = attention.out.weight.shape[1]
        for part, (layer, each) in enumerate(zip(c.maps, maps, strict=True)):
            self._add(layer, each.weight, each.bias, channels, part * channels if is_post else 0)
        norms = [(c.middle, owner.norm1), (c.last, owner.norm2)]
        norms = norms if is_post else [(c.first, owner.norm1), (c.middle, owner.norm2)]
        for layer, each in ((c.out, attention.out), (c.up, mlp.up), (c.lower, mlp.down), *norms):
            self._add(layer, each.weight, each.bias)
        if is_post and owner.canon:
            before, inside, hidden = owner.canon
            for layer, each in zip(c.canon, (before, attention.canon, inside, hidden), strict=True):
                self._add(layer, each.weight, None, channels if each is attention.canon else None)
        is_kernel = is_post and attention.phi is not None
        weighting = "kernel" if is_kernel else "softmax" if is_post else attention.normalization
        c.weighting, c.pair = WEIGHTINGS.index(weighting), getattr(attention, "network", "head") == "pair"
        c.heads, c.width, c.epsilon = attention.heads, channels // attention.heads, owner.norm1.epsilon
        c.scale, c.least = c.width**-0.5, {"kernel": transformer.EPSILON, "rms_head": hyper.EPSILON}.get(weighting, 0.0)
        identity = nn.Identity()
        functions = mlp.phi, identity if is_post else attention.phi, attention.phi if is_kernel else identity
        made = [function_of(phi, self.dtype) for phi in functions]
        (c.phi, c.value, c.kernel), relative = (function for function, _ in made), None
        if not is_post:
            relative, c.own, c.of_relative = attention.relative, 1, self.of[attention.relative]
        elif attention.slopes is not None:
            bias = -attention.slopes.double()[:, None] * torch.arange(attention.length)
            relative = (bias.exp() if is_kernel else bias).to(self.dtype)
        if relative is not None:
            c.relative, c.buckets = relative.data_ptr(), relative.shape[-1]
        self.used += [knots for _, knots in made] + [relative]

    def _add(
        self, layer: _Layer, weight: Tensor, bias: Tensor | None, outputs: int | None = None, before: int = 0
    ) -> None:
        layer.down = weight.shape[-1]
        layer.inputs, layer.outputs = weight.shape[1] if weight.dim() == 3 else 1, outputs or layer.down
        before *= weight.element_size()
        layer.weight, layer.of_weight = weight.data_ptr() + before, self.of[weight] + before
        if bias is not None:
            layer.bias, layer.of_bias = bias.data_ptr() + before, self.of[bias] + before

    def __call__(self, x: Tensor, rows: list[int] | None = None, keep: Tensor | None = None) -> Tensor:
        """rows: tokens that are wanted from the last block, all unless given. keep: as of `HyperTransformer`."""
        return cast(Tensor, _Pass.apply(self, rows, keep, x, *self.weights))

    def prepare(self, shape: torch.Size, rows: list[int] | None, keep: Tensor | None) -> list[Tensor]:
        """Fill in what belongs to inputs of a shape; tensors that are needed as long."""
        parts: list[Tensor] = []
        if keep is None and self.asked == (shape, rows):
            return parts
        self.asked = (shape, rows) if keep is None else None
        tokens, self.c.batch = shape[2], shape[1]
        self.work = shape[:3].numel() * self.blocks[0].out.outputs
        for number, c in enumerate(self.blocks):
            last = rows if number == len(self.blocks) - 1 else None
            chosen, visible, bucket = self._places(tokens, last)
            c.keys, c.queries = tokens, len(visible)
            c.rows, c.visible, c.bucket = (
                None if last is None else chosen.data_ptr(),
                visible.data_ptr(),
                bucket.data_ptr(),
            )
            c.keep = None
            if keep is not None:
                part = keep[:, number, chosen].to(self.dtype).contiguous()
                c.keep, c.keep_stride = part.data_ptr(), part[0].numel()
                parts.append(part)
        return parts

    def forward(self, x: Tensor, rows: list[int] | None, keep: Tensor | None) -> tuple[Tensor, "Room"]:
        parts = self.prepare(x.shape, rows, keep)  # noqa: F841  C reads them
        room = Room(self.free, self.runs * self._call("room"), self.dtype)
        y = x.new_empty(*x.shape[:2], self.blocks[-1].queries, x.shape[3])
        self._call("forward", x, y, room.tensor)
        return y, room

    def backward(self, grad: Tensor, room: Tensor, asked: tuple) -> tuple[Tensor, Sequence[Tensor]]:
        parts = self.prepare(*asked)  # noqa: F841  C reads them
        self.grads.zero_()
        of_x = grad.new_empty(asked[0])
        self._call("backward", grad, of_x, room)
        return of_x, torch._C._nn.unflatten_dense_tensors(self.grads.clone(), self.weights)

    def _call(self, name: str, *given: Any) -> int:
        if not given:
            return _called(name, self.dtype, ctypes.byref(self.c))
        failed: list[int] = []

        def work(first: int, end: int) -> None:
            failed.append(_called(name, self.dtype, ctypes.byref(self.c), *given, first, end))

        native.share(work, self.runs, worthwhile=self.work >= ALONE)
        if any(failed):
            raise MemoryError("no memory for a chunk of sequences")
        return 0

    def _places(self, tokens: int, rows: list[int] | None) -> tuple[Tensor, Tensor, Tensor]:
        """Which tokens ask, how many each of them sees, and the bucket of each pair."""
        name = (tokens, None if rows is None else tuple(rows))
        if name not in self.places:
            attention, index = self.owners[0].attention, torch.arange(tokens)
            is_post = isinstance(self.owners[0], transformer.Block)
            bucket = (index[:, None] - index).clamp(min=0) if is_post else attention.buckets[:tokens, :tokens]
            visible = index + 1 if is_post or attention.hidden is not None else torch.full_like(index, tokens)
            chosen = index if rows is None else torch.tensor(rows)
            self.places[name] = chosen, visible[chosen], bucket[chosen].contiguous()
        return self.places[name]


class Room:
    """Memory for what gradients need, given back for the next step when nobody needs it any more: new memory costs as
    much as a tenth of a step."""

    def __init__(self, free: list[Tensor], numbers: int, dtype: torch.dtype):
        used = free.pop() if free else torch.empty(0, dtype=dtype)
        self.free, self.tensor = free, used if len(used) >= numbers else torch.empty(numbers, dtype=dtype)

    def __del__(self) -> None:
        self.free[:] = [self.tensor]


class _Pass(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, stack: Stack, rows: Any, keep: Any, x: Tensor, *weights: Tensor) -> Tensor:
        ctx.stack, ctx.asked = stack, (x.shape, rows, keep)
        y, ctx.room = stack.forward(x.contiguous(), rows, keep)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        of_x, grads = ctx.stack.backward(grad.contiguous(), ctx.room.tensor, ctx.asked)
        return None, None, None, of_x, *grads


class Step(Stack):
    """All of a model that reads tokens and predicts some of them: losses and gradients in one call."""

    def __init__(self, model: Any):
        parts = [model.embedding, model.position, model.unembedding]
        super().__init__(model, [part.weight for part in parts if part is not None])
        self.ends, self.c.classes = _Ends(), model.embedding.weight.shape[1]
        for layer, part in zip((self.ends.table, self.ends.places, self.ends.head), parts, strict=True):
            if part is not None:
                self._add(layer, part.weight, None)

    def losses(self, batch: sequences.Batch) -> Tensor:
        """The losses (R,); gradients are in `grads` then."""
        self.prepare(batch.tokens.shape, None, None)
        weights, losses = batch.weights.to(self.dtype), torch.empty(self.runs, dtype=self.dtype)
        parts = [part.contiguous() for part in (batch.tokens, batch.positions, batch.targets, weights)]
        for name, part in zip(("tokens", "positions", "targets", "weights", "losses"), (*parts, losses), strict=True):
            setattr(self.ends, name, part.data_ptr())
        self.ends.count = batch.targets.shape[2]
        room = Room(self.free, self.runs * self._call("room"), self.dtype)
        self.grads.zero_()
        self._call("step", ctypes.byref(self.ends), room.tensor)
        return losses


class _Losses(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, step: Step, batch: sequences.Batch, *weights: Tensor) -> Tensor:
        losses = step.losses(batch)
        ctx.step, ctx.grads = step, step.grads.clone()
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        grads = torch._C._nn.unflatten_dense_tensors(ctx.grads, ctx.step.weights)
        return None, None, *(of_runs(grad, each) * each for each in grads)
