"""Explorers: interactive views of functions, trainings and figures, one a module; `explore` chooses among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from lab.errors import ArgumentError, check_flag, described, shown
from lab.scale import BEST, COMMON, SCALES, check_scale, training_scale
from lab.widgets.source import python_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from lab.widgets.explorer import Explorer


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
    | a Spline, a search's result, a name in the zoo, Figure 6 | SplineExplorer; with `edit` in its editing mode |
    | the name of an algorithmic task, a `lab.Task`, a table or its name, what `lab.train` returned | TrainingExplorer |
    | runs on SRAVEN or fuzzy logic (the first of several) | LatentExplorer |
    | runs on a text, or a dictionary of such runs by name | TextExplorer |
    | Figure 5 or 11 | CompatibilityExplorer |
    | a Sraven, a Logic, an Operation | SravenExplorer, LogicExplorer, GrokkingExplorer |
    | a landscape | LandscapeExplorer |
    | a model of your own, with inputs (N, …) and targets (N,); or inputs=a `lab.Data` | ModelExplorer |
    | what `lab.compare` or another probe returned | its picture, as by `lab.plot` |

    scale: of what is trained; "best", the default, is laptop. Of the models that are asked about a Sraven or a Logic,
    "best" is the largest at which some are here. state: what an explorer's `state` gave, to show it as it was. Raises
    ArgumentError for anything else.

    >>> type(explore("memorize")).__name__
    'TrainingExplorer'
    >>> explore("memorize", state={"seeds": 5}).seeds.value
    5
    """
    explorer = _explorer(x, scale, edit, inputs, targets)
    explorer.source = python_of(x, scale, edit, inputs, targets)
    if state is not None:
        explorer.state = state
    return explorer


def _explorer(x: object, scale: str | None, edit: bool, inputs: object, targets: object) -> Explorer:
    # plotly and ipywidgets take a second to import: only who explores waits for them
    from torch import nn

    from lab import tasks
    from lab.catalogue.figure import Figure
    from lab.catalogue.received_inputs import functions_of
    from lab.comparison import Comparison
    from lab.nonlinearity.spline import Spline
    from lab.nonlinearity.zoo import zoo_names
    from lab.probes.codes import Codes
    from lab.probes.complexity import Complexity
    from lab.probes.cost import Cost
    from lab.probes.decoding import Decoding
    from lab.probes.embedding import Embedding
    from lab.probes.landscape import Landscape
    from lab.probes.similarity import CodeSimilarity
    from lab.probes.slices import Slice1D, Slice2D
    from lab.run import Run, Runs
    from lab.search_results import EpisodeResult, SearchResult
    from lab.tasks import Logic, Operation, Sraven, Task, Text
    from lab.tasks.table import TableTask
    from lab.widgets.compatibility import CompatibilityExplorer
    from lab.widgets.grokking import GrokkingExplorer
    from lab.widgets.landscape import LandscapeExplorer
    from lab.widgets.latent import EXAMPLES, FEW, LatentExplorer
    from lab.widgets.logic import LogicExplorer
    from lab.widgets.spline import SplineExplorer
    from lab.widgets.sraven import SravenExplorer
    from lab.widgets.training import TrainingExplorer

    if isinstance(x, nn.Module) and inputs is not None:
        from lab.widgets.model import ModelExplorer

        return ModelExplorer(x, inputs, targets)
    if isinstance(x, nn.Module) and not isinstance(scale, (str, type(None))):
        raise ArgumentError(f"scale={shown(scale)}: give examples by name, as lab.explore(model, inputs=X, targets=y)")
    # models of these may be of a scale that not all have
    scales = SCALES if isinstance(x, (Sraven, Logic, Run, Runs)) else COMMON
    wanted_scale = check_scale(BEST if scale is None else scale, (*scales, BEST))
    scale, edit = training_scale(wanted_scale), check_flag("edit", edit)
    if isinstance(x, (EpisodeResult, SearchResult)):
        x = x.spline
    if isinstance(x, Spline) or (isinstance(x, str) and x in zoo_names()):
        return SplineExplorer(x, edit=edit, scale=scale)
    if isinstance(x, Figure) and "density" in x.table:
        return SplineExplorer(*functions_of(x.table, f"{x.name}, scale {x.scale}"), edit=edit, scale=scale)
    if edit:
        given = described(x)
        raise ArgumentError(f"edit=True is for functions, and {given} is none; give a lab.Spline or a name in the zoo")
    if isinstance(x, Run):
        x = Runs([x])
    if (isinstance(x, Runs) and len(x) and isinstance(x[0].spec.task, Text)) or _runs_by_name(x):
        from lab.widgets.text import TextExplorer

        return TextExplorer(cast(Any, x))
    if isinstance(x, Runs) and len(x) and isinstance(x[0].spec.task, (Logic, Sraven)):
        return LatentExplorer(x[0], FEW if scale == "smoke" else EXAMPLES)
    if isinstance(x, str) and x not in tasks.NAMES:
        x = _table(x)
    if isinstance(x, Sraven):
        return SravenExplorer(x, wanted_scale)
    if isinstance(x, Logic):
        return LogicExplorer(x, wanted_scale)
    if isinstance(x, Operation):
        return GrokkingExplorer(x, scale)
    if isinstance(x, (Runs, TableTask, Task)) or (isinstance(x, str) and x in tasks.NAMES):
        return TrainingExplorer(x, scale)
    if isinstance(x, Figure) and {"architecture", "part"} <= set(x.table):
        return CompatibilityExplorer(x)
    if isinstance(x, Landscape):
        return LandscapeExplorer(x)
    if isinstance(x, (Comparison, Slice1D, Slice2D, Complexity, Codes, Embedding, Decoding, CodeSimilarity, Cost)):
        from lab.widgets.model import ResultExplorer

        return ResultExplorer(x)
    if isinstance(x, nn.Module):
        raise ArgumentError(
            f"a {type(x).__name__} alone shows nothing; give inputs, as lab.explore(model, inputs=X, targets=y)"
        )
    given = f"the figure {x.name}" if isinstance(x, Figure) else described(x)
    raise ArgumentError(
        f"there is no explorer for {given}; give a lab.Spline, a name in the zoo (lab.zoo() lists them), the name of a "
        f"task ({', '.join(tasks.NAMES)}, a table such as 'ab mod 27'), a lab.Task, a lab.tasks.Logic, Sraven or "
        "Operation, what lab.train, lab.trained, lab.search or probes.landscape returned, or a figure with an explorer "
        "(transformers/fig5, fig6, fig11)"
    )


def _runs_by_name(x: object) -> bool:
    from lab.run import Run

    return isinstance(x, dict) and bool(x) and all(isinstance(run, Run) for run in x.values())


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


def _table(name: str) -> object:
    """The table of this name; the name itself where there is none."""
    from lab.tasks.named import table_named

    try:
        return table_named(name) or name
    except ArgumentError:  # it looks like an operation and is none
        return name
