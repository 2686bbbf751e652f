"""TrainingExplorer: it trains what its controls say, live, until it is stopped."""

import time

import numpy as np
import pytest
import torch

import lab
from lab.api import train
from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.papers.transformers.settings import setting
from lab.run import Runs
from lab.spec import Knots
from lab.widgets.training import GIVEN, TrainingExplorer


@pytest.fixture(scope="module")
def runs():
    return train("memorize", mlp=Spline(torch.linspace(-1, 1, 21)), seeds=2, scale="smoke", progress=False)


def test_the_controls_say_what_is_trained():
    explorer = TrainingExplorer("addmod", scale="smoke")
    base = setting("addmod", "smoke")
    assert (explorer.width.value, explorer.steps.value) == (base.model.width, base.recipe.steps)
    explorer.mlp.value, explorer.seeds.value = "relu", 4
    specs = explorer.specs()
    assert [spec.seed for spec in specs] == [0, 1, 2, 3]
    assert {(spec.task, spec.model.mlp, spec.model.width) for spec in specs} == {("addmod", "relu", base.model.width)}
    explorer.scale.value, explorer.task.value = "paper", "mano"
    assert explorer.width.value == setting("mano", "paper").model.width
    explorer.width.value, explorer.steps.value = 16, 100
    assert {(spec.model.width, spec.recipe.last) for spec in explorer.specs()} == {(16, 100)}


def test_curves_grow_to_the_accuracies_of_ordinary_training():
    explorer = TrainingExplorer("memorize", scale="smoke")
    explorer.seeds.value = 2
    explorer.train.click()
    assert explorer.train.disabled and not explorer.stop.disabled
    assert explorer.wait(60) and explorer.error.value == ""
    assert not explorer.train.disabled and explorer.stop.disabled
    assert explorer.progress.value == 1 and "step" in explorer.status.value
    expected = train("memorize", seeds=2, scale="smoke", progress=False)
    for line, run in zip(explorer.figure.data, expected, strict=True):
        assert line.x[-1] == run.steps[-1]
        # percent; a fleet and solo runs differ in the last bits, which a few steps may turn into another answer
        assert line.y[-1] == pytest.approx(100 * run.accuracy[-1], abs=2)


def test_trainings_overlay_until_they_are_cleared():
    explorer = TrainingExplorer("memorize", scale="smoke")
    explorer.seeds.value = 1
    for name in ("gelu", "identity"):
        explorer.mlp.value = name
        explorer.train.click()
        assert explorer.wait(60)
    first, second = explorer.figure.data
    assert "gelu" in first.name and "identity" in second.name and first.line.color != second.line.color
    assert explorer.figure.layout.annotations == ()
    explorer.clear.click()
    assert explorer.figure.data == () and explorer.error.value == ""
    assert "press Train" in explorer.figure.layout.annotations[0].text


def test_many_quick_clicks_start_one_training():
    explorer = TrainingExplorer("memorize", scale="paper")
    explorer.seeds.value = 1
    # the page sends each click on its own: some arrive before it has seen that the button is disabled
    for _ in range(6):
        explorer.train.click()
    assert len(explorer.figure.data) == 1 and explorer.error.value == ""
    started = explorer._live
    explorer.train.click()
    assert explorer._live is started and len(explorer.figure.data) == 1
    explorer.clear.click()
    assert len(explorer.figure.data) == 1, "the line of a training stays while it grows"
    explorer.stop.click()
    assert explorer.wait(20)
    explorer.clear.click()
    assert explorer.figure.data == ()


def test_the_stop_button_stops():
    explorer = TrainingExplorer("memorize", scale="paper")
    explorer.seeds.value = 1
    explorer.train.click()
    end = time.monotonic() + 60
    while "step 0" in (explorer.status.value or "step 0") and time.monotonic() < end:
        time.sleep(0.02)
    explorer.stop.click()
    assert explorer.wait(20)
    assert 0 < explorer.progress.value < 1 and explorer.error.value == ""
    assert not explorer.train.disabled


def test_an_error_in_the_training_shows():
    explorer = TrainingExplorer("memorize", scale="smoke", phi=Spline(torch.zeros(2, 5)))
    explorer.train.click()
    assert "has 2 functions; give one of them" in explorer.error.value
    assert not explorer.train.disabled


def test_runs_are_shown_and_can_be_trained_again(runs):
    explorer = TrainingExplorer(runs, scale="smoke")
    assert [line.name for line in explorer.figure.data] == ["Memorize, your function, width 8"] * 2
    assert explorer.figure.layout.annotations == (), "there are curves"
    np.testing.assert_array_equal([line.y for line in explorer.figure.data], 100 * runs.accuracy)
    assert explorer.mlp.value == GIVEN
    assert isinstance(explorer.specs()[0].model.mlp, Knots)
    assert explorer.specs()[0].model == runs[0].spec.model


def test_unknown_tasks_are_refused():
    with pytest.raises(ArgumentError, match="juggle.*memorize"):
        TrainingExplorer("juggle")
    with pytest.raises(ArgumentError, match="no runs"):
        TrainingExplorer(Runs([]))


def test_runs_on_values_show_what_is_measured_of_them():
    rows = np.random.default_rng(0).normal(size=(60, 3)).astype("float32")
    runs = train(lab.Data.from_arrays(rows, rows[:, 0] / 2, name="halves"), steps=8, seeds=2, width=8, progress=False)
    explorer = lab.explore(runs)
    np.testing.assert_array_equal([line.y for line in explorer.figure.data], [run.scores["r2_test"] for run in runs])
    assert explorer.figure.layout.yaxis.title.text == "test R²" and explorer.figure.layout.yaxis.range is None
