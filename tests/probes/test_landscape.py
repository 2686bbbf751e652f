"""Landscapes: coordinates give back the grid, runs side by side are models alone, nobody's model is touched."""

import copy

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline
from lab.probes.landscape import landscape, principal, random
from lab.probes.weights import flat, history, runs_of, weights

X = torch.rand(60, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1
Y = (X[:, 0] * X[:, 1] > 0).long()


def perceptron(phi=None, outputs=1):
    return MLP((3, 8, 8, outputs), [0], phi or nn.Tanh())


def torch_net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))


def wandering(model, steps=12, inside=False, seed=0):
    """A trajectory that ends at the model; inside: one that never leaves a plane."""
    generator, end = np.random.default_rng(seed), flat(model)
    way = generator.normal(size=(steps, 2 if inside else len(end))).cumsum(0)
    way -= way[-1]
    return end + (way @ generator.normal(size=(2, len(end))) if inside else way)


class Where:
    """A measure that answers with where the model is: its coordinates along two directions."""

    def __init__(self, centre, directions, axis):
        self.inverse, self.centre, self.axis = np.linalg.pinv(directions.T)[axis], centre, axis

    def __call__(self, model):
        runs, found = runs_of(model), weights(model).values()
        if runs is None:
            return (flat(model) - self.centre) @ self.inverse
        away = torch.cat([p.reshape(runs, -1) for p in found], 1).double() - torch.from_numpy(self.centre)
        return away @ torch.from_numpy(self.inverse)


@pytest.mark.parametrize("make", [perceptron, torch_net])
@pytest.mark.parametrize("directions", ["pca", "random", "given"])
def test_a_measure_that_returns_its_coordinates_gives_back_the_grid(make, directions):
    model = make().double()
    way = wandering(model)
    if directions == "given":
        directions = np.random.default_rng(1).normal(size=(2, way.shape[1]))
    plane = landscape(model, {"one": lambda m: 1.0}, directions, way, grid=2).plane
    measures = {name: Where(flat(model), plane.directions, axis) for axis, name in enumerate("xy")}
    for chunk in (None, 1, 7):
        found = landscape(model, measures, directions, way, grid=9, radius=0.7, chunk=chunk)
        assert found.chunk == (1 if make is torch_net else chunk or 32)
        np.testing.assert_allclose(found.values["x"], np.tile(found.x, (9, 1)), atol=1e-9)
        np.testing.assert_allclose(found.values["y"], np.tile(found.y, (9, 1)).T, atol=1e-9)
        assert abs(found.here["x"]) < 1e-9 and abs(found.here["y"]) < 1e-9
        at = found.at(found.x[2], found.y[5])
        for axis, expected in (("x", found.x[2]), ("y", found.y[5])):
            assert measures[axis](at).item() == pytest.approx(expected)


def test_the_principal_plane_is_that_of_scikit_learn():
    model = torch_net()
    way = wandering(model)
    plane, oracle = principal(model, way), PCA(2).fit(way)
    np.testing.assert_allclose(plane.explained, oracle.explained_variance_ratio_)
    np.testing.assert_allclose(np.abs((plane.directions * oracle.components_).sum(1)), 1)
    coordinates, distance = plane.project(way)
    np.testing.assert_allclose(np.abs(coordinates - coordinates.mean(0)), np.abs(oracle.transform(way)), atol=1e-9)
    lost = way - flat(model) - (way - flat(model)) @ plane.directions.T @ plane.directions
    np.testing.assert_allclose(distance, np.linalg.norm(lost, axis=1), atol=1e-9)
    assert coordinates[-1] == pytest.approx([0, 0], abs=1e-5) and distance[-1] < 1e-5  # it ends at the model
    assert coordinates[0, 0] < 0  # and comes from the left
    x, y = plane.axes(5, 1.0)
    inside = (x[0] < coordinates.min(0)[0]) & (coordinates.max(0)[0] < x[-1]) & (y[-1] > coordinates.max(0)[1])
    assert inside


def test_a_planar_trajectory_lies_in_its_plane():
    model = perceptron()
    way = wandering(model, inside=True)
    found = landscape(model, {"one": lambda m: 1.0}, "pca", torch.from_numpy(way)[:, None], grid=2)
    assert found.plane.explained.sum() == pytest.approx(1)
    assert found.distance == pytest.approx(np.zeros(12), abs=1e-9)
    np.testing.assert_allclose(found.plane.point(*found.trajectory.T), way, atol=1e-9)
    off = landscape(model, {"one": lambda m: 1.0}, "random", way, grid=2)
    assert off.plane.explained is None and off.distance[0] > 0.1


def test_random_directions_are_as_long_as_they_say():
    for model, axis in ((nn.Conv2d(2, 5, 3), (1, 2, 3)), (perceptron(outputs=4).layers[1], 1)):
        weight, bias = (p.detach().numpy() for p in model.parameters())
        for normalize in ("filter", "layer", "global"):
            plane = random(model, normalize, seed=3)
            for direction in plane.directions:
                moved = direction[: weight.size].reshape(weight.shape), direction[weight.size :]
                if normalize == "filter":
                    lengths = [np.sqrt((one**2).sum(axis)) for one in (moved[0], weight)]
                    np.testing.assert_allclose(*lengths, rtol=1e-6)
                if normalize != "global":
                    assert np.linalg.norm(moved[0]) == pytest.approx(np.linalg.norm(weight))
                    assert np.linalg.norm(moved[1]) == pytest.approx(np.linalg.norm(bias))
            np.testing.assert_allclose(np.linalg.norm(plane.directions, axis=1), np.linalg.norm(flat(model)))
        assert not np.array_equal(random(model, seed=3).directions, random(model, seed=4).directions)
        np.testing.assert_array_equal(random(model, seed=3).directions, random(model, seed=3).directions)


def test_nothing_of_the_model_is_touched():
    model = torch_net().train()
    model(X).sum().backward()
    model[0].bias.requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    state = torch.get_rng_state()

    def rude(m):  # changes buffers, weights, mode
        m.train()
        loss = m(X).square().mean().item()
        m[0].weight.fill_(7.0)
        m.eval()
        return loss

    first = landscape(model, {"a": rude, "b": rude}, "random", grid=3)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    for parameter, grad in zip(model.parameters(), grads, strict=True):
        assert (parameter.grad is None) == (grad is None) and (grad is None or torch.equal(parameter.grad, grad))
    assert model.training and torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(first.values["a"], first.values["b"])  # each found the model as it was
    assert "0.bias" not in weights(model) and first.plane.centre.size == flat(model).size


@pytest.mark.parametrize("phi", [nn.ReLU(), Spline(torch.randn(1, 9), -2.0, 2.0), Spline(torch.randn(9), -2.0, 2.0)])
def test_runs_side_by_side_have_the_values_of_models_alone(phi):
    model = perceptron(phi, outputs=2)
    kinds = (probes.Loss(X, Y), probes.Variation(X, Y, paths=20), probes.Frequency(X, Y, paths=20))
    measures = dict(zip(("loss", "variation", "frequency"), kinds, strict=True))
    found = landscape(model, measures, "random", grid=4, chunk=6)
    assert found.chunk == 6
    for row, column in ((0, 0), (1, 3), (3, 2)):
        alone = found.at(found.x[column], found.y[row])
        f = lambda x, alone=alone: alone(x[None])[0]  # noqa: E731
        expected = {
            "loss": nn.functional.cross_entropy(f(X), Y).item(),
            "variation": probes.total_variation(f, X, Y, paths=20).value,
            "frequency": probes.fourier_complexity(f, X, Y, paths=20).value,
        }
        for name, value in expected.items():
            assert found.values[name][row, column] == pytest.approx(value, rel=2e-4, abs=1e-6), name


def test_measures_of_a_module_of_torch_are_those_of_the_probes():
    model = torch_net().eval().requires_grad_(False)
    assert probes.Variation(X, Y)(model) == pytest.approx(probes.total_variation(model, X, Y).value, rel=1e-6)
    assert probes.Frequency(X, Y)(model) == pytest.approx(probes.fourier_complexity(model, X, Y).value, rel=1e-6)
    assert probes.Loss(X, Y)(model) == pytest.approx(nn.functional.cross_entropy(model(X), Y).item())
    one = nn.Sequential(nn.Linear(3, 1)).requires_grad_(False)
    values, logits = X.sum(1), one(X)[:, 0]
    assert probes.Loss(X, values)(one) == pytest.approx(nn.functional.mse_loss(logits, values).item())
    sigmoid = nn.functional.binary_cross_entropy_with_logits(logits, Y.float()).item()
    assert probes.Loss(X, Y)(one) == pytest.approx(sigmoid)
    both = torch.stack([values, -values], 1)
    assert probes.Loss(X, both)(model) == pytest.approx(nn.functional.mse_loss(model(X), both).item())


def test_many_points_give_the_loss_of_all():
    x, y = X.repeat(400, 1), Y.repeat(400)  # more than fit in one batch, and not in equal ones
    model = MLP((3, 8, 2), [0, 1, 2], nn.Tanh()).requires_grad_(False)
    torch.testing.assert_close(probes.Loss(x[:-50], y[:-50])(model), probes.Loss(X, Y)(model), rtol=2e-3, atol=0)
    torch.testing.assert_close(probes.Loss(x, y)(model), probes.Loss(X, Y)(model))


def test_a_matrix_that_looks_as_if_it_had_runs_is_seen_through():
    model = nn.Linear(3, 1, bias=False)  # its weight is (1, 3)
    found = landscape(model, {"loss": probes.Loss(X, X.sum(1))}, "random", grid=3)
    assert found.chunk == 1
    at = found.at(found.x[2], found.y[0])
    assert found.values["loss"][0, 2] == pytest.approx(nn.functional.mse_loss(at(X)[:, 0], X.sum(1)).item())


def test_functions_that_are_not_learned_stay_where_they_are():
    phi = Spline(torch.linspace(-1, 1, 9))
    for model in (perceptron(phi), perceptron(phi).requires_grad_(False)):
        assert "phi.values" not in weights(model) and len(weights(model)) == 6
        whole = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        np.testing.assert_array_equal(history(model, [whole, whole]), [flat(model)] * 2)
        np.testing.assert_array_equal(history(model, flat(model)[None, None]), [flat(model)])
    assert "values" in weights(Spline.zeros())


def test_checkpoints_may_be_state_dicts():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    states, vectors = [], []
    for _ in range(4):
        for weight in model.parameters():
            nn.init.normal_(weight)
        states.append(copy.deepcopy(model.state_dict()))
        vectors.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone())
    np.testing.assert_array_equal(history(model, states), history(model, vectors))
    lacking = [{name: part for name, part in state.items() if name != "2.bias"} for state in states]
    with pytest.raises(ArgumentError, match=r"lacks 2\.bias"):
        history(model, lacking)
    with pytest.raises(ArgumentError, match=r"0\.weight of shape \(4, 2\)"):
        history(model, [nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(3), nn.Linear(3, 1)).state_dict()])
    with pytest.raises(ArgumentError, match=r"copy\.deepcopy\(model\.state_dict\(\)\)"):  # the same one, four times
        landscape(model, {"one": lambda m: 1.0}, "pca", [model.state_dict() for _ in range(4)])


def test_a_model_that_is_not_finite_has_no_value_there():
    model = perceptron(nn.ReLU())
    huge = np.stack([np.full(flat(model).size, 1e38), np.random.default_rng(0).normal(size=flat(model).size)])
    found = landscape(model, {"v": probes.Variation(X, paths=5)}, huge, grid=3)
    assert np.isnan(found.values["v"][:, 2]).all() and np.isfinite(found.values["v"][:, 1]).all()


def test_progress_is_told_and_can_stop_it():
    seen = []
    landscape(perceptron(), {"v": probes.Loss(X, Y)}, "random", grid=3, chunk=4, progress=lambda *at: seen.append(at))
    assert seen == [(4, 9), (8, 9), (9, 9)]

    def stop(done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        landscape(perceptron(), {"v": probes.Loss(X, Y)}, "random", grid=3, progress=stop)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
def test_checkpoints_on_a_line_span_no_plane_however_they_are_rounded(dtype):
    """The second direction was the rounding of float32, and the picture one of noise."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2).to(dtype)
    way = torch.randn(2, 3)
    states = [{"weight": (model.weight + k * way).to(dtype).detach(), "bias": model.bias.detach()} for k in range(5)]
    with pytest.raises(ArgumentError, match="lies on a line"):
        landscape(model, {"v": lambda m: 1.0}, "pca", states, grid=3)


def test_what_has_no_landscape_is_refused():
    model, one = torch_net(), {"one": lambda m: 1.0}
    size = flat(model).size
    for message, arguments in {
        "needs the trajectory": (one,),
        "give 'pca', 'hessian', 'random' or two": (one, "up"),
        "3 directions": (one, np.zeros((3, size))),
        "give 50, one a weight": (one, np.zeros((2, 3))),
        "span no plane": (one, np.ones((2, size))),
        "no measures": ({}, "random"),
        "gave shapes": ({"all": lambda m: m(X)}, "random"),
        "lies on a line": (one, "pca", np.outer(np.arange(4), np.ones(size))),
        "2 checkpoints have no plane": (one, "pca", np.eye(size)[:2]),
        "one vector of the model's weights": (one, "pca", np.ones((4, 3))),
    }.items():
        with pytest.raises(ArgumentError, match=message):
            landscape(model, *arguments)
    for message, wrong in {
        "radius=0": {"radius": 0},
        "grid=1": {"grid": 1},
        "normalize='x'": {"normalize": "x"},
        "chunk=0": {"chunk": 0},
    }.items():
        with pytest.raises(ArgumentError, match=message):
            landscape(perceptron(), {"v": probes.Loss(X, Y)}, "random", **wrong)
    with pytest.raises(ArgumentError, match="one target an input"):
        probes.Loss(X, Y[1:])
    with pytest.raises(ArgumentError, match="has no weights"):
        landscape(nn.ReLU(), one, "random")
    with pytest.raises(ArgumentError, match="did not diverge"):
        landscape(nn.Linear(2, 2).requires_grad_(False).apply(lambda m: m.weight.fill_(np.inf)), one, "random")
