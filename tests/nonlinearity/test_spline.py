"""The spline formula: numpy.interp and finite differences as oracles, its ends and knots, files, errors."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from lab.errors import ArgumentError, LabError
from lab.nonlinearity import document
from lab.nonlinearity.formula import interpolate
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import swap

INF, NAN = float("inf"), float("nan")
shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
ranges = st.tuples(st.floats(-50, 50), st.floats(0.125, 100)).map(lambda r: (r[0], r[0] + r[1]))


def inputs(shape, low, high, seed):
    """Numbers on both sides of the range and inside it, every fourth one of its ends; float64."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(low - (high - low) / 2, high + (high - low) / 2, shape)
    return np.where(generator.random(shape) < 0.25, generator.choice([low, high], shape), x)


def tolerance(values, low, high, dtype):
    """Rounding moves a position by a few units in the last place of the range's ends, and a value with it."""
    last, top = values.shape[-1] - 1, 2 * (abs(low) + abs(high))
    moved = 4 * torch.finfo(dtype).eps * top * last / (high - low)
    return moved * np.abs(np.diff(values)).max() + 4 * torch.finfo(dtype).eps * np.abs(values).max()


@given(shapes, st.integers(2, 400), ranges, st.integers(0, 2**32 - 1))
def test_formula_is_numpy_interp(shape, knots, range_, seed):
    low, high = range_
    values = np.random.default_rng(seed + 1).normal(size=knots)
    x = inputs(shape, low, high, seed)
    got = interpolate(torch.from_numpy(np.asarray(x)), torch.from_numpy(values), low, high)
    assert got.shape == shape and got.dtype == torch.float64
    wanted = np.interp(x, np.linspace(low, high, knots), values)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=tolerance(values, low, high, torch.float64))


@given(shapes, st.integers(1, 4), st.integers(2, 40), ranges, st.integers(0, 2**32 - 1))
def test_one_function_a_run_is_numpy_interp_run_by_run(shape, runs, knots, range_, seed):
    low, high = range_
    values = np.random.default_rng(seed + 1).normal(size=(runs, knots))
    x = inputs((runs, *shape), low, high, seed)
    got = interpolate(torch.from_numpy(x), torch.from_numpy(values), low, high)
    wanted = [np.interp(a, np.linspace(low, high, knots), v) for a, v in zip(x, values, strict=True)]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=tolerance(values, low, high, torch.float64))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("knots", [(9,), (3, 9)], ids=str)
def test_half_precision_inputs_cost_only_the_rounding_of_the_result(dtype, knots):
    values = torch.randn(knots, generator=torch.Generator().manual_seed(0))
    x = torch.linspace(-3, 3, 3 * 50).view(3, 50).to(dtype)
    got, wanted = Spline(values, -2.0, 2.0)(x), interpolate(x.double(), values.double(), -2.0, 2.0)
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), wanted, rtol=torch.finfo(dtype).eps, atol=1e-6)


def off_knot(shape, knots, low, high):
    """Points inside the cells and outside the range, away from kinks; float64, with gradient."""
    generator = torch.Generator().manual_seed(3)
    cell = torch.randint(-2, knots + 1, shape, generator=generator)
    within = 0.1 + 0.8 * torch.rand(shape, generator=generator, dtype=torch.float64)
    return (low + (cell + within) * (high - low) / (knots - 1)).requires_grad_()


@pytest.mark.parametrize("knots", [(5,), (2, 7)], ids=str)
@pytest.mark.parametrize("shape", [(2,), (2, 6), (2, 2, 3)], ids=str)
def test_derivatives_are_finite_differences(shape, knots):
    low, high = -1.5, 2.0
    x = off_knot(shape, knots[-1], low, high)
    values = torch.randn(knots, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    values.requires_grad_()
    assert gradcheck(interpolate, (x, values, low, high))
    assert gradgradcheck(interpolate, (x, values, low, high))


# The hat and its knots -2, -1, 0, 1, 2 are exact in every binary format: no rounding blurs what follows.
HAT = [1.0, 0.0, 3.0, -1.0, 2.0]


@pytest.fixture(params=[torch.float32, torch.float64, torch.bfloat16], ids=["kernel", "formula", "half"])
def at(request):
    """Value and slope of the hat at a number: by the kernel where there is one, and by the formula."""

    def both(x):
        # 17 times: the vector part of the kernel and its remainder
        x = torch.tensor([x] * 17, dtype=request.param, requires_grad=True)
        y = Spline(torch.tensor(HAT, dtype=request.param), -2.0, 2.0)(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        assert torch.equal(y.isnan(), y[:1].isnan().expand(17)) and y.nan_to_num().unique().numel() == 1
        assert slope.nan_to_num().unique().numel() == 1
        return y[0].item(), slope[0].item()

    return both


@pytest.mark.parametrize(("x", "value"), [(INF, 2.0), (-INF, 1.0), (1e30, 2.0), (-1e30, 1.0), (2.5, 2.0), (-2.5, 1.0)])
def test_constant_outside(at, x, value):
    assert at(x) == (value, 0.0)


@pytest.mark.parametrize(
    ("x", "value", "slope"),
    [(-2.0, 1.0, -1.0), (-1.0, 0.0, 3.0), (0.0, 3.0, -4.0), (1.0, -1.0, 3.0), (2.0, 2.0, 0.0)],
)
def test_on_a_knot_the_slope_is_that_to_its_right(at, x, value, slope):
    assert at(x) == (value, slope)


def test_between_two_knots(at):
    assert at(0.25) == (2.0, -4.0)


def test_nan_stays_nan(at):
    assert np.isnan(at(NAN)[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nan_spoils_only_its_own_place(dtype):
    spline = Spline(torch.tensor(HAT, dtype=dtype), -2.0, 2.0)
    x = torch.linspace(-3, 3, 50, dtype=dtype)
    spoiled = x.clone()
    spoiled[[3, 40, 49]] = NAN
    assert torch.equal(spline(spoiled).isnan(), spoiled.isnan())
    assert torch.equal(spline(spoiled)[~spoiled.isnan()], spline(x)[~spoiled.isnan()])


def test_zeros_is_the_zero_function_and_learnable():
    spline = Spline.zeros(knots=361)
    assert (spline(torch.linspace(-30, 30, 99)) == 0).all()
    assert spline.values.requires_grad and spline.spacing == 1 / 9  # the paper's spacing
    torch.testing.assert_close(spline.positions, torch.linspace(-20, 20, 361))


def test_positions_are_where_the_values_are():
    values = torch.randn(33, generator=torch.Generator().manual_seed(0))
    spline = Spline(values, -4.0, 4.0)  # spacing 1/4, which binary numbers hold exactly
    assert torch.equal(spline(spline.positions), spline.values)


def test_knots_are_a_frozen_copy_unless_asked_for():
    values = torch.zeros(3)
    spline = Spline(values)
    values += 1
    assert not spline.values.requires_grad and (spline.values == 0).all()
    assert Spline(values, learnable=True).values.requires_grad
    assert Spline(torch.tensor([0, 1])).values.dtype == torch.float32  # whole numbers become real ones


def test_knot_gradients_reach_the_parameter():
    """φ(x) is a weighted mean of two knots; the weights are the gradient."""
    spline = Spline(torch.tensor(HAT), -2.0, 2.0, learnable=True)
    spline(torch.tensor([-5.0, 0.25])).sum().backward()
    assert spline.values.grad.tolist() == [1.0, 0.0, 0.75, 0.25, 0.0]


# torch.func.jvp itself gives this warning
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_torch_func_works_through_a_float32_spline():
    """The kernels know nothing of torch.func: they must step aside."""
    spline = Spline(torch.tensor(HAT), -2.0, 2.0)
    x = torch.linspace(-3, 3, 12)
    slope = torch.autograd.grad(spline(x.requires_grad_()).sum(), x)[0]
    x = x.detach()
    torch.testing.assert_close(torch.func.vmap(spline)(x.view(3, 4)), spline(x).view(3, 4))
    torch.testing.assert_close(torch.func.grad(lambda x: spline(x).sum())(x), slope)
    torch.testing.assert_close(torch.func.jvp(spline, (x,), (torch.ones(12),))[1], slope)


@pytest.mark.parametrize("shape", [(7,), (3, 7)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_saved_spline_comes_back_exactly(tmp_path, shape, dtype):
    values = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(0)) / 3
    saved = Spline(values, -0.1, 1 / 3)
    saved.save(tmp_path / "phi.json")
    loaded = Spline.load(tmp_path / "phi.json", learnable=True)
    assert torch.equal(loaded.values, values) and loaded.values.dtype == dtype
    assert (loaded.low, loaded.high) == (-0.1, 1 / 3)
    assert loaded.values.requires_grad and not Spline.load(tmp_path / "phi.json").values.requires_grad


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=9))
def test_any_float32_survives_a_file(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("spline") / "phi.json"
    Spline(torch.tensor(values)).save(path)
    assert Spline.load(path).values.tolist() == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        '{"low": 0, "high": 1}',
        '{"low": 0, "high": 1, "values": null}',
        '{"low": 0, "high": 1, "values": [[1, 2], [3]]}',
        '{"low": 1, "high": 0, "values": [1, 2]}',
        '{"low": null, "high": 1, "values": [1, 2]}',
        '{"low": 0, "high": 1, "values": [1, 2], "dtype": "no"}',
    ],
)
def test_a_file_that_is_no_spline_is_named(tmp_path, text):
    path = tmp_path / "phi.json"
    path.write_text(text)
    with pytest.raises(LabError, match="phi.json is not a saved spline .*Spline.save"):
        Spline.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LabError, match="nowhere.json"):
        Spline.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize("facts", [{"loss by step": {2: 0.9, 10: 0.5}}, {"a": 1, 0: 2, 1.5: 3, None: 4, True: 5}])
def test_facts_by_numbers_are_facts_by_their_text(tmp_path, facts):
    Spline(torch.tensor(HAT), -2.0, 2.0).save(tmp_path / "phi.json", provenance=facts)
    assert Spline.load(tmp_path / "phi.json").values.tolist() == HAT
    assert document.read(tmp_path / "phi.json")["provenance"] == json.loads(json.dumps(facts))


def test_a_file_is_readable_without_the_lab(tmp_path):
    Spline(torch.tensor(HAT), -2.0, 2.0).save(tmp_path / "phi.json")
    content = json.loads((tmp_path / "phi.json").read_text())
    assert (content["low"], content["high"], content["values"]) == (-2.0, 2.0, HAT)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 1), (2, 2, 2)], ids=str)
def test_wrong_knots_are_refused_with_their_shape(shape):
    with pytest.raises(ArgumentError) as caught:
        Spline(torch.zeros(shape))
    assert str(shape) in str(caught.value) and "(knots,) or (runs, knots)" in str(caught.value)


NO_RANGES = [
    (1.0, 1.0),
    (2.0, 1.0),
    (-INF, 1.0),
    (0.0, NAN),
    (0.0, 1e-320),
    (1e8, 1e8 + 1),
    (-3e38, 3e38),
    (-1e39, 0.0),
]


@pytest.mark.parametrize(("low", "high"), NO_RANGES)
def test_a_range_that_is_none_is_refused(low, high):
    with pytest.raises(ArgumentError, match="low must be below high|give a finite number|tells no knots apart"):
        Spline(torch.zeros(3), low, high)


@pytest.mark.parametrize("runs", [2, 3])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (5, 2)], ids=str)
def test_an_input_without_the_run_axis_is_refused(runs, shape):
    with pytest.raises(ArgumentError, match=f"for {runs} functions: give one whose first axis has the length {runs}"):
        Spline(torch.zeros(runs, 4))(torch.zeros(shape))


def test_changes_that_leave_no_function_are_refused():
    phi, scaled = Spline(torch.tensor(HAT), -2.0, 2.0), Spline(torch.tensor(HAT), -2.0, 2.0, scaled=True)
    scaled.scale.data.fill_(0.0)
    refused = {
        "divisor=0": lambda: phi / 0,
        "divisor=nan": lambda: phi / NAN,
        "factor=inf": lambda: phi * INF,
        "the scale s is 0": lambda: scaled.spline,
        "phi has values that are not finite": lambda: swap(
            torch.nn.Sequential(torch.nn.GELU()), torch.nn.GELU, Spline(torch.full((5,), NAN))
        ),
    }
    for message, change in refused.items():
        with pytest.raises(ArgumentError, match=message):
            change()


def test_a_file_that_is_not_there_is_said_in_words(tmp_path):
    with pytest.raises(LabError, match=r"none\.json is not a saved spline \(No such file or directory\)"):
        Spline.load(tmp_path / "none.json")


def test_each_of_several_functions_is_limited_by_itself():
    values = torch.randn(2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values[1] /= 50  # within the bounds already
    limited = Spline(values, -1.0, 1.0).limited(-1, 1).values
    for row in (0, 1):
        torch.testing.assert_close(limited[row], Spline(values[row], -1.0, 1.0).limited(-1, 1).values, rtol=0, atol=0)
    assert torch.equal(limited[1], values[1]) and not torch.equal(limited[0], values[0])
