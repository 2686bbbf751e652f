"""ModelExplorer: what a model of one's own does with its data; ResultExplorer: the picture of a result, in the page."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor, nn

from lab.comparison import Comparison
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.activations import is_activation
from lab.plots.caption import counted, true_minus
from lab.plots.style import GREY, TEMPLATE
from lab.probes import Loss, landscape, slice_2d, total_variation
from lab.probes.arguments import calling
from lab.probes.calling import rows
from lab.probes.reading import reading
from lab.training.modules.maker import call
from lab.widgets.drawing import draw
from lab.widgets.examples import examples_of
from lab.widgets.explorer import LABEL, Explorer, Frames
from lab.widgets.live_figure import live

INPUTS = "inputs of activations"
VIEWS = ("total variation", "slice", "landscape", INPUTS)
GRID = {"slice": 60, "landscape": 15}  # points on a side
HEIGHT = 400  # px


class ModelExplorer(Explorer):
    """Choose what to look at: the total variation of a model on paths between its inputs; the plane through three of
    them; the loss around its weights; what each activation receives.

    model: a module, read as in evaluation mode. inputs: (N, …) numbers or token ids, or a dictionary of such by the
    names of the model's arguments, in any form that `lab.Data.from_arrays` reads (a data frame; bytes become 0 to 1);
    or a `lab.Data`, whose targets are taken. Between ids there is nothing, so of them there are no paths and no plane.
    targets: (N, …), numbers, or words, which are classes in the order of their names; for the landscape, and so that
    paths join examples of different classes; None: no landscape.

    >>> model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    >>> ModelExplorer(model, torch.randn(20, 2)).view.options
    ('total variation', 'slice', 'inputs of activations')
    """

    def __init__(self, model: nn.Module, inputs: Any, targets: Any = None):
        super().__init__()
        self._examples = examples_of(inputs, targets)
        self._model, self._inputs, self._targets = model, self._examples.inputs, self._examples.targets
        if self._examples.classes:
            with reading(model):
                two = {name: part[:2] for name, part in self._inputs.items()}
                self._examples.check(self._answer(two))
        self._activations = {
            name: part
            for name, part in model.named_modules()
            if name and is_activation(part) and not list(part.children())
        }
        names = [view for view in VIEWS if self._fits(view)]
        if not names:
            raise ArgumentError(
                f"of a {type(model).__name__} that reads ids and has no activation as a module, only the landscape can "
                "be shown; give targets"
            )
        self.view = widgets.Dropdown(description="look at", options=names, style=LABEL)
        last = len(self._examples) - 1
        self.corners = [
            widgets.IntSlider(description=f"point {name}", max=last, value=min(number, last), style=LABEL)
            for number, name in enumerate("abc")
        ]
        self.activation = widgets.Dropdown(description="activation", options=list(self._activations), style=LABEL)
        self._place = widgets.VBox(layout={"width": "100%"})
        self.arrange([self.view, *self.corners, self.activation], self._place)
        self._draw()
        self.watch(self._draw, self.view, *self.corners, self.activation)

    @property
    def heading(self) -> str:
        """The model, and on what it is looked at."""
        return f"{type(self._model).__name__} on {counted(len(self._examples), 'example')}"

    def settings(self) -> list[tuple[str, str]]:
        """Of the model, and of the plane, which a page cannot move."""
        size = sum(part.numel() for part in self._model.parameters())
        corners = ", ".join(f"{name} = {corner.value}" for name, corner in zip("abc", self.corners, strict=True))
        points = [("points of the slice", corners)] if self._points is not None else []
        return [("parameters", f"{size:,}"), *points]

    def frames(self) -> Frames:
        """Every view, and the inputs of every activation."""
        parts: dict[str, list[go.Figure | str]] = {}
        for view in self.view.options:
            for name in self._activations if view == INPUTS else ("",):
                title = f"{view}: {name}" if name else view
                try:
                    with reading(self._model):
                        figure, said = self._figure(view, name)
                    parts[title] = [figure, _paragraph(said)]
                except LabError as error:  # an activation that is not called, say
                    parts[title] = [_paragraph(str(error))]
        shown = f"{INPUTS}: {self.activation.value}" if self.view.value == INPUTS else self.view.value
        return Frames("look at", parts, shown)

    def _fits(self, view: str) -> bool:
        needs = {"landscape": self._targets is not None, INPUTS: bool(self._activations)}
        return needs.get(view, self._points is not None)

    @property
    def _points(self) -> Tensor | None:
        """The inputs, if they are points, between which there are others."""
        only = self._inputs.get("")
        return only if only is not None and only.is_floating_point() else None

    def _draw(self) -> None:
        for control in self.corners:
            control.layout.display = None if self.view.value == "slice" else "none"
        self.activation.layout.display = None if self.view.value == INPUTS else "none"
        with reading(self._model):
            figure, said = self._figure(self.view.value, self.activation.value)
        self._place.children = [live(figure, figure.layout.height or HEIGHT)]
        self.say("\n".join([said, *self._examples.notes]))

    def _figure(self, view: str, activation: str) -> tuple[go.Figure, str]:
        """The picture of a view, and what it shows."""
        if view == INPUTS:
            return self._inputs_of_activations(activation)
        views = {"total variation": self._total_variation, "slice": self._slice, "landscape": self._landscape}
        return views[view]()

    def _answer(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """What the model answers."""
        given = _read(self._model, inputs)
        with calling(type(self._model).__name__, "give inputs that it reads, or wrap it"):
            return call(self._model, given)

    def _total_variation(self) -> tuple[go.Figure, str]:
        assert self._points is not None  # else it is not offered
        variation = total_variation(self._model, self._points, self._classes, paths=100)
        return draw(
            variation
        ), "How far the outputs go up and down on straight paths between two inputs, beyond their ends."

    @property
    def _classes(self) -> Tensor | None:
        """The class of each example, where that is what is predicted."""
        classes = self._targets is not None and not self._targets.is_floating_point() and self._targets.ndim == 1
        return self._targets if classes else None

    def _slice(self) -> tuple[go.Figure, str]:
        flat, shape = rows(self._points, "inputs")
        model = self._model
        corners = flat[[corner.value for corner in self.corners]]

        def f(points: np.ndarray) -> Tensor:
            given = torch.from_numpy(np.asarray(points))
            return call(model, _read(model, {"": given.reshape(-1, *shape) if shape else given}))

        plane = slice_2d(f, corners, grid=GRID["slice"])
        return draw(plane), "Every output on the plane through three inputs: a at (0, 0), b at (1, 0), c at (0, 1)."

    def _landscape(self) -> tuple[go.Figure, str]:
        assert self._targets is not None  # else it is not offered
        loss = Loss(self._inputs.get("", self._inputs), self._targets, self._examples.loss, runs=False)
        surface = landscape(self._model, {"loss": loss}, "random", grid=GRID["landscape"])
        return draw(
            surface
        ), "The loss on these inputs along two random directions of weight space, as long as the weights."

    def _inputs_of_activations(self, name: str) -> tuple[go.Figure, str]:
        batches: list[Tensor] = []
        part = self._activations[name]
        handle = part.register_forward_pre_hook(
            lambda _, given: batches.append(given[0].detach().float().flatten().cpu())
        )
        try:
            self._answer(self._inputs)
        finally:
            handle.remove()
        if not batches:
            raise ArgumentError(f"{name} received nothing: the model does not call it on these inputs")
        received = torch.cat(batches)
        heights, edges = np.histogram(received.numpy(), bins=80)
        middle = (edges[1:] + edges[:-1]) / 2
        figure = go.Figure(go.Bar(x=middle, y=100 * heights / heights.sum(), marker={"color": GREY}))
        figure.update_layout(template=TEMPLATE, height=HEIGHT, bargap=0)
        figure.update_xaxes(title_text="x, the input of the activation")
        figure.update_yaxes(title_text="inputs (%)")
        low, high = np.quantile(received.numpy(), (0.005, 0.995))
        return figure, f"99 % of what it receives lies between {low:.3g} and {high:.3g}."


class ResultExplorer(Explorer):
    """The picture of a result; of a comparison with a choice of the metric."""

    def __init__(self, result: Any):
        super().__init__()
        self._result, self._place = result, widgets.VBox(layout={"width": "100%"})
        several = [*result.data.metrics, "loss"] if isinstance(result, Comparison) else []
        self.metric = widgets.Dropdown(description="metric", options=several, style=LABEL)
        self.metric.layout.display = None if several else "none"
        self.arrange([self.metric], self._place)
        self._draw()
        self.watch(self._draw, self.metric)

    @property
    def heading(self) -> str:
        """The data of a comparison, the task of runs; else what kind of result it is."""
        result = self._result
        if isinstance(result, dict):
            return f"Runs by name: {', '.join(map(str, result))}"
        return f"Comparison on {result.data.name}" if isinstance(result, Comparison) else type(result).__name__

    def settings(self) -> list[tuple[str, str]]:
        """Of a comparison: how its models were trained."""
        result = self._result
        if not isinstance(result, Comparison):
            return []
        rates = ", ".join(f"{name} {result.rates[name]:g}" for name in result.functions)
        seeds = len({run.spec.seed for run in result.runs})
        return [("seeds", str(seeds)), ("steps", f"{result.runs[0].spec.recipe.last:,}"), ("learning rates", rates)]

    def frames(self) -> Frames:
        """Of a comparison: every metric."""
        if not self.metric.options:
            return super().frames()
        parts = {name: [self._result.plot(name), self.status.value] for name in self.metric.options}
        return Frames("metric", parts, self.metric.value)

    def _draw(self) -> None:
        figure = self._result.plot(self.metric.value) if self.metric.options else draw(self._result)
        self._place.children = [live(figure, figure.layout.height or HEIGHT)]
        self.say(true_minus(repr(self._result)) if isinstance(self._result, Comparison) else "")


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _read(model: nn.Module, inputs: Mapping[str, Tensor]) -> Any:
    """Inputs as the model reads them: where its weights are, numbers in their precision."""
    like = next(model.parameters(), torch.zeros(()))
    kind = like.dtype if like.is_floating_point() else torch.get_default_dtype()
    given = {n: part.to(like.device, kind if part.is_floating_point() else None) for n, part in inputs.items()}
    return given.get("", given)
