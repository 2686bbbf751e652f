"""SliceExplorer: each panel shows its own model, on the plane that the controls choose."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from lab import probes
from lab.errors import ArgumentError
from lab.probes.calling import function_of
from lab.widgets.slices import SliceExplorer
from tests.widgets.landscapes import table, trained


@pytest.fixture
def explorer():
    x, y, names = table()
    tree, near = DecisionTreeClassifier(max_depth=3).fit(x.numpy(), y), KNeighborsClassifier(5).fit(x.numpy(), y)
    tanh = {2.0: trained("tanh", 30)[0], 1.0: trained("tanh")[0]}
    return SliceExplorer({"ReLU": trained()[0], "TanH": tanh, "tree": tree, "k-NN": near}, x, names, grid=20)


def shown(explorer, panel):
    """What a panel shows: as the page has it, or of a perceptron as Python would slice it."""
    view = explorer.view.data()
    if (given := view["given"][panel]) is not None:
        return np.array(given["z"], dtype=float)
    model = view["models"][panel]
    assert model["networks"][view["a0"] if model["alphas"] else 0] is not None, "the page computes it"
    return explorer.slice(model["name"]).values[..., view["output"]]


def test_each_panel_shows_its_model(explorer):
    x, _, names = table()
    explorer.point.value, explorer.across.value, explorer.up.value = 5, 3, 6
    point = x[5].numpy().astype(float)
    for panel, model in ((0, trained()[0]), (2, explorer._models["tree"][0])):
        given = x[5] if panel == 0 else point
        expected = probes.slice_2d(function_of(model), given, (3, 6), 20).values[..., 1]
        np.testing.assert_allclose(shown(explorer, panel), expected, atol=1e-6)
    view = explorer.view.data()
    assert view["points"][view["point"]] == pytest.approx(point) and view["columns"] == list(names)
    assert (view["across"], view["up"]) == (3, 6)
    assert [given and given["plane"] for given in view["given"]] == [None, None, [5, 3, 6, 0], [5, 3, 6, 0]]
    assert explorer.error.value == ""


def test_a_slider_chooses_among_models(explorer):
    slider = explorer.slider("TanH")
    assert [value for _, value in slider.options] == [1.0, 2.0]
    seen = {}
    for value, steps in ((2.0, 30), (1.0, 60)):
        slider.value = value
        expected = probes.slice_2d(function_of(trained("tanh", steps)[0]), table()[0][0], (0, 1), 20).values[..., 1]
        seen[value] = shown(explorer, 1)
        np.testing.assert_allclose(seen[value], expected, atol=1e-6)
        assert explorer.view.models[1]["alphas"][explorer.view.data()["a0"]] == f"{value:g}"
    assert not np.array_equal(seen[1.0], seen[2.0])


def test_what_was_seen_is_not_computed_again():
    x, calls = table()[0], []

    def counted(points):
        calls.append(1)
        return points[:, 0]

    explorer = SliceExplorer({"counted": counted}, x, grid=5)
    explorer.point.value = 1
    seen = len(calls)
    explorer.point.value = 0
    explorer.point.value = 1
    assert len(calls) == seen
    assert explorer.output.layout.display == "none"  # of one there is no choice


def test_the_other_output_is_shown(explorer):
    high = shown(explorer, 2)
    explorer.output.value = 0
    np.testing.assert_allclose(shown(explorer, 2), 1 - high)


def test_what_cannot_be_shown_is_said(explorer):
    explorer.up.value = 0
    assert "choose another input" in explorer.error.value
    x, y, names = table()
    machine = LinearSVC().fit(x.numpy(), y)
    assert function_of(machine) == machine.decision_function
    with pytest.raises(ArgumentError, match="no models"):
        SliceExplorer({}, x)
    with pytest.raises(ArgumentError, match="two inputs or more"):
        SliceExplorer({"one": lambda x: x}, x[:, :1])
    with pytest.raises(ArgumentError, match="one name an input"):
        SliceExplorer({"one": lambda x: x[:, 0]}, x, names[:2])
    with pytest.raises(ArgumentError, match="cannot be called"):
        SliceExplorer({"one": 3}, x)


def test_models_are_called_with_what_the_points_are():
    """Here a function of tensors alone, from the first look at its outputs on."""
    x = table()[0]
    made = SliceExplorer({"sum": lambda points: points.detach().sum(1)}, x, grid=4)
    corner = x[0].clone()
    corner[:2] = -1.0
    assert shown(made, 0)[0, 0] == pytest.approx(corner.sum().item(), rel=1e-5) and made.error.value == ""


def test_the_first_plane_is_of_inputs_that_vary():
    points = np.random.default_rng(0).normal(size=(20, 4))
    points *= (2.0, 2.0, 3.0, 2.5) / points.std(0)
    near = KNeighborsClassifier(1).fit(points, points[:, 0] > 0)
    first = SliceExplorer({"k-NN": near}, points, grid=3)
    assert (first.across.value, first.up.value) == (0, 1)
    points[:, 0] = -0.1  # its standard deviation is rounded, not 0
    assert points.std(0)[0] > 0
    varied = SliceExplorer({"k-NN": near}, points, grid=3)
    assert (varied.across.value, varied.up.value) == (2, 3)
    points[5, 0] = 1.0  # as a pixel in a corner that is seldom used
    rare = SliceExplorer({"k-NN": near}, points, grid=3)
    assert (rare.across.value, rare.up.value) == (2, 3)
    same = SliceExplorer({"k-NN": near}, points[:1], grid=3)
    assert (same.across.value, same.up.value) == (0, 1)
