"""The compiled rational function gives what its formula gives: values, gradients of both orders, at every input."""

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from lab.nonlinearity.families.rational import KERNEL, Pade, Rational
from lab.nonlinearity.table import Learnable

CASES = {  # functions, and the shape of inputs
    "one": (Rational(), (6, 7)),
    "no axis": (Rational(), ()),
    "many blocks": (Rational(), (70, 999)),
    "runs": (Rational(3, dim=0), (3, 4, 5)),
    "channels": (Rational(6, dim=1), (2, 6, 5)),
    "groups": (Rational(4), (5, 12)),
    "pade": (Pade(2, dim=0), (2, 3)),
}
FAST = pytest.mark.skipif(KERNEL.library is None, reason="there is no C compiler")


def drawn(name, dtype):
    torch.manual_seed(0)
    phi, shape = CASES[name]
    phi = type(phi)(phi.functions, phi.dim).to(dtype)
    for tensor in (*phi.parameters(), *phi.buffers()):
        tensor.data += 0.1 * torch.randn_like(tensor)
    return phi, (3 * torch.randn(shape, dtype=dtype)).requires_grad_(), torch.randn(shape, dtype=dtype)


@FAST
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_the_kernel_is_the_formula(name, dtype):
    phi, x, grad = drawn(name, dtype)
    assert KERNEL.is_fast(x, phi.numerator, phi.denominator)
    results = [[y, *torch.autograd.grad(y, [x, *phi.parameters()], grad)] for y in (phi(x), Learnable.forward(phi, x))]
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4 if dtype is torch.float32 else 1e-12, atol=1e-5)


@FAST
def test_every_input_has_the_formulas_value_and_slope():
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, 1 + 2**-23, 1e-38, 1e10, -1e30, 1e30, torch.inf, -torch.inf, torch.nan])
    phi = Rational()
    slopes = []
    for f in (phi, lambda x: Learnable.forward(phi, x)):
        given = x.clone().requires_grad_()
        y = f(given)
        y.sum().backward()
        slopes.append((y.detach(), given.grad))
    torch.testing.assert_close(slopes[0][0], slopes[1][0], equal_nan=True)
    torch.testing.assert_close(slopes[0][1][:9], slopes[1][1][:9])
    assert slopes[0][1][-1].isnan() and slopes[0][1][:9].isfinite().all()


@FAST
@pytest.mark.parametrize("name", ["one", "runs", "groups"])
def test_derivatives_of_both_orders_are_its_own(name):
    phi, x, _ = drawn(name, torch.float64)
    x = x[..., :2].detach() if name == "one" else x.detach()
    numbers = [phi.numerator.detach().requires_grad_(), phi.denominator.detach().requires_grad_()]

    def call(x, numerator, denominator):
        return torch.func.functional_call(phi, {"numerator": numerator, "denominator": denominator}, (x,))

    assert gradcheck(call, (x.requires_grad_(), *numbers)) and gradgradcheck(call, (x, *numbers))


@FAST
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # by torch itself
def test_forward_mode_takes_the_formula():
    phi, x, v = drawn("groups", torch.float64)
    with forward_ad.dual_level():
        y, slope = forward_ad.unpack_dual(phi(forward_ad.make_dual(x.detach(), v)))
    (wanted,) = torch.autograd.grad(phi(x), x, torch.ones_like(x))
    torch.testing.assert_close(y, phi(x))
    torch.testing.assert_close(slope, wanted * v)


@FAST
def test_gradients_of_a_batch_at_once_take_the_formula():
    phi, x, _ = drawn("one", torch.float64)
    x = x[..., :3].detach()
    together, alone = (torch.autograd.functional.jacobian(phi, x, vectorize=both) for both in (True, False))
    torch.testing.assert_close(together, alone)


def test_without_a_compiler_the_formula_takes_its_place(monkeypatch):
    phi, x, _ = drawn("runs", torch.float32)
    y = phi(x)
    monkeypatch.setattr(KERNEL, "library", None)
    torch.testing.assert_close(phi(x), y)
    monkeypatch.undo()
    monkeypatch.setenv("LAB_KERNEL", "torch")
    assert not KERNEL.is_fast(x, phi.numerator)
    torch.testing.assert_close(phi(x), y)
