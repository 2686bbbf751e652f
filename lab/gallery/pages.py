"""The pages of the gallery, from the templates beside it: what each shows, as words and numbers."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from lab.catalogue.registry import PAPERS
from lab.catalogue.scorecard import measured, on_stand_in
from lab.nonlinearity.functions import named, scalars
from lab.nonlinearity.zoo import left_out, zoo_curves
from lab.papers.claims import ABSENT, FAILS, HOLDS, ON_STAND_IN, UNDECIDED, WORDS
from lab.papers.entry import Entry
from lab.plots.page import templates
from lab.probes.profile import Profile, profile
from lab.widgets import pages
from lab.widgets.function_view import described, function_content, offered

SIGNS = dict(zip(WORDS, "✔✘✓✗?–", strict=True))
KINDS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "open", ABSENT: "absent"}  # of verdicts, in the style sheet
KINDS |= {word: f"{KINDS[on_own]} stand-in" for on_own, word in ON_STAND_IN.items()}
WIDE = 170  # px: of a claim's interval
FIGURE = re.compile(r'lab\.figure\("([^"]+)"')
# what a cell names: name = lab.figure("transformers/fig5"…; lab.explore(name…, lab.explore("add"…, Playground(…
NAMED = re.compile(r'^(\w+) = (?:lab\.(?:figure|zoo|trained)\("([^"]+)"|(probes\.landscape)\()?', re.MULTILINE)
EXPLORED = re.compile(r'\blab\.explore\("?([\w/.-]+)|\b(Playground|\w+Explorer)\(')
REACH, COURSE = 5.0, 501  # of a named function: to both sides of 0; points, ten in a period of the fastest sine
LINK = re.compile(r'href="([^":#]+)\.ipynb(#[^"]*)?"')
PICTURED = re.compile(r"!\[([^]]+)\]\(\.\./data/results/(\w+/\w+)/\w+/figure\.png\)")  # in docs/findings.md


@dataclass(frozen=True)
class Card:
    """A figure of the gallery: its entry, the scale of its results, its claims as the scorecard has them, the page of
    the notebook that shows it, and whether its picture is a drawing or of photographs (style.css)."""

    entry: Entry
    scale: str
    claims: Sequence[dict]
    notebook: str | None
    picture: str = "drawing"

    @property
    def name(self) -> str:
        """Of the entry."""
        return self.entry.name

    @property
    def paper(self) -> str:
        """A short name of the paper."""
        return self.name.split("/")[0]

    @property
    def words(self) -> str:
        """What a search looks through."""
        entry = self.entry
        title = PAPERS.get(self.paper, self.paper)
        return " ".join([entry.name, entry.title, entry.shows, entry.paper_says, *entry.tasks, f"{title}."]).lower()


def counted(claims: Sequence[dict]) -> dict[str, int]:
    """How many claims there are of each verdict."""
    return {word: sum(row["verdict"] == word for row in claims) for word in SIGNS}


def number(row: dict) -> str:
    """The number of a claim with its interval; or why there is none."""
    return row["reason"] or "; ".join(filter(None, (measured(row, covers=False), on_stand_in(row))))


def interval(row: dict) -> dict[str, Any] | None:
    """Where the interval of a claim, its effect and the side on which it holds are drawn, in px; None where there is
    no interval."""
    bounds = [bound for bound in (row["above"], row["below"]) if isfinite(bound)]
    if row["verdict"] == ABSENT or not (bounds and isfinite(row["effect"]) and isfinite(row["low"])):
        return None
    points = [row["low"], row["high"], row["effect"], *bounds]
    room = 0.12 * (max(points) - min(points)) or 1.0
    low, high = min(points) - room, max(points) + room

    def across(value: float) -> float:
        return WIDE * (min(max(value, low), high) - low) / (high - low)

    left, right = across(row["above"]), across(row["below"])
    places = {name: f"{across(row[name]):.1f}" for name in ("low", "high", "effect")}
    marks = [f"{across(bound):.1f}" for bound in bounds]
    return places | {"left": f"{left:.1f}", "width": f"{right - left:.1f}", "bounds": marks}


TEMPLATES = templates("lab.gallery", "templates")
TEMPLATES.globals |= {"papers": PAPERS, "signs": SIGNS, "kinds": KINDS}
TEMPLATES.globals |= {"counted": counted, "number": number, "interval": interval}


def page(template: str, title: str, up: str = "", **content: Any) -> str:
    """A page of the site; up: the way to its folder."""
    return TEMPLATES.get_template(template).render(title=title, up=up, **content)


def race(name: str = "lab", **more: Any) -> str:
    """Two networks that learn, as a part of a page; under another name than "lab" its address is not theirs."""
    return pages.part("playground.js", {"functions": offered(), **more}, name)


def curves() -> tuple[dict[str, Profile], dict[str, Profile]]:
    """Functions that were learned, and those that have a name, in the order of the page of functions."""
    plain = {name: profile(named(name), -REACH, REACH, COURSE) for name in scalars()}
    return {name: profile(phi) for name, phi in zoo_curves()[0].items()}, plain


def index(
    cards: Sequence[Card],
    claims: Sequence[dict],
    notebooks: Sequence[str],
    findings: bool = False,
    explorers: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The first page; notebooks: their pages; findings: whether there is a page of them; explorers: pages by what they
    explore."""
    (learned, plain), problems = curves(), zoo_curves()[1]
    there = dict.fromkeys(card.paper for card in cards)
    return page(
        "index.html",
        "The lab: what a non-linearity does to a network",
        cards=cards,
        claims=claims,
        notebooks=notebooks,
        findings=findings,
        race=race("race", autoplay=True),
        holding=sum(row["verdict"] == HOLDS for row in claims),
        papers={name: PAPERS.get(name, name) for name in there},
        curves={name: points(shape) for name, shape in learned.items()},
        plain={name: points(shape) for name, shape in plain.items()},
        codes=explorers.get("sraven"),
        left_out=left_out(problems) if problems else "",
    )


def points(shape: Profile) -> str:
    """A function as the points of a small picture, 200 × 140: where it is busy, or all of one without an end, of
    fast waves the middle."""
    waves = np.count_nonzero(np.diff(np.sign(shape.slope)))
    near = 10 if waves > 40 else 1  # a sine of many periods would be a block
    low, high = shape.support() if shape.constant else (shape.low / near, shape.high / near)
    inside = np.flatnonzero((shape.x >= low) & (shape.x <= high))
    x, y = (values[inside[:: max(1, len(inside) // 120)]] for values in (shape.x, shape.y))
    across, down = 200 * (x - low) / (high - low), 140 - 130 * (y - y.min()) / (np.ptp(y) or 1.0)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))


def scorecard(claims: Sequence[dict], shown: Collection[str]) -> str:
    """All claims, by paper; shown: figures that have a page."""
    rows = [row | {"paper": row["entry"].split("/")[0]} for row in claims]
    return page("scorecard.html", "Scorecard", claims=rows, shown=shown)


def functions() -> str:
    """A page on which every function of the zoo, and every one that has a name, can be looked at and changed."""
    learned, plain = curves()
    shown = [described(name, shape) for name, shape in {**learned, **plain}.items()]
    zoom = max(map(abs, next(iter(learned.values())).support()))
    top = '<link rel="stylesheet" href="style.css">' + TEMPLATES.get_template("top.html").render(up="")
    return function_content(shown, top, "Functions, learned and named", zoom=zoom).page(site=True)


def notebook_pages(
    folder: Path, names: Iterable[str], shown: Mapping[str, str], explorers: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """A page for each notebook by the page's name; and for each figure the first page that shows it.

    names: of notebooks below `folder`; shown: of each figure that has a page, whether its picture is a drawing or of
    photographs; explorers: pages by what they explore, which stand where a notebook explores it.
    """
    made: dict[str, str] = {}
    of_figure: dict[str, str] = {}
    for name in names:
        target, title = name.removesuffix(".ipynb") + ".html", name
        cells: list[dict[str, Any]] = []
        meant: dict[str, str] = {}  # of a variable, the figure, function or task that it holds
        for cell in json.loads((folder / name).read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                title = source.splitlines()[0].removeprefix("# ") if title == name else title
                cells.append({"words": _words(source)})
                continue
            figures = [figure for figure in FIGURE.findall(source) if figure in shown]
            meant |= {name: figure or probe for name, figure, probe in NAMED.findall(source)}
            explored = [meant.get(what, what) or kind for what, kind in EXPLORED.findall(source)]
            cells.append({"code": source, "figures": figures, "explored": explored})
            of_figure = dict.fromkeys(figures, target) | of_figure
        up = "../" * (name.count("/") + 1)
        made[target] = page("notebook.html", title, up, cells=cells, explorers=explorers, shown=shown)
    return made, of_figure


def findings(source: str) -> str:
    """The findings of the lab, in Markdown, as a page; pictures lead to the pages of their figures."""
    source = PICTURED.sub(r"[![\1](images/\2.png)](figures/\2.html)", source).replace("../RESULTS.md", "scorecard.html")
    words = _words(source).replace("<img ", '<img width="640" ')
    return page("notebook.html", "What we found", cells=[{"words": words}])


def _words(source: str) -> str:
    """Markdown as HTML; the title is the page's own, and links to notebooks lead to their pages."""
    from nbconvert.filters import markdown2html_mistune

    text = markdown2html_mistune(re.sub(r"\A# .*\n?", "", source))
    return LINK.sub(r'href="\1.html\2"', text.replace("<pre>", '<pre tabindex="0">'))
