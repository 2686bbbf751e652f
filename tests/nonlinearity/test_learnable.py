"""Learnable activations: the formulas of the activations paper, in numpy, with parameters drawn anew."""

import numpy as np
import pytest
import torch

from lab.nonlinearity.learnable import GEGLU, PReLU, ScaledGEGLU, ScaledGELU, Swish


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FORMULAS = {  # of x and the parameter, one number a channel
    "prelu": (lambda: PReLU(6), lambda x, a: np.maximum(0, x) + a * np.minimum(0, x)),
    "swish": (lambda: Swish(6), lambda x, b: x * sigmoid(b * x)),
    "swish as printed": (lambda: Swish(6, printed=True), lambda x, b: x * (b * x * sigmoid(b * x))),
    "learnable gelu": (lambda: ScaledGELU(6), lambda x, b: b * gelu(x)),
    "geglu": (GEGLU, lambda x, b: x[..., :6] * gelu(x[..., 6:])),
    "learnable geglu": (lambda: ScaledGEGLU(6), lambda x, b: x[..., :6] * b * gelu(x[..., 6:])),
}
STARTS = {
    "prelu": torch.nn.PReLU(),
    "swish": torch.nn.SiLU(),
    "learnable gelu": torch.nn.GELU("tanh"),
    "learnable geglu": GEGLU(),
}


def drawn(channels):
    return 3 * torch.randn(2, 5, channels, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", FORMULAS)
def test_it_is_its_formula_and_its_parameter_gets_the_gradient(name):
    make, formula = FORMULAS[name]
    phi, x = make().double(), drawn(12 if "geglu" in name else 6)
    value = np.linspace(-1, 2, 6)
    for parameter in phi.parameters():
        assert parameter.shape == (6,)
        parameter.data.copy_(torch.from_numpy(value))
    found = phi(x)
    np.testing.assert_allclose(found.detach(), formula(x.numpy(), value), rtol=1e-12, atol=1e-12)
    if "learnable" in name or name in ("prelu", "swish"):
        (gradient,) = torch.autograd.grad(found.sum(), list(phi.parameters()))
        step = 1e-6
        numbers = [
            (formula(x.numpy(), value + step * unit) - formula(x.numpy(), value - step * unit)).sum() / (2 * step)
            for unit in np.eye(6)
        ]
        np.testing.assert_allclose(gradient, numbers, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", STARTS)
def test_it_starts_as_the_activation_without_parameters(name):
    x = drawn(12 if "geglu" in name else 6).float()
    torch.testing.assert_close(FORMULAS[name][0]()(x), STARTS[name](x))
