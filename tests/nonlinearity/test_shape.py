"""Functions made from functions: smoothing, arithmetic, sampling; and the two forms of a non-linearity."""

import operator

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import ArgumentError
from lab.nonlinearity.functions import named
from lab.nonlinearity.part import SHAPES, as_fixed_part, as_module, as_part, reshape
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo
from lab.spec import Knots

INF, NAN = float("inf"), float("nan")
shapes = st.tuples(st.sampled_from([(), (1,), (3,)]), st.integers(2, 40)).map(lambda s: (*s[0], s[1]))


def some(shape, seed, low=-3.0, high=5.0):
    return Spline(torch.randn(shape, generator=torch.Generator().manual_seed(seed)), low, high)


# Smoothing.


@given(shapes, st.floats(0, 8))
def test_smoothing_keeps_constants_and_stays_between_the_extremes(shape, bandwidth):
    level = Spline(torch.full(shape, 1.5), -3.0, 5.0).smoothed(bandwidth)
    torch.testing.assert_close(level.values, torch.full(shape, 1.5))
    phi = some(shape, 0)
    smooth = phi.smoothed(bandwidth)
    assert smooth.values.shape == shape and (smooth.low, smooth.high) == (-3.0, 5.0)
    slack = 1e-6
    assert (smooth.values.amax(-1) <= phi.values.amax(-1) + slack).all()
    assert (smooth.values.amin(-1) >= phi.values.amin(-1) - slack).all()


def test_smoothing_is_a_gaussian_average():
    """A wave of frequency ω shrinks by exp(−(ω · bandwidth)² / 2), a line stays, where the ends are far away."""
    middle = slice(150, 211)
    for frequency, bandwidth in ((1.0, 0.5), (2.0, 1.0), (3.0, 0.4)):
        wave = Spline.from_function(lambda x, f=frequency: torch.sin(f * x))
        factor = np.exp(-((frequency * bandwidth) ** 2) / 2)
        torch.testing.assert_close(
            wave.smoothed(bandwidth).values[middle], factor * wave.values[middle], rtol=0, atol=1e-3
        )
    line = Spline.from_function(lambda x: 2 * x - 1)
    torch.testing.assert_close(line.smoothed(1.0).values[middle], line.values[middle])


@given(shapes, st.floats(0.01, 5))
def test_smoothing_is_linear_and_knows_no_direction(shape, bandwidth):
    phi, psi = some(shape, 1), some(shape, 2)
    apart = 2 * phi.smoothed(bandwidth) - psi.smoothed(bandwidth)
    torch.testing.assert_close((2 * phi - psi).smoothed(bandwidth).values, apart.values, rtol=0, atol=1e-5)
    mirrored = Spline(phi.values.flip(-1), phi.low, phi.high)
    torch.testing.assert_close(mirrored.smoothed(bandwidth).values.flip(-1), phi.smoothed(bandwidth).values)


def test_no_bandwidth_changes_nothing():
    phi = zoo("transformers/add")
    assert torch.equal(phi.smoothed(0).values, phi.values) and torch.equal(phi.smoothed(1e-9).values, phi.values)


@pytest.mark.parametrize("bandwidth", [-1, 8.5, NAN, INF, "wide", None])
def test_a_bandwidth_that_is_none_is_named(bandwidth):
    with pytest.raises(ArgumentError, match="bandwidth=.*in units of x, 0 to 8"):
        some((5,), 0).smoothed(bandwidth)


# Arithmetic.


@given(shapes, st.integers(0, 99))
def test_arithmetic_is_that_of_values(shape, seed):
    phi, psi = some(shape, seed), some(shape, seed + 1)
    x = torch.linspace(-5, 7, 60).expand(*shape[:-1], 60)
    made = {
        phi + psi: phi(x) + psi(x),
        phi - psi: phi(x) - psi(x),
        -phi: -phi(x),
        2 * phi: 2 * phi(x),
        phi * 3: 3 * phi(x),
        phi / 4: phi(x) / 4,
        np.float64(0.5) * phi: phi(x) / 2,
    }
    for function, values in made.items():
        torch.testing.assert_close(function(x), values, rtol=1e-5, atol=1e-5)
        assert (function.low, function.high, function.values.shape) == (-3.0, 5.0, shape)
        assert function.values.dtype == torch.float32 and not function.values.requires_grad


def test_the_operands_stay_as_they_are_and_one_function_meets_many():
    phi, many = Spline(torch.ones(4), 0.0, 1.0, learnable=True), Spline(torch.arange(12.0).view(3, 4), 0.0, 1.0)
    total = many + phi
    assert torch.equal(total.values, many.values + 1) and torch.equal((phi - many).values, 1 - many.values)
    total.values.add_(7)
    assert torch.equal(phi.values, torch.ones(4)) and phi.values.requires_grad


@pytest.mark.parametrize(
    "other", [some((6,), 0), some((5,), 0, -4.0), some((5,), 0, high=6.0), some((3, 5), 0)], ids=str
)
@pytest.mark.parametrize("act", [operator.add, operator.sub])
def test_different_knots_are_named_with_the_way_out(other, act):
    phi = some((2, 5), 0)
    with pytest.raises(
        ArgumentError, match=r"different knots; bring one .* Spline.from_function\(phi, low, high, knots\)"
    ):
        act(phi, other)


@pytest.mark.parametrize("other", ["2", None, 1j, [1.0]])
@pytest.mark.parametrize("act", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_what_is_no_function_and_no_number_is_a_type_error(other, act):
    with pytest.raises(TypeError, match="unsupported operand|can't multiply"):
        act(some((5,), 0), other)


# Sampling.


def test_the_spline_of_a_function_has_its_values_at_the_knots():
    for f in (torch.sin, torch.nn.GELU(), zoo("transformers/add"), lambda x: x.numpy() ** 2):
        phi = Spline.from_function(f, -4.0, 6.0, 101)
        assert torch.equal(phi.values, torch.as_tensor(f(phi.positions))) and len(phi.values) == 101
        assert not phi.values.requires_grad
    assert Spline.from_function(torch.sin, learnable=True).values.requires_grad
    phi = zoo("transformers/add")
    torch.testing.assert_close(Spline.from_function(phi).values, phi.values, rtol=0, atol=1e-5)  # the same knots


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: x[1:], r"shape \(6,\) for 7 knots"),
        (lambda x: x.sum(), r"shape \(\) for 7 knots"),
        (torch.log, "3 values finite; it must give one finite value a knot"),
    ],
    ids=("short", "number", "log"),
)
def test_a_function_that_gives_something_else_is_named(f, said):
    with pytest.raises(ArgumentError, match=said):
        Spline.from_function(f, -3.0, 3.0, 7)


@pytest.mark.parametrize("knots", [1, 0, 2.5, "9"])
def test_too_few_knots_are_named(knots):
    with pytest.raises(ArgumentError, match="knots=.*2 or more"):
        Spline.from_function(torch.sin, knots=knots)


# Spec and module.


@pytest.mark.parametrize("phi", [some((7,), 0), some((7,), 0).polynomial(3), some((7,), 0).chebyshev(4)], ids=str)
def test_a_function_survives_its_spec(phi):
    x = torch.linspace(-9, 9, 99)
    assert torch.equal(as_module(as_part(phi))(x), phi(x)) and as_part(as_part(phi)) == as_part(phi)


def test_names_survive_their_spec():
    assert as_part("relu") == "relu" and isinstance(as_module("relu"), torch.nn.ReLU)
    assert as_part("softmax", "attention") == "softmax"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_the_method_of_its_name(shape):
    phi = zoo("transformers/memorize")
    made, x = as_module(reshape(as_part(phi), shape, 18)), torch.linspace(-9, 9, 99)
    wanted = phi.symmetrized().spline if shape == "symmetrized" else getattr(phi, shape)(18)
    assert torch.equal(made(x), wanted(x)) and isinstance(made, Spline if shape == "symmetrized" else Polynomial)


@pytest.mark.parametrize(
    ("given", "name"),
    [(torch.nn.GELU(), "gelu"), (torch.relu, "relu"), (torch.nn.functional.silu, "silu"), (torch.sinc, "sinc")],
    ids=["module", "function of torch", "function of torch.nn", "another function of torch"],
)
def test_what_has_a_name_is_named(given, name):
    assert as_part(given) == name


@pytest.mark.parametrize(
    "given", [torch.sin, torch.nn.GELU(approximate="tanh"), lambda x: x.cos()], ids=["sin", "tanh GELU", "lambda"]
)
def test_other_functions_are_splines_through_their_values(given):
    assert as_part(given) == as_part(Spline.from_function(given))


def test_a_name_of_the_zoo_and_what_a_search_gives_are_their_splines():
    class Result:
        def __init__(self, **splines):
            self.splines, self.spline = splines, next(iter(splines.values()))

    phi, other = zoo("transformers/memorize"), some((7,), 0)
    assert as_part(other.symmetrized()) == as_part(other.symmetrized().spline)
    assert as_part("transformers/memorize") == as_part(phi) == as_part(Result(phi=phi), "mlp")
    both = Result(mlp=phi, attention=other)
    assert as_part(both, "attention") == as_part(other) and as_part(both, "mlp") == as_part(both) == as_part(phi)
    with pytest.raises(ArgumentError, match=r"mlp: the search has the functions phi0, phi1; give one of its .splines"):
        as_part(Result(phi0=phi, phi1=other), "mlp")


def test_a_setting_of_ones_own_is_none_of_the_name():
    phi = named("smoothrelu2")
    phi.a = 2.0
    assert as_part(phi) == as_part(Spline.from_function(phi)) and as_module(phi) is phi


def test_a_spline_that_learns_is_none_that_stays_as_it_is():
    phi = Spline.zeros(5)
    with pytest.raises(ArgumentError, match="mlp: this spline is learnable, .*requires_grad_.* lab.search .* lab.comp"):
        as_fixed_part(phi, "mlp")
    assert as_fixed_part(phi.requires_grad_(False)) == as_part(phi) and as_fixed_part("relu") == "relu"


WRONG = {
    "mlp='softmax': softmax is no function of one number; give a name such as 'gelu'": "softmax",
    "mlp=3 is no function; give a name": 3,
    "mlp=None is no function": None,
    r"the class GELU.*give GELU\(\)": torch.nn.GELU,
    "no function 'transformers/chess' in the zoo": "transformers/chess",
    "mlp: a PReLU has weights of its own": torch.nn.PReLU(),
    "mlp: a function gives shape": lambda x: x[:3],
    "mlp: a function fails with AttributeError": lambda x: x.sine(),
}


@pytest.mark.parametrize("said", WRONG)
def test_what_is_no_non_linearity_is_named(said):
    with pytest.raises(ArgumentError, match=said) as raised:
        as_part(WRONG[said], "mlp")
    assert "\n" not in str(raised.value)


def test_an_unknown_shape_is_named():
    with pytest.raises(ArgumentError, match="'round'; known: symmetrized, polynomial, chebyshev"):
        reshape(Knots(-1.0, 1.0, (0.0, 1.0)), "round")
