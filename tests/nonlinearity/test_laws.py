"""`lab.check`: the lab's own functions keep all laws, each law notices what breaks it, and no function is refused."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab.errors import ArgumentError
from lab.nonlinearity.case import LAWS
from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.families.bsplines import BSpline
from lab.nonlinearity.families.rational import Rational
from lab.nonlinearity.kan import KANLayer
from lab.nonlinearity.learnable import PReLU, ScaledGELU, Swish
from lab.nonlinearity.table import TABLE

WAVE = lab.Spline.from_function(torch.sin, -3.0, 3.0, 31)
SHAPE = (6, 5)  # batch and channels
OWN = {name: (row.make(), None) for name, row in TABLE.items()} | {
    "zoo": (lab.zoo("transformers/memorize"), None),
    "spline": (WAVE, None),
    "learnable": (lab.Spline(WAVE.values, -3.0, 3.0, learnable=True), None),
    "scaled": (lab.Spline(WAVE.values, -3.0, 3.0, learnable=True, scaled=True), None),
    "symmetrized": (WAVE.symmetrized().spline, None),
    "polynomial": (WAVE.polynomial(9), None),
    "chebyshev": (WAVE.chebyshev(9), None),
    "channels": (ChannelSpline(WAVE.values.expand(5, -1), -3.0, 3.0, learnable=True), SHAPE),
    "channels of prelu": (PReLU(5), SHAPE),
    "channels of swish": (Swish(5), SHAPE),
    "groups of rational": (Rational(2), (5, 6)),
    "channels of bspline": (BSpline(5), SHAPE),
    "an edge of a KAN layer": (KANLayer(1, 1), (30, 1)),
    "a piecewise linear edge": (KANLayer(1, 1, order=1), (30, 1)),
    "printed swish": (Swish(5, printed=True), SHAPE),
    "channels of scaledgelu": (ScaledGELU(5), SHAPE),
}

EXPECTED = {name: row.unlawful for name, row in TABLE.items()}


class Sloped(torch.autograd.Function):
    """A function with a gradient of its own: f and slope, of x."""

    @staticmethod
    def forward(ctx, x, f, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return f(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.slope(*ctx.saved_tensors), None, None


def wrong(x):
    """x², with a gradient that lacks the 2."""
    return Sloped.apply(x, torch.square, lambda x: x * 1.0)


def wrong_inside(x):
    """sin in float32, whose slope is a tenth too small."""
    return Sloped.apply(x, lambda x: x.float().sin().to(x.dtype), lambda x: 0.9 * x.cos())


def wrong_kink(x):
    """ReLU, whose values float32 holds where it holds the inputs; its slope is 5 at 0, and 0 beyond 7."""
    return Sloped.apply(x, torch.relu, lambda x: torch.where(x == 0, 5.0, ((x > 0) & (x < 7)).to(x.dtype)))


class Once(torch.autograd.Function):
    """x³, with a gradient that takes its own slope for 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0]
        return grad * (3 * x.detach().square() + x - x.detach())


class Changed(torch.autograd.Function):
    """x tanh x, with a gradient that something is done to: change(x, gradient)."""

    @staticmethod
    def forward(ctx, x, change):
        ctx.save_for_backward(x)
        ctx.change = change
        return x * x.tanh()

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0]
        return grad * ctx.change(x, x.tanh() + x * (1 - x.tanh().square())), None


class Module(nn.Module):
    """A module with one parameter that computes what it is given."""

    def __init__(self, compute, **tensors):
        super().__init__()
        self.compute, self.weight = compute, nn.Parameter(torch.tensor(1.5))
        self.register_buffer("count", torch.tensor(1.0))
        vars(self).update(tensors)

    def forward(self, x):
        return self.compute(self, x)


class Uncopied(nn.Tanh):
    def __deepcopy__(self, memo):
        raise TypeError("no copies")


class Forgetful(nn.Module):
    """Its number is in no state."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return self.weight * x

    def load_state_dict(self, *given, **named):
        return None


def counted(self, x):
    self.count += 1
    return x * 1.0


def drawn(x):
    torch.rand(1)
    return x * 1.0


def numpy_drawn(x):
    np.random.rand()  # noqa: NPY002
    return x * 1.0


def python_drawn(x):
    random.random()
    return x * 1.0


def retyped(x):
    torch.set_default_dtype(torch.float64)
    return x * 1.0


def doubled_in(*dtypes):
    return lambda x: Changed.apply(x, lambda x, slope: slope * (1 + (x.dtype in dtypes)))


def overwritten(x):
    return x.relu_()


def thawed(self, x):
    self.weight.requires_grad_(True)
    return self.weight * x


BROKEN = {
    "the same at each call": lambda x: x + 0.1 * torch.randn_like(x),
    "no global random numbers": drawn,
    "the default type stays": retyped,
    "alike in training and evaluation": nn.RReLU(),
    "input stays": overwritten,
    "state stays": Module(counted),
    "each number by itself": nn.Softmax(-1),
    "any batch": lambda x: x - x.mean(0),
    "any number of axes": lambda x: x + torch.zeros(6, 1),
    "a tensor without axes": lambda x: torch.stack([*x]),
    "an empty tensor": lambda x: x * torch.ones(30)[: x.numel()].max(),
    "a view": lambda x: x.as_strided(x.shape, torch.empty(x.shape).stride()) * 1.0,
    "keeps float32 and float64": lambda x: x.float().tanh(),
    "keeps bfloat16": lambda x: x.to(torch.promote_types(x.dtype, torch.float32)).tanh(),
    "autocast": lambda x: x.double() if torch.is_autocast_enabled("cpu") else x * 1.0,
    "float32 near float64": lambda x: (1e8 + x) - 1e8,
    "stays on the device": lambda x: x * torch.linspace(1, 1, 5) if x.dim() > 1 else x * 1.0,
    "gradient reaches the input": lambda x: (x > 0).to(x.dtype),
    "first derivative": wrong,
    "first derivative far out": lambda x: Changed.apply(x, lambda x, slope: slope * (x.abs() <= 7)),
    "slopes in float32 and bfloat16": doubled_in(torch.float32, torch.bfloat16),
    "second derivative": Once.apply,
    "a slope at a kink": lambda x: x.abs().sqrt(),
    "no NaN slope far out": lambda x: torch.where(x > 0, x, x.exp() - 1),
    "huge numbers": lambda x: x * x.square() / (1 + x.square()),
    "infinity": lambda x: torch.where(x.isinf(), 7.0, x.tanh()),
    "NaN stays": torch.nan_to_num,
    "deepcopy": Uncopied(),
    "state dict": Forgetful(),
    "tensors are registered": Module(lambda self, x: self.scale * x, scale=torch.tensor(2.0)),
    "vmap": lambda x: x * 1.0 if float(x.max()) < 1e9 else x,
    "gradients of each example": wrong,
    "frozen is frozen": Module(thawed),
    "gradient reaches what learns": Module(lambda self, x: self.weight.detach() * x),
    "derivative by what learns": Module(lambda self, x: wrong(self.weight) * x),
    "declared range": Module(lambda self, x: torch.where(x.abs() < 1, x, 9.0), low=-1.0, high=1.0),
}


ALSO_BROKEN = [
    ("no global random numbers", python_drawn, None),
    ("slopes in float32 and bfloat16", doubled_in(torch.float32), None),
    ("slopes in float32 and bfloat16", doubled_in(torch.bfloat16), None),
    ("float32 near float64", lambda x: (1 + x.exp()).log(), None),
    ("float32 near float64", lambda x: x.cosh().log(), None),
    ("a view", lambda x: x.as_strided(x.shape, x.stride(), 0) * 1.0, None),
    ("any batch", lambda x: x * torch.arange(1.0, 1 + len(x)).to(x)[:, None], SHAPE),
    ("first derivative", wrong_inside, None),
    ("a slope at a kink", wrong_kink, None),
    ("first derivative far out", wrong_kink, None),
]


SOUND = {
    "sin in float32": lambda x: torch.sin(x.float()).to(x.dtype),
    "GELU in float32": lambda x: nn.functional.gelu(x.float()).to(x.dtype),
    "ReLU in float32": lambda x: x.float().relu().to(x.dtype),
    "1/(1+x²)": lambda x: 1 / (1 + x.square()),
    "1/(1+|x|)": lambda x: 1 / (1 + x.abs()),
    "rsqrt": lambda x: (1 + x.abs()).rsqrt(),
    "i0e": torch.special.i0e,
}


@pytest.mark.parametrize("name", OWN)
def test_the_labs_functions_keep_all_laws(name):
    f, shape = OWN[name]
    result = lab.check(f, shape=shape, expected=EXPECTED.get(name))
    assert result.failures == result.needless == [], result


@pytest.mark.parametrize("law", lab.check.laws())
def test_laws_are_cases_of_pytest(law, request):
    assert request.node.callspec.id == law.name
    law("gelu")


@pytest.mark.parametrize("name", LAWS)
def test_each_law_notices_what_breaks_it(name):
    if name in ("cost", "compiles"):
        return
    laws = {law.name: law for law in lab.check.laws()}
    with pytest.raises(AssertionError, match=f"{name}: "):
        laws[name](BROKEN[name])


@pytest.mark.parametrize(("name", "f", "shape"), ALSO_BROKEN)
def test_a_law_notices_other_mistakes(name, f, shape):
    assert name in lab.check(f, shape=shape).failures


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_keeps_all_laws(name):
    assert lab.check(SOUND[name]).failures == []


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_what_torch_jit_has_compiled_is_checked():
    assert lab.check(torch.jit.script(nn.GELU())).failures == []


def test_modes_and_small_or_fixed_shapes_break_no_law():
    with torch.inference_mode():
        assert lab.check(nn.GELU()).failures == lab.check(nn.PReLU()).failures == []
    for f in (nn.Dropout(), nn.Sequential(nn.GELU(), nn.Dropout())):
        assert lab.check(f).failures == ["alike in training and evaluation"]
    assert "deepcopy" not in lab.check(nn.RReLU()).failures
    for shape in ((1, 1), (1,), ()):
        assert lab.check(nn.GELU(), shape=shape).failures == []
    result = lab.check(lambda x: x.view(SHAPE).tanh(), shape=SHAPE)
    assert "cost" not in result.failures and result.table.set_index("law").loc["cost", "detail"].startswith("no grad")


def test_a_result_says_what_fails_and_what_was_expected():
    known = {"input stays": "that is its purpose", "vmap": "a mistake of ours"}
    result = lab.check(nn.ReLU(inplace=True), expected=known)
    assert result.failures == [] and result.needless == ["vmap"]
    assert "take it out of expected=" in repr(result) and "1 expected not to" in repr(result)
    table = result.table.set_index("law")
    assert not table.loc["input stays", "passed"] and "that is its purpose" in table.loc["input stays", "detail"]
    assert "× GELU" in table.loc["cost", "detail"]
    laws = {law.name: law for law in lab.check.laws(expected=known)}
    laws["input stays"](nn.ReLU(inplace=True))
    with pytest.raises(AssertionError, match="take it out of expected="):
        laws["vmap"](nn.ReLU(inplace=True))
    figure = lab.check(wrong).plot()
    assert sum(len(trace.y) for trace in figure.data) == len(LAWS) - 1
    assert "first derivative" in figure.data[1].y


def test_what_is_checked_and_the_global_state_stay():
    f = Module(counted)
    f.train()
    before = copy.deepcopy(f.state_dict()), torch.get_rng_state(), random.getstate()
    with torch.no_grad():
        lab.check(f)
    assert "no global random numbers" in lab.check(numpy_drawn).failures
    assert "the default type stays" in lab.check(retyped).failures and torch.get_default_dtype() == torch.float32
    assert f.training and f.weight.grad is None and all(torch.equal(v, before[0][k]) for k, v in f.state_dict().items())
    assert torch.equal(before[1], torch.get_rng_state()) and random.getstate() == before[2]


def test_what_is_beyond_the_range_is_said():
    table = lab.check(WAVE).table.set_index("law")
    assert table.loc["declared range", "detail"] == "below -3: constant; above 3: constant"


def test_compiling_is_asked_for():
    assert "compiles" not in [law.name for law in lab.check.laws()]
    (compiles,) = [law for law in lab.check.laws(slow=True) if law.name == "compiles"]
    compiles(WAVE)
    with pytest.raises(AssertionError, match="compiles"):
        compiles(lambda x: x * float(x.max().item() > 0) if x.sum().item() > -99 else x)


@pytest.mark.parametrize(
    ("f", "given", "said"),
    [
        (None, {}, "is no function"),
        (nn.GELU, {}, "give GELU()"),
        ("nope", {}, "unknown"),
        (nn.Linear(2, 2), {}, "f fails with RuntimeError"),
        (nn.Linear(5, 3), {}, "keeps the shape"),
        (nn.GLU(), {"shape": (4, 6)}, "keeps the shape"),
        (nn.PReLU(device="meta"), {}, "has no numbers"),
        (nn.LazyBatchNorm1d(), {"shape": SHAPE}, "has no shape before its first call"),
        (lambda x: (x, x), {}, "gives a tensor"),
        (lambda x: x > 0, {}, "floating point"),
        (torch.sin, {"shape": 3}, "shape=3"),
        (torch.sin, {"shape": (0, 3)}, "shape=0"),
        (torch.sin, {"expected": {"nope": "why"}}, "unknown law"),
        (torch.sin, {"expected": {"vmap": ""}}, "give the reason"),
        (torch.sin, {"expected": ["vmap"]}, "laws and reasons"),
        (torch.sin, {"slow": 1}, "give True or False"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(f, given, said):
    with pytest.raises(ArgumentError) as error:
        lab.check(f, **given)
    assert said in str(error.value) and "\n" not in str(error.value)
