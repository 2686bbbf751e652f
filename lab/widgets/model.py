"""ModelExplorer, DataExplorer: one's own model on one's own data, and these data."""

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor, nn

from lab.data import Data, arrays, measures
from lab.data.data import take
from lab.data.targets import order_of
from lab.data.targets import targets as numbered
from lab.errors import ArgumentError, LabError
from lab.nonlinearity.activations import is_activation
from lab.plots.caption import counted
from lab.plots.style import GREY, SEQUENCE, TEMPLATE
from lab.probes import Loss, landscape, slice_2d, total_variation
from lab.probes.arguments import calling
from lab.probes.calling import rows
from lab.probes.loss import LossFunction
from lab.probes.reading import reading
from lab.training.modules.calls import call
from lab.widgets.drawing import draw
from lab.widgets.explorer import LABEL, WIDE, Explorer, menu
from lab.widgets.pages import Frames, live

FEW = 512  # examples that are looked at
INPUTS = "inputs of activations"
GRID = {"slice": 60, "landscape": 15}  # points on a side
HEIGHT, LOW = 400, 340  # px
TARGETS = "what is predicted"
BARS, MOST = 40, 60  # of a histogram; columns, or classes, that are told apart


@dataclass(frozen=True, eq=False)
class Examples:
    """Some examples, all or evenly spread: data that are sorted by class have one class alone at their beginning.

    inputs   (N, …) by the names of the model's arguments; one alone has the name ""
    targets  (N, …) class ids or values, or None
    classes  labels in the order of their ids, where targets were words
    loss     of the data, where they have one
    notes    what was done to the inputs, a line each
    """

    inputs: Mapping[str, Tensor]
    targets: Tensor | None = None
    classes: tuple[str, ...] = ()
    loss: LossFunction | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.inputs.values())))

    def check(self, outputs: Tensor) -> None:
        """ArgumentError where a model's outputs (B, …) are not one for each class: some may be absent from targets."""
        count, size = len(self.classes), outputs.shape[-1] if outputs.ndim > 1 else 1
        if self.classes and size != (1 if count == 2 and size == 1 else count):
            raise ArgumentError(
                f"targets have {count} different words, and the model {size} outputs; give class numbers from 0 to "
                f"{size - 1}, or inputs=data, the lab.Data that the model learned from"
            )


def examples_of(inputs: Any, targets: Any = None) -> Examples:
    """inputs: a `lab.Data`, or (N, …) numbers, or such by name; targets: (N, …) numbers or words. ArgumentError for
    others.

    >>> examples_of([[0.5], [1.5]], ["no", "yes"]).targets
    tensor([0, 1])
    """
    if isinstance(inputs, Data):
        if targets is not None:
            raise ArgumentError(f"the data {inputs.name!r} have targets; leave targets out, or give arrays as inputs")
        places = _spread(len(inputs))
        some = take(inputs.inputs, places)
        return Examples(
            {"": some} if isinstance(some, Tensor) else some,
            inputs.targets[places],
            loss=partial(measures.losses, inputs.loss, last=inputs.is_causal),
            notes=inputs.notes,
        )
    single = not isinstance(inputs, Mapping)
    names = {"": "inputs"} if single else {name: f"inputs[{name!r}]" for name in inputs}
    parts = {name: arrays.array(inputs if single else inputs[name], said) for name, said in names.items()}
    if single and parts[""].ndim < 2:
        raise ArgumentError(
            f"inputs have shape {parts[''].shape}, {parts[''].dtype}; give (N, …) numbers, such as X, or a dictionary"
        )
    counts = sorted({len(part) for part in parts.values()})
    if len(counts) > 1:
        raise ArgumentError(f"the parts of inputs have {', '.join(map(str, counts))} examples; give as many of each")
    places = _spread(counts[0])
    few = {name: part[places.numpy()] for name, part in parts.items()}
    known, notes = arrays.inputs(few[""] if single else few, "inputs")
    arrays.check_finite(known, "inputs")
    made = {"": known} if isinstance(known, Tensor) else dict(known)
    if targets is None:
        return Examples(made, notes=notes)
    answers, classes = _targets(targets)
    if len(answers) != counts[0]:
        raise ArgumentError(f"{counts[0]} inputs and {len(answers)} targets; give one target an input")
    return Examples(made, answers[places], classes, notes=notes)


def _spread(count: int) -> Tensor:
    """The numbers of the examples that are looked at, of so many."""
    return torch.linspace(0, count - 1, FEW).round().long() if count > FEW else torch.arange(count)


def _targets(given: Any) -> tuple[Tensor, tuple[str, ...]]:
    """Numbers as they are, since a model has learned what each stands for; words by their order, as in `lab.Data`."""
    answers = arrays.plain(arrays.array(given, "targets"))
    if answers.dtype.kind in "iub":
        return torch.from_numpy(answers.astype(np.int64)), ()
    if answers.dtype.kind == "f":
        return torch.from_numpy(np.ascontiguousarray(answers)), ()
    order = [str(label) for label in order_of(given)]
    words = numbered(answers, "classification", order=order)
    if not order:
        return words.values, words.classes
    codes = torch.tensor([order.index(label) for label in words.classes])  # unused categories have one, too
    return codes[words.values], tuple(order)


class PictureExplorer(Explorer):
    """An explorer of one picture at a time, below its controls."""

    def __init__(self):
        super().__init__()
        self._place = widgets.VBox(layout=WIDE)

    def begin(self, *controls: widgets.Widget) -> None:
        """Show these controls, and a picture that is drawn again when one of them is set."""
        self.arrange([*controls], self._place)
        self._draw()
        self.watch(self._draw, *controls)

    def _draw(self) -> None:
        raise NotImplementedError

    def _show(self, figure: go.Figure) -> None:
        self._place.children = [live(figure, figure.layout.height or HEIGHT)]


class ModelExplorer(PictureExplorer):
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
        only = self._inputs.get("")
        self._points = only if only is not None and only.is_floating_point() else None  # between which there are others
        self._views: dict[str, Callable[[str], tuple[go.Figure, str]]] = {}
        if self._points is not None and len(self._points) > 1:
            self._views |= {"total variation": self._total_variation, "slice": self._slice}
        if self._targets is not None:
            self._views["landscape"] = self._landscape
        if self._activations:
            self._views[INPUTS] = self._inputs_of_activation
        if not self._views:
            raise ArgumentError(
                f"of a {type(model).__name__} that reads ids and has no activation as a module, only the landscape can "
                "be shown; give targets"
            )
        self.view = menu("look at", list(self._views))
        last = len(self._examples) - 1
        self.corners = [
            widgets.IntSlider(description=f"point {name}", max=last, value=min(number, last), style=LABEL)
            for number, name in enumerate("abc")
        ]
        self.activation = menu("activation", list(self._activations))
        self.begin(self.view, *self.corners, self.activation)

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
                        figure, said = self._views[view](name)
                    parts[title] = [figure, f"<p>{html.escape(said)}</p>"]
                except LabError as error:  # an activation that is not called, say
                    parts[title] = [f"<p>{html.escape(str(error))}</p>"]
        shown = f"{INPUTS}: {self.activation.value}" if self.view.value == INPUTS else self.view.value
        return Frames("look at", parts, shown)

    def _draw(self) -> None:
        for control in self.corners:
            control.layout.display = None if self.view.value == "slice" else "none"
        self.activation.layout.display = None if self.view.value == INPUTS else "none"
        with reading(self._model):
            figure, said = self._views[self.view.value](self.activation.value)
        self._show(figure)
        self.say("\n".join([said, *self._examples.notes]))

    def _answer(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """What the model answers."""
        given = _read(self._model, inputs)
        with calling(type(self._model).__name__, "give inputs that it reads, or wrap it"):
            return call(self._model, given)

    def _total_variation(self, _) -> tuple[go.Figure, str]:
        assert self._points is not None  # else it is not offered
        targets = self._targets
        known = (
            targets is not None and not targets.is_floating_point() and targets.ndim == 1 and len(targets.unique()) > 1
        )
        figure = draw(total_variation(self._model, self._points, targets if known else None, paths=100))
        return figure, "How far the outputs go up and down on straight paths between two inputs, beyond their ends."

    def _slice(self, _) -> tuple[go.Figure, str]:
        model, (flat, shape) = self._model, rows(self._points, "inputs")  # the closure has it, as `reading` looks there
        corners = flat[[corner.value for corner in self.corners]]

        def f(points: np.ndarray) -> Tensor:
            given = torch.from_numpy(np.asarray(points))
            return call(model, _read(model, {"": given.reshape(-1, *shape) if shape else given}))

        figure = draw(slice_2d(f, corners, grid=GRID["slice"]))
        return figure, "Every output on the plane through three inputs: a at (0, 0), b at (1, 0), c at (0, 1)."

    def _landscape(self, _) -> tuple[go.Figure, str]:
        assert self._targets is not None  # else it is not offered
        loss = Loss(self._inputs.get("", self._inputs), self._targets, self._examples.loss, runs=False)
        figure = draw(landscape(self._model, {"loss": loss}, "random", grid=GRID["landscape"]))
        return figure, "The loss on these inputs along two random directions of weight space, as long as the weights."

    def _inputs_of_activation(self, name: str) -> tuple[go.Figure, str]:
        batches: list[Tensor] = []
        part = self._activations[name]
        handle = part.register_forward_pre_hook(lambda _, given: batches.append(given[0].detach().float().cpu()))
        try:
            self._answer(self._inputs)
        finally:
            handle.remove()
        if not batches:
            raise ArgumentError(f"{name} received nothing: the model does not call it on these inputs")
        received = torch.cat([batch.flatten() for batch in batches]).numpy()
        heights, edges = np.histogram(received, bins=80)
        shares = 100 * heights / heights.sum()
        figure = go.Figure(go.Bar(x=(edges[1:] + edges[:-1]) / 2, y=shares, marker={"color": GREY}))
        figure.update_layout(template=TEMPLATE, height=HEIGHT, bargap=0)
        figure.update_xaxes(title_text="x, the input of the activation")
        figure.update_yaxes(title_text="inputs (%)")
        low, high = np.quantile(received, (0.005, 0.995))
        return figure, f"99 % of what it receives lies between {low:.3g} and {high:.3g}."


def _read(model: nn.Module, inputs: Mapping[str, Tensor]) -> Any:
    """Inputs as the model reads them: where its weights are, numbers in their precision."""
    like = next(model.parameters(), torch.zeros(()))
    kind = like.dtype if like.is_floating_point() else torch.get_default_dtype()
    given = {n: part.to(like.device, kind if part.is_floating_point() else None) for n, part in inputs.items()}
    return given.get("", given)


class DataExplorer(PictureExplorer):
    """Choose what to look at: the targets, or one of the inputs, by split, as shares of its examples. Below: how many
    examples each split has, and what was done to the data, or left out of them.

    data: a `lab.Data`.

    >>> data = Data.from_arrays(np.arange(90.0).reshape(45, 2), np.arange(45) % 3, name="three")
    >>> DataExplorer(data).column.options
    ('what is predicted', 'input 0', 'input 1')
    """

    def __init__(self, data: Data):
        super().__init__()
        self._data = data
        self._columns = {f"input {name!r}" if name == TARGETS else name: part for name, part in _columns(data).items()}
        self.column = menu("look at", [TARGETS, *self._columns])
        self.begin(self.column)

    @property
    def heading(self) -> str:
        """The name of the data."""
        return f"Data {self._data.name}"

    def _draw(self) -> None:
        data, name = self._data, self.column.value
        values, words = (data.targets, data.classes) if name == TARGETS else (self._columns[name], ())
        figure = go.Figure()
        edges = None if words else _edges(values)
        for (split, places), ink in zip(data.rows.items(), SEQUENCE * len(data.rows), strict=False):
            shown = values[places].reshape(-1).numpy()
            if edges is None:
                counts, x = np.bincount(shown[shown >= 0], minlength=len(words))[: len(words)], list(words)
            else:
                counts, x = np.histogram(shown, edges)[0], (edges[1:] + edges[:-1]) / 2
            share = 100 * counts / max(1, counts.sum())
            figure.add_bar(x=x[:MOST], y=share[:MOST], name=f"{split} ({len(places):,})", marker={"color": ink})
        figure.update_layout(template=TEMPLATE, height=LOW, bargap=0.1, legend={"orientation": "h", "y": 1.12})
        figure.update_xaxes(title_text=name, type="category" if words else None)
        figure.update_yaxes(title_text="share of a split (%)")
        self._show(figure)
        cut = f"\nThe first {MOST} of {len(words)} classes are drawn." if len(words) > MOST else ""
        self.say(repr(data) + cut)


def _columns(data: Data) -> Mapping[str, Tensor]:
    parts = {"": data.inputs} if isinstance(data.inputs, Tensor) else dict(data.inputs)
    columns: dict[str, Tensor] = {}
    for name, part in parts.items():
        if part.ndim == 2 and part.is_floating_point() and part.shape[1] <= MOST:
            names = data.columns or [f"{name or 'input'} {number}" for number in range(part.shape[1])]
            columns |= {str(column): part[:, number] for number, column in enumerate(names)}
        else:
            columns[name or "all inputs"] = part
    return columns


def _edges(values: Tensor) -> np.ndarray:
    """Where the bars of a histogram begin and end: of whole numbers in the middle between them, as far as they fit."""
    low, high = float(values.min()), float(values.max())
    if not values.is_floating_point() and high - low < BARS:
        return np.arange(low - 0.5, high + 1)
    return np.linspace(low, high if high > low else low + 1, BARS + 1)
