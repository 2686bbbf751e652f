"""GrokkingExplorer: train a network on a binary operation, and see when it answers pairs that it was not trained on."""

from __future__ import annotations

import time

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch

from lab.catalogue.shipped import shipped_functions
from lab.errors import ArgumentError
from lab.nonlinearity import document
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import MINE, SHIPPED, zoo, zoo_names
from lab.papers.simplicity.settings import ADDITION, LEVEL, RELU, grokking
from lab.plots import operation_table
from lab.plots.operation_table import operation_title
from lab.plots.style import ORANGE, SEQUENCE
from lab.scale import check_scale
from lab.spec import Part, RunSpec, replace
from lab.tasks import Operation
from lab.tasks.operation import ALL
from lab.training.fleet import Fleet
from lab.training.live import Live
from lab.widgets.drawn import Drawn, heading_of
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.live_figure import live
from lab.widgets.training import clock, invite, learning_frame, reach

PLAIN = {RELU: "relu", "TanH": "tanh", "GELU": "gelu"}
GIVEN = "your function"
WIDTHS = (8, 16, 32, 64, 128, 256, 512)
POINTS = 100  # evaluations in a training, at least: its curve should be seen to grow
DRAW, ASK = 0.5, 1.0  # seconds between two drawings of curves, of answers: a busy page must not fall behind


class GrokkingExplorer(Explorer):
    """Choose an operation, how much of its table to train on, a width and a non-linearity, and press Train: training
    and test accuracy grow until the network generalizes; below, the operation, and which cells are answered right.

    task: the operation to begin with. phi: a function of your own to offer next to ReLU and those that were learned for
    operations. Hyper-parameters are those of the figures at this scale. Nothing is stored.

    >>> GrokkingExplorer(Operation("ab", modulus=27), scale="smoke").operation.value.name
    'ab mod 27'
    """

    colours = tuple(ink for ink in SEQUENCE if ink != ORANGE)  # of trainings, in their order

    def __init__(self, task: Operation = ADDITION, scale: str = "laptop", phi: Spline | None = None):
        super().__init__()
        if not isinstance(task, Operation):
            raise ArgumentError(
                f"{task!r} is no operation; give a lab.tasks.Operation, as Operation('a+b', modulus=27)"
            )
        self._scale = check_scale(scale)
        self._trained: list[Drawn] = []  # what the curves show
        self._live: Live | None = None
        self._functions = _functions() | ({GIVEN: as_part(phi)} if phi is not None else {})
        plain = replace(task, fraction=ADDITION.fraction, held_out=ADDITION.held_out)
        known = ALL if plain in ALL else (plain, *ALL)
        start = grokking(self._scale, task)

        named = [(operation_title(one.name), one) for one in known]
        self.operation = widgets.Dropdown(description="operation", options=named, value=plain, style=LABEL)
        self.phi = widgets.Dropdown(description="non-linearity", options=list(self._functions), style=LABEL)
        self.phi.value = GIVEN if phi is not None else RELU
        self.fraction = widgets.FloatSlider(
            description="train on (%)",
            value=100 * task.fraction,
            min=20,
            max=95,
            step=5,
            style=LABEL,
            readout_format=".0f",
        )
        self.width = widgets.SelectionSlider(
            description="width", options=sorted({*WIDTHS, start.model.width}), value=start.model.width, style=LABEL
        )
        self.steps = widgets.IntSlider(
            description="steps", value=start.recipe.steps, min=1, max=4 * start.recipe.steps, style=LABEL
        )
        self.seed = widgets.IntSlider(description="seed", max=9, style=LABEL)
        self.until = widgets.Checkbox(
            True, description=f"stop at {100 * LEVEL:.0f} % of the test split", indent=False, layout={"width": "auto"}
        )
        self.train = widgets.Button(description="Train", button_style="primary")
        self.stop = widgets.Button(description="Stop", disabled=True)
        self.clear = widgets.Button(description="Clear", tooltip="remove all curves")
        self.progress = widgets.FloatProgress(max=1.0, layout={"width": "200px"})
        self.curves = live(learning_frame("accuracy (%)"), height=330)
        self.table = operation_table.frame()
        operation_table.fill_table(self.table, self.task)
        self.table = live(self.table, height=self.table.layout.height)
        self.arrange(
            [self.operation, self.phi],
            [self.fraction, self.width, self.steps, self.seed],
            [self.train, self.stop, self.clear, self.progress, self.until],
            self.curves,
            self.table,
        )
        self.watch(self._another, self.operation, self.fraction)
        self.press(self._train, self.train)
        self.press(self._stop, self.stop)
        self.press(self._clear, self.clear)

    @property
    def heading(self) -> str:
        """What was trained; before that, what could be."""
        return heading_of(self._trained) or f"Training on {self.operation.label}"

    def settings(self) -> list[tuple[str, str]]:
        """How the networks whose curves are drawn were trained: the controls say what would be trained next."""
        return [one.setting for one in self._trained]

    @property
    def task(self) -> Operation:
        """What the controls ask for, nearly all that is not the test split in `train`, as in the figures."""
        task = replace(self.operation.value, fraction=self.fraction.value / 100)
        return grokking(self._scale, task).task

    @property
    def run_spec(self) -> RunSpec:
        """The run that the controls ask for."""
        base = grokking(self._scale, replace(self.operation.value, fraction=self.fraction.value / 100))
        model = replace(base.model, width=self.width.value, phi=self._part(self.phi.value))
        every = min(base.recipe.every, max(1, self.steps.value // POINTS))
        recipe = replace(base.recipe, steps=self.steps.value, every=every)
        return RunSpec(base.task, model, recipe, self.seed.value, ("test", "train"))

    def _part(self, name: str) -> Part:
        """A function of the menu; of the zoo it is read when it is asked for."""
        part = self._functions[name]
        return as_part(zoo(name)) if part is None else part

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the training that is under way has ended; whether it has."""
        return self._live is None or self._live.join(timeout)

    def _another(self) -> None:
        """Another operation or split: its table, and no answers, unless a network is being asked."""
        if not self.train.disabled:
            with self.table.batch_update():
                operation_table.fill_table(self.table, self.task)

    def _train(self) -> None:
        if self.train.disabled:  # the page sends each of several quick clicks
            return
        spec = self.run_spec
        self._name = f"{operation_title(spec.task.name)}, {self.phi.value}, width {spec.model.width}"
        self._name += f", {self.fraction.value:.0f} %"
        self._shown, self._inputs, self._last_asked = spec.task, operation_table.every_pair(spec.task)[None], 0.0
        self._drawn, self._halted = 0.0, False
        self._ends = LEVEL if self.until.value else np.inf
        with self.table.batch_update():
            operation_table.fill_table(self.table, spec.task)
        self._lines = self._begin(spec)
        reach(self.curves, spec.recipe.steps)
        self.train.disabled, self.clear.disabled, self.stop.disabled = True, True, False
        self._clock = time.monotonic()
        self._live = Live([[spec]], self._report, self._end)
        self._live.start()

    def _stop(self) -> None:
        self._halted = True
        if self._live is not None:
            self._live.stop()

    def _clear(self) -> None:
        if self.train.disabled:  # its lines are still drawn
            return
        self.curves.data, self._trained, self.progress.value = (), [], 0.0
        self.curves.layout.xaxis.range = None
        invite(self.curves)
        self.say("")

    def _begin(self, spec: RunSpec) -> tuple[go.Scatter, ...]:
        """Two new lines: accuracy on the test split, and in training."""
        ink, first = self.colours[len(self._trained) % len(self.colours)], not self._trained
        looks = ((f"{self._name}: test", ink, "solid", True), ("training pairs", ORANGE, "dash", first))
        traces = [
            go.Scatter(
                x=[],
                y=[],
                mode="lines",
                name=name,
                legendgroup=name,
                showlegend=listed,
                line={"color": colour, "dash": line, "width": 2},
                hovertemplate=f"{name}, step %{{x}}: %{{y:.1f}} %<extra></extra>",
            )
            for name, colour, line, listed in looks
        ]
        self.curves.layout.annotations = ()
        self.curves.add_traces(traces)
        self._trained.append(Drawn(self._name, ink, [spec]))
        return self.curves.data[-2:]

    def _report(self, number: int, fleet: Fleet) -> None:
        """Called from the training thread."""
        history, now = fleet.history.arrays(), time.monotonic()
        names = ("accuracy_test", "accuracy_train")
        evaluations = len(history["steps"])
        test = history["accuracy_test"][:, 0]
        solved = bool(evaluations and test[-1] >= self._ends)
        last = solved or fleet.over or self._halted
        if not last and now - self._drawn < DRAW:
            return
        self._drawn = now
        with self.lock:
            self._trained[-1].steps = history["steps"]
            if evaluations > len(self._lines[0].x):
                with self.curves.batch_update():
                    for line, name in zip(self._lines, names, strict=True):
                        line.x, line.y = history["steps"], 100 * history[name][:, 0]
            self.progress.value = fleet.step / fleet.recipe.last
            self.say(self._words(fleet, history) if evaluations else f"{self._name}: the training begins")
        if last or now - self._last_asked >= ASK:
            self._ask(fleet)
        if solved and self._live is not None:
            self._live.stop()

    @torch.no_grad()
    def _ask(self, fleet: Fleet) -> None:
        """All answers of the network as it is now."""
        said = fleet.model(self._inputs)[0].argmax(-1).view(self._shown.classes, -1).numpy()
        with self.lock, self.table.batch_update():
            operation_table.fill_answers(self.table, self._shown, said, fleet.step)
        self._last_asked = time.monotonic()

    def _words(self, fleet: Fleet, scores: dict[str, np.ndarray]) -> str:
        test, train = (scores[name][:, 0] for name in ("accuracy_test", "accuracy_train"))
        step, last = fleet.step, fleet.recipe.last
        text = f"{self._name}: step {step:,} of {last:,}, {clock(step / last, self._clock)};"
        text += f" training {100 * train[-1]:.0f} %, test {100 * test[-1]:.0f} %"
        for values, what in ((train, "training"), (test, "test")):
            if (values >= LEVEL).any():
                text += f"; {100 * LEVEL:.0f} % in {what} at step {scores['steps'][np.argmax(values >= LEVEL)]:,}"
        return text + ("; diverged (its loss was no longer finite)" if fleet.died[0] >= 0 else "")

    def _end(self, error: Exception | None) -> None:
        """Called from the training thread."""
        with self.lock:
            self.train.disabled, self.clear.disabled, self.stop.disabled = False, False, True
            if error is not None:
                self.error.show(error)


def _functions() -> dict[str, Part | None]:
    """What is offered: plain functions; those of the zoo for operations, yours too (None: not read yet); and those of
    shipped results for operations that the zoo has none for."""
    tasks = {document.read(path)["provenance"]["task"] for path in (SHIPPED / "simplicity").glob("*.json")}
    names = [name for name in zoo_names() if name.split("/")[0] in (MINE, "simplicity")]
    shipped = {f"learned for {task}": as_part(phi) for task, phi in shipped_functions().items() if task not in tasks}
    return PLAIN | dict.fromkeys(names) | shipped
