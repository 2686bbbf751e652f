"""The editor of a function as a person uses it: drags, a pen, keys and buttons."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.jupyter import RUN, notebook_of

PRESSES = 5
EDIT = """
import lab

explorer = lab.explore("transformers/memorize", scale="smoke", edit=True)
explorer
"""
COURSE = re.compile("^M")  # of a curve that is drawn
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
    expect(svg.locator(".lab-curve")).to_have_attribute("d", COURSE)
    lab.page.wait_for_function(SHOWN)
    svg.element_handle().wait_for_element_state("stable")  # it stays where it is, so the mouse finds it
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
    lab.text("Changed by hand.").wait_for()
    expect(svg.locator(".lab-curve")).not_to_have_attribute("d", before)
    lab.until(lambda: plot.evaluate(SLICE) != slice_, "another slice is there")
    lab.until(lambda: plot.evaluate(DRAWN_SLICE) != drawn, "another slice is drawn")
    lab.page.keyboard.press("Control+z")  # the editor has the focus
    expect(svg.locator(".lab-curve")).to_have_attribute("d", before)
    lab.until(lambda: plot.evaluate(SLICE) == slice_, "the old slice is back")
    lab.until(lambda: plot.evaluate(DRAWN_SLICE) == drawn, "the old slice is drawn")

    def again(number):
        lab.still(plot)
        drag(lab, box, x, y, y + 12 * (-1) ** number)

    redraws("drag of a knot", lab, plot, [lambda number=number: again(number) for number in range(PRESSES)])
    assert lab.errors() == []


def test_a_drag_pulls_the_knot_with_its_neighbours_and_drawing_goes_where_the_pen_goes(editing):
    lab, svg, box, plot = editing
    before = heights(svg.evaluate(CURVE))
    knot = np.abs(before[0] - box["width"] / 2).argmin()
    x, y = before[0][knot], 200.0  # at the knot: between two, either could follow
    lab.page.mouse.move(box["x"] + x, box["y"] + y)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + x, box["y"] + y - 50, steps=3)

    def risen():
        return before[1] - heights(svg.evaluate(CURVE))[1]

    # before the hand is lifted: the axis still stands
    lab.until(lambda: risen()[knot] == pytest.approx(50, abs=0.1), "the knot follows the mouse")
    rise = risen()
    lab.page.mouse.up()
    spacing = 40 / 360
    bell = 50 * np.exp(-0.5 * ((np.arange(len(rise)) - knot) * spacing / 0.5) ** 2)  # the brush is 0.5 wide
    np.testing.assert_allclose(rise, bell, atol=0.1)

    lab.page.get_by_role("button", name="draw", exact=True).click()
    expect(svg).to_have_css("cursor", "crosshair")
    lab.page.mouse.move(box["x"] + x - 60, box["y"] + 120)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + x + 60, box["y"] + 240, steps=5)

    def along():
        """Whether the curve goes where the pen went: one pixel down for each to the right."""
        across, down = heights(svg.evaluate(CURVE))
        passed, line = np.abs(across - x) < 55, 120 + (across - (x - 60))
        return np.abs(down - line)[passed].max() <= across[1] - across[0]  # between two knots, it moves the nearest

    lab.until(along, "the curve goes where the pen went")
    lab.page.mouse.up()
    assert lab.errors() == []


def test_keys_move_a_knot_and_buttons_the_whole_function(editing, redraws):
    lab, svg, box, plot = editing
    svg.focus()
    expect(svg).to_have_attribute("aria-valuetext", re.compile("."))
    before = svg.get_attribute("aria-valuetext")
    svg.press("ArrowLeft")
    expect(svg).not_to_have_attribute("aria-valuetext", before)

    def key():
        lab.still(plot)
        svg.press("ArrowUp")

    redraws("key in the editor", lab, plot, [key] * PRESSES)
    lab.text("Changed by hand.").wait_for()
    smooth = lab.slider("smooth")

    def slide():
        lab.still(plot)
        smooth.press("ArrowRight")

    redraws("smoothing", lab, plot, [slide] * PRESSES)
    for name in ("mirror x", "mirror y", "symmetrize", "undo", "redo", "reset"):
        curve = svg.evaluate(CURVE)
        lab.button(name).click()
        expect(svg.locator(".lab-curve")).not_to_have_attribute("d", curve)
    lab.text("Now: the original again.").wait_for()
    assert lab.errors() == []


def test_the_edited_function_trains_against_the_others(editing):
    lab, svg, box, plot = editing
    drag(lab, box, box["width"] / 2, 200.0, 150.0)
    lab.text("Changed by hand.").wait_for()
    lab.page.get_by_role("button", name="train with it").click()
    curves = lab.page.locator(".js-plotly-plot:visible").nth(1)
    curves.locator(".main-svg").first.wait_for()
    lab.page.get_by_role("button", name="Train", exact=True).click()
    ended = "plot => plot.data.length === 6 && plot.data.every(line => line.x[line.x.length - 1] === 6)"
    lab.page.wait_for_function(ended, arg=curves.element_handle(), timeout=1000 * RUN)
    for name in ("edited", "original", "GELU"):
        curves.get_by_text(f"Memorize, {name}").first.wait_for()
    lab.page.get_by_role("button", name="edit").click()  # back: it is in the menu
    menu = lab.dropdown("function")
    menu.wait_for()
    expect(menu.locator("option:checked")).to_have_text("edited")
    assert lab.errors() == []
