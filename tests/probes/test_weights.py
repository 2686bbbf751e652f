"""The run axis of a model: its own word, never its shapes."""

import numpy as np
import pytest
import torch
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.models.layers import Embedding, Linear, Norm
from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline
from lab.probes.calling import function_of
from lab.probes.landscape import random
from lab.probes.weights import flat, runs_of, weights
from tests.models.making import decoder

X = torch.rand(60, 8, generator=torch.Generator().manual_seed(0)) * 2 - 1


def without_biases(*sizes):
    torch.manual_seed(0)
    layers = [nn.Linear(a, b, bias=False) for a, b in zip(sizes, sizes[1:], strict=False)]
    return nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))


class Wrapped(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)


@pytest.mark.parametrize("sizes", [(8, 8, 8), (8, 1), (1, 1, 1), (8, 8)])
def test_matrices_of_one_size_are_no_run_axis(sizes):
    assert runs_of(without_biases(*sizes)) is None
    assert runs_of(nn.Embedding(8, 8)) is None


@pytest.mark.parametrize("runs", [1, 3])
def test_models_of_the_lab_say_how_many_they_are(runs):
    seeds = range(runs)
    assert runs_of(decoder(runs)[0]) == runs
    model = MLP((8, 4, 1), seeds, nn.Tanh())
    for found in (
        model,
        Wrapped(model),
        nn.Sequential(Wrapped(model)),
        Linear(runs, 4, 2),
        Norm(runs, 4),
        Embedding(runs, 3, 2),
        nn.Sequential(Linear(runs, 4, 2), nn.Tanh(), Linear(runs, 2, 1)),
    ):
        assert runs_of(found) == runs
    learning = MLP((8, 4, 1), seeds, Spline(torch.zeros(9), learnable=True))
    assert runs_of(learning) == runs, "one function for all runs"
    assert runs_of(nn.Sequential(Linear(runs, 4, 2), nn.Linear(2, 2))) is None, "half of it has no run axis"


def test_the_word_of_a_model_is_checked():
    model = without_biases(8, 8, 8)
    model.runs = 8
    assert runs_of(model) == 8
    model.runs = 3
    with pytest.raises(ArgumentError, match="says runs=3, and its 0.weight is 8 long"):
        runs_of(model)


def test_random_directions_of_layers_without_biases_are_filter_normalized():
    """Li et al. 2018: the weights into each neuron, here the rows of torch's matrices, as long as the model's own."""
    model = without_biases(64, 64, 64)
    plane, size = random(model, "filter", seed=1), 64 * 64
    for direction in plane.directions:
        for part, layer in zip((direction[:size], direction[size:]), (model[0], model[2]), strict=True):
            rows = layer.weight.detach().double().norm(dim=1)
            np.testing.assert_allclose(np.linalg.norm(part.reshape(64, 64), axis=1), rows, rtol=1e-6)


def test_the_landscape_of_layers_without_biases_is_that_of_the_model_at_each_point():
    model, y = without_biases(8, 8, 8), X.sum(1)
    head = nn.Sequential(model, nn.Linear(8, 1, bias=False))
    found = probes.landscape(head, {"loss": probes.Loss(X, y), "v": probes.Variation(X, paths=9)}, "random", grid=3)
    for row in range(3):
        for column in range(3):
            at = found.at(found.x[column], found.y[row])
            assert found.values["loss"][row, column] == pytest.approx(((at(X)[:, 0] - y) ** 2).mean().item(), rel=1e-5)
            alone = probes.total_variation(at, X, paths=9).value
            assert found.values["v"][row, column] == pytest.approx(alone, rel=1e-4)


def test_a_learnable_function_of_all_runs_is_measured_point_by_point():
    """It has no run axis, so no two models with functions of their own stand side by side."""
    model = MLP((8, 4, 1), [0], Spline(torch.linspace(-1, 1, 9), -2.0, 2.0, learnable=True))
    assert "phi.values" in weights(model)
    found = probes.landscape(model, {"loss": probes.Loss(X, X.sum(1))}, "random", grid=3)
    assert found.chunk == 1 and found.plane.centre.size == flat(model).size
    at = found.at(found.x[0], found.y[2])
    expected = ((at(X[None])[0, :, 0] - X.sum(1)) ** 2).mean().item()
    assert found.values["loss"][2, 0] == pytest.approx(expected, rel=1e-5)


def test_a_square_layer_is_called_as_it_is():
    layer = nn.Linear(1, 1, bias=False)
    points = np.array([[2.0], [3.0]])
    assert function_of(layer) is layer
    values = probes.slice_1d(layer, points[0], points[1], samples=2).values
    np.testing.assert_allclose(values, points[:, 0] * layer.weight.item(), rtol=1e-6)


def test_codes_of_a_model_that_has_no_runs():
    class Own(nn.Module):
        """One layer, one model: scores (examples, heads, query, key)."""

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4, 4))

        def attention_scores(self, inputs, normalized=True):
            return [inputs[:, None].expand(-1, 2, -1, -1) * 1.0]

    inputs = torch.rand(3, 4, 4)
    found = probes.latent_codes(Own(), inputs, query=2, key=1)
    np.testing.assert_allclose(found.codes, inputs[:, 2, 1, None].expand(-1, 2))
    with pytest.raises(ArgumentError, match="run=1: Own has no run axis"):
        probes.latent_codes(Own(), inputs, query=2, key=1, run=1)
