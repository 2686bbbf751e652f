"""The pages of the gallery as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lab.catalogue.results_page import PAPERS
from lab.catalogue.scorecard import measured
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.papers.claims import ABSENT, FAILS, HOLDS, UNDECIDED
from lab.papers.entry import Entry
from lab.probes.profile import profile
from lab.widgets import modules
from lab.widgets.function_view import described, function_page
from lab.widgets.playground import offered

SIGNS = {HOLDS: "✔", FAILS: "✘", UNDECIDED: "?", ABSENT: "–"}
STYLE = """
.faint { color: var(--faint); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(240px, 100%), 1fr)); gap: 1rem; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: .6rem; min-width: 0; overflow-wrap: anywhere; }
.card img, .card svg.curve { width: 100%; height: 150px; object-fit: contain; background: white; }
.card h3 { font-size: 1rem; margin: .4rem 0 .2rem; }
.card p { margin: .2rem 0; font-size: .9rem; }
nav a { margin-right: 1rem; }
.verdicts { list-style: none; padding: 0; }
.verdicts li { margin: .3rem 0; max-width: 60rem; }
.sign { display: inline-block; min-width: 1.4em; font-weight: bold; }
img, pre, table { max-width: 100%; }
pre { overflow: auto; background: color-mix(in srgb, var(--ink) 7%, var(--ground)); padding: .5rem; }
iframe { width: 100%; height: 640px; border: 1px solid var(--line); border-radius: 6px; }
"""
TOP = """<nav><a href="{up}index.html">Gallery</a><a href="{up}functions.html">Functions</a>
<a href="{up}scorecard.html">Scorecard</a><a href="{up}playground.html">Playground</a></nav>
<h1>{title}</h1>
{body}"""
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
    that shows it."""

    entry: Entry
    scale: str
    claims: Sequence[dict]
    notebook: str | None

    @property
    def verdict(self) -> str:
        """What became of its claims, in a line."""
        if not self.claims:
            return "No claim of the paper is tested here."
        counts = {word: sum(row["verdict"] == word for row in self.claims) for word in SIGNS}
        return "; ".join(f"{SIGNS[word]} {word}: {count}" for word, count in counts.items() if count)

    def notebook_link(self, up: str = "") -> list[str]:
        """A link to the notebook, if there is one."""
        return [f'<a href="{up}notebooks/{_page_of(self.notebook)}">notebook</a>'] if self.notebook else []


def whole(title: str, body: str, up: str = "") -> str:
    """A page; up: the way to the folder of the site."""
    body = TOP.format(title=html.escape(title), body=body, up=up)
    return modules.document(title, f'<link rel="stylesheet" href="{up}style.css">', body)


def paper(entry: Entry) -> str:
    """The paper of an entry, in words."""
    return PAPERS.get(entry.name.split("/")[0], entry.name.split("/")[0]) + "."


def claims_list(claims: Iterable[dict]) -> str:
    """Each claim with its verdict and its number."""
    rows = []
    for row in claims:
        number = row["reason"] or measured(row, covers=False)
        sign = f'<span class="sign">{SIGNS[row["verdict"]]}</span>'
        rows.append(f"<li>{sign}<b>{html.escape(row['claim'])}</b>: {row['verdict']}. {html.escape(number)}</li>")
    return f'<ul class="verdicts">{"".join(rows)}</ul>' if rows else ""


def index(cards: Sequence[Card], claims: Sequence[dict], notebooks: Sequence[str]) -> str:
    """The first page."""
    papers = [(name, PAPERS.get(name, name)) for name in dict.fromkeys(card.entry.name.split("/")[0] for card in cards)]
    menu = "".join(f'<option value="{name}">{html.escape(title)}</option>' for name, title in papers)
    verdicts = "".join(f'<option value="{word}">{SIGNS[word]} {word}</option>' for word in SIGNS)
    counts = ", ".join(f"{sum(row['verdict'] == word for row in claims)} {word}" for word in SIGNS)
    books = "".join(
        f'<li><a href="notebooks/{name}">{html.escape(name.removesuffix(".html"))}</a></li>' for name in notebooks
    )
    return whole(
        "The lab: what a non-linearity does to a network",
        f"""<p>Between the linear maps of a neural network stands a function of one number. Learn that function for a
task, and the same network may learn it sooner, or answer what it has never seen. Here are the figures of the papers
about it, trained anew, with what holds of each claim.</p>
<iframe src="playground.html" title="A network learns, in this page"></iframe>
<h2>Figures</h2>
<div class="lab-row"><label>search <input id="words" type="search"></label>
<label>paper <select id="paper"><option value="">all</option>{menu}</select></label>
<label>verdict <select id="verdict"><option value="">any</option>{verdicts}</select></label>
<span id="count" role="status"></span></div>
<div class="cards">{"".join(map(_card, cards))}</div>
<h2>Functions</h2>
<p>Functions that were learned; open one to look at it, and to change it.</p>
<div class="cards">{_curves()}</div>
<h2>Scorecard</h2>
<p><a href="scorecard.html">{len(claims)} claims: {counts}</a></p>
<h2>Notebooks</h2>
<ul>{books}</ul>
{FILTER}""",
    )


def scorecard(claims: Sequence[dict]) -> str:
    """All claims, by paper."""
    parts = []
    for name, title in PAPERS.items():
        rows = [row for row in claims if row["entry"].startswith(f"{name}/")]
        if rows:
            parts.append(f"<h2>{html.escape(title)}</h2>{claims_list(rows)}")
    legend = ", ".join(f"{sign} {word}" for word, sign in SIGNS.items())
    return whole("Scorecard", f"<p>{legend}. Brackets: 95 % intervals.</p>{''.join(parts)}")


def functions() -> str:
    """A page on which every function of the zoo can be looked at and changed."""
    names = list(zoo_names())
    shown = [described(name, profile(zoo(name))) for name in names]
    low, high = profile(zoo(names[0])).support()
    return function_page(shown, 0, [], max(abs(low), abs(high)), False, words='<p><a href="index.html">Gallery</a></p>')


def playground_state() -> dict:
    """What the playground offers."""
    return {"functions": offered()}


def _page_of(notebook: str) -> str:
    return notebook.removesuffix(".ipynb") + ".html"


def _card(card: Card) -> str:
    entry = card.entry
    words = " ".join([entry.name, entry.title, entry.shows, entry.paper_says, *entry.tasks, paper(entry)]).lower()
    verdicts = "|".join(dict.fromkeys(row["verdict"] for row in card.claims))
    minutes = ", ".join(f"{scale} {value:g}" for scale, value in entry.minutes.items())
    links = [f'<a href="figures/{entry.name}.html">figure</a>', *card.notebook_link()]
    return f"""<article class="card" data-words="{html.escape(words)}" data-paper="{entry.name.split("/")[0]}"
data-verdict="{verdicts}"><a href="figures/{entry.name}.html"><img src="images/{entry.name}.png" loading="lazy"
alt="{html.escape(entry.title)}"></a><h3>{html.escape(entry.title)}</h3>
<p class="faint">{entry.name}, section {html.escape(entry.section)}</p><p>{html.escape(card.verdict)}</p>
<p class="faint">minutes to train: {minutes}</p><p>{" · ".join(links)}</p></article>"""


def _curves() -> str:
    """A small picture of each function of the zoo."""
    cards = []
    for number, name in enumerate(zoo_names()):
        shape = profile(zoo(name))
        low, high = shape.support()
        x, y = (values[(shape.x >= low) & (shape.x <= high)] for values in (shape.x, shape.y))
        across, down = 200 * (x - low) / (high - low), 140 - 130 * (y - y.min()) / (np.ptp(y) or 1.0)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        cards.append(
            f'<a class="card" href="functions.html#{number}"><svg class="curve" viewBox="0 0 200 150" role="img"'
            f' aria-label="{html.escape(name)}" preserveAspectRatio="none"><polyline points="{points}" fill="none"'
            f' stroke="#0072B2" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>'
            f"<h3>{html.escape(name)}</h3></a>"
        )
    return "".join(cards)


def style() -> str:
    """The style sheet of the site."""
    return modules.style() + STYLE
