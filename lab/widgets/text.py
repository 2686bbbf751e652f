"""TextExplorer: two language models read a text, token by token; PairsExplorer: pairs of sentences, one grammatical."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
from torch import nn

from lab.data.sentences import Pair, pairs
from lab.errors import ArgumentError, LabError
from lab.models.hyper import method_of
from lab.models.rotary_hyper import RotaryHyperModel
from lab.plots.caption import counted, signed
from lab.plots.panels import grid
from lab.plots.style import BLUE, GREY, TEMPLATE, ink_of, method_title
from lab.probes.language import (
    CONVENTIONS,
    MinimalPairs,
    Reader,
    TokenLosses,
    continuation,
    minimal_pairs,
    reader_of,
    token_losses,
)
from lab.run import Run
from lab.spec import Learned, Shaped
from lab.tasks import Text
from lab.tasks.named import task_title
from lab.training.text import MaskedText
from lab.widgets.explorer import LABEL, WIDE, Explorer, check_alive, menu
from lab.widgets.pages import filled, live

WORST = 6.0  # nats at which a token's colour is full
HELPED = 2.0  # nats of difference at which a colour is full
SMOOTH = 25  # characters of the running mean
SHOWN = 400  # characters of the text at the start
Tokens = list[tuple[str, str, float, str]]  # a token, red, green and blue of its ground, its strength, what is said
EACH = 5  # pairs of each paradigm that models read at the start
PAGE = 25  # pairs on a page
EVERY = "every phenomenon"
OWN, TYPED = "your own", "typed"  # phenomenon and paradigm of what is typed
ALL, DISAGREE, FIRST = "all", "the models disagree", "the first alone is right"
SECOND, NEITHER = "the second alone", "both wrong"
EXAMPLE = """The authors laugh. | The authors laughs.
These books are here. | This books are here.
He has seen it. | He has saw it.
She loves herself. | She loves himself.
There is no man here. | There is any man here.
What did you see? | What see did you?"""


class TwoModelsExplorer(Explorer):
    """Two language models next to each other, chosen among runs by name; a model is read from the store when it is
    first asked for. tasks: what the runs may have been trained on."""

    tasks: tuple[type, ...] = (Text,)

    def __init__(self, runs: Mapping[str, Run] | Iterable[Run]):
        super().__init__()
        if isinstance(runs, Run):
            runs = [runs]
        self.runs = dict(runs) if isinstance(runs, Mapping) else _named(list(runs))
        if not self.runs:
            raise ArgumentError("there are no runs; give one or more that were trained on a text, as lab.train gives")
        for name, run in self.runs.items():
            if not isinstance(run, Run) or not isinstance(run.spec.task, self.tasks):
                what = run.spec.task_name if isinstance(run, Run) else type(run).__name__
                raise ArgumentError(f"{name} is of {what}; give runs that predict the next token of a text")
            check_alive(name, run)
        self._models: dict[str, nn.Module] = {}
        names, wide = list(self.runs), {"width": "auto", "max_width": "100%"}
        self.first, self.second = menu("first model", names, **wide), menu("second model", names, names[-1], **wide)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The models that are shown, once where both are one."""
        return tuple(dict.fromkeys((self.first.value, self.second.value)))

    def task(self, name: str) -> Any:
        """What a run was trained on."""
        return self.runs[name].spec.task

    def model(self, name: str) -> nn.Module:
        """The trained model."""
        if name not in self._models:
            self._models[name] = self.runs[name].model()
        return self._models[name]


def inks(names: Sequence[str]) -> list[str]:
    """Colours of two models, by name: those of their methods; else grey, that of baselines, and blue.

    >>> inks(["learned MLP", "baseline"]), inks(["mine", "another"])
    (['#0072B2', '#808080'], ['#808080', '#0072B2'])
    """
    known = [ink_of(name) for name in names]
    if names[0] != names[1] and known[0] == known[1]:
        return [GREY, BLUE]
    spare = GREY if BLUE in known else BLUE
    return [ink or spare for ink in known]


def name_of(run: Run) -> str:
    """A run in words: its text, what its model has, its seed."""
    model = run.spec.model
    parts = [_words(part) for part in getattr(model, "parts", {}).values() if part != "softmax"]
    activation = getattr(model, "activation", None)
    words = ", ".join(parts) or (activation if isinstance(activation, str) else type(model).__name__)
    if isinstance(model, RotaryHyperModel) and (method := method_of(model)):
        words = method_title(method)
    return f"{task_title(run.spec.task_name)}: {words}, seed {run.spec.seed}"


def _words(part: object) -> str:
    if isinstance(part, Shaped):
        return f"{part.shape} of learned"
    if isinstance(part, Learned):
        return f"learned for {task_title(part.search.task_name)}"
    return part if isinstance(part, str) else type(part).__name__


def _named(runs: list[Run]) -> dict[str, Run]:
    by_name: dict[str, Run] = {}
    for run in runs:
        name = name_of(run) if isinstance(run, Run) else str(len(by_name))
        while name in by_name:
            name += "′"
        by_name[name] = run
    return by_name


class TextExplorer(TwoModelsExplorer):
    """Choose two models and a text: each token has the more colour, the less it was expected; then the same text with
    the tokens that the second model expects more in blue, less in brown. Type a text of your own, or let both go on
    with it.

    runs: trained on texts, by name or not. text: at the beginning; default: some that the first model never saw.

    >>> from lab import train
    >>> TextExplorer(train("moby_dick", seeds=1, scale="smoke", progress=False)).status.value[:38]
    '<div style="line-height: 1.4; max-widt'
    """

    def __init__(self, runs: Mapping[str, Run] | Iterable[Run], text: str | None = None):
        super().__init__(runs)
        start = unseen(self.task(self.first.value)) if text is None else text
        self.text = widgets.Textarea(
            description="text", value=start, continuous_update=False, style=LABEL, layout=WIDE | {"height": "7em"}
        )
        self.read = widgets.Button(description="Read", button_style="primary")
        self.count = widgets.IntSlider(description="go on for (tokens)", value=120, min=1, max=500, style=LABEL)
        self.temperature = widgets.FloatSlider(description="temperature", value=0.8, max=1.5, step=0.1, style=LABEL)
        self.seed = widgets.IntSlider(description="seed", max=9, style=LABEL)
        self.generate = widgets.Button(description="Go on", tooltip="both models go on with the text")
        self.heat, self.written = widgets.HTML(), widgets.HTML()
        self.curves = live(_frame(), 240)
        self.arrange(
            [self.first, self.second],
            [self.text],
            [self.read, self.count, self.temperature, self.seed, self.generate],
            self.heat,
            self.curves,
            self.written,
        )
        self.watch(self._read, self.first, self.second, self.text)
        self.press(self._read, self.read)
        self.press(self._go_on, self.generate)
        with self.safely():
            self._read()

    def settings(self) -> list[tuple[str, str]]:
        """The models; with what comes of "Go on" stands how it was made."""
        return [("models", ", ".join(self.chosen))]

    def losses(self, name: str) -> TokenLosses:
        """What a model makes of the text."""
        return token_losses(self.model(name), self.task(name), self.text.value)

    def _read(self) -> None:
        losses_by_name = {name: self.losses(name) for name in self.chosen}
        blocks = {name: _heat(losses) for name, losses in losses_by_name.items()}
        if len(losses_by_name) == 2 and (helped := _difference(*losses_by_name.values())) is not None:
            blocks["expected more by the second model: blue; less: brown"] = helped
        self.heat.value = filled("tokens.html", blocks=blocks.items(), above="")
        with self.curves.batch_update():
            ways = inks((self.first.value, self.second.value))
            for line, name, ink in zip(self.curves.data, (*losses_by_name, *[None] * 2), ways, strict=False):
                known = losses_by_name.get(name) if name else None
                line.x, line.y = _running(known) if known else ([], [])
                line.name, line.showlegend, line.line.color = name or "", known is not None, ink
        self.say(" ".join(_said(name, losses) for name, losses in losses_by_name.items()))

    def _go_on(self) -> None:
        settings = {"count": self.count.value, "temperature": self.temperature.value, "seed": self.seed.value}
        text, blocks = self.text.value, []
        for name in self.chosen:
            more = continuation(self.model(name), self.task(name), text, **settings)
            blocks.append((name, (text[-60:], more)))
        above = f"{settings['count']} tokens, temperature {settings['temperature']:g}, seed {settings['seed']}"
        self.written.value = filled("tokens.html", blocks=blocks, above=f"Gone on for {above}:")


def unseen(task: Text) -> str:
    """The beginning of the text's held-out part."""
    data = task.windows("test")
    count = max(1, -(-SHOWN // (task.context + 1)))
    tokens = [token for number in range(count) for token in data.at(np.array([number * task.context]))[0, :-1].tolist()]
    return task.vocabulary.decode(tokens)[:SHOWN]


def _heat(losses: TokenLosses) -> Tokens:
    """The text, with the more colour, the less a token was expected."""
    tokens = []
    for piece, nats, guess in zip(losses.pieces, losses.nats, losses.guesses, strict=True):
        likely = repr(guess).strip("'") or "nothing"
        share, words = _strength(nats / WORST, f"{nats:.2f} nats; most probable: {likely}")
        tokens.append((piece, "230, 159, 0", share, words))
    return tokens


def _difference(one: TokenLosses, other: TokenLosses) -> Tokens | None:
    """Where the second model expects tokens more; None where the two have other tokens."""
    if one.pieces != other.pieces:
        return None
    tokens = []
    for piece, gain in zip(one.pieces, one.nats - other.nats, strict=True):
        ink = "0, 114, 178" if gain > 0 else "179, 88, 6"
        share, words = _strength(abs(gain) / HELPED, f"{gain:+.2f} nats")
        tokens.append((piece, ink, 0.7 * share, words))
    return tokens


def _strength(share: float, words: str) -> tuple[float, str]:
    return (min(1.0, share), words) if isfinite(share) else (0.0, "the first: not predicted")


def _frame() -> go.Figure:
    figure = go.Figure([go.Scatter(x=[], y=[], mode="lines", line={"width": 2}) for _ in range(2)])
    above = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}  # below, it would cover the axis' name
    figure.update_layout(template=TEMPLATE, margin={"t": 30}, legend=above)
    figure.update_xaxes(title_text="character of the text")
    return figure.update_yaxes(title_text="bits a character", rangemode="tozero")


def _running(losses: TokenLosses) -> tuple[np.ndarray, np.ndarray]:
    """Bits a character around each token, over about SMOOTH characters."""
    places = losses.characters.cumsum()
    bits, letters = np.nan_to_num(losses.nats[1:]) / np.log(2), losses.characters[1:]
    width = max(1, round(SMOOTH * len(letters) / max(1, letters.sum())))
    ones = np.ones(min(width, len(bits)))
    return places[1:], np.convolve(bits, ones, "same") / np.maximum(1, np.convolve(letters, ones, "same"))


def _said(name: str, losses: TokenLosses) -> str:
    words = f"{name}: {losses.bits:.2f} bits a character,"
    words += f" {100 * losses.right:.0f} % of {len(losses.tokens) - 1:,} tokens were its first guess."
    return words + (" Its vocabulary lacks a part of the text, which it did not read." if losses.altered else "")


class PairsExplorer(TwoModelsExplorer):
    """Choose two models, a phenomenon, and which pairs to see: those where the models disagree, or all. A positive
    number: the model finds the grammatical sentence more probable, by so much. Type pairs of your own below.

    runs: trained on texts, masked or not, by name or not. pairs: which to read; default: some of each paradigm of
    BLiMP; where BLiMP is not here, those that are typed. year: of the BabyLM evaluation whose rules for scores are used
    (`lab.probes.language.CONVENTIONS`).
    """

    tasks = (Text, MaskedText)

    def __init__(
        self, runs: Mapping[str, Run] | Iterable[Run], given: Sequence[Pair] | None = None, year: str = "2023"
    ):
        super().__init__(runs)
        self.missing = ""
        self.pairs: list[Pair] = self._known() if given is None else list(given)
        self._scores: dict[tuple[str, ...], MinimalPairs] = {}
        self.longer = 0  # pairs that a model cannot read
        years = [(f"as BabyLM's evaluation of {name}", name) for name in CONVENTIONS["causal"]]
        self.year = menu("scores", years, year, width="auto", max_width="100%")
        self.phenomenon = menu("phenomenon", self._phenomena())
        self.show_only = menu("pairs", [ALL, DISAGREE, FIRST, SECOND, NEITHER])
        self.page_number = widgets.IntText(description="page", value=1, style=LABEL, layout={"width": "9em"})
        self.own = widgets.Textarea(
            description="your own pairs: good | bad",
            value=EXAMPLE,
            continuous_update=False,
            style=LABEL,
            layout=WIDE | {"height": "9em"},
        )
        self.table = widgets.HTML()
        self.bars = live(_bars_frame(), height=max(220, 90 + 22 * len(self._phenomena())))
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
        readers = [reader_of(self.task(name)) for name in self.chosen]
        readable = [pair for pair in everything if all(fits(pair, reader) for reader in readers)]
        self.longer = len(everything) - len(readable)
        return readable

    def scores(self, name: str) -> MinimalPairs:
        """What a model makes of them."""
        asked = name, self.first.value, self.second.value, self.year.value, self.own.value
        if asked not in self._scores:
            if not (shown := self.shown):
                raise ArgumentError("there are no pairs that both models can read; type one: good sentence | bad one")
            reader = reader_of(self.task(name))
            self._scores[asked] = minimal_pairs(self.model(name), reader, shown, self.year.value)
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
        last = max(1, -(-len(places) // PAGE))
        page = min(max(1, self.page_number.value), last)
        margins = np.stack([one.good - one.bad, other.good - other.bad])[:, 0]
        shown = self.shown
        rows = [(shown[place], margins[:, place]) for place in places[(page - 1) * PAGE : page * PAGE]]
        self.table.value = filled("pairs.html", rows=rows, signed=signed, blue=BLUE)
        agree = 100 * (right[0] == right[1]).mean()
        words = f"{len(places):,} of {counted(right.shape[1], 'pair')}, page {page} of {last}."
        words += f" The models agree in {agree:.0f} %;"
        words += f" right: {100 * right[0].mean():.1f} and {100 * right[1].mean():.1f} %; ties count as wrong"
        words += f" ({100 * one.tied.mean():.1f} and {100 * other.tied.mean():.1f} %)."
        words += " Numbers: by how much the first sentence's score is above the second's, for either model."
        left = f"Longer than a model reads, and left out: {self.longer:,}." if self.longer else ""
        self.say(" ".join(filter(None, [words, left, self.missing and f"{self.missing}."])))


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


def _bars_frame() -> go.Figure:
    figure = grid([""], 1, height=200, top=40, left=190)
    for _ in range(2):
        figure.add_trace(go.Bar(x=[], y=[], orientation="h", hovertemplate="%{y}: %{x:.1f} %"))
    figure.add_vline(x=50, line={"color": GREY, "dash": "dot", "width": 1.5})
    figure.update_xaxes(title_text="pairs right (%); dotted: chance", range=(0, 100))
    return figure.update_yaxes(autorange="reversed").update_layout(barmode="group")
