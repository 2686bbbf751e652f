"""GrokkingExplorer: train a network on a binary operation, and see when it answers pairs that it was not trained on."""

import time
from functools import cache
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch

from lab.catalogue import registry
from lab.catalogue.shipped import shipped_functions
from lab.errors import ArgumentError
from lab.nonlinearity import document
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import MINE, zoo, zoo_files
from lab.places import ZOO
from lab.plots import tasks
from lab.plots.style import ORANGE, SEQUENCE
from lab.plots.tasks import operation_title
from lab.scale import check_scale
from lab.spec import Part, RunSpec, replace
from lab.tasks import Operation
from lab.tasks.operation import ALL
from lab.training.fleet import Fleet
from lab.widgets.explorer import LABEL, check, menu
from lab.widgets.pages import live
from lab.widgets.training import LiveExplorer, clock

setting = cache(registry.setting)  # of an operation at a scale
ADDITION = Operation("a+b", modulus=27)  # of the simplicity paper's Figure 11
LEVEL = 0.95  # test accuracy that counts as solved, as in its Figure 13
RELU = "ReLU"
PLAIN = {RELU: "relu", "TanH": "tanh", "GELU": "gelu"}
GIVEN = "your function"
LEARNED_FOR = ("simplicity/fig11", "simplicity/fig12", "simplicity/fig28")  # operations: learned functions of these
WIDTHS = (8, 16, 32, 64, 128, 256, 512)
POINTS = 100  # evaluations in a training, at least: its curve should be seen to grow
DRAW, ASK = 0.5, 1.0  # seconds between two drawings of curves, of answers: a busy page must not fall behind


class GrokkingExplorer(LiveExplorer):
    """Choose an operation, how much of its table to train on, a width and a non-linearity, and press Train: training
    and test accuracy grow until the network generalizes; below, the operation, and which cells are answered right.

    task: the operation to begin with. phi: a function of your own to offer next to ReLU and those that were learned for
    operations. Hyper-parameters are those of the figures at this scale. Nothing is stored.

    >>> GrokkingExplorer(Operation("ab", modulus=27), scale="smoke").operation.value.name
    'ab mod 27'
    """

    colours = tuple(ink for ink in SEQUENCE if ink != ORANGE)  # of trainings, in their order

    def __init__(self, task: Operation = ADDITION, scale: str = "laptop", phi: Spline | None = None):
        super().__init__("accuracy (%)")
        if not isinstance(task, Operation):
            raise ArgumentError(
                f"{task!r} is no operation; give a lab.tasks.Operation, as Operation('a+b', modulus=27)"
            )
        self._scale = check_scale(scale)
        # plain functions; those of the zoo for operations, yours too (None: not read yet); and those of shipped results
        of_zoo = dict.fromkeys(name for name in zoo_files() if name.split("/")[0] in (MINE, "simplicity"))
        given = {GIVEN: as_part(phi)} if phi is not None else {}
        self._functions: dict[str, Part | None] = {**PLAIN, **of_zoo, **_shipped(), **given}
        plain = replace(task, fraction=ADDITION.fraction, held_out=ADDITION.held_out)
        known = ALL if plain in ALL else (plain, *ALL)
        start = setting(task, self._scale)
        widths, steps = sorted({*WIDTHS, start.model.width}), start.recipe.steps

        self.operation = self._about = menu("operation", [(operation_title(one.name), one) for one in known], plain)
        self.phi = menu("non-linearity", list(self._functions), GIVEN if phi is not None else RELU)
        share: dict[str, Any] = {"min": 20, "max": 95, "step": 5, "readout_format": ".0f", "style": LABEL}
        self.fraction = widgets.FloatSlider(description="train on (%)", value=100 * task.fraction, **share)
        self.width = widgets.SelectionSlider(description="width", options=widths, value=start.model.width, style=LABEL)
        self.steps = widgets.IntSlider(description="steps", value=steps, min=1, max=4 * steps, style=LABEL)
        self.seed = widgets.IntSlider(description="seed", max=9, style=LABEL)
        self.until = check(f"stop at {100 * LEVEL:.0f} % of the test split")
        self.figure = live(self.figure, 330)
        self.table = tasks.table_frame()
        tasks.fill_table(self.table, self.task)
        self.table = live(self.table)
        self.arrange(
            [self.operation, self.phi],
            [self.fraction, self.width, self.steps, self.seed],
            [self.train, self.stop, self.clear, self.progress, self.until],
            self.figure,
            self.table,
        )
        self.watch(self._another, self.operation, self.fraction)

    @property
    def task(self) -> Operation:
        """What the controls ask for, nearly all that is not the test split in `train`, as in the figures."""
        task = replace(self.operation.value, fraction=self.fraction.value / 100)
        return setting(task, self._scale).task

    @property
    def run_spec(self) -> RunSpec:
        """The run that the controls ask for."""
        base = setting(replace(self.operation.value, fraction=self.fraction.value / 100), self._scale)
        model = replace(base.model, width=self.width.value, phi=self._part(self.phi.value))
        every = min(base.recipe.every, max(1, self.steps.value // POINTS))
        recipe = replace(base.recipe, steps=self.steps.value, every=every)
        return RunSpec(base.task, model, recipe, self.seed.value, ("test", "train"))

    def _part(self, name: str) -> Part:
        """A function of the menu; of the zoo it is read when it is asked for."""
        part = self._functions[name]
        return as_part(zoo(name)) if part is None else part

    def _another(self) -> None:
        if not self.train.disabled:
            with self.table.batch_update():
                tasks.fill_table(self.table, self.task)

    def _begin(self) -> list[list[RunSpec]]:
        spec, ink = self.run_spec, self._colour
        self._name = f"{operation_title(spec.task.name)}, {self.phi.value}, width {spec.model.width}"
        self._name += f", {self.fraction.value:.0f} %"
        self._shown, self._inputs = spec.task, tasks.every_pair(spec.task)[None]
        self._last_drawn = self._last_asked = 0.0
        self._halted, self._ends = False, LEVEL if self.until.value else np.inf
        with self.table.batch_update():
            tasks.fill_table(self.table, spec.task)
        looks = ((f"{self._name}: test", ink, "solid", True), ("training pairs", ORANGE, "dash", not self._drawn))
        traces = []
        for name, colour, dash, listed in looks:
            line = {"color": colour, "dash": dash, "width": 2}
            traces.append(go.Scatter(x=[], y=[], mode="lines", name=name, legendgroup=name, line=line))
            hover = f"{name}, step %{{x}}: %{{y:.1f}} %<extra></extra>"
            traces[-1].update(showlegend=listed, hovertemplate=hover)
        self._lines = self._add(self._name, ink, [spec], traces)
        return [[spec]]

    def _stop(self) -> None:
        self._halted = True
        super()._stop()

    def _report(self, number: int, fleet: Fleet) -> None:
        history, now = fleet.history.arrays(), time.monotonic()
        names = ("accuracy_test", "accuracy_train")
        evaluations = len(history["steps"])
        test = history["accuracy_test"][:, 0]
        solved = bool(evaluations and test[-1] >= self._ends)
        last = solved or fleet.over or self._halted
        if not last and now - self._last_drawn < DRAW:
            return
        self._last_drawn = now
        with self.lock:
            self._drawn[-1].steps = history["steps"]
            if evaluations > len(self._lines[0].x):
                with self.figure.batch_update():
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
            tasks.fill_answers(self.table, self._shown, said, fleet.step)
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


@cache
def _shipped() -> dict[str, Part]:
    """Learned functions of shipped results for operations that the zoo has none for."""
    tasks = {document.read(path)["provenance"]["task"] for path in (ZOO / "simplicity").glob("*.json")}
    learned = shipped_functions(LEARNED_FOR)
    return {f"learned for {task}": as_part(phi) for task, phi in learned.items() if task not in tasks}
