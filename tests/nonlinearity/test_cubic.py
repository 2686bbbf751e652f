"""The compiled cubic B-spline gives scipy's values; by C and by its formula, the same gradients of both orders."""

import numpy as np
import pytest
import scipy.interpolate
import torch
from torch.autograd import gradcheck, gradgradcheck

from lab.nonlinearity.families.bsplines import HIGH, INTERVALS, KERNEL, LOW, SPACING, BSpline

CASES = {"one": (BSpline(), (6, 7)), "no axis": (BSpline(), ()), "many blocks": (BSpline(), (3, 999))}
CASES |= {"channels": (BSpline(6, dim=1), (2, 6, 5)), "groups": (BSpline(4), (5, 12))}


def drawn(name, dtype=torch.float64):
    torch.manual_seed(0)
    phi, shape = CASES[name]
    phi = BSpline(phi.functions, phi.dim).to(dtype)
    phi.coefficients.data += torch.randn_like(phi.coefficients)
    return phi, (3 * torch.randn(shape, dtype=dtype)).requires_grad_()


@pytest.mark.parametrize("kernel", ["native", "torch"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys_and_straight_beyond(name, kernel, monkeypatch):
    monkeypatch.setenv("LAB_KERNEL", kernel)
    phi, x = drawn(name)
    rows = x.detach().movedim(phi.dim, 0).reshape(phi.functions or 1, -1).numpy()
    knots = LOW + SPACING * np.arange(-3, INTERVALS + 4)
    wanted = []
    for numbers, row in zip(phi.coefficients.detach().view(len(rows), -1).numpy(), rows, strict=True):
        spline = scipy.interpolate.BSpline(knots, numbers, 3)
        inside = row.clip(LOW, HIGH)
        wanted.append(spline(inside) + spline.derivative()(inside) * (row - inside))
    found = phi(x).detach().movedim(phi.dim, 0).reshape(rows.shape)
    np.testing.assert_allclose(found, np.array(wanted), atol=1e-10)


@pytest.mark.skipif(KERNEL.library is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_formulas(name, monkeypatch):
    for dtype in (torch.float32, torch.float64):
        phi, x = drawn(name, dtype)
        results = []
        for kernel in ("native", "torch"):
            monkeypatch.setenv("LAB_KERNEL", kernel)
            y = phi(x)
            results.append([y, *torch.autograd.grad(y.sin().sum(), [x, phi.coefficients])])
        close = {"rtol": 1e-3, "atol": 1e-3} if dtype is torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
        for one, other in zip(*results, strict=True):
            torch.testing.assert_close(one, other, **close)


@pytest.mark.parametrize("name", ["one", "groups"])
def test_derivatives_of_both_orders_are_its_own(name):
    phi, x = drawn(name)
    x = x.detach()[:2].requires_grad_()

    def call(x, coefficients):
        return torch.func.functional_call(phi, {"coefficients": coefficients}, (x,))

    given = x, phi.coefficients.detach().requires_grad_()
    assert gradcheck(call, given) and gradgradcheck(call, given)


@pytest.mark.parametrize("kernel", ["native", "torch"])
def test_inputs_that_are_no_numbers_and_large(kernel, monkeypatch):
    monkeypatch.setenv("LAB_KERNEL", kernel)
    phi, x = BSpline(), torch.tensor([1e30, -1e30, HIGH, LOW], requires_grad=True)
    y = phi(x)
    assert all(values.isfinite().all() for values in (y, *torch.autograd.grad(y.sum(), [x, phi.coefficients])))
    torch.testing.assert_close(y[0], (phi.coefficients[-1] - phi.coefficients[-3]) * 1e30 / (2 * SPACING))
    assert phi(torch.tensor([torch.nan])).isnan()
