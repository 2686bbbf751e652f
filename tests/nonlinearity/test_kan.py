"""KAN layers: the published values of B-splines, scipy's, the recursion written for one number, and the layer's sum."""

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline

from lab.nonlinearity.learnable import NOISE, KANLinear, bases, knots

READINGS = pytest.mark.parametrize(("grid", "order"), [(5, 3), (3, 5), (4, 1), (2, 0)])
# Of the reference code's grids, from an independent numpy program.
PUBLISHED = {
    (5, 3, -1.0): (0.166667, 0.666667, 0.166667, 0, 0, 0, 0, 0),
    (5, 3, 0.0): (0, 0, 0.020833, 0.479167, 0.479167, 0.020833, 0, 0),
    (5, 3, 0.3): (0, 0, 0, 0.070313, 0.611979, 0.315104, 0.002604, 0),
    (5, 3, 1.0): (0, 0, 0, 0, 0, 0.166667, 0.666667, 0.166667),
    (5, 3, 1.5): (0, 0, 0, 0, 0, 0, 0.070313, 0.611979),
    (5, 3, 2.5): (0, 0, 0, 0, 0, 0, 0, 0),
    (3, 5, 0.0): (0, 0.000260, 0.061719, 0.438021, 0.438021, 0.061719, 0.000260, 0),
    (3, 5, 0.3): (0, 0, 0.010636, 0.237895, 0.548752, 0.196270, 0.006448, 0),
}


def recursion(x, t, g, k):
    """B_g of degree k at one number."""
    if k == 0:
        return float(t[g] <= x < t[g + 1])
    left = (x - t[g]) / (t[g + k] - t[g]) * recursion(x, t, g, k - 1)
    return left + (t[g + k + 1] - x) / (t[g + k + 1] - t[g + 1]) * recursion(x, t, g + 1, k - 1)


@pytest.mark.parametrize(("grid", "order", "x"), PUBLISHED)
def test_the_published_values(grid, order, x):
    found = bases(torch.tensor([x], dtype=torch.float64), knots(grid, order, -1.0, 1.0), order)[0]
    np.testing.assert_allclose(found, PUBLISHED[grid, order, x], rtol=0, atol=6e-7)


@READINGS
def test_bases_are_those_of_cox_and_de_boor_and_of_scipy(grid, order):
    t, x = knots(grid, order, -1.0, 1.0), torch.linspace(-6, 6, 61, dtype=torch.float64) + 1e-3
    found = bases(x, t, order)
    literal = [[recursion(float(number), t.tolist(), g, order) for g in range(grid + order)] for number in x]
    np.testing.assert_allclose(found, literal, rtol=0, atol=1e-10)
    for g in range(grid + order):
        wanted = np.nan_to_num(BSpline.basis_element(t[g : g + order + 2].numpy(), extrapolate=False)(x.numpy()))
        np.testing.assert_allclose(found[:, g], wanted, rtol=0, atol=1e-10)
    inside = x[(x > -1) & (x < 1)]
    torch.testing.assert_close(bases(inside, t, order).sum(-1), torch.ones_like(inside))


@READINGS
def test_the_layer_is_the_sum_of_its_functions(grid, order):
    layer = KANLinear(4, 3, grid, order).double()
    x = 2 * torch.randn(2, 7, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    t, found = layer.knots.tolist(), layer(x).detach()
    w, s, c = (part.detach().numpy() for part in (layer.base, layer.scale, layer.coefficients))
    for batch, token, o in np.ndindex(2, 7, 3):
        wanted = 0.0
        for i, number in enumerate(x[batch, token].tolist()):
            splines = sum(c[o, i, g] * recursion(number, t, g, order) for g in range(grid + order))
            wanted += w[o, i] * number / (1 + np.exp(-number)) + s[o, i] * splines
        assert found[batch, token, o].item() == pytest.approx(wanted, rel=0, abs=1e-10)


@READINGS
def test_both_readings_have_as_many_weights(grid, order):
    assert sum(p.numel() for p in KANLinear(6, 5, grid, order).parameters()) == (grid + order + 2) * 30


@pytest.mark.parametrize(("grid", "order"), [(5, 3), (3, 5)])
def test_initial_splines_go_through_small_noise_by_the_smallest_coefficients(grid, order):
    layer = KANLinear(20, 30, grid, order).double()
    layer.reset_parameters(torch.Generator().manual_seed(0))
    at_knots = bases(knots(grid, 0, -1.0, 1.0), layer.knots, order) @ layer.coefficients.detach().flatten(0, 1).T
    assert at_knots.abs().max() <= NOISE / grid / 2 and at_knots.std().item() == pytest.approx(
        NOISE / grid / 12**0.5, rel=0.03
    )
    rows = bases(knots(grid, 0, -1.0, 1.0), layer.knots, order)
    shadow = torch.linalg.lstsq(rows.T, layer.coefficients.detach().flatten(0, 1).T).solution  # in the rows' span
    torch.testing.assert_close(rows.T @ shadow, layer.coefficients.detach().flatten(0, 1).T)
    for weight in (layer.base, layer.scale):
        assert weight.abs().max() <= 20**-0.5 and weight.std().item() == pytest.approx((20 * 3) ** -0.5, rel=0.1)


def test_far_outside_only_the_plain_part_is_left():
    layer, x = KANLinear(3, 2).double(), torch.full((1, 3), 9.0, dtype=torch.float64)
    torch.testing.assert_close(layer(x), torch.nn.functional.silu(x) @ layer.base.T)
