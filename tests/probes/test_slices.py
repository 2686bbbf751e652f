"""Slices: the points are those of the line and the plane, for whatever is called."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from torch import nn

from lab import probes
from lab.errors import ArgumentError
from lab.models.mlp import MLP

numbers = st.lists(st.floats(-10, 10), min_size=3, max_size=3)


@given(numbers, numbers, st.integers(2, 40))
def test_a_line_is_met_at_its_own_points(a, b, samples):
    a, b = np.array(a), np.array(b)
    found = probes.slice_1d(lambda x: x, a, b, samples)  # a model that answers with where it is
    np.testing.assert_allclose(found.values, np.linspace(a, b, samples), atol=1e-12)
    np.testing.assert_array_equal(found.along, np.linspace(0, 1, samples))
    assert (found.values[0] == a).all() and (found.values[-1] == b).all()


def test_a_plane_replaces_two_inputs_and_keeps_the_others():
    base = np.array([10.0, 20.0, 30.0, 40.0])
    found = probes.slice_2d(lambda x: x, base, dims=(3, 1), grid=5, bounds=(-1, 3))
    axis = np.linspace(-1, 3, 5)
    for row in range(5):
        for column in range(5):
            np.testing.assert_array_equal(found.values[row, column], [10, axis[row], 30, axis[column]])
    np.testing.assert_array_equal((found.x, found.y), (axis, axis))
    np.testing.assert_array_equal(base, [10, 20, 30, 40])


def test_one_output_needs_no_axis():
    assert probes.slice_1d(lambda x: x[:, :1], np.zeros(2), np.ones(2)).values.shape == (100,)
    assert probes.slice_2d(lambda x: x[:, 0], np.zeros(2), (0, 1)).values.shape == (200, 200)
    assert probes.slice_2d(lambda x: x, np.zeros(3), (0, 1), grid=4).values.shape == (4, 4, 3)


def test_batches_are_not_seen():
    torch.manual_seed(0)
    net, sizes = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.Linear(8, 1)).requires_grad_(False), []

    def counted(x):
        sizes.append(len(x))
        return net(x)

    found = probes.slice_2d(counted, torch.zeros(2), (0, 1), grid=100)
    *batches, again = sizes  # a few are asked for again
    assert len(batches) > 1 and sum(batches) == 10_000 and max(batches) <= 4096 and again < 9
    x, y = np.meshgrid(found.x, found.y)
    points = torch.from_numpy(np.stack([x.ravel(), y.ravel()], 1)).float()
    np.testing.assert_allclose(found.values.ravel(), net(points)[:, 0], atol=1e-6)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.bfloat16])
def test_a_module_receives_what_its_parameters_are(kind):
    net = nn.Linear(2, 1).to(kind)
    for a in (np.zeros(2), torch.zeros(2), [0, 0]):
        found = probes.slice_1d(net, a, np.ones(2), samples=3)
        full = torch.promote_types(kind, torch.float32)  # weights of half precision compute in float32
        expected = copy.deepcopy(net).to(full)(torch.tensor([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]], dtype=full))
        np.testing.assert_allclose(found.values, expected.detach()[:, 0], rtol=1e-6)
    assert all(parameter.grad is None for parameter in net.parameters())


def test_other_callables_receive_what_was_given():
    kinds = []

    def noted(x):
        kinds.append((type(x), x.dtype))
        return x[:, 0]

    for a in (np.zeros(2), torch.zeros(2), torch.zeros(2, dtype=torch.int64), [0, 0]):
        probes.slice_1d(noted, a, [1, 1])
    array, tensor = (np.ndarray, np.dtype("float64")), (torch.Tensor, torch.float32)
    assert kinds == [kind for kind in (array, tensor, tensor, array) for _ in range(2)]  # a few are asked for again


def test_classifiers_are_sliced():
    x = np.random.default_rng(0).normal(size=(200, 2))
    model = LogisticRegression().fit(x, x[:, 0] > 0)
    found = probes.slice_1d(model.predict, np.array([-1.0, 0.0]), np.array([1.0, 0.0]), samples=21)
    assert set(found.values) == {0.0, 1.0} and (np.diff(found.values) >= 0).all()
    assert probes.slice_1d(model.predict_proba, np.zeros(2), np.ones(2)).values.shape == (100, 2)


def test_what_cannot_be_sliced_is_refused():
    with pytest.raises(ArgumentError, match="a has 2 inputs and b has 3"):
        probes.slice_1d(np.sum, np.zeros(2), np.zeros(3))
    with pytest.raises(ArgumentError, match=r"a has shape \(1, 2\)"):
        probes.slice_1d(np.sum, np.zeros((1, 2)), np.zeros(2))
    for dims in ((0, 0), (0, 2), (-1, 0), (0,)):
        with pytest.raises(ArgumentError, match="two different numbers from 0 to 1"):
            probes.slice_2d(lambda x: x, np.zeros(2), dims)
    with pytest.raises(ArgumentError, match="bounds"):
        probes.slice_2d(lambda x: x, np.zeros(2), (0, 1), bounds=(1, 1))
    with pytest.raises(ArgumentError, match="grid=1"):
        probes.slice_2d(lambda x: x, np.zeros(2), (0, 1), grid=1)


@given(st.lists(numbers, min_size=3, max_size=3), st.integers(2, 9))
def test_a_plane_through_three_points_is_met_at_its_own_points(corners, grid):
    corners = np.array(corners)
    found = probes.slice_2d(lambda x: x, corners, grid=grid)
    for row, column, corner in ((0, 0, 0), (0, -1, 1), (-1, 0, 2)):
        np.testing.assert_allclose(found.values[row, column], corners[corner], atol=1e-12)
    a, b, c = corners
    for row, mu in enumerate(found.y):
        expected = a + np.outer(found.x, b - a) + mu * (c - a)
        np.testing.assert_allclose(found.values[row], expected, atol=1e-12)


def test_trees_and_neighbours_are_sliced_like_networks():
    points = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    labels = points[:, 0] > 0.2
    tree, near = DecisionTreeClassifier(max_depth=1).fit(points, labels), KNeighborsClassifier(5).fit(points, labels)
    for predict in (tree.predict_proba, near.predict_proba):
        along = probes.slice_2d(predict, points[0], (0, 1), grid=20)
        assert along.values.shape == (20, 20, 2)
        np.testing.assert_allclose(along.values.sum(-1), 1)
        inside = (along.x > 0.25).nonzero()[0][0]
        assert along.values[:, inside + 3 :, 1].mean() > 0.9 > 0.1 > along.values[:, : inside - 3, 1].mean()
    flat = probes.slice_2d(tree.predict_proba, points[0], (1, 2), grid=5).values  # it looks at input 0 only
    assert (flat == flat[0, 0]).all()
    corners = points[:3]
    assert (probes.slice_2d(tree.predict, corners, grid=2).values[0, 0] == tree.predict(corners[:1])[0]).all()
    line = probes.slice_1d(LogisticRegression().fit(points, labels).decision_function, points[0], points[1], samples=9)
    assert np.diff(line.values) == pytest.approx(np.diff(line.values)[0])  # it is linear


def test_three_points_are_asked_for():
    for wrong in (np.zeros(3), np.zeros((2, 3)), np.zeros((4, 3))):
        with pytest.raises(ArgumentError, match="give three points"):
            probes.slice_2d(lambda x: x, wrong)


def test_alignment_is_one_along_axes_and_two_over_pi_all_around():
    """Trees cut along axes; a cone, seen from all sides, has mean |cos 2θ| = 2/π; a constant says nothing."""
    plane = {"dims": (0, 1), "grid": 101}
    rng = np.random.default_rng(0)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rng.normal(size=(200, 2)), rng.integers(0, 2, 200))
    for f in (lambda x: np.sin(9 * x[:, 0]), lambda x: x[:, 1] ** 2):
        assert probes.alignment(probes.slice_2d(f, np.zeros(2), **plane)) == 1
    assert probes.alignment(probes.slice_2d(tree.predict, np.zeros(2), **plane)) > 0.95
    inside = probes.slice_2d(lambda x: np.minimum(np.hypot(*x.T), 0.9), np.zeros(2), **plane)
    assert abs(probes.alignment(inside) - 2 / np.pi) < 0.01
    turned = probes.slice_2d(lambda x: np.tanh(5 * (x[:, 0] + x[:, 1])), np.zeros(2), **plane)
    assert probes.alignment(turned) < 1e-12
    assert np.isnan(probes.alignment(probes.slice_2d(lambda x: np.ones(len(x)), np.zeros(2), **plane)))


def test_alignment_is_one_number_for_all_outputs_and_any_scale():
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(2, 3))
    found = [
        probes.alignment(probes.slice_2d(lambda x, s=s: s * np.tanh(x @ weights), np.zeros(2), (0, 1), 20))
        for s in (1.0, -7.0)
    ]
    squares = [
        probes.alignment(probes.slice_2d(lambda x, o=o: np.tanh(x @ weights)[:, o], np.zeros(2), (0, 1), 20))
        for o in range(3)
    ]
    assert found[0] == pytest.approx(found[1]) and 0 <= found[0] <= max(squares)


def test_no_imaginary_part_is_lost():
    points = np.random.default_rng(0).normal(size=(30, 2))
    for f, where in (
        (lambda x: x[:, 0] + 1j * x[:, 1], points),
        (lambda x: x[:, 0], points + 1j),
        (lambda x: torch.complex(x, x), torch.tensor(points)),
    ):
        with pytest.raises(ArgumentError, match="complex"):
            probes.slice_1d(f, where[0], where[1])
        with pytest.raises(ArgumentError, match="complex"):
            probes.total_variation(f, where, paths=3)


def test_images_are_points():
    """Of shape (C, H, W): the model reads them as they are, the line between two is that of all their pixels."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1)).requires_grad_(False)
    images = torch.rand(20, 1, 4, 4)
    flat = nn.Sequential(nn.Unflatten(1, (1, 4, 4)), net)
    found = probes.slice_1d(net, images[0], images[1], samples=5).values
    np.testing.assert_allclose(found, probes.slice_1d(flat, images[0].ravel(), images[1].ravel(), samples=5).values)
    for probe in (probes.total_variation, probes.fourier_complexity):
        one, two = probe(net, images, paths=5), probe(flat, images.flatten(1), paths=5)
        assert one.value == pytest.approx(two.value) and one.value > 0
    for measure in (probes.Variation, probes.Frequency):
        assert measure(images, paths=5)(net) == pytest.approx(measure(images.flatten(1), paths=5)(flat))


def test_the_network_of_a_run_is_called_as_it_is():
    """It has a run axis of length 1; two runs are not one function."""
    model, points = MLP((3, 8, 2), [0], nn.Tanh()).requires_grad_(False), torch.rand(20, 3)
    expected = probes.slice_1d(lambda x: model(x[None])[0], points[0], points[1]).values
    np.testing.assert_array_equal(probes.slice_1d(model, points[0], points[1]).values, expected)
    assert probes.slice_2d(model, points[0], (0, 1), grid=4).values.shape == (4, 4, 2)
    alone = probes.total_variation(lambda x: model(x[None])[0], points, paths=5).value
    assert probes.total_variation(model, points, paths=5).value == alone
    with pytest.raises(ArgumentError, match="MLP has 2 runs; give a model with one"):
        probes.total_variation(MLP((3, 8, 2), [0, 1], nn.Tanh()), points)
