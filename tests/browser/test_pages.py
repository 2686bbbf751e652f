"""Pages that the lab writes, opened from disk without a network: they work, keep their state, fit narrow windows."""

import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch
from playwright.sync_api import expect

import lab
from lab.api import search, train
from lab.errors import LabError
from lab.nonlinearity.spline import Spline
from lab.plots.page import CONFIG, THEME
from lab.plots.svg import svg
from lab.probes.profile import variation
from lab.store import Store
from lab.tasks import Logic
from lab.widgets import pages
from lab.widgets.editing import EditingExplorer
from lab.widgets.latent import LatentExplorer
from lab.widgets.model import ModelExplorer
from lab.widgets.pages import live
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import SplineExplorer
from lab.widgets.sraven import SravenExplorer
from lab.widgets.training import LiveExplorer
from tests import notebooks
from tests.browser.conftest import ARGUMENTS, FRAME, LONGEST, wide
from tests.browser.jupyter import UNREAD
from tests.widgets.landscapes import found

WIDTHS = (1280, 600)
# how each point of a map of codes looks: its own colour, and how much of it what it is in lets through
LOOKS = """() => [...document.querySelectorAll(".lab-map path[fill-opacity]")].map((point) => {
  const { fill, fillOpacity } = getComputedStyle(point);
  let shown = Number(fillOpacity);
  for (let one = point; one; one = one.parentElement) shown *= Number(getComputedStyle(one).opacity);
  return `${fill} ${shown}`;
})"""


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
    page.get_by_text("compare with").click()
    for name in ("ReLU", "GELU"):
        one, line = page.get_by_role("checkbox", name=name, exact=True), chart.locator(f"[data-name={name}]")
        one.set_checked(name != "ReLU")
        expect(line).to_have_count(int(name != "ReLU"))
        one.set_checked(name == "ReLU")
        expect(line).to_have_count(int(name == "ReLU"))
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

    page.get_by_label("random network").check()
    expected = [variation(Spline(phi.smoothed(0.03).values, -4.0, 8.0), seed).value for seed in (0, 2)]
    expect(page.locator(".lab-portrait")).to_contain_text(f"variation with this function is {expected[0]:.3g}")
    page.get_by_label("random weights").select_option("3")
    expect(page.locator(".lab-portrait")).to_contain_text(f"variation with this function is {expected[1]:.3g}")
    before = page.locator(".lab-portrait image").get_attribute("href")
    page.get_by_role("button", name="mirror x").click()
    expect(page.locator(".lab-portrait image")).not_to_have_attribute("href", before)
    page.get_by_role("button", name="undo").click()

    with page.expect_download() as again:
        page.get_by_role("button", name="save this page").click()
    copy = tmp_path / "again.html"
    copy.write_bytes(again.value.path().read_bytes())
    narrow = offline(copy, 600)
    narrow.locator("[data-name='your function, edited']").wait_for(state="attached")
    expect(narrow.locator(".lab-portrait")).to_contain_text("total variation")
    assert re.search("Now: smoothed, bandwidth 0.03; ", narrow.locator(".lab-status").text_content())
    narrow.get_by_role("button", name="reset").click()
    narrow.get_by_role("button", name="copy link").click()
    expect(narrow.get_by_text("Copied: a link")).to_be_visible()
    again = offline(copy, fragment=narrow.evaluate("location.hash"))
    expect(again.locator(".lab-status")).to_contain_text("steepest slope")
    assert "Now:" not in again.locator(".lab-status").text_content(), "a link without the page's changes has none"
    assert wide(page) <= 0 and wide(narrow) <= 0
    assert page.said == [] and narrow.said == []


def told(page):
    """What a page says of what is chosen."""
    return page.locator("[role=status]").first


def test_a_matrix_is_sent_with_the_curves_of_all_cells(offline, tmp_path, findings):
    explorer = lab.explore(lab.figure("transformers/fig11", scale="laptop"))
    explorer.task.value = "mano"
    page = offline(explorer.save(tmp_path / "matrix.html"))
    names = [one["words"] for one in explorer.view.parts[0]["cells"][0]]
    expect(told(page)).to_contain_text(names[explorer.task.index])
    course = page.locator(".lab-line[data-name=baseline]")
    before = course.get_attribute("d")
    page.get_by_role("gridcell", name=names[0]).click()
    expect(told(page)).to_contain_text(names[0])
    assert course.get_attribute("d") != before and page.get_by_label("trained on", exact=True).input_value() == "0"
    page.keyboard.press("ArrowDown")
    below = explorer.view.parts[0]["cells"][1][0]["words"]
    expect(told(page)).to_contain_text(below)
    expect(page.locator("td:focus")).to_have_attribute("aria-label", below)
    page.get_by_label("optimized part", exact=True).select_option("both")
    expect(told(page)).to_contain_text(explorer.view.parts[explorer.part.options.index("both")]["cells"][1][0]["words"])
    with page.expect_download() as numbers:
        page.get_by_role("button", name="save numbers").click()
    table = pd.read_csv(numbers.value.path())
    assert len(table) == sum(map(len, explorer._deltas.values()))
    assert wide(page) <= 0 and page.said == [] and findings(page) == []


def test_a_landscape_is_sent_and_walked_through_with_the_keyboard(offline, tmp_path, findings):
    explorer = lab.explore(found())
    page = offline(explorer.save(tmp_path / "landscape.html"))
    ring, land = page.locator(".lab-mark[data-name=chosen]").first, found()
    before = ring.get_attribute("cx")
    page.get_by_role("application").first.focus()
    page.keyboard.press("ArrowRight")
    row, column = (np.abs(axis).argmin() for axis in (land.y, land.x))
    loss, complexity = (f"{land.values[name][row, column + 1]:.3g}" for name in ("loss", "complexity"))
    expect(told(page)).to_contain_text(re.compile(rf"loss: {float(loss):g}, complexity: {float(complexity):g}\b"))
    assert float(ring.get_attribute("cx")) > float(before)
    assert float(page.get_by_label("x", exact=True).input_value()) == pytest.approx(land.x[column + 1], rel=0.02)
    for slider, axis in (("x", land.x), ("y", land.y)):
        page.get_by_label(slider, exact=True).press("End")
        assert float(page.get_by_label(slider, exact=True).input_value()) == pytest.approx(axis[-1], rel=1e-4)
    page.get_by_label("log", exact=True).check()
    expect(page.get_by_text("loss (log₁₀)")).to_be_visible()
    page.get_by_label("left", exact=True).select_option("complexity")
    expect(page.get_by_text("complexity (log₁₀)")).to_have_count(2)
    expect(page.get_by_text("the model itself (star)", exact=True)).to_be_visible()  # the slices stay as they were
    with page.expect_download() as picture:
        page.get_by_role("button", name="save picture").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    assert wide(page) <= 0 and page.said == [] and findings(page) == []


def test_a_map_of_codes_is_sent_with_its_colours_groups_and_codes(offline, tmp_path, findings):
    explorer = LatentExplorer(lab.trained("sraven", "hyla", progress=False), 60)
    path = explorer.save(tmp_path / "codes.html")
    assert path.stat().st_size < 6e6
    page = offline(path, 600)
    view, map_ = explorer.map, page.get_by_role("application").first
    expect(told(page)).to_have_text(view.texts[0])
    dots = map_.locator("g").first
    ink = dots.inner_html()
    assert 'fill="currentColor"' in ink and 'fill="#000' not in ink, "black is not seen on a dark page"
    page.get_by_label("colour by", exact=True).select_option("correctness")
    expect(page.get_by_text(re.compile(r"wrong|right")).first).to_be_visible()
    before = page.evaluate(LOOKS)
    map_.scroll_into_view_if_needed()
    box = map_.bounding_box()
    corners = [(2, 2), (box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2), (2, box["height"] - 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for across, down in corners[1:]:
        page.mouse.move(box["x"] + across, box["y"] + down, steps=3)
    page.mouse.up()
    labels = view.colourings[list(explorer.colour.options).index("correctness")]["labels"]
    counts = "|".join(f"{name} {labels.count(name)}" for name in set(labels))
    expect(told(page)).to_have_text(re.compile(rf"{len(labels)} selected; correctness: ({counts})"))
    map_.focus()
    page.keyboard.press("Escape")
    expect(told(page)).not_to_contain_text("selected")
    assert page.evaluate(LOOKS) == before, "points are as they were: none stays faded"
    code, number, visited = page.get_by_text(re.compile(r"Problem \d+: its code")), 0, {0}
    # The map differs between processors, so any one direction may have no point: one of the four always has.
    for key, axis, sign in (("Left", 0, -1), ("Right", 0, 1), ("Down", 1, -1), ("Up", 1, 1)):
        page.keyboard.press(f"Arrow{key}")
        page.evaluate(FRAME)
        before, number = number, int(re.search(r"\d+", code.text_content())[0])
        step = sign * (view.points[number][axis] - view.points[before][axis])
        assert step > 0 or (number == before and step == 0), key
        visited.add(number)
    assert len(visited) > 1
    expect(told(page)).to_have_text(view.texts[number])
    assert wide(page) <= 0 and page.said == [] and findings(page) == []


def test_slices_are_sent_and_perceptrons_go_on_answering(offline, tmp_path, findings):
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    sums = {"sum": lambda x: x.sum(1), "scaled": {a: lambda x, a=a: a * x[:, 0] for a in (1.0, 3.0)}, "net": model}
    explorer = SliceExplorer(sums, torch.rand(5, 3), columns=["one", "two", "three"])
    explorer.point.value, explorer.slider("scaled").value = 4, 3.0
    page = offline(explorer.save(tmp_path / "slices.html"))
    expect(page.get_by_text("scaled, α = 3")).to_be_visible()
    expect(page.get_by_text("Training point 4 (circle)")).to_be_visible()
    images = "nodes => nodes.map(node => node.getAttribute('href'))"
    before = page.locator(".lab-field image").evaluate_all(images)
    page.get_by_label("training point").press("ArrowLeft")
    expect(page.get_by_text("sum (point 4, as it was)")).to_be_visible()
    after = page.locator(".lab-field image").evaluate_all(images)
    assert after[:2] == before[:2] and after[2] != before[2]
    assert wide(page) <= 0 and page.said == [] and findings(page) == []


def test_a_training_is_sent_with_its_checkpoints_and_two_obey_one_slider(offline, tmp_path, findings):
    runs = {
        phi: train("ab mod 5", mlp=phi, seeds=1, scale="smoke", progress=False, keep=4)[0] for phi in ("relu", "gelu")
    }
    codes = {
        n: train(Logic(), attention=n, seeds=1, scale="smoke", progress=False, keep=3)[0] for n in ("hyla", "linear")
    }
    pair = lab.explore(codes, scale="smoke")
    pair.wait()
    pages_ = {"slices": lab.explore(runs), "codes": pair, "function": lab.explore(search("memorize", "smoke", keep=3))}
    drawn = {
        "slices": "() => [...document.querySelectorAll('.lab-field image')].map((one) => one.getAttribute('href'))",
        "codes": "() => [...document.querySelectorAll('.lab-map g')].map((one) => one.innerHTML)",
        "function": "() => [document.querySelector('.lab-line[data-name^=your]').getAttribute('d')]",
    }
    for name, explorer in pages_.items():
        path = explorer.save(tmp_path / f"{name}.html")
        assert path.stat().st_size < 6e6
        page = offline(path, 600)
        slider, play = page.get_by_label("step", exact=True), page.get_by_role("button", name="play step")
        slider.wait_for()
        last = page.evaluate(drawn[name])
        slider.press("Home")
        page.evaluate(FRAME)
        first = page.evaluate(drawn[name])
        assert len(first) == (1 if name == "function" else 2) and all(a != b for a, b in zip(first, last, strict=True))
        play.click()
        expect(play).to_have_text("▶", timeout=10_000)  # it stops at the end
        page.evaluate(FRAME)
        assert page.evaluate(drawn[name]) == last and wide(page) <= 0 and page.said == []
        assert findings(page) == []


def test_other_explorers_are_sent_as_they_stand(offline, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    explorer = ModelExplorer(model, torch.rand(9, 2))
    explorer.view.value, explorer.corners[2].value = "slice", 7
    path = explorer.save(tmp_path / "model.html")
    assert path.stat().st_size < 1.5e6
    page = offline(path, 600)
    expect(page.locator("dl")).to_contain_text("c = 7")
    menu = page.get_by_label("look at")
    assert menu.locator("option:checked").text_content() == "slice"
    expect(page.locator(".lab-plot image")).to_have_count(1)
    menu.select_option("total variation")
    page.locator(".lab-plot .lab-bar").first.hover()
    expect(page.locator(".lab-plot .lab-readout")).to_have_text(re.compile(r"\S+: \d+$"))
    assert wide(page) <= 0 and page.said == []
    with pytest.raises(LabError, match="name another file"):
        explorer.save(path / "model.html")


INKS = "texts => texts.map(text => getComputedStyle(text).fill)"


def test_plots_and_pictures_are_light_or_dark_as_the_page_is(offline, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    slice_ = ModelExplorer(model, torch.rand(9, 2))
    slice_.view.value = "slice"
    matrix = lab.figure("transformers/fig5", scale="laptop")
    matrix.write(tmp_path, images=False)
    puzzle = SravenExplorer(store=Store(tmp_path / "store"))
    paths = [one.save(tmp_path / f"{number}.html") for number, one in enumerate((slice_, puzzle))]
    for path in (*paths, tmp_path / "figure.html"):
        page = offline(path, color_scheme="dark")
        page.locator("svg").first.wait_for()
        for scheme, ground in (("dark", "rgb(22, 24, 27)"), ("light", "rgb(255, 255, 255)")):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
            assert page.evaluate(UNREAD) == [], (path.name, scheme)
        numbers = page.locator(".textpoint text").evaluate_all(INKS)
        page.emulate_media(color_scheme="dark")
        assert page.locator(".textpoint text").evaluate_all(INKS) == numbers, "shades stay, and what stands on them"
    assert len(numbers) > 50


def test_lines_between_rows_are_as_dark_as_the_grid(offline, tmp_path):
    lab.figure("transformers/table3", scale="laptop").write(tmp_path, images=False)
    page = offline(tmp_path / "figure.html", color_scheme="dark")
    page.locator(".shapelayer path").first.wait_for(state="attached")
    inks = "paths => paths.map(one => getComputedStyle(one).stroke)"
    grid, lines = (set(page.locator(f".{name} path").evaluate_all(inks)) for name in ("gridlayer", "shapelayer"))
    assert grid == {"rgb(61, 61, 61)"} and grid < lines and "rgb(228, 228, 228)" not in lines, lines


@pytest.mark.parametrize(("scheme", "is_dark"), [("", False), ("light dark", True), ("dark", True)])
def test_a_picture_in_a_page_is_dark_where_the_page_says_so(offline, tmp_path, scheme, is_dark):
    """For a reader who wants the dark; the page that nbconvert writes says nothing, and stays light."""
    picture = svg({"data": [{"type": "scatter", "x": [0, 1], "y": [1, 2]}], "layout": {}})
    (tmp_path / "page.html").write_text(f'<!doctype html><html style="color-scheme:{scheme}"><body>{picture}')
    page = offline(tmp_path / "page.html", color_scheme="dark")
    ground = page.locator("svg .ground").first.evaluate("ground => getComputedStyle(ground).fill")
    assert ground == ("rgb(22, 24, 27)" if is_dark else "rgb(255, 255, 255)")
    (tmp_path / "alone.svg").write_text(picture)
    alone = offline(tmp_path / "alone.svg", color_scheme="dark")
    assert alone.locator(".ground").first.evaluate("ground => getComputedStyle(ground).fill") == "rgb(22, 24, 27)"


BAR = """<script>onload = () => { const plot = document.querySelector(".plot");
document.title = `bar ${plot.offsetHeight - plot.clientHeight}`; }</script>"""


def test_a_figure_that_is_wider_than_its_window_has_a_bar_that_can_be_seen(browser, tmp_path):
    """In another Chromium than `browser`: those that are driven hide all bars."""
    path = tmp_path / "figure.html"
    lab.figure("transformers/fig5", scale="laptop").write(tmp_path, images=False)
    for width, expected in ((500, 9), (900, 0)):
        text = re.sub(
            '<meta http-equiv="Content-Sec[^>]*>', "", path.read_text(encoding="utf-8")
        )  # it refuses the bar's script
        path.write_text(text.removesuffix(BAR) + BAR, encoding="utf-8")
        command = [
            notebooks.browser(),
            "--headless",
            *ARGUMENTS,
            f"--window-size={width},900",
            "--dump-dom",
            path.as_uri(),
        ]
        made = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True).stdout
        assert f"<title>bar {expected}</title>" in made


NARROW = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><style>{style}</style>
<body data-jp-theme-light="false" style="background: black"><div style="width: 480px">{plot}</div></body>"""
BOX = "node => { const {top, bottom, left, right} = node.getBoundingClientRect(); return {top, bottom, left, right}; }"


def test_names_stand_above_a_narrow_plot_below_its_buttons_and_can_be_read_in_the_dark(offline, tmp_path):
    figure = LiveExplorer().figure
    for number in range(6):
        figure.add_scatter(x=[1, 2], y=[1, 2], name=f"Memorize, transformers/memorize, width {number}")
    plot = go.Figure(live(figure, 400)).to_html(full_html=False, config=CONFIG)
    path = tmp_path / "plot.html"
    path.write_text(NARROW.format(style=THEME, plot=plot), encoding="utf-8")
    page = offline(path, 600)
    page.locator(".legendtext").nth(5).wait_for()
    names, inside = (page.locator(part).evaluate(BOX) for part in (".legend", ".nsewdrag"))
    buttons = page.locator(".modebar")
    expect(buttons).to_have_css("opacity", "0")
    page.locator(".js-plotly-plot").hover()
    expect(buttons).to_have_css("opacity", "1")
    first = page.locator(".legendtext").first.evaluate(BOX)
    assert buttons.evaluate(BOX)["bottom"] <= first["top"] and names["bottom"] <= inside["top"] + 1
    for part, expected in ((".xtick text", "rgb(221, 221, 221)"), (".legendtext", "rgb(221, 221, 221)")):
        assert page.locator(part).first.evaluate("node => getComputedStyle(node).fill") == expected
    ground = page.locator(".main-svg").first.evaluate("node => getComputedStyle(node).backgroundColor")
    assert ground == "rgba(0, 0, 0, 0)"


EDITOR = """<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><style>{style}</style>
<body data-jp-theme-light="false" style="background: #111; color: #ddd"><div id="place" class="lab-explorer"></div>
<script type="module">
const editor = {module}.default;
window.picture = {picture}.picture;
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
    parts = {"module": pages.linked("editor.js"), "picture": pages.linked("picture.js"), "state": json.dumps(state)}
    path.write_text(EDITOR.format(style=THEME, **parts), encoding="utf-8")
    page = offline(path)

    def shown(values):
        """Whether the curve is this one: its heights on the page are a line in the values."""
        course = page.locator(".lab-curve").get_attribute("d").removeprefix("M").split("L")
        x, y = np.array([point.split(",") for point in course], dtype=float).T
        low, high = (np.interp(end, np.linspace(-5, 5, 41), np.arange(41)) for end in widget.window)
        near = values[max(0, round(low) - 1) : round(high) + 2]
        return len(near) == len(y) and np.corrcoef(near, y)[0, 1] < -0.99999

    page.locator(".lab-curve[d^=M]").wait_for(state="attached")
    assert page.evaluate(UNREAD) == [], "of the notebook's dark theme"
    assert page.evaluate("picture(document.body).then(({data}) => data)").startswith("data:image/png")
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


def test_a_page_cannot_be_broken_by_a_name_and_sends_nothing(offline, sends, tmp_path):
    name = "</script><b>&<script>window.seen = 1</script>"
    explorer = SplineExplorer({name: Spline(torch.tensor([0.0, 1.0, 0.0]))})
    page = offline(explorer.save(tmp_path / "page.html"))
    page.locator(".lab-legend").first.get_by_text(name).wait_for()
    assert json.dumps(page.title()) == json.dumps(name) and page.said == [] and sends(page) == []
    figure = lab.figure("transformers/fig2", scale="laptop")
    replace(figure, name=name, headline=name, caption=name).write(tmp_path, images=False)
    page = offline(tmp_path / "figure.html")
    page.locator("figcaption").get_by_text(name).first.wait_for()
    page.locator(".main-svg").first.wait_for()
    assert page.title() == f"{name}, laptop scale" and page.said == [] and sends(page) == []
