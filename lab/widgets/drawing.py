"""The picture of a result, whatever it is: the very drawings that figures and explorers use."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from lab.catalogue.figure import Figure
from lab.comparison import Comparison
from lab.errors import ArgumentError, described
from lab.nonlinearity.activations import is_activation
from lab.nonlinearity.part import as_function, as_module
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import Spline, Symmetrized
from lab.plots import cost, functions, landscape, learning_curves, portrait, similarity, slices
from lab.plots.caption import plain, set_reading
from lab.plots.style import BLUE, GREY, TEMPLATE, VERMILLION
from lab.probes.codes import Codes
from lab.probes.complexity import Complexity
from lab.probes.cost import Cost
from lab.probes.decoding import Decoding
from lab.probes.embedding import Embedding, embed
from lab.probes.landscape import Landscape
from lab.probes.portrait import Portrait
from lab.probes.profile import Profile, profile
from lab.probes.similarity import CodeSimilarity
from lab.probes.slices import Slice1D, Slice2D
from lab.run import Run, Runs
from lab.search_results import LearnedFunctions
from lab.widgets import views

NEAR = 5.0  # a function without a range of its own is drawn on [-5, 5]
KINDS = (
    "a function or its name, what lab.search, lab.train or lab.compare returned, runs by name in a dictionary, or what "
    "a probe did: a landscape, a slice, a total variation, latent codes, an embedding, a decoding, a similarity of "
    "codes, a cost, a portrait"
)


@singledispatch
def draw(result: Any, labels: Any = None) -> go.Figure:
    """The picture of a result. labels: of the points of an embedding."""
    if isinstance(result, str):
        phi = as_function(result, "result")
        return draw(profile(as_module(phi), -NEAR, NEAR) if isinstance(phi, str) else phi)
    if callable(result) and (is_activation(result) or _is_of_torch(result)):
        return draw(profile(result, -NEAR, NEAR))
    raise ArgumentError(f"there is no picture of {described(result)}; give {KINDS}")


def _is_of_torch(given: Any) -> bool:
    """torch.sin and its like."""
    return callable(given) and getattr(torch, getattr(given, "__name__", ""), None) is given


@draw.register(Figure)
def _(result: Figure, labels: Any = None) -> go.Figure:
    return result.plot


@draw.register(go.Figure)
def _(result: go.Figure, labels: Any = None) -> go.Figure:
    """A figure of Plotly as it is, with the lab's look where it has none of its own."""
    return go.Figure(result).update_layout(template=TEMPLATE)


@draw.register(pd.DataFrame)
def _(result: pd.DataFrame, labels: Any = None) -> go.Figure:
    """Learning curves, as `lab.fit` gives them, of one or more methods."""
    metric = next((name for name in ("accuracy", "r2", "loss") if name in result), None)
    if metric is None or not {"seed", "step"} <= set(result):
        raise ArgumentError(
            f"a table is drawn where it has seed, step and accuracy, r2 or loss; it has {', '.join(map(str, result))}"
        )
    name = result["method"] if "method" in result else ""
    return functions.compared(result.assign(function=name, search=0), metric, "test")


@draw.register(Comparison)
def _(result: Comparison, labels: Any = None) -> go.Figure:
    return result.plot()


@draw.register(Runs)
@draw.register(Run)
def _(result: Runs | Run, labels: Any = None) -> go.Figure:
    """Learning curves: of each run, and their mean."""
    runs = [result] if isinstance(result, Run) else list(result)
    if not runs:
        raise ArgumentError("there are no runs; give one or more, as lab.train gives")
    metric, split = _metric_of(runs[0])
    rows = [
        {"run": f"{number}: seed {run.spec.seed}", "step": step, metric: value, "training": loss}
        for number, run in enumerate(runs)
        for step, value, loss in zip(run.steps, run.score(metric, split), run.loss, strict=True)
    ]
    return learning_curves.draw(pd.DataFrame(rows), metric, split)


@draw.register(dict)
def _(result: dict, labels: Any = None) -> go.Figure:
    """Learning curves of runs by name: of each name the mean over its runs, and their ends."""
    runs = {str(name): [given] if isinstance(given, Run) else given for name, given in result.items()}
    if not runs or not all(isinstance(given, (list, Runs)) and len(given) for given in runs.values()):
        raise ArgumentError("a dictionary is drawn where it has runs by name, as {'GELU': lab.train('copy')}")
    first = next(iter(runs.values()))[0]
    metric, split = _metric_of(first)
    rows = [
        {"function": name, "search": 0, "seed": number, "step": step, metric: value}
        for name, several in runs.items()
        for number, run in enumerate(several)
        for step, value in zip(run.steps, run.score(metric, split), strict=True)
    ]
    tasks = {run.spec.task_name for several in runs.values() for run in several}
    if len(tasks) > 1:
        raise ArgumentError(f"the runs are of several tasks ({', '.join(sorted(tasks))}); give those of one")
    return functions.compared(pd.DataFrame(rows), metric, split)


def _metric_of(run: Run) -> tuple[str, str]:
    """What is drawn of a run: the accuracy or R² where it has one, on the split that it was evaluated on."""
    split = run.spec.evaluate[0]
    measured = [name.removesuffix(f"_{split}") for name in run.scores if name.endswith(f"_{split}")]
    return next((name for name in ("accuracy", "r2") if name in measured), measured[0]), split


@draw.register(LearnedFunctions)
def _(result: LearnedFunctions, labels: Any = None) -> go.Figure:
    return draw(result.spline)


@draw.register(Symmetrized)
def _(result: Symmetrized, labels: Any = None) -> go.Figure:
    return draw(result.spline)


@draw.register(Spline)
@draw.register(Polynomial)
def _(result: Spline | Polynomial, labels: Any = None) -> go.Figure:
    return draw(profile(result, result.low, result.high))


@draw.register(Profile)
def _(result: Profile, labels: Any = None) -> go.Figure:
    figure, (low, high) = functions.frame([]), result.support()
    half = 0.6 * (high - low) or (result.high - result.low) / 2
    functions.fill(figure, "φ", result, None, result.high - result.low)
    functions.panels(figure, slope=True, inputs=False)
    functions.look(figure, result, half + abs((low + high - result.low - result.high) / 2))
    return figure.update_layout(height=380, showlegend=False)


@draw.register(Landscape)
def _(result: Landscape, labels: Any = None) -> go.Figure:
    figure, names = landscape.flat(), list(result.values)[:2]
    for side, name in enumerate(names):
        landscape.fill(figure, side, result, name, False, (0.0, 0.0))
        landscape.traces(figure, side)[landscape.CHOSEN].visible = False
    if len(names) == 1:  # one panel, as wide as both
        figure.data = figure.data[:4]
        figure.layout.xaxis.domain, figure.layout.annotations[0].x = (0.0, 1.0), 0.5
        figure.data[landscape.GROUND].colorbar.update(x=0.5, len=1)
        figure.layout.xaxis2 = figure.layout.yaxis2 = None
        figure.layout.annotations = figure.layout.annotations[:1]
    if result.notes:
        set_reading(figure, *(f"Note: {note}." for note in result.notes))
    return figure


@draw.register(Slice1D)
def _(result: Slice1D, labels: Any = None) -> go.Figure:
    figure = go.Figure()
    for number, values in enumerate(np.atleast_2d(result.values.T)):
        figure.add_scatter(x=result.along, y=values, mode="lines", name=f"output {number}")
    figure.update_layout(template=TEMPLATE, height=320, showlegend=result.values.ndim > 1)
    figure.update_xaxes(title_text="λ: from a (0) to b (1)")
    return figure.update_yaxes(title_text="value of the function")


@draw.register(Slice2D)
def _(result: Slice2D, labels: Any = None) -> go.Figure:
    outputs = 1 if result.values.ndim == 2 else result.values.shape[-1]
    figure = slices.frame([f"output {number}" if outputs > 1 else "" for number in range(outputs)])
    for number in range(outputs):
        slices.fill(figure, number, result, number, np.full(2, np.nan), ("λ, or the first input", "μ, or the second"))
    return figure


@draw.register(Complexity)
def _(result: Complexity, labels: Any = None) -> go.Figure:
    figure = go.Figure(go.Histogram(x=result.paths, marker={"color": GREY}, name="paths", nbinsx=40))
    figure.add_vrect(result.low, result.high, fillcolor=BLUE, opacity=0.25, line_width=0)
    figure.add_vline(result.value, line={"color": VERMILLION, "width": 2})
    figure.update_layout(template=TEMPLATE, height=300, bargap=0.02)
    mean = f"mean {result.value:.4g} [{result.low:.4g}, {result.high:.4g}]"
    figure.update_xaxes(title_text=f"complexity of a path; {mean}")
    return figure.update_yaxes(title_text="paths")


@draw.register(Embedding)
def _(result: Embedding, labels: Any = None) -> go.Figure:
    count = len(result.points)
    shown = np.zeros(count) if labels is None else np.asarray(labels)
    if shown.shape != (count,):
        raise ArgumentError(f"labels has shape {shown.shape}; give one for each of {count} points")
    shown = shown if shown.dtype.kind == "f" else np.array([plain(label) for label in shown])
    figure = views.map_frame([f"{number}: {label}" for number, label in enumerate(shown)])
    views.fill_map(figure, result.points, result.trustworthiness, result.method, f"{count} points")
    if labels is not None:
        views.colour_map(figure, shown, "label")
    return figure


@draw.register(Codes)
def _(result: Codes, labels: Any = None) -> go.Figure:
    """Their two largest principal components, coloured by the first ground truth that they come with."""
    known = [latent for latent in result.latents.values() if latent.ndim == 1]
    return draw(embed(result, "pca"), known[0] if labels is None and known else labels)


@draw.register(Decoding)
def _(result: Decoding, labels: Any = None) -> go.Figure:
    figure = views.bars_frame()
    views.fill_bars(figure, result, [plain(name) for name in result.classes], "labels")
    return figure


@draw.register(CodeSimilarity)
def _(result: CodeSimilarity, labels: Any = None) -> go.Figure:
    names = [plain(name) for name in result.labels]
    cells = [
        {"method": "", "seed": 0, "a": a, "b": b}
        | {name: getattr(result, name)[i, j] for name in ("similarity", "pairs", "pairs_std")}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]
    return similarity.matrices(pd.DataFrame(cells), "label")


@draw.register(Cost)
def _(result: Cost, labels: Any = None) -> go.Figure:
    return cost.draw_costs(cost.costs(result, result.names[0]))


@draw.register(Portrait)
def _(result: Portrait, labels: Any = None) -> go.Figure:
    figure = portrait.frame()
    portrait.fill_network(figure, 1, result)
    return figure
