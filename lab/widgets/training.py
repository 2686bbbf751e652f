"""TrainingExplorer: train a small model live, with any non-linearity, and watch its seeds learn."""

from __future__ import annotations

import time
from collections.abc import Sequence

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import torch

from lab import tasks
from lab.errors import ArgumentError, described
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import zoo, zoo_names
from lab.papers.simplicity.defaults import TableSetting, of_table
from lab.papers.transformers.defaults import named, of_sequences
from lab.papers.transformers.settings import Setting
from lab.plots.panels import ACCURACY, FULL, STEP
from lab.plots.style import SEQUENCE, TEMPLATE
from lab.resolve import resolve
from lab.run import Run, Runs
from lab.scale import COMMON, check_scale
from lab.spec import Knots, OwnTask, Resolved, RunSpec, replace
from lab.tasks import Task
from lab.tasks.named import task_title
from lab.tasks.table import TableTask
from lab.training.fleet import Fleet
from lab.training.live import Live
from lab.widgets.drawn import Drawn, curves, heading_of
from lab.widgets.explorer import LABEL, Explorer, Frames
from lab.widgets.live_figure import live

PLAIN = ("gelu", "relu", "identity")
GIVEN = "your function"
WIDTHS = (8, 16, 32, 64, 128)
POINTS = 40  # evaluations in a training, at least: its curve should be seen to grow


class TrainingExplorer(Explorer):
    """Choose a task and a non-linearity, press Train, and one accuracy curve a seed grows; trainings overlay.

    task: what to begin with: a task's name, a table (`lab.tasks`), a `lab.Task`, or runs on one of these to compare
    with. phi: a function to offer next to those of the zoo; the runs' own where they have one.
    Hyper-parameters are those of the figures at this scale, unless width or steps are changed. Nothing is stored:
    `lab.train` stores.

    >>> TrainingExplorer("addmod", scale="smoke").task.value
    'addmod'
    """

    colours: Sequence[str] = SEQUENCE  # of trainings, in their order

    def __init__(
        self, task: str | TableTask | Task | Runs = "memorize", scale: str = "laptop", phi: Spline | None = None
    ):
        super().__init__()
        runs = task if isinstance(task, Runs) else None
        if runs is not None and not runs:
            raise ArgumentError("no runs were given; give at least one, for example lab.train('memorize')")
        first = named(task) if isinstance(task, Task) else task[0].spec.task if isinstance(task, Runs) else task
        others = [(first.name, first)] if isinstance(first, (TableTask, OwnTask)) else []
        if not others and not (isinstance(first, str) and first in tasks.NAMES):
            known = ", ".join(tasks.NAMES)
            raise ArgumentError(f"unknown task {described(first)}; known: {known}, a table of lab.tasks, or a lab.Task")
        used = _used(runs[0]) if runs else "relu" if isinstance(first, TableTask) else PLAIN[0]
        if phi is None and isinstance(used, Knots):
            phi = Spline(torch.tensor(used.values), used.low, used.high)
        functions = [*PLAIN, *([GIVEN] if phi else []), *(name for name in zoo_names() if "-attention" not in name)]
        self._phi = phi
        self._drawn: list[Drawn] = []  # what the figure shows
        self._live: Live | None = None

        named_tasks = [*((task_title(name), name) for name in tasks.NAMES), *others]
        self.task = widgets.Dropdown(description="task", options=named_tasks, style=LABEL)
        self.task.value = first
        self.mlp = widgets.Dropdown(description="non-linearity", options=functions, style=LABEL)
        self.mlp.value = GIVEN if phi else used if used in functions else PLAIN[0]
        self.scale = widgets.Dropdown(description="scale", options=list(COMMON), value=check_scale(scale), style=LABEL)
        self.width = widgets.SelectionSlider(description="width", options=WIDTHS, style=LABEL)
        self.seeds = widgets.IntSlider(description="seeds", value=3, min=1, max=8, style=LABEL)
        self.steps = widgets.IntSlider(description="steps", min=1, style=LABEL)
        self.train = widgets.Button(description="Train", button_style="primary")
        self.stop = widgets.Button(description="Stop", disabled=True)
        self.clear = widgets.Button(description="Clear", tooltip="remove all curves")
        self.progress = widgets.FloatProgress(max=1.0, layout={"width": "200px"})
        self.figure = learning_frame()
        if runs:
            name = used if isinstance(used, str) else GIVEN
            begun = self._begin(_label(runs[0].spec, name), [run.spec for run in runs])
            self._extend(begun, runs.steps, _measured(runs))
            reach(self.figure, int(runs.steps[-1]))
        self.figure = live(self.figure, height=400)
        self.arrange(
            [self.task, self.mlp, self.scale],
            [self.width, self.seeds, self.steps],
            [self.train, self.stop, self.clear, self.progress],
            self.figure,
        )
        self.watch(self._defaults, self.task, self.scale)
        self.press(self._train, self.train)
        self.press(self._stop, self.stop)
        self.press(self._clear, self.clear)
        self._defaults()
        if runs:  # what Train would do again
            self._ask_for(runs)

    @property
    def heading(self) -> str:
        """What was trained; before that, what could be."""
        return heading_of(self._drawn) or f"Training on {self.task.label}"

    def settings(self) -> list[tuple[str, str]]:
        """How the runs that are drawn were trained: the controls say what would be trained next."""
        return [one.setting for one in self._drawn]

    def frames(self) -> Frames:
        """The curves of everything that was measured."""
        return Frames("curves of", curves(self._drawn)) if self._drawn else super().frames()

    def specs(self, mlp: str | Spline | None = None) -> list[RunSpec]:
        """The runs that the controls ask for, one a seed; with this non-linearity, if it is not the one of the menu."""
        base, part = self._setting(), as_part(self._function(self.mlp.value) if mlp is None else mlp)
        changes = {"phi" if isinstance(base, TableSetting) else "mlp": part, "width": self.width.value}
        runs = [replace(run, model=replace(run.model, **changes)) for run in base.runs(self.seeds.value)]
        every = min(base.recipe.every, max(1, self.steps.value // POINTS))
        return [replace(run, recipe=replace(run.recipe, stop=self.steps.value, every=every)) for run in runs]

    def contenders(self) -> dict[str, list[RunSpec]]:
        """What is trained when Train is pressed, side by side: for each label its runs."""
        specs = self.specs()
        return {_label(specs[0], self.mlp.value): specs}

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the training that is under way has ended; whether it has."""
        return self._live is None or self._live.join(timeout)

    def _function(self, name: str) -> str | Spline:
        """What a name of the menu stands for."""
        if name in PLAIN:
            return name
        return self._phi if name == GIVEN and self._phi is not None else zoo(name)

    def _setting(self) -> Setting | TableSetting:
        """Hyper-parameters of the task at the scale."""
        task = self.task.value
        return of_table(task, self.scale.value) if isinstance(task, TableTask) else of_sequences(task, self.scale.value)

    def _defaults(self) -> None:
        """Another task or scale: its own width and number of steps."""
        base = self._setting()
        self.width.options = sorted({*WIDTHS, base.model.width})
        self.width.value = base.model.width
        self.steps.max = base.recipe.steps
        self.steps.value = base.recipe.steps

    def _ask_for(self, runs: Runs) -> None:
        """Set the controls to what these runs are, as far as they go."""
        spec = runs[0].spec
        self.width.options = sorted({*self.width.options, spec.model.width})
        self.width.value = spec.model.width
        self.steps.max = max(self.steps.max, spec.recipe.last)
        self.steps.value = spec.recipe.last
        self.seeds.max = max(self.seeds.max, len(runs))
        self.seeds.value = len(runs)

    def _train(self) -> None:
        if self.train.disabled:  # the page sends each of several quick clicks
            return
        fleets = self.contenders()
        self._growing = [self._begin(label, specs) for label, specs in fleets.items()]
        reach(self.figure, self.steps.value)
        self.train.disabled, self.clear.disabled, self.stop.disabled = True, True, False
        self._names = [f"{len(specs)} × {label}" for label, specs in fleets.items()]
        self._done, self._died, self._clock = [0.0] * len(fleets), [0] * len(fleets), time.monotonic()
        self._live = Live(list(fleets.values()), self._report, self._end).start()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _clear(self) -> None:
        if self.train.disabled:  # its lines are still drawn
            return
        self.figure.data, self._drawn, self.figure.layout.xaxis.range = (), [], None
        invite(self.figure)
        self.progress.value = 0.0
        self.say("")

    def _begin(self, label: str, specs: list[RunSpec]) -> tuple[Drawn, tuple[go.Scatter, ...]]:
        """A new line for each run, in a colour of their own."""
        colour = self.colours[len(self._drawn) % len(self.colours)]
        group = f"training {len(self._drawn)}"
        traces = [
            go.Scatter(x=[], y=[], name=label, hovertemplate=f"seed {spec.seed}, step %{{x}}: %{{y:.1f}} %")
            for spec in specs
        ]
        for trace in traces:
            trace.update(legendgroup=group, showlegend=trace is traces[0], mode="lines+markers", marker={"size": 4})
            trace.line.update(color=colour, width=1.5)
        self.figure.layout.annotations = ()
        self.figure.add_traces(traces)
        self._drawn.append(Drawn(label, colour, specs))
        return self._drawn[-1], self.figure.data[-len(specs) :]

    def _extend(
        self, grown: tuple[Drawn, tuple[go.Scatter, ...]], steps: np.ndarray, measured: dict[str, np.ndarray]
    ) -> None:
        """steps (T,), measured (R, T) each: the curves so far."""
        training, lines = grown
        training.steps, training.measured = steps, measured
        accuracy = measured[f"accuracy_{training.specs[0].evaluate[0]}"]
        if len(steps) > len(lines[0].x):
            with self.figure.batch_update():
                for line, values in zip(lines, accuracy, strict=True):
                    line.x, line.y = steps, 100 * values

    def _report(self, number: int, fleet: Fleet) -> None:
        """Called from the training thread."""
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

    def _end(self, error: Exception | None) -> None:
        """Called from the training thread."""
        with self.lock:
            self.train.disabled, self.clear.disabled, self.stop.disabled = False, False, True
            if error is not None:
                self.error.show(error)


def _measured(runs: Runs) -> dict[str, np.ndarray]:
    """Everything that was measured of all runs, (R, T) each."""
    names = [name for name in runs[0].scores if all(name in run.scores for run in runs)]
    scores = {name: np.stack([run.scores[name] for run in runs]) for name in names}
    return scores | {"loss": np.stack([run.loss for run in runs])}


def _used(run: Run) -> Resolved:
    """The non-linearity of a run's hidden layers, of the first where each has its own."""
    parts = run.spec.model.parts
    return resolve(next(parts[name] for name in ("mlp", "phi", "phi0") if name in parts), run.store)


def _label(spec: RunSpec, name: str) -> str:
    return f"{task_title(spec.task_name)}, {name}, width {spec.model.width}"


def invite(figure: go.Figure) -> None:
    """Say in an empty figure how it gets its curves."""
    middle = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper"}
    figure.layout.annotations = [{"text": "press Train to see curves grow", "showarrow": False, **middle}]


def reach(figure: go.Figure, steps: int) -> None:
    """Let the axis of steps go so far, or farther where it does, so that it stays while curves grow."""
    figure.layout.xaxis.range = (0, max(steps, (figure.layout.xaxis.range or (0, 0))[1]))


def clock(share: float, start: float) -> str:
    """How long it has taken since `start`, and how long it will: share: what is done.

    >>> clock(0.25, time.monotonic() - 30), clock(1.0, time.monotonic() - 30)
    ('30 s, about 90 s left', '30 s')
    """
    seconds = time.monotonic() - start
    return f"{seconds:.0f} s" + (f", about {seconds * (1 - share) / share:.0f} s left" if 0 < share < 1 else "")


def learning_frame(accuracy: str = ACCURACY) -> go.Figure:
    """Axes for curves of accuracy, and how to get curves."""
    figure = go.Figure()
    figure.update_layout(
        template=TEMPLATE,
        margin={"t": 20},
        legend={"x": 0, "y": 1.02, "yanchor": "bottom"},  # outside, so that its lines push the plot down
        showlegend=True,
        xaxis={"title": STEP, "rangemode": "tozero"},
        yaxis={"title": accuracy, "range": FULL},
    )
    invite(figure)
    return figure
