"""LandscapeExplorer and SliceExplorer on one page, as a person uses them: points, sliders, planes, surfaces."""

import re
from pathlib import Path

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
IMAGE = "(box, panel) => box.querySelectorAll('image')[panel].getAttribute('href')"


def test_landscapes_and_slices(open_notebook, redraws):
    lab = open_notebook(notebook_of(*CELLS))
    lab.run_all()
    assert lab.errors() == []
    expect(lab.page.locator(".lab-slices")).to_have_count(2)
    slices, models = (lab.page.locator(".lab-slices").nth(number) for number in range(2))
    land = lab.page.get_by_role("application").first
    left = land.locator("svg").first
    left.scroll_into_view_if_needed()

    itself, there = (slices.evaluate(IMAGE, panel) for panel in (1, 0))
    box = left.bounding_box()
    lab.redraw(land, lambda: lab.page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 100))
    told = land.get_by_role("status")
    expect(told).to_contain_text(re.compile(r"Near the chosen point \(−.*loss: .*complexity: "))
    lab.until(lambda: slices.evaluate(IMAGE, 0) != there, "the slice there is drawn")
    assert slices.evaluate(IMAGE, 1) == itself
    before = told.text_content()
    lab.redraw(land, lambda: land.press("ArrowRight"))
    expect(told).not_to_have_text(before)
    along = lab.slider("x")
    redraws("walk through weight space", lab, slices, [lambda: along.press("ArrowRight")] * PRESSES)
    redraws("checkpoint", lab, slices, [lambda: lab.slider("nearest to checkpoint").press("ArrowLeft")] * 3)
    redraws("logarithm", lab, land, [lambda: lab.page.get_by_role("button", name="log", exact=True).click()] * 2)

    choosing(lab.dropdown("plane"), "random, by neuron")()
    lab.text("Directions: filter-normalized.").wait_for()
    assert slices.evaluate(IMAGE, 1) == itself  # the model is where it was
    lab.page.get_by_role("button", name="3-D").click()
    lab.page.wait_for_function("() => document.querySelector('.js-plotly-plot')?.data?.[0]?.type === 'surface'")
    lab.page.get_by_role("button", name="contour").click()
    expect(land).to_be_visible()
    assert lab.errors() == []

    relu, tanh = (models.evaluate(IMAGE, panel) for panel in (0, 1))
    prefactor = lab.slider("TanH α")
    redraws("prefactor", lab, models, [lambda: prefactor.press("ArrowRight")] + [lambda: prefactor.press("ArrowLeft")])
    lab.until(lambda: models.evaluate(IMAGE, 1) == tanh, "the prefactor is what it was")
    assert models.evaluate(IMAGE, 0) == relu
    labelled = lab.page.locator(".widget-inline-hbox").filter(has=lab.text("training point", exact=True))
    point = labelled.nth(1).locator(".noUi-handle")
    redraws("training point", lab, models, [lambda: point.press("ArrowRight")] * PRESSES)
    for name in ("ReLU", "TanH, α = 1", "tree"):
        models.get_by_text(name, exact=True).wait_for()
    assert lab.errors() == []
