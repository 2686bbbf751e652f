"""LandscapeExplorer: what is drawn is the landscape, what stands at a point is the network there."""

import dataclasses
import json
import threading

import numpy as np
import pytest
import torch

from lab import probes
from lab.plots.landscape import CHOSEN, GROUND, surface
from lab.probes.calling import function_of
from lab.widgets import explore
from lab.widgets.landscape import FINE, GIVEN, LandscapeExplorer
from tests.widgets.landscapes import found, table, trained


@pytest.fixture
def explorer():
    return explore(found())


def drawn(explorer, side):
    """Heights of a landscape as the page has them, of the left (0) or the right side (1)."""
    view = explorer.map.data()
    return np.array(list(view["land"]["values"].values())[view[("left", "right")[side]]], dtype=float)


def shown(explorer, panel=0):
    """Values of a slice: of the network at the chosen point (0), of the model itself (1)."""
    return np.array(explorer.slices.given[panel]["z"], dtype=float)


def test_both_measures_are_drawn_on_one_plane(explorer):
    land = found()
    for side, name in enumerate(("loss", "complexity")):
        np.testing.assert_allclose(drawn(explorer, side), land.values[name], rtol=1e-8)
    np.testing.assert_allclose(explorer.map.land["x"], land.x)
    np.testing.assert_allclose(explorer.map.land["trajectory"], land.trajectory, rtol=1e-8)
    explorer.left.value = "complexity"
    np.testing.assert_allclose(drawn(explorer, 0), land.values["complexity"], rtol=1e-8)
    json.dumps(explorer.map.data(), allow_nan=False)
    assert explorer.error.value == ""


def test_what_is_no_number_is_told_to_the_page_as_none():
    land = found()
    values = {name: np.where(np.arange(9) == 3, np.nan, z) for name, z in land.values.items()}
    explorer = LandscapeExplorer(dataclasses.replace(land, values=values))
    assert all(row[3] is None for row in explorer.map.land["values"]["loss"])
    json.dumps(explorer.map.data(), allow_nan=False)


def test_a_chosen_point_shows_the_network_that_stands_there(explorer):
    land, (x, _, _) = found(), table()
    across, up = land.x[3], land.y[6]
    explorer.x.value, explorer.y.value = across, up  # the page sets these where it is clicked
    for panel, network in enumerate((land.at(across, up), trained()[0])):
        expected = probes.slice_2d(function_of(network), x[0], (0, 1), FINE).values[..., 1]
        np.testing.assert_allclose(shown(explorer, panel), expected, atol=1e-5)


def test_sliders_and_checkpoints_choose_points(explorer):
    land, before = found(), shown(explorer)
    explorer.x.value = land.x[0]
    assert not np.array_equal(before, shown(explorer))
    explorer.checkpoint.value = 3
    assert explorer.point == pytest.approx(tuple(land.trajectory[3]))
    itself = shown(explorer, 1)
    explorer._cut.point.value = 7
    assert not np.array_equal(itself, shown(explorer, 1))
    explorer._cut.up.value = 0  # as across
    assert "choose another input" in explorer.error.value


def test_the_first_checkpoint_is_the_one_nearest_to_the_model():
    """Which need not be the last: the weights that are best on val are often earlier."""
    land = found()
    assert explore(land).checkpoint.value == len(land.trajectory) - 1
    turned = dataclasses.replace(land, trajectory=land.trajectory[::-1])
    assert explore(turned).checkpoint.value == 0


def test_other_planes_are_computed_in_the_background(explorer):
    explorer.plane.value = "random, by layer"
    assert explorer.wait(60)
    assert explorer.landscape.plane.normalization == "layer-normalized" and "layer-normalized" in explorer.status.value
    expected = found().again(directions="random", normalize="layer")
    np.testing.assert_allclose(drawn(explorer, 0), expected.values["loss"], rtol=1e-6)
    explorer.radius.value = 0.1
    assert explorer.wait(60) and explorer.landscape.x[-1] == pytest.approx(0.1) and explorer.x.max == pytest.approx(0.1)
    explorer.seed.value = 2
    assert explorer.wait(60)
    explorer.plane.value, explorer.radius.value = "principal (PCA)", 1.0
    assert explorer.wait(60)
    np.testing.assert_allclose(drawn(explorer, 1), found().values["complexity"], rtol=1e-8)
    assert explorer.error.value == "" and explorer.planes.progress.layout.visibility == "hidden"


def test_a_newer_wish_ends_the_older_computation():
    land, asked_anew = found(), threading.Event()
    asked_anew.set()

    class Measure:
        calls = 0

        def __call__(self, model):
            self.calls += 1
            assert asked_anew.wait(60)
            return 1.0 + self.calls

    measure = Measure()
    explorer = LandscapeExplorer(probes.landscape(land.model, {"measure": measure}, "random", grid=5))
    assert explorer.slices is None  # it was given no data
    asked_anew.clear()  # the first computation gets no further than one point before the second is asked for
    explorer.seed.value = 1
    first, before = explorer.worker, measure.calls
    explorer.seed.value = 2
    asked_anew.set()
    first.join(60)
    assert explorer.wait(60) and not first.is_alive()
    assert explorer.landscape.asked["seed"] == 2 and ("random, by neuron", 1.0, 1) not in explorer.planes.known
    assert measure.calls - before < 2 * 25, "the first computation ended before all its points"


def test_the_bar_is_full_when_the_finest_landscape_is_there_and_not_before():
    land = probes.landscape(torch.nn.Linear(2, 1), {"size": lambda m: m.weight.norm()}, "random", grid=16)
    explorer, seen = LandscapeExplorer(land), []
    explorer.planes.progress.observe(lambda change: seen.append((change["new"], len(explorer.landscape.x))), "value")
    explorer.seed.value = 1
    assert explorer.wait(60)
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and shares[-1] == 1
    assert any(size == 12 and 0.3 < share < 0.5 for share, size in seen), "the coarse one is there when 36 % are done"


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
    assert "no longer" in explorer.error.value and explorer.planes.progress.layout.visibility == "hidden"


def test_surfaces_have_the_heights_of_the_maps(explorer):
    explorer.view.value = "3-D"
    for side, name in enumerate(("loss", "complexity")):
        heights = np.array(explorer.surface.data[4 * side + GROUND].z, dtype=float)
        np.testing.assert_array_equal(heights, found().values[name])
    on_grid = explorer.surface.data[CHOSEN]
    explorer.x.value, explorer.y.value = found().x[4], found().y[4]
    lift = 0.02 * np.ptp(found().values["loss"])
    assert on_grid.z[0] == pytest.approx(found().values["loss"][4, 4] + lift, rel=1e-3)
    explorer.view.value = "contour"
    assert explorer._place.children[0] is explorer.map and explorer.error.value == ""


def test_a_surface_of_logarithms_of_nothing_is_empty():
    explorer = LandscapeExplorer(probes.landscape(found().model, {"below": lambda model: -1.0}, "random", grid=2))
    explorer.logarithm.value, explorer.view.value = True, "3-D"
    assert np.isnan(np.array(explorer.surface.data[GROUND].z, dtype=float)).all() and explorer.error.value == ""


def test_directions_of_the_caller_are_offered_as_such():
    model = torch.nn.Linear(2, 1)
    land = probes.landscape(model, {"size": lambda m: m.weight.norm()}, torch.eye(3)[:2].numpy(), grid=3, radius=0.3)
    explorer = LandscapeExplorer(land, points=np.zeros((4, 2)))
    assert explorer.plane.value == GIVEN and explorer.radius.value == 0.3 and len(explorer.slices.given) == 2
    assert "principal (PCA)" not in explorer.plane.options
    explorer.radius.value = 1.0
    assert explorer.wait(60) and explorer.landscape.x[-1] == pytest.approx(1.0) and explorer.error.value == ""


def light(colour):
    """Relative luminance of #RRGGBB (WCAG 2)."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_axes_of_surfaces_can_be_read_where_the_page_is_light_and_where_it_is_dark():
    """WebGL draws them: what follows the theme elsewhere, a style sheet, does not reach them."""
    for scene in (surface().layout.scene, surface().layout.scene2):
        for axis in (scene.xaxis, scene.yaxis, scene.zaxis):
            assert axis.showbackground is False and axis.gridcolor == axis.color
            for ground in ("#ffffff", "#16181b", "#111111"):
                low, high = sorted((light(axis.color), light(ground)))
                assert (high + 0.05) / (low + 0.05) > 4


def test_the_seed_of_directions_can_be_moved_where_directions_are_random(explorer):
    assert explorer.plane.value == "principal (PCA)" and explorer.seed.disabled
    explorer.plane.value = "random, by layer"
    assert not explorer.seed.disabled and explorer.wait(60)
    explorer.plane.value = "principal (PCA)"
    assert explorer.seed.disabled
