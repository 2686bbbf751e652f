"""EditingExplorer: each control does to the function what its name says, and what is drawn follows from it."""

import json
import re

import numpy as np
import pytest
import torch

from lab.api import train
from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.plots.functions import LINE, PLANE, SLOPE, SPECTRUM
from lab.probes.profile import portrait, variation
from lab.widgets.editing import EditingExplorer
from lab.widgets.function_view import CurveEditor, as_bytes
from lab.widgets.spline import EDITED, SplineExplorer


@pytest.fixture
def phi():
    noise = torch.randn(81, generator=torch.Generator().manual_seed(0))
    x = torch.linspace(-6, 6, 81)
    return Spline(torch.sin(2 * x) * torch.exp(-x.square() / 6) + 0.1 * noise, low=-6.0, high=6.0)


@pytest.fixture
def explorer(phi):
    return EditingExplorer(phi, scale="smoke")


def pull(explorer, knot=40, by=0.5):
    """What the page sends when the hand pulls a knot in two moves and is lifted."""
    values = explorer.editor.values.copy()
    for _ in range(2):
        values[knot] += by / 2
        explorer.editor.set_state({"value": memoryview(as_bytes(values))})
    explorer.editor.set_state({"strokes": explorer.editor.strokes + 1})
    return torch.from_numpy(values).float()


def test_it_begins_with_the_function(explorer, phi):
    assert torch.equal(explorer.spline.values, phi.values) and not explorer.changed
    assert (explorer.spline.low, explorer.spline.high) == (-6, 6)
    assert explorer.undo.disabled and explorer.redo.disabled and explorer.error.value == ""
    for now, before in zip(explorer.figure.data[1:6:2], explorer.figure.data[0:6:2], strict=True):
        np.testing.assert_array_equal(now.y, before.y)


def test_what_is_pulled_is_the_function_and_everything_drawn_follows(explorer, phi):
    before = [np.array(explorer.figure.data[trace].y) for trace, _ in (SLOPE, SPECTRUM, LINE)]
    values = pull(explorer)
    assert torch.equal(explorer.spline.values, values) and explorer.changed
    found, data = portrait(Spline(values, -6.0, 6.0)), explorer.figure.data
    np.testing.assert_array_equal(data[LINE[1]].y, found.line.values)
    plane = data[PLANE]
    np.testing.assert_array_equal(plane.z, found.plane.values)
    np.testing.assert_allclose(plane.y0 + plane.dy * np.arange(100), found.plane.y, atol=1e-12)
    assert plane.x is None and plane.y is None  # FigureWidget fails in the kernel, unseen, when the page returns them
    np.testing.assert_allclose(data[SLOPE[1]].y[:-1], np.diff(values.double()) / 0.15, rtol=1e-12)
    now = variation(Spline(values, -6.0, 6.0))
    assert f"network: {now.value:.3g} (95 % interval {now.low:.3g} to {now.high:.3g})" in explorer.status.value
    assert f"before: {variation(phi).value:.3g} " in explorer.status.value
    for kept, trace in zip(before, (SLOPE, SPECTRUM, LINE), strict=True):
        np.testing.assert_array_equal(data[trace[0]].y, kept)
        assert not np.array_equal(data[trace[1]].y, kept)


def test_the_spectrum_has_a_wave_at_its_frequency():
    wave = Spline.from_function(lambda x: 3 * torch.sin(2 * torch.pi * 0.5 * x), -10.0, 10.0, 201)
    shown = EditingExplorer(wave).figure.data[SPECTRUM[1]]
    top = int(np.argmax(shown.y))
    assert (shown.x[top], shown.y[top]) == (pytest.approx(0.5), pytest.approx(3, rel=1e-5))


def test_undo_and_redo_walk_through_the_strokes(explorer, phi):
    states = [phi.values, *(pull(explorer, knot) for knot in (10, 40, 70))]
    for state in states[-2::-1]:
        explorer.undo.click()
        assert torch.equal(explorer.spline.values, state)
    assert explorer.undo.disabled and not explorer.redo.disabled
    for state in states[1:]:
        explorer.redo.click()
        assert torch.equal(explorer.spline.values, state)
    explorer.editor._handle_custom_msg({"kind": "undo"}, [])  # Ctrl-Z in the page
    assert torch.equal(explorer.spline.values, states[-2])
    pull(explorer, 5)
    assert explorer.redo.disabled
    explorer.reset.click()
    assert torch.equal(explorer.spline.values, phi.values)
    explorer.undo.click()
    assert explorer.changed  # the original is a step, too


def test_a_stroke_that_changes_nothing_is_none(explorer):
    explorer.editor.set_state({"strokes": 1})
    assert explorer.undo.disabled


def test_mirrors_are_their_own_inverse(explorer, phi):
    x = torch.linspace(-7, 7, 101)
    for button, image in ((explorer.mirror_x, phi(-x)), (explorer.mirror_y, -phi(x))):
        button.click()
        torch.testing.assert_close(explorer.spline(x), image, atol=1e-5, rtol=0)
        button.click()
        assert not explorer.changed


def test_symmetrize_is_that_of_the_function(explorer, phi):
    found = phi.symmetrized()
    explorer.symmetrize.click()
    assert torch.equal(explorer.spline.values, found.spline.values)
    assert f"correlation {found.correlation:.2f}" in explorer.status.value


def test_a_slider_acts_on_the_function_from_before_it_was_moved(explorer, phi):
    widths = [width for _, width in explorer.edits.smooth.options if width]
    for width in (widths[5], widths[-1], widths[2]):
        explorer.edits.smooth.value = width
    assert torch.equal(explorer.spline.values, phi.smoothed(widths[2]).values)
    explorer.undo.click()  # one step, however far it was moved
    assert not explorer.changed and explorer.undo.disabled and explorer.edits.smooth.value == 0
    explorer.edits.smooth.value = widths[2]
    explorer.edits.smooth.value = 0
    assert not explorer.changed


def test_another_slider_takes_up_what_the_first_one_left(explorer, phi):
    explorer.edits.smooth.value = explorer.edits.smooth.options[3][1]
    smooth = explorer.spline
    explorer.edits.polynomial.value = 7
    assert explorer.edits.smooth.value == 0
    x = smooth.positions
    np.testing.assert_allclose(explorer.spline.values, smooth.polynomial(7)(x), atol=1e-6)
    explorer.edits.polynomial.value = 0
    assert torch.equal(explorer.spline.values, smooth.values)
    explorer.edits.chebyshev.value = 20
    np.testing.assert_allclose(explorer.spline.values, smooth.chebyshev(20)(x), atol=1e-6)
    error = float((explorer.spline.values - smooth.values).abs().max())
    assert f"at most {error:.2g}" in explorer.status.value
    width = f"{explorer.edits.smooth.options[3][0]}"
    assert f"smoothed, bandwidth {width}, then the Chebyshev series of degree 20" in explorer.status.value
    pull(explorer)
    assert explorer.edits.chebyshev.value == 0


def test_seed_and_scale_change_both_networks(explorer, phi):
    pull(explorer)
    explorer.seed.value, explorer.weights.value = 5, 2.0
    lines = [portrait(function, 5, 2.0).line.values for function in (phi, explorer.spline)]
    for trace, line in zip(LINE, lines, strict=True):
        np.testing.assert_array_equal(explorer.figure.data[trace].y, line)


def test_the_density_counts_every_input_of_the_network(explorer, phi):
    density = np.frombuffer(explorer.editor.density)
    inputs = portrait(phi).received
    assert density.sum() == len(inputs)
    centre = (density * np.linspace(-6, 6, 81)).sum() / density.sum()
    assert centre == pytest.approx(inputs.clip(-6, 6).mean(), abs=0.01)


def test_it_is_sent_with_the_function_as_it_stands_and_the_one_before(explorer, phi):
    explorer.mirror_y.click()
    (text,) = re.findall(r'id="lab-state" type="application/json">(.*?)</script>', explorer.page())
    state = json.loads(text)["state"]
    np.testing.assert_allclose(state["edited"], -phi.values, rtol=1e-6)
    np.testing.assert_allclose(state["functions"][state["function"]]["values"], phi.values, rtol=1e-6)
    explorer.undo.click()
    assert '"edited": null' in explorer.page()


def test_what_cannot_be_done_is_said():
    explorer = EditingExplorer(Spline(torch.tensor([0.0, 1.0, 0.0])))
    explorer.edits.polynomial.value = 9
    assert "give a degree below" in explorer.error.value
    explorer.mirror_y.click()
    assert explorer.error.value == "" and explorer.spline.values.tolist() == [0, -1, 0]
    with pytest.raises(ArgumentError, match="2 functions"):
        EditingExplorer(Spline(torch.zeros(2, 5)))


def test_edited_original_and_gelu_train_side_by_side(explorer, phi):
    explorer.compete.value = True
    contest = explorer._contest
    assert list(contest.contenders()) == ["Memorize, original", "Memorize, GELU"]  # no two of the same
    values = pull(explorer)
    contest.train.click()
    assert contest.wait(60) and contest.error.value == "" and explorer.error.value == ""
    functions = (Spline(values, -6.0, 6.0), phi, "gelu")
    colours = set()
    for function, name in zip(functions, ("edited", "original", "GELU"), strict=True):
        lines = [line for line in contest.figure.data if line.name == f"Memorize, {name}"]
        expected = train("memorize", mlp=function, seeds=2, scale="smoke", progress=False)
        for line, run in zip(lines, expected, strict=True):
            assert line.x[-1] == run.steps[-1] and line.y[-1] == pytest.approx(100 * run.accuracy[-1], abs=2)
        colours |= {line.line.color for line in lines}
    assert len(colours) == 3
    contest.train.click()  # again: in place of the first
    assert contest.wait(60) and len(contest.figure.data) == 6


def test_the_edited_function_comes_back_into_the_menus(phi, tmp_path):
    explorer = SplineExplorer(phi, edit=True)
    assert explorer._view.layout.display == "none"
    explorer.edit.value = False
    assert explorer.function.value != EDITED and EDITED not in explorer.function.options  # nothing was edited
    for power in (1, 2):
        explorer.edit.value = True
        explorer.editing.mirror_y.click()
        assert torch.equal(explorer.spline.values, (-1) ** power * phi.values)
        explorer.edit.value = False
        assert explorer.function.value == EDITED and explorer.error.value == ""
        np.testing.assert_array_equal(explorer.shape.y, (-1) ** power * phi.values.double())
        shown = explorer.view.data()
        shown = shown["functions"][shown["first"] + shown["function"]]
        assert shown["name"] == EDITED
        np.testing.assert_allclose(shown["values"], explorer.shape.y, rtol=1e-8)
        assert torch.equal(explorer.spline.values, (-1) ** power * phi.values)
    explorer.function.value = "your function"
    explorer.others.value = (EDITED,)
    shown = explorer.view.data()
    assert [shown["functions"][one]["name"] for one in shown["compared"]] == [EDITED]
    explorer.edit.value = True
    explorer.editing.mirror_x.click()
    explorer.folder.value = str(tmp_path)
    explorer.export.click()
    assert torch.equal(Spline.load(tmp_path / "edited.json").values, phi.values.flip(0))
    assert explorer.edit.value and explorer.error.value == ""


def test_who_comes_back_to_the_editor_finds_undo_and_the_function_before(phi):
    explorer = SplineExplorer(phi, edit=True)
    explorer.editing.mirror_y.click()
    explorer.edit.value = False
    explorer.edit.value = True
    editing = explorer.editing
    np.testing.assert_array_equal(np.frombuffer(editing.editor.before), phi.values.double())
    editing.undo.click()
    assert torch.equal(explorer.spline.values, phi.values)
    editing.redo.click()
    editing.mirror_x.click()
    explorer.edit.value = False
    assert torch.equal(explorer.spline.values, -phi.values.flip(0)) and explorer.function.value == EDITED
    explorer.function.value = explorer.function.options[1]
    explorer.edit.value = True
    assert explorer.editing is not editing and explorer.editing.undo.disabled, "another function is edited anew"


def test_the_editor_is_complete_before_anything_is_sent(phi):
    """What is sent after a widget was made and before it is shown can be lost on the way."""
    made = {}

    class Watched(CurveEditor):
        def open(self):
            made.update(self.get_state())
            super().open()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lab.widgets.editing.CurveEditor", Watched)
        explorer = EditingExplorer(phi)
    now = explorer.editor.get_state()
    for name in ("window", "density", "value", "before", "brush", "tool", "low", "high"):
        assert made[name] == now[name], name
