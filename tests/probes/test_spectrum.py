"""Spectra of Hessians that are known: quadratics, functions of no curvature; and planes along their eigenvectors."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from lab import probes
from lab.errors import ArgumentError
from lab.models.mlp import MLP
from lab.nonlinearity.spline import Spline
from lab.probes.weights import flat, weights

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = (X[:, 0] * X[:, 1] > 0).long()


class Point(nn.Module):
    """n weights in two parameters, and how a quadratic of them is measured."""

    def __init__(self, matrix):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.a = nn.Parameter(torch.randn(2, 2, generator=generator).to(matrix.dtype))
        self.b = nn.Parameter(torch.randn(len(matrix) - 4, generator=generator).to(matrix.dtype))

    def vector(self):
        return torch.cat([self.a.ravel(), self.b])


def quadratic(eigenvalues, dtype=torch.float64):
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(len(eigenvalues),) * 2))[0]
    matrix = torch.from_numpy(turn @ np.diag(eigenvalues) @ turn.T).to(dtype)
    return Point(matrix), {"loss": lambda m: m.vector() @ matrix @ m.vector() / 2}, turn


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-6), (torch.float32, 1e-4)])
@pytest.mark.parametrize("eigenvalues", [np.r_[9.0, -7, 5, np.linspace(-1, 1, 27)], np.repeat([3.0, -2, 0], 4)])
def test_eigenvalues_of_a_quadratic(eigenvalues, dtype, error):
    model, loss, turn = quadratic(eigenvalues, dtype)
    result = probes.spectrum(model, loss, count=3, probes=4)
    expected = eigenvalues[np.argsort(-np.abs(eigenvalues), kind="stable")][:3]
    assert np.abs(result.eigenvalues - expected).max() < error and result.residuals.max() < error
    assert np.abs(result.vectors @ result.vectors.T - np.eye(3)).max() < 1e-5
    assert np.abs(np.diff(turn.T @ result.vectors[0], axis=0)).max() > 0.1
    assert result.table["eigenvalue"].tolist() == result.eigenvalues.tolist() and len(result.plot().data) == 2


def test_the_density_is_one_and_its_mean_that_of_the_trace():
    eigenvalues = np.random.default_rng(0).normal(1.0, 2.0, 60)
    result = probes.spectrum(*quadratic(eigenvalues)[:2], steps=20, probes=30)
    assert np.trapezoid(result.density, result.x) == pytest.approx(1, abs=1e-6)
    middle, error = np.trapezoid(result.x * result.density, result.x), result.means.std(ddof=1) / np.sqrt(30)
    assert middle == pytest.approx(result.means.mean(), abs=1e-6)
    assert abs(middle - eigenvalues.mean()) < 4 * error < 1
    assert result.products == 30 * 20 + 10 and result.size == 60
    again = probes.spectrum(*quadratic(eigenvalues)[:2], steps=20, probes=30)
    assert np.array_equal(again.density, result.density)


def test_the_hessian_is_that_of_torch():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(), nn.Linear(4, 2)).double()
    model[0].bias.requires_grad_(False)
    parts = {name: part.detach() for name, part in weights(model).items()}
    shapes = [part.shape for part in parts.values()]
    still = copy.deepcopy(model).eval()

    def loss(vector):
        new = [part.view(shape) for part, shape in zip(vector.split([s.numel() for s in shapes]), shapes, strict=True)]
        return F.cross_entropy(torch.func.functional_call(still, dict(zip(parts, new, strict=True)), X), Y)

    hessian = torch.autograd.functional.hessian(loss, torch.cat([part.ravel() for part in parts.values()]))
    expected = np.linalg.eigvalsh(hessian.numpy())
    for measure in (probes.Loss(X, Y), lambda m: F.cross_entropy(m(X), Y)):
        before = [copy.deepcopy(model.state_dict()), torch.get_rng_state(), [p.training for p in model.modules()]]
        result = probes.spectrum(model, {"loss": measure}, count=5, probes=1)
        assert np.allclose(np.sort(np.abs(expected))[::-1][:5], np.abs(result.eigenvalues), atol=1e-9)
        assert all(torch.equal(a, b) for a, b in zip(before[0].values(), model.state_dict().values(), strict=True))
        assert torch.equal(before[1], torch.get_rng_state())
        assert before[2] == [p.training for p in model.modules()] and all(p.grad is None for p in model.parameters())


def test_runs_side_by_side_are_models_alone():
    phi, loss = Spline.from_function(torch.tanh, knots=41), {"loss": probes.Loss(X, Y)}
    together = probes.spectrum(MLP((3, 5, 2), [0, 1, 2], phi).double(), loss, count=4, steps=30, probes=2)
    assert together.eigenvalues.shape == (3, 4) and together.density.shape == (3, 1000) and together.size == 32
    for run in range(3):
        alone = probes.spectrum(MLP((3, 5, 2), [run], phi).double(), loss, count=4, steps=30, probes=2)
        assert np.allclose(alone.eigenvalues, together.eigenvalues[run]) and np.allclose(
            alone.means, together.means[run]
        )
    assert together.table.groupby("run").size().tolist() == [4, 4, 4] and len(together.plot().data) == 6


def test_tied_weights_count_once_and_what_is_linear_has_no_curvature():
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)).double()
    model[1].weight = model[0].weight
    square = {"loss": lambda m: sum(p.square().sum() for p in (m[0].weight, m[1].weight))}
    assert np.allclose(probes.spectrum(model, square, probes=1).eigenvalues, 4)
    for flat_loss in (lambda m: m[0].weight.sum(), lambda m: 3 + 0 * m[0].weight.square().sum()):
        result = probes.spectrum(model, {"loss": flat_loss}, probes=2)
        assert not result.eigenvalues.any() and np.trapezoid(result.density, result.x) == pytest.approx(1)
        with pytest.raises(ArgumentError, match="no curvature at this model"):
            probes.landscape(model, {"loss": flat_loss}, "hessian", grid=2)


@pytest.mark.parametrize("size", range(1, 21))
def test_where_few_vectors_are_reached_the_others_are_found(size):
    """Of a linear loss none is reached from the start but itself; of one of rank 2, three."""
    ways = torch.from_numpy(np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))[0][:, :2])
    sizes = torch.tensor([3.0, -2.0]).double()[: min(2, size)]
    model, expected = nn.Linear(size, 1, bias=False).double(), np.zeros(size)
    expected[: len(sizes)] = sizes
    for loss, values in (
        (lambda m: m.weight.sum(), np.zeros(size)),
        (lambda m: (sizes * (m.weight @ ways).square()).sum() / 2, expected),
    ):
        for seed in (0, 3):
            result = probes.spectrum(model, {"loss": loss}, count=size, probes=2, seed=seed)
            assert np.allclose(result.eigenvalues, values, atol=1e-9) and result.residuals.max() < 1e-9
            assert np.allclose(result.vectors @ result.vectors.T, np.eye(size), atol=1e-9)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda m: m(X).sum() * float("nan"), "give one finite number a model"),
        (lambda m: m(X).sum().item(), "without a gradient"),
        (lambda m: torch.tensor(1.0), "without a gradient"),
        (lambda m: m(X), "give one finite number a model"),
        (lambda m: m(X[:, :2]).sum(), "failed"),
        (lambda m: (m(X).sum() * 0).abs().sqrt() + m.weight.square().sum(), "not finite"),
    ],
)
def test_a_loss_without_second_derivatives_is_refused_in_a_line(loss, words):
    for probe in (probes.spectrum, lambda *args: probes.landscape(*args, "hessian", grid=2)):
        with pytest.raises(ArgumentError, match=words) as refused:
            probe(nn.Linear(3, 1).double(), {"loss": loss})
        assert "\n" not in str(refused.value)


def test_a_plane_along_the_eigenvectors_is_the_quadratic_in_them():
    model, loss, _ = quadratic(np.r_[8.0, -4, np.linspace(-1, 1, 20)])
    way = flat(model) + np.random.default_rng(0).normal(size=(5, 22))
    measures = {"size": lambda m: m.vector().norm(), **loss}
    found = probes.landscape(model, measures, "hessian", way, grid=5)
    assert np.allclose(found.plane.curvatures, [8, -4]) and not found.notes
    x, y = np.meshgrid(found.x, found.y)
    slope = found.plane.directions @ torch.func.grad(lambda v: v @ v)(torch.zeros(22).double()).numpy()
    rest = found.values["loss"] - found.here["loss"] - 4 * x**2 + 2 * y**2
    centred = rest - slope[0] * x - slope[1] * y
    assert np.abs(np.diff(centred, 2, axis=0)).max() < 1e-9 and np.abs(np.diff(centred, 2, axis=1)).max() < 1e-9
    away = way - found.plane.centre
    inside = np.linalg.norm(found.trajectory, axis=1)
    assert np.allclose(inside**2 + found.distance**2, np.square(away).sum(1)), "of vectors of length 1 at right angles"
    again = found.again(radius=2.0)
    assert np.allclose(again.x, 2 * found.x) and np.allclose(again.plane.directions, found.plane.directions)
    assert "λ = 8" in found.plot().layout.xaxis.title.text


def test_loss_accuracy_and_total_variation_on_one_plane():
    model = MLP((3, 6, 2), [0], nn.GELU())
    measures = {
        "accuracy": lambda m: (m(X.float().expand(len(m.layers[0].weight), -1, -1)).argmax(-1) == Y).float().mean(1),
        "loss": probes.Loss(X, Y),
        "variation": probes.Variation(X, paths=5, samples=9),
    }
    found = probes.landscape(model, measures, "hessian", grid=4)
    assert set(found.values) == set(measures) and found.chunk == 32
    assert all(np.isfinite(values).all() for values in found.values.values())
