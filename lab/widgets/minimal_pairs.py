"""PairsExplorer: pairs of sentences of which one is grammatical, as two language models see them (BLiMP)."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence

import ipywidgets as widgets
import numpy as np

from lab.data.sentences import Pair, pairs
from lab.errors import ArgumentError, LabError
from lab.plots.caption import counted, signed
from lab.plots.panels import grid
from lab.plots.style import BLUE, GREY
from lab.probes.minimal_pairs import CONVENTIONS, MinimalPairs, Reader, minimal_pairs, reader_of
from lab.run import Run
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.language_models import LanguageModels, inks
from lab.widgets.live_figure import live

EACH = 5  # pairs of each paradigm that models read at the start
PAGE = 25  # pairs on a page
EVERY = "every phenomenon"
OWN, TYPED = "your own", "typed"  # phenomenon and paradigm of what is typed
ALL, DISAGREE, FIRST, SECOND, NEITHER = (
    "all",
    "the models disagree",
    "the first alone is right",
    "the second alone",
    "both wrong",
)
FILTERS = (ALL, DISAGREE, FIRST, SECOND, NEITHER)
EXAMPLE = """The authors laugh. | The authors laughs.
These books are here. | This books are here.
He has seen it. | He has saw it.
She loves herself. | She loves himself.
There is no man here. | There is any man here.
What did you see? | What see did you?"""


class PairsExplorer(Explorer):
    """Choose two models, a phenomenon, and which pairs to see: those where the models disagree, or all. A positive
    number: the model finds the grammatical sentence more probable, by so much. Type pairs of your own below.

    runs: trained on texts, masked or not, by name or not. pairs: which to read; default: some of each paradigm of
    BLiMP; where BLiMP is not here, those that are typed. year: of the BabyLM evaluation whose rules for scores are used
    (`lab.probes.minimal_pairs.CONVENTIONS`).
    """

    def __init__(
        self, runs: Mapping[str, Run] | Iterable[Run], given: Sequence[Pair] | None = None, year: str = "2023"
    ):
        super().__init__()
        self.models = LanguageModels(runs, masked=True)
        names, wide = self.models.names, {"width": "auto", "max_width": "100%"}
        self.missing = ""
        self.pairs: list[Pair] = self._known() if given is None else list(given)
        self._scores: dict[tuple[str, ...], MinimalPairs] = {}
        self.longer = 0  # pairs that a model cannot read
        self.first = widgets.Dropdown(description="first model", options=names, style=LABEL, layout=wide)
        self.second = widgets.Dropdown(
            description="second model", options=names, value=names[-1], style=LABEL, layout=wide
        )
        years = [(f"as BabyLM's evaluation of {name}", name) for name in CONVENTIONS["causal"]]
        self.year = widgets.Dropdown(description="scores", options=years, value=year, style=LABEL, layout=wide)
        self.phenomenon = widgets.Dropdown(description="phenomenon", options=self._phenomena(), style=LABEL)
        self.show_only = widgets.Dropdown(description="pairs", options=FILTERS, style=LABEL)
        self.page_number = widgets.IntText(description="page", value=1, style=LABEL, layout={"width": "9em"})
        self.own = widgets.Textarea(
            description="your own pairs: good | bad",
            value=EXAMPLE,
            continuous_update=False,
            style=LABEL,
            layout={"width": "100%", "height": "9em"},
        )
        self.table = widgets.HTML()
        self.bars = live(_frame(), height=max(220, 90 + 22 * len(self._phenomena())))
        self.arrange(
            [self.first, self.second, self.year],
            [self.phenomenon, self.show_only, self.page_number],
            [self.own],
            self.bars,
            self.table,
        )
        self.watch(self._read, self.first, self.second, self.year, self.own)
        self.watch(self._list, self.phenomenon, self.show_only, self.page_number)
        with self.safely():
            self._read()

    def _known(self) -> list[Pair]:
        try:
            return pairs(EACH)
        except LabError as error:
            self.missing = str(error)
            return []

    def _phenomena(self) -> list[str]:
        return [EVERY, *dict.fromkeys(pair.phenomenon for pair in self.pairs), OWN]

    @property
    def shown(self) -> list[Pair]:
        """All pairs that both models can read: those that were given, and those that are typed."""
        everything = [*self.pairs, *typed(self.own.value)]
        readers = [reader_of(self.models.task(name)) for name in dict.fromkeys((self.first.value, self.second.value))]
        readable = [pair for pair in everything if all(fits(pair, reader) for reader in readers)]
        self.longer = len(everything) - len(readable)
        return readable

    def scores(self, name: str) -> MinimalPairs:
        """What a model makes of them."""
        asked = name, self.first.value, self.second.value, self.year.value, self.own.value
        if asked not in self._scores:
            if not (shown := self.shown):
                raise ArgumentError(
                    "there are no pairs that both models can read; type one: a good sentence | a bad one"
                )
            reader = reader_of(self.models.task(name))
            self._scores[asked] = minimal_pairs(self.models.model(name), reader, shown, self.year.value)
        return self._scores[asked]

    def _read(self) -> None:
        results = [self.scores(name) for name in (self.first.value, self.second.value)]
        names = [name for name in self._phenomena() if name in results[0].phenomena]
        with self.bars.batch_update():
            models = self.first.value, self.second.value
            for bar, one, name, ink in zip(self.bars.data, results, models, inks(models), strict=True):
                bar.x, bar.y, bar.name = [100 * float(one.phenomena[kind][0]) for kind in names], names, name
                bar.marker.color = ink
        self._list()

    def _list(self) -> None:
        one, other = self.scores(self.first.value), self.scores(self.second.value)
        right = np.stack([one.right[0], other.right[0]])
        selection = {
            ALL: np.ones(right.shape[1], bool),
            DISAGREE: right[0] != right[1],
            FIRST: right[0] & ~right[1],
            SECOND: ~right[0] & right[1],
            NEITHER: ~right.any(0),
        }[self.show_only.value]
        if self.phenomenon.value != EVERY:
            selection &= one.phenomenon == self.phenomenon.value
        places = np.flatnonzero(selection)
        pages = max(1, -(-len(places) // PAGE))
        page = min(max(1, self.page_number.value), pages)
        margins = np.stack([one.good - one.bad, other.good - other.bad])[:, 0]
        shown = self.shown
        rows = [self._row(shown[place], margins[:, place]) for place in places[(page - 1) * PAGE : page * PAGE]]
        head = "<tr><th>grammatical</th><th>not grammatical</th><th>first</th><th>second</th><th>paradigm</th></tr>"
        self.table.value = f'<table class="lab-pairs" style="border-spacing: 8px 2px">{head}{"".join(rows)}</table>'
        agree = 100 * (right[0] == right[1]).mean()
        words = f"{len(places):,} of {counted(right.shape[1], 'pair')}, page {page} of {pages}."
        words += f" The models agree in {agree:.0f} %;"
        words += f" right: {100 * right[0].mean():.1f} and {100 * right[1].mean():.1f} %; ties count as wrong"
        words += f" ({100 * one.tied.mean():.1f} and {100 * other.tied.mean():.1f} %)."
        words += " Numbers: by how much the first sentence's score is above the second's, for either model."
        left = f"Longer than a model reads, and left out: {self.longer:,}." if self.longer else ""
        self.say(" ".join(filter(None, [words, left, self.missing and f"{self.missing}."])))

    def _row(self, pair: Pair, margins: np.ndarray) -> str:
        cells = "".join(
            f'<td style="text-align: right; color: {BLUE if value > 0 else "#B35806"}">{signed(value, 2)}</td>'
            for value in margins
        )
        words = "".join(f"<td>{html.escape(text)}</td>" for text in (pair.good, pair.bad))
        return f"<tr>{words}{cells}<td>{html.escape(pair.paradigm)}</td></tr>"


def fits(pair: Pair, reader: Reader) -> bool:
    """Whether a model can read both sentences, with what is put around them."""
    around = 1 + len(reader.before) + len(reader.after)
    return all(len(reader.encode(f" {text}")) + around <= reader.length for text in (pair.good, pair.bad))


def typed(text: str) -> list[Pair]:
    """Pairs, one a line: a good sentence, a bar, a bad one. Raises ArgumentError for a line without both.

    >>> typed("He runs. | He run.")[0].bad
    'He run.'
    """
    result = []
    for line in filter(None, map(str.strip, text.splitlines())):
        good, bar, bad = (part.strip() for part in line.partition("|"))
        if not (good and bar and bad) or "|" in bad:
            raise ArgumentError(f"{line!r} is no pair; write a good sentence | a bad one")
        result.append(Pair(TYPED, OWN, good, bad))
    return result


def _frame():
    import plotly.graph_objects as go

    figure = grid([""], 1, height=200, top=40, left=190)
    for _ in range(2):
        figure.add_trace(go.Bar(x=[], y=[], orientation="h", hovertemplate="%{y}: %{x:.1f} %"))
    figure.add_vline(x=50, line={"color": GREY, "dash": "dot", "width": 1.5})
    figure.update_xaxes(title_text="pairs right (%); dotted: chance", range=(0, 100))
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(barmode="group")
    return figure
