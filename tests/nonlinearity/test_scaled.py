"""A learned scale of the input: against numpy's interpolation, finite differences, and DeepSplines' definition."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch import nn

import lab
from lab.nonlinearity.channels import ChannelSpline
from lab.nonlinearity.spline import ScaledSpline

GENERATOR = torch.Generator().manual_seed(0)
VALUES = torch.randn(3, 9, generator=GENERATOR, dtype=torch.float64)
X = 3 * torch.randn(5, 3, 2, generator=GENERATOR, dtype=torch.float64)
SCALES = [0.5, 1.7, -0.8]


def direct(x, values, scale):
    """φ(s x) / s"""
    return np.interp(scale * x, np.linspace(-2, 2, len(values)), values) / scale


@pytest.mark.parametrize("scale", SCALES)
def test_one_function_is_interpolation_at_scaled_points(scale):
    phi = lab.Spline(VALUES[0], -2.0, 2.0, learnable=True, scaled=True)
    with torch.no_grad():
        phi.scale.fill_(scale)
    np.testing.assert_allclose(phi(X).detach(), direct(X.numpy(), VALUES[0].numpy(), scale), atol=1e-12)
    torch.testing.assert_close(phi.spline(X), phi(X).detach())


def call(phi, x, scale, values):
    return torch.func.functional_call(phi, {"scale": scale, "phi.values": values}, (x,))


@pytest.mark.parametrize("channels", [False, True])
def test_gradients_are_those_of_finite_differences_and_of_torch_func(channels):
    phi = ScaledSpline(ChannelSpline(VALUES, -2.0, 2.0)) if channels else ScaledSpline(lab.Spline(VALUES[0], -2.0, 2.0))
    scale = torch.tensor(SCALES if channels else SCALES[1], dtype=torch.float64)
    values = VALUES.clone() if channels else VALUES[0].clone()
    given = [part.clone().requires_grad_() for part in (X, scale, values)]
    assert torch.autograd.gradcheck(lambda *parts: call(phi, *parts), given, eps=1e-7)
    if channels:
        expected = np.stack([direct(X[:, c].numpy(), VALUES[c].numpy(), SCALES[c]) for c in range(3)], 1)
        np.testing.assert_allclose(call(phi, *given).detach(), expected, atol=1e-12)
    theirs = torch.autograd.grad(call(phi, *given).square().sum(), given)
    ours = torch.func.grad(lambda *parts: call(phi, *parts).square().sum(), argnums=(0, 1, 2))(X, scale, values)
    torch.testing.assert_close(ours, theirs)
    side_by_side = torch.vmap(lambda x, s: call(phi, x, s, values))(
        torch.stack([X, X]), torch.stack([scale, 2 * scale])
    )
    torch.testing.assert_close(side_by_side[1], call(phi, X, 2 * scale, values))


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_swapped_model_learns_its_scales_and_survives_a_file(per_channel, tmp_path):
    def make():
        return nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 2))

    model, x = make(), X[:, 0, :1].float().expand(5, 4)
    gelu = lab.Spline.from_function(nn.GELU(), -6, 6, 601)
    before = model(x)
    assert lab.swap(model, nn.GELU, gelu, learnable=True, per_channel=per_channel, scaled=True) == ["1"]
    torch.testing.assert_close(model(x), before, atol=1e-3, rtol=1e-3)
    assert model[1].scale.shape == ((3,) if per_channel else ())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).square().sum().backward()
    optimizer.step()
    assert not torch.equal(model[1].scale.detach(), torch.ones_like(model[1].scale))
    lab.save_swapped(model, tmp_path / "saved")
    again = lab.load_swapped(make(), tmp_path / "saved")
    torch.testing.assert_close(again(x), model(x))
    assert type(again[1].phi) is type(model[1].phi) and again[1].scale.requires_grad
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(other(x), model(x))


def test_a_function_a_channel_survives_a_file(tmp_path):
    model, x = nn.Sequential(nn.Linear(4, 3), nn.GELU()), torch.randn(5, 4, generator=GENERATOR)
    lab.swap(model, nn.GELU, lab.Spline([0.0, 1.0, 4.0]), per_channel=True, learnable=True)
    expected = model(x)
    lab.save_swapped(model, tmp_path)
    again = lab.load_swapped(nn.Sequential(nn.Linear(4, 3), nn.GELU()), tmp_path)
    assert type(again[1]) is ChannelSpline
    torch.testing.assert_close(again(x), expected)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("assign", [False, True])
def test_a_state_dict_comes_back_into_a_model_that_was_swapped_alike(per_channel, assign):
    def make():
        model = nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.Linear(3, 2))
        phi = lab.Spline.from_function(nn.GELU(), -6, 6, 61)
        lab.swap(model, nn.GELU, phi, learnable=True, per_channel=per_channel, scaled=True)
        return model

    model, x = make(), X[:, 0, :1].float().expand(5, 4)
    model(x)
    with torch.no_grad():
        model[1].scale.copy_(torch.tensor(SCALES if per_channel else SCALES[0]))
    again, file = make(), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again.load_state_dict(torch.load(file), assign=assign)
    assert torch.equal(again(x), model(x)) and type(again[1].phi) is type(model[1].phi)
    assert torch.equal(again[1].scale, model[1].scale) and again[1].scale.requires_grad
    fresh = make()  # of one that has not counted its channels, what is saved is that
    fresh.load_state_dict((saved := make()).state_dict())
    assert torch.equal(fresh[0].weight, saved[0].weight)
    assert fresh(x).shape == (5, 2) and fresh[1].scale.shape == model[1].scale.shape


def test_learned_scales_are_compared():
    data = lab.Data.from_arrays(X[:, 0].repeat(20, 1).float(), np.arange(100) % 2)
    phi = lab.Spline.from_function(nn.GELU(), -6, 6, 61, learnable=True).values
    functions = {"GELU": None, "scaled": lab.Spline(phi, -6, 6, learnable=True, scaled=True)}
    make = nn.Sequential
    result = lab.compare(
        data,
        lambda seed: make(nn.Linear(2, 4), nn.GELU(), nn.Linear(4, 2)),
        nn.GELU,
        functions,
        seeds=2,
        steps=5,
        progress=False,
    )
    scales = [float(result.model("scaled", seed)[1].scale.detach()) for seed in (0, 1)]
    assert len({*scales, 1.0}) == 3


def test_what_does_not_fit_is_said():
    with pytest.raises(lab.ArgumentError, match="give a lab.Spline with one function, or one a channel"):
        ScaledSpline(lab.Spline(VALUES))
    with pytest.raises(lab.ArgumentError, match="give a lab.Spline"):
        lab.swap(nn.Sequential(nn.GELU()), nn.GELU, nn.ReLU(), scaled=True)
    for wrong in (torch.zeros(2, 4), torch.tensor(1.0), torch.zeros(3)):
        with pytest.raises(lab.ArgumentError, match="channels on axis 1|no axis 1 for channels"):
            ScaledSpline(ChannelSpline(VALUES))(wrong)
    with pytest.raises(lab.ArgumentError, match="each with its scale"):
        _ = ScaledSpline(ChannelSpline(VALUES)).spline
