"""Explorers: interactive views of functions, trainings and figures, one a module; `explore` chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from lab.widgets.explorer import Explorer
    from lab.widgets.function_view import Playground
    from lab.widgets.grokking import GrokkingExplorer
    from lab.widgets.slices import SliceExplorer
    from lab.widgets.text import PairsExplorer

__all__ = ["GrokkingExplorer", "PairsExplorer", "Playground", "SliceExplorer", "explore", "plot"]
_HOMES = {  # explorers of what is no one thing that `explore` could be given; imported when they are asked for
    "GrokkingExplorer": "grokking",
    "PairsExplorer": "text",
    "Playground": "function_view",
    "SliceExplorer": "slices",
}


def __getattr__(name: str) -> object:
    """One of these explorers."""
    if name in _HOMES:
        return getattr(import_module(f"lab.widgets.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'lab.widgets' has no attribute {name!r}")


def explore(
    x: object,
    scale: str | None = None,
    edit: bool = False,
    inputs: object = None,
    targets: object = None,
    state: Mapping[str, Any] | None = None,
) -> Explorer:
    """The explorer that fits an object: an interactive view in a notebook, which `.save(path)` writes as one HTML page.

    | x | explorer |
    |---|---|
    | a function: a Spline, a search's result, a name (of the zoo, 'mish'); a figure of functions | SplineExplorer |
    | a figure of tasks by architectures (transformers/fig5, fig11) | CompatibilityExplorer |
    | a figure of SRAVEN, fuzzy logic, an operation or an algorithmic task | that of the task |
    | the name of an algorithmic task, a `lab.Task`, a table or its name, what `lab.train` returned | TrainingExplorer |
    | a Sraven, a Logic, an Operation | SravenExplorer, LogicExplorer, GrokkingExplorer |
    | functions by name: {'GELU': 'gelu', 'learned': phi} | SplineExplorer: over each other |
    | runs on SRAVEN or fuzzy logic (the first of several) | LatentExplorer |
    | a run that kept checkpoints, whose function learns (mlp="xielu") | SplineExplorer: how it comes about |
    | runs on a table that kept checkpoints, also by name | SliceExplorer: one plane, a slider over the steps |
    | runs on a text; on a masked text; also by name in a dictionary | TextExplorer; PairsExplorer |
    | other runs by name in a dictionary | ResultExplorer: their learning curves |
    | a `lab.Data` | DataExplorer: columns, splits, targets, what was left out |
    | a landscape | LandscapeExplorer |
    | what `probes.connectivity` returned | ConnectivityExplorer: a slider along the path between models |
    | a model of your own, with inputs (N, …) and targets (N,); or inputs=a `lab.Data` | ModelExplorer |
    | what `lab.compare` or another probe returned | ResultExplorer: its picture, as by `lab.plot` |
    | two runs on SRAVEN or fuzzy logic, landscapes, models, data or results by name | PairExplorer: side by side |

    Of searches and runs that kept checkpoints (`lab.train(…, keep=20)`) explorers have a slider over the steps.

    scale: of what is trained; "best", the default, is laptop. Of the models that are asked about a Sraven or a Logic,
    "best" is the largest at which some are here. edit: begin by editing the function. state: what an explorer's `state`
    gave, to show it as it was. Raises ArgumentError for anything else, and for an argument without a meaning for x.

    >>> type(explore("memorize")).__name__
    'TrainingExplorer'
    >>> explore("memorize", state={"seeds": 5}).seeds.value
    5
    """
    from lab.widgets.explorable import explorer_of, python_of

    explorer = explorer_of(x, scale, edit, inputs, targets)
    explorer.source = partial(python_of, x, scale, edit, inputs, targets)
    if state is not None:
        explorer.state = state
    return explorer


def plot(result: object, labels: object = None) -> go.Figure:
    """The picture of a result as a Plotly figure: of a function, of what `lab.search`, `lab.train` (learning curves),
    `lab.compare` or a probe returned.

    labels: (examples,), for an embedding: the colours of its points. Raises ArgumentError for what has no picture.

    >>> from lab.nonlinearity.spline import Spline
    >>> plot(Spline([0.0, 1.0, 0.0], low=-1.0, high=1.0)).data[0].y.tolist()
    [0.0, 1.0, 0.0]
    """
    from lab.plots.page import Plot
    from lab.widgets.drawing import draw

    return Plot(draw(result, labels))
