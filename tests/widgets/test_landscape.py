"""LandscapeExplorer: what is drawn is the landscape, what stands at a point is the network there."""

import numpy as np
import pytest
import torch
from plotly.callbacks import InputDeviceState, Points

from lab import probes
from lab.plots.landscape import CHOSEN, GROUND, MODEL, WAY
from lab.probes.calling import function_of
from lab.widgets import explore
from lab.widgets.landscape import FINE, GIVEN, LandscapeExplorer
from tests.widgets.landscapes import found, table, trained


@pytest.fixture
def explorer():
    return explore(found())


def drawn(figure, side):
    """Heights of a landscape, of the left (0) or the right side (1)."""
    return np.array(figure.data[4 * side + GROUND].z, dtype=float)


def shown(explorer, panel=0):
    """Values of a slice: of the network at the chosen point (0), of the model itself (1)."""
    return np.array(explorer.slices.data[2 * panel].z, dtype=float)


def test_both_measures_are_drawn_on_one_plane(explorer):
    land = found()
    for side, name in enumerate(("loss", "complexity")):
        traces = explorer.map.data[4 * side :]
        np.testing.assert_array_equal(drawn(explorer.map, side), land.values[name])
        np.testing.assert_array_equal(traces[GROUND].x, land.x)
        np.testing.assert_array_equal(traces[WAY].x, land.trajectory[:, 0])
        assert (traces[MODEL].x[0], traces[MODEL].y[0]) == (0, 0)
        assert explorer.map.layout.annotations[side].text == name
        read = traces[GROUND].hovertext[2][5]
        assert f"loss: {land.values['loss'][2, 5]:.4g}" in read
        assert f"complexity: {land.values['complexity'][2, 5]:.4g}" in read
    explorer.left.value = "complexity"
    np.testing.assert_array_equal(drawn(explorer.map, 0), land.values["complexity"])
    explorer.logarithm.value = True
    np.testing.assert_allclose(drawn(explorer.map, 0), np.log10(land.values["complexity"]))
    assert explorer.error.value == ""


def test_a_click_shows_the_network_that_stands_there(explorer):
    land, (x, _, _) = found(), table()
    across, up = land.x[3], land.y[6]
    points = Points(point_inds=[[6, 3]], xs=[across], ys=[up], trace_name="", trace_index=0)
    explorer.map.data[4 + GROUND]._dispatch_on_click(points, InputDeviceState())
    assert explorer.point == pytest.approx((across, up))
    for side in (0, 1):
        mark = explorer.map.data[4 * side + CHOSEN]
        assert (mark.x[0], mark.y[0]) == pytest.approx((across, up))
    for panel, network in enumerate((land.at(across, up), trained()[0])):
        expected = probes.slice_2d(function_of(network), x[0], (0, 1), FINE).values[..., 1]
        np.testing.assert_allclose(shown(explorer, panel), expected, atol=1e-5)
    assert f"loss {land.values['loss'][6, 3]:.4g}" in explorer.status.value


def test_sliders_and_checkpoints_choose_points(explorer):
    land, before = found(), shown(explorer)
    explorer.x.value = land.x[0]
    assert not np.array_equal(before, shown(explorer))
    explorer.checkpoint.value = 3
    assert explorer.point == pytest.approx(tuple(land.trajectory[3]))
    assert explorer.map.data[CHOSEN].x[0] == pytest.approx(land.trajectory[3, 0])
    itself = shown(explorer, 1)
    explorer._cut.point.value = 7
    assert not np.array_equal(itself, shown(explorer, 1))
    explorer._cut.up.value = 0  # as across
    assert "choose another input" in explorer.error.value


def test_other_planes_are_computed_in_the_background(explorer):
    explorer.plane.value = "random, by layer"
    assert explorer.wait(60)
    assert explorer.found.plane.normalization == "layer-normalized" and "layer-normalized" in explorer.status.value
    expected = found().again(directions="random", normalize="layer")
    np.testing.assert_allclose(drawn(explorer.map, 0), expected.values["loss"], rtol=1e-6)
    explorer.radius.value = 0.1
    assert explorer.wait(60) and explorer.found.x[-1] == pytest.approx(0.1) and explorer.x.max == pytest.approx(0.1)
    explorer.seed.value = 2
    assert explorer.wait(60)
    explorer.plane.value, explorer.radius.value = "principal (PCA)", 1.0
    assert explorer.wait(60)
    np.testing.assert_array_equal(drawn(explorer.map, 1), found().values["complexity"])
    assert explorer.error.value == "" and explorer.progress.layout.visibility == "hidden"


def test_a_newer_wish_ends_the_older_computation():
    land, calls = found(), []

    class Slow:
        def __call__(self, model):
            calls.append(1)
            return 1.0 + len(calls)

    slow = probes.landscape(land.model, {"slow": Slow()}, "random", grid=5)
    explorer = LandscapeExplorer(slow)
    assert explorer.slices is None  # it was given no data
    with explorer.lock:  # the first computation cannot show itself before the second is asked for
        explorer.seed.value = 1
        first = explorer._thread
        explorer.seed.value = 2
    first.join(60)
    assert explorer.wait(60) and not first.is_alive()
    assert explorer.found.asked["seed"] == 2 and ("random, by neuron", 1.0, 1) not in explorer._known


def test_an_error_of_a_measure_shows():
    land, broken = found(), []

    def fragile(model):
        if broken:
            raise RuntimeError("no longer")
        return 1.0

    explorer = LandscapeExplorer(probes.landscape(land.model, {"fragile": fragile}, "random", grid=2))
    broken.append(True)
    explorer.seed.value = 1
    assert explorer.wait(60)
    assert "no longer" in explorer.error.value and explorer.progress.layout.visibility == "hidden"


def test_surfaces_have_the_heights_of_the_maps(explorer):
    explorer.view.value = "3-D"
    for side, name in enumerate(("loss", "complexity")):
        np.testing.assert_array_equal(drawn(explorer.surface, side), found().values[name])
    on_grid = explorer.surface.data[CHOSEN]
    explorer.x.value, explorer.y.value = found().x[4], found().y[4]
    lift = 0.02 * np.ptp(found().values["loss"])
    assert on_grid.z[0] == pytest.approx(found().values["loss"][4, 4] + lift, rel=1e-3)
    explorer.view.value = "contour"
    assert explorer._place.children[0] is explorer.map and explorer.error.value == ""


def test_directions_of_the_caller_are_offered_as_such():
    model = torch.nn.Linear(2, 1)
    land = probes.landscape(model, {"size": lambda m: m.weight.norm()}, torch.eye(3)[:2].numpy(), grid=3, radius=0.3)
    explorer = LandscapeExplorer(land, points=np.zeros((4, 2)))
    assert explorer.plane.value == GIVEN and explorer.radius.value == 0.3 and len(explorer.slices.data) == 4
    assert "principal (PCA)" not in explorer.plane.options
    explorer.radius.value = 1.0
    assert explorer.wait(60) and explorer.found.x[-1] == pytest.approx(1.0) and explorer.error.value == ""
