"""The schedule: a literal table, closed forms, and its boundaries."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.spec import AdamTrapezoid, AdamWCosine, replace
from lab.training.optimizers import factor


def recipe(steps, **change):
    return replace(AdamTrapezoid(steps, rate=0.1, batch=1), **change)


def test_literal_table():
    """20 steps: 2 of warm-up, flat, 10 of cosine, whose values at multiples of 18° are in every book of tables."""
    cosine = [1.0, 0.975528, 0.904508, 0.793893, 0.654508, 0.5, 0.345492, 0.206107, 0.095492, 0.024472]
    wanted = [0.5, 1.0, *[1.0] * 8, *cosine]
    assert [factor(recipe(20, warmup=0.1), s) for s in range(20)] == pytest.approx(wanted, abs=1e-6)


def test_table_4_five_per_cent_warm_up_and_half_cosine():
    r = recipe(1000)
    assert [factor(r, s) for s in (0, 24, 49)] == pytest.approx([0.02, 0.5, 1.0])
    assert {factor(r, s) for s in range(49, 501)} == {1.0}
    assert factor(r, 750) == pytest.approx(0.5)
    assert factor(r, 999) == pytest.approx(math.sin(math.pi / 1000) ** 2)  # (1 - cos 2a) / 2 = sin² a


@given(st.integers(1, 3000), st.floats(0, 0.5), st.floats(0, 0.5))
def test_shape(steps, warmup, cooldown):
    r = recipe(steps, warmup=warmup, cooldown=cooldown)
    values = [factor(r, s) for s in range(steps)]
    warm, cool = max(1, round(warmup * steps)), round(cooldown * steps)
    assert all(0 < v <= 1 for v in values), "a step at rate 0 is a step lost"
    assert max(values) == 1.0
    rises = [b - a for a, b in zip(values[:warm], values[1:warm], strict=False)]
    assert rises == pytest.approx([1 / warm] * len(rises))  # linear
    falls = values[max(warm - 1, steps - cool) :]
    assert all(b < a for a, b in zip(falls, falls[1:], strict=False)) or not cool
    if cool > 1 and warm + cool <= steps:
        assert values[-1] == pytest.approx(math.sin(math.pi / (2 * cool)) ** 2)


def test_stopping_early_leaves_the_schedule_as_it_is():
    assert [factor(recipe(100, stop=10), s) for s in range(10)] == [factor(recipe(100), s) for s in range(10)]


def test_without_warm_up_and_cool_down_the_rate_is_constant():
    assert {factor(recipe(50, warmup=0.0, cooldown=0.0), s) for s in range(50)} == {1.0}


def test_cosine_to_a_tenth():
    """Warm-up from 0 over two steps, a cosine over six, two steps at a tenth: values at multiples of 30°."""
    middle = [0.1 + 0.45 * (1 + c) for c in (1.0, 0.866025, 0.5, 0.0, -0.5, -0.866025)]
    found = [factor(AdamWCosine(10, rate=0.1, batch=1, warmup=2), s) for s in range(10)]
    assert found == pytest.approx([0.0, 0.5, *middle, 0.1, 0.1], abs=1e-6)


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_shape_of_the_cosine(steps, warmup):
    r = AdamWCosine(steps, rate=0.1, batch=1, warmup=warmup)
    values = [factor(r, s) for s in range(steps)]
    assert all(0 <= value <= 1 for value in values) and values[0] == (0.0 if warmup else 1.0)
    up, down = values[: warmup + 1], values[warmup:]
    assert up == sorted(up) and down == sorted(down, reverse=True)
    assert not down[1:] or min(down) >= 0.1
