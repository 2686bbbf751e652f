"""The gallery, opened from disk without a network, and what its pages share: addresses, the race, keys, copying."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import lab
from lab.gallery import write_gallery
from tests.browser.conftest import FRAME, wide
from tests.browser.jupyter import UNREAD

EXPLORED = ("hypernetwork/codes", "transformers/fig5", "simplicity/fig7_landscape")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    write_gallery(out := tmp_path_factory.mktemp("gallery") / "site")
    return out


def fragment(page):
    """What is seen, as the link has it that is copied."""
    page.get_by_role("button", name="copy link").click()
    expect(page.get_by_text("Copied: a link")).to_be_visible()
    return page.evaluate("location.hash")


def shown(page):
    return page.locator(".lab-line").first.get_attribute("d")


def test_a_link_shows_what_was_seen_and_a_damaged_one_what_the_page_begins_with(offline, site):
    path = site / "functions.html"
    page = offline(path)
    menu = page.locator("select").first
    before, numbers = shown(page), menu.locator("option").count()
    menu.select_option("mish")
    page.get_by_label("slope").check()
    page.get_by_role("slider", name="smooth").press("ArrowRight")
    page.get_by_role("button", name="light or dark").click()
    link, drawn = fragment(page), shown(page)
    again = offline(path, fragment=link)
    numbers_of = [[float(one) for one in re.findall(r"-?[\d.]+", course)] for course in (shown(again), drawn)]
    assert numbers_of[0] == pytest.approx(numbers_of[1], abs=0.1) and again.get_by_label("slope").is_checked()
    assert again.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
    expect(again.locator(".lab-status")).to_contain_text("Now: as the link has it")
    wrong = (f"function={numbers}", "edited=[1,2]&slope=true", "function=1&slope=3", "slope=tru", "%E0%A4%A=", "no=1")
    for damaged in wrong:
        with again.expect_event("load"):  # put into the address of a page that is open
            again.evaluate("text => { location.hash = text; }", damaged)
        assert shown(again) == before and not again.get_by_label("slope").is_checked(), damaged
    assert page.said == [] and again.said == []


def test_a_link_to_a_page_that_was_saved_with_changes_shows_the_function_without_them(offline, tmp_path):
    explorer = lab.explore("gelu")
    path = explorer.save(tmp_path / "gelu.html")
    page = offline(path)
    before = shown(page)
    page.get_by_role("button", name="mirror y").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="save this page").click()
    copy = tmp_path / "mirrored.html"
    copy.write_bytes(saved.value.path().read_bytes())
    page = offline(copy)
    assert shown(page) != before
    page.get_by_role("button", name="reset").click()
    page.get_by_label("slope").check()
    link, drawn = fragment(page), shown(page)
    again = offline(copy, fragment=link)
    assert shown(again) == drawn and again.get_by_label("slope").is_checked()
    assert "Now:" not in again.locator(".lab-status").text_content()
    assert page.said == [] and again.said == []


def test_links_to_maps_and_races_show_the_point_and_the_functions(offline, site):
    path = site / "explorers" / "hypernetwork" / "codes.html"
    page = offline(path)
    page.get_by_label("colour by", exact=True).select_option("correctness")
    page.get_by_role("application").first.focus()
    for key in ("Left", "Right", "Down", "Up"):
        page.keyboard.press(f"Arrow{key}")
    page.evaluate(FRAME)
    said, again = page.get_by_role("status").first.text_content(), offline(path, fragment=fragment(page))
    expect(again.get_by_role("status").first).to_have_text(said)
    assert again.get_by_label("colour by", exact=True).locator("option:checked").text_content() == "correctness"

    path = site / "playground.html"
    page = offline(path)
    page.get_by_role("button", name="waves").click()
    page.get_by_role("button", name="pause").click()
    page.get_by_label("non-linearity").select_option("TanH")
    page.get_by_label("second layer").select_option("GELU")
    page.get_by_label("seed").fill("7")
    page.get_by_label("seed").press("Enter")
    again = offline(path, fragment=fragment(page))
    expect(again.locator(".lab-score").first).to_have_text(page.locator(".lab-score").first.text_content())
    expect(again.get_by_text("with TanH, then GELU", exact=True)).to_be_visible()
    again.get_by_role("button", name="play").click()
    expect(again.locator(".lab-status")).to_have_text(re.compile(r"Step \d\d.*variance explained.*half of the smaller"))
    again.get_by_role("button", name="pause").click()
    page.get_by_label("non-linearity").select_option("drawn")  # nothing is drawn yet: it begins as the first
    line = page.locator(".lab-pad path")
    again = offline(path, fragment=fragment(page))
    assert again.get_by_label("non-linearity").locator("option:checked").text_content() == "drawn"
    page.locator(".lab-pad").click(position={"x": 250, "y": 20})
    assert "NaN" not in line.get_attribute("d") and line.get_attribute("d").count("L") == 260
    assert page.said == [] and again.said == []


DROP = """([text, name]) => { const data = new DataTransfer();
data.items.add(new File([text], name));
const dropped = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
document.querySelector(".lab-race").dispatchEvent(dropped); }"""


def test_the_race_is_run_on_a_table_that_is_dropped_on_it(offline, site, findings):
    page = offline(site / "playground.html", 600)
    rows = [(x / 10, (7 * x) % 10, "<b>up" if (7 * x) % 10 > 4 else "down") for x in range(60)]
    table = "length;height;way\n" + "\n".join(f"{x};{y};{way}".replace(".", ",") for x, y, way in rows)
    page.evaluate(DROP, [table, "ways.csv"])
    told = page.locator(".lab-status")
    expect(told).to_have_text(
        re.compile(r"Step \d\d.*right answers on rows held out.*60 rows of ways.csv, length across")
    )
    expect(page.locator(".lab-race")).to_contain_text("<b>up")
    page.evaluate(DROP, [table.replace("0,3;1", "0,3;?"), "wrong.csv"])
    expect(page.get_by_role("alert")).to_have_text('wrong.csv: Row 5, column 2: "?" is no number.')
    expect(told).to_contain_text("ways.csv")
    numbers = "\n".join(f"{x},{y},{x * x}" for x, y, _ in rows).encode()
    page.get_by_label("a CSV file").set_input_files({"name": "squares.csv", "mimeType": "text/csv", "buffer": numbers})
    expect(told).to_have_text(re.compile(r"Step \d\d.*variance explained on rows held out.*those for waves"))
    expect(page.get_by_role("alert")).to_have_text("")
    page.get_by_role("button", name="pause").click()
    assert wide(page) <= 0 and page.said == [] and findings(page) == []


def test_points_of_saved_figures_are_walked_to_with_keys_and_said(offline, site, tmp_path, findings):
    figure = lab.figure("transformers/fig5", scale="laptop")
    figure.write(tmp_path, images=False)
    for path in (tmp_path / "figure.html", site / "figures" / "transformers" / "fig5.html"):
        page = offline(path, 600, permissions=["clipboard-read", "clipboard-write"])
        plot, told = page.locator(".js-plotly-plot"), page.locator(".js-plotly-plot + p[aria-live=polite]")
        plot.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "End", "Home", "ArrowRight"):
            page.keyboard.press(key)
        clear, unclear, *_ = (trace for trace in figure.plot.data if trace.type == "heatmap")
        lines = int(np.isfinite(clear.z).any(1).sum())  # of cells that are clear; cells that are not come after them
        for trace, keys, number in ((clear, (), 1), (unclear, ("ArrowDown",) * lines + ("Home",), 0)):
            for key in keys:
                page.keyboard.press(key)
            known = np.flatnonzero(np.isfinite(trace.z[0]))  # what has no number is passed over
            column = known[min(number, len(known) - 1)]
            value = f"{trace.z[0][column]:.4g}".replace("-", "−")
            expect(told).to_contain_text(re.compile(rf"{trace.x[column]}.*{trace.y[0]}.* {value}"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        assert findings(page) == [] and page.said == []
    page.get_by_role("button", name="copy").press("Enter")
    expect(page.get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == 'lab.figure("transformers/fig5")'
    page = offline(site / "functions.html")
    page.locator(".lab-chart svg").first.focus()
    page.keyboard.press("Home")
    first = page.locator(".lab-readout").first.text_content()
    page.keyboard.press("PageDown")
    expect(page.locator(".lab-readout").first).to_have_text(re.compile(r"simplicity/addition-27: \S+ at \S+"))
    assert page.locator(".lab-readout").first.text_content() != first and page.locator(".lab-ring").count() == 1


def test_the_league_is_sorted_by_mouse_and_keyboard(offline, site):
    page = offline(site / "league.html", 600)
    names, heads = page.locator("tbody th"), page.locator("thead th")
    start = names.all_text_contents()
    page.get_by_role("button", name="cost").press("Enter")
    costs = [float(one.removeprefix("× ")) for one in page.locator("tbody td:nth-child(4)").all_text_contents()]
    assert costs == sorted(costs) and heads.nth(3).get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="cost").click()
    assert heads.nth(3).get_attribute("aria-sort") == "descending" and page.locator("[aria-sort]").count() == 1
    page.get_by_role("button", name="function").click()
    assert names.all_text_contents() == sorted(start)
    expect(page.get_by_role("status")).to_contain_text("Sorted by function, ascending; first: asqu")
    page.get_by_role("button", name="mean rank").click()
    ranks = [float(one) for one in page.locator("tbody td:nth-child(3)").all_text_contents()]
    assert ranks == sorted(ranks) and wide(page) <= 0 and page.said == []


def test_the_gallery_opens_from_disk_and_a_network_learns_in_it(offline, site, sends, findings):
    page = offline(site / "index.html")
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
    page.get_by_role("button", name="a + b modulo 27").click()  # one click, and it runs
    expect(page.get_by_label("non-linearity").locator("option:checked")).to_have_text("the learned function")
    page.get_by_role("button", name="rings").click()
    expect(steps).to_have_text(re.compile(r"Step \d\d.* each the best for its function"))
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
    page.goto((site / "figures" / "transformers" / "fig2.html").as_uri())
    page.locator(".main-svg").first.wait_for()
    assert page.get_by_text("Share chart").count() == 0 and findings(page) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(UNREAD) == []
    narrow = offline(site / "index.html", 600)
    assert wide(narrow) <= 0 and page.said == [] and narrow.said == []
    narrow.emulate_media(color_scheme="dark", reduced_motion="reduce")
    pages = ["scorecard", "functions", "notebooks/00_start_here", "league", "playground", "index"]
    for name in [*pages, "figures/transformers/fig2", *(f"explorers/{one}" for one in EXPLORED)]:
        narrow.goto((site / f"{name}.html").as_uri())
        narrow.locator("svg, table, iframe").first.wait_for()
        assert narrow.said == [] and findings(narrow) == [], name
        narrow.said.clear()  # axe-core speaks to frames, which a file's may not
        assert sends(narrow) == [], name
