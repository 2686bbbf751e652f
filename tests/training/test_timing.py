"""Timing of steps: fleets take turns, each is timed by its own steps, and ratios are of the same rounds."""

import numpy as np
import pytest
import torch

from lab.spec import AdamTrapezoid, ModelSpec, RunSpec
from lab.training.fleet import Fleet
from lab.training.live import Times, interleaved, products


def fleet(layers=1, phi="gelu"):
    recipe = AdamTrapezoid(steps=1_000, rate=0.001, batch=8, every=1_000)
    spec = RunSpec("memorize", ModelSpec(layers=layers, width=8, mlp=phi), recipe, 0, ())
    return Fleet([spec], [(phi, "softmax")])


def test_ratios_are_of_the_same_rounds():
    slow = np.array([2.0, 4.0, 20.0])
    times = Times({"a": slow, "b": slow / 2}, np.array([10.0, 10.0, 10.0]))
    assert times.ratio("a", "b") == (2.0, 0.0), "a slow round is slow for both"
    assert times.share("b", 20.0) == pytest.approx(1.0)


def test_every_fleet_takes_the_same_steps():
    fleets = {"gelu": fleet(), "relu": fleet(phi="relu")}
    times = interleaved(fleets, rounds=3, steps=2)
    assert {one.step for one in fleets.values()} == {1 + 3 * 2}
    assert all(len(found) == 3 and (found > 0).all() for found in [*times.seconds.values(), times.rates])


def test_products_grow_with_the_model():
    one, two, three = (products(fleet(layers)) for layers in (1, 2, 3))
    assert three - two == two - one > 0
    assert torch.is_grad_enabled()
