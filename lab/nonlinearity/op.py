"""The spline as an operator of torch, `lab::spline`, and the choice of the kernel behind it.

The operator is opaque to torch.compile: it is called, not taken apart. Three operators are closed under
differentiation, because φ is linear in its values and piecewise linear in x, so derivatives of any order exist:
`spline` (φ), `spline_backward` (both gradients of Σ grad · φ(x), in one pass over memory) and `spline_slope_backward`
(gradient of Σ grad · φ'(x) in the values).

Kernels are modules with forward and backward of one signature:
on the CPU `native` (C), where there is no compiler `jit` (numba); on CUDA `gpu` (Triton); everywhere else `formula`
(torch). The environment variable LAB_KERNEL (native, numba, torch) forces one on the CPU; torch, on CUDA too.
"""

import functools
import os
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.nn import Parameter

from lab.errors import ArgumentError, LabError, LabWarning, shown
from lab.nonlinearity import formula, jit, native
from lab.nonlinearity.formula import interpolate

CHOICES = ("native", "numba", "torch")


def spline(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """φ(x), shape and dtype of `x`: values at evenly spaced knots of [low, high], linear between, constant outside.

    x: float64, float32, bfloat16 or float16; any shape with values (knots,), (runs, …) with values (runs, knots).
    Computes in float64 if `x` or `values` are, else in float32. ArgumentError where the runs of both differ.

    >>> spline(torch.tensor([-0.5, 9.0]), torch.tensor([0.0, 1.0, 2.0]), -1.0, 1.0)
    tensor([0.5000, 2.0000])
    """
    return torch.ops.lab.spline.default(x, values, low, high)


def cpu_kernel() -> ModuleType:
    """The module whose kernel evaluates splines on the CPU; once a process it is said if that is a slower one."""
    kernel = _chosen()
    if kernel is not native and not _forced():
        _say_slow(kernel, native.why_not())
    return kernel


def _chosen() -> ModuleType:
    forced = _forced()
    if forced == "torch":
        return formula
    if forced != "numba" and native.why_not() is None:
        return native
    if forced != "native" and jit.why_not() is None:
        return jit
    if forced:
        reason = native.why_not() if forced == "native" else jit.why_not()
        raise LabError(f"LAB_KERNEL={forced}, and there is no such kernel: {reason}; unset it")
    return formula


@functools.cache
def _say_slow(kernel: ModuleType, reason: str) -> None:
    by = "numba, which takes twice as long as" if kernel is jit else "PyTorch's formula, several times slower than"
    cure = f"install a C compiler (gcc and libc6-dev){'' if kernel is jit else ' or numba'}"
    warnings.warn(f"splines are evaluated by {by} the compiled kernel: {reason}; {cure}", LabWarning, stacklevel=3)


def cuda_kernel() -> ModuleType:
    """The module whose kernel evaluates splines on CUDA."""
    if _forced() == "torch" or why_not_triton() is not None:
        return formula
    from lab.nonlinearity import gpu

    return gpu


def kernel_name(device: str) -> str:
    """The kernel that evaluates splines on a device ("cpu", "cuda"): "native" (C), "numba", "triton" or "torch".

    Each is exact, and rounds in its own way; a search amplifies that until it ends at another function.
    """
    kernel = cuda_kernel() if device == "cuda" else cpu_kernel()
    return {native: "native", jit: "numba", formula: "torch"}.get(kernel, "triton")


def why_not_triton() -> str | None:
    """The reason why Triton is not used on CUDA, or None where it is."""
    if torch.version.hip:
        return "the kernel was written for NVIDIA's processors"
    return None if find_spec("triton") else "triton is not installed"


def describe() -> str:
    """Which kernels are in use, and why not a faster one: a line for `lab doctor`."""
    kernel, forced = _chosen(), f" (LAB_KERNEL={_forced()})" if _forced() else ""
    why = "" if forced else f": {native.why_not()}"
    names = {
        native: f"compiled C{forced}",
        jit: f"numba{forced}{why}",
        formula: f"torch formula{forced}, several times slower{why or ': ' + str(jit.why_not())}",
    }
    if not torch.cuda.is_available():
        return names[kernel]
    cuda = f"torch formula: {why_not_triton() or 'LAB_KERNEL=torch'}" if cuda_kernel() is formula else "Triton"
    return f"{names[kernel]}; on CUDA {cuda}"


def _forced() -> str:
    forced = os.environ.get("LAB_KERNEL", "")
    if forced and forced not in CHOICES:
        raise ArgumentError(f"LAB_KERNEL={shown(forced)}: give {', '.join(CHOICES)}, or unset it")
    return forced


_library = torch.library.Library("lab", "FRAGMENT")
_library.define("spline(Tensor x, Tensor values, float low, float high) -> Tensor")
_library.define(
    "spline_backward(Tensor grad, Tensor x, Tensor values, float low, float high, bool of_x, bool of_values) "
    "-> (Tensor, Tensor)"  # one that is not asked for has no elements
)
_library.define("spline_slope_backward(Tensor grad, Tensor x, Tensor values, float low, float high) -> Tensor")


def _install(key: str, kernel) -> dict:
    """Make kernel() the module in charge of a kind of device; its implementations by operator."""

    def forward(x, values, low, high):
        if values.dim() > 1 and x.shape[:1] != values.shape[:1]:
            raise ArgumentError(
                f"values of {len(values)} runs for inputs of shape {tuple(x.shape)}: give the inputs the runs as their"
                " first axis, as in x.expand(runs, *x.shape)"
            )
        return kernel().forward(x, values, low, high) if x.numel() else torch.empty_like(x)

    def backward(grad, x, values, low, high, of_x, of_values):
        if not x.numel():
            return torch.zeros_like(x), torch.zeros_like(values) if of_values else values.new_empty(0)
        gx, gv = kernel().backward(grad, x, values, low, high, of_x, of_values)
        return x.new_empty(0) if gx is None else gx, values.new_empty(0) if gv is None else gv

    def slope_backward(grad, x, values, low, high):
        if not x.numel():
            return torch.zeros_like(values)
        return kernel().backward(grad, x, values, low, high, False, True, slope=True)[1]

    implementations = {"spline": forward, "spline_backward": backward, "spline_slope_backward": slope_backward}
    for name, implementation in implementations.items():
        _library.impl(name, implementation, key)
    return implementations


def is_plain(tensors) -> bool:
    """Whether nothing but autograd has a say in what happens to these tensors: no tracer, no mode, no subclass."""
    return torch._C._len_torch_dispatch_stack() == 0 and all(type(t) in (Tensor, Parameter) for t in tensors)


_cpu = _install("CPU", cpu_kernel)
_install("CUDA", cuda_kernel)
_install("CompositeExplicitAutograd", lambda: formula)  # every other device


def _empty(like: Tensor, wanted: bool = True) -> Tensor:
    return torch.empty_like(like, memory_format=torch.contiguous_format) if wanted else like.new_empty(0)


_fake = functools.partial(torch.library.register_fake, lib=_library)
_fake("lab::spline", lambda x, values, low, high: _empty(x))
_fake("lab::spline_backward", lambda g, x, v, low, high, of_x, of_v: (_empty(x, of_x), _empty(v, of_v)))
_fake("lab::spline_slope_backward", lambda grad, x, values, low, high: _empty(values))


def _gradients(ctx, grad):
    """Of `spline`."""
    x, values = ctx.saved_tensors
    of_x, of_values = ctx.needs_input_grad[:2]
    if grad is None or not (of_x or of_values):
        return None, None, None, None
    gx, gv = torch.ops.lab.spline_backward.default(grad, x, values, *ctx.range, of_x, of_values)
    return gx if of_x else None, gv if of_values else None, None, None


def _second_gradients(ctx, of_gx, of_gv):
    """Of `spline_backward`, which gave gx = grad · φ'(x) and gv = Σ grad · ∂φ(x)/∂values."""
    grad, x, values = ctx.saved_tensors
    of_grad, of_x, of_values = ctx.needs_input_grad[:3]
    by_gx, by_gv = (of and h is not None for of, h in zip(ctx.wanted, (of_gx, of_gv), strict=True))
    slope, gg, gx, gv = torch.ops.lab.spline_backward.default, None, None, None
    if of_grad and by_gx:
        gg = slope(of_gx, x, values, *ctx.range, True, False)[0]
    if of_grad and by_gv:
        more = torch.ops.lab.spline.default(x, of_gv, *ctx.range)
        gg = more if gg is None else gg + more
    if of_x and by_gv:
        gx = slope(grad, x, of_gv, *ctx.range, True, False)[0]
    if of_values and by_gx:
        gv = torch.ops.lab.spline_slope_backward.default(of_gx * grad, x, values, *ctx.range)
    return gg, gx, gv, None, None, None, None


def _slope_gradients(ctx, of_gv):
    """Of `spline_slope_backward`, linear in grad; the values only lend it their shape."""
    grad, x, _ = ctx.saved_tensors
    if of_gv is None or not ctx.needs_input_grad[0]:
        return None, None, None, None, None
    slope = torch.ops.lab.spline_backward.default(torch.ones_like(x), x, of_gv, *ctx.range, True, False)[0]
    return slope, None, None, None, None


def _differentiable(name: str, tensors: int, gradients) -> None:
    """Give an operator its gradients, by an autograd.Function under the Autograd key.

    torch.library.register_autograd does the same in twice the time, which counts where inputs are small.
    tensors: how many of the operator's arguments are; they come first, then low and high.
    """
    operator = getattr(torch.ops.lab, name).default

    def below(*inputs):
        """The operator itself. torch's way to it takes as long as 4,000 inputs do, so what it would find is called."""
        if inputs[0].is_cpu and inputs[1].is_cpu and is_plain(inputs[:tensors]):
            return _cpu[name](*inputs)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*inputs)

    class Node(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs[:tensors])
            ctx.range, ctx.wanted = inputs[tensors : tensors + 2], inputs[tensors + 2 :]
            ctx.set_materialize_grads(False)
            return below(*inputs)

        backward = staticmethod(gradients)

    def call(*inputs):
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs[:tensors]):
            return Node.apply(*inputs)
        return below(*inputs)

    Node.__name__ = Node.__qualname__ = name  # what a printed grad_fn says
    _library.impl(name, call, "Autograd")


_differentiable("spline", 2, _gradients)
_differentiable("spline_backward", 3, _second_gradients)
_differentiable("spline_slope_backward", 3, _slope_gradients)


def is_seen_through() -> bool:
    """Whether torch.func or forward-mode differentiation is at work, which need a formula in place of a kernel."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def is_for_native(tensors: Sequence[Tensor]) -> bool:
    """Whether compiled C may take these: plain tensors, all float32 or all float64, on the CPU, not empty, that nothing
    traces."""
    return _fits(tensors, "cpu", (torch.float32, torch.float64)) and cpu_kernel() is native


def is_for_triton(tensors: Sequence[Tensor]) -> bool:
    """As `is_for_native`, for kernels in Triton: float32 on one CUDA device."""
    return _fits(tensors, "cuda", (torch.float32,)) and cuda_kernel() is not formula


def _fits(tensors: Sequence[Tensor], device: str, dtypes: tuple[torch.dtype, ...]) -> bool:
    if torch.compiler.is_compiling() or is_seen_through() or not is_plain(tensors):
        return False
    if any(map(torch._C._functorch.is_legacy_batchedtensor, tensors)):  # of torch.autograd.grad(is_grads_batched=True)
        return False
    kinds = {(tensor.dtype, tensor.device) for tensor in tensors}
    if len(kinds) > 1 or not all(tensor.numel() for tensor in tensors):
        return False
    return all(dtype in dtypes and where.type == device for dtype, where in kinds)


VMAP = torch._C._functorch.TransformType.Vmap


def traced(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """φ(x) where `is_seen_through`: by the kernel under a single `vmap`, else by the formula.

    >>> x, values = torch.tensor([[0.5], [0.25]]), torch.tensor([[0.0, 1.0], [0.0, 4.0]])
    >>> torch.vmap(lambda x, values: traced(x, values, 0.0, 1.0))(x, values)
    tensor([[0.5000],
            [1.0000]])
    """
    # a compiler sees through the formula alone, and not through what asks for the stack
    stack = None if torch.compiler.is_compiling() else torch._C._functorch.get_interpreter_stack()
    if forward_ad._current_level < 0 and stack is not None and len(stack) == 1 and stack[0].key() == VMAP:
        return _SideBySide.apply(x, values, low, high)
    return interpolate(x, values, low, high)


class _SideBySide(torch.autograd.Function):
    """What `vmap` makes of the spline: one call of the kernel, with the run axis in front."""

    @staticmethod
    def forward(x: Tensor, values: Tensor, low: float, high: float) -> Tensor:
        return spline(x, values, low, high)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Nothing is kept: the kernel below has its own gradients."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, values: Tensor, low: float, high: float) -> tuple[Tensor, int]:
        """One function for all models where the values have no run axis, else one a model; or one a channel of each."""
        of_x, of_values, *_ = in_dims
        x = x.movedim(of_x, 0) if of_x is not None else x.expand(info.batch_size, *x.shape)
        values = values if of_values is None else values.movedim(of_values, 0)
        if values.dim() - (of_values is not None) == 1:
            return spline(x, values, low, high), 0
        per_model = values if of_values is not None else values.expand(info.batch_size, *values.shape)
        return spline(x.flatten(0, 1), per_model.flatten(0, 1), low, high).view(x.shape), 0
