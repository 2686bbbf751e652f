"""The sine nearest to a function: it finds the sine that is there, whatever line is under it, where weights say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.errors import ArgumentError
from lab.probes.profile import wave

X = np.linspace(-2, 2, 101)


@settings(max_examples=20)
@given(st.integers(40, 1960), st.floats(0, 6), st.floats(-5, 5), st.floats(-5, 5), st.floats(0.1, 10))
def test_a_sine_on_a_line_is_found(steps, phase, slope, height, size):
    frequency = steps / 160  # one that is tried: .25 to 12.25 periods a unit, where two points a period are 12.5
    found = wave(X, size * np.sin(2 * np.pi * frequency * X + phase) + slope * X + height)
    assert found.frequency == pytest.approx(frequency) and found.explained == pytest.approx(1, abs=1e-6)


def test_noise_is_like_no_sine_and_adding_it_lowers_what_is_explained():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=len(X))
    sine = np.sin(2 * np.pi * 2 * X)
    found = [wave(X, sine + size * noise).explained for size in (0.0, 0.3, 1.0, 3.0)]
    assert sorted(found, reverse=True) == found and found[0] > 0.99 and found[-1] < 0.5
    assert np.mean([wave(X, rng.normal(size=len(X))).explained for _ in range(20)]) < 0.2


def test_weights_say_where_it_counts():
    y = np.where(X < 0, np.sin(2 * np.pi * X), np.sin(2 * np.pi * 3 * X))
    assert wave(X, y, (X < 0).astype(float)).frequency == pytest.approx(1)
    assert wave(X, y, (X > 0).astype(float)).frequency == pytest.approx(3)


def test_it_is_the_least_squares_fit_of_numpy():
    rng = np.random.default_rng(1)
    y, weights = np.cumsum(rng.normal(size=len(X))), rng.random(len(X))
    found, root = wave(X, y, weights), np.sqrt(weights)
    design = np.stack([X**0, X, np.sin(2 * np.pi * found.frequency * X), np.cos(2 * np.pi * found.frequency * X)], 1)
    fit = np.linalg.lstsq(root[:, None] * design, root * y, rcond=None)[0]
    assert found.y == pytest.approx(design @ fit)
    line = np.polyval(np.polyfit(X, y, 1, w=root), X)
    assert found.explained == pytest.approx(
        1 - (weights * (y - found.y) ** 2).sum() / (weights * (y - line) ** 2).sum()
    )


def test_a_line_has_no_frequency_and_mistakes_are_named():
    found = wave(X, 3 * X - 1)
    assert np.isnan(found.frequency) and found.explained == 0 and found.y == pytest.approx(3 * X - 1)
    with pytest.raises(ArgumentError, match="more than 8 points"):
        wave(X[:5], X[:5])
    with pytest.raises(ArgumentError, match="weights are negative or all 0"):
        wave(X, X, 0 * X)


def test_the_control_is_what_noise_gives():
    rng, weights = np.random.default_rng(2), np.exp(-((X / 0.3) ** 2))
    found = [wave(X, rng.normal(size=len(X)), weights) for _ in range(30)]
    assert len({one.noise for one in found}) == 1, "it depends on points and weights alone"
    assert np.mean([one.explained <= one.noise for one in found]) > 0.8
    assert wave(X, np.sin(2 * np.pi * X), weights).explained > found[0].noise > wave(X, X**2).noise
