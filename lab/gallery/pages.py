"""The pages of the gallery as HTML."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from lab.catalogue.results_page import PAPERS
from lab.catalogue.scorecard import measured, on_stand_in
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import left_out, zoo_curves
from lab.papers.claims import ABSENT, FAILS, HOLDS, ON_STAND_IN, UNDECIDED, WORDS
from lab.papers.entry import Entry
from lab.probes.profile import profile
from lab.widgets import modules
from lab.widgets.function_view import described, function_page
from lab.widgets.playground import offered

SIGNS = dict(zip(WORDS, "✔✘✓✗?–", strict=True))
TOP = """<nav class="site" aria-label="site"><a href="{up}index.html">the lab</a>
<a href="{up}index.html#figures">Figures</a>
<a href="{up}functions.html">Functions</a>
<a href="{up}scorecard.html">Scorecard</a>
<a href="{up}playground.html">Playground</a>
<a href="{up}index.html#notebooks">Notebooks</a></nav>
<main>
{title}
{body}
</main>"""
KINDS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "open", ABSENT: "absent"}  # of verdicts, in the style sheet
KINDS |= {word: f"{KINDS[on_own]} stand-in" for on_own, word in ON_STAND_IN.items()}
FILTER = """<script>
const words = document.getElementById("words"), kinds = ["paper", "verdict"].map((id) => document.getElementById(id));
function filter() {
  let shown = 0;
  for (const card of document.querySelectorAll(".card[data-words]")) {
    const hit = words.value.toLowerCase().split(/\\s+/).every((word) => card.dataset.words.includes(word))
      && kinds.every((menu) => !menu.value || card.dataset[menu.id].split("|").includes(menu.value));
    card.hidden = !hit;
    shown += hit;
  }
  document.getElementById("count").textContent = `${shown} shown`;
}
[words, ...kinds].forEach((control) => control.addEventListener("input", filter));
filter();
</script>"""


@dataclass(frozen=True)
class Card:
    """A figure of the gallery: its entry, the scale of its results, its claims as the scorecard has them, the notebook
    that shows it, and whether its picture is a drawing or of photographs (style.py)."""

    entry: Entry
    scale: str
    claims: Sequence[dict]
    notebook: str | None
    picture: str = "drawing"

    @property
    def verdict(self) -> str:
        """What became of its claims, as a line of HTML."""
        if not self.claims:
            return "No claim of the paper is tested here."
        counts = {word: sum(row["verdict"] == word for row in self.claims) for word in SIGNS}
        return " ".join(
            f'<span class="dot {KINDS[word]}" aria-hidden="true"></span> {count} {word}'
            for word, count in counts.items()
            if count
        )

    def notebook_link(self, up: str = "") -> list[str]:
        """A link to the notebook, if there is one."""
        return [f'<a href="{up}notebooks/{_page_of(self.notebook)}">notebook</a>'] if self.notebook else []


def whole(title: str, body: str, up: str = "", headed: bool = False) -> str:
    """A page; up: the way to the folder of the site; headed: whether the body has its own title."""
    heading = "" if headed else f"<h1>{html.escape(title)}</h1>"
    body = TOP.format(title=heading, body=body, up=up)
    return modules.document(title, f'<link rel="stylesheet" href="{up}style.css">', body)


def paper(entry: Entry) -> str:
    """The paper of an entry, in words."""
    return PAPERS.get(entry.name.split("/")[0], entry.name.split("/")[0]) + "."


def claims_list(claims: Iterable[dict], linked: Collection[str] = ()) -> str:
    """Each claim with its verdict, its number and its interval; linked: figures that are named with a link."""
    rows = []
    for row in claims:
        number = html.escape(row["reason"] or "; ".join(filter(None, (measured(row, covers=False), on_stand_in(row)))))
        if row["entry"] in linked:
            number += f' <a href="figures/{row["entry"]}.html">{row["entry"]}</a>'
        dot = f'<span class="dot {KINDS[row["verdict"]]}" aria-hidden="true"></span>'
        words = f"<p><b>{html.escape(row['claim'])}</b>: {row['verdict']}.</p>"
        rows.append(f'<li>{dot}<div>{words}<p class="faint">{number}</p></div>{_interval(row)}</li>')
    return f'<ul class="verdicts">{"".join(rows)}</ul>' if rows else ""


def _interval(row: dict) -> str:
    """The interval of a claim as a line, its effect as a dot, on the side where the claim has it shaded; nothing where
    there is none."""
    bounds = [bound for bound in (row["above"], row["below"]) if isfinite(bound)]
    if row["verdict"] == ABSENT or not (bounds and isfinite(row["effect"]) and isfinite(row["low"])):
        return ""
    points = [row["low"], row["high"], row["effect"], *bounds]
    room = 0.12 * (max(points) - min(points)) or 1.0
    low, high = min(points) - room, max(points) + room

    def across(value: float) -> float:
        return 170 * (min(max(value, low), high) - low) / (high - low)

    left, right = across(row["above"]), across(row["below"])
    marks = "".join(
        f'<path d="M{across(bound):.1f},1V25" stroke="currentColor" stroke-dasharray="2 2"/>' for bound in bounds
    )
    return (
        f'<svg viewBox="0 0 170 26" class="{KINDS[row["verdict"]]}" aria-hidden="true">'
        f'<rect x="{left:.1f}" y="1" width="{right - left:.1f}" height="24" fill="currentColor" opacity=".08"/>{marks}'
        f'<path d="M{across(row["low"]):.1f},13H{across(row["high"]):.1f}" stroke="var(--verdict)" stroke-width="3"/>'
        f'<circle cx="{across(row["effect"]):.1f}" cy="13" r="5" fill="var(--verdict)"/></svg>'
    )


def verdict_bar(claims: Sequence[dict]) -> str:
    """How many claims there are of each verdict, as a bar and in words."""
    counts = {word: sum(row["verdict"] == word for row in claims) for word in SIGNS}
    parts = "".join(f'<span class="{KINDS[word]}" style="flex: {n}"></span>' for word, n in counts.items() if n)
    words = " · ".join(
        f'<span class="count"><span class="dot {KINDS[word]}" aria-hidden="true"></span> {n} {word}</span>'
        for word, n in counts.items()
    )
    return f'<div class="bar" aria-hidden="true">{parts}</div><p>{words}</p>'


def index(cards: Sequence[Card], claims: Sequence[dict], notebooks: Sequence[str]) -> str:
    """The first page."""
    curves, problems = zoo_curves()
    papers = [(name, PAPERS.get(name, name)) for name in dict.fromkeys(card.entry.name.split("/")[0] for card in cards)]
    menu = "".join(f'<option value="{name}">{html.escape(title)}</option>' for name, title in papers)
    verdicts = "".join(f'<option value="{word}">{SIGNS[word]} {word}</option>' for word in SIGNS)
    books = "".join(
        f'<li><a href="notebooks/{name}">{html.escape(name.removesuffix(".html"))}</a></li>' for name in notebooks
    )
    facts = (
        (f"{len(cards)}", "figures and tables of four papers, trained anew"),
        (f"{len(claims)}", "claims, each with its interval"),
        (f"{sum(row['verdict'] == HOLDS for row in claims)}", "of them hold here"),
        (f"{len(curves)}", "learned functions to look at and change"),
    )
    items = "".join(f"<li><b>{number}</b>{words}</li>" for number, words in facts)
    return whole(
        "The lab: what a non-linearity does to a network",
        f"""<div class="hero"><h1>Learn the activation function, too</h1>
<p class="lead">Between the linear maps of a neural network stands a function of one number, nearly always ReLU or GELU.
Here it is learned for a task. Watch: two networks begin with the same weights and learn the same examples, one with
ReLU, one with another function. On addition modulo 27 it is a function that was learned for it.</p>
<div class="stage">{modules.part("playground.js", playground_state() | {"autoplay": True})}</div>
<ul class="facts">{items}</ul></div>
<h2 id="scorecard">Do the papers' claims hold here?</h2>
{verdict_bar(claims)}
<p><a href="scorecard.html">Every claim with its number</a></p>
<h2 id="figures">Figures</h2>
<div class="lab-row"><label>search <input id="words" type="search"></label>
<label>paper <select id="paper"><option value="">all</option>{menu}</select></label>
<label>verdict <select id="verdict"><option value="">any</option>{verdicts}</select></label>
<span id="count" role="status"></span></div>
<div class="cards">{"".join(map(_card, cards))}</div>
<h2 id="functions">Functions</h2>
<p>Functions that were learned; open one to look at it, and to change it.</p>
<div class="cards">{_curves(curves)}</div>
{f'<p class="faint">{html.escape(left_out(problems))}</p>' if problems else ""}
<h2 id="notebooks">Notebooks</h2>
<ul>{books}</ul>
{FILTER}""",
        headed=True,
    )


def scorecard(claims: Sequence[dict], shown: Collection[str]) -> str:
    """All claims, by paper; shown: figures that have a page."""
    parts = []
    for name, title in PAPERS.items():
        rows = [row for row in claims if row["entry"].startswith(f"{name}/")]
        if rows:
            parts.append(f"<h2>{html.escape(title)}</h2>{verdict_bar(rows)}{claims_list(rows, shown)}")
    legend = (
        "Line: the 95 % interval, also in brackets. Dashed: where the claim begins to hold; shaded: where it does. A"
        " claim is not decided where its interval crosses the dashed line."
    )
    return whole("Scorecard", f"{verdict_bar(claims)}<p>{legend}</p>{''.join(parts)}")


def functions() -> str:
    """A page on which every function of the zoo can be looked at and changed."""
    shapes = {name: profile(phi) for name, phi in zoo_curves()[0].items()}
    shown = [described(name, shape) for name, shape in shapes.items()]
    low, high = next(iter(shapes.values())).support()
    top = TOP.partition("<main>")[0].format(up="")
    style_of_site = '<link rel="stylesheet" href="style.css">'
    return function_page(
        shown,
        0,
        [],
        max(abs(low), abs(high)),
        False,
        words=f"{style_of_site}{top}",
        title="Functions that were learned",
    )


def playground() -> str:
    """The page of the race alone."""
    body = f'<div class="stage">{modules.part("playground.js", playground_state())}</div>'
    return whole("A network learns, in this page", body)


def playground_state() -> dict:
    """What the playground offers."""
    return {"functions": offered()}


def _page_of(notebook: str) -> str:
    return notebook.removesuffix(".ipynb") + ".html"


def _card(card: Card) -> str:
    entry = card.entry
    words = " ".join([entry.name, entry.title, entry.shows, entry.paper_says, *entry.tasks, paper(entry)]).lower()
    verdicts = "|".join(dict.fromkeys(row["verdict"] for row in card.claims))
    return f"""<article class="card" data-words="{html.escape(words)}" data-paper="{entry.name.split("/")[0]}"
data-verdict="{verdicts}"><a class="shot" href="figures/{entry.name}.html" tabindex="-1" aria-hidden="true"><img
class="{card.picture}" src="images/{entry.name}.png" loading="lazy" alt=""></a>
<h3><a href="figures/{entry.name}.html">{html.escape(entry.title)}</a></h3>
<p class="faint">{entry.name}, section {html.escape(entry.section)}</p><p>{card.verdict}</p>
<p class="faint">to train: {entry.durations} {"".join(card.notebook_link())}</p></article>"""


def _curves(functions: Mapping[str, Spline]) -> str:
    """A small picture of each function of the zoo."""
    cards = []
    for number, (name, phi) in enumerate(functions.items()):
        shape = profile(phi)
        low, high = shape.support()
        x, y = (values[(shape.x >= low) & (shape.x <= high)] for values in (shape.x, shape.y))
        across, down = 200 * (x - low) / (high - low), 140 - 130 * (y - y.min()) / (np.ptp(y) or 1.0)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        cards.append(
            f'<a class="card" href="functions.html#{number}"><svg class="curve" aria-hidden="true"'
            f' viewBox="-6 -2 212 154" preserveAspectRatio="none"><polyline points="{points}" fill="none"'
            f' stroke="#0072B2" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>'
            f"<h3>{html.escape(name)}</h3></a>"
        )
    return "".join(cards)
