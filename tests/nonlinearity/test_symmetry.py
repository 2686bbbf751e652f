"""Symmetric versions: laws of mirrors and shifts, and a search over all shifts written without correlation."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lab.errors import ArgumentError
from lab.nonlinearity.shapes import MIRRORS, symmetrize
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import MINE, zoo, zoo_names

values = arrays(float, st.integers(2, 40), elements=st.integers(-8, 8).map(float))  # sums of these are exact
IMAGES = {"x": lambda y: y[::-1], "y": lambda y: -y, "both": lambda y: -y[::-1]}


def through(f, low=-20.0, high=20.0, knots=361):
    return Spline.from_function(f, low, high, knots)


def wave(x):
    return torch.sin(2 * x) * torch.exp(-(x**2) / 4)


def hill(x):
    return torch.cos(3 * x) * torch.exp(-(x**2) / 2)


@pytest.mark.parametrize(("f", "mirror"), [(wave, "both"), (hill, "x"), (torch.abs, "x"), (torch.tanh, "both")])
def test_a_symmetric_function_is_its_own_symmetric_version(f, mirror):
    phi = through(f)
    found = phi.symmetrized()
    assert (found.mirror, found.shift) == (mirror, 0.0)
    assert found.correlation == pytest.approx(1, abs=1e-6) and found.correlation <= 1
    torch.testing.assert_close(found.spline.values, phi.values, rtol=0, atol=1e-6)
    assert found.centre == pytest.approx(0)


@pytest.mark.parametrize("knots", [-17, 1, 30])
@pytest.mark.parametrize(("f", "mirror"), [(wave, "both"), (hill, "x")])
def test_a_shifted_one_is_found_at_its_shift(f, mirror, knots):
    """Mirrored at 0, it lies as far to the other side: its image moves by twice the shift."""
    phi, by = through(f), knots / 9
    found = through(lambda x: f(x - by)).symmetrized()
    assert found.mirror == mirror and found.correlation == pytest.approx(1, abs=1e-5)
    assert found.shift == pytest.approx(2 * by) and found.centre == pytest.approx(by)
    torch.testing.assert_close(found.spline.values, torch.roll(phi.values, knots), rtol=0, atol=1e-5)


def test_the_range_need_not_lie_around_zero():
    found = through(lambda x: hill(x - 3), low=-5.0, high=9.0, knots=141).symmetrized()
    assert found.mirror == "x" and found.centre == pytest.approx(3) and found.shift == pytest.approx(2)


def test_a_wave_turned_over_is_found_half_a_period_on():
    """Whatever its form: this one has neither an axis nor a point of symmetry. Half a period at an end is left over."""
    period = [0.0, 3.0, 1.0, 0.0, -3.0, -1.0]
    values, mirror, shift, correlation = symmetrize(np.tile(period, 30))
    assert (mirror, abs(shift)) == ("y", 3) and correlation == pytest.approx(1 - 0.5 / 30)
    np.testing.assert_allclose(values[6:-6], np.tile(period, 28))


@given(values)
def test_it_is_the_image_that_overlaps_most(y):
    """Every image at every shift, laid over the function by hand on a table wide enough for all."""
    assume(y.any())
    n, best = len(y), -np.inf
    wide = np.pad(y, n)
    for mirror in MIRRORS:
        image = np.pad(IMAGES[mirror](y), n)
        best = max(best, *(float(wide @ np.roll(image, s)) / float(y @ y) for s in range(1 - n, n)))
    _, mirror, shift, correlation = symmetrize(y)
    assert correlation == pytest.approx(best) and 0 <= correlation <= 1
    overlap = float(wide @ np.roll(np.pad(IMAGES[mirror](y), n), shift)) / float(y @ y)
    assert overlap == pytest.approx(best)


@given(values, st.sampled_from(MIRRORS))
def test_an_image_has_the_same_correlation_as_the_original(y, mirror):
    assert symmetrize(IMAGES[mirror](y))[3] == pytest.approx(symmetrize(y)[3])


@given(values, st.sampled_from([0.25, 2.0, -4.0]))
def test_height_is_no_matter(y, factor):
    one, other = symmetrize(y), symmetrize(factor * y)
    assert other[1:3] == one[1:3] and other[3] == pytest.approx(one[3])
    np.testing.assert_allclose(other[0], factor * one[0])


# The shipped ones: whoever runs this may have functions of their own, in a store that tests do not see.
@pytest.mark.parametrize("name", [name for name in zoo_names() if not name.startswith(f"{MINE}/")])
def test_learned_functions_become_symmetric_around_their_centre(name):
    """The result is the average, and its own image about the stated centre, wherever the image came from the range."""
    phi = zoo(name)
    found = phi.symmetrized()
    x = torch.linspace(-30, 30, 2000, dtype=torch.float64)
    double = Spline(phi.values.double(), phi.low, phi.high)
    sign = 1 if found.mirror == "x" else -1
    seen = x - found.shift if found.mirror == "y" else 2 * found.centre - x
    average = (double(x) + sign * double(seen)) / 2
    inside = (seen >= phi.low) & (seen <= phi.high)
    at_knots = Spline(found.spline.values.double(), phi.low, phi.high)(x)
    within = inside & (x.abs() <= phi.high)
    torch.testing.assert_close(at_knots[within], average[within], rtol=0, atol=1e-6)
    assert 0 < found.correlation < 1 and found.spline.values.dtype == phi.values.dtype
    again = found.spline.symmetrized()
    assert again.correlation > found.correlation


def test_zero_is_symmetric():
    found = Spline.zeros().symmetrized()
    assert found.correlation == 1 and not found.spline.values.any() and not found.spline.values.requires_grad


def test_what_has_no_one_shape_is_refused():
    with pytest.raises(ArgumentError, match="has 3 functions; give one of them"):
        Spline(torch.zeros(3, 5)).symmetrized()
    with pytest.raises(ArgumentError, match="not finite"):
        Spline(torch.tensor([0.0, float("nan")])).symmetrized()
