"""What goes on in a kernel and on the page at the same time: a training, and clicks while another is dealt with."""

import time

from tests.browser.jupyter import notebook_of

LIVE = """
import lab
from lab.widgets.explorer import Explorer

lab.explore("memorize", scale="paper")
"""


def test_training_grows_beside_a_page_that_still_answers(open_notebook, redraws):
    lab = open_notebook(notebook_of(LIVE))
    lab.run_all()
    plot = lab.figure(0)
    lab.redraw(plot, lambda: lab.button("Train").click())
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

import ipywidgets
import plotly.graph_objects as go

from lab.widgets.explorer import live

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
