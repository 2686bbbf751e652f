"""A binary operation as a table, beside the answers of a network: which cells it has right, and which it trained on."""

from __future__ import annotations

import numpy as np
import torch

from lab.plots import go, make_subplots
from lab.plots.lines import points
from lab.plots.style import BLUE, ORANGE, SKY, TEMPLATE, VERMILLION
from lab.tasks import Operation

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


def frame() -> go.Figure:
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
