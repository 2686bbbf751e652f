"""The notebooks on fuzzy logic, SRAVEN and latent codes as a person uses them: one page each, because opening one takes
long."""

import re

import numpy as np

from tests.browser.jupyter import choosing


def pressed(lab, name):
    """Whether the symbol with this name is pressed."""
    return lab.page.get_by_role("radio", name=name, exact=True).get_attribute("aria-checked") == "true"


def test_sraven_is_solved_by_hand(opened):
    lab = opened("hypernetwork/4_sraven.ipynb")
    page, matrix = lab.page, lab.page.locator("svg[aria-label^='SRAVEN problem']")
    score = page.locator("table").filter(has_text="the model")
    page.get_by_text("Not ambiguous:").or_(page.get_by_text("Ambiguous:")).first.wait_for()
    models = lab.dropdown("play against").locator("option").all_text_contents()
    assert score.count() == 0 and [name.split(",")[0] for name in models][-1] == "HYLA"

    lab.button("check").click()  # nothing is chosen yet
    page.get_by_role("alert").filter(has_text="nothing is chosen for A, B").wait_for()
    page.get_by_role("radio", name="A 3", exact=True).click()
    page.get_by_role("radio", name="B 0", exact=True).press("ArrowRight")  # to the next one
    page.keyboard.press("Space")
    page.locator("svg[aria-label$='answer [3, 1]']").wait_for()
    assert pressed(lab, "A 3") and pressed(lab, "B 1") and not pressed(lab, "B 0")

    bars = page.locator(".js-plotly-plot").filter(has_text="the model answers when you check")
    bars.scroll_into_view_if_needed()
    plot = bars.element_handle()
    lab.redraw(bars, lambda: lab.button("check").click())
    page.get_by_text("of 2 right.").first.wait_for()
    shares = "plot => plot.data.slice(0, 2).flatMap(bars => Array.from(bars.customdata))"
    assert abs(sum(plot.evaluate(shares)) - 2) < 1e-3  # two features, each of probability 1
    assert page.get_by_text("In training it has").count() == 1 and "of 1" in score.text_content()
    assert matrix.inner_html().count(">A<") == 9  # the letters of the solution, one in each panel

    before = matrix.get_attribute("aria-label")
    lab.button("next").click()
    page.wait_for_function("([svg, old]) => !svg.isConnected || svg.getAttribute('aria-label') !== old",
                           arg=[matrix.element_handle(), before])  # fmt: skip
    assert not pressed(lab, "A 3") and page.get_by_text("In training it has").count() == 0
    lab.slider("features K").press("End")
    page.get_by_role("radiogroup", name="D").wait_for()
    page.get_by_text("No trained model for K = 4, F = 8 is here.").wait_for()
    assert "None, None, None, None" in matrix.get_attribute("aria-label") and "of 1" in score.text_content()
    assert lab.errors() == []


def test_a_fuzzy_function_is_built(opened):
    lab = opened("hypernetwork/3_fuzzy_logic.ipynb")
    lab.page.get_by_text("R² on this plane").wait_for()
    plot = lab.page.locator(
        ".jupyter-widgets .js-plotly-plot:has(.main-svg)"
    ).last  # figures of the paper are no widgets
    plot.wait_for()
    lab.redraw(plot, lambda: lab.page.get_by_role("button", name="x3").first.click())
    lab.page.get_by_text("f = (x1 ∧ ¬x2 ∧ x3 ∧ ¬x4)").wait_for()
    lab.redraw(plot, lambda: lab.slider("x4").press("End"))
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
