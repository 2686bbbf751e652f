"""The named non-linearities: scalar functions without state."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lab.errors import ArgumentError
from lab.nonlinearity.functions import NAMES, named

FUNCTIONS = {
    "gelu": F.gelu,
    "relu": F.relu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "identity": lambda x: x,
    "softplus": F.softplus,
    "leakyrelu": F.leaky_relu,
    "relu2": lambda x: torch.where(x > 0, x * x, 0.0),
    "sinc": lambda x: torch.from_numpy(np.sinc(x.numpy())),
    "gaussian": lambda x: torch.exp(-x * x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_name_means_the_function_of_that_name(name):
    x = torch.linspace(-30, 30, 301)
    torch.testing.assert_close(named(name)(x), FUNCTIONS[name](x), rtol=0, atol=1e-7 if name == "sinc" else 0)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_scalar_function(name):
    """Each output depends on its own input alone, and there is nothing to learn, so runs can share it."""
    phi = named(name)
    x = torch.linspace(-4, 4, 24, dtype=torch.float64, requires_grad=True)
    whole = phi(x.view(2, 3, 4))
    torch.testing.assert_close(whole, torch.stack([phi(number) for number in x]).view(2, 3, 4))
    jacobian = torch.autograd.functional.jacobian(phi, x)
    assert torch.equal(jacobian, jacobian.diag().diag())
    assert list(phi.parameters()) == list(phi.buffers()) == []
    assert torch.equal(phi.train()(x), phi.eval()(x))


def test_the_linear_mlp_is_the_identity():
    x = torch.randn(5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(named("identity")(x), x)


def test_every_call_gives_a_fresh_module():
    assert named("gelu") is not named("gelu")


@pytest.mark.parametrize("name", ["swish", "GELU", "", "softmax"])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(ArgumentError) as caught:
        named(name)
    assert repr(name) in str(caught.value) and all(known in str(caught.value) for known in NAMES)
