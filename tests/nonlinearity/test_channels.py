"""One function a channel, bounds on slopes, fewer kinks: against loops, numpy and their definitions."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import lab
from lab.nonlinearity import document
from lab.nonlinearity.channels import ChannelSpline, LazyChannelSpline
from lab.nonlinearity.shapes import few_kinks
from tests.training import own

VALUES = torch.randn(3, 9, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("shape", "dim"), [((5, 3), 1), ((2, 3, 4, 4), 1), ((2, 6, 3), -1), ((3, 7), 0)])
def test_each_channel_goes_through_its_own_function(shape, dim):
    phi = ChannelSpline(VALUES, -2.0, 2.0, learnable=True, dim=dim)
    x = 2 * torch.randn(shape, generator=torch.Generator().manual_seed(1))
    x.requires_grad_()
    singles = [lab.Spline(row, -2.0, 2.0, learnable=True) for row in VALUES]
    expected = torch.stack([one(part) for one, part in zip(singles, x.unbind(dim), strict=True)], dim)
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(phi(x), expected)
    ours = torch.autograd.grad((phi(x) * weight).sum(), [x, phi.values])
    theirs = torch.autograd.grad((expected * weight).sum(), [x, *(one.values for one in singles)])
    torch.testing.assert_close(ours[0], theirs[0])
    torch.testing.assert_close(ours[1], torch.stack(theirs[1:]))
    assert torch.equal(phi.of_channel(1).values, VALUES[1]) and phi.channels == 3


@pytest.mark.parametrize("own", [True, False])
def test_under_vmap_each_model_and_channel_has_its_own(own):
    phi, x = ChannelSpline(VALUES, -2.0, 2.0), torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))
    tables = torch.stack([VALUES * (k + 1) for k in range(4)]) if own else VALUES

    def call(values, x):
        return torch.func.functional_call(phi, {"values": values}, (x,))

    found = torch.vmap(call, in_dims=(0 if own else None, 0))(tables, x)
    for run in range(4):
        one = ChannelSpline(tables[run] if own else VALUES, -2.0, 2.0)
        torch.testing.assert_close(found[run], one(x[run]))


def test_a_model_gets_a_function_a_channel_that_learns():
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GELU(), nn.Flatten(), nn.Linear(64, 5), nn.GELU(), nn.Linear(5, 2))
    x = torch.randn(7, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    phi = lab.Spline.from_function(nn.GELU(), -6, 6, 601)
    before = model(x)
    assert lab.swap(model, nn.GELU, phi, per_channel=True, learnable=True) == ["1", "4"]
    torch.testing.assert_close(model(x), before, atol=1e-3, rtol=1e-3)
    assert [type(model[place]) for place in (1, 4)] == [ChannelSpline] * 2
    assert [tuple(model[place].values.shape) for place in (1, 4)] == [(4, 601), (5, 601)]
    model(x).square().sum().backward()
    assert model[1].values.grad.abs().sum(1).min() > 0
    other = copy.deepcopy(model)
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other(x), model(x))


@pytest.mark.parametrize("wrong", [0, 8, -9, 2.0, "1", None, [1]])
def test_what_is_no_axis_of_channels_is_said(wrong):
    model = nn.Sequential(nn.Linear(2, 3), nn.GELU())
    with pytest.raises(
        lab.ArgumentError, match="per_channel=.*: give True .*, False .*, or the number of the channels"
    ):
        lab.swap(model, nn.GELU, lab.Spline([0.0, 1.0]), per_channel=wrong)


@pytest.mark.parametrize("scaled", [False, True])
def test_before_the_first_call_it_is_said_what_is_to_be_done(scaled, tmp_path):
    def swapped(axis):
        model = nn.Sequential(nn.Linear(2, 3), nn.GELU())
        lab.swap(model, nn.GELU, lab.Spline([0.0, 1.0]), per_channel=axis, scaled=scaled)
        return model

    model, x = swapped(5), torch.zeros(4, 2)
    with pytest.raises(lab.ArgumentError, match=r"input of shape \(4, 3\) has no axis 5 for channels; give the axis"):
        model(x)
    model = swapped(True)
    with pytest.raises(lab.ArgumentError, match="give floating-point numbers"):
        model[1](torch.arange(3))
    with pytest.raises(
        lab.ArgumentError, match="1 has no channels before the first call; call the model on an example"
    ):
        lab.save_swapped(model, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    model(x)
    lab.save_swapped(model, tmp_path / "saved")
    again = lab.load_swapped(nn.Sequential(nn.Linear(2, 3), nn.GELU()), tmp_path / "saved")
    assert torch.equal(again(x), model(x))


@pytest.mark.parametrize("kind", [lab.Spline, ChannelSpline])
@pytest.mark.parametrize("dim", [1, -1, 2])
def test_a_function_a_channel_comes_back_from_its_file_on_its_axis(tmp_path, kind, dim):
    phi, x = ChannelSpline(VALUES, -1.0, 2.0, dim=dim), torch.randn(3, 3, 3)
    phi.save(tmp_path / "phi.json")
    back = kind.load(tmp_path / "phi.json", learnable=True)
    assert type(back) is ChannelSpline and back.values.requires_grad and torch.equal(back(x), phi(x))


def test_a_file_without_an_axis_is_read_as_before(tmp_path):
    """Files of earlier versions."""
    document.write(tmp_path / "old.json", {"kind": "linear spline", "low": 0.0, "high": 1.0, "values": VALUES.tolist()})
    assert type(lab.Spline.load(tmp_path / "old.json")) is lab.Spline
    assert ChannelSpline.load(tmp_path / "old.json").dim == 1


def test_what_does_not_fit_is_said():
    model, phi = nn.Sequential(nn.Linear(2, 3), nn.GELU()), lab.Spline([0.0, 1.0])
    for said, call in {
        "is a GELU; give a lab.Spline": lambda: lab.swap(model, nn.GELU, nn.GELU(), per_channel=True),
        "give one of the two": lambda: lab.swap(model, nn.GELU, phi, per_channel=True, shared=True),
        "for 3 channels on axis 1": lambda: ChannelSpline(VALUES)(torch.zeros(2, 4)),
        "it must be (channels, knots)": lambda: ChannelSpline(VALUES[0]),
        "this spline has 3 functions": lambda: LazyChannelSpline(ChannelSpline(VALUES)),
        "tolerance=-1": lambda: phi.simplified(-1),
        "high=0": lambda: phi.limited(1, 0),
    }.items():
        with pytest.raises(lab.ArgumentError) as error:
            call()
        assert said in str(error.value) and "\n" not in str(error.value)


@given(st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=30), st.floats(-2, 0.5), st.floats(0.5, 2))
def test_limited_slopes_are_within_bounds_keep_the_mean_and_stay_when_limited_again(values, low, high):
    phi = lab.Spline(torch.tensor(values, dtype=torch.float64), 0.0, 3.0)
    found = phi.limited(low, high)
    slopes = found.values.diff() / found.spacing
    assert slopes.min() >= low - 1e-9 and slopes.max() <= high + 1e-9
    assert float(found.values.mean()) == pytest.approx(float(phi.values.mean()), abs=1e-9)
    torch.testing.assert_close(found.limited(low, high).values, found.values)
    within = phi.limited(-1e6, 1e6)
    assert torch.equal(within.values, phi.values)


def test_a_function_that_learns_stays_within_its_bounds():
    phi = lab.Spline(torch.linspace(-9, 9, 7), -1, 1, learnable=True)
    assert phi.limit_(-1, 1) is phi and phi.values.requires_grad
    assert (phi.values.diff().abs() <= phi.spacing + 1e-6).all()


def test_tv2_is_the_sum_of_changes_of_slope_and_can_be_learned_away():
    phi = lab.Spline(VALUES[0].double(), -2.0, 2.0, learnable=True)
    slopes = np.diff(VALUES[0].double().numpy()) / phi.spacing
    assert float(phi.tv2().detach()) == pytest.approx(np.abs(np.diff(slopes)).sum())
    assert ChannelSpline(VALUES).tv2().shape == (3,)
    rule = torch.optim.SGD([phi.values], lr=0.002)
    for _ in range(300):
        rule.zero_grad()
        phi.tv2().backward()
        rule.step()
    assert float(phi.tv2().detach()) < 0.2 * np.abs(np.diff(slopes)).sum()


@given(st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=40), st.floats(0.001, 3))
def test_a_simplified_function_stays_within_the_tolerance_on_straight_lines(values, tolerance):
    phi = lab.Spline(torch.tensor(values, dtype=torch.float64), 0.0, 1.0)
    found = phi.simplified(tolerance)
    x = np.linspace(-0.5, 1.5, 999)
    gap = float((phi(torch.from_numpy(x)) - found.spline(torch.from_numpy(x))).abs().max())
    assert gap <= found.error + 1e-9 and found.error <= tolerance + 1e-9
    knots = np.linspace(0, 1, len(values))
    simpler = found.spline.values.detach().numpy()
    heights = np.interp(found.kept, knots, simpler)
    assert np.allclose(np.interp(knots, found.kept, heights), simpler, atol=1e-9)
    assert found.kept[0] == 0 and found.kept[-1] == 1


def test_kinks_that_are_there_are_the_ones_that_are_kept():
    x = np.linspace(-1, 1, 201)
    assert few_kinks(x, np.maximum(x, 0), 1e-12).tolist() == [0, 100, 200]
    assert len(lab.zoo("transformers/memorize").simplified(0.05).kept) < 361


@pytest.mark.parametrize("scaled", [False, True])
def test_functions_a_channel_learn_in_the_models_of_a_comparison(scaled):
    """As the same model trained alone in plain torch, from the batches that the comparison draws."""
    data = own.images()
    gelu = lab.Spline.from_function(nn.GELU(), -6, 6, 61)
    phi = lab.Spline(gelu.values, -6, 6, learnable=True, scaled=scaled)
    given = {"seeds": 2, "steps": 5, "batch": None, "optimizer": "sgd", "momentum": 0.0, "schedule": "constant"}
    functions = {"GELU": None, "one a channel": phi}
    result = lab.compare(data, own.norms, nn.GELU, functions, per_channel=True, rate=0.1, progress=False, **given)
    found = result.model("one a channel", seed=1)
    net = own.seeded(own.norms, 1)
    lab.swap(net, nn.GELU, gelu, learnable=True, per_channel=True, scaled=scaled)
    x, y = (torch.cat(parts) for parts in zip(data.split("train"), data.split("search"), strict=True))
    with torch.no_grad():
        net.eval()(x[:1])
    optimizer = torch.optim.SGD(net.train().parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    expected, values = net.state_dict(), found.state_dict()
    assert values.keys() == expected.keys() and sum("values" in name for name in values) == 1
    for name, value in values.items():
        torch.testing.assert_close(value, expected[name], rtol=2e-3, atol=5e-4)
    with pytest.raises(lab.ArgumentError, match="no function learns in each model"):
        lab.compare(data, own.norms, nn.GELU, {"GELU": None}, per_channel=True, progress=False)
    with pytest.raises(lab.ArgumentError, match="lab.compare has it"):
        lab.search(data, model=own.norms, replace=nn.GELU, per_channel=True, progress=False)
