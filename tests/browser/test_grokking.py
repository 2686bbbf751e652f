"""GrokkingExplorer as a person uses it: another table at once, a training that is watched and stopped, answers."""

from playwright.sync_api import expect

from tests.browser.jupyter import choosing, notebook_of

CELL = """
import lab

lab.explore(lab.tasks.Operation("a+b", modulus=27))
"""
NAMES = ("ab (mod 27)", "a²+b² (mod 53)", "ab (in S4)", "a+b (mod 27)")
GROWN = "(plot, points) => plot.data.length > 0 && plot.data.every(line => line.x.length > points)"


def test_a_network_is_trained_until_it_is_stopped(open_notebook, redraws):
    lab = open_notebook(notebook_of(CELL))
    lab.run_all()
    assert lab.errors() == []
    curves, table = lab.explored(2)
    table.locator(".main-svg").first.wait_for()
    redraws("another operation", lab, table, [choosing(lab.dropdown("operation"), name) for name in NAMES])

    lab.dropdown("non-linearity").select_option("simplicity/addition-27")
    lab.slider("steps").press("End")  # it must not be over before it is stopped
    lab.page.get_by_label("stop at 95 %").uncheck()
    lab.redraw(curves, lambda: lab.button("Train").click())
    table.get_by_text("answers at step").wait_for()
    lab.until_data(curves, GROWN, 2)
    lab.until_data(table, "(plot, old) => plot.textContent !== old", table.text_content())
    expect(lab.button("Train")).to_be_disabled()
    lab.slider("seed").press("ArrowRight")  # the page is alive while it trains
    lab.button("Stop").click()
    expect(lab.button("Train")).to_be_enabled()
    expect(lab.page.locator(".jp-Notebook")).to_contain_text("a+b (mod 27), simplicity/addition-27, width 256")
    lab.redraw(curves, lambda: lab.button("Clear").click())
    lab.until_data(curves, "plot => plot.data.length === 0")
    assert lab.errors() == []
