"""CompatibilityExplorer: a cell's curves are those of its runs, from the store or as shipped."""

import json

import numpy as np
import pytest

from lab.catalogue import build, shipped
from lab.catalogue.registry import entry
from lab.errors import ArgumentError
from lab.papers.compatibility import delta
from lab.papers.transformers.compatibility import plan
from lab.papers.transformers.settings import setting
from lab.run import Run
from lab.store import Store
from lab.widgets.compatibility import CompatibilityExplorer


@pytest.fixture(scope="module")
def figure():
    return build.figure("transformers/fig11", scale="smoke", progress=False)


@pytest.fixture
def explorer(figure):
    return CompatibilityExplorer(figure)


def runs_of(part, architecture, task):
    store = Store()
    wanted = {"part": part, "architecture": architecture, "task": task}
    planned = plan("smoke", 2, [part])
    return [Run(spec, store) for labels, spec in planned if wanted.items() <= labels.items()]


def cell(explorer):
    """The cell that is chosen, its curves and those of the baseline, as the page has them."""
    view = explorer.view.data()
    part, row, column = view["parts"][view["part"]], view["row"], view["column"]
    return part["cells"][row][column], part["curves"][row][column], part["baselines"][column]


def choose(explorer, architecture, task):
    """What the page does where a cell is clicked: its menus go with it."""
    explorer.architecture.value, explorer.task.value = architecture, task


def test_the_curves_are_those_of_the_runs(explorer):
    explorer.part.value = "both"
    choose(explorer, "mano", "add")
    _, ours, baseline = cell(explorer)
    for drawn, architecture in ((baseline, "baseline"), (ours, "mano")):
        found = runs_of("both", architecture, "add")
        assert len(drawn["runs"]) == len(found) == 2
        for line, run in zip(drawn["runs"], found, strict=True):
            np.testing.assert_array_equal(drawn["x"], run.steps)
            np.testing.assert_allclose(line, 100 * run.accuracy, atol=0.01)  # curves keep four digits
    assert explorer.view.steps[explorer.task.index] == setting("add", "smoke").read
    assert explorer.error.value == ""
    assert {"parts", "rows", "columns", "steps", "part", "row", "column"} == set(explorer.view.data())
    json.dumps(explorer.view.data(), allow_nan=False)


def test_another_part_shows_its_own_matrix(explorer, figure):
    for part in explorer.part.options:
        expected = delta(figure.table[figure.table["part"] == part]).set_index(["architecture", "task"])["delta"]
        explorer.part.value = part
        for architecture in explorer._rows:
            for task in explorer._columns:
                choose(explorer, architecture, task)
                assert cell(explorer)[0]["value"] == pytest.approx(expected[architecture, task])


def test_the_number_of_a_cell_is_said(explorer, figure):
    choose(explorer, "add", "haystack")
    runs = figure.table[(figure.table["part"] == "MLP") & (figure.table["task"] == "haystack")]
    means = runs.groupby("architecture")["accuracy"].mean()
    said = f"{100 * (means['add'] - means['baseline']):+.1f}".replace("-", "−")
    found = cell(explorer)[0]
    assert said in found["words"] and "Optimized for Add, trained on Haystack" in found["words"]
    assert found["text"].startswith(said)


def test_shipped_figures_have_their_curves_or_say_that_they_lack_them(figure, tmp_path, monkeypatch):
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path)
    folder = tmp_path / figure.name / figure.scale
    figure.write(folder, images=False)
    explorers = [CompatibilityExplorer(found) for found in (figure, shipped.read(entry(figure.name), figure.scale))]
    for explorer in explorers:
        choose(explorer, "mano", "mano")
    for here, there in zip(cell(explorers[1])[1:], cell(explorers[0])[1:], strict=True):
        assert here["x"] == there["x"]
        np.testing.assert_allclose(here["runs"], there["runs"])
    (folder / "curves.csv").unlink()
    bare = CompatibilityExplorer(shipped.read(entry(figure.name), figure.scale))
    assert "without its curves" in bare.status.value and cell(bare)[1:] == (None, None)
    assert "without its curves" not in explorers[1].status.value


def test_other_figures_are_refused():
    with pytest.raises(ArgumentError, match="fig6.*fig5 or fig11"):
        CompatibilityExplorer(build.figure("transformers/fig6", scale="smoke", progress=False))
