"""SplineExplorer: what is drawn is the function and its inputs, exactly."""

import json
import re

import numpy as np
import pytest
import torch

from lab.api import train
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.spline import Spline
from lab.papers.transformers.individual_tasks.figures import mlp_inputs
from lab.plots.functions import ENDS, INPUTS, OTHERS, PHI, SLOPE
from lab.probes.profile import counts
from lab.widgets import explore
from lab.widgets.spline import GELU, RELU, SplineExplorer

X = np.linspace(-50, 50, 4001)


@pytest.fixture
def phi():
    return Spline(torch.randn(73, generator=torch.Generator().manual_seed(0)).cumsum(0), low=-4.0, high=8.0)


def test_the_line_is_the_function_between_its_ends(phi):
    explorer = SplineExplorer(phi)
    line, ends, slope = (explorer.figure.data[i] for i in (PHI, ENDS, SLOPE))
    inside = X[(X >= -4) & (X <= 8)]
    np.testing.assert_allclose(np.interp(inside, line.x, line.y), phi(torch.from_numpy(inside)), atol=1e-5)
    assert line.x[0] == -4 and line.x[-1] == 8
    assert list(ends.x) == [-7, -4, None, 8, 11]
    assert list(ends.y) == [line.y[0], line.y[0], None, line.y[-1], line.y[-1]]
    np.testing.assert_allclose(slope.y[:-1], np.diff(line.y) / phi.spacing, rtol=1e-6)
    assert [edge.x0 for edge in explorer.figure.layout.shapes] == [-4, 8]
    assert explorer.error.value == ""


def test_the_histogram_has_every_input(phi):
    inputs = torch.randn(3, 500) * 5
    bars = SplineExplorer(phi, inputs=inputs).figure.data[INPUTS]
    assert sum(bars.y) * 1500 / 100 == pytest.approx(1500)
    outside = ((inputs >= 8 - phi.spacing / 2).float().mean(), (inputs < -4 + phi.spacing / 2).float().mean())
    assert (bars.y[-1], bars.y[0]) == pytest.approx([100 * float(share) for share in outside], abs=1e-4)
    assert bars.visible


def test_without_inputs_it_says_so(phi):
    explorer = SplineExplorer(phi)
    assert not explorer.figure.data[INPUTS].visible and not explorer.figure.layout.yaxis3.visible
    assert "not shown" in explorer.status.value


def test_inputs_come_from_a_stored_model_that_was_trained_with_the_function(phi):
    runs = train("addmod", mlp=phi, seeds=1, scale="smoke", progress=False)
    explorer = SplineExplorer(phi)
    assert "addmod model in the store" in explorer.status.value
    expected = counts(mlp_inputs(runs[0]), -4.0, 8.0, 73)
    np.testing.assert_allclose(explorer.figure.data[INPUTS].y, 100 * expected / expected.sum(), atol=1e-9)


def test_zoom_moves_the_window_and_fits_the_height(phi):
    explorer = SplineExplorer(phi)
    explorer.zoom.value = 1.5
    low, high = explorer.figure.layout.xaxis.range
    assert (low + high, high - low) == pytest.approx((4, 3))
    seen = phi(torch.linspace(low, high, 2000))
    bottom, top = explorer.figure.layout.yaxis.range
    assert bottom < seen.min() and top > seen.max()
    assert top - bottom < 1.3 * float(seen.max() - seen.min())


def test_zoom_to_support(phi):
    explorer = SplineExplorer(phi, inputs=2 + torch.rand(1000))
    explorer.support.click()
    assert explorer.zoom.value == pytest.approx(1.1, abs=0.15)  # from the middle, 2, to the last input, 3, and a tenth
    bump = torch.zeros(81)
    bump[38:43] = 1.0
    explorer = SplineExplorer(Spline(bump))
    explorer.support.click()
    assert explorer.zoom.value == pytest.approx(1.1 * 1.5, abs=0.5)  # one slider step


def test_panels_do_not_overlap(phi):
    explorer = SplineExplorer(phi, inputs=torch.zeros(1))
    layout = explorer.figure.layout
    for shown in (True, False, True):
        explorer.slope.value = shown
        assert layout.yaxis2.visible == shown == explorer.figure.data[SLOPE].visible
        axes = [layout.yaxis, *([layout.yaxis2] if shown else []), layout.yaxis3]
        bounds = [bound for axis in axes for bound in reversed(axis.domain)]
        hidden = [axis for axis in (layout.yaxis, layout.yaxis2, layout.yaxis3) if not axis.visible]
        assert all(axis.domain[1] < 0.01 for axis in hidden)  # its white ground would cover another panel
        assert bounds == sorted(bounds, reverse=True) and bounds[0] == 1 and bounds[-1] == pytest.approx(0)


def test_comparisons_are_functions_to_the_ends_of_the_picture(phi):
    explorer = SplineExplorer(phi)
    gelu = explorer.figure.data[OTHERS]
    assert gelu.name == GELU and not gelu.visible
    explorer.others.value = (GELU,)
    assert gelu.visible
    np.testing.assert_allclose(gelu.y, torch.nn.functional.gelu(torch.tensor(gelu.x)), atol=1e-6)
    assert gelu.x[0] <= explorer.figure.data[ENDS].x[0] and gelu.x[-1] >= explorer.figure.data[ENDS].x[-1]
    explorer.others.value = ()
    assert not gelu.visible


def test_relu_is_there_to_compare_with(phi):
    explorer = SplineExplorer(phi)
    explorer.others.value = (RELU,)
    (line,) = [trace for trace in explorer.figure.data[OTHERS:] if trace.visible]
    np.testing.assert_array_equal(line.y, np.maximum(line.x, 0))


def test_comparisons_are_not_clipped(phi):
    explorer = SplineExplorer(phi / 100)
    explorer.others.value = (RELU,)
    for zoom in (2.0, explorer.zoom.max):
        explorer.zoom.value = zoom
        low, high = explorer.figure.layout.xaxis.range
        assert explorer.figure.layout.yaxis.range[1] >= high, "ReLU is as high as x"
    explorer.others.value = ()
    assert explorer.figure.layout.yaxis.range[1] < 1


def test_export_writes_the_function_and_the_picture(phi, tmp_path):
    explorer = SplineExplorer(phi)
    explorer.folder.value = str(tmp_path / "new" / "folder")
    explorer.export.click()
    written = tmp_path / "new" / "folder" / "your-function.json"
    assert str(written.with_suffix("")) in explorer.status.value
    assert torch.equal(Spline.load(written).values, phi.values)
    page = written.with_suffix(".html").read_text()
    assert json.dumps("your function") in page and len(page) < 1_000_000
    (tmp_path / "file").touch()
    explorer.folder.value = str(tmp_path / "file")
    explorer.export.click()
    assert "name another folder" in explorer.error.value
    assert "written" not in explorer.status.value, "of an earlier success nothing is left"
    assert "73 knots" in explorer.status.value


@pytest.mark.parametrize("place", ["", "a\0b", "x" * 5000, "~nobody-of-this-name/out"])
def test_a_place_that_no_file_system_has_is_refused_in_one_line(phi, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    explorer = SplineExplorer(phi)
    explorer.folder.value = place
    explorer.export.click()
    said = explorer.error.value
    assert "into=" in said and "give a" in said and "Error" not in said and len(said) < 600
    with pytest.raises(ArgumentError, match="path=.*give a") as refused:
        explorer.save(place)
    assert len(str(refused.value)) < 200 and "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def mixed_zoo(tmp_path, monkeypatch):
    """A zoo of the user's with one function of one variable, and three files that are none."""
    monkeypatch.setenv("LAB_ZOO", str(tmp_path))
    Spline(torch.tensor([0.0, 1.0, 0.0])).save(tmp_path / "hat.json")
    Spline(torch.zeros(2, 5)).save(tmp_path / "pair.json")
    Spline(torch.tensor([0.0, float("nan")])).save(tmp_path / "hole.json")
    (tmp_path / "notes.json").write_text("[]")
    return tmp_path


def test_files_that_are_no_function_of_one_variable_are_named_and_the_others_are_shown(mixed_zoo):
    explorer = explore("transformers/memorize")
    mine = [name for name in explorer.function.options if name.startswith("mine/")]
    assert mine == [name for name in explorer.others.options if name.startswith("mine/")] == ["mine/hat"]
    assert [f["name"] for f in explorer.view.functions] == list(explorer.others.options)
    for name, why in {"pair": "has 2 functions", "hole": "not finite", "notes": "not a saved spline"}.items():
        assert re.search(f"mine/{name} [(].*{why}", explorer.status.value)
    explorer.function.value = "mine/hat"
    assert explorer.error.value == "" and "mine/pair" in explorer.status.value


@pytest.mark.parametrize(("name", "why"), [("pair", "has 2 functions; give one"), ("notes", "is not a saved spline")])
def test_a_file_that_is_asked_for_and_is_no_function_of_one_variable_is_refused(mixed_zoo, name, why):
    with pytest.raises(LabError, match=why):
        explore(f"mine/{name}")


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(ArgumentError, match="nonsense"):
        SplineExplorer("nonsense")
    with pytest.raises(ArgumentError, match="2 functions"):
        SplineExplorer(Spline(torch.zeros(2, 5)))
