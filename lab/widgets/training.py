"""TrainingExplorer: train a small model live, with any non-linearity, and watch its seeds learn; or several models."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch

from lab import tasks
from lab.catalogue.registry import setting
from lab.errors import ArgumentError, described
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo, zoo_files
from lab.plots.caption import counted
from lab.plots.panels import ACCURACY, FULL, STEP
from lab.plots.style import BLUE, GREY, ORANGE, SEQUENCE, TEMPLATE
from lab.resolve import resolve
from lab.run import Run, Runs
from lab.scale import COMMON, check_scale
from lab.spec import Knots, OwnTask, Resolved, RunSpec, own_task, replace
from lab.tasks import Task
from lab.tasks.named import task_title
from lab.tasks.table import TableTask
from lab.training.fleet import Fleet
from lab.training.live import Live
from lab.widgets.drawing import metric_of
from lab.widgets.explorer import LABEL, Explorer, menu
from lab.widgets.pages import Frames, live

LOSS = "training loss"
PLAIN = ("gelu", "relu", "identity")
GIVEN = "your function"
WIDTHS = (8, 16, 32, 64, 128)
POINTS = 40  # evaluations in a training, at least: its curve should be seen to grow
CONTEST_SEEDS = 2


@dataclass
class Drawn:
    """Runs that differ in their seed.

    label: what their curves are called. measured: by name ("accuracy_test", …, "loss") the values of all runs, (R, T),
    at steps (T,). shown: the name of those that are curves.
    """

    label: str
    colour: str
    specs: Sequence[RunSpec]
    steps: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    measured: Mapping[str, np.ndarray] = field(default_factory=dict)
    shown: str = ""

    @property
    def setting(self) -> tuple[str, str]:
        """What the curves are called, and how they came about, from the runs themselves."""
        recipe = self.specs[0].recipe
        reached, last = (int(self.steps[-1]) if len(self.steps) else 0), recipe.last
        steps = counted(last, "step") if reached >= last else f"{reached:,} of {counted(last, 'step')}"
        seeds = [spec.seed for spec in self.specs]
        row = seeds == list(range(seeds[0], seeds[0] + len(seeds)))
        listed = f"{seeds[0]} to {seeds[-1]}" if row else ", ".join(map(str, seeds))
        named = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds ({listed})"
        parts = [named, steps, f"learning rate {recipe.rate:g}", *([f"batch {recipe.batch}"] if recipe.batch else [])]
        return self.label, ", ".join(parts)


def _title(name: str) -> str:
    measure, _, split = name.rpartition("_")
    words = {"accuracy": "accuracy (%)", "r2": "R²"}.get(measure, measure.replace("_", " "))
    return LOSS if name == "loss" else f"{split} {words}"


def _curve(name: str, colour: str, number: int, x: Any, y: Any) -> go.Scatter:
    look = {"line": {"color": colour, "width": 1.5}, "marker": {"size": 4}, "showlegend": not number}
    return go.Scatter(x=x, y=y, name=name, mode="lines+markers", **look)


def _every_run(trainings: Sequence[Drawn], name: str) -> go.Figure:
    percent = name.startswith("accuracy")
    figure = go.Figure()
    for one in trainings:
        for number, (spec, values) in enumerate(zip(one.specs, one.measured.get(name, ()), strict=False)):
            label = f"{one.label}, seed {spec.seed}" if number else one.label
            figure.add_trace(_curve(label, one.colour, number, one.steps, (100 if percent else 1) * values))
    figure.update_layout(template=TEMPLATE, height=400, showlegend=True)
    figure.update_xaxes(title_text=STEP, rangemode="tozero")
    return figure.update_yaxes(title_text=_title(name), range=FULL if percent else None)


def clock(share: float, start: float) -> str:
    """How long it has taken since `start`, and how long it will: share: what is done.

    >>> clock(0.25, time.monotonic() - 30), clock(1.0, time.monotonic() - 30)
    ('30 s, about 90 s left', '30 s')
    """
    seconds = time.monotonic() - start
    return f"{seconds:.0f} s" + (f", about {seconds * (1 - share) / share:.0f} s left" if 0 < share < 1 else "")


class LiveExplorer(Explorer):
    """Press Train, and curves grow in `figure` while training goes on in the background; Stop ends it, Clear removes
    all curves.

    Subclasses say what to train and begin its lines (`_begin`), and extend them (`_report`); `_about` is the menu of
    what is trained, `steps` the control of its length.
    """

    colours: Sequence[str] = SEQUENCE  # of trainings, in their order
    _about: widgets.Dropdown
    steps: widgets.IntSlider

    def __init__(self, accuracy: str = ACCURACY):
        super().__init__()
        self._drawn: list[Drawn] = []  # what the figure shows
        self._live: Live | None = None
        self.train = widgets.Button(description="Train", button_style="primary")
        self.stop = widgets.Button(description="Stop", disabled=True)
        self.clear = widgets.Button(description="Clear", tooltip="remove all curves")
        self.progress = widgets.FloatProgress(max=1.0, layout={"width": "200px"})
        self.figure = go.Figure()
        self.figure.update_layout(
            template=TEMPLATE,
            margin={"t": 20},
            legend={"x": 0, "y": 1.02, "yanchor": "bottom"},  # outside, so that its lines push the plot down
            showlegend=True,
            xaxis={"title": STEP, "rangemode": "tozero"},
            yaxis={"title": accuracy, "range": FULL},
        )
        self._invite()
        self.press(self._train, self.train)
        self.press(self._stop, self.stop)
        self.press(self._clear, self.clear)

    @property
    def lacking(self) -> str:
        """A training."""
        return "" if self._drawn else "nothing is trained yet; press Train, and wait until it has ended"

    @property
    def heading(self) -> str:
        """What was trained, at most two written out; before that, what could be."""
        labels = list(dict.fromkeys(one.label for one in self._drawn))
        more = f" and {len(labels) - 2} more" if len(labels) > 2 else ""
        return "; ".join(labels[:2]) + more if labels else f"Training on {self._about.label}"

    def settings(self) -> list[tuple[str, str]]:
        """How the runs that are drawn were trained: the controls say what would be trained next."""
        return [one.setting for one in self._drawn]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the training that is under way has ended; whether it has."""
        return self._live is None or self._live.join(timeout)

    def _begin(self) -> list[list[RunSpec]]:
        raise NotImplementedError

    def _report(self, number: int, fleet: Fleet) -> None:
        """Extend the lines of a fleet. Called from the training thread."""
        raise NotImplementedError

    def _add(self, label: str, colour: str, specs: list[RunSpec], traces: list[go.Scatter]) -> tuple[go.Scatter, ...]:
        self.figure.layout.annotations = ()
        self.figure.add_traces(traces)
        self._drawn.append(Drawn(label, colour, specs))
        return self.figure.data[-len(traces) :]

    @property
    def _colour(self) -> str:
        return self.colours[len(self._drawn) % len(self.colours)]

    def _train(self) -> None:
        if self.train.disabled:  # the page sends each of several quick clicks
            return
        fleets = self._begin()
        self._reach(self.steps.value)
        self.train.disabled, self.clear.disabled, self.stop.disabled = True, True, False
        self._clock = time.monotonic()
        self._live = Live(fleets, self._report, self._end)
        self._live.start()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _clear(self) -> None:
        if self.train.disabled:  # its lines are still drawn
            return
        self.figure.data, self._drawn, self.figure.layout.xaxis.range = (), [], None
        self._invite()
        self.progress.value = 0.0
        self.say("")

    def _end(self, error: Exception | None) -> None:
        """Called from the training thread."""
        with self.lock:
            self.train.disabled, self.clear.disabled, self.stop.disabled = False, False, True
            if error is not None:
                self.error.show(error)

    def _invite(self) -> None:
        """Say in the empty figure how it gets its curves."""
        middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
        self.figure.layout.annotations = [{"text": "press Train to see curves grow", "showarrow": False, **middle}]

    def _reach(self, steps: int) -> None:
        """Let the axis of steps go so far, or farther where it does, so that it stays while curves grow."""
        axis = self.figure.layout.xaxis
        axis.range = (0, max(steps, (axis.range or (0, 0))[1]))


class TrainingExplorer(LiveExplorer):
    """Choose a task and a non-linearity, press Train, and one accuracy curve a seed grows; trainings overlay.

    task: what to begin with: a task's name, a table (`lab.tasks`), a `lab.Task`, or runs on one of these to compare
    with. phi: a function to offer next to those of the zoo; the runs' own where they have one.
    Hyper-parameters are those of the figures at this scale, unless width or steps are changed. Nothing is stored:
    `lab.train` stores.

    >>> TrainingExplorer("addmod", scale="smoke").task.value
    'addmod'
    """

    def __init__(
        self, task: str | TableTask | Task | Runs = "memorize", scale: str = "laptop", phi: Spline | None = None
    ):
        super().__init__()
        runs = task if isinstance(task, Runs) else None
        if runs is not None and not runs:
            raise ArgumentError("no runs were given; give at least one, for example lab.train('memorize')")
        first = own_task(task) if isinstance(task, Task) else task[0].spec.task if isinstance(task, Runs) else task
        others = [(first.name, first)] if isinstance(first, (TableTask, OwnTask)) else []
        if not others and not (isinstance(first, str) and first in tasks.NAMES):
            known = ", ".join(tasks.NAMES)
            raise ArgumentError(f"unknown task {described(first)}; known: {known}, a table of lab.tasks, or a lab.Task")
        used = _used(runs[0]) if runs else "relu" if isinstance(first, TableTask) else PLAIN[0]
        if phi is None and isinstance(used, Knots):
            phi = Spline(torch.tensor(used.values), used.low, used.high)
        functions = [*PLAIN, *([GIVEN] if phi else []), *(name for name in zoo_files() if "-attention" not in name)]
        self._phi = phi

        self.task = self._about = menu("task", [*((task_title(name), name) for name in tasks.NAMES), *others], first)
        self.mlp = menu("non-linearity", functions, GIVEN if phi else used if used in functions else PLAIN[0])
        self.scale = menu("scale", list(COMMON), check_scale(scale))
        self.width = widgets.SelectionSlider(description="width", options=WIDTHS, style=LABEL)
        self.seeds = widgets.IntSlider(description="seeds", value=3, min=1, max=8, style=LABEL)
        self.steps = widgets.IntSlider(description="steps", min=1, style=LABEL)
        if runs:
            name = used if isinstance(used, str) else GIVEN
            begun = self._lines(_label(runs[0].spec, name), [run.spec for run in runs])
            self._extend(begun, runs.steps, _measured(runs))
            self._reach(int(runs.steps[-1]))
        self.figure = live(self.figure, 400)
        self.arrange(
            [self.task, self.mlp, self.scale],
            [self.width, self.seeds, self.steps],
            [self.train, self.stop, self.clear, self.progress],
            self.figure,
        )
        self.watch(self._defaults, self.task, self.scale)
        self._defaults()
        if runs:  # what Train would do again
            self._ask_for(runs)

    def frames(self) -> Frames:
        """The curves of everything that was measured, accuracies first, the loss last."""
        names = list(dict.fromkeys(name for one in self._drawn for name in one.measured))
        names.sort(key=lambda name: ("accuracy" not in name, name == "loss"))
        figures: dict[str, list[go.Figure | str]] = {_title(name): [_every_run(self._drawn, name)] for name in names}
        return Frames("curves of", figures) if self._drawn else super().frames()

    def specs(self, mlp: str | Spline | None = None) -> list[RunSpec]:
        """The runs that the controls ask for, one a seed; with this non-linearity, if it is not the one of the menu."""
        base = setting(self.task.value, self.scale.value)
        part = as_part(self._function(self.mlp.value) if mlp is None else mlp)
        changes = {"phi" if isinstance(self.task.value, TableTask) else "mlp": part, "width": self.width.value}
        runs = [replace(run, model=replace(run.model, **changes)) for run in base.runs(self.seeds.value)]
        every = min(base.recipe.every, max(1, self.steps.value // POINTS))
        return [replace(run, recipe=replace(run.recipe, stop=self.steps.value, every=every)) for run in runs]

    def contenders(self) -> dict[str, list[RunSpec]]:
        """What is trained when Train is pressed, side by side: for each label its runs."""
        specs = self.specs()
        return {_label(specs[0], self.mlp.value): specs}

    def _function(self, name: str) -> str | Spline:
        """What a name of the menu stands for."""
        if name in PLAIN:
            return name
        return self._phi if name == GIVEN and self._phi is not None else zoo(name)

    def _defaults(self) -> None:
        """Another task or scale: its own width and number of steps."""
        base = setting(self.task.value, self.scale.value)
        self.width.options = sorted({*WIDTHS, base.model.width})
        self.width.value = base.model.width
        self.steps.max = self.steps.value = base.recipe.steps

    def _ask_for(self, runs: Runs) -> None:
        """Set the controls to what these runs are, as far as they go."""
        spec = runs[0].spec
        self.width.options = sorted({*self.width.options, spec.model.width})
        self.width.value = spec.model.width
        for slider, value in ((self.steps, spec.recipe.last), (self.seeds, len(runs))):
            slider.max, slider.value = max(slider.max, value), value

    def _begin(self) -> list[list[RunSpec]]:
        fleets = self.contenders()
        self._growing = [self._lines(label, specs) for label, specs in fleets.items()]
        self._names = [f"{len(specs)} × {label}" for label, specs in fleets.items()]
        self._done, self._died = [0.0] * len(fleets), [0] * len(fleets)
        return list(fleets.values())

    def _lines(self, label: str, specs: list[RunSpec]) -> tuple[Drawn, tuple[go.Scatter, ...]]:
        traces = [_curve(label, self._colour, number, [], []) for number in range(len(specs))]
        for trace, spec in zip(traces, specs, strict=True):
            trace.hovertemplate = f"seed {spec.seed}, step %{{x}}: %{{y:.3g}}"
            trace.legendgroup = f"training {len(self._drawn)}"
        lines = self._add(label, self._colour, specs, traces)
        return self._drawn[-1], lines

    def _extend(
        self, grown: tuple[Drawn, tuple[go.Scatter, ...]], steps: np.ndarray, measured: dict[str, np.ndarray]
    ) -> None:
        """steps (T,), measured (R, T) each: the curves so far."""
        training, lines = grown
        training.steps, training.measured = steps, measured
        split = training.specs[0].evaluate[0]
        training.shown = f"{metric_of(measured, split)}_{split}"
        names = list(dict.fromkeys(one.shown for one in self._drawn if one.shown))
        percent = [name.startswith("accuracy") for name in names]
        unit = 100 if training.shown.startswith("accuracy") else 1
        if len(steps) > len(lines[0].x):
            with self.figure.batch_update():
                axis = {"title_text": " or ".join(map(_title, names)), "range": FULL if all(percent) else None}
                self.figure.update_yaxes(**axis)
                for line, values in zip(lines, measured[training.shown], strict=True):
                    line.x, line.y = steps, unit * values

    def _report(self, number: int, fleet: Fleet) -> None:
        measured = fleet.history.arrays()
        with self.lock:
            steps = measured.pop("steps")
            self._extend(self._growing[number], steps, {name: values.T for name, values in measured.items()})
            self._done[number], self._died[number] = fleet.step / fleet.recipe.last, int((fleet.died >= 0).sum())
            self.progress.value = sum(self._done) / len(self._done)
            so_far = f"step {fleet.step} of {fleet.recipe.last}, {clock(self.progress.value, self._clock)}"
            text = f"{'; '.join(self._names)}: {so_far}"
            if died := sum(self._died):
                text += f"; {died} diverged (their loss was no longer finite)"
            self.say(text)


def _measured(runs: Runs) -> dict[str, np.ndarray]:
    names = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    scores = {name: np.stack([run.scores[name] for run in runs]) for name in names}
    return scores | {"loss": np.stack([run.loss for run in runs])}


def _used(run: Run) -> Resolved:
    """The non-linearity of a run's hidden layers, of the first where each has its own."""
    parts = run.spec.model.parts
    return resolve(next(parts[name] for name in ("mlp", "phi", "phi0") if name in parts), run.store)


def _label(spec: RunSpec, name: str) -> str:
    return f"{task_title(spec.task_name)}, {name}, width {spec.model.width}"


class ContestExplorer(TrainingExplorer):
    """Choose a task, press Train, and one curve a seed grows for each function; each is trained as its kind is in the
    figures of the lab.

    functions: asked when Train is pressed; up to three, Splines or names, by what the curves are to be called.

    >>> import torch
    >>> contest = ContestExplorer(lambda: {"a hat": Spline(torch.tensor([0.0, 1.0, 0.0])), "GELU": "gelu"})
    >>> list(contest.contenders())
    ['Memorize, a hat', 'Memorize, GELU']
    """

    colours = (BLUE, ORANGE, GREY)

    def __init__(
        self, functions: Callable[[], Mapping[str, Spline | str]], task: str = "memorize", scale: str = "laptop"
    ):
        super().__init__(task, scale)
        self._functions = functions
        self.seeds.value = CONTEST_SEEDS
        self.arrange(
            [self.task, self.seeds, self.steps], [self.train, self.stop, self.clear, self.progress], self.figure
        )

    def contenders(self) -> dict[str, list[RunSpec]]:
        """For each function its runs."""
        task = task_title(self.task.value)  # of words: a contest offers no table
        return {f"{task}, {name}": self.specs(function) for name, function in self._functions().items()}

    def _train(self) -> None:
        self._clear()  # a function has one colour; while a training is under way, neither does anything
        super()._train()
