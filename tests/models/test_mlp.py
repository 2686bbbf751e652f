"""The perceptron: torch's own is its oracle; a run depends on its own seed alone."""

import numpy as np
import pytest
import torch
from torch import nn

from lab.models.mlp import MLP, InputFunctions, largest_singular_value


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


def waves(*shape, seed=0):
    """Splines' values, away from any symmetry."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def rows(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("spectral", [False, True])
def test_residual_sums_prefactors_and_spectral_norms_are_those_of_a_plain_loop(residual, spectral):
    """Two runs with prefactors of their own and a function a layer."""
    functions = [nn.Tanh(), nn.ReLU(), nn.SiLU()]
    settings = {"prefactor": torch.tensor([0.5, 3.0]), "residual": residual, "spectral": spectral}
    model = MLP((4, 6, 6, 6, 3), [0, 1], functions, **settings).double()
    x = rows(2, 5, 4)
    for run in range(2):
        y = x[run]
        for number, layer in enumerate(model.layers):
            weight = layer.weight[run] / (torch.linalg.svdvals(layer.weight[run])[0] if spectral else 1)
            z = y @ weight + layer.bias[run]
            if number == 3:
                break
            out = functions[number](settings["prefactor"][run] * z)
            y = y + out if residual and number > 0 else out
        torch.testing.assert_close(model(x)[run], z)


def test_the_largest_singular_value_has_exact_derivatives():
    weight = rows(2, 3, 5).requires_grad_()
    torch.testing.assert_close(largest_singular_value(weight), torch.linalg.svdvals(weight)[:, 0])
    assert torch.autograd.gradcheck(largest_singular_value, weight)
    assert torch.autograd.gradgradcheck(largest_singular_value, weight)


@pytest.mark.parametrize("shape", [(4, 7), (2, 4, 7)])
def test_every_dimension_of_the_input_has_its_function(shape):
    values, x = waves(*shape), rows(2, 9, 4)
    y = InputFunctions(values, -2.0, 2.0)(x)
    for run in range(2):
        for d in range(4):
            own = values[d] if len(shape) == 2 else values[run, d]
            wanted = np.interp(x[run, :, d].numpy(), np.linspace(-2, 2, 7), own.numpy())
            np.testing.assert_allclose(y[run, :, d].numpy(), wanted, atol=1e-12)


def test_input_functions_that_are_the_identity_change_nothing():
    line = torch.linspace(-3, 3, 5).expand(4, -1)
    x = rows(1, 9, 4).float().clamp(-3, 3)
    plain, with_them = (MLP((4, 8, 2), [0], nn.ReLU(), inputs=f) for f in (None, InputFunctions(line, -3.0, 3.0)))
    torch.testing.assert_close(plain(x), with_them(x))


def test_without_hidden_layers_it_is_linear():
    model, x = MLP((4, 2), [0, 1], nn.ReLU()).double(), rows(2, 5, 4)
    torch.testing.assert_close(model(2 * x) - model(x), model(x) - model(0 * x))
    assert model.received(x) == []
