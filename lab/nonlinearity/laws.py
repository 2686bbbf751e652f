"""What the values of a non-linearity owe to the networks that it stands in: a law each, with its reason as docstring.

`lab.check` is the way in; `lab.nonlinearity.slope_laws` has the laws of gradients.
"""

import copy
import random
from math import inf, nan

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from lab.errors import ArgumentError, Broken, NotAsked, demand
from lab.nonlinearity.case import SHAPE, Case, agree, any_shape, ends, keeps, law, shown_at, state_of, value
from lab.nonlinearity.functions import RANDOM, check_elementwise

FAR = (30.0, 100.0, 1e3)  # where exp overflows in float32, and its logarithm would not
HUGE = (1e2, 1e4, 1e10, 1e20, 1e30)


@law
def the_same_at_each_call(case: Case) -> None:
    """Results must repeat: evaluation draws nothing."""
    f, x = case.copy(), case.x()
    agree(value(f, x), value(f, x), "two calls", 0)


@law
def no_global_random_numbers(case: Case) -> None:
    """A call that draws from the global generators changes whatever is drawn after it."""
    f, x = case.copy(), case.x()
    before, numbers, state = torch.get_rng_state(), numpy_state(), random.getstate()
    value(f, x)
    demand(torch.equal(before, torch.get_rng_state()), "torch's global generator has moved")
    demand(numbers == numpy_state(), "numpy's global generator has moved")
    demand(state == random.getstate(), "the generator of Python's random has moved")


@law
def the_default_type_stays(case: Case) -> None:
    """A call that changes torch's default type changes the type of whatever is made after it."""
    f, x, before = case.copy(), case.x(), torch.get_default_dtype()
    value(f, x)
    demand(torch.get_default_dtype() == before, f"torch's default type was {before}, is {torch.get_default_dtype()}")


@law
def alike_in_training_and_evaluation(case: Case) -> None:
    """What was trained is what is evaluated."""
    if not isinstance(case.given, nn.Module):
        raise NotAsked("a function has no modes")
    agree(value(case.copy().train(), case.x()), value(case.copy(), case.x()), "in training and in evaluation")


@law
def input_stays(case: Case) -> None:
    """Whoever holds the input, such as a residual connection, needs it unchanged."""
    x = case.x()
    given = x.clone()
    case.copy()(given)
    agree(given, x, "the input after and before the call", 0)


@law
def state_stays(case: Case) -> None:
    """A call in evaluation mode changes no parameter and no buffer."""
    f = state_of(case)
    before = copy.deepcopy(f.state_dict())
    value(f, case.x())
    for name, tensor in f.state_dict().items():
        agree(tensor.double(), before[name].double(), f"{name} after and before the call", 0)


@law
def each_number_by_itself(case: Case) -> None:
    """A scalar function: its value at a point depends on no other point."""
    try:
        check_elementwise(case.copy(), case.x())
    except ArgumentError as error:
        if RANDOM in str(error):
            raise NotAsked("two calls differ") from error
        raise Broken("the value at a point depends on other points") from error


@law
def any_batch(case: Case) -> None:
    """One example gives what it gives among others, in any order."""
    f, x = case.copy(), case.x()
    if x.dim() < 2:
        raise NotAsked(f"inputs of shape {case.shape} have no batch")
    agree(value(f, x[:1]), value(f, x)[:1], "one example alone and in a batch")
    agree(value(f, x.flip(0)).flip(0), value(f, x), "a batch in reverse order and in order")


@law
def any_number_of_axes(case: Case) -> None:
    """Tokens, images and rows have different axes."""
    f, x = any_shape(case), case.x()
    for shape in ((30,), (1, 30), (2, 3, 5), (5, 1, 3, 2)):
        agree(value(f, x.view(shape)).flatten(), value(f, x).flatten(), f"values of shape {shape} and {SHAPE}")
        demand(value(f, x.view(shape)).shape == shape, f"the shape {shape} is not kept")


@law
def a_tensor_without_axes(case: Case) -> None:
    """Slopes of a scalar function are taken at single numbers."""
    f, x = any_shape(case), case.x()
    agree(value(f, x[2, 3]), value(f, x)[2, 3], "a number alone and among others")


@law
def an_empty_tensor(case: Case) -> None:
    """The last batch, or an expert's share of it, can be empty."""
    for shape in [(0, *case.shape[1:])] if case.shape else [(0,), (0, 5), (3, 0)]:
        y = value(case.copy(), case.x().new_empty(shape))
        demand(y.shape == shape, f"shape {tuple(y.shape)} for an input of shape {shape}")


@law
def a_view(case: Case) -> None:
    """Transposed and sliced inputs have the same values."""
    f, x = case.copy(), case.x()
    turned = x.transpose(0, -1).contiguous().transpose(0, -1)
    for view in (torch.stack([x, x], -1)[..., 0], torch.stack([x + 1, x])[1], turned):
        agree(f(view), value(f, x), "a view and its contiguous copy")


@law
def keeps_float32_and_float64(case: Case) -> None:
    """A layer that changes the type of its input breaks the next one, or doubles its memory."""
    keeps(case, torch.float32, torch.float64)


@law
def keeps_bfloat16(case: Case) -> None:
    """Models train in bfloat16, with the same function up to rounding."""
    keeps(case, torch.bfloat16)
    x = case.x(torch.bfloat16)
    agree(value(case.copy(torch.bfloat16), x), value(case.copy(torch.float32), x.float()), "bfloat16 and float32")


@law
def autocast(case: Case) -> None:
    """Mixed precision gives the function up to rounding."""
    f, x = case.copy(torch.float32), case.x(torch.float32)
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        y = value(f, x)
    demand(y.dtype in (torch.float32, torch.bfloat16), f"type {y.dtype} under autocast")
    agree(y, value(f, x), "under autocast and without", 0.1)


@law
def float32_near_float64(case: Case) -> None:
    """Rounding inside must not show."""
    x = case.x(torch.float32)
    agree(value(case.copy(torch.float32), x), value(case.copy(torch.float64), x.double()), "float32 and float64")
    x = case.of([sign * size for size in FAR for sign in (-1, 1)], torch.float32)
    y, exact = value(case.copy(torch.float32), x), value(case.copy(torch.float64), x.double())
    wrong = (exact.abs() < torch.finfo(torch.float32).max) & ~((y - exact).abs() <= 1e-2 * (1 + exact.abs()))
    demand(not wrong.any(), f"float32 is not near float64 at x = {shown_at(x, wrong)}")


@law
def stays_on_the_device(case: Case) -> None:
    """No tensor of its own stays behind on another device. Traced with torch's FakeTensor: it takes no GPU."""
    f, device = case.copy(), "meta" if case.x().device.type == "cpu" else "cpu"
    if isinstance(f, nn.Module) and any(isinstance(module, torch.jit.ScriptModule) for module in f.modules()):
        raise NotAsked("FakeTensor does not trace what torch.jit has compiled")
    tensors = dict([*f.named_parameters(), *f.named_buffers()]) if isinstance(f, nn.Module) else {}
    with FakeTensorMode(allow_non_fake_inputs=True):
        x = torch.empty(case.shape or SHAPE, device=device, dtype=case.x().dtype)
        there = {name: torch.empty_like(tensor, device=device) for name, tensor in tensors.items()}
        try:
            y = torch.func.functional_call(f, there, (x,)) if isinstance(f, nn.Module) else f(x)
        except DataDependentOutputException as error:
            raise NotAsked("needs a GPU: it reads values") from error
        demand(y.device == x.device, f"the output is on {y.device}, the input on {x.device}")


@law
def huge_numbers(case: Case) -> None:
    """Values of huge numbers are finite, or overflow for good: never NaN."""
    for sign in (-1, 1):
        x = case.of([sign * size for size in HUGE], torch.float32)
        y = value(case.copy(torch.float32), x)
        demand(not y.isnan().any(), f"NaN at x = {shown_at(x, y.isnan())}")
        far = y.flatten()[x.flatten().abs().argsort()].isinf()
        demand((far.int().diff() >= 0).all(), f"infinite at x = {shown_at(x, y.isinf())}, finite beyond")


@law
def infinity(case: Case) -> str | None:
    """At ±inf a function has its limit, or says with NaN that it has none; no third number."""
    notes = []
    for end in (-inf, inf):
        f, sign = case.copy(torch.float64), 1 if end > 0 else -1
        near, far, last, there = (value(f, case.of([sign * x], torch.float64)) for x in (1e6, 1e7, 1e8, inf))
        if there.isnan().all():
            notes.append(f"NaN at {end:g}")
            continue
        converged = ((last - far).abs() < 1e-3 * (1 + last.abs())) & ((far - near).abs() < 1e-3 * (1 + far.abs()))
        grown = (last.abs() > 5 * far.abs()) & (far.abs() > 5 * near.abs())
        limit = torch.where(converged, last, torch.where(grown, last.sign() * inf, there))
        limit = torch.where((there - limit).abs() < 1e-2, there, limit)  # which 1 / x reaches slowly
        agree(there, limit, f"at {end:g}, and the limit", 1e-2)
    return ", ".join(notes)


@law
def NaN_stays(case: Case) -> None:  # noqa: N802
    """A NaN that a function swallows hides a training that has failed; other numbers keep their values."""
    f, x = case.copy(), case.x()
    at = (torch.arange(x.numel(), device=x.device) == 7 % x.numel()).view(x.shape)
    y = value(f, torch.where(at, nan, x))
    demand(y[at].isnan().all(), f"NaN in, {float(y[at][0]):.4g} out")
    agree(y[~at], value(f, x)[~at], "other numbers beside a NaN and without")


@law
def deepcopy(case: Case) -> None:
    """Layers, averages of weights and fleets are made by copying."""
    one, other = copy.deepcopy(case.given), copy.deepcopy(case.given)
    if isinstance(one, nn.Module) and isinstance(other, nn.Module):
        one, other = one.eval(), other.eval()
    agree(value(one, case.x()), value(other, case.x()), "two copies")
    if isinstance(one, nn.Module):
        shared = {t.data_ptr() for t in case.tensors if t.numel()} & {t.data_ptr() for t in one.parameters()}
        demand(not shared, "copies share their parameters")


@law
def state_dict(case: Case) -> None:
    """What is saved is all that is needed to go on."""
    f, other = state_of(case), case.copy()
    with torch.no_grad():
        for tensor in (*other.parameters(), *other.buffers()):
            tensor.add_(1)
    other.load_state_dict(copy.deepcopy(f.state_dict()))
    agree(value(other, case.x()), value(f, case.x()), "loaded and saved", 0)


@law
def tensors_are_registered(case: Case) -> None:
    """A tensor that is neither parameter nor buffer is missed by .to() and by state_dict."""
    f, x = case.copy(), case.x()
    if not isinstance(f, nn.Module):
        raise NotAsked("a function registers nothing")
    before = value(f, x)
    for module in f.modules():
        for name, tensor in [*vars(module).items()]:
            if isinstance(tensor, Tensor) and tensor.is_floating_point():
                setattr(module, name, torch.full_like(tensor, nan))
                after = value(f, x)
                setattr(module, name, tensor)
                demand(torch.equal(before, after), f"{name} is neither a parameter nor a buffer")


@law
def vmap(case: Case) -> None:
    """Models side by side are one call of torch.vmap."""
    f, pair = case.copy(), torch.stack([case.x(), case.x() + 0.1])
    rows = torch.stack([value(f, x) for x in pair])
    agree(torch.func.vmap(lambda x: value(f, x))(pair), rows, "by vmap and row by row")


@law
def declared_range(case: Case) -> str:
    """A function that says for which inputs it is made has no jump at their ends, and stays finite beyond."""
    if (known := ends(case.given)) is None:
        raise NotAsked("it has no low and high")
    f, words = case.copy(torch.float64), []
    for end, sign in zip(known, (-1, 1), strict=True):
        width = sign * (known[1] - known[0])
        points = (end - 1e-9 * width, end, end + 1e-9 * width, end + width, end + 2 * width)
        inside, at, outside, far, farther = (value(f, case.of([point], torch.float64)) for point in points)
        agree(inside, at, f"just inside and at {end:g}", 1e-3)
        agree(at, outside, f"at {end:g} and just outside", 1e-3)
        demand((far.isfinite() & farther.isfinite()).all(), f"not finite beyond {end:g}")
        straight = torch.allclose(farther - far, far - at, atol=1e-6)
        words.append("constant" if torch.allclose(far, at) else "straight" if straight else "goes on")
    return f"below {known[0]:g}: {words[0]}; above {known[1]:g}: {words[1]}"


def numpy_state() -> tuple[int, bytes]:
    """Where numpy's global generator stands."""
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002  what the function may touch
    return state["pos"], state["key"].tobytes()
