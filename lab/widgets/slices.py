"""SliceExplorer: what several models make of one plane of their input space, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import traitlets
from torch import Tensor

from lab.errors import ArgumentError, check_whole
from lab.plots.slices import fill, frame
from lab.probes.calling import Model, coordinates, function_of
from lab.probes.slices import Slice2D, slice_2d
from lab.widgets import modules
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.hosted import PageView, hosted_page, short
from lab.widgets.perceptrons import perceptron

KEPT = 2000  # slices that are remembered
GREYS = ("#000000", "#ffffff")  # low, high
FAMILIES = 4  # models with a slider, at most: so many the page has traits for


class Cut:
    """Controls that choose a plane: a training point, two inputs, and at which of several outputs to look.

    points (N, inputs): the training data; columns: names of the inputs; outputs: of the models, at most.
    """

    def __init__(self, points: object, columns: Sequence[str] | None, outputs: int):
        self.points = coordinates(points, 2, "points")
        count = self.points.shape[1]
        if count < 2:
            raise ArgumentError("a plane needs points with two inputs or more; look at a line with probes.slice_1d")
        names = [f"input {number}" for number in range(count)] if columns is None else [str(name) for name in columns]
        if len(names) != count:
            raise ArgumentError(f"{len(names)} columns for points with {count} inputs; give one name an input")
        self.names, options = names, [(name, number) for number, name in enumerate(names)]
        self.point = widgets.IntSlider(description="training point", max=len(self.points) - 1, style=LABEL)
        across, up = _first_inputs(self.points)
        self.across = widgets.Dropdown(description="across", options=options, value=across, style=LABEL)
        self.up = widgets.Dropdown(description="up", options=options, value=up, style=LABEL)
        self.output = widgets.IntSlider(description="output", max=outputs - 1, value=outputs - 1, style=LABEL)
        self.output.layout.display = None if outputs > 1 else "none"

    @property
    def controls(self) -> list[widgets.Widget]:
        """In the order in which they are shown."""
        return [self.point, self.across, self.up, self.output]

    @property
    def plane(self) -> tuple[int, int, int]:
        """The number of the point, those of the two inputs."""
        if self.across.value == self.up.value:
            raise ArgumentError(
                f"{self.names[self.up.value]!r} goes across and up; choose another input for one of them"
            )
        return self.point.value, self.across.value, self.up.value

    def draw(self, figure: go.Figure, panel: int, slice_: Slice2D) -> None:
        """Put a slice along this plane into a panel of its picture."""
        number, across, up = self.plane
        point, names = self.points[number, [across, up]], (self.names[across], self.names[up])
        fill(figure, panel, slice_, self.output.value, point, names)


def _first_inputs(points: np.ndarray) -> tuple[int, int]:
    """The first two; where others vary more than twice as much (a pixel in a corner), the two that vary most."""
    spread = points.std(0)
    if 2 * spread[:2].min() >= spread.max():
        return 0, 1
    one, other = sorted(np.argsort(-spread, kind="stable")[:2].tolist())
    return one, other


class SlicesView(PageView):
    """The panels; what the traits hold is said in `page/slices.js`."""

    name, _esm = "slices", modules.widget("slices.js")

    models = traitlets.List(traitlets.Dict()).tag(sync=True)
    points: traitlets.List = traitlets.List().tag(sync=True)
    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    point = traitlets.Int(0).tag(sync=True)
    across = traitlets.Int(0).tag(sync=True)
    up = traitlets.Int(1).tag(sync=True)
    output = traitlets.Int(0).tag(sync=True)
    a0 = traitlets.Int(0).tag(sync=True)
    a1 = traitlets.Int(0).tag(sync=True)
    a2 = traitlets.Int(0).tag(sync=True)
    a3 = traitlets.Int(0).tag(sync=True)
    given: traitlets.List = traitlets.List().tag(sync=True)
    grid = traitlets.Int(60).tag(sync=True)
    low = traitlets.Float(-1.0).tag(sync=True)
    high = traitlets.Float(1.0).tag(sync=True)
    greys = traitlets.List(traitlets.Unicode(), list(GREYS)).tag(sync=True)


class SliceExplorer(Explorer):
    """Choose a training point and two inputs, and see what each model answers where these two inputs change.

    models: by name, modules, scikit-learn estimators or functions (N, inputs) → (N,) or (N, outputs); or, for a slider
    in its panel, a mapping from a number to such a model, for example TanH networks by their prefactor. points
    (N, inputs): training data. columns: names of the inputs. grid: points on a side. Shades are scaled in each panel
    (simplicity paper, App. E.4). What perceptrons answer, the page computes itself.

    >>> SliceExplorer({"sum": lambda x: x.sum(1)}, np.zeros((5, 2))).point.max
    4
    """

    def __init__(
        self,
        models: Mapping[str, Model | Mapping[float, Model]],
        points: Tensor | np.ndarray,
        columns: Sequence[str] | None = None,
        grid: int = 60,
        bounds: tuple[float, float] = (-1.0, 1.0),
    ):
        super().__init__()
        if not models:
            raise ArgumentError("no models to slice; give at least one by name")
        if sum(isinstance(model, Mapping) for model in models.values()) > FAMILIES:
            raise ArgumentError(f"more than {FAMILIES} models with a slider; give fewer at a time")
        self._like, self._grid, self._bounds = points, check_whole("grid", grid, 2), bounds
        self._models: dict[str, dict[float | None, Model]] = {}
        self._sliders: dict[str, widgets.SelectionSlider] = {}
        self._slices: dict[tuple, Slice2D] = {}  # the latest
        described = []  # as the page reads them
        for name, model in models.items():
            family: Mapping[Any, Model] = dict(sorted(model.items())) if isinstance(model, Mapping) else {None: model}
            self._models[name] = {value: function_of(one) for value, one in family.items()}
            alphas = [f"{value:g}" for value in family] if isinstance(model, Mapping) else []
            networks = [perceptron(one) for one in family.values()]
            described.append({"name": name, "alphas": alphas, "networks": networks})
            if isinstance(model, Mapping):
                options = [(f"{value:g}", value) for value in family]
                self._sliders[name] = widgets.SelectionSlider(description=f"{name} α", options=options, style=LABEL)
        first = self._given(coordinates(points, 2, "points")[0])
        outputs = [slice_2d(self._model(name), first, (0, 1), 2).values for name in models] if len(first) > 1 else []
        self._cut = Cut(points, columns, max((one.shape[2] if one.ndim == 3 else 1 for one in outputs), default=1))
        self.point, self.across, self.up, self.output = self._cut.controls
        self.figure = frame(list(models))
        self.view = SlicesView(
            models=described,
            points=[short(point) for point in self._cut.points],
            columns=self._cut.names,
            grid=self._grid,
            low=float(bounds[0]),
            high=float(bounds[1]),
        )
        for control, trait in zip(self._cut.controls, ("point", "across", "up", "output"), strict=True):
            self.view.follow(control, trait)
        for number, slider in enumerate(self._sliders.values()):
            self.view.follow(slider, f"a{number}")
        self._draw()
        rows = [self._cut.controls, list(self._sliders.values())]
        self.arrange(*filter(None, rows), self.view)
        self.watch(self._draw, *self._cut.controls, *self._sliders.values())

    def _controls_kept(self) -> dict[str, Any]:
        prefactors: dict[str, Any] = {"prefactors": self._sliders} if self._sliders else {}
        return super()._controls_kept() | prefactors

    def page(self) -> str:
        """The panels; perceptrons are sliced there, of other models the planes as they are now are shown."""
        return hosted_page("Slices of models", self.view, self.code(), self.status.value)

    def _given_slice(self, name: str, slice_: Slice2D) -> dict[str, Any] | None:
        """What the page cannot compute; None of what it can."""
        which = self._sliders[name].index if name in self._sliders else 0
        if self.view.models[list(self._models).index(name)]["networks"][which] is not None:
            return None
        values = slice_.values
        if values.ndim == 3:
            values = values[..., min(self.output.value, values.shape[2] - 1)]
        return {"plane": [*self._cut.plane, which], "z": [short(row) for row in values]}

    def slider(self, name: str) -> widgets.SelectionSlider:
        """The slider of a model that was given as a mapping."""
        return self._sliders[name]

    def slice(self, name: str) -> Slice2D:
        """What a panel shows."""
        key = (name, self._value(name), *self._cut.plane)
        if key not in self._slices:
            number, across, up = self._cut.plane
            while len(self._slices) >= KEPT:
                self._slices.pop(next(iter(self._slices)))
            point = self._given(self._cut.points[number])
            self._slices[key] = slice_2d(self._model(name), point, (across, up), self._grid, self._bounds)
        return self._slices[key]

    def _given(self, point: np.ndarray) -> Tensor | np.ndarray:
        """A point as what the user gave: models are called with that."""
        return self._like.new_tensor(point) if isinstance(self._like, Tensor) else point

    def _value(self, name: str) -> float | None:
        return self._sliders[name].value if name in self._sliders else None

    def _model(self, name: str) -> Model:
        return self._models[name][self._value(name)]

    def _draw(self) -> None:
        slices = {name: self.slice(name) for name in self._models}  # an error leaves all panels as they were
        with self.figure.batch_update():
            for panel, (name, slice_) in enumerate(slices.items()):
                self._cut.draw(self.figure, panel, slice_)
                value = self._value(name)
                self.figure.layout.annotations[panel].text = name if value is None else f"{name}, α = {value:g}"
        self.view.given = [self._given_slice(name, slices[name]) for name in self._models]
        number, across, up = self._cut.plane
        self.say(
            f"Training point {number} (circle), with {self._cut.names[across]} and {self._cut.names[up]} changed. "
            "Dark: low output, light: high, scaled in each panel."
        )
