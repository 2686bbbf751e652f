"""Profiles of functions and of their inputs, against numpy.interp and laws."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.probes.profile import counts, profile, received

numbers = st.floats(-100, 100, width=32)


@given(st.lists(numbers, min_size=2, max_size=50), st.lists(numbers, min_size=1, max_size=20))
def test_between_and_outside_its_points_a_profile_is_the_function(values, x):
    phi = Spline(torch.tensor(values), low=-3.0, high=5.0)
    shape = profile(phi)
    assert shape.constant
    # numpy.interp is linear between points and constant outside; float32 positions cost a few units of the last place
    expected = phi(torch.tensor(x)).numpy()
    np.testing.assert_allclose(np.interp(x, shape.x, shape.y), expected, atol=1e-4 * (1 + np.ptp(values)))


def test_the_slope_is_that_of_autograd():
    phi = Spline(torch.randn(40, generator=torch.Generator().manual_seed(0)))
    shape = profile(phi)
    x = torch.from_numpy((shape.x[1:] + shape.x[:-1]) / 2).float().requires_grad_()
    phi(x).sum().backward()
    np.testing.assert_allclose(shape.slope, x.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_any_function_is_sampled():
    shape = profile(torch.sin, -1.0, 2.0, samples=7)
    assert not shape.constant
    np.testing.assert_allclose(shape.x, np.linspace(-1, 2, 7))
    np.testing.assert_allclose(shape.y, np.sin(shape.x))


def test_heights_are_those_of_the_window():
    shape = profile(Spline(torch.tensor([0.0, 4.0, -2.0]), low=-1.0, high=1.0))
    assert shape.heights(-1, 1) == (-2, 4)
    assert shape.heights(-0.5, -0.25) == (2, 3)  # no point inside: the ends of the window
    assert shape.heights(5, 9) == (-2, -2)


def test_support_is_where_the_function_is_not_flat():
    values = torch.zeros(41)
    values[10:15] = 1.0
    low, high = profile(Spline(values)).support()
    assert (low, high) == (-11, -5)
    assert profile(Spline(torch.ones(5))).support() == (-20, 20)
    step = profile(Spline((torch.arange(41) > 30).float())).support()
    assert step == (10, 11)


@given(st.lists(numbers, min_size=1, max_size=200), st.integers(2, 60))
def test_every_input_is_counted_once_at_its_nearest_point(inputs, points):
    found = counts(torch.tensor(inputs), -2.0, 7.0, points)
    assert found.sum() == len(inputs)
    x = np.linspace(-2, 7, points)
    distance = np.abs(np.array(inputs)[:, None].clip(-2, 7) - x)
    closest = distance.min(1, keepdims=True) + 1e-6  # an input half-way may go to either side
    assert (found <= (distance <= closest).sum(0)).all()


def test_the_central_part_of_the_inputs():
    shape = profile(Spline(torch.zeros(401)))
    seen = received(torch.randn(200_000, generator=torch.Generator().manual_seed(0)), shape)
    assert seen.share.sum() == pytest.approx(1)
    low, high = seen.central(0.99)
    assert low == pytest.approx(-2.58, abs=0.15)  # quantiles of the normal distribution, to one knot
    assert high == pytest.approx(2.58, abs=0.15)


def test_what_cannot_be_looked_at_is_refused():
    with pytest.raises(ArgumentError, match="3 functions"):
        profile(Spline(torch.zeros(3, 5)))
    with pytest.raises(ArgumentError, match="2 of 3 inputs"):
        counts(torch.tensor([1.0, torch.nan, torch.nan]), -1, 1, 3)
    with pytest.raises(ArgumentError, match="no inputs"):
        received(torch.zeros(0), profile(Spline(torch.zeros(5))))
