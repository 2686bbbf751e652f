"""Explorers of language models as a person uses them: one page for both, because opening one takes long."""

from playwright.sync_api import expect

from lab.widgets.text import EXAMPLE, typed
from tests.browser.jupyter import choosing, notebook_of

MODELS = """
import lab
from lab.data.sentences import Pair
from lab.widgets.text import PairsExplorer

text = lab.tasks.Text("moby_dick", context=48)
models = {name: lab.train(text, mlp=name, seeds=1, scale="smoke", progress=False)[0] for name in ("gelu", "relu")}
"""
PAIRS = 'PairsExplorer(models, [Pair("one", "agreement", "They see it.", "They sees it.")])'
TEXT = "lab.explore(models)"
WORDS = "Call me Ishmael."


def test_a_text_is_read_and_pairs_are_looked_through(open_notebook):
    lab = open_notebook(notebook_of(MODELS, PAIRS, TEXT))
    lab.run_all()
    page = lab.page
    rows, heat = page.locator("table.lab-pairs tr"), page.locator(".lab-text")
    expect(rows).to_have_count(2 + len(typed(EXAMPLE)))  # their head, the pair that is given, those that are typed
    own = page.get_by_label("your own pairs: good | bad")
    own.fill("He runs. | He run.\nThey run. | They runs.\nShe saw it. | She it saw.")
    own.blur()
    expect(rows).to_have_count(5)
    choosing(lab.dropdown("phenomenon"), "agreement")()
    expect(rows).to_have_count(2)
    own.fill("no pair")
    own.blur()
    page.get_by_role("alert").filter(has_text="is no pair").wait_for()
    own.fill("He runs. | He run.")
    own.blur()
    lab.text("of 2 pairs, page 1 of").wait_for()

    text = page.get_by_label("text", exact=True)
    text.fill(WORDS)
    text.blur()
    expect(heat.locator("span")).to_have_count(3 * len(WORDS))  # two models, and their difference
    lab.button("Go on").click()
    expect(lab.text(f"…{WORDS}").first).to_be_attached()
    choosing(lab.dropdown("second model").last, "gelu")()
    expect(heat.locator("span")).to_have_count(len(WORDS))
    assert lab.errors() == []
