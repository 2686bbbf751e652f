"""The gallery: every figure that is shipped, every link leads to a file of the site, nothing lies elsewhere."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
import torch

from lab.catalogue import league
from lab.catalogue.registry import entries
from lab.catalogue.scorecard import score
from lab.catalogue.shipped import resolve_scale, shipped_results
from lab.cli import main
from lab.errors import ArgumentError
from lab.gallery import league as league_page
from lab.gallery import site as module
from lab.gallery import write_gallery
from lab.gallery.pages import functions, index
from lab.nonlinearity.functions import scalars
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo_curves, zoo_names
from lab.places import NOTEBOOKS, ZOO
from lab.plots.caption import signed

SECRET = "nobody-else-knows"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The gallery as somebody writes it who has a zoo of their own."""
    out, own = tmp_path_factory.mktemp("gallery") / "site", tmp_path_factory.mktemp("zoo")
    Spline([0.0, 1.0, 0.0]).save(own / f"{SECRET}.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_ZOO", str(own))
        assert write_gallery(out)[0] == out / "index.html"
    return out


def test_nothing_of_the_users_own_is_on_the_pages(site):
    assert [path.name for path in site.rglob("*.*ml") if SECRET in path.read_text()] == []


@pytest.mark.parametrize(("words", "own"), [("gallery out", False), ("gallery out --mine", True)])
def test_own_functions_are_on_the_pages_where_that_is_asked_for(words, own, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_ZOO", str(tmp_path))
    Spline([0.0, 1.0, 0.0]).save(tmp_path / f"{SECRET}.json")
    monkeypatch.setattr(module, "_write", lambda out, results: [out / name for name in zoo_names()])
    main(words.split())
    assert capsys.readouterr().out.startswith(f"{len(list(ZOO.rglob('*.json'))) + own} pages")
    assert f"mine/{SECRET}" in zoo_names()


class Page(HTMLParser):
    """What a page refers to, and its words."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.words, self.cards, self.read = [], "", 0, True
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        self.read = tag not in ("script", "style")
        found = dict(attributes)
        self.targets += [found[name] for name in ("href", "src") if name in found]
        self.cards += tag == "article"

    def handle_endtag(self, tag):
        self.read = True

    def handle_data(self, text):
        self.words += text if self.read else ""


def test_every_link_leads_to_a_file_of_the_site(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for path in pages:
        for target in Page(path).targets:
            if target.startswith("data:") or (target.startswith("https://") and "notebooks" in path.parts):
                continue  # notebooks name papers and publishers
            there = (path.parent / unquote(target.partition("#")[0])).resolve() if target[0] != "#" else path
            assert there.is_file() and there.is_relative_to(site), f"{path.relative_to(site)} leads to {target}"


def test_every_shipped_figure_and_every_claim_and_function_is_there(site):
    index, card = Page(site / "index.html"), Page(site / "scorecard.html")
    shipped = [entry for entry in entries().values() if shipped_results(entry.name, resolve_scale(entry)).facts]
    assert index.cards == len(shipped)
    for entry in shipped:
        page = Page(site / "figures" / f"{entry.name}.html")
        assert f"figures/{entry.name}.html" in index.targets
        assert any(target.startswith(f"../../tables/{entry.name}/table") for target in page.targets)
    for row in score()["claims"]:
        assert f"{row['claim']}: {row['verdict']}." in card.words
        if shipped_results(row["entry"], resolve_scale(entries()[row["entry"]])).facts:
            assert row["claim"] in Page(site / "figures" / f"{row['entry']}.html").words
    assert all(name in index.words for name in zoo_names() if not name.startswith("mine/"))
    assert "../../explorers/transformers/fig5.html" in Page(site / "figures" / "transformers" / "fig5.html").targets
    start = Page(site / "notebooks" / "00_start_here.html")
    assert "../playground.html" in start.targets and any("functions.html#" in target for target in start.targets)
    named = {target.rpartition("=")[2] for target in index.targets if target.startswith("functions.html#function=")}
    shipped = [name for name in zoo_curves()[0] if not name.startswith("mine/")]
    assert len(named) == len(shipped) + len(scalars()) and all(name in index.words for name in scalars())


def test_a_notebooks_explorers_are_alive_on_its_page_or_it_says_that_they_take_a_kernel(site):
    alive = set()
    for path in (site / "notebooks").rglob("*.html"):
        text, source = path.read_text(), NOTEBOOKS / path.relative_to(site / "notebooks").with_suffix(".ipynb")
        code = "\n".join(
            "".join(cell["source"]) for cell in json.loads(source.read_text())["cells"] if "outputs" in cell
        )
        frames = re.findall(r'<iframe src="([^"]+)"', text)
        alive |= {target.rpartition("../")[2].partition("#")[0] for target in frames}
        assert len(frames) + text.count("with a kernel.</p>") == len(
            re.findall(r"lab\.explore\(|(?:Explorer|Playground)\(", code)
        )
    explorers = {path.relative_to(site).as_posix() for path in (site / "explorers").rglob("*.html")}
    assert alive == explorers | {"functions.html", "playground.html"} and len(explorers) == 5


def test_every_figure_has_the_line_that_makes_it_and_the_whole_site_is_small(site):
    for name in entries():
        if (page := site / "figures" / f"{name}.html").is_file():
            line = f'data-copy="lab.figure(&#34;{name}&#34;)"'
            assert line in page.read_text() and f'lab.figure("{name}")' in Page(page).words
    assert sum(path.stat().st_size for path in site.rglob("*")) < 40e6


def test_the_league_has_a_row_for_each_function_and_ones_own_where_they_are_trained(site, tmp_path, monkeypatch):
    row = re.compile(r'<th scope="row" data-value="([^"]+)"')
    text = (site / "league.html").read_text()
    shipped = set(row.findall(text))
    assert shipped == set(league.league.FIXED + league.league.LEARNING) | {league.league.LEARNED}
    assert text.count("<polyline") == len(shipped) - 1 and 'aria-sort="ascending"' in text
    monkeypatch.setenv("LAB_ZOO", str(tmp_path / "zoo"))
    monkeypatch.setenv("LAB_STORE", str(tmp_path / "store"))
    Spline([0.0, 1.0, 0.0]).save(tmp_path / "hat.json")
    league.add(str(tmp_path / "hat.json"))
    assert set(row.findall(league_page.page())) == shipped, "what nobody has trained has no row"
    made = league.standing("smoke", mine=True, progress=False)
    monkeypatch.setattr(league_page, "standing", lambda **more: league.standing("smoke", **more))
    assert set(made.table["function"]) == set(row.findall(league_page.page())) > {"mine/league/hat"}


def test_a_file_of_the_zoo_that_cannot_be_drawn_is_named_and_the_pages_agree_on_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_ZOO", str(tmp_path))
    Spline(torch.zeros(2, 5)).save(tmp_path / "a.json")
    Spline([0.0, 1.0, 0.0]).save(tmp_path / "hat.json")
    page = index([], [], [])
    assert "mine/a (has 2 functions" in page and 'href="functions.html#' in page
    number = list(zoo_curves()[0]).index("mine/hat")
    assert re.search(rf'functions.html#function={number}">(?:(?!</a>).)*<h3>mine/hat</h3>', page)
    assert "mine/hat" in functions() and "mine/a" not in functions()


# "1 runs", and a number that is "-0" or "−0.0"; not "0–0", and not 1 as the end of "layers 0 to 1"
ONE_OF_MANY = re.compile(r"(?<![\w.,:–/-])(?<!to )1 (runs|searches|seeds|steps|tasks|cells|layers|pairs|models)\b")
LESS_THAN_NOTHING = re.compile(r"(?<![\w.,:)\]–/−-])[-−]0(\.0+)?(?![\d.,]*\d)")


def test_numbers_are_told_as_one_says_them(site):
    assert ONE_OF_MANY.search("of 1 runs") and LESS_THAN_NOTHING.search("mano -0, add") and signed(-0.04) == "+0.0"
    for path in sorted(site.rglob("*.html")):
        words = Page(path).words
        for wrong in (ONE_OF_MANY, LESS_THAN_NOTHING):
            found = wrong.search(words)
            assert not found, f"{path.relative_to(site)}: {words[max(0, found.start() - 40) : found.end() + 20]}"


def test_what_diverges_on_a_task_is_the_last_there(monkeypatch):
    rows = [("a", "relu", 0.0), ("a", "gelu", 1.0), ("b", "relu", 0.0), ("b", "gelu", np.nan)]
    table = pd.DataFrame(rows, columns=["task", "function", "gain"]).assign(over="relu", low=-1.0, high=1.0, cost=1.0)
    monkeypatch.setattr(league.league, "ranking", lambda _: table)
    assert league_page.page().count('<td data-value="1.5">1.5</td>') == 2


def test_it_replaces_a_gallery_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_write", lambda out, results: [])  # each gallery takes seconds
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ArgumentError, match="holds other things"):
        write_gallery(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="holds other things"):
        write_gallery(tmp_path / "file")
    assert (tmp_path / "letter.txt").read_text() == "mine"
    write_gallery(tmp_path / "site")
    (tmp_path / "site" / "old.html").touch()
    write_gallery(tmp_path / "site")
    assert not (tmp_path / "site" / "old.html").exists()
