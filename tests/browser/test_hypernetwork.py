"""The notebooks on fuzzy logic, SRAVEN and latent codes as a person uses them: one page each, because opening one takes
long."""

import re

import numpy as np
from playwright.sync_api import expect

from tests.browser.jupyter import choosing

# where the points of a map are, in pixels of it
PLACES = """svg => [...svg.querySelectorAll("g:first-of-type path")].map((point) =>
  point.getAttribute("d").match(/[-.\\d]+/g).slice(0, 2).map(Number))"""
PANELS = "svg => svg.innerHTML.split('>A<').length - 1"


def symbol(lab, name, pressed):
    """The symbol with this name, if it is pressed, or is not."""
    return lab.page.get_by_role("radio", name=name, exact=True, checked=pressed)


def test_sraven_is_solved_by_hand(opened):
    lab = opened("hypernetwork/4_sraven.ipynb")
    page, matrix = lab.page, lab.page.locator("svg[aria-label^='SRAVEN problem']")
    score = page.locator("table").filter(has_text="the model")
    lab.text("Not ambiguous:").or_(lab.text("Ambiguous:")).first.wait_for()
    expect(lab.dropdown("play against").locator("option").last).to_have_text(re.compile("^HYLA,"))
    expect(score).to_have_count(0)

    lab.button("check").click()  # nothing is chosen yet
    page.get_by_role("alert").filter(has_text="nothing is chosen for A, B").wait_for()
    page.get_by_role("radio", name="A 3", exact=True).click()
    page.get_by_role("radio", name="B 0", exact=True).press("ArrowRight")  # to the next one
    page.keyboard.press("Space")
    page.locator("svg[aria-label$='answer [3, 1]']").wait_for()
    for name, pressed in {"A 3": True, "B 1": True, "B 0": False}.items():
        expect(symbol(lab, name, pressed)).to_have_count(1)

    (bars,) = lab.explored(1)
    expect(bars).to_contain_text("the model answers when you check")
    bars.scroll_into_view_if_needed()
    lab.redraw(bars, lambda: lab.button("check").click())
    lab.text("of 2 right.").first.wait_for()
    shares = "plot.data.slice(0, 2).flatMap(bars => Array.from(bars.customdata ?? []))"
    # two features, each of probability 1
    lab.until_data(bars, f"plot => Math.abs({shares}.reduce((sum, share) => sum + share, 0) - 2) < 1e-3")
    expect(lab.text("In training it has")).to_have_count(1)
    expect(score).to_contain_text("of 1")
    lab.until(lambda: matrix.evaluate(PANELS) == 9, "each of nine panels has a letter of the solution")

    before = matrix.get_attribute("aria-label")
    lab.button("next").click()
    expect(matrix).not_to_have_attribute("aria-label", before)
    expect(symbol(lab, "A 3", False)).to_have_count(1)
    expect(lab.text("In training it has")).to_have_count(0)
    lab.slider("features K").press("End")
    page.get_by_role("radiogroup", name="D").wait_for()
    lab.text("No trained model for K = 4, F = 8 is here.").wait_for()
    expect(matrix).to_have_attribute("aria-label", re.compile("None, None, None, None"))
    expect(score).to_contain_text("of 1")
    assert lab.errors() == []


def test_a_fuzzy_function_is_built(opened):
    lab = opened("hypernetwork/3_fuzzy_logic.ipynb")
    lab.text("R² on this plane").wait_for()
    plot = lab.page.locator(".jupyter-widgets .js-plotly-plot:has(.main-svg)").last
    plot.wait_for()
    lab.redraw(plot, lambda: lab.page.get_by_role("button", name="x3").first.click())
    lab.text("f = (x1 ∧ ¬x2 ∧ x3 ∧ ¬x4)").wait_for()
    lab.redraw(plot, lambda: lab.slider("x4").press("End"))
    assert lab.errors() == []


def test_latent_codes(opened, redraws):
    lab = opened("hypernetwork/latent_codes.ipynb")
    (bars,) = lab.explored(1)
    codes, map_ = lab.page.locator(".lab-latent"), lab.page.locator(".lab-map svg[role=application]")
    map_.scroll_into_view_if_needed()
    colour, layer, computing = lab.dropdown("colour by"), lab.dropdown("layer"), lab.text("computing")

    redraws("colour of codes", lab, codes, [choosing(colour, name) for name in ("target", "correctness", "rule") * 3])
    lab.redraw(codes, choosing(layer, "1"))
    codes.get_by_text("layer 1").wait_for()
    lab.redraw(bars, choosing(colour, "target"))
    bars.get_by_text("Decoding the target").wait_for()
    computing.wait_for(state="hidden")
    layer.select_option("4")
    codes.get_by_text("layer 4").wait_for()
    computing.wait_for(state="hidden")
    redraws("a layer that is known", lab, codes, [choosing(layer, name) for name in ("1", "4") * 4])

    x, y = np.array(map_.evaluate(PLACES)).T
    apart = np.hypot(*(v[:, None] - v for v in (x, y))) + 1e9 * np.eye(len(x))
    lonely = int(apart.min(0)[1:].argmax()) + 1  # no other point is under the mouse there; 0 is shown already
    box = map_.bounding_box()
    lab.redraw(codes, lambda: lab.page.mouse.click(box["x"] + x[lonely], box["y"] + y[lonely]))
    codes.get_by_text(f"Problem {lonely}:").wait_for()
    lab.text(f"Problem {lonely}", exact=True).wait_for()  # drawn by the kernel
    lab.page.locator("svg[aria-label^='SRAVEN problem']").wait_for()
    expect(lab.text("In the last panel is the model's answer")).to_have_count(1)

    lab.text("Draw a line around a cluster of the map").wait_for()
    middle, box = np.median(x), map_.bounding_box()
    ends = {"A": (2, middle), "B": (middle, box["width"] - 2)}
    wanted = [int((x < middle).sum()), int((x > middle).sum())]
    for number, (name, (start, end)) in enumerate(ends.items()):
        corners = [(start, 2), (end, 2), (end, box["height"] - 2), (start, box["height"] - 2)]
        lab.page.mouse.move(box["x"] + start, box["y"] + 2)
        lab.page.mouse.down()
        for across, down in corners[1:]:
            lab.page.mouse.move(box["x"] + across, box["y"] + down, steps=4)
        lab.page.mouse.up()
        codes.get_by_text(f"{wanted[number]} selected").wait_for()
        lab.button(f"selection → {name}").click()
        lab.text(f"A has {wanted[0]} problems").or_(lab.text("The rule that separates")).wait_for()
    lab.text("The rule that separates them").wait_for()
    expect(codes.locator(".lab-a")).to_have_count(wanted[0])
    layer.select_option("1")
    lab.text("codes in layer 1 tells A from B").wait_for()
    lab.button("clear A and B").click()
    lab.text("Draw a line around a cluster of the map").wait_for()
    assert lab.errors() == []
    lab.button("selection → A").click()
    expect(lab.page.get_by_role("alert")).to_contain_text("nothing is selected")
