"""A problem of SRAVEN as symbols: a grid of 3×3 panels, with a row of each panel for a feature; the last is asked for.

A value v of F is a dial, filled clockwise from the top by v/F of a turn, with the number beside it: values are counted
modulo F, so a progression turns by the same angle from panel to panel, and what is added adds up as angles do.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from lab.plots import go
from lab.plots.style import BLUE, FONT, GREEN, GREY, SIZE, TEMPLATE, VERMILLION
from lab.tasks.sraven import COLUMNS, RULES
from lab.tasks.stream import Examples

RADIUS, LINE = 9.0, 27.0  # px: of a dial, of a row in a panel
PAD, GAP = 8.0, 8.0  # px: inside a panel, between two
LETTER, NUMBER, MARK = 16.0, 22.0, 40.0  # px: room for a feature's letter, a value, a mark in the ninth panel
STYLE = f'xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" font-size="{SIZE}" role="img"'
Answer = Sequence[int | None]


def draw(
    examples: Examples, i: int, values: int, answer: Answer | None = None, judged: bool = False, solved: bool = False
) -> str:
    """Problem i as SVG, 300 px wide or so, as text to put into a page.

    examples: of `lab.tasks.Sraven`, which has `values` values. answer (K,): what to draw into the ninth panel, None for
    what is still open; without it, everything is. judged: mark each value of the answer as right or wrong, and write
    the right one beside a wrong one. solved: write beside every symbol the letter of its feature (`letters`): features
    of one letter, one in each column, follow one rule.

    >>> import torch
    >>> from lab.tasks import Sraven
    >>> task = Sraven(features=2)
    >>> problems = task.sample("test", 5, torch.Generator().manual_seed(0), seed=0)
    >>> drawn = draw(problems, 3, task.values)
    >>> drawn[:4], drawn.count("<circle"), drawn.count(">?<")  # eight panels of two values, and two questions
    ('<svg', 16, 2)
    """
    panels, right = examples.latents["panels"][i].tolist(), examples.targets[i].tolist()
    answer = [None] * len(right) if answer is None else [None if value is None else int(value) for value in answer]
    names = letters(examples, i) if solved else [[""] * len(right)] * COLUMNS
    start = PAD + RADIUS + (LETTER if solved else 0.0)  # of a dial's middle
    width, tall = start + RADIUS + 4 + NUMBER + PAD, len(right) * LINE + PAD
    last = MARK if judged else 0.0
    parts = []
    for row, column in product(range(COLUMNS), repeat=2):
        asked = row == column == COLUMNS - 1
        left, top = column * (width + GAP) + 1, row * (tall + GAP) + 1
        parts.append(_panel(left, top, width + (last if asked else 0.0), tall, asked))
        shown = answer if asked else panels[row][column]
        for place, value in enumerate(shown):
            x, y = left + start, top + PAD / 2 + (place + 0.5) * LINE
            parts.append(_text(left + PAD, y, names[column][place], GREY) if solved else "")
            parts.append(_value(x, y, value, values))
            if asked and judged and value is not None:
                said = ("✓", GREEN) if value == right[place] else (f"✗ {right[place]}", VERMILLION)
                parts.append(_text(x + RADIUS + 4 + NUMBER, y, *said))
    size = 3 * width + 2 * GAP + last + 2, 3 * tall + 2 * GAP + 2
    description = html.escape(f"SRAVEN problem, panels {panels[:2] + [panels[2][:2]]}, answer {answer}")
    return (
        f'<svg viewBox="0 0 {size[0]:g} {size[1]:g}" width="{size[0]:g}" {STYLE}'
        f' style="max-width: 100%; height: auto" aria-label="{description}">{"".join(parts)}</svg>'
    )


def dial(value: int | None, values: int) -> str:
    """One symbol with its number as SVG, for choosing a value; "?" for None.

    >>> dial(3, 8).count("<circle"), dial(None, 8).count("<circle")
    (1, 0)
    """
    side = 2 * RADIUS + 2
    symbol = _value(side / 2, side / 2, value, values)
    return f'<svg viewBox="0 0 {side + NUMBER:g} {side:g}" width="{side + NUMBER:g}" {STYLE}>{symbol}</svg>'


def letters(examples: Examples, i: int) -> list[list[str]]:
    """The feature that each place of each column shows, (3, K), as letters: those of the answer are A, B, … downwards.

    >>> import torch
    >>> from lab.tasks import Sraven
    >>> problems = Sraven().sample("test", 5, torch.Generator().manual_seed(0), seed=0)
    >>> letters(problems, 0)[-1]
    ['A', 'B', 'C', 'D']
    """
    orders = examples.latents["permutations"][i].tolist()
    return [[chr(ord("A") + orders[-1].index(feature)) for feature in order] for order in orders]


def rule_words(examples: Examples, i: int) -> list[str]:
    """The rule of each place of the answer, in words, (K,): its letter, its name, the values of its three rows.

    >>> import torch
    >>> from lab.tasks import Sraven
    >>> problems = Sraven(features=1).make(torch.tensor([[5]]), torch.Generator().manual_seed(0))
    >>> rule_words(problems, 0)
    ['A: addition, 4 0 4; 7 3 2; 5 3 0']
    """
    grid, (*_, last) = examples.latents["grid"][i].tolist(), examples.latents["permutations"][i].tolist()
    rules = examples.latents["answer_rules"][i].tolist()
    rows = ["; ".join(" ".join(str(panel[feature]) for panel in row) for row in grid) for feature in last]
    return [
        f"{chr(ord('A') + place)}: {RULES[rule]}, {row}"
        for place, (rule, row) in enumerate(zip(rules, rows, strict=True))
    ]


def _panel(left: float, top: float, width: float, height: float, asked: bool) -> str:
    dash = ' stroke-dasharray="5 3"' if asked else ""
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="4" fill="none"'
        f' stroke="{"currentColor" if asked else GREY}"{dash}/>'
    )


def _value(x: float, y: float, value: int | None, values: int) -> str:
    if value is None:
        return _text(x - 4, y, "?", "currentColor")
    angle = 2 * math.pi * value / values
    end = f"{x + RADIUS * math.sin(angle):.2f} {y - RADIUS * math.cos(angle):.2f}"
    sector = f"M{x:g} {y:g}V{y - RADIUS:g}A{RADIUS:g} {RADIUS:g} 0 {int(2 * value > values)} 1 {end}Z"
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS:g}" fill="none" stroke="{BLUE}"/>'
        f'<path d="{sector}" fill="{BLUE}" stroke="{BLUE}"/>{_text(x + RADIUS + 5, y, str(value), "currentColor")}'
    )


def _text(x: float, y: float, text: str, ink: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" dominant-baseline="central" fill="{ink}">{text}</text>'


ROW, TOP, BOTTOM = 62, 52, 46  # px: of a feature, above and below all
SHARE = 0.82  # of a row that a bar of probability 1 takes


def frame() -> go.Figure:
    """The picture without data: bars of wrong values, bars of right ones, a mark for what a person says."""
    figure = go.Figure()
    for name, colour in (("model, other values", GREY), ("model, the right value", BLUE)):
        look = {"width": 0.7, "marker": {"color": colour, "line": {"width": 0}}, "showlegend": True}
        hover = "value %{x}: %{customdata:.0%}<extra></extra>"
        figure.add_bar(x=[], y=[], base=[], name=name, hovertemplate=hover, **look)
    mark = {"symbol": "diamond", "size": 11, "color": VERMILLION, "line": {"color": "white", "width": 1}}
    look = {"mode": "markers", "marker": mark, "showlegend": True}
    figure.add_scatter(x=[], y=[], name="you", hovertemplate="you: %{x}<extra></extra>", **look)
    figure.add_annotation(xref="paper", yref="paper", x=0, y=1, xanchor="left", yanchor="bottom", showarrow=False)
    figure.update_layout(
        template=TEMPLATE,
        barmode="overlay",
        margin={"l": 40, "r": 14, "t": TOP, "b": BOTTOM},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 1, "yanchor": "top"},
        xaxis={"title": {"text": "value (height: probability)"}, "dtick": 1, "showgrid": False},
        yaxis={"tickfont": {"size": 14}, "ticks": ""},
    )
    return figure


def refill(
    figure: go.Figure,
    values: int,
    probabilities: np.ndarray | None,
    right: Sequence[int],
    answer: Sequence[int | None],
    note: str = "",
) -> None:
    """Change a `frame` to another problem or answer: a row of bars for each feature, A at the top.

    probabilities: (K, values), or None for no bars. right (K,): the values of the ninth panel. answer (K,): what a
    person says, None for nothing. note: written above the rows.

    >>> figure = frame()
    >>> refill(figure, 4, np.array([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]), right=[3, 0], answer=[0, None])
    >>> figure.data[1].x, figure.data[1].customdata, figure.data[2].x
    ((3, 0), (0.4, 1.0), (0,))
    """
    count = len(right)
    bases = [count - 1 - place for place in range(count)]
    rows = [] if probabilities is None else list(zip(bases, probabilities.tolist(), right, strict=True))
    shown = [(value, base, share, value == true) for base, row, true in rows for value, share in enumerate(row)]
    for bars, true in zip(figure.data, (False, True), strict=False):
        mine = [bar for bar in shown if bar[3] == true]
        bars.x, bars.base = [bar[0] for bar in mine], [bar[1] for bar in mine]
        bars.y, bars.customdata = [SHARE * bar[2] for bar in mine], [bar[2] for bar in mine]
    said = [(value, base + 0.06) for value, base in zip(answer, bases, strict=True) if value is not None]
    figure.data[2].x, figure.data[2].y = [value for value, _ in said], [height for _, height in said]
    figure.layout.annotations[0].text = note
    figure.layout.height = TOP + count * ROW + BOTTOM
    figure.layout.xaxis.range = (-0.6, values - 0.4)
    figure.layout.yaxis.range = (0, count)
    figure.layout.yaxis.tickvals, figure.layout.yaxis.ticktext = bases, [chr(ord("A") + i) for i in range(count)]
