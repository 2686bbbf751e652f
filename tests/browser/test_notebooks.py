"""The notebooks as a person sees them: run all cells, press keys, click; figures change, nothing shows an error."""

from playwright.sync_api import expect

from lab.plots.page import NARROWEST
from tests.browser.jupyter import choosing

PRESSES = 5
SCROLLS = """least => {
  const plot = document.querySelector('.jp-RenderedPlotly'), cell = plot?.parentElement;
  return plot && plot.offsetWidth >= least && cell.clientWidth < least && cell.scrollWidth >= least;
}"""


def test_start_here(opened, redraws):
    lab = opened("00_start_here.ipynb")
    zoom = lab.slider("zoom ±")
    plot = lab.page.locator(".jp-OutputArea-output", has=zoom).locator(".lab-chart").first  # the race has charts, too
    zoom.press("End")
    lab.until(lambda: zoom.get_attribute("aria-valuenow") == zoom.get_attribute("aria-valuemax"), "the zoom ends")
    redraws("zoom of a function", lab, plot, [lambda: zoom.press("ArrowLeft")] * PRESSES)
    menu = lab.dropdown("compare with")
    redraws("comparison", lab, plot, [choosing(menu, name) for name in ("GELU", "transformers/add")])
    lab.redraw(plot, lambda: lab.page.get_by_role("button", name="slope").click())
    plot.get_by_text("slope").wait_for()
    lab.button("export").click()
    lab.text("written:").wait_for()
    assert lab.errors() == []
    lab.page.get_by_label("into").fill("/dev/null/nowhere")
    lab.page.get_by_label("into").press("Enter")
    lab.button("export").click()
    alert = lab.page.get_by_role("alert").filter(has_text="name another folder")  # the race has one, too
    expect(alert).to_be_in_viewport()
    expect(lab.text("written:")).to_have_count(0)
    lab.until(lambda: "name another folder" in "".join(lab.errors()), "it is seen as an error")


def test_your_own_model(opened):
    lab = opened("your_own_model.ipynb")
    menu = lab.dropdown("look at")
    said = {
        "slice": "Every output on the plane through three inputs",
        "landscape": "The loss on these inputs along two random directions",
        "inputs of activations": "of what it receives lies between",
    }
    for view, words in said.items():
        choosing(menu, view)()
        lab.text(words).wait_for()
    assert lab.errors() == []


def test_individual_tasks(opened, redraws):
    lab = opened("transformers/3.1_individual_tasks.ipynb")
    functions = lab.page.locator(".lab-chart").first
    menu = lab.dropdown("function").first
    expect(menu.locator("option").nth(1)).to_be_attached()
    names = [name for name in menu.locator("option").all_text_contents() if "/" not in name]  # those of Figure 6
    redraws("another function", lab, functions, [choosing(menu, name) for name in names[1:]])
    expect(lab.page.locator(".jp-Notebook")).not_to_contain_text("No inputs")
    lab.page.set_viewport_size({"width": 600, "height": 900})  # the cell is narrower than a figure's panels need
    lab.figure()
    lab.page.wait_for_function(SCROLLS, arg=NARROWEST)
    assert lab.errors() == []


def test_compatibility(opened, redraws):
    lab = opened("transformers/3.2_compatibility.ipynb")
    view = lab.page.locator(".lab-compatibility").first
    view.scroll_into_view_if_needed()
    cell = view.get_by_role("gridcell", name="Optimized for AddMod, trained on Mano")
    lab.redraw(view, cell.click)
    expect(view).to_contain_text("Trained on Mano")
    view.get_by_text("━ optimized for AddMod", exact=True).wait_for()  # the legend
    menu = lab.dropdown("trained on").first
    expect(menu.locator("option:checked")).to_have_text("Mano")  # the menu goes with the click
    redraws("cell of a matrix", lab, view, [choosing(menu, task) for task in ("Memorize", "Add", "Copy", "Haystack")])
    assert lab.errors() == []


def test_splines(opened):
    lab = opened("transformers/F_splines.ipynb")
    costs, errors = lab.figure(0), lab.figure(1)
    for name in ("GELU", "spline", "polynomial, n = 18", "Listing 1"):
        costs.get_by_text(name, exact=True).wait_for()
    errors.get_by_text("Chebyshev series").wait_for()
    lab.page.locator(".js-plotly-plot").last.get_by_text("learned", exact=True).first.wait_for()
    lab.page.locator("table.dataframe").get_by_text("learned", exact=True).wait_for()
    assert lab.errors() == []
