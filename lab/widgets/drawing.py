"""The picture of a result, whatever it is: the very drawings that figures and explorers use."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from lab.catalogue.figure import Figure
from lab.comparison import Comparison
from lab.errors import ArgumentError, described
from lab.nonlinearity.activations import is_activation
from lab.nonlinearity.part import as_module
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import Spline, Symmetrized
from lab.plots import functions, landscape, learning_curves, make_subplots, similarity
from lab.plots.caption import plain
from lab.plots.latent_codes import CONTROLS, NAMES, in_order, look
from lab.plots.learning_curves import draw_costs
from lab.plots.page import Plot
from lab.plots.panels import place
from lab.plots.style import BLACK, BLUE, GREY, LEGEND_ABOVE, SEQUENTIAL, SIZE, SKY, TEMPLATE, VERMILLION
from lab.probes.calling import Slice1D, Slice2D
from lab.probes.codes import Codes
from lab.probes.complexity import Complexity
from lab.probes.connectivity import Connectivity
from lab.probes.cost import Cost
from lab.probes.decoding import Contrast, Decoding
from lab.probes.embedding import CodeSimilarity, Embedding, embed
from lab.probes.landscape import Landscape
from lab.probes.language import MinimalPairs, TokenLosses
from lab.probes.profile import Portrait, Profile, Received, profile
from lab.probes.spectrum import Spectrum
from lab.run import Run, Runs, warn_of_revisions
from lab.search_results import LearnedFunctions

HEIGHT = 470  # px
TITLE = {"font": {"size": SIZE}, "x": 0.02, "y": 0.97, "yanchor": "top"}
# where a legend is
BELOW = {"yref": "container", "y": 0.01, "yanchor": "bottom", "x": 0, "font": {"size": SIZE - 1}}
LISTED = 24  # labels in a legend; where there are more, pointing at a point tells its own
NEAR = 5.0  # a function without a range of its own is drawn on [-5, 5]
KINDS = (
    "a function or its name, what lab.search, lab.train or lab.compare returned, runs by name in a dictionary, or what "
    "a probe did: a landscape, a slice, a total variation, latent codes, an embedding, a decoding, a similarity of "
    "codes, a contrast, a cost, a portrait, losses of tokens, minimal pairs, the inputs of a function, "
    "a spectrum, a connectivity"
)


def _plotly(result: go.Figure) -> go.Figure:
    """A figure of Plotly as it is, with the lab's look where it has none of its own."""
    return go.Figure(result).update_layout(template=TEMPLATE)


def _table(result: pd.DataFrame) -> go.Figure:
    """Learning curves, as `lab.fit` gives them, of one or more methods."""
    metric = next((name for name in ("accuracy", "r2", "loss") if name in result), None)
    if metric is None or not {"seed", "step"} <= set(result):
        raise ArgumentError(
            f"a table is drawn where it has seed, step and accuracy, r2 or loss; it has {', '.join(map(str, result))}"
        )
    name = result["method"] if "method" in result else ""
    return learning_curves.compared(result.assign(function=name, search=0), metric, "test")


def _runs(result: Runs | Run) -> go.Figure:
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


def _runs_by_name(result: dict) -> go.Figure:
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
    warn_of_revisions(run for several in runs.values() for run in several)
    return learning_curves.compared(pd.DataFrame(rows), metric, split)


def _metric_of(run: Run) -> tuple[str, str]:
    """What is drawn of a run, and the split that it was evaluated on."""
    split = run.spec.evaluate[0]
    return metric_of(run.scores, split), split


def metric_of(scores: Iterable[str], split: str) -> str:
    """What is drawn of scores on a split: the accuracy or R², where it is among them.

    >>> metric_of(["loss_test", "r2_test"], "test")
    'r2'
    """
    measured = [name.removesuffix(f"_{split}") for name in scores if name.endswith(f"_{split}")]
    return next((name for name in ("accuracy", "r2") if name in measured), measured[0])


def _line(result: Slice1D) -> go.Figure:
    figure = go.Figure()
    for number, values in enumerate(np.atleast_2d(result.values.T)):
        figure.add_scatter(x=result.along, y=values, mode="lines", name=f"output {number}")
    figure.update_layout(template=TEMPLATE, height=320, showlegend=result.values.ndim > 1)
    figure.update_xaxes(title_text="λ: from a (0) to b (1)")
    return figure.update_yaxes(title_text="value of the function")


def _planes(result: Slice2D) -> go.Figure:
    """Each output in shades of grey, from its lowest to its highest value, as in the simplicity paper's Figure 7c."""
    values = result.values[..., None] if result.values.ndim == 2 else result.values
    outputs = values.shape[-1]
    titles = [f"output {number}" if outputs > 1 else "" for number in range(outputs)]
    columns = min(outputs, 3)
    rows = -(-outputs // columns)
    height, gaps = 270 * rows + 24, {"horizontal_spacing": 0.24 / columns}
    figure = make_subplots(rows, columns, subplot_titles=titles, vertical_spacing=72 / height, **gaps)
    for number in range(outputs):
        row, column = place(number, columns)
        shades = go.Heatmap(x=result.x, y=result.y, z=values[..., number], colorscale="Greys_r", zsmooth="best")
        shades.update(showscale=False, hovertemplate="%{z:.4g}<extra></extra>")
        figure.add_trace(shades, row, column)
    figure.update_layout(template=TEMPLATE, height=height, showlegend=False, margin={"t": 28, "l": 50, "r": 10})
    figure.update_annotations(font={"size": 13})
    frame = {"showgrid": False, "mirror": True}  # white is a value, too
    figure.update_xaxes(nticks=4, title_text="λ, or the first input", range=[result.x[0], result.x[-1]], **frame)
    figure.update_yaxes(nticks=5, title_standoff=2, range=[result.y[0], result.y[-1]], **frame)
    return figure.update_yaxes(title_text="μ, or the second", col=1)


def _paths(result: Complexity) -> go.Figure:
    counts, edges = np.histogram(result.paths[np.isfinite(result.paths)], bins=40)
    figure = go.Figure(go.Bar(x=(edges[1:] + edges[:-1]) / 2, y=counts, marker={"color": GREY}, name="paths"))
    figure.add_vrect(result.low, result.high, fillcolor=BLUE, opacity=0.25, line_width=0)
    figure.add_vline(result.value, line={"color": VERMILLION, "width": 2})
    figure.update_layout(template=TEMPLATE, height=300, bargap=0.02)
    mean = f"mean {result.value:.4g} [{result.low:.4g}, {result.high:.4g}]"
    figure.update_xaxes(title_text=f"{result.measure} of a path; {mean}")
    return figure.update_yaxes(title_text="paths")


def _way(result: Connectivity) -> go.Figure:
    """Each measure between the models, of each pair and in the mean: as they are and matched."""
    names = list(result.values)
    figure = make_subplots(1, len(names), subplot_titles=names)
    for name, values, colour in (("as they are", result.values, GREY), ("units matched", result.matched, BLUE)):
        if values is None:
            continue
        for column, measure in enumerate(names, 1):
            each, at = values[measure], {"row": 1, "col": column}
            quiet: dict[str, Any] = {"mode": "lines", "legendgroup": name}
            for way in each if len(each) > 1 else ():
                thin = {"color": colour, "width": 0.7}
                figure.add_scatter(x=result.along, y=way, line=thin, opacity=0.5, showlegend=False, **quiet, **at)
            mean = {"y": each.mean(0), "line": {"color": colour, "width": 2.5}, "showlegend": column == 1}
            figure.add_scatter(x=result.along, name=name, **mean, **quiet, **at)
    figure.update_layout(template=TEMPLATE, height=320, legend=LEGEND_ABOVE, margin={"t": 56})
    return figure.update_xaxes(title_text="from a (0) to b (1)")


def _spectrum(result: Spectrum) -> go.Figure:
    """The density of all eigenvalues, of each model, and the leading ones below it."""
    figure, models = go.Figure(), zip(np.atleast_2d(result.density), np.atleast_2d(result.eigenvalues), strict=True)
    for number, (density, values) in enumerate(models):
        shown = {"legendgroup": str(number), "showlegend": number == 0, "line": {"color": BLUE}}
        visible = np.where(density > 1e-6 * density.max(), density, np.nan)
        figure.add_scatter(x=result.x, y=visible, mode="lines", name="density", **shown)
        marker = {"color": VERMILLION, "symbol": "line-ns-open", "size": 12}
        low, leading = np.full(len(values), np.nanmin(visible)), {"legendgroup": "leading", "showlegend": number == 0}
        figure.add_scatter(x=values, y=low, mode="markers", marker=marker, name="leading eigenvalues", **leading)
    figure.update_layout(template=TEMPLATE, height=320, legend=LEGEND_ABOVE, margin={"t": 40})
    figure.update_xaxes(title_text="eigenvalue of the Hessian")
    return figure.update_yaxes(title_text="density", type="log", exponentformat="power")


def _map(result: Embedding, labels: Any = None) -> go.Figure:
    count = len(result.points)
    shown = np.zeros(count) if labels is None else np.asarray(labels)
    if shown.shape != (count,):
        raise ArgumentError(f"labels has shape {shown.shape}; give one for each of {count} points")
    shown = shown if shown.dtype.kind == "f" else np.array([plain(label) for label in shown])
    names = [str(label) for label in in_order(np.unique(shown))] if shown.dtype.kind == "U" else []
    looks = look(names)
    marker: dict[str, Any] = {"size": 6, "opacity": 0.8}
    if names:
        marker["color"], marker["symbol"] = zip(*(looks[label] for label in shown), strict=True)
    elif labels is not None:
        bar = {"orientation": "h", "thickness": 10, "len": 0.8, "y": -0.04, "yanchor": "top"}
        bar["title"] = {"side": "top", "text": "label"}
        marker |= {"color": shown, "colorscale": SEQUENTIAL, "colorbar": bar, "showscale": True}
    figure = go.Figure()
    words = {"text": [f"{number}: {label}" for number, label in enumerate(shown)], "showlegend": False}
    x, y = result.points.T
    figure.add_scatter(x=x, y=y, mode="markers", marker=marker, hovertemplate="%{text}<extra></extra>", **words)
    for name in names if len(names) <= LISTED else []:
        mark = {"size": 8, "color": looks[name][0], "symbol": looks[name][1]}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=mark, name=name, hoverinfo="skip")
    span = np.where(np.ptp(result.points, axis=0) > 0, np.ptp(result.points, axis=0), 1.0)
    low, high = result.points.min(0) - 0.06 * span, result.points.max(0) + 0.06 * span
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"l": 10, "r": 10, "t": 56, "b": 130},
        title=TITLE | {"text": f"{NAMES[result.method]} of codes, {count} points<br>{trusted(result.trustworthiness)}"},
        legend=BELOW | {"itemclick": False, "itemdoubleclick": False},
        showlegend=bool(names),
    )
    for axis, *ends in zip((figure.layout.xaxis, figure.layout.yaxis), low, high, strict=True):
        axis.update(showticklabels=False, ticks="", showgrid=False, mirror=True, range=ends)
    return figure


def trusted(trust: float) -> str:
    """A trustworthiness in words; NaN where all codes are the same."""
    words = f"trustworthiness {trust:.2f}: how far neighbours here are neighbours among the codes"
    return words if trust == trust else "all problems have one code here"


def _codes(result: Codes, labels: Any = None) -> go.Figure:
    """Their two largest principal components, coloured by the first ground truth that they come with."""
    known = [latent for latent in result.latents.values() if latent.ndim == 1]
    return _map(embed(result, "pca"), known[0] if labels is None and known else labels)


def _bars(result: Decoding) -> go.Figure:
    figure = bars_frame()
    fill_bars(figure, result, [plain(name) for name in result.classes], "labels")
    return figure


def _similarity(result: CodeSimilarity) -> go.Figure:
    names = [plain(name) for name in result.labels]
    cells = [
        {"method": "", "seed": 0, "a": a, "b": b}
        | {name: getattr(result, name)[i, j] for name in ("similarity", "pairs", "pairs_std")}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]
    return similarity.matrices(pd.DataFrame(cells), "label")


def _portrait(result: Portrait) -> go.Figure:
    figure = functions.portrait_frame()
    functions.fill_network(figure, 1, result)
    return figure


def _columns(names: Sequence[str], heights: Mapping[str, Sequence[float] | np.ndarray], x: str, y: str) -> go.Figure:
    """Bars beside each other: by the name of a series a height for each of the names."""
    figure = go.Figure([go.Bar(x=np.arange(len(names)), y=values, name=name) for name, values in heights.items()])
    figure.update_layout(template=TEMPLATE, height=320, showlegend=len(heights) > 1, bargap=0.15)
    figure.update_traces(customdata=list(names), hovertemplate="%{customdata}: %{y:.3g}<extra></extra>")
    figure.update_xaxes(title_text=x, tickvals=np.arange(len(names)), ticktext=list(names), tickangle=-45)
    return figure.update_yaxes(title_text=y)


def _contrast(result: Contrast) -> go.Figure:
    shares = {"A": 100 * result.share_a, "B": 100 * result.share_b}
    words = f"trait; a decoder tells A from B in {100 * float(result.decoding.accuracy.value):.0f} % of examples"
    return _columns(
        [str(trait) for trait in range(len(result.share_a))], shares, words, "examples that have the trait (%)"
    )


def _pairs(result: MinimalPairs) -> go.Figure:
    accuracy = {"accuracy": [100 * float(right.mean()) for right in result.paradigms.values()]}
    title = f"paradigm; mean of the year {100 * float(result.mean.mean()):.1f} %"
    return _columns(list(result.paradigms), accuracy, title, "right pairs (%)")


def _received(result: Received) -> go.Figure:
    figure = go.Figure(go.Bar(x=result.x, y=100 * result.share, marker={"color": GREY}))
    figure.update_layout(template=TEMPLATE, height=300, bargap=0)
    figure.update_xaxes(title_text=f"input of the function: {result.source}")
    return figure.update_yaxes(title_text="share of inputs (%)")


def bars_frame() -> go.Figure:
    """Bars of a decoder's scores, without scores."""
    figure = go.Figure()
    look = {"marker": {"color": SKY}, "error_x": {"thickness": 1.2, "width": 3, "color": BLACK}}
    figure.add_bar(x=[], y=[], orientation="h", name="F1", hovertemplate="%{y}: F1 %{x:.0f} %<extra></extra>", **look)
    symbols = {"chance": ("line-ns-open", BLACK), "shuffled": ("diamond-open", VERMILLION)}
    for control, (symbol, ink) in symbols.items():
        name = CONTROLS[control][0]
        marker = {"symbol": symbol, "color": ink, "size": 9, "line": {"width": 2}}
        hover = f"%{{y}}, {name}: %{{x:.0f}} %<extra></extra>"
        figure.add_scatter(x=[], y=[], mode="markers", name=name, hovertemplate=hover, marker=marker)
    figure.update_layout(
        template=TEMPLATE,
        height=HEIGHT,
        margin={"l": 112, "r": 14, "t": 56, "b": 110},
        title=TITLE,
        legend=BELOW | {"xref": "container"},
        xaxis={"title": {"text": "F1 (%)"}, "range": (0, 103)},
        yaxis={"autorange": "reversed", "type": "category", "showgrid": False},
    )
    figure.add_annotation(x=0.5, y=0.5, xref="paper", yref="paper", text="", align="left")
    return figure


def fill_bars(figure: go.Figure, decoding: Decoding | str, names: Sequence[str], what: str) -> None:
    """decoding: a decoder's scores, or why there are none; names: of its classes; what is decoded."""
    bar, chance, shuffled = figure.data
    if isinstance(decoding, str):
        for trace in figure.data:
            trace.x, trace.y = [], []
        figure.layout.annotations[0].text = "<br>".join(textwrap.wrap(decoding, 44))
        figure.layout.title.text = f"Decoding the {what}"
        return
    score = decoding.f1
    each_its_own = decoding.groups == (decoding.train.sum(), decoding.test.sum())
    tested = "examples" if each_its_own else "combinations"
    bar.name, figure.layout.xaxis.title.text = f"F1, 95 % interval over {tested}", f"F1 on unseen {tested} (%)"
    percent = [100 * np.nan_to_num(values) for values in (score.value, score.low, score.high)]
    bar.x, bar.y = percent[0], list(names)
    bar.error_x.array, bar.error_x.arrayminus = percent[2] - percent[0], percent[0] - percent[1]
    for trace, values in ((chance, score.chance), (shuffled, score.shuffled.mean(0))):
        trace.x, trace.y = 100 * values, list(names)
    figure.layout.annotations[0].text = ""
    several = decoding.predicted.ndim == 2  # classes that do not exclude each other: few examples have all right
    total, kind = (score, "mean F1") if several else (decoding.accuracy, "right")
    numbers = [f"{100 * np.nanmean(value):.0f} %" for value in (total.value, total.chance, total.shuffled)]
    figure.layout.title.text = (
        f"Decoding the {what} by logistic regression: {numbers[0]} {kind}"
        f"<br>constant answer {numbers[1]}, shuffled labels {numbers[2]}"
    )


PICTURES: dict[type, Callable[[Any], go.Figure]] = {
    Figure: lambda result: result.plot,
    go.Figure: _plotly,
    pd.DataFrame: _table,
    Comparison: lambda result: result.plot(),
    Runs: _runs,
    Run: _runs,
    dict: _runs_by_name,
    LearnedFunctions: lambda result: draw(result.spline),
    Symmetrized: lambda result: draw(result.spline),
    Spline: lambda result: functions.alone(profile(result, result.low, result.high)),
    Polynomial: lambda result: functions.alone(profile(result, result.low, result.high)),
    Profile: functions.alone,
    Landscape: landscape.flat,
    Slice1D: _line,
    Slice2D: _planes,
    Complexity: _paths,
    Connectivity: _way,
    Spectrum: _spectrum,
    Decoding: _bars,
    Contrast: _contrast,
    MinimalPairs: _pairs,
    TokenLosses: lambda result: _columns(result.pieces, {"loss": result.nats}, "token", "loss (nats)"),
    Received: _received,
    CodeSimilarity: _similarity,
    Cost: draw_costs,
    Portrait: _portrait,
}


def draw(result: Any, labels: Any = None) -> go.Figure:
    """The picture of a result. labels: of the points of an embedding."""
    if isinstance(result, (Codes, Embedding)):
        return _codes(result, labels) if isinstance(result, Codes) else _map(result, labels)
    for kind, picture in PICTURES.items():
        if isinstance(result, kind):
            return picture(result)
    if isinstance(result, str):
        phi = as_module(result, "result")
        return draw(phi) if isinstance(phi, Spline) else functions.alone(profile(phi, -NEAR, NEAR))
    of_torch = getattr(torch, getattr(result, "__name__", ""), None) is result  # torch.sin and its like
    if callable(result) and (is_activation(result) or of_torch):
        return functions.alone(profile(result, -NEAR, NEAR))
    raise ArgumentError(f"there is no picture of {described(result)}; give {KINDS}")


def plot(result: Any, labels: Any = None) -> go.Figure:
    """The picture of a result as a Plotly figure: of a function, of what `lab.search`, `lab.train` (learning curves),
    `lab.compare` or a probe returned.

    labels: (examples,), for an embedding: the colours of its points. Raises ArgumentError for what has no picture.

    >>> plot(Spline([0.0, 1.0, 0.0], low=-1.0, high=1.0)).data[0].y.tolist()
    [0.0, 1.0, 0.0]
    """
    return Plot(draw(result, labels))
