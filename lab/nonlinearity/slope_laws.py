"""What the gradients of a non-linearity owe to the networks that it stands in, and what they cost: see `laws`."""

import time

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck

from lab.errors import Broken, NotAsked, demand
from lab.nonlinearity.case import STEP, TINY, Case, agree, ends, law, learnable, shown_at, sides, slope, value

KINKS = (-6, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 3, 6)  # where functions of torch have theirs
FAR = (7.9, 15.1, 40.3)  # beyond which no slope is compared
LARGE = (10.0, 100.0, 1e3, 1e4, 1e8)
COARSE = 1e-2  # a step over which differences in float32 tell a slope to three digits
STEEP = 1e4  # a difference over a step beyond this is a jump
MOST_PARAMETERS = 2000  # whose derivatives are checked
COST_NUMBERS, COST_ROUNDS = 1 << 16, 7


@law
def gradient_reaches_the_input(case: Case) -> None:
    """Layers below learn through it."""
    y = value(case.copy(), case.x().requires_grad_())
    demand(y.requires_grad, "the output has no gradient")


@law
def first_derivative(case: Case) -> None:
    """The gradient is the function's own: torch.autograd.gradcheck, in float64, away from kinks."""
    if case.computes_in_float32:  # gradcheck's steps are too small for it
        f, x = case.copy(torch.float64), case.x(torch.float64)
        left, right = sides(f, x, COARSE)
        smooth = (left - right).abs() <= 0.05 * (1 + left.abs())
        agree(slope(f, x)[smooth], ((left + right) / 2)[smooth], "slopes by autograd and by differences", 1e-3)
        return
    f, x = case.smooth()
    if not gradcheck(lambda x: value(f, x), (x,), raise_exception=False, check_undefined_grad=False):
        agree(slope(f, x), sum(sides(f, x, TINY)) / 2, "slopes by autograd and by differences", 1e-4)  # type: ignore[arg-type]
        raise Broken("torch.autograd.gradcheck fails")


@law
def first_derivative_far_out(case: Case) -> None:
    """The gradient is the function's own at larger inputs, too: it is not cut to 0 there."""
    f, x = case.in_float64(), case.of([sign * size for size in FAR for sign in (-1, 1)], torch.float64)
    there, (left, right) = slope(f, x), sides(f, x, STEP)
    room = 1e-4 * (1 + left.abs() + right.abs()) + 1e-9 * value(f, x).abs()
    smooth = (left - right).abs() <= room  # no kink, and finite
    wrong = smooth & ~((there - (left + right) / 2).abs() <= room)
    demand(not wrong.any(), f"slopes by autograd and by differences are others at x = {shown_at(x, wrong)}")


@law
def slopes_in_float32_and_bfloat16(case: Case) -> None:
    """Models train in these types: gradients are those of float64 up to rounding."""
    for dtype in (torch.float32, torch.bfloat16):
        x, words = case.x(dtype), str(dtype).removeprefix("torch.")
        exact = slope(case.copy(torch.float64), x.double())
        agree(slope(case.copy(dtype), x), exact, f"slopes in {words} and in float64")


@law
def second_derivative(case: Case) -> None:
    """Penalties on gradients, and searches through training steps, differentiate twice: gradgradcheck."""
    f, x = case.smooth()
    weights = torch.full_like(x, 0.7, requires_grad=True)
    options = {"raise_exception": False, "check_undefined_grad": False}
    if not gradgradcheck(lambda x: value(f, x), (x,), (weights,), **options):
        raise Broken("torch.autograd.gradgradcheck fails: the gradient's gradient is another")


@law
def a_slope_at_a_kink(case: Case) -> None:
    """Inputs of 0 are frequent: the slope there is that of one side, or lies between both."""
    f, x = case.in_float64(), case.of((*KINKS, *(ends(case.given) or ())), torch.float64)
    there, (left, right) = slope(f, x), sides(f, x, TINY)
    room = 1e-4 * (1 + left.abs() + right.abs())
    between = (there >= torch.minimum(left, right) - room) & (there <= torch.maximum(left, right) + room)
    jump = there.isfinite() & ((left.abs() > STEEP) | (right.abs() > STEEP))
    for at in (~(between | jump)).flatten().nonzero().flatten()[:1].tolist():
        known = [f"{float(numbers.flatten()[at]):.4g}" for numbers in (x, there, left, right)]
        raise Broken("at x = {}: slope {}, {} on the left, {} on the right".format(*known))


@law
def no_NaN_slope_far_out(case: Case) -> None:  # noqa: N802
    """One NaN in a gradient ends a training: exp of a large number must not meet 0."""
    f, x = case.copy(torch.float32), case.of([sign * size for size in LARGE for sign in (-1, 1)], torch.float32)
    bad = slope(f, x).isnan() & value(f, x).isfinite()
    demand(not bad.any(), f"the slope is NaN at x = {shown_at(x, bad)}")


@law
def gradients_of_each_example(case: Case) -> None:
    """Gradients of single examples are vmap of torch.func.grad."""
    f, pair = case.copy(), torch.stack([case.x(), case.x() + 0.1])
    rows = torch.stack([slope(f, x) for x in pair])
    each = torch.func.vmap(torch.func.grad(lambda x: value(f, x).sum()))(pair)
    agree(each, rows, "gradients by torch.func and by autograd")


@law
def frozen_is_frozen(case: Case) -> None:
    """A frozen function keeps no graph of itself and takes no gradient."""
    if not case.tensors or not list(case.copy().parameters()):
        raise NotAsked("no parameters")
    f = case.copy().requires_grad_(False)
    demand(not value(f, case.x()).requires_grad, "a graph without anything that learns")
    slope(f, case.x())
    demand(all(p.grad is None and not p.requires_grad for p in f.parameters()), "a frozen parameter has a gradient")


@law
def gradient_reaches_what_learns(case: Case) -> None:
    """A learnable parameter without a gradient never learns."""
    f, names = learnable(case)
    y = value(f, case.x())
    demand(y.requires_grad, f"no gradient for {', '.join(names)}")
    grads = torch.autograd.grad(y.sum(), [dict(f.named_parameters())[name] for name in names], allow_unused=True)
    for name, grad in zip(names, grads, strict=True):
        demand(grad is not None, f"no gradient for {name}")
        demand(grad.isfinite().all(), f"the gradient of {name} is not finite")


@law
def derivative_by_what_learns(case: Case) -> None:
    """A learnable parameter goes where its gradient says: gradcheck, in float64."""
    learnable(case)
    f, x = case.smooth()
    given = {name: p.detach().clone().requires_grad_() for name, p in f.named_parameters() if p.requires_grad}
    if (numbers := sum(p.numel() for p in given.values())) > MOST_PARAMETERS:
        raise NotAsked(f"{numbers} numbers learn, more than {MOST_PARAMETERS}")

    def call(*values: Tensor) -> Tensor:
        return torch.func.functional_call(f, dict(zip(given, values, strict=True)), (x.detach().clone(),))

    holds = gradcheck(call, tuple(given.values()), raise_exception=False, check_undefined_grad=False)
    demand(holds, f"torch.autograd.gradcheck fails for {', '.join(given)}")


@law
def cost(case: Case) -> str:
    """Time beside GELU, forward and backward: a number, which is not judged."""
    x = case.x()
    if x.dim() > 1 or case.shape is None:
        x = x.expand(-(-COST_NUMBERS // x.numel()), *x.shape).flatten(0, 1).contiguous()
    try:
        slope(case.copy(), x)
    except Exception as error:  # the user's code may raise anything
        raise NotAsked(f"no gradient for {x.numel():,} numbers, which the time is taken with") from error
    seconds = {f: list[float]() for f in (case.copy(), nn.GELU())}
    for _ in range(COST_ROUNDS):  # in turn, so that whatever else the machine does falls on both
        for f, times in seconds.items():
            start = time.perf_counter()
            slope(f, x).sum().item()  # which waits for a GPU
            times.append(time.perf_counter() - start)
    mine, gelu = (float(np.median(times[2:])) for times in seconds.values())
    return f"{mine / gelu:.2g} × GELU, forward and backward of {x.numel():,} numbers"


@law
def compiles(case: Case) -> None:
    """torch.compile takes it in one graph (its tracing, which needs no compiler; only asked with slow=True)."""
    f, x = case.copy(), case.x()
    torch.compiler.reset()  # of functions before it: torch keeps eight, and then refuses
    compiled = torch.compile(lambda x: value(f, x), backend="aot_eager", fullgraph=True)
    agree(compiled(x), value(f, x), "compiled and not")
    if value(f, x.clone().requires_grad_()).requires_grad:
        agree(slope(compiled, x), slope(f, x), "gradients compiled and not")
