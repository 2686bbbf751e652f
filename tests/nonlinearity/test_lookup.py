"""A model of tables: its values, its errors within their bounds, what stays and what is refused."""

import copy

import pytest
import torch
from torch import nn

import lab
from lab.nonlinearity.families.bsplines import BSpline
from lab.nonlinearity.kan import KANLayer
from lab.nonlinearity.lookup import TableLayer


def trained(*layers):
    torch.manual_seed(0)
    for layer in layers:
        if isinstance(layer, KANLayer):
            layer.coefficients.data.normal_()
    return nn.Sequential(*layers)


@pytest.mark.parametrize("kernel", ["native", "torch"])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_errors_are_measured_and_bounded(order, kernel, monkeypatch):
    monkeypatch.setenv("LAB_KERNEL", kernel)
    model = trained(KANLayer(3, 20, order=order), KANLayer(20, 2, order=order, scaled=False)).double()
    x = torch.rand(500, 3, dtype=torch.float64) * 2 - 1
    for knots in (33, 129):
        tables, errors = lab.compile_tables(model, x, knots)
        assert [type(part) for part in tables] == [TableLayer, TableLayer] and len(errors) == 2
        assert all(0 < error.measured <= error.bound for error in errors)
        off = (tables[0](x) - model[0](x)).abs().max()
        assert 0 < off <= 3 * errors[0].measured  # a sum over inputs
        inner = model[0](x)
        assert (tables[1](inner) - model[1](inner)).abs().max() <= 20 * errors[1].measured
    assert errors[0].low >= -1 and errors[0].high <= 1


def test_of_order_one_on_its_own_knots_nothing_is_lost():
    model = trained(KANLayer(2, 3, grid=4, order=1)).double()
    model[0].base.data.zero_()
    x = torch.tensor([[-1.0, 1.0], [0.3, -0.2]], dtype=torch.float64)
    tables, (error,) = lab.compile_tables(model, x, 9)
    torch.testing.assert_close(tables(x), model(x))
    assert error.measured < 1e-12 and error.bound is None


def test_activations_that_learn_become_splines_and_layers_between_stay():
    phi = BSpline(4, dim=1)
    phi.coefficients.data += 0.1 * torch.randn_like(phi.coefficients)
    model = nn.Sequential(nn.Linear(3, 8), BSpline(), nn.Linear(8, 8), phi, KANLayer(8, 1))
    x = torch.randn(300, 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    tables, errors = lab.compile_tables(model, x, 1001)
    assert [error.name for error in errors] == ["1", "3", "4"]
    torch.testing.assert_close(tables(x), model(x), atol=1e-3, rtol=1e-3)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_beyond_the_interval_values_stay_and_slopes_reach_inputs():
    model = trained(KANLayer(2, 3))
    tables, (error,) = lab.compile_tables(model, torch.rand(50, 2), 1001)
    ends = torch.tensor([[error.low, error.high]])
    torch.testing.assert_close(tables(torch.tensor([[-9.0, 9.0]])), tables(ends))
    x = torch.full((1, 2), 0.5, requires_grad=True)
    (slope,) = torch.autograd.grad(tables(x).sum(), x)
    (wanted,) = torch.autograd.grad(model(x).sum(), x)
    torch.testing.assert_close(slope, wanted, atol=0.02, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_state_has_its_interval(dtype):
    model, x = trained(KANLayer(2, 3)).to(dtype), torch.rand(50, 2, dtype=dtype)
    tables, other = (lab.compile_tables(model, scale * x)[0] for scale in (1, 3))
    assert (other(x) - tables(x)).abs().max() > 0
    other.load_state_dict(tables.state_dict())
    assert torch.equal(other(x), tables(x)) and repr(other) == repr(tables)


@pytest.mark.parametrize("kernel", ["native", "torch"])
@pytest.mark.parametrize("made, used", [(torch.bfloat16,) * 2, (torch.float16,) * 2, (torch.float64, torch.float32)])
@pytest.mark.parametrize("outputs", [1, 3, 16, 20])
def test_tables_of_other_types(outputs, made, used, kernel, monkeypatch):
    """Weights of low precision have tables in float32; tables may change their type, as all modules."""
    monkeypatch.setenv("LAB_KERNEL", kernel)
    model, x = trained(KANLayer(3, outputs)).to(made), (torch.rand(100, 3) * 2 - 1).to(made)
    tables, (error,) = lab.compile_tables(model, x, 1025)
    found, wanted = tables.to(used if made == torch.float64 else torch.float32)(x.to(used)), model.double()(x.double())
    assert found.dtype == used and 0 < error.measured <= error.bound
    off = (found.double() - wanted).abs() - 3 * error.bound - torch.finfo(used).eps * wanted.abs()
    assert off.max() <= (0 if used != torch.float32 else 1e-5)
    assert tables.to(torch.bfloat16)(x.bfloat16()).isfinite().all()


@pytest.mark.parametrize("inputs", [1, 30])
@pytest.mark.parametrize("low, high", [(-1, 1), (0.9, 1.1)])
def test_bounds_hold_in_float32(inputs, low, high):
    model = trained(KANLayer(inputs, 5))
    x = low + (high - low) * torch.rand(20_000, inputs)
    for knots in (33, 1025, 4097):
        tables, (error,) = lab.compile_tables(model, x, knots)
        off = (tables(x).double() - copy.deepcopy(model).double()(x.double())).abs().max()
        assert 0 < off <= inputs * error.bound and error.measured <= error.bound < 40 / knots**2 + 1e-5


@pytest.mark.parametrize("value", [0.0, -7.0, 3e7, -1e20])
def test_of_one_input_that_is_always_the_same_the_value_stays(value):
    for phi in (KANLayer(1, 2), BSpline()):
        x = torch.full((5, 1), value)
        tables, (error,) = lab.compile_tables(phi, x)
        assert error.low < value < error.high
        torch.testing.assert_close(tables(x), phi(x), rtol=1e-4, atol=1e-3)


def test_layers_called_by_name_and_layers_left_out():
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.phi = KANLayer(2, 3), KANLayer(3, 1), BSpline()

        def forward(self, x):
            return self.phi(x=self.first(x=x))

    with pytest.warns(lab.LabWarning, match="x does not reach second"):
        tables, errors = lab.compile_tables(Named(), torch.rand(9, 2))
    assert [error.name for error in errors] == ["first", "phi"] and isinstance(tables.second, KANLayer)
    assert tables(torch.rand(4, 2)).shape == (4, 3)


def test_tables_refuse_what_the_layer_refuses():
    """Fewer inputs than tables had been read beyond their end; whole numbers had given zeros."""
    tables, _ = lab.compile_tables(KANLayer(3, 2), torch.rand(5, 3))
    for x, said in (
        (torch.rand(4, 2), r"shape \(4, 2\); give floating-point numbers \(…, 3\)"),
        (torch.rand(4, 6), "give floating-point"),
        (torch.tensor(0.5), "give floating-point"),
        (torch.ones(4, 3, dtype=torch.long), "give floating-point"),
    ):
        with pytest.raises(lab.ArgumentError, match=said):
            tables(x)
    x = torch.rand(6, 3)
    torch.testing.assert_close(torch.compile(tables, backend="aot_eager")(x), tables(x))


def test_splines_are_tables_already():
    model, x = nn.Sequential(nn.Linear(3, 8), lab.Spline.from_function(torch.sin)), torch.rand(5, 3)
    tables, errors = lab.compile_tables(model, x)
    assert errors == [] and tables is not model and torch.equal(tables(x), model(x))


def test_a_layer_alone_and_what_is_refused():
    tables, _ = lab.compile_tables(KANLayer(2, 3), torch.rand(5, 2), 5)
    assert isinstance(tables, TableLayer) and tables(torch.rand(4, 6, 2)).shape == (4, 6, 3)
    shared = BSpline(4)
    twice = nn.Sequential(nn.Linear(3, 8), shared, nn.Linear(8, 16), shared)
    for model, x, said in (
        (nn.Linear(2, 2), torch.rand(5, 2), "no KAN layer"),
        ("kan", torch.rand(5, 2), "give a torch.nn.Module"),
        (KANLayer(2, 2), torch.full((5, 2), torch.inf), "finite examples"),
        (KANLayer(2, 2), torch.full((5, 2), 3e38), "finite examples"),
        (KANLayer(2, 2), torch.zeros(0, 2), "a row or more"),
        (KANLayer(2, 2), [[0.0, 1.0]], "give a tensor"),
        (twice, torch.rand(5, 3), "8 and 16 channels"),
    ):
        with pytest.raises(lab.ArgumentError, match=said):
            lab.compile_tables(model, x)


@pytest.mark.parametrize("low, high, knots", [(-1, 1, 129), (-1, 1, 5001), (1000, 1001, 129)])
def test_the_ends_of_an_example_are_inside_its_tables(low, high, knots):
    """Values, and slopes: at the last knot a table would have that of a fall to 0 beyond it."""
    layer = KANLayer(1, 1, low=low, high=high)
    torch.nn.init.normal_(layer.coefficients, generator=torch.Generator().manual_seed(0))
    x = low + (high - low) * torch.linspace(0, 1, 101)[:, None]
    tables, (error,) = lab.compile_tables(layer, x, knots)
    exact = copy.deepcopy(layer).double()
    assert (tables(x).double() - exact(x.double())).abs().max() <= error.bound
    inside, beyond = x.clone().requires_grad_(), torch.tensor([[low - 3.0], [high + 3.0]])
    (slopes,) = torch.autograd.grad(tables(inside).sum(), inside)
    doubles = x.double().requires_grad_()
    (right,) = torch.autograd.grad(exact(doubles).sum(), doubles)
    torch.testing.assert_close(slopes.double(), right, rtol=0, atol=0.1 * float(right.abs().max()))
    torch.testing.assert_close(tables(beyond), tables(x[[0, -1]]), rtol=0, atol=2 * error.bound)


def test_a_table_of_one_large_number_is_as_wide_as_its_rounding_asks():
    layer, x = KANLayer(1, 1), torch.full((3, 1), 3e7)
    torch.testing.assert_close(lab.compile_tables(layer, x)[0](x), layer(x), rtol=1e-6, atol=0)
