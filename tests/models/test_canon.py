"""Canon layers: torch's depthwise causal convolution plus the residual, run by run."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from lab.models import layers
from lab.models.layers import KERNEL, Canon, canon_formula
from lab.nonlinearity import native
from tests.models.making import shaken


@pytest.fixture(params=["native", "torch"], autouse=True)
def kernel(request, monkeypatch):
    """The compiled kernel, and PyTorch's operations."""
    if request.param == "native" and native.why_not():
        pytest.skip(native.why_not())
    monkeypatch.setenv("LAB_KERNEL", request.param)
    return request.param


def test_the_kernel_that_is_asked_for_is_used(kernel):
    x, weight = torch.zeros(1, 1, 5, 3), torch.zeros(1, 4, 3)
    assert layers.canon_fits(x, weight) == (kernel == "native")
    assert not layers.canon_fits(x.bfloat16(), weight.bfloat16()) and not layers.canon_fits(x.double(), weight)
    assert not layers.canon_fits(x.to("meta"), weight.to("meta"))


@pytest.mark.parametrize("tokens", [1, 2, 3, 4, 5, 9])
def test_canon_is_a_padded_depthwise_convolution_and_a_residual(tokens):
    runs, width = 2, 6
    layer = shaken(Canon(runs, width)).double()
    x = torch.randn(runs, 3, tokens, width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    got = layer(x)
    for run in range(runs):
        convolution = nn.Conv1d(width, width, KERNEL, groups=width, bias=False, dtype=torch.float64)
        with torch.no_grad():  # Conv1d's last tap is the token itself
            convolution.weight.copy_(layer.weight[run].flip(0).T[:, None])
        y = x[run] + convolution(F.pad(x[run].mT, (KERNEL - 1, 0))).mT
        torch.testing.assert_close(got[run], y)


def test_a_token_sees_itself_and_three_before():
    layer = shaken(Canon(1, 2)).double()
    x = torch.zeros(1, 1, 9, 2, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer(x)[0, 0, 6].sum(), x)
    assert gradient[0, 0].any(-1).tolist() == [t in (3, 4, 5, 6) for t in range(9)]


@pytest.mark.parametrize("tokens", [1, 3, 5])
def test_gradients_are_the_formulas_to_the_second_order(tokens):
    layer = shaken(Canon(2, 3)).double()
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 2, tokens, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    against = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    own = torch.autograd.grad(layer(x), (x, layer.weight), against)
    torch.testing.assert_close(own, torch.autograd.grad(canon_formula(x, layer.weight), (x, layer.weight), against))
    assert torch.autograd.gradcheck(_of(layer), (x, layer.weight))
    assert torch.autograd.gradgradcheck(_of(layer), (x, layer.weight))


def test_in_single_precision_and_in_any_layout_it_is_the_formula_in_double():
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(2, 7, 33, 40, generator=generator), torch.randn(2, 4, 40, generator=generator)
    layer = shaken(Canon(2, 40))
    with torch.no_grad():
        layer.weight.copy_(weight)
    for cut in (x, x[:, ::2], x[..., ::2].repeat(1, 1, 1, 2), x.transpose(1, 2)):
        leaf, against = cut.detach().requires_grad_(), torch.randn(cut.shape, generator=generator)
        exact, exact_weight = cut.double().requires_grad_(), weight.double().requires_grad_()
        expected = canon_formula(exact, exact_weight)
        torch.testing.assert_close(layer(leaf).double(), expected, rtol=1e-6, atol=1e-6)
        own = torch.autograd.grad(layer(leaf), (leaf, layer.weight), against)
        true = torch.autograd.grad(expected, (exact, exact_weight), against.double())
        torch.testing.assert_close([one.double() for one in own], list(true), rtol=1e-5, atol=1e-5)


def test_torch_func_and_the_compiler_see_the_same_layer():
    layer = shaken(Canon(2, 3))
    x = torch.randn(4, 2, 2, 5, 3, generator=torch.Generator().manual_seed(2))
    expected = torch.stack([layer(one) for one in x])
    torch.testing.assert_close(torch.vmap(layer)(x), expected)
    slope = torch.func.jacrev(lambda one: layer(one).sum())(x[0])
    leaf = x[0].clone().requires_grad_()
    torch.testing.assert_close(slope, torch.autograd.grad(layer(leaf).sum(), leaf)[0])
    torch.testing.assert_close(torch.compile(layer, backend="eager", fullgraph=True)(x[0]), expected[0])


def _of(layer):
    return lambda x, weight: torch.func.functional_call(layer, {"weight": weight}, (x,))
