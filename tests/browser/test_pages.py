"""Pages that the lab writes, opened from disk without a network: they work, keep their state, fit narrow windows."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from playwright.sync_api import expect

from lab.errors import LabError
from lab.gallery import write_gallery
from lab.nonlinearity.spline import Spline
from lab.plots.page import CONFIG
from lab.widgets import modules
from lab.widgets.editing import EditingExplorer
from lab.widgets.explorer import live
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import SplineExplorer
from lab.widgets.training import learning_frame
from tests.widgets.node import PAGE

WIDTHS = (1280, 600)


@pytest.fixture
def offline(browser):
    """Call with a file and a width: a page that reaches nothing else, with what its scripts said as `said`."""
    contexts = []

    def open_(path, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.said = []
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("requestfailed", lambda request: page.said.append(f"not there: {request.url}"))
        page.goto(path.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


def wide(page):
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_a_function_is_sent_as_a_page_and_changed_there(offline, tmp_path):
    phi = Spline(torch.randn(73, generator=torch.Generator().manual_seed(0)).cumsum(0), low=-4.0, high=8.0)
    explorer = SplineExplorer(phi)
    explorer.zoom.value, explorer.others.value, explorer.slope.value = 3.0, ("ReLU",), True
    path = explorer.save(tmp_path / "sent.html")
    assert path.stat().st_size < 6e6
    page = offline(path)
    chart = page.locator(".lab-chart").first
    own, relu = chart.locator("[data-name='your function']"), chart.locator("[data-name=ReLU]")
    own.wait_for(state="attached"), relu.wait_for(state="attached")
    assert chart.get_by_text("slope φ′(x)").count() == 1, "it is as it was when it was saved"
    before = own.get_attribute("d")
    zoom = page.get_by_label("zoom ±")
    zoom.press("ArrowLeft")
    assert own.get_attribute("d") != before

    page.get_by_label("smooth").press("ArrowRight")
    page.get_by_label("smooth").press("ArrowRight")
    page.get_by_role("button", name="mirror y").click()
    words = page.locator(".lab-status").text_content()
    assert "smoothed, bandwidth 0.03, then mirrored along y" in words
    with page.expect_download() as numbers:
        page.get_by_role("button", name="save numbers").click()
    rows = [line.split(",") for line in numbers.value.path().read_text().split()[1:]]
    expected = (-phi.smoothed(0.03)).values
    torch.testing.assert_close(torch.tensor([float(y) for _, y in rows]), expected, atol=1e-5, rtol=0)
    page.get_by_role("button", name="undo").click()
    assert "mirrored" not in page.locator(".lab-status").text_content()

    with page.expect_download() as again:
        page.get_by_role("button", name="save this page").click()
    copy = tmp_path / "again.html"
    copy.write_bytes(again.value.path().read_bytes())
    narrow = offline(copy, 600)
    narrow.locator("[data-name='your function, edited']").wait_for(state="attached")
    assert re.search("Now: smoothed, bandwidth 0.03; ", narrow.locator(".lab-status").text_content())
    assert wide(page) <= 0 and wide(narrow) <= 0
    assert page.said == [] and narrow.said == []


def test_other_explorers_are_sent_as_they_stand(offline, tmp_path):
    sums = {"sum": lambda x: x.sum(1), "scaled": {a: lambda x, a=a: a * x[:, 0] for a in (1.0, 3.0)}}
    explorer = SliceExplorer(sums, torch.rand(5, 3), columns=["one", "two", "three"])
    explorer.point.value, explorer.slider("scaled").value = 4, 3.0
    path = explorer.save(tmp_path / "slices.html")
    assert path.stat().st_size < 6e6
    page = offline(path)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    expect(page.locator("dl")).to_contain_text("training point: 4")
    expect(page.locator("dl")).to_contain_text("scaled α: 3")
    expect(page.get_by_text("scaled, α = 3")).to_be_visible()
    expect(page.get_by_text("Training point 4 (circle)")).to_be_visible()
    drawn = page.locator(".js-plotly-plot").evaluate("plot => plot.data.map(trace => trace.type)")
    assert drawn == [trace.type for trace in explorer.figure.data] and page.said == []
    with pytest.raises(LabError, match="name another file"):
        explorer.save(tmp_path / "nowhere" / "slices.html")


NARROW = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><style>{style}</style>
<body data-jp-theme-light="false" style="background: black"><div style="width: 480px">{plot}</div></body>"""
BOX = "node => { const {top, bottom, left, right} = node.getBoundingClientRect(); return {top, bottom, left, right}; }"


def test_names_stand_above_a_narrow_plot_beside_its_buttons_and_can_be_read_in_the_dark(offline, tmp_path):
    figure = learning_frame()
    for number in range(6):
        figure.add_scatter(x=[1, 2], y=[1, 2], name=f"Memorize, transformers/memorize, width {number}")
    plot = go.Figure(live(figure, 400)).to_html(full_html=False, config=CONFIG)
    path = tmp_path / "plot.html"
    path.write_text(NARROW.format(style=(PAGE / "plots.css").read_text(), plot=plot), encoding="utf-8")
    page = offline(path, 600)
    page.locator(".legendtext").nth(5).wait_for()
    names, inside = (page.locator(part).evaluate(BOX) for part in (".legend", ".nsewdrag"))
    page.locator(".js-plotly-plot").hover()
    assert names["bottom"] <= inside["top"] + 1
    assert page.locator(".modebar-group").first.evaluate(BOX)["left"] >= names["right"]
    for part, expected in ((".xtick text", "rgb(221, 221, 221)"), (".legendtext", "rgb(221, 221, 221)")):
        assert page.locator(part).first.evaluate("node => getComputedStyle(node).fill") == expected
    ground = page.locator(".main-svg").first.evaluate("node => getComputedStyle(node).backgroundColor")
    assert ground == "rgba(0, 0, 0, 0)"


EDITOR = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><div id="place"></div>
<script type="module">
import editor from "{module}";
const state = {state}, heard = {{}};
const bytes = (numbers) => new DataView(Float64Array.from(numbers).buffer);
for (const name of ["value", "before", "density"]) state[name] = bytes(state[name]);
const model = {{ get: (name) => state[name], set: (name, value) => {{ state[name] = value; }}, save_changes() {{}},
  on: (names, act) => names.split(" ").forEach((name) => (heard[name] ??= []).push(act)), off() {{}} }};
window.put = (name, value) => {{ state[name] = Array.isArray(value) ? bytes(value) : value;
  (heard[`change:${{name}}`] ?? []).forEach((act) => act()); }};
editor.render({{ model, el: document.getElementById("place") }});
</script>"""


def test_the_editor_shows_what_its_sliders_do_before_the_kernel_has_answered(offline, tmp_path):
    noise = torch.randn(41, generator=torch.Generator().manual_seed(0))
    widget = EditingExplorer(Spline(noise, -5.0, 5.0)).editor
    names = ("low", "high", "window", "brush", "tool", "strokes", "smooth", "polynomial", "chebyshev", "bandwidths")
    state = {name: getattr(widget, name) for name in (*names, "colours")}
    state |= {name: np.frombuffer(getattr(widget, name)).tolist() for name in ("value", "before", "density")}
    path = tmp_path / "editor.html"
    path.write_text(EDITOR.format(module=modules.url("editor.js"), state=json.dumps(state)), encoding="utf-8")
    page = offline(path)

    def shown(values):
        """Whether the curve is this one: its heights on the page are a line in the values."""
        course = page.locator(".lab-curve").get_attribute("d").removeprefix("M").split("L")
        x, y = np.array([point.split(",") for point in course], dtype=float).T
        low, high = (np.interp(end, np.linspace(-5, 5, 41), np.arange(41)) for end in widget.window)
        near = values[max(0, round(low) - 1) : round(high) + 2]
        return len(near) == len(y) and np.corrcoef(near, y)[0, 1] < -0.99999

    page.locator(".lab-curve[d^=M]").wait_for(state="attached")
    start = noise.numpy()
    assert shown(start)
    for name, number, expected in (
        ("smooth", 6, Spline(noise, -5.0, 5.0).smoothed(state["bandwidths"][5]).values.numpy()),
        ("smooth", 2, Spline(noise, -5.0, 5.0).smoothed(state["bandwidths"][1]).values.numpy()),
    ):
        page.evaluate(
            "([name, number]) => { put(name, number); put('value', VALUE); }".replace(
                "VALUE", json.dumps(start.tolist())
            ),
            [name, number],
        )  # an answer to what was before comes late
        page.wait_for_timeout(100)
        assert shown(expected), (name, number)
    smooth = Spline(torch.from_numpy(expected), -5.0, 5.0)
    page.evaluate("put('smooth', 0)")
    page.evaluate("put('polynomial', 7)")
    page.wait_for_timeout(100)
    polynomial = smooth.polynomial(7)(smooth.positions).numpy()
    assert shown(polynomial)
    page.evaluate("values => put('value', values)", polynomial.tolist())
    page.wait_for_timeout(700)
    assert shown(polynomial) and page.said == []


def test_a_page_cannot_be_broken_by_a_name(offline, tmp_path):
    name = "</script><b>&"
    explorer = SplineExplorer({name: Spline(torch.tensor([0.0, 1.0, 0.0]))})
    page = offline(explorer.save(tmp_path / "page.html"))
    page.locator(".lab-legend").first.get_by_text(name).wait_for()
    assert json.dumps(page.title()) == json.dumps(name) and page.said == []


def test_the_gallery_opens_from_disk_and_a_network_learns_in_it(offline, tmp_path):
    write_gallery(tmp_path / "site")
    page = offline(tmp_path / "site" / "index.html")
    cards = page.locator("article.card:visible")
    every = cards.count()
    page.get_by_label("search").fill("modular")
    expect(page.locator("#count")).to_have_text(re.compile(r"^\d+ shown"))
    assert 0 < cards.count() < every
    page.get_by_label("search").fill("")
    page.get_by_label("paper").select_option("hypernetwork")
    assert 0 < cards.count() < every

    steps = page.locator(".lab-race").get_by_role("status")
    expect(steps).to_have_text(re.compile(r"Step [1-9]"))  # it began by itself
    page.get_by_role("button", name="pause").click()
    page.get_by_label("task").select_option("rings")
    expect(steps).to_have_text(re.compile(r"Step 0: .* each the best for its function"))
    page.get_by_role("button", name="play").click()
    expect(steps).to_have_text(re.compile(r"Step \d\d"))
    page.get_by_role("button", name="pause").click()
    box = page.locator(".lab-pad").bounding_box()
    line = page.locator(".lab-pad path")
    before = line.get_attribute("d")
    page.mouse.move(box["x"] + 60, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 120, steps=4)
    page.mouse.up()
    assert line.get_attribute("d") != before
    expect(page.get_by_label("non-linearity").locator("option:checked")).to_have_text("drawn")
    expect(steps).to_have_text(re.compile(r"Step 0: .* this function has none of its own"))

    assert wide(page) <= 0
    page.goto((tmp_path / "site" / "figures" / "transformers" / "fig2.html").as_uri())
    page.locator(".main-svg").first.wait_for()
    assert page.get_by_text("Share chart").count() == 0
    narrow = offline(tmp_path / "site" / "index.html", 600)
    assert wide(narrow) <= 0 and page.said == [] and narrow.said == []
