"""The named functions: each is its formula; what one of them owes to the table."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.interpolate import BSpline
from scipy.optimize import least_squares

import lab
from lab.errors import ArgumentError
from lab.nonlinearity import families, table
from lab.nonlinearity.families.bsplines import HIGH, INTERVALS, LOW
from lab.nonlinearity.families.bsplines import BSpline as Cubic
from lab.nonlinearity.families.rational import DENOMINATOR, NUMERATOR
from lab.nonlinearity.functions import TABLE, name_of, named, row_of, scalars
from tests.training import own


def fraction(x, numerator, denominator):
    powers = torch.stack([x**k for k in range(6)])
    below = torch.tensor(denominator, dtype=x.dtype) @ powers[1:5]
    return torch.tensor(numerator, dtype=x.dtype) @ powers / (1 + below.abs())


def cubic(x):
    """With scipy's B-splines, straight beyond the ends."""
    step = (HIGH - LOW) / INTERVALS
    knots = LOW + step * np.arange(-3, INTERVALS + 4)
    spline = BSpline(knots, np.array(Cubic.start["coefficients"]), 3)
    near = x.numpy().clip(LOW, HIGH)
    return torch.from_numpy(spline(near) + spline(near, nu=1) * (x.numpy() - near))


FUNCTIONS = {
    "gelu": F.gelu,
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda x: x,
    "softplus": F.softplus,
    "leakyrelu": F.leaky_relu,
    "mish": lambda x: x * torch.tanh(F.softplus(x)),
    "relu2": lambda x: torch.where(x > 0, x * x, 0.0),
    "leakyrelu2": lambda x: torch.where(x > 0, x, x / 2) ** 2,
    "smoothrelu2": lambda x: x * (x + torch.sqrt(x * x + 0.04)) / 2,
    "starrelu": lambda x: 0.8944 * torch.where(x > 0, x * x, 0.0) - 0.4472,
    "asqu": lambda x: torch.where(x > 0, x * x, x * x / 4),
    "prelu": lambda x: torch.where(x > 0, x, x / 4),
    "swish": F.silu,
    "scaledgelu": lambda x: F.gelu(x, approximate="tanh"),
    "xielu": lambda x: torch.where(x > 0, 0.8 * x * x, 0.8 * (torch.exp(x) - 1 - x)) + 0.5 * x,
    "polyrelu": lambda x: (x.relu() + x.relu() ** 2 + x.relu() ** 3) / 3,
    "polynorm": lambda x: sum(x**i / (x ** (2 * i)).mean().sqrt() for i in (1, 2, 3)) / 3,
    "siren": lambda x: torch.sin(30 * x),
    "snake": lambda x: x + torch.sin(x) ** 2,
    "rational": lambda x: fraction(x, NUMERATOR, DENOMINATOR),
    "pade": lambda x: fraction(x, NUMERATOR, DENOMINATOR),
    "bspline": lambda x: cubic(x),
    "sinc": lambda x: torch.from_numpy(np.sinc(x.numpy())),
    "gaussian": lambda x: torch.exp(-x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_name_means_the_function_of_that_name(name):
    x = torch.linspace(-30, 30, 301, dtype=torch.float64)
    torch.testing.assert_close(named(name).double()(x), FUNCTIONS[name](x), rtol=1e-6, atol=1e-6)


def test_every_function_that_is_not_torchs_has_its_formula_here():
    assert {name for name, row in TABLE.items() if not row.make.__module__.startswith("torch.")} <= FUNCTIONS.keys()


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if not row.learns])
def test_every_name_without_parameters_is_a_scalar_function(name):
    """Each output depends on its own input alone, and there is nothing to learn, so runs can share it."""
    phi = named(name)
    x = torch.linspace(-4, 4, 24, dtype=torch.float64, requires_grad=True)
    whole = phi(x.view(2, 3, 4))
    torch.testing.assert_close(whole, torch.stack([phi(number) for number in x]).view(2, 3, 4))
    jacobian = torch.autograd.functional.jacobian(phi, x)
    assert torch.equal(jacobian, jacobian.diag().diag())
    assert list(phi.parameters()) == list(phi.buffers()) == []
    assert torch.equal(phi.train()(x), phi.eval()(x))


def test_the_linear_mlp_is_the_identity():
    x = torch.randn(5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(named("identity")(x), x)


def test_every_call_gives_a_fresh_module():
    assert named("gelu") is not named("gelu")


@pytest.mark.parametrize("name", scalars())
def test_values_lie_in_the_range_that_the_table_has(name):
    row, x = TABLE[name], torch.cat([torch.linspace(-60, 60, 48001), torch.tensor([-1e4, 1e4])]).double()
    low, high = (float(end) for end in named(name).double()(x).detach().aminmax())
    assert row.low - 1e-4 <= low <= max(row.low + 1e-3, -50) and min(row.high - 1e-3, 19) <= high <= row.high + 1e-4
    assert row.formula and row.source


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.learns])
def test_several_functions_are_those_of_each_run_channel_or_group(name):
    torch.manual_seed(0)
    make = TABLE[name].make
    runs = named(name, runs=3).double()
    for tensor in (*runs.parameters(), *runs.buffers()):
        tensor.data += 0.1 * torch.randn_like(tensor)
    x = 2 * torch.randn(3, 4, 5, dtype=torch.float64)
    alone = [make().double() for _ in range(3)]
    for run, phi in enumerate(alone):
        phi.load_state_dict({key: value[run] for key, value in runs.state_dict().items()})
    wanted = torch.stack([phi(row) for phi, row in zip(alone, x, strict=True)])
    torch.testing.assert_close(runs(x), wanted)
    if not TABLE[name].mixes:
        channels = make(3, dim=1).double()
        channels.load_state_dict(runs.state_dict())
        torch.testing.assert_close(channels(x.transpose(0, 1)), wanted.transpose(0, 1))
        twice = x.repeat_interleave(2, 0)
        torch.testing.assert_close(runs(twice)[1::2], runs(twice)[::2])
    with pytest.raises(ArgumentError, match="for 3 functions on axis 0"):
        runs(x[:2])


def test_a_name_is_one_of_a_module_at_its_start():
    for name, row in TABLE.items():
        assert name_of(row.make()) == row_of(row.make()).name == name
    phi = named("xielu")
    phi.alpha_p.data += 1
    assert name_of(phi) is None and row_of(phi).name == "xielu"
    assert name_of(named("xielu").requires_grad_(False)) is None
    for name, setting, value in (("siren", "omega", 3.0), ("smoothrelu2", "a", 2.0), ("tanh", "forward", torch.sin)):
        phi = named(name)
        setattr(phi, setting, value)
        assert name_of(phi) is None and row_of(phi) is None
    hooked = named("relu")
    handle = hooked.register_forward_hook(lambda module, x, y: 2 * y)
    assert name_of(hooked) is None and row_of(hooked).name == "relu"
    handle.remove()
    assert name_of(hooked) == "relu"
    assert name_of(torch.prelu) is None and row_of(torch.nn.PReLU()) is None


def test_xielu_has_no_jump_at_zero_and_no_overflow_on_its_other_half():
    phi = named("xielu").double()
    x = torch.tensor([-1e-9, 0.0, 1e-9], dtype=torch.float64, requires_grad=True)
    y = phi(x)
    y.sum().backward()
    torch.testing.assert_close(y.detach(), x.detach() / 2, rtol=1e-6, atol=0)
    torch.testing.assert_close(x.grad, torch.full_like(x, 0.5))
    far = torch.tensor([-1e30, -800.0, 800.0], requires_grad=True)
    phi.float()(far)[2].backward()
    assert far.grad.isfinite().all() and all(p.grad.isfinite() for p in phi.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_smooth_relu2_has_its_limit_wherever_squares_overflow(dtype):
    low = torch.finfo(dtype).min
    x = torch.tensor([-torch.inf, low, low / 2, -300.0, -1.0, 0.0, 1.0, 200.0], dtype=dtype, requires_grad=True)
    y = named("smoothrelu2")(x)
    y.sum().backward()
    torch.testing.assert_close(y[:4], torch.full((4,), -0.01, dtype=dtype))
    exact = x.detach().double().requires_grad_()
    FUNCTIONS["smoothrelu2"](exact[4:]).sum().backward()
    torch.testing.assert_close(x.grad[4:], exact.grad[4:].to(dtype))
    assert (x.grad[:4].abs() < 1e-6).all()


def test_a_rational_begins_at_the_best_fit_of_gelu_and_pades_numerator_stays():
    x = torch.linspace(-7, 7, 1001, dtype=torch.float64)
    start = np.array([*NUMERATOR, *DENOMINATOR])
    fit = least_squares(lambda c: (fraction(x, c[:6], c[6:]) - F.gelu(x)).numpy(), start, x_scale="jac")
    best = fraction(x, fit.x[:6], fit.x[6:])
    torch.testing.assert_close(best, fraction(x, NUMERATOR, DENOMINATOR), rtol=0, atol=1e-5)
    assert [name for name, _ in named("pade").named_parameters()] == ["denominator"]


def test_adding_a_function_is_one_file(tmp_path, monkeypatch):
    """Its name then stands wherever a name does."""
    (tmp_path / "mine.py").write_text(
        """
from lab.nonlinearity.table import Learnable, named_function


@named_function("myown", "s x²", "nobody 2026", low=0.0)
class MyOwn(Learnable):
    start = {"scale": 0.5}

    def compute(self, x, scale):
        return scale * x.square()
"""
    )
    monkeypatch.setattr(families, "__path__", [*families.__path__, str(tmp_path)])
    try:
        families.read()
        assert lab.check("myown").failures == []
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU())
        assert lab.swap(model, torch.nn.GELU, "myown") == ["1"] and model[1].scale.requires_grad
        runs = lab.train("addmod", mlp="myown", seeds=2, scale="smoke", progress=False)
        assert runs[0].spec.model.mlp == "myown" and runs.accuracy.shape[0] == 2
        functions = {"GELU": None, "myown": "myown"}
        found = lab.compare(own.signs(), own.mlp, torch.nn.GELU, functions, seeds=2, steps=2, progress=False)
        assert np.isfinite(found.difference("myown", "GELU").mean) and "`myown`" in table.markdown()
        with pytest.raises(ArgumentError, match="'gelu' is GELU; give MyOwn another name"):
            table.named_function("gelu", "", "")(TABLE["myown"].make)
    finally:
        TABLE.pop("myown", None)


@pytest.mark.parametrize("name", ["GELU", "", "softmax"])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(ArgumentError) as caught:
        named(name)
    assert repr(name) in str(caught.value) and all(known in str(caught.value) for known in list(TABLE)[:20])


def test_the_docs_have_the_table():
    page = (Path(__file__).parents[2] / "docs" / "functions.md").read_text(encoding="utf-8")
    assert table.markdown() in page, (
        "print(lab.nonlinearity.table.markdown()) is another: bring docs/functions.md up to date"
    )


@pytest.mark.parametrize("name", TABLE)
def test_whole_numbers_are_refused_or_give_fractions(name):
    """Results that are cut to whole numbers would be wrong without a word."""
    x = torch.tensor([[-1, 0, 1, 2]])
    try:
        y = named(name)(x)
    except (ArgumentError, NotImplementedError, RuntimeError):  # torch's own functions say so in their words
        return
    torch.testing.assert_close(y.double(), named(name)(x.float()).double())
