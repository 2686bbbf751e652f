"""KAN layers: the published values of B-splines, scipy's, the recursion written for one number, and the layer's sum."""

import copy

import numpy as np
import pytest
import torch
from scipy.interpolate import BSpline
from torch import nn
from torch.autograd import gradcheck, gradgradcheck

from lab.errors import ArgumentError
from lab.nonlinearity import kan
from lab.nonlinearity.kan import NOISE, KANLayer, bases, knots

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
    layer = KANLayer(4, 3, grid, order).double()
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
    assert sum(p.numel() for p in KANLayer(6, 5, grid, order).parameters()) == (grid + order + 2) * 30


@pytest.mark.parametrize(("grid", "order"), [(5, 3), (3, 5)])
def test_initial_splines_go_through_small_noise_by_the_smallest_coefficients(grid, order):
    layer = KANLayer(20, 30, grid, order).double()
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
    layer, x = KANLayer(3, 2).double(), torch.full((1, 3), 9.0, dtype=torch.float64)
    torch.testing.assert_close(layer(x), torch.nn.functional.silu(x) @ layer.base.T)


class Published(nn.Module):
    """efficient-kan's layer, from its published definition, with another's weights."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.order = layer, layer.order
        step = (layer.high - layer.low) / layer.grid
        places = torch.arange(-layer.order, layer.grid + layer.order + 1, dtype=torch.float64)
        self.grid = (places * step + layer.low).to(layer.base.dtype)

    def forward(self, x):
        grid = self.grid
        near = x.unsqueeze(-1)
        splines = ((near >= grid[:-1]) & (near < grid[1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            splines = (near - grid[: -(k + 1)]) / (grid[k:-1] - grid[: -(k + 1)]) * splines[..., :-1] + (
                grid[k + 1 :] - near
            ) / (grid[k + 1 :] - grid[1:(-k)]) * splines[..., 1:]
        scale = 1 if self.layer.scale is None else self.layer.scale.unsqueeze(-1)
        weight = (self.layer.coefficients * scale).flatten(1)
        plain = nn.functional.linear(nn.functional.silu(x), self.layer.base)
        return plain + nn.functional.linear(splines.flatten(-2), weight)


LAYERS = {  # inputs, outputs, grid, order, low, high, scaled, and the shape of inputs before the last axis
    "as published": ((7, 33, 5, 3), (150,)),
    "three and five": ((9, 70, 3, 5), (5, 20)),
    "linear": ((3, 16, 8, 1, -2.0, 3.0), (66,)),
    "constant": ((3, 5, 4, 0), (20,)),
    "squares": ((4, 4, 6, 2, 0.0, 0.5, False), (2, 2, 2)),
    "quartic": ((2, 140, 2, 4), (3,)),
    "one interval": ((3, 2, 1, 3), (9,)),
    "width 1": ((1, 1, 5, 3), (1,)),
    "one row": ((17, 8), ()),
    "order six": ((2, 3, 4, 6), (8,)),
}
LAYER = pytest.mark.parametrize("name", LAYERS)
FAST = pytest.mark.skipif(kan.library() is None, reason="there is no C compiler")


def drawn(name, dtype=torch.float64):
    """A layer and inputs, some on knots and some beyond the grid."""
    torch.manual_seed(0)
    given, shape = LAYERS[name]
    layer = KANLayer(*given).to(dtype)
    layer.coefficients.data.normal_()
    x = (layer.low + layer.high) / 2 + (layer.high - layer.low) * torch.randn(*shape, layer.base.shape[1], dtype=dtype)
    flat = x.view(-1)
    flat[: min(flat.numel() // 2, 20)] = layer.knots.to(dtype).repeat(9)[: min(flat.numel() // 2, 20)]
    return layer, x.requires_grad_()


def results(f, x, parameters):
    y = f(x)
    generator = torch.Generator().manual_seed(1)
    grad = torch.randn(y.shape, dtype=y.dtype, generator=generator)
    return y, *torch.autograd.grad(y, [x, *parameters], grad, materialize_grads=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("kernel", ["native", "torch"])
@LAYER
def test_the_layer_is_efficient_kans(name, kernel, dtype, monkeypatch):
    if kernel == "native" and kan.library() is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("LAB_KERNEL", kernel)
    layer, x = drawn(name, dtype)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype is torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    parameters = list(layer.parameters())
    for one, other in zip(results(layer, x, parameters), results(Published(layer), x, parameters), strict=True):
        torch.testing.assert_close(one, other, **close)


@FAST
@LAYER
def test_derivatives_of_both_orders_are_its_own(name):
    layer, x = drawn(name)
    x = x.detach().reshape(-1, layer.base.shape[1])[:2, :3]
    small = KANLayer(x.shape[1], 2, layer.grid, layer.order, layer.low, layer.high, layer.scale is not None).double()
    span = layer.high - layer.low
    x = layer.low + span * torch.linspace(-0.171, 1.173, x.numel(), dtype=torch.float64).view(x.shape)  # off knots
    names, numbers = zip(*[(name, p.detach().requires_grad_()) for name, p in small.named_parameters()], strict=True)

    def call(x, *numbers):
        return torch.func.functional_call(small, dict(zip(names, numbers, strict=True)), (x,))

    assert gradcheck(call, (x.requires_grad_(), *numbers))
    if layer.order != 1:  # a piecewise linear one has no second derivative that differences could find
        assert gradgradcheck(call, (x, *numbers))


@FAST
def test_results_are_the_same_for_any_number_of_threads():
    torch.manual_seed(0)
    layer, x, found = KANLayer(64, 130), torch.randn(1000, 64, requires_grad=True), []
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            weight = layer.coefficients
            y = kan.splines(x, weight, layer.knots.float(), 3)
            found.append([y, *torch.autograd.grad(y.square().sum(), [x, weight])])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("kernel", ["native", "torch"])
def test_inputs_that_are_no_numbers_or_far_away(kernel, monkeypatch):
    if kernel == "native" and kan.library() is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("LAB_KERNEL", kernel)
    layer = KANLayer(1, 20, order=3)
    x = torch.tensor([[torch.inf], [-torch.inf], [1e30], [torch.nan], [0.5]], requires_grad=True)
    y = kan.splines(x, layer.coefficients, layer.knots.float(), 3)
    assert (y[:3] == 0).all() and y[3].isnan().all() and y[4].isfinite().all()
    gx, gw = torch.autograd.grad(y.sum(), [x, layer.coefficients])
    assert (gx[:3] == 0).all() and gx[3].isnan() and gx[4].isfinite()
    assert gw[:, :, :4].isnan().any() and gw[:, :, -1].isfinite().all()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # by torch itself
@LAYER
def test_layouts_copies_and_transforms(name):
    layer, x = drawn(name)
    x = x.detach()
    y = layer(x)
    wide = torch.stack([x, x], -1).flatten(-2)[..., ::2]  # not contiguous
    torch.testing.assert_close(layer(wide), y)
    assert layer(x[:0] if x.dim() > 1 else x.expand(0, -1)).shape[0] == 0
    other = KANLayer(*LAYERS[name][0]).double()
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), y) and torch.equal(copy.deepcopy(layer)(x), y)
    rows = x.reshape(-1, x.shape[-1])
    torch.testing.assert_close(torch.vmap(layer)(rows), layer(rows))
    forward = torch.func.jacfwd(lambda x: layer(x).sum(0))(rows)
    torch.testing.assert_close(forward, torch.func.jacrev(lambda x: layer(x).sum(0))(rows))


@pytest.mark.parametrize("scaled", [True, False])
def test_layers_side_by_side_under_vmap(scaled):
    layers = [KANLayer(3, 2, scaled=scaled) for _ in range(4)]
    state = torch.func.stack_module_state(layers)
    x = torch.randn(4, 5, 3)
    call = torch.vmap(lambda p, b, x: torch.func.functional_call(layers[0], (p, b), (x,)))
    torch.testing.assert_close(call(*state, x), torch.stack([f(x) for f, x in zip(layers, x, strict=True)]))


def test_half_precision_and_autocast():
    layer, x = KANLayer(5, 4), torch.randn(8, 5)
    y = layer(x)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = layer(x)
    half = copy.deepcopy(layer).bfloat16()(x.bfloat16())
    assert mixed.dtype == half.dtype == torch.bfloat16
    torch.testing.assert_close(mixed.float(), y, atol=0.02, rtol=0.02)
    torch.testing.assert_close(half.float(), y, atol=0.05, rtol=0.05)


def test_compiled_and_without_a_compiler(monkeypatch):
    layer, x = KANLayer(5, 4), torch.randn(8, 5)
    y = layer(x)
    compiled = torch.compile(layer, backend="aot_eager")
    torch.testing.assert_close(compiled(x), y)
    monkeypatch.setattr(kan, "library", lambda: None)
    torch.testing.assert_close(layer(x), y)


def test_sizes_and_ranges_that_are_none():
    for given in ((0, 3), (3, 2.5), (3, 2, 0), (3, 2, 5, -1)):
        with pytest.raises(ArgumentError, match="whole number"):
            KANLayer(*given)
    for low, high in ((1.0, 1.0), (2.0, 1.0), (float("nan"), 1.0), (0.0, float("inf")), ("a", 1.0)):
        with pytest.raises(ArgumentError, match="finite number"):
            KANLayer(3, 2, low=low, high=high)
