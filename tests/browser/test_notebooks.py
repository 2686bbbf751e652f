"""The notebooks as a person sees them: run all cells, press keys, click; figures change, nothing shows an error."""

import re
import time

import numpy as np

from tests.browser.jupyter import choosing, notebook_of

PRESSES = 20


def test_start_here(opened, redraws):
    lab = opened("00_start_here.ipynb")
    plot, zoom = lab.figure(0), lab.slider("zoom ±")
    zoom.press("End")
    lab.page.wait_for_timeout(500)
    redraws("zoom of a function", lab, plot, [lambda: zoom.press("ArrowLeft")] * PRESSES)
    menu = lab.dropdown("compare with")
    redraws("comparison", lab, plot, [choosing(menu, name) for name in ("GELU", "transformers/add")])
    lab.redraw(plot, lambda: lab.page.get_by_role("button", name="slope").click())
    plot.get_by_text("slope").wait_for()
    lab.button("export").click()
    lab.page.get_by_text("written:").wait_for()
    assert lab.errors() == []
    lab.page.get_by_label("into").fill("/dev/null/nowhere")
    lab.page.get_by_label("into").press("Enter")
    lab.button("export").click()
    lab.page.get_by_role("alert").wait_for()
    assert "name another folder" in lab.errors()[0]


def test_individual_tasks(opened, redraws):
    lab = opened("transformers/3.1_individual_tasks.ipynb")
    last = lab.page.locator(".js-plotly-plot").count() - 1
    functions = lab.figure(last - 2)  # the last explorer has two: one to look at, hidden, and one while it is edited
    menu = lab.dropdown("function").first
    names = [name for name in menu.locator("option").all_text_contents() if "/" not in name]  # those of Figure 6
    redraws("another function", lab, functions, [choosing(menu, name) for name in names[1:]])
    assert "No inputs" not in lab.page.locator(".jp-Notebook").text_content()
    assert lab.errors() == []


def test_compatibility(opened, redraws):
    lab = opened("transformers/3.2_compatibility.ipynb")
    matrix, curves = lab.figure(1), lab.figure(2)
    lab.redraw(curves, lambda: lab.click_point(matrix, "Mano", "AddMod"))
    curves.get_by_text("optimized for AddMod").wait_for()
    assert "Trained on Mano" in curves.text_content()
    menu = lab.dropdown("trained on").first
    redraws("cell of a matrix", lab, curves, [choosing(menu, task) for task in ("Memorize", "Add", "Copy", "Haystack")])
    assert lab.errors() == []


def test_splines(opened):
    lab = opened("transformers/F_splines.ipynb")
    costs, errors = lab.figure(0), lab.figure(1)
    for name in ("GELU", "spline", "polynomial, n = 18", "Listing 1"):
        costs.get_by_text(name, exact=True).wait_for()
    errors.get_by_text("Chebyshev series").wait_for()
    last = lab.figure(lab.page.locator(".js-plotly-plot").count() - 1)
    last.get_by_text("ours MLP").wait_for()
    lab.page.locator("table.dataframe").get_by_text("ours MLP").wait_for()
    assert lab.errors() == []


def test_latent_codes(opened, redraws):
    lab = opened("hypernetwork/latent_codes.ipynb")
    first = lab.page.locator(".js-plotly-plot").count() - 3  # the explorer's are the last
    codes, bars, heads = (lab.figure(first + number) for number in range(3))
    colour, layer, computing = lab.dropdown("colour by"), lab.dropdown("layer"), lab.page.get_by_text("computing")

    redraws("colour of codes", lab, codes, [choosing(colour, name) for name in ("target", "correctness", "rule") * 3])
    lab.redraw(codes, choosing(layer, "1"))
    codes.get_by_text("layer 1").wait_for()
    lab.redraw(bars, choosing(colour, "target"))
    bars.get_by_text("Decoding the target").wait_for()
    computing.wait_for(state="hidden")
    assert "layer 1" in heads.text_content()
    layer.select_option("4")
    codes.get_by_text("layer 4").wait_for()
    computing.wait_for(state="hidden")
    redraws("a layer that is known", lab, codes, [choosing(layer, name) for name in ("1", "4") * 4])

    x, y = np.array(codes.evaluate("plot => [Array.from(plot.data[0].x), Array.from(plot.data[0].y)]"))
    apart = np.hypot(*(v[:, None] - v for v in (x, y))) + 1e9 * np.eye(len(x))
    lonely = int(apart.min(0)[1:].argmax()) + 1  # no other point is under the mouse there; 0 is shown already
    lab.redraw(heads, lambda: lab.click_point(codes, x[lonely], y[lonely]))
    heads.get_by_text(f"Problem {lonely},").wait_for()
    lab.page.locator("svg[aria-label^='SRAVEN problem']").wait_for()
    assert lab.page.get_by_text("In the last panel is the model's answer").count() == 1

    lab.page.get_by_text("Draw a line around a cluster of the map").wait_for()
    (left, right), (low, high) = ((v.min() - 0.03 * np.ptp(v), v.max() + 0.03 * np.ptp(v)) for v in (x, y))
    middle = np.median(x)
    for name, (start, end) in {"A": (left, middle), "B": (middle, right)}.items():
        lab.draw_around(codes, [(start, low), (start, high), (end, high), (end, low)])
        told = lab.page.get_by_text({"A": "A has ", "B": "The rule that separates them"}[name])
        for _ in range(20):  # a busy page may send its selection after the button
            lab.page.wait_for_timeout(500)
            lab.button(f"selection → {name}").click()
            lab.page.wait_for_timeout(1000)
            if told.count():
                break
        told.wait_for()
    said = lab.page.locator(".lab-difference").text_content()
    a, b = map(int, re.match(r"A has (\d+) problems, B (\d+)", said).groups())
    assert abs(a - (x < middle).sum()) <= 3 and abs(b - (x > middle).sum()) <= 3
    layer.select_option("1")
    lab.page.get_by_text("codes in layer 1 tells A from B").wait_for()
    lab.button("clear A and B").click()
    lab.page.get_by_text("Draw a line around a cluster of the map").wait_for()
    assert lab.errors() == []
    lab.button("selection → A").click()
    assert "nothing is selected" in lab.page.get_by_role("alert").text_content()


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
    points = "plot => plot.data[0].x.length"
    lab.page.wait_for_function(f"plot => ({points})(plot) > 2", arg=plot.element_handle())
    seen = plot.evaluate(points)
    lab.slider("seeds").press("ArrowRight")  # while it trains
    lab.page.wait_for_function(f"plot => ({points})(plot) > {seen}", arg=plot.element_handle())
    assert len(plot.evaluate("plot => plot.data")) == 3
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
