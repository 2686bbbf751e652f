"""Planes through several models: each stands there whole, with its own running statistics; and models hard to copy."""

import copy
import threading
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lab import probes
from lab.errors import ArgumentError
from lab.probes.weights import copied, flat, rest

X = 3 * torch.randn(60, 4, generator=torch.Generator().manual_seed(0)) + 5
Y = (X[:, 0] * X[:, 1] > 25).long()
LOSS = {"loss": probes.Loss(X, Y)}


class Masked(nn.Module):
    """Batch norm, a frozen layer, and a mask of infinities among the buffers."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.frozen, self.last = (
            nn.Linear(4, 8),
            nn.BatchNorm1d(8),
            nn.Linear(8, 8).requires_grad_(False),
            nn.Linear(8, 2),
        )
        self.register_buffer("mask", torch.tensor([[0.0] * 7 + [-torch.inf]]))
        self.register_buffer("steps", torch.tensor(3), persistent=False)

    def forward(self, x):
        return self.last((self.frozen(self.norm(self.first(x)).relu()) + self.mask).softmax(-1))


class Instances(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.last = nn.InstanceNorm1d(4, affine=True, track_running_stats=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.norm(torch.stack([x, 2 * x], 2)).mean(2))


def plain():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def trained(make, seed, steps=5, keep=None):
    torch.manual_seed(seed)
    net = make()
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], 1e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(net(X), Y).backward()
        optimizer.step()
        if keep is not None:
            keep.append(copy.deepcopy(net.state_dict()))
    return net


def loss_of(net):
    with torch.no_grad():
        return F.cross_entropy(copy.deepcopy(net).eval()(X), Y).item()


@pytest.mark.parametrize("make", [plain, Masked, Instances])
def test_other_models_stand_at_the_ends_of_their_directions(make):
    a, b, c = (trained(make, seed) for seed in range(3))
    for directions in ((b, c), (b.state_dict(), torch.compile(c, backend="eager")), [nn.DataParallel(b), c]):
        found = probes.landscape(a, LOSS, directions, grid=3)
        assert found.notes == ()
        values = found.values["loss"]
        for value, model in ((values[1, 1], a), (values[1, 2], b), (values[2, 1], c), (found.here["loss"], a)):
            assert value == pytest.approx(loss_of(model), rel=1e-5)
        there, theirs = found.at(1.0, 0.0).state_dict(), b.state_dict()
        assert there.keys() == theirs.keys()
        for name, tensor in there.items():
            if tensor.is_floating_point():
                torch.testing.assert_close(tensor, theirs[name], msg=name)
    with torch.no_grad():
        for tensor in b.parameters():
            tensor.zero_()  # trained on: the landscape is of what it was
    again = found.again(radius=1.0, grid=5)
    assert again.values["loss"][2, 4] == pytest.approx(values[1, 2], rel=1e-6)
    assert np.isfinite(found.again(radius=9.0).values["loss"]).all()  # no variance is below 0


def test_where_statistics_are_not_known_they_stay_and_that_is_said():
    a, b = trained(plain, 0), trained(plain, 1)
    other = np.random.default_rng(0).normal(size=flat(a).shape)
    for directions in ((flat(b) - flat(a), other), "random"):
        found = probes.landscape(a, LOSS, directions, grid=3)
        (note,) = found.notes
        assert "running statistics" in note and "\n" not in note
        for name, tensor in found.at(1.0, 1.0).named_buffers():
            assert torch.equal(tensor, a.get_buffer(name))
    mixed = probes.landscape(a, LOSS, (b, other), grid=3)
    assert mixed.values["loss"][1, 2] == pytest.approx(loss_of(b), rel=1e-5)
    assert probes.landscape(nn.Linear(4, 2), LOSS, "random", grid=2).notes == ()
    with pytest.raises(ArgumentError, match=r"lacks 0\.weight"):
        probes.landscape(a, LOSS, (b, nn.Linear(4, 2)), grid=2)


def test_checkpoints_stand_with_their_own_statistics():
    steps: list[dict] = []
    model = trained(plain, 2, 6, steps)
    start, end, side = steps[0], steps[-1], steps[2]
    floats = [name for name, tensor in end.items() if tensor.is_floating_point()]

    def between(x, y):
        moved = {name: start[name] + x * (end[name] - start[name]) + y * (side[name] - start[name]) for name in floats}
        return {**end, **moved}

    way = [between(*at) for at in ((0, 0), (0.3, 0.5), (0.5, 0.2), (0.8, 0.1), (1, 0))]  # it never leaves a plane
    found = probes.landscape(model, LOSS, "pca", way, grid=2)
    for state, at in zip(way, found.trajectory, strict=True):
        checkpoint = plain()
        checkpoint.load_state_dict(state)
        assert loss_of(found.at(*at)) == pytest.approx(loss_of(checkpoint), rel=1e-4)
    again = found.again(radius=2.0)
    np.testing.assert_allclose(again.plane.buffers, found.plane.buffers)
    prefixed = [{f"module._orig_mod.{name}": tensor for name, tensor in state.items()} for state in way]
    same = probes.landscape(model, LOSS, "pca", prefixed, grid=2)
    np.testing.assert_array_equal(same.values["loss"], found.values["loss"])


def keeps(attribute):
    """A model that keeps what deepcopy refuses."""
    model = plain()
    model.kept = attribute(model)
    return model


HARD = {
    "an activation": lambda m: m(X),
    "activations in a list": lambda m: [{"of": (m(X),)}],
    "a generator": lambda m: torch.Generator(),
    "a lock": lambda m: [threading.Lock()],
    "a generator of Python": lambda m: (one for one in "ab"),
}


@pytest.mark.parametrize("name", HARD)
def test_what_deepcopy_refuses_has_a_landscape(name):
    model = keeps(HARD[name])
    assert probes.landscape(model, LOSS, "random", grid=2).here["loss"] == pytest.approx(loss_of(plain_of(model)))
    double = copied(model)
    for part, other in zip(model.parameters(), double.parameters(), strict=True):
        assert torch.equal(part, other) and part.data_ptr() != other.data_ptr()


def plain_of(model):
    fresh = plain()
    fresh.load_state_dict(model.state_dict())
    return fresh


def test_what_cannot_be_copied_at_all_is_said():
    class Refuses(nn.Linear):
        def __deepcopy__(self, memo):
            raise RuntimeError("no")

    with pytest.raises(ArgumentError, match="copying Sequential failed"):
        probes.landscape(nn.Sequential(Refuses(4, 2)), LOSS, "random", grid=2)


def test_old_weight_norm_moves_with_its_weights():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = nn.Sequential(nn.utils.weight_norm(nn.Linear(4, 2)))
    found = probes.landscape(model, LOSS, "random", grid=3)
    at = found.at(found.x[2], found.y[0])
    assert found.values["loss"][0, 2] == pytest.approx(loss_of_function(at), rel=1e-5)
    assert found.values["loss"][1, 1] == pytest.approx(loss_of_function(model), rel=1e-5) and not rest(model)


def loss_of_function(model):
    with torch.no_grad():
        return F.cross_entropy(model(X), Y).item()


@pytest.mark.parametrize("normalize", ["filter", "layer", "global"])
def test_weights_that_are_all_zero_span_no_plane_of_their_own_length(normalize):
    model = nn.Linear(4, 2)
    for weight in model.parameters():
        nn.init.zeros_(weight)
    with pytest.raises(ArgumentError, match="all weights are 0"):
        probes.landscape(model, LOSS, "random", grid=3, normalize=normalize)
