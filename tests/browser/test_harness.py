"""The browser harness, on small notebooks of its own: it must see what a person sees, errors above all."""

import time

import pytest
from playwright.sync_api import expect

from tests.browser.jupyter import notebook_of

# `live`, because Plotly's own widget stays empty on a page that is too busy to set it up in two seconds.
SLIDER = """
import ipywidgets
import plotly.graph_objects as go

from lab.widgets.pages import live

figure = live(go.Figure(go.Scatter(x=[0, 1, 2, 3], y=[0, 0, 0, 0])), 300)
slider = ipywidgets.IntSlider(description="power", min=0, max=9)

def draw(change):
    figure.data[0].y = [x ** change["new"] for x in figure.data[0].x]

slider.observe(draw, "value")
ipywidgets.VBox([slider, figure])
"""

CLICK = """
import ipywidgets
import plotly.graph_objects as go

from lab.widgets.pages import live

table = live(go.Figure(go.Heatmap(x=["a", "b", "c"], y=["p", "q"], z=[[1, 2, 3], [4, 5, 6]])), 300)
curve = live(go.Figure(go.Scatter(y=[0, 0]), layout_title="none"), 300)

def show(trace, points, state):
    with curve.batch_update():
        curve.layout.title.text = f"{points.ys[0]} {points.xs[0]}"
        curve.data[0].y = [0, points.xs[0] == "b"]

table.data[0].on_click(show)
ipywidgets.VBox([table, curve])
"""

CONTROLS = """
import ipywidgets

menu = ipywidgets.Dropdown(description="task", options=["add", "mano"])
button = ipywidgets.Button(description="Train")
output = ipywidgets.Output()

def train(_):
    with output:
        raise RuntimeError(f"no store for {menu.value}")

button.on_click(train)
ipywidgets.VBox([menu, button, output])
"""


def test_keys_and_clicks_reach_python_and_redraw_figures(open_notebook):
    lab = open_notebook(notebook_of(SLIDER, CLICK))
    lab.run_all()
    plot, table, curve = (lab.figure(number) for number in range(3))
    lab.redraw(curve, lambda: lab.click_point(table, "b", "q"))
    expect(curve).to_contain_text("q b")
    plot.scroll_into_view_if_needed()
    flat = lab.drawn(plot)
    for _ in range(5):
        start = time.monotonic()
        took = lab.redraw(plot, lambda: lab.slider("power").press("ArrowRight"))
        assert 0 < took <= 1000 * (time.monotonic() - start), "milliseconds, of which no more passed than here"
    lab.until_redrawn(plot, flat)
    lab.until_data(plot, "plot => plot.data[0].y[3] === 3 ** 5")
    lab.slider("power").press("End")
    lab.until_data(plot, "plot => plot.data[0].y[3] === 3 ** 9")
    with pytest.raises(AssertionError, match="did not change"):
        lab.redraw(plot, lambda: lab.slider("power").press("ArrowRight"), timeout=1)
    assert lab.errors() == []


def test_errors_are_seen_in_cells_and_in_widgets_and_parameters_are_set_in_the_copy(open_notebook):
    parameters, show = "scale = 'laptop'  # smoke, laptop or paper\nseeds = 6", "print(scale, seeds)"
    warn = "import warnings; warnings.warn('old habit')"
    notebook = notebook_of(parameters, show, CONTROLS, warn, "1 / 0", "after = 1")
    notebook.cells[0].metadata.tags = ["parameters"]
    lab = open_notebook(notebook, scale="smoke")
    lab.run_all()
    expect(lab.page.locator(".jp-OutputArea-output").first).to_have_text("smoke 6")
    lab.until(lambda: len(lab.errors()) == 2, "both errors show")
    warning, failure = lab.errors()
    assert "old habit" in warning and "ZeroDivisionError" in failure
    lab.dropdown("task").select_option("mano")
    lab.button("Train").click()
    lab.until(lambda: any("no store for mano" in error for error in lab.errors()), "the button's error shows")
