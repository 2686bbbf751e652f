"""GrokkingExplorer: it trains what its controls say, shows the network's own answers, and ends when it generalizes."""

import statistics
import time

import numpy as np
import pytest
import torch

from lab.errors import ArgumentError
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo
from lab.papers.simplicity.settings import ADDITION, RELU, grokking
from lab.plots import tasks
from lab.run import Run, complete
from lab.spec import Knots, replace
from lab.store import Store
from lab.tasks import Operation
from lab.tasks.operation import ALL
from lab.training.descent_fleet import fleet_of
from lab.training.fleet import train
from lab.widgets import grokking as module
from lab.widgets.grokking import GIVEN, GrokkingExplorer

SMALL = Operation("a+b", modulus=7)


def shown(explorer):
    return np.array(explorer.table.data[tasks.ANSWERS].z)


def test_the_controls_say_what_is_trained():
    explorer = GrokkingExplorer(scale="smoke")
    expected = grokking("smoke").runs(RELU, 1)[0]
    assert replace(explorer.run_spec, recipe=expected.recipe) == expected
    assert explorer.settings() == [], "nothing was trained"
    assert explorer.run_spec.recipe == replace(expected.recipe, every=1), "enough points for a curve"
    explorer.operation.value, explorer.fraction.value, explorer.seed.value = ALL[-1], 60, 3
    explorer.width.value, explorer.steps.value = 16, 7
    spec = explorer.run_spec
    assert spec.task == grokking("smoke", replace(ALL[-1], fraction=0.6)).task and spec.seed == 3
    assert (spec.model.width, spec.recipe.last) == (16, 7)
    explorer.phi.value = "simplicity/addition-27"
    assert explorer.run_spec.model.phi.values == tuple(zoo("simplicity/addition-27").values.tolist())


def test_curves_are_those_of_ordinary_training_and_answers_those_of_the_network():
    explorer = GrokkingExplorer(SMALL, scale="smoke")
    explorer.until.value = False
    assert (shown(explorer) == 0).all()
    explorer.train.click()
    assert explorer.wait(60) and explorer.error.value == "" and explorer.progress.value == 1
    assert not explorer.train.disabled and explorer.stop.disabled
    spec = explorer.run_spec
    explorer.seed.value = 5  # what would be trained next is no part of the page
    assert f"seed {spec.seed}, {spec.recipe.last} steps" in explorer.page()
    complete([spec], Store(), progress=False)
    run = Run(spec, Store())
    for line, split in zip(explorer.figure.data, ("test", "train"), strict=True):
        assert list(line.x) == run.steps.tolist()
        assert line.y == pytest.approx(100 * run.accuracy_on(split), abs=1e-3)
    fleet = train(fleet_of([spec], [("relu",)]))
    for split, right in (("test", 2), ("train", 4)):
        rows = spec.task.split(0)[split]
        with torch.no_grad():
            said = fleet.model(rows.inputs[None])[0].argmax(1)
        cells = shown(explorer)[rows.latents["a"], rows.latents["b"]]
        assert (cells == np.where(said == rows.targets, right, right - 1)).all()
        said_there = np.array(explorer.table.data[tasks.ANSWERS].text)[rows.latents["a"], rows.latents["b"]]
        assert said_there.tolist() == said.tolist()


def test_it_ends_when_the_network_generalizes(monkeypatch):
    monkeypatch.setattr(module, "LEVEL", 0.2)  # .95 takes some seconds more
    explorer = GrokkingExplorer(scale="laptop")
    explorer.phi.value, explorer.width.value = "simplicity/addition-27", 64
    explorer.train.click()
    assert explorer.wait(60) and explorer.error.value == ""
    reached = np.flatnonzero(np.array(explorer.figure.data[0].y) >= 20)
    assert len(reached) and explorer.progress.value < 0.5
    assert f"in test at step {explorer.figure.data[0].x[reached[0]]}" in explorer.status.value


def test_it_can_be_stopped_and_goes_on_to_the_next():
    explorer = GrokkingExplorer(scale="laptop", phi=Spline(torch.linspace(-1, 1, 11)))
    assert explorer.phi.value == GIVEN and isinstance(explorer.run_spec.model.phi, Knots)
    explorer.width.value, explorer.until.value = 8, False
    explorer.train.click()
    end = time.monotonic() + 30
    while not len(explorer.figure.data[0].x) and time.monotonic() < end:
        time.sleep(0.02)
    explorer.operation.value = ALL[2]  # for the next training: what is under way keeps its own table
    assert "step" in explorer.table.layout.annotations[tasks.ANSWERS].text
    explorer.stop.click()
    assert explorer.wait(20) and 0 < explorer.progress.value < 1 and explorer.error.value == ""
    before = len(explorer.figure.data)
    assert explorer.figure.layout.annotations == ()
    explorer.clear.click()
    assert before == 2 and explorer.figure.data == () and "press Train" in explorer.figure.layout.annotations[0].text
    explorer.operation.value = ALL[3]
    assert np.array_equal(explorer.table.data[tasks.TABLE].z, ALL[3].table().numpy())
    assert (shown(explorer) == 0).all()


def test_many_quick_clicks_start_one_training():
    explorer = GrokkingExplorer(scale="laptop")
    explorer.width.value = 8
    for _ in range(6):
        explorer.train.click()
    assert len(explorer.figure.data) == 2 and explorer.error.value == ""
    explorer.stop.click()
    assert explorer.wait(20) and not explorer.train.disabled


def test_what_cannot_be_trained_is_said(tmp_path, monkeypatch):
    (tmp_path / "broken.json").write_text("{}")
    monkeypatch.setenv("LAB_ZOO", str(tmp_path))
    explorer = GrokkingExplorer(SMALL, scale="smoke")
    explorer.phi.value = "mine/broken"
    explorer.train.click()
    assert "broken" in explorer.error.value and not explorer.train.disabled
    for wrong in ("a+b", None):
        with pytest.raises(ArgumentError, match="no operation.*Operation"):
            GrokkingExplorer(wrong)
    with pytest.raises(ArgumentError, match="has 2 functions; give one of them"):
        GrokkingExplorer(SMALL, phi=Spline(torch.zeros(2, 5)))


def test_codes_tell_split_and_answer():
    wrong = (ADDITION.table() + 1).numpy() % 27
    for said, kinds in ((ADDITION.table().numpy(), (2, 4)), (wrong, (1, 3))):
        found = tasks.codes(ADDITION, said)
        train, test = (ADDITION.split(0)[name].latents for name in ("train", "test"))
        assert (found[train["a"], train["b"]] == kinds[1]).all() and (found[test["a"], test["b"]] == kinds[0]).all()
    rows = tasks.every_pair(ADDITION).view(27, 27, 54)
    split = ADDITION.split(0)["val"]
    assert torch.equal(rows[split.latents["a"], split.latents["b"]], split.inputs)


def test_another_operation_is_drawn_at_once(record_property):
    explorer, times = GrokkingExplorer(scale="smoke"), []
    for task in (*ALL[8:16], ALL[-1]):
        start = time.monotonic()
        explorer.operation.value = task
        times.append(1000 * (time.monotonic() - start))
    record_property("redraw, another operation", f"median {statistics.median(times):.0f} ms")
    assert statistics.median(times) < 500, "100 ms on an idle machine"
