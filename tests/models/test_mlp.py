"""The perceptron: torch's own is its oracle; a run depends on its own seed alone."""

import torch
from torch import nn

from lab.models.mlp import MLP


def test_it_is_the_perceptron_of_torch():
    model = MLP((3, 16, 8, 2), seeds=[5], phi=nn.Tanh())
    layers = [nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 2)]
    for mine, theirs in zip(model.layers, layers[::2], strict=True):
        theirs.weight.data, theirs.bias.data = mine.weight.data[0].mT.contiguous(), mine.bias.data[0, 0]
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(x[None])[0], nn.Sequential(*layers)(x))
    for received, depth in zip(model.received(x[None]), (1, 3), strict=True):
        torch.testing.assert_close(received[0], nn.Sequential(*layers[:depth])(x))


def test_runs_depend_on_their_own_seed_alone():
    together = MLP((2, 8, 1), seeds=[3, 1, 3], phi=nn.ReLU())
    alone = MLP((2, 8, 1), seeds=[1], phi=nn.ReLU())
    x = torch.randn(1, 9, 2).expand(3, 9, 2)
    y = together(x)
    torch.testing.assert_close(y[1:2], alone(x[:1]))
    assert torch.equal(y[0], y[2]) and not torch.equal(y[0], y[1])


def test_weights_have_the_variance_that_keeps_that_of_relu():
    model = MLP((400, 600, 600, 600, 600), seeds=[0], phi=nn.ReLU())
    assert torch.isclose(model.layers[1].weight.var(), torch.tensor(2 / 600), rtol=0.02)
    x = torch.randn(1, 200, 400, generator=torch.Generator().manual_seed(1))
    first, *_, last = [inputs.pow(2).mean() for inputs in model.received(x)]
    assert torch.isclose(first, last, rtol=0.15)


def test_the_scale_multiplies_every_parameter():
    small, large = (MLP((2, 8, 1), seeds=[0], phi=nn.ReLU(), scale=scale) for scale in (1.0, 3.0))
    for one, other in zip(small.parameters(), large.parameters(), strict=True):
        torch.testing.assert_close(3 * one, other)
