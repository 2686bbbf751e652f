"""CompatibilityExplorer: a cell's curves are those of its runs, from the store or as shipped."""

import numpy as np
import pytest
from plotly.callbacks import InputDeviceState, Points

from lab.catalogue import build
from lab.catalogue.registry import entry
from lab.errors import ArgumentError
from lab.papers.transformers.compatibility.figures import plan
from lab.papers.transformers.compatibility.matrix import delta
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


def drawn(explorer):
    """Steps and accuracies of each seed: of the baseline, of the cell."""
    traces = explorer.curves.data
    half = len(traces) // 2
    return traces[: half - 1], traces[half:-1]


def test_the_curves_are_those_of_the_runs(explorer):
    explorer.part.value, explorer.architecture.value, explorer.task.value = "both", "mano", "add"
    for lines, architecture in zip(drawn(explorer), ("baseline", "mano"), strict=True):
        found = runs_of("both", architecture, "add")
        assert len(lines) == len(found) == 2
        for line, run in zip(lines, found, strict=True):
            np.testing.assert_array_equal(line.x, run.steps)
            np.testing.assert_allclose(line.y, 100 * run.accuracy, atol=0.01)  # curves keep four digits
    mean = explorer.curves.data[-1]
    np.testing.assert_allclose(
        mean.y, np.mean([100 * run.accuracy for run in runs_of("both", "mano", "add")], axis=0), atol=0.01
    )
    assert explorer.curves.layout.shapes[0].x0 == setting("add", "smoke").read
    assert explorer.error.value == ""


def test_a_click_chooses_a_cell(explorer):
    heat = explorer.matrix.data[0]
    row, column = explorer._rows.index("copy"), explorer._columns.index("mano")
    points = Points(point_inds=[[row, column]], xs=["Mano"], ys=["Copy"], trace_name="", trace_index=0)
    heat._dispatch_on_click(points, InputDeviceState())
    assert (explorer.architecture.value, explorer.task.value) == ("copy", "mano")
    assert "Copy" in explorer.status.value and "Mano" in explorer.status.value
    frame = explorer.matrix.layout.shapes[-1]
    assert (frame.x0, frame.y0) == (column - 0.5, row - 0.5)
    assert "Mano" in explorer.curves.layout.title.text


def test_another_part_shows_its_own_matrix(explorer, figure):
    for part in ("attention", "MLP"):
        explorer.part.value = part
        expected = delta(figure.table[figure.table["part"] == part]).set_index(["architecture", "task"])["delta"]
        heat = explorer.matrix.data[0]
        for keys, values in zip(heat.customdata, heat.z, strict=True):
            for (architecture, task, *_), value in zip(keys, values, strict=True):
                assert value == pytest.approx(expected[architecture, task])


def test_the_number_of_a_cell_is_said(explorer, figure):
    explorer.architecture.value, explorer.task.value = "add", "haystack"
    runs = figure.table[(figure.table["part"] == "MLP") & (figure.table["task"] == "haystack")]
    means = runs.groupby("architecture")["accuracy"].mean()
    said = f"{100 * (means['add'] - means['baseline']):+.1f}".replace("-", "−")
    assert said in explorer.status.value


def test_shipped_figures_have_their_curves_or_say_that_they_lack_them(figure, tmp_path, monkeypatch):
    monkeypatch.setattr("lab.catalogue.shipped.RESULTS", tmp_path)
    folder = tmp_path / figure.name / figure.scale
    figure.write(folder, images=False)
    explorers = [CompatibilityExplorer(found) for found in (figure, build.read(entry(figure.name), figure.scale))]
    for explorer in explorers:
        explorer.architecture.value, explorer.task.value = "mano", "mano"
    for here, there in zip(explorers[1].curves.data, explorers[0].curves.data, strict=True):
        np.testing.assert_array_equal(here.x, there.x)
        np.testing.assert_allclose(here.y, there.y)
    (folder / "curves.csv").unlink()
    bare = CompatibilityExplorer(build.read(entry(figure.name), figure.scale))
    assert "without its curves" in bare.status.value and len(bare.curves.data[-1].x) == 0
    assert "without its curves" not in explorers[1].status.value


def test_other_figures_are_refused():
    with pytest.raises(ArgumentError, match="fig6.*fig5 or fig11"):
        CompatibilityExplorer(build.figure("transformers/fig6", scale="smoke", progress=False))
