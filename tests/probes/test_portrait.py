"""The random network of a non-linearity: its own network is its oracle, linear functions are its law."""

import numpy as np
import pytest
import torch
from torch import nn

from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline
from lab.probes.profile import SIZES, portrait, variation


def test_it_is_the_function_of_the_network():
    phi = Spline.from_function(torch.sin)
    found = portrait(phi, seed=3, scale=1.5, grid=9, samples=11)
    network = MLP(SIZES, [3], phi, 1.5).requires_grad_(False)
    x, y = np.meshgrid(found.plane.x, found.plane.y)
    points = torch.from_numpy(np.stack([x.ravel(), y.ravel()], 1)).float()
    np.testing.assert_allclose(found.plane.values.ravel(), network(points[None]).flatten(), atol=1e-5)
    diagonal = torch.linspace(-1, 1, 11)[:, None].expand(11, 2)
    np.testing.assert_allclose(found.line.values, network(diagonal[None]).flatten(), atol=1e-5)
    assert len(found.received) == 500 * sum(SIZES[1:-1])
    first = found.received[: 500 * SIZES[1]].reshape(500, SIZES[1])  # affine in the two inputs of each point
    layer = network.layers[0]
    solved = np.linalg.lstsq(layer.weight[0].T.numpy(), (first - layer.bias[0].numpy()).T, rcond=None)[0]
    np.testing.assert_allclose(solved.T @ layer.weight[0].numpy() + layer.bias[0].numpy(), first, atol=1e-4)
    assert np.abs(solved).max() <= 1 + 1e-4 and solved.std() == pytest.approx(3**-0.5, abs=0.03)


def test_a_linear_network_has_no_variation_and_a_wavy_one_has_more_the_more_it_waves():
    assert variation(nn.Identity()).value == 0
    straight = variation(Spline.from_function(lambda x: 2 * x + 1, -64.0, 64.0, 3)).value
    found = [variation(Spline.from_function(lambda x, k=k: torch.sin(k * x))) for k in (1, 3)]
    assert straight < 0.01 * found[0].low  # float32 locates an input among ±64 to some 1e-5 only
    assert 0 < found[0].high < found[1].low


@pytest.mark.parametrize("change", [{"seed": 1}, {"scale": 2.0}])
def test_seed_and_scale_make_another_network_and_the_same_arguments_the_same(change):
    phi = Spline.from_function(torch.tanh)
    one, same, other = (portrait(phi, **arguments) for arguments in ({}, {}, change))
    np.testing.assert_array_equal(one.plane.values, same.plane.values)
    assert not np.array_equal(one.plane.values, other.plane.values)
    assert variation(phi).value == variation(phi).value != variation(phi, **change).value
