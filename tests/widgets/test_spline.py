"""SplineExplorer: what is drawn is the function and its inputs, exactly."""

import json
import re

import numpy as np
import pytest
import torch

from lab.api import train
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.spline import Spline
from lab.papers.transformers.functions import mlp_inputs
from lab.probes.profile import counts
from lab.widgets import explore
from lab.widgets.spline import GELU, GIVEN, RELU, SplineExplorer
from tests.widgets.node import needs_node, node

X = np.linspace(-50, 50, 4001)


@pytest.fixture
def phi():
    return Spline(torch.randn(73, generator=torch.Generator().manual_seed(0)).cumsum(0), low=-4.0, high=8.0)


PICTURE = """
import { picture } from "./function.js";
console.log(JSON.stringify(cases.map((state) => picture({ ...state, function: state.first + state.function,
  functions: state.functions.map((f) => ({ ...f, inputs: state.inputs[f.name] ?? f.inputs })) }))));
"""


def drawn(explorer):
    """What the page draws: the window of x, marks, and panels with lines and bars."""
    return node(PICTURE, [explorer.view.data()])[0]


def named(made, name):
    return next(line for line in made["panels"][0]["lines"] if line.get("name") == name)


@needs_node
def test_the_line_is_the_function_between_its_ends(phi):
    explorer = SplineExplorer(phi)
    explorer.zoom.value, explorer.slope.value = explorer.zoom.max, True
    made = drawn(explorer)
    left, right, line = made["panels"][0]["lines"]
    (slope,) = made["panels"][1]["lines"]
    inside = X[(X >= -4) & (X <= 8)]
    np.testing.assert_allclose(np.interp(inside, line["x"], line["y"]), phi(torch.from_numpy(inside)), atol=1e-5)
    assert line["x"][0] == -4 and line["x"][-1] == 8
    assert left["x"] == pytest.approx([-7, -4]) and right["x"] == pytest.approx([8, 11])
    assert left["y"] == [line["y"][0]] * 2 and right["y"] == [line["y"][-1]] * 2
    np.testing.assert_allclose(slope["y"][:-1], np.diff(line["y"]) / phi.spacing, rtol=1e-6)
    assert made["marks"] == [-4, 8] and explorer.error.value == ""
    explorer.slope.value = False
    assert [panel["title"] for panel in drawn(explorer)["panels"]] == ["φ(x)"]


@needs_node
def test_the_histogram_has_every_input(phi):
    inputs = torch.randn(3, 500) * 5
    shares = drawn(SplineExplorer(phi, inputs=inputs))["panels"][-1]["bars"]["y"]
    assert sum(shares) * 1500 / 100 == pytest.approx(1500)
    outside = ((inputs >= 8 - phi.spacing / 2).float().mean(), (inputs < -4 + phi.spacing / 2).float().mean())
    assert (shares[-1], shares[0]) == pytest.approx([100 * float(share) for share in outside], abs=1e-4)


def test_without_inputs_it_says_so(phi):
    explorer = SplineExplorer(phi)
    assert explorer.view.inputs == {} and "not shown" in explorer.status.value


def test_inputs_come_from_a_stored_model_that_was_trained_with_the_function(phi):
    runs = train("addmod", mlp=phi, seeds=1, scale="smoke", progress=False)
    explorer = SplineExplorer(phi)
    assert "addmod model in the store" in explorer.status.value
    expected = counts(mlp_inputs(runs[0]), -4.0, 8.0, 73)
    np.testing.assert_allclose(explorer.view.inputs[GIVEN], expected / expected.sum(), rtol=1e-8)


@needs_node
def test_zoom_moves_the_window_and_fits_the_height(phi):
    explorer = SplineExplorer(phi)
    explorer.zoom.value = 1.5
    made = drawn(explorer)
    low, high = made["x"]
    assert (low + high, high - low) == pytest.approx((4, 3))
    seen = phi(torch.linspace(low, high, 2000))
    bottom, top = made["panels"][0]["y"]
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


@needs_node
def test_comparisons_are_functions_to_the_ends_of_the_picture_and_are_not_clipped(phi):
    explorer = SplineExplorer(phi / 100)
    explorer.others.value = (GELU, RELU)
    for zoom in (2.0, explorer.zoom.max):
        explorer.zoom.value = zoom
        made = drawn(explorer)
        gelu, relu = named(made, GELU), named(made, RELU)
        np.testing.assert_allclose(gelu["y"], torch.nn.functional.gelu(torch.tensor(gelu["x"])), atol=1e-6)
        np.testing.assert_allclose(relu["y"], np.maximum(relu["x"], 0), atol=1e-6)
        assert gelu["x"][0] <= made["x"][0] and gelu["x"][-1] >= made["x"][1]
        assert made["panels"][0]["y"][1] >= made["x"][1], "ReLU is as high as x"
    explorer.others.value = ()
    made = drawn(explorer)
    assert made["panels"][0]["y"][1] < 1 and all(
        line.get("name") not in (GELU, RELU) for line in made["panels"][0]["lines"]
    )


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
