"""What goes on in a kernel and on the page at the same time: a training, and clicks while another is dealt with."""

import time

from playwright.sync_api import expect

from tests.browser.jupyter import notebook_of
from tests.processes import ROOT

LIVE = """
import lab
from lab.widgets.explorer import Explorer

lab.explore("memorize", scale="paper")
"""


def test_training_grows_beside_a_page_that_still_answers(open_notebook, redraws):
    lab = open_notebook(notebook_of(LIVE))
    lab.run_all()
    plot, prompt = lab.figure(0), lab.page.get_by_text("press Train to see curves grow")
    expect(prompt).to_be_visible()
    lab.redraw(plot, lambda: lab.button("Train").click())
    expect(prompt).to_have_count(0)
    lab.until_data(plot, "plot => plot.data.length === 3 && plot.data[0].x.length > 2")
    seen = plot.evaluate("plot => plot.data[0].x.length")
    lab.slider("seeds").press("ArrowRight")  # while it trains
    lab.until_data(plot, "(plot, seen) => plot.data.length === 3 && plot.data[0].x.length > seen", seen)
    start = time.monotonic()
    lab.button("Stop").click()
    lab.page.locator("button.widget-button:not([disabled])").filter(has_text="Train").wait_for()
    print(f"stopped after {time.monotonic() - start:.1f} s")
    assert lab.errors() == []


SLOW_TO_HEAR = """
import time

from playwright.sync_api import expect

import ipywidgets
import plotly.graph_objects as go

from lab.widgets.pages import live

points = live(go.Figure(go.Scatter(x=[0, 1, 2], y=[0, 1, 2], mode="markers", marker={"size": 20})), 300)
heard = ipywidgets.HTML("clicked:")


def hear(trace, clicked, state):
    time.sleep(2)
    heard.value += f" {clicked.point_inds[0]}"


points.data[0].on_click(hear)
ipywidgets.VBox([points, heard])
"""


def test_a_click_is_heard_of_although_the_one_before_is_dealt_with_and_the_mouse_goes_on(open_notebook):
    lab = open_notebook(notebook_of(SLOW_TO_HEAR))
    lab.run_all()
    points = lab.figure(0)
    for place in (0, 2):
        lab.click_point(points, place, place)
    lab.hover_point(points, 1, 1)
    lab.page.get_by_text("clicked: 0 2").wait_for()
    assert lab.errors() == []


PICTURED = """
import lab

lab.explore(lab.Spline([0.0, 1.0, 0.0], low=-1.0, high=1.0))
"""
# the width of each picture among the notebook's outputs, as it would be saved
PICTURES = """async () => Promise.all(window.jupyterapp.shell.currentWidget.content.model.toJSON().cells.flatMap(
  cell => cell.outputs ?? []).filter(output => output.data?.["image/png"]).map(async output => {
    const image = new Image();
    image.src = `data:image/png;base64,${output.data["image/png"]}`;
    await image.decode();
    return image.width;
  }))"""


def test_a_saved_notebook_shows_a_picture_where_the_kernel_is_gone(open_notebook, findings):
    lab = open_notebook(notebook_of(PICTURED))
    lab.run_all()
    page = lab.page
    page.locator(".lab-line").first.wait_for(state="attached")
    lab.until(lambda: max(page.evaluate(PICTURES), default=0) > 300, "the notebook has a picture of the explorer")
    still, words = page.locator(".jp-RenderedImage img"), page.locator(".lab-words")
    expect(still).to_be_hidden(), expect(words).to_be_hidden()  # the explorer itself is there
    with page.expect_download() as saved:
        page.get_by_role("button", name="save page").click()
    assert "lab-state" in saved.value.path().read_text()
    with page.expect_download() as numbers:
        page.get_by_role("button", name="save numbers").click()
    assert numbers.value.path().read_text().splitlines()[:2] == ["x,value", "-1.0,0.0"]
    assert findings(page, "'.lab-explorer'") == [] and lab.errors() == []

    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    lab.reload()
    expect(still).to_be_visible()
    assert still.evaluate("image => image.naturalWidth") > 300
    expect(words).to_contain_text("Spline explorer")
    expect(page.get_by_text("model not found")).to_be_hidden()
    assert page.locator(".jp-OutputArea-child:visible").count() == 2  # nothing but the words and the picture
    assert still.evaluate(CORNER) == 0, "no slab on a dark page"


# how much of what is behind a picture its corner covers
CORNER = """image => { const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0); return pen.getImageData(0, 0, 1, 1).data[3]; }"""
SHOWN = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})  # a kernel begins elsewhere
import lab
from torch import nn, rand

from lab.widgets.slices import SliceExplorer
from tests.widgets.landscapes import found

points = rand(9, 2)
network = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
shown = [lab.explore("transformers/memorize"), lab.explore("transformers/memorize", scale="smoke", edit=True)]
shown += [SliceExplorer({{"network": network}}, points), lab.explore(network, inputs=points)]
shown += [lab.explore(found()), lab.explore("memorize", scale="smoke")]
display(*shown)
"""
CLOSED = "for one in shown: one.close()"


def test_no_widget_fails_to_set_itself_up_when_explorers_are_shown_again_and_closed(open_notebook):
    """anywidget gives each two seconds, says "Failed to initialize model" after these, and drops what is sent later."""
    lab = open_notebook(notebook_of(SHOWN, CLOSED))
    said = []
    lab.page.on("console", lambda message: said.append(message.text))
    for _ in range(2):  # the second time as a person runs a cell again
        lab.run_all()
        lab.page.wait_for_timeout(2500)
    assert [text for text in said + lab.thrown if "[anywidget]" in text] == [] == lab.errors()
