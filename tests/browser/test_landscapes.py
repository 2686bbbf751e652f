"""LandscapeExplorer and SliceExplorer on one page, as a person uses them: points, sliders, planes, surfaces."""

from pathlib import Path

import nbformat

from tests.browser import test_notebooks
from tests.browser.test_notebooks import choosing
from tests.widgets import landscapes

redraws = test_notebooks.redraws  # the fixture
PRESSES = 10
CELLS = [
    Path(landscapes.__file__).read_text(),
    "import lab\n\nlab.explore(found(15))",
    """
from sklearn.tree import DecisionTreeClassifier
from lab.widgets.slices import SliceExplorer

x, y, names = table()
tanh = {1.0: trained("tanh")[0], 2.0: trained("tanh", 30)[0]}
tree = DecisionTreeClassifier(max_depth=4).fit(x.numpy(), y)
SliceExplorer({"ReLU": trained()[0], "TanH": tanh, "tree": tree}, x, names)
""",
]
FULL = "() => [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.data.length > 1)"
HEAT = "plot => JSON.stringify(Array.from(plot.data[0].z, row => Array.from(row)))"


def test_landscapes_and_slices(open_notebook, redraws):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source.strip()) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    lab = open_notebook(notebook)
    lab.run_all()
    assert lab.errors() == []
    assert lab.page.locator(".js-plotly-plot:has(.main-svg)").count() == 7  # two maps, two slices, three panels
    lab.page.wait_for_function(FULL)
    loss, complexity, there, itself = map(lab.figure, range(4))

    x, y = loss.evaluate("plot => [plot.data[0].x[4], plot.data[0].y[9]]")
    lab.redraw(there, lambda: lab.click_point(loss, x, y))
    lab.page.get_by_text(f"Near the chosen point ({x:.3g}, {y:.3g})").wait_for()
    for plot in (loss, complexity):
        lab.page.wait_for_function("([plot, x]) => plot.data[3].x[0] === x", arg=[plot.element_handle(), x])
    reading = loss.locator(".hoverlayer").text_content()
    assert "loss: " in reading and "complexity: " in reading  # hover reads both
    along = lab.slider("x")
    redraws("walk through weight space", lab, there, [lambda: along.press("ArrowRight")] * PRESSES)
    redraws("checkpoint", lab, there, [lambda: lab.slider("nearest to checkpoint").press("ArrowLeft")] * 3)
    redraws("logarithm", lab, loss, [lambda: lab.button("log").click()])

    kept = itself.evaluate(HEAT)
    lab.redraw(loss, lambda: choosing(lab.dropdown("plane"), "random, by neuron")())
    lab.page.get_by_text("Directions: filter-normalized.").wait_for()
    assert itself.evaluate(HEAT) == kept  # the model is where it was
    lab.page.get_by_role("button", name="3-D").click()
    lab.page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot').length === 7")
    lab.page.wait_for_function("() => document.querySelector('.js-plotly-plot').data[0].type === 'surface'")
    lab.page.get_by_role("button", name="contour").click()
    lab.page.wait_for_function("() => document.querySelector('.js-plotly-plot').data[0].type === 'contour'")
    assert lab.errors() == []

    relu, tanh, tree = map(lab.figure, range(4, 7))
    prefactor = lab.slider("TanH α")
    before = relu.evaluate(HEAT)
    redraws("prefactor", lab, tanh, [lambda: prefactor.press("ArrowRight"), lambda: prefactor.press("ArrowLeft")])
    assert relu.evaluate(HEAT) == before
    labelled = lab.page.locator(".widget-inline-hbox").filter(has=lab.page.get_by_text("training point", exact=True))
    point = labelled.nth(1).locator(".noUi-handle")
    redraws("training point", lab, relu, [lambda: point.press("ArrowRight")] * PRESSES)
    assert tree.locator("text=ReLU").count() == 0 and relu.get_by_text("ReLU").count() > 0
    assert lab.errors() == []
