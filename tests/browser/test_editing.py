"""The editor of a function as a person uses it: drags, a pen, keys and buttons."""

import numpy as np
import pytest

from tests.browser.jupyter import notebook_of

PRESSES = 20
EDIT = """
import lab

explorer = lab.explore("transformers/memorize", scale="smoke", edit=True)
explorer
"""
CURVE = "svg => svg.querySelector('.lab-curve').getAttribute('d')"
SHOWN = """() => [...document.querySelectorAll('.js-plotly-plot')].some(
  plot => plot.checkVisibility() && plot.data?.[5]?.y?.length > 0)"""
SLICE = "plot => Array.from(plot.data[5].y)"
DRAWN_SLICE = "plot => plot.querySelector('.subplot.x3y3 .scatterlayer').innerHTML"


@pytest.fixture
def editing(rerun_notebook):
    """A new explorer in its editing mode: the notebook, the editor, its place on the page, and the figure beside it."""
    lab = rerun_notebook(notebook_of(EDIT))
    svg = lab.page.locator("svg.lab-editor")
    svg.scroll_into_view_if_needed()
    plot = lab.page.locator(".js-plotly-plot:visible")
    plot.locator(".main-svg").first.wait_for()
    lab.page.wait_for_function("svg => svg.querySelector('.lab-curve').getAttribute('d')", arg=svg.element_handle())
    lab.page.wait_for_function(SHOWN)
    lab.page.wait_for_timeout(500)
    return lab, svg, svg.bounding_box(), plot


def heights(course):
    """A curve's path as x and y in pixels of the editor."""
    return np.array([point.split(",") for point in course.removeprefix("M").split("L")], dtype=float).T


def drag(lab, box, x, y, to):
    """Press the mouse at a point of the editor, move it up or down in steps, lift it."""
    lab.page.mouse.move(box["x"] + x, box["y"] + y)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + x, box["y"] + to, steps=4)
    lab.page.mouse.up()


def test_a_drag_of_a_knot_changes_the_slice_of_a_network(editing, redraws):
    lab, svg, box, plot = editing
    before, slice_, drawn = svg.evaluate(CURVE), plot.evaluate(SLICE), plot.evaluate(DRAWN_SLICE)
    x, y = box["width"] / 2, 150.0
    lab.redraw(plot, lambda: drag(lab, box, x, y, y - 40))
    lab.page.get_by_text("Changed by hand.").wait_for()
    assert svg.evaluate(CURVE) != before
    assert plot.evaluate(SLICE) != slice_ and plot.evaluate(DRAWN_SLICE) != drawn
    lab.page.keyboard.press("Control+z")  # the editor has the focus
    lab.page.wait_for_function(f"([svg, d]) => ({CURVE})(svg) === d", arg=[svg.element_handle(), before])
    lab.page.wait_for_function(f"([plot, y]) => ({SLICE})(plot).every((v, i) => v === y[i])",
                               arg=[plot.element_handle(), slice_])  # fmt: skip
    assert plot.evaluate(DRAWN_SLICE) == drawn
    lab.page.wait_for_timeout(500)

    def again(number):
        lab.page.wait_for_timeout(300)  # what the last one set off is drawn
        drag(lab, box, x, y, y + 12 * (-1) ** number)

    redraws("drag of a knot", lab, plot, [lambda number=number: again(number) for number in range(PRESSES)])
    assert lab.errors() == []


def test_a_drag_pulls_the_knot_with_its_neighbours_and_drawing_goes_where_the_pen_goes(editing):
    lab, svg, box, plot = editing
    before = heights(svg.evaluate(CURVE))
    x, y = box["width"] / 2, 200.0
    lab.page.mouse.move(box["x"] + x, box["y"] + y)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + x, box["y"] + y - 50, steps=3)
    lab.page.wait_for_timeout(300)
    pulled = heights(svg.evaluate(CURVE))  # before the hand is lifted: the axis still stands
    lab.page.mouse.up()
    rise = before[1] - pulled[1]
    knot = np.abs(before[0] - x).argmin()
    assert rise[knot] == pytest.approx(50, abs=0.1)
    spacing = 40 / 360
    bell = 50 * np.exp(-0.5 * ((np.arange(len(rise)) - knot) * spacing / 0.5) ** 2)  # the brush is 0.5 wide
    np.testing.assert_allclose(rise, bell, atol=0.1)

    lab.page.get_by_role("button", name="draw", exact=True).click()
    lab.page.wait_for_function("svg => svg.style.cursor === 'crosshair'", arg=svg.element_handle())
    lab.page.mouse.move(box["x"] + x - 60, box["y"] + 120)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + x + 60, box["y"] + 240, steps=5)
    lab.page.wait_for_timeout(300)
    drawn = heights(svg.evaluate(CURVE))
    lab.page.mouse.up()
    passed = np.abs(drawn[0] - x) < 55
    line = 120 + (drawn[0] - (x - 60))  # one pixel down for each to the right
    step = drawn[0][1] - drawn[0][0]
    assert np.abs(drawn[1] - line)[passed].max() <= step  # a pen between two knots moves the nearest
    assert lab.errors() == []


def test_keys_move_a_knot_and_buttons_the_whole_function(editing, redraws):
    lab, svg, box, plot = editing
    svg.focus()
    before = svg.get_attribute("aria-valuetext")
    svg.press("ArrowLeft")
    lab.page.wait_for_function("([svg, text]) => svg.getAttribute('aria-valuetext') !== text",
                               arg=[svg.element_handle(), before])  # fmt: skip

    def key():
        lab.page.wait_for_timeout(300)
        svg.press("ArrowUp")

    redraws("key in the editor", lab, plot, [key] * PRESSES)
    lab.page.get_by_text("Changed by hand.").wait_for()
    smooth = lab.slider("smooth")

    def slide():
        lab.page.wait_for_timeout(300)
        smooth.press("ArrowRight")

    redraws("smoothing", lab, plot, [slide] * 8)
    for name in ("mirror x", "mirror y", "symmetrize", "undo", "redo", "reset"):
        curve = svg.evaluate(CURVE)
        lab.button(name).click()
        lab.page.wait_for_function(f"([svg, d]) => ({CURVE})(svg) !== d", arg=[svg.element_handle(), curve])
    lab.page.get_by_text("Now: the original again.").wait_for()
    assert lab.errors() == []


def test_the_edited_function_trains_against_the_others(editing):
    lab, svg, box, plot = editing
    drag(lab, box, box["width"] / 2, 200.0, 150.0)
    lab.page.get_by_text("Changed by hand.").wait_for()
    lab.page.get_by_role("button", name="train with it").click()
    lab.page.wait_for_function("() => document.querySelectorAll('.js-plotly-plot .main-svg').length > 4")
    curves = lab.page.locator(".js-plotly-plot:visible").nth(1)
    lab.page.get_by_role("button", name="Train", exact=True).click()
    ended = "plot => plot.data.length === 6 && plot.data.every(line => line.x[line.x.length - 1] === 6)"
    lab.page.wait_for_function(ended, arg=curves.element_handle(), timeout=120_000)
    for name in ("edited", "original", "GELU"):
        curves.get_by_text(f"Memorize, {name}").first.wait_for()
    lab.page.get_by_role("button", name="edit").click()  # back: it is in the menu
    menu = lab.dropdown("function")
    menu.wait_for()
    assert menu.locator("option:checked").text_content() == "edited"
    assert lab.errors() == []
