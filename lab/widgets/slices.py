"""SliceExplorer: what several models make of one plane of their input space, side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import torch
import traitlets
from torch import Tensor, nn

from lab.errors import ArgumentError, check_whole
from lab.identity import digest_of
from lab.models.mlp import MLP
from lab.nonlinearity.functions import HOOKS
from lab.nonlinearity.spline import Spline
from lab.probes.calling import Model, Slice2D, coordinates, function_of, slice_2d
from lab.run import Run
from lab.widgets import pages
from lab.widgets.course import CourseView, StepSlider, few, latest
from lab.widgets.explorer import LABEL, Explorer, check_alive, menu
from lab.widgets.pages import Content, short, view_content

KEPT = 2000  # slices that are remembered
GREYS = ("#000000", "#ffffff")  # low, high
FAMILIES = 4  # models with a slider, at most: so many the page has traits for
MOST = 100_000  # weights of a perceptron that the page computes itself: a page that is larger opens slowly
PLAIN: dict[type, str] = {nn.ReLU: "relu", nn.Tanh: "tanh", nn.Identity: "identity"}


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
        self.across, self.up = menu("across", options, across), menu("up", options, up)
        self.output = widgets.IntSlider(description="output", max=outputs - 1, value=outputs - 1, style=LABEL)
        self.output.layout.display = None if outputs > 1 else "none"

    @property
    def controls(self) -> dict[str, widgets.Widget]:
        """In the order in which they are shown, by the traits of the view."""
        return {"point": self.point, "across": self.across, "up": self.up, "output": self.output}

    @property
    def plane(self) -> tuple[int, int, int]:
        """The number of the point, those of the two inputs."""
        if self.across.value == self.up.value:
            raise ArgumentError(
                f"{self.names[self.up.value]!r} goes across and up; choose another input for one of them"
            )
        return self.point.value, self.across.value, self.up.value

    def shades(self, slice_: Slice2D) -> list[list[float | None]]:
        """A slice at the chosen output, of a model that has fewer at its last, as the page reads it."""
        values = slice_.values
        if values.ndim == 3:
            values = values[..., min(self.output.value, values.shape[2] - 1)]
        return [short(row) for row in values]


def _first_inputs(points: np.ndarray) -> tuple[int, int]:
    """The first two; where others vary more than twice as much (a pixel in a corner), the two that vary most."""
    spread = points.std(0)
    if 2 * spread[:2].min() >= spread.max():
        return 0, 1
    one, other = sorted(np.argsort(-spread, kind="stable")[:2].tolist())
    return one, other


class SlicesView(CourseView):
    """The panels; what the traits hold is said in `page/slices.js`."""

    name, _esm = "slices", pages.widget("slices.js")

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
    common = traitlets.Bool(False).tag(sync=True)


class SliceExplorer(Explorer):
    """Choose a training point and two inputs, and see what each model answers where these two inputs change.

    models: by name, modules, scikit-learn estimators or functions (N, inputs) → (N,) or (N, outputs); or, for a slider
    in its panel, a mapping from a number to such a model, for example TanH networks by their prefactor; or runs, of
    which those with checkpoints follow one slider over the steps. points (N, inputs): training data. columns: names of
    the inputs. grid: points on a side. Shades are scaled in each panel (simplicity paper, App. E.4), common: in all
    alike. What perceptrons answer, the page computes itself, as far as it can hold them.

    >>> SliceExplorer({"sum": lambda x: x.sum(1)}, np.zeros((5, 2))).point.max
    4
    """

    def __init__(
        self,
        models: Mapping[str, Model | Mapping[float, Model] | Run],
        points: Tensor | np.ndarray,
        columns: Sequence[str] | None = None,
        grid: int = 60,
        bounds: tuple[float, float] = (-1.0, 1.0),
        common: bool = False,
    ):
        super().__init__()
        if not models:
            raise ArgumentError("no models to slice; give at least one by name")
        for name, model in models.items():
            check_alive(name, model)
        moving = {name for name, model in models.items() if isinstance(model, Run) and model.has_checkpoints}
        known: dict[str, Any] = {n: _family(m, len(moving)) if isinstance(m, Run) else m for n, m in models.items()}
        if sum(isinstance(model, Mapping) for name, model in known.items() if name not in moving) > FAMILIES:
            raise ArgumentError(f"more than {FAMILIES} models with a slider; give fewer at a time")
        self._like, self._grid, self._bounds = points, check_whole("grid", grid, 2), bounds
        self._models: dict[str, list[Model]] = {}  # of a family in the order of its numbers
        self._sliders: dict[str, widgets.SelectionSlider] = {}
        self._slices: dict[tuple, Slice2D] = {}  # the latest
        described = []  # as the page reads them
        for name, model in known.items():
            family: Mapping[Any, Model] = dict(sorted(model.items())) if isinstance(model, Mapping) else {None: model}
            self._models[name] = [function_of(one) for one in family.values()]
            options = [(f"{value:g}", value) for value in family if value is not None and name not in moving]
            if options:
                self._sliders[name] = widgets.SelectionSlider(description=f"{name} α", options=options, style=LABEL)
            networks = [perceptron(one) for one in family.values()]
            described.append({"name": name, "alphas": [label for label, _ in options], "networks": networks})
            described[-1] |= {"steps": [*family]} if name in moving else {}
        self._moving = {name: [*known[name]] for name in moving}
        self.step = StepSlider(step for steps in self._moving.values() for step in steps)
        first = self._given(coordinates(points, 2, "points")[0])
        outputs = [slice_2d(self._model(name), first, (0, 1), 2).values for name in known] if len(first) > 1 else []
        self._cut = Cut(points, columns, max((one.shape[2] if one.ndim == 3 else 1 for one in outputs), default=1))
        self.point, self.across, self.up, self.output = self._cut.controls.values()
        self.view = SlicesView(
            models=described,
            points=[short(point) for point in self._cut.points],
            columns=self._cut.names,
            grid=self._grid,
            low=float(bounds[0]),
            high=float(bounds[1]),
            steps=self.step.steps,
            common=common,
        )
        prefactors = {f"a{number}": slider for number, slider in enumerate(self._sliders.values())}
        self.view.follow(**self._cut.controls, **prefactors, step=self.step)
        self._draw()
        self.forgotten = () if self._moving else ("step",)
        rows = [list(self._cut.controls.values()), [*prefactors.values(), self.step, self.step.play]]
        self.arrange(*filter(None, rows), self.view)
        self.watch(self._draw, *rows[0], *prefactors.values(), self.step)

    def _controls_kept(self) -> dict[str, Any]:
        return super()._controls_kept() | ({"prefactors": self._sliders} if self._sliders else {})

    def content(self) -> Content:
        """The panels; perceptrons are sliced there, of other models the planes as they are now are shown."""
        return view_content("Slices of models", self.view, self.code(), self.status.value)

    def slider(self, name: str) -> widgets.SelectionSlider:
        """The slider of a model that was given as a mapping."""
        return self._sliders[name]

    def slice(self, name: str) -> Slice2D:
        """What a panel shows."""
        key = (name, self._which(name), *self._cut.plane)
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

    def _which(self, name: str) -> int:
        """The number of a model in its family."""
        if name in self._moving:
            return latest(self._moving[name], self.step.value)
        return self._sliders[name].index if name in self._sliders else 0

    def _model(self, name: str) -> Model:
        return self._models[name][self._which(name)]

    def _draw(self) -> None:
        number, across, up = self._cut.plane
        given: list[dict[str, Any] | None] = []
        for model in self.view.models:
            name, which = model["name"], self._which(model["name"])
            of_page = model["networks"][which] is not None
            z = [] if of_page else self._cut.shades(self.slice(name))
            given.append(None if of_page else {"plane": [number, across, up, which], "z": z})
        self.view.given = given  # an error leaves all panels as they were
        self.say(
            f"Training point {number} (circle), with {self._cut.names[across]} and {self._cut.names[up]} changed. "
            f"Dark: low output, light: high, scaled in {'all panels alike' if self.view.common else 'each panel'}."
            + (f" The slider goes through the weights of {len(self.step.steps)} checkpoints." if self._moving else "")
        )


def _family(run: Run, several: int) -> Any:
    """The models of a run's checkpoints by step, as many as a page can hold; the model of a run that has none."""
    if not run.has_checkpoints:
        return function_of(run.model())
    steps, model = run.checkpoints.tolist(), run.model()
    size = sum(weight.numel() for weight in model.parameters()) if perceptron(model) else 1
    return {steps[number]: run.model(steps[number]) for number in few(len(steps), several * size)}


def perceptron(model: object) -> dict[str, Any] | None:
    """Layers, non-linearity and prefactor of a perceptron, so that the page computes its answers itself
    (`page/network.js`); None for what is another model, or too large.

    model: an `MLP` of one run, or a Sequential of Linear maps with one non-linearity between them; of these classes
    themselves, without hooks, since the page knows nothing of what a subclass or a hook does.

    >>> perceptron(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)))["phi"]
    'relu'
    """
    if not isinstance(model, nn.Module) or any(map(_does_more, model.modules())):
        return None
    parts = _of_mlp(model) if type(model) is MLP else _of_sequence(model)
    if parts is None or sum(weight.numel() for weight, _ in parts[0]) > MOST:
        return None
    maps, phi, prefactor = parts
    function: Any = PLAIN.get(type(phi))
    if type(phi) is nn.GELU and phi.approximate == "none":
        function = "gelu"
    elif type(phi) is Spline and phi.values.ndim == 1:
        function = {"low": phi.low, "high": phi.high, "values": _flat(phi.values)}
    if function is None:
        return None
    layers = [
        {
            "inputs": weight.shape[0],
            "outputs": weight.shape[1],
            "weight": _flat(weight),
            "bias": _flat(torch.zeros(weight.shape[1]) if bias is None else bias),
        }
        for weight, bias in maps
    ]
    return {"layers": layers, "phi": function, "prefactor": prefactor}


Maps = list[tuple[Tensor, Tensor | None]]  # weights (inputs, outputs) and biases (outputs,)


def _of_mlp(model: MLP) -> tuple[Maps, nn.Module, float] | None:
    if model.runs != 1 or model.inputs is not None or model.residual or model.spectral:
        return None
    layers: list[Any] = list(model.layers)
    functions = [model.function(number) for number in range(len(layers) - 1)]
    if any(one is not functions[0] for one in functions):
        return None
    maps = [(layer.weight[0], None if layer.bias is None else layer.bias[0, 0]) for layer in layers]
    return maps, functions[0] if functions else nn.Identity(), float(model.prefactor.flatten()[0])


def _of_sequence(model: object) -> tuple[Maps, nn.Module, float] | None:
    parts: list[Any] = list(model) if type(model) is nn.Sequential else [model]
    maps, functions = parts[::2], parts[1::2]
    if len(parts) % 2 == 0 or not all(type(one) is nn.Linear for one in maps):
        return None
    if len(set(map(digest_of, functions))) > 1:
        return None
    return [(one.weight.T, one.bias) for one in maps], functions[0] if functions else nn.Identity(), 1.0


def _does_more(module: nn.Module) -> bool:
    """Whether a module has hooks, or a `forward` in the place of that of its class."""
    return "forward" in vars(module) or any(vars(module)[hooks] for hooks in HOOKS)


def _flat(numbers: Tensor) -> list[float | None]:
    return short(np.asarray(numbers.detach().cpu(), dtype=float).ravel())
