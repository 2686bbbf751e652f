"""Polynomials in a spline's place: exact fits, numpy's polynomials and autograd as oracles, the best of their kind."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev, polynomial
from torch.autograd import gradcheck, gradgradcheck

from lab.errors import ArgumentError
from lab.nonlinearity.shapes import Polynomial, _Value, formula
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo

INF, NAN = float("inf"), float("nan")
BASES = ("powers", "chebyshev")
NAMES = ("transformers/memorize", "transformers/addmod", "transformers/copy")
every_basis = pytest.mark.parametrize("basis", BASES)
numbers = st.lists(st.floats(-2, 2), min_size=1, max_size=12)
ranges = st.tuples(st.floats(-20, 10), st.floats(0.5, 20)).map(lambda r: (r[0], r[0] + r[1]))


def oracle(x, coefficients, low, high, basis):
    """numpy's own evaluation, of the argument as the docstring words it."""
    x = np.clip(x, low, high)
    if basis == "powers":
        return polynomial.polyval(x / max(abs(low), abs(high)), coefficients)
    return chebyshev.chebval((2 * x - low - high) / (high - low), coefficients)


@given(numbers, ranges, st.sampled_from(BASES), st.integers(0, 2**32 - 1))
def test_values_are_numpy_s(coefficients, range_, basis, seed):
    low, high = range_
    x = np.random.default_rng(seed).uniform(2 * low - high, 2 * high - low, (3, 5))
    x[0, :2] = low, high
    got = Polynomial(coefficients, low, high, basis)(torch.from_numpy(x))
    assert got.shape == (3, 5) and got.dtype == torch.float64
    np.testing.assert_allclose(got.numpy(), oracle(x, coefficients, low, high, basis), rtol=1e-9, atol=1e-9)


def test_listing_2_of_the_paper():
    """Coefficients, range and normalization as printed; clamped as printed."""
    printed = [
        29327.20,
        18324.92,
        -41591.43,
        -12376.90,
        -14822.88,
        -29015.27,
        33452.63,
        10354.57,
        21105.54,
        45592.25,
        -47565.33,
        -47925.56,
        26296.37,
        18216.14,
        -6145.61,
        -2660.53,
        522.13,
        66.86,
        -0.63,
    ]
    listing = Polynomial(printed[::-1], -79.52, 71.65)
    x = torch.linspace(-100, 100, 1001, dtype=torch.float64)
    wanted = torch.zeros_like(x)
    for c in printed:
        wanted = wanted * (x.clamp(-79.52, 71.65) / 79.52) + c
    assert listing.degree == 18
    torch.testing.assert_close(listing(x), wanted)


@every_basis
@pytest.mark.parametrize("evaluate", [_Value.apply, formula], ids=["own", "formula"])
@pytest.mark.parametrize("degree", [0, 1, 2, 7])
@pytest.mark.parametrize("shape", [(), (6,), (2, 3)], ids=str)
def test_derivatives_are_finite_differences(basis, evaluate, degree, shape):
    c = np.random.default_rng(degree).normal(size=degree + 1)
    generator = torch.Generator().manual_seed(1)
    x = (torch.rand(shape, dtype=torch.float64, generator=generator) * 8 - 4).requires_grad_()  # range and both sides
    assert gradcheck(evaluate, (x, tuple(c.tolist()), -1.5, 2.0, basis))
    assert degree == 0 or gradgradcheck(evaluate, (x, tuple(c.tolist()), -1.5, 2.0, basis))


@every_basis
def test_edges(basis):
    p = Polynomial([0.5, 1.0, 3.0], -2.0, 1.0, basis)
    x = torch.tensor([-INF, -2.5, -2.0, 1.0, 2.5, INF, NAN], requires_grad=True)
    y = p(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert y[0] == y[1] == y[2] and y[3] == y[4] == y[5] and y[2] != y[3] and y[6].isnan()
    assert slope[[0, 1, 3, 4, 5]].tolist() == [0.0] * 5, "constant outside, and to the right of the end"
    assert slope[2] != 0, "inside, to the right of the first point"
    assert Polynomial([1.5], -1.0, 1.0, basis)(torch.tensor([0.0, NAN])).isnan().tolist() == [False, True]
    assert p(torch.zeros(0, 3)).shape == (0, 3)


@every_basis
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_inputs_cost_only_the_rounding_of_the_result(basis, dtype):
    p = Polynomial([0.1, -1.0, 0.7, 2.0], -2.0, 2.0, basis)
    x = torch.linspace(-3, 3, 150).to(dtype)
    got = p(x)
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), p(x.double()), rtol=torch.finfo(dtype).eps, atol=1e-6)
    torch.testing.assert_close(p.to(dtype)(x), got, rtol=0, atol=0)  # casting a model leaves its coefficients alone


# torch.func.jvp itself gives this warning
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@every_basis
def test_torch_func_and_compile_go_through(basis):
    p = Polynomial([0.3, -1.0, 0.7, 2.0], -2.0, 2.0, basis)
    x = torch.linspace(-3, 3, 12)
    (slope,) = torch.autograd.grad(p(x.requires_grad_()).sum(), x)
    x = x.detach()
    torch.testing.assert_close(torch.func.vmap(p)(x.view(3, 4)), p(x).view(3, 4))
    torch.testing.assert_close(torch.func.grad(lambda x: p(x).sum())(x), slope)
    torch.testing.assert_close(torch.func.jvp(p, (x,), (torch.ones(12),))[1], slope)
    compiled, y = torch.compile(p, backend="eager", fullgraph=True), x.clone().requires_grad_()  # traces only
    torch.testing.assert_close(compiled(x), p(x))
    torch.testing.assert_close(torch.autograd.grad(compiled(y).sum(), y)[0], slope)


def test_a_state_dict_carries_it():
    one, other = zoo(NAMES[0]).chebyshev(9), Polynomial([0.0], 0.0, 1.0, "chebyshev")
    x = torch.linspace(-9, 9, 99)
    assert [(name, t.dtype) for name, t in one.state_dict().items()] == [("_extra_state", torch.float64)]
    one.load_state_dict(one.state_dict())
    assert one.maximum_error is not None, "the same polynomial has the same error"
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(x), other(x)) and other.maximum_error is None


# Fits.


@pytest.mark.parametrize("degree", [0, 1, 3, 8])
@pytest.mark.parametrize("extra", [0, 2, 5])
def test_a_polynomial_is_fitted_exactly_at_the_knots(degree, extra):
    c = np.random.default_rng(degree).uniform(0.5, 1, degree + 1) * (-1.0) ** np.arange(degree + 1)
    phi = Spline(torch.from_numpy(polynomial.polyval(np.linspace(-1, 0.75, 99), c)), -4.0, 3.0)
    fit = phi.polynomial(degree + extra)
    x = torch.linspace(-4.0, 3.0, 99, dtype=torch.float64)
    torch.testing.assert_close(fit(x), phi.values, rtol=1e-9, atol=1e-9)
    assert fit.degree == degree + extra and fit.basis == "powers"


@pytest.mark.parametrize("make", ["polynomial", "chebyshev"])
@pytest.mark.parametrize("degree", [1, 2, 9])
def test_a_line_is_a_line(make, degree):
    """The one spline that is a polynomial between its knots, too."""
    phi = Spline.from_function(lambda x: 2 - 3 * x, -1.0, 4.0, 12)
    fit = getattr(phi, make)(degree)
    x = torch.linspace(-3, 6, 300)
    torch.testing.assert_close(fit(x), phi(x), rtol=0, atol=2e-5)
    assert fit.maximum_error < 2e-5 and fit.rms_error <= fit.maximum_error


def test_least_squares_has_the_normal_equations():
    """At the knots of the support, the error is orthogonal to every polynomial of the degree."""
    for name in NAMES:
        phi = zoo(name)
        fit, x, y = phi.polynomial(12), *phi._numbers()
        busy = (x >= fit.low - 1e-9) & (x <= fit.high + 1e-9)
        error = fit(torch.from_numpy(x[busy])).numpy() - y[busy]
        u = (x[busy] - x[busy].mean()) / np.ptp(x[busy]) * 2
        assert np.abs(chebyshev.chebvander(u, 12).T @ error).max() < 1e-7 * np.abs(y).sum()


@pytest.mark.parametrize("degree", [6, 18, 60])
def test_a_chebyshev_series_has_the_least_weighted_error(degree):
    """Its error is orthogonal to every polynomial of the degree, with weight 1 / √(1 − u²): an integral over angles,
    here by another rule and with other points than the fit's."""
    for name in NAMES:
        phi = zoo(name)
        fit = phi.chebyshev(degree)
        angles = np.pi * (np.arange(5000) + 0.5) / 5000
        x = torch.from_numpy((fit.low + fit.high) / 2 + (fit.high - fit.low) / 2 * np.cos(angles))
        error = (fit(x) - Spline(phi.values.double(), phi.low, phi.high)(x)).numpy()
        moments = np.cos(np.arange(degree + 1)[:, None] * angles) @ error / 5000
        assert np.abs(moments).max() < 1e-4 * phi.values.abs().max()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("degree", [4, 8, 12, 18])
def test_both_are_nearly_the_same_function_where_float32_can_tell(name, degree):
    """Each is the best in its own measure, so neither can be much better in the other's."""
    phi = zoo(name)
    powers, series = phi.polynomial(degree), phi.chebyshev(degree)
    assert (powers.low, powers.high) == (series.low, series.high)
    assert series.rms_error == pytest.approx(powers.rms_error, rel=0.08)


@pytest.mark.parametrize("name", NAMES)
def test_a_series_nears_the_function_with_every_degree_and_powers_do_not(name):
    phi = zoo(name)
    errors = [phi.chebyshev(degree).rms_error for degree in (0, 6, 12, 18, 24, 36, 48, 72)]
    assert errors == sorted(errors, reverse=True) and errors[-1] < errors[0] / 5
    assert phi.polynomial(36).rms_error > 10 * errors[0], "float32 has too few digits for Horner's method at degree 36"


@pytest.mark.parametrize("make", ["polynomial", "chebyshev"])
@pytest.mark.parametrize("name", NAMES)
def test_the_stated_errors_hold_everywhere(name, make):
    phi = zoo(name)
    fit = getattr(phi, make)(18)
    x = torch.linspace(-60, 60, 200_001)
    error = (fit(x) - phi(x)).abs()
    assert error.max() <= 1.02 * fit.maximum_error and error.max() >= 0.9 * fit.maximum_error
    inside = error[(x >= fit.low) & (x <= fit.high)]
    assert inside.square().mean().sqrt() == pytest.approx(fit.rms_error, rel=0.01)
    assert f"error {fit.maximum_error:.3g} at most" in repr(fit)


def test_the_support_is_where_the_function_is_not_zero():
    values = torch.zeros(21)
    values[[7, 9, 12]] = 1.0
    phi = Spline(values, -10.0, 10.0)
    for fit in (phi.polynomial(3), phi.chebyshev(3)):
        assert (fit.low, fit.high) == (-4.0, 3.0), "the zero knots on either side belong to it"
    whole = Spline(torch.ones(5), -2.0, 2.0).polynomial(0)
    assert (whole.low, whole.high) == (-2.0, 2.0) and whole.maximum_error < 1e-6
    zero = Spline.zeros().polynomial(4)
    assert (zero.low, zero.high, zero.maximum_error) == (-20.0, 20.0, 0.0)


@pytest.mark.parametrize("make", ["polynomial", "chebyshev"])
def test_wrong_degrees_and_functions_are_named(make):
    phi = Spline(torch.arange(5.0))
    for degree in (-1, 2.5, "3"):
        with pytest.raises(ArgumentError, match="degree=.*0 or more"):
            getattr(phi, make)(degree)
    most, said = (4, "has 5 knots; give a degree below") if make == "polynomial" else (1024, "at most 1024")
    assert getattr(phi, make)(most).degree == most
    with pytest.raises(ArgumentError, match=f"degree={most + 1}: .*{said}"):
        getattr(phi, make)(most + 1)
    with pytest.raises(ArgumentError, match="has 2 functions; give one of them"):
        getattr(Spline(torch.zeros(2, 5)), make)()
    with pytest.raises(ArgumentError, match="not finite"):
        getattr(Spline(torch.tensor([0.0, INF])), make)(1)


def test_wrong_polynomials_are_named():
    with pytest.raises(ArgumentError, match="unknown basis 'sines'; known: powers, chebyshev"):
        Polynomial([1.0], 0.0, 1.0, "sines")
    for coefficients, low, high in (([], 0.0, 1.0), ([1.0], 1.0, 1.0), ([NAN], 0.0, 1.0), ([1.0], 0.0, INF)):
        with pytest.raises(ArgumentError, match="give at least one, all numbers finite"):
            Polynomial(coefficients, low, high)
