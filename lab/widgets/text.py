"""TextExplorer: two language models read a text token by token, next to each other, and go on with it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from math import isfinite

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go

from lab.plots.style import TEMPLATE
from lab.probes.token_losses import TokenLosses, continuation, token_losses
from lab.run import Run
from lab.tasks import Text
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.language_models import LanguageModels, inks
from lab.widgets.live_figure import live

WORST = 6.0  # nats at which a token's colour is full
HELPED = 2.0  # nats of difference at which a colour is full
SMOOTH = 25  # characters of the running mean
SHOWN = 400  # characters of the text at the start
WIDE = {"width": "100%"}


class TextExplorer(Explorer):
    """Choose two models and a text: each token has the more colour, the less it was expected; then the same text with
    the tokens that the second model expects more in blue, less in brown. Type a text of your own, or let both go on
    with it.

    runs: trained on texts, by name or not. text: at the beginning; default: some that the first model never saw.

    >>> from lab import train
    >>> TextExplorer(train("moby_dick", seeds=1, scale="smoke", progress=False)).status.value[:38]
    '<div style="line-height: 1.4; max-widt'
    """

    def __init__(self, runs: Mapping[str, Run] | Iterable[Run], text: str | None = None):
        super().__init__()
        self.models = LanguageModels(runs)
        names = self.models.names
        wide = {"width": "auto", "max_width": "100%"}
        self.first = widgets.Dropdown(description="first model", options=names, style=LABEL, layout=wide)
        self.second = widgets.Dropdown(
            description="second model", options=names, value=names[-1], style=LABEL, layout=wide
        )
        start = unseen(self.models.task(names[0])) if text is None else text
        self.text = widgets.Textarea(
            description="text", value=start, continuous_update=False, style=LABEL, layout=WIDE | {"height": "7em"}
        )
        self.read = widgets.Button(description="Read", button_style="primary")
        self.count = widgets.IntSlider(description="go on for (tokens)", value=120, min=1, max=500, style=LABEL)
        self.temperature = widgets.FloatSlider(description="temperature", value=0.8, max=1.5, step=0.1, style=LABEL)
        self.seed = widgets.IntSlider(description="seed", max=9, style=LABEL)
        self.generate = widgets.Button(description="Go on", tooltip="both models go on with the text")
        self.heat, self.written = widgets.HTML(), widgets.HTML()
        self.curves = live(_frame(), height=240)
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

    @property
    def chosen(self) -> tuple[str, ...]:
        """The models that are shown, once where both are one."""
        return tuple(dict.fromkeys((self.first.value, self.second.value)))

    def losses(self, name: str) -> TokenLosses:
        """What a model makes of the text."""
        return token_losses(self.models.model(name), self.models.task(name), self.text.value)

    def _read(self) -> None:
        losses_by_name = {name: self.losses(name) for name in self.chosen}
        parts = [_block(name, _heat(losses)) for name, losses in losses_by_name.items()]
        if len(losses_by_name) == 2 and (helped := _difference(*losses_by_name.values())) is not None:
            parts.append(_block("expected more by the second model: blue; less: brown", helped))
        self.heat.value = f'<div class="lab-text">{"".join(parts)}</div>'
        with self.curves.batch_update():
            ways = inks((self.first.value, self.second.value))
            for line, name, ink in zip(self.curves.data, (*losses_by_name, *[None] * 2), ways, strict=False):
                known = losses_by_name.get(name) if name else None
                line.x, line.y = _running(known) if known else ([], [])
                line.name, line.showlegend, line.line.color = name or "", known is not None, ink
        self.say(" ".join(_said(name, losses) for name, losses in losses_by_name.items()))

    def _go_on(self) -> None:
        settings = {"count": self.count.value, "temperature": self.temperature.value, "seed": self.seed.value}
        parts = []
        for name in self.chosen:
            more = continuation(self.models.model(name), self.models.task(name), self.text.value, **settings)
            end = html.escape(self.text.value[-60:])
            parts.append(_block(name, f'<span style="color: #808080">…{end}</span><b>{html.escape(more)}</b>'))
        settings_line = f"{settings['count']} tokens, temperature {settings['temperature']:g}, seed {settings['seed']}"
        self.written.value = f"<div><p>Gone on for {settings_line}:</p>{''.join(parts)}</div>"


def unseen(task: Text) -> str:
    """The beginning of the text's held-out part."""
    data = task.windows("test")
    count = max(1, -(-SHOWN // (task.context + 1)))
    tokens = [token for number in range(count) for token in data.at(np.array([number * task.context]))[0, :-1].tolist()]
    return task.vocabulary.decode(tokens)[:SHOWN]


def _heat(losses: TokenLosses) -> str:
    """The text, each token on its own ground."""
    spans = []
    for piece, nats, guess in zip(losses.pieces, losses.nats, losses.guesses, strict=True):
        share = 0.0 if not isfinite(nats) else min(1.0, nats / WORST)
        words = f"{nats:.2f} nats; most probable: {_visible(guess)}" if isfinite(nats) else "the first: not predicted"
        spans.append(_span(piece, _ground("230, 159, 0", share), words))
    return "".join(spans)


def _difference(one: TokenLosses, other: TokenLosses) -> str | None:
    """Where the second model expects tokens more; None where the two have other tokens."""
    if one.pieces != other.pieces:
        return None
    spans = []
    for piece, gain in zip(one.pieces, one.nats - other.nats, strict=True):
        share = 0.0 if not isfinite(gain) else min(1.0, abs(gain) / HELPED)
        ink = "0, 114, 178" if gain > 0 else "179, 88, 6"
        words = f"{gain:+.2f} nats" if isfinite(gain) else "the first: not predicted"
        spans.append(_span(piece, _ground(ink, 0.7 * share), words))
    return "".join(spans)


def _ground(colour: str, share: float) -> str:
    """The ground of a token; on a dark page, where words are light, half as strong."""
    return f"light-dark(rgba({colour}, {share:.2f}), rgba({colour}, {share / 2:.2f}))"


def _span(piece: str, ground: str, words: str) -> str:
    return f'<span title="{html.escape(words)}" style="background: {ground}">{html.escape(_shown(piece))}</span>'


def _shown(piece: str) -> str:
    return piece.replace("\n", "↵\n")


def _visible(piece: str) -> str:
    return repr(piece).strip("'") or "nothing"


def _block(name: str, text: str) -> str:
    style = "white-space: pre-wrap; overflow-wrap: anywhere; font-family: monospace; line-height: 1.6"
    ground = "padding: 4px 8px; margin: 2px 0 10px"
    return f'<div><b>{html.escape(name)}</b><div style="{style}; {ground}">{text}</div></div>'


def _frame() -> go.Figure:
    figure = go.Figure(
        [go.Scatter(x=[], y=[], mode="lines", line={"width": 2}) for _ in range(2)],
        {
            "template": TEMPLATE,
            "margin": {"t": 30},
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},  # below, it would cover the axis' name
        },
    )
    figure.update_xaxes(title_text="character of the text")
    figure.update_yaxes(title_text="bits a character", rangemode="tozero")
    return figure


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
