"""LandscapeExplorer and SliceExplorer on one page, as a person uses them: points, sliders, planes, surfaces."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter import choosing, notebook_of
from tests.widgets import landscapes

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
PANEL = "(plot, panel) => JSON.stringify(Array.from(plot.data[2 * panel].z, row => Array.from(row)))"


def test_landscapes_and_slices(open_notebook, redraws):
    lab = open_notebook(notebook_of(*CELLS))
    lab.run_all()
    assert lab.errors() == []
    plots = lab.page.locator(".js-plotly-plot:has(.main-svg)")
    expect(plots).to_have_count(3)  # two landscapes, two slices, three slices
    lab.page.wait_for_function(FULL)
    land, slices, models = map(lab.figure, range(3))

    x, y = land.evaluate("plot => [plot.data[0].x[4], plot.data[0].y[9]]")
    itself, there = (slices.evaluate(PANEL, panel) for panel in (1, 0))
    lab.redraw(slices, lambda: lab.click_point(land, x, y))
    told = lab.page.get_by_text("Near the chosen point (")

    def near():
        said = re.findall(r"-?[.\d]+", told.text_content().replace("−", "-"))[:2]
        return [float(number) for number in said] == pytest.approx([x, y], abs=0.1)  # to a step of the sliders

    lab.until(near, f"the chosen point is ({x:.1f}, {y:.1f})")
    lab.until(lambda: slices.evaluate(PANEL, 0) != there, "the slice there is drawn")
    assert slices.evaluate(PANEL, 1) == itself
    for measure in ("loss: ", "complexity: "):  # hover reads both
        expect(land.locator(".hoverlayer")).to_contain_text(measure)
    along = lab.slider("x")
    redraws("walk through weight space", lab, slices, [lambda: along.press("ArrowRight")] * PRESSES)
    redraws("checkpoint", lab, slices, [lambda: lab.slider("nearest to checkpoint").press("ArrowLeft")] * 3)
    redraws("logarithm", lab, land, [lambda: lab.page.get_by_role("button", name="log", exact=True).click()] * 2)

    choosing(lab.dropdown("plane"), "random, by neuron")()
    lab.page.get_by_text("Directions: filter-normalized.").wait_for()
    assert slices.evaluate(PANEL, 1) == itself  # the model is where it was
    for view, kind in (("3-D", "surface"), ("contour", "contour")):
        lab.page.get_by_role("button", name=view).click()
        lab.page.wait_for_function(f"() => document.querySelector('.js-plotly-plot')?.data?.[0]?.type === '{kind}'")
    assert lab.errors() == []

    relu, tanh = (models.evaluate(PANEL, panel) for panel in (0, 1))
    prefactor = lab.slider("TanH α")
    redraws("prefactor", lab, models, [lambda: prefactor.press("ArrowRight")] + [lambda: prefactor.press("ArrowLeft")])
    lab.until(lambda: models.evaluate(PANEL, 1) == tanh, "the prefactor is what it was")
    assert models.evaluate(PANEL, 0) == relu
    labelled = lab.page.locator(".widget-inline-hbox").filter(has=lab.page.get_by_text("training point", exact=True))
    point = labelled.nth(1).locator(".noUi-handle")
    redraws("training point", lab, models, [lambda: point.press("ArrowRight")] * PRESSES)
    for name in ("ReLU", "TanH, α = 1", "tree"):
        models.get_by_text(name, exact=True).wait_for()
    assert lab.errors() == []
