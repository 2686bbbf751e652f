"""Problems as pictures: a SRAVEN matrix, the table of a binary operation, a fuzzy logic function on a plane."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch

from lab.plots import go, make_subplots
from lab.plots.panels import grid, place_bars, points
from lab.plots.style import BLUE, CELL_INK, FONT, GREEN, GREY, LEGEND_ABOVE, ORANGE, SIZE, SKY, TEMPLATE, VERMILLION
from lab.tasks import Operation
from lab.tasks.sraven import COLUMNS, RULES
from lab.tasks.stream import Examples

RADIUS, LINE = 9.0, 27.0  # px: of a dial, of a row in a panel
PAD, GAP = 8.0, 8.0  # px: inside a panel, between two
LETTER, NUMBER, MARK = 16.0, 22.0, 40.0  # px: room for a feature's letter, a value, a mark in the ninth panel
STYLE = f'xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" font-size="{SIZE}" role="img"'
Answer = Sequence[int | None]


def draw_matrix(
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
    >>> drawn = draw_matrix(problems, 3, task.values)
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


def bars_frame() -> go.Figure:
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
        legend=LEGEND_ABOVE,
        xaxis={"title": {"text": "value (height: probability)"}, "dtick": 1, "showgrid": False},
        yaxis={"tickfont": {"size": 14}, "ticks": ""},
    )
    return figure


def refill_bars(
    figure: go.Figure,
    values: int,
    probabilities: np.ndarray | None,
    right: Sequence[int],
    answer: Sequence[int | None],
    note: str = "",
) -> None:
    """Change a `bars_frame` to another problem or answer: a row of bars for each feature, A at the top.

    probabilities: (K, values), or None for no bars. right (K,): the values of the ninth panel. answer (K,): what a
    person says, None for nothing. note: written above the rows.

    >>> figure = bars_frame()
    >>> refill_bars(figure, 4, np.array([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]), right=[3, 0], answer=[0, None])
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


# By code: asked nothing yet; wrong, right; each for pairs of the test split, then for those of training.
KINDS = (
    ("no answers yet", "#F4F4F4"),
    ("test pair, wrong", VERMILLION),
    ("test pair, right", BLUE),
    ("training pair, wrong", ORANGE),
    ("training pair, right", SKY),
)
TABLE, ANSWERS = 0, 1  # the traces
GREYS = ((0.0, "#000000"), (1.0, "#FFFFFF"))
_HIGH = {"^2": "²", "^3": "³", "^-1": "⁻¹"}


def codes(task: Operation, answers: np.ndarray | None, seed: int = 0) -> np.ndarray:
    """What each cell of the table is, (n, n) int8, as a place in KINDS. answers (n, n): a network's; None: no network.

    Pairs that are neither in training nor in the test split, as those of "val", count as test pairs: the network has
    not seen them.

    >>> task = Operation("a+b", modulus=5)
    >>> np.unique(codes(task, task.table().numpy())).tolist()  # every answer is right
    [2, 4]
    """
    n = task.classes
    if answers is None:
        return np.zeros((n, n), np.int8)
    train = task.split(seed)["train"].latents
    in_training = np.zeros((n, n), bool)
    in_training[train["a"].numpy(), train["b"].numpy()] = True
    return (1 + (answers == task.table().numpy()) + 2 * in_training).astype(np.int8)


def every_pair(task: Operation) -> torch.Tensor:
    """The input of each pair of operands, (n², 2n) float32, in the order of the table."""
    one = torch.eye(task.classes)
    return torch.cat([one.repeat_interleave(task.classes, 0), one.repeat(task.classes, 1)], 1)


def table_frame() -> go.Figure:
    """Two empty images in a row, with a legend of the right one."""
    figure = make_subplots(1, 2, horizontal_spacing=0.1, subplot_titles=("the operation", "answers"))
    steps = [(edge / len(KINDS), ink) for at, (_, ink) in enumerate(KINDS) for edge in (at, at + 1)]
    figure.add_heatmap(
        colorscale=GREYS, showscale=False, hovertemplate="a = %{y}, b = %{x}: %{z}<extra></extra>", row=1, col=1
    )
    scale = {"colorscale": steps, "zmin": -0.5, "zmax": len(KINDS) - 0.5, "showscale": False}
    figure.add_heatmap(hovertemplate="a = %{y}, b = %{x}: answer %{text}<extra></extra>", row=1, col=2, **scale)
    for name, ink in KINDS[1:]:
        points(figure, [None], [None], ink, (1, 2), 11, "square", name=name, hoverinfo="skip")
    plain = {"showticklabels": False, "ticks": "", "showgrid": False, "showline": False, "constrain": "domain"}
    figure.update_xaxes(title={"text": "b", "standoff": 2}, **plain)
    figure.update_yaxes(autorange="reversed", constraintoward="top", **plain)
    figure.update_yaxes(title={"text": "a", "standoff": 2}, scaleanchor="x", col=1)
    figure.update_yaxes(scaleanchor="x2", col=2)
    figure.update_layout(
        template=TEMPLATE,
        height=360,
        margin={"l": 24, "r": 14, "t": 26, "b": 80},
        legend={"yref": "container", "y": 0.01, "yanchor": "bottom", "x": 0},
    )
    return figure


def fill_table(figure: go.Figure, task: Operation) -> None:
    """Another operation on the left; nothing on the right."""
    figure.data[TABLE].z = task.table().numpy().astype(np.int16)
    figure.layout.annotations[TABLE].text = operation_title(task.name)
    fill_answers(figure, task, None)


def fill_answers(figure: go.Figure, task: Operation, answers: np.ndarray | None, step: int = 0) -> None:
    """What a network answers (n, n) after this step."""
    trace = figure.data[ANSWERS]
    trace.z = codes(task, answers)
    trace.text = None if answers is None else answers
    figure.layout.annotations[ANSWERS].text = "answers" if answers is None else f"answers at step {step:,}"


def operation_title(name: str) -> str:
    """The name of an operation as figures spell it: powers are high, the ring or group is in brackets.

    >>> operation_title("a^3+ab mod 53")
    'a³+ab (mod 53)'
    >>> operation_title("aba^-1 in S4")
    'aba⁻¹ (in S4)'
    """
    for plain, high in _HIGH.items():
        name = name.replace(plain, high)
    where = " mod " if " mod " in name else " in "
    form, ring = name.rsplit(where, 1)
    return f"{form} ({where.strip()} {ring})"


def operation_titles(names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Titles of operations by name, and their ring or group, which titles leave out where it is one for all; else "".

    >>> operation_titles(["a+b mod 27", "ab mod 27"]), operation_titles(["ab mod 27", "ab in S4"])[1]
    (({'a+b mod 27': 'a+b', 'ab mod 27': 'ab'}, 'mod 27'), '')
    """
    titles = {name: operation_title(name) for name in names}
    rings = {title.partition(" (")[2].rstrip(")") for title in titles.values()}
    if len(rings) != 1:
        return titles, ""
    return {name: title.partition(" (")[0] for name, title in titles.items()}, rings.pop()


TITLES = ("the function", "the model")


def planes_frame() -> go.Figure:
    """Two empty planes with one scale of colours: the function, the model; on each, the examples in context."""
    figure = grid(TITLES, 2, height=250, top=40, share_y=False)
    hover = "%{x:.2f}, %{y:.2f}: %{z:.2f}<extra></extra>"
    for column in (1, 2):
        figure.add_heatmap(x=[], y=[], z=[], coloraxis="coloraxis", hovertemplate=hover, row=1, col=column)
    dots: dict[str, Any] = {"marker": {"size": 8, "coloraxis": "coloraxis", "line": {"width": 1.2, "color": CELL_INK}}}
    dots["hovertemplate"] = "example in context: %{marker.color:.2f}<extra></extra>"
    for column in (1, 2):
        figure.add_scatter(x=[], y=[], mode="markers", showlegend=False, row=1, col=column, **dots)
    place_bars(figure, ["truth value"])
    figure.update_layout(coloraxis={"cmin": 0, "cmax": 1})
    figure.add_annotation(xref="x2 domain", yref="y2 domain", x=0.5, y=0.5, showarrow=False)
    return figure


def refill_planes(
    figure: go.Figure,
    axes: tuple[str, str],
    ticks: np.ndarray,
    truth: np.ndarray,
    model: np.ndarray | None,
    points: np.ndarray,
    values: Sequence[float],
    note: str = "",
) -> None:
    """Change a `planes_frame` to another function or model.

    axes: names of the two variables. ticks (n,). truth, model (n, n): row is the second variable; None for a model that
    is not there. points (examples, 2), values (examples,): those in context.

    >>> figure = planes_frame()
    >>> plane = np.array([[0.0, 0.5], [0.5, 1.0]])
    >>> refill_planes(figure, ("x1", "x2"), np.array([0, 1]), plane, plane / 2, np.array([[0.2, 0.3]]), [0.4])
    >>> figure.data[1].z.max(), figure.data[2].marker.color
    (np.float64(0.5), (0.4,))
    """
    nothing = np.empty((0, 0))  # not NaN, which JSON has no word for
    for plane, z in zip(figure.data[:2], (truth, nothing if model is None else model), strict=True):
        plane.x, plane.y, plane.z = ticks, ticks, z
    for dots in figure.data[2:]:
        dots.x, dots.y, dots.marker.color = points[:, 0], points[:, 1], list(values)
    for axis in (figure.layout.xaxis, figure.layout.xaxis2):
        axis.title.text = axes[0]
    figure.layout.yaxis.title.text = axes[1]
    figure.layout.annotations[-1].text = note
