"""SplineExplorer: look at a learned non-linearity, at the inputs that it receives, at others next to it; or edit it."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd
import torch
from torch import Tensor

from lab.catalogue.figure import Figure
from lab.catalogue.zoo import inputs_of
from lab.errors import ArgumentError, LabError, absolute_path, shown
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import left_out, zoo, zoo_curves
from lab.plots.caption import counted
from lab.plots.functions import gelu
from lab.plots.style import method_title
from lab.probes.profile import Profile, Received, profile, received
from lab.tasks.named import task_title
from lab.widgets.course import StepSlider, few, latest
from lab.widgets.editing import EditingExplorer
from lab.widgets.explorer import LABEL, ROW, WIDE, Explorer, button, menu, toggle
from lab.widgets.function_view import FunctionView, described, function_content
from lab.widgets.pages import Content, short

GIVEN, GELU, RELU, EDITED = "your function", "GELU", "ReLU", "edited"
PLAIN, POINTS = (GELU, RELU), 2001  # to compare with, besides the zoo; points of their curves
STEPS = 120  # of the zoom slider
WIDEST = 1.5  # how far one can zoom out, in half-widths of the function's own range

# columns that say which function a row is of, in the order of its name
LABELS: tuple[str, ...] = ("task", "set", "mode", "family", "line", "spectral", "method", "start", "search", "restart")
LABELS += ("layer", "layers", "width", "degree")
NUMBERED = ("search", "restart", "layer", "layers", "width", "degree")
MOST = 60  # functions in a menu


class SplineExplorer(Explorer):
    """A function, its slope, its constant ends, the histogram of its inputs, and other functions behind it.

    phi: a name in the zoo, a Spline, or several by name; None for the zoo's first. Files of the zoo that are no
    function of one variable are not in the menus, and the text below names them. inputs: what it receives, any shape
    (of several: a Received by name); where they are not given, they are looked for in shipped results and in the store.
    edit: begin in editing mode; left with the same button, it adds the edited function to the menus, and `spline` gives
    it. scale: of the trainings that are offered there. courses: by name, the functions after some steps of their
    search, of those that have checkpoints; a slider goes over them, whose name is `unit`. compared: those
    that are drawn behind at first.

    >>> SplineExplorer(Spline.zeros()).function.value
    'your function'
    """

    forgotten = ("folder",)

    def __init__(
        self,
        phi: Spline | str | Mapping[str, Spline] | None = None,
        inputs: Tensor | np.ndarray | Mapping[str, Received | None] | None = None,
        edit: bool = False,
        scale: str = "laptop",
        courses: Mapping[str, Mapping[int, Spline]] | None = None,
        compared: Sequence[str] = (),
        unit: str = "step",
    ):
        super().__init__()
        given = {GIVEN: phi} if isinstance(phi, Spline) else dict(phi) if isinstance(phi, Mapping) else {}
        functions, problems = zoo_curves()
        self._functions = given | functions | given  # those given come first
        self._shared = functions.keys() - given.keys()  # with all explorers: the zoo's
        self._left_out = left_out(problems) if problems else ""
        if isinstance(phi, str) and phi not in functions:
            profile(zoo(phi))  # says which there are, or why this one cannot be shown
        if not self._functions:
            raise ArgumentError("the zoo is empty; give a lab.Spline, for example lab.search('memorize').spline")
        names = list(self._functions)
        first = phi if isinstance(phi, str) else names[0]
        self._profiles = {name: profile(phi) for name, phi in self._functions.items()}
        self._left: EditingExplorer | None = None  # the editor that was used last
        self._received: dict[str, Received | None] = dict(inputs) if isinstance(inputs, Mapping) else {}
        if inputs is not None and not isinstance(inputs, Mapping):
            self._received[first] = received(inputs, self._profiles[first])

        self.function = menu("function", names, first)
        self.zoom = widgets.FloatSlider(description="zoom ±", style=LABEL)
        self.support = button("zoom to support")
        self.support.tooltip = "where 99 % of the inputs are; where these are not known, where the function is not flat"
        self.slope = toggle("slope", "show the slope, too")
        self.random = toggle("random network")
        self.random.tooltip = "what networks with random weights compute with this function, and how complex that is"
        plain = [name for name in PLAIN if name not in names]  # unless a function has that name
        self.others = widgets.SelectMultiple(description="compare with", options=[*plain, *names], rows=4, style=LABEL)
        self.others.tooltip = "hold Ctrl to choose several"
        self.others.value = tuple(compared)
        self._courses = {name: _as_many(course, len(courses or {})) for name, course in (courses or {}).items()}
        self.forgotten = (*self.forgotten, *(() if courses else ("step",)))
        self.step = StepSlider(step for course in self._courses.values() for step in course)
        self.step.description = unit
        self.folder = widgets.Text(description="into", value="out/functions", style=LABEL, layout={"width": "200px"})
        self.export = button("export", "write function (JSON) and picture (HTML)")
        # as far as any may be looked at
        reach = WIDEST * float(np.abs([one.x[[0, -1]] for one in self._profiles.values()]).max())
        x = np.linspace(-reach, reach, POINTS)
        curves = {GELU: gelu(x), RELU: x.clip(0)}
        shown = [described(n, Profile(x, curves[n], np.diff(curves[n]) / np.diff(x), False)) for n in plain]
        shown += [described(*one) for one in self._profiles.items()]
        way = {
            name: {"steps": list(course), "values": short([f.values.tolist() for f in course.values()], 5)}
            for name, course in self._courses.items()
        }
        self.view = FunctionView(functions=shown, first=len(plain), steps=self.step.steps, course=way)
        self._draw()
        self._to_support()
        self.view.follow(function=self.function, compared=self.others, zoom=self.zoom, slope=self.slope, step=self.step)
        self.edit = toggle("edit", "change the function by hand, or look at it again", icon="pencil")
        self.editing: EditingExplorer | None = None
        self._scale = scale
        look = widgets.HBox(
            [self.function, self.zoom, self.support, self.slope, self.random, self.step, self.step.play], layout=ROW
        )
        self._view = widgets.VBox([look, self.view, self.others], layout=WIDE)
        self._place = widgets.VBox(layout=WIDE)  # of the editing explorer
        self.arrange([self.edit, self.export, self.folder], self._view, self._place)
        self.watch(self._draw, self.function)
        self.watch(lambda: self.view.weigh(self.random.value), self.random)
        self.press(self._to_support, self.support)
        self.watch(self._mode, self.edit)
        self.press(self._export, self.export)
        if edit:
            self.edit.value = True

    def _marks(self) -> dict[str, tuple]:
        return {"editing": (lambda: self.editing.state if self.editing else None, self._edit_as)}

    def _edit_as(self, state: Mapping | None) -> None:
        if (state is not None) != self.edit.value:
            raise ArgumentError(f"state: edit={self.edit.value}, but editing={shown(state)}; give both or neither")
        if self.editing is not None and state is not None:
            self.editing.state = state

    @property
    def spline(self) -> Spline:
        """The function that is shown, as edited."""
        return self.editing.spline if self.editing else self._spline(self.function.value)

    @property
    def shape(self) -> Profile:
        """The function that is shown."""
        return self._profiles[self.function.value]

    @property
    def received(self) -> Received | None:
        """The inputs of the function that is shown, where they are known."""
        name = self.function.value
        if name not in self._received:  # a search through results and store: once for each function
            self._received[name] = inputs_of(self._functions[name])
        return self._received[name]

    def _spline(self, name: str) -> Spline:
        """A function, as it was after the chosen step."""
        course = self._courses.get(name)
        function = list(course.values())[latest([*course], self.step.value)] if course else self._functions[name]
        return deepcopy(function) if name in self._shared else function

    def _draw(self) -> None:
        """Another function, which the page has: how far one may zoom, its inputs, and what is said of it."""
        shape, inputs = self.shape, self.received  # which are looked for
        reach = WIDEST * (shape.high - shape.low) / 2
        if self.zoom.max != reach:  # the first function, or one with another range
            with self.zoom.hold_trait_notifications():
                self.zoom.min, self.zoom.max, self.zoom.step = reach / STEPS, reach, reach / STEPS
                self.zoom.value = reach / WIDEST
        self.view.inputs = {name: short(one.share) for name, one in self._received.items() if one is not None}
        inside = f"{len(shape.x)} knots on [{shape.low:g}, {shape.high:g}], linear between them, constant outside. "
        known = (
            f"Inputs: {inputs.source}." if inputs else "Its inputs are not shown: no model trained with it is at hand."
        )
        way = (
            f"The slider goes through {counted(len(self.step.steps), 'checkpoint')} of the search."
            if self._courses
            else ""
        )
        self.say("\n".join(filter(None, [inside.replace("-", "−") + known, way, self._left_out])))

    def _mode(self) -> None:
        """Into the editing mode, or back."""
        if self.edit.value:
            name = self.function.value
            if name != EDITED or self._left is None:
                self._left = EditingExplorer(self._spline(name), name, self._scale)
            self.editing = self._left  # with what undo goes back to, where the edited function is edited further
            self._place.children = [self.editing]
            self.say("")
        else:
            self._take()
            self._place.children, self.editing = (), None
        self._view.layout.display = "none" if self.edit.value else None

    def _take(self) -> None:
        """The edited function, if it is another one, becomes one of the menus, and is the one that is shown."""
        if self.editing is None or not (self.editing.changed or self.function.value == EDITED):
            return
        self._functions[EDITED] = self.editing.spline
        self._profiles[EDITED] = profile(self.editing.spline)
        self._received.pop(EDITED, None)  # of an earlier one
        with self.quietly():
            if EDITED not in self.function.options:
                chosen, self.others.options = self.others.value, [*self.others.options, EDITED]
                self.others.value = chosen  # new options forget what was chosen
                self.function.options = [*self.function.options, EDITED]
            before = [f for f in self.view.functions if f["name"] != EDITED]
            self.view.functions = [*before, described(EDITED, self._profiles[EDITED])]
            self.function.value = EDITED
        self._draw()

    def _to_support(self) -> None:
        shape, inputs = self.shape, self.received
        low, high = inputs.central() if inputs else shape.support()
        middle = (shape.high + shape.low) / 2
        self.zoom.value = min(1.1 * max(high - middle, middle - low), self.zoom.max)

    def content(self) -> Content:
        """The function, to be compared and changed further, with all functions of the menus."""
        if self.editing:
            self._take()
        view = self.view.data()
        number, shown = view["first"] + view["function"], list(view["functions"])
        shown[number] = described(self.function.value, self.shape, self.received)
        state = {name: view[name] for name in ("zoom", "slope", "random", "steps", "step", "course")}
        state["unit"] = self.step.description
        state["compared"] = [one for one in view["compared"] if one != number]
        return function_content(shown, function=number, **state)

    def _table(self) -> dict[str, list]:
        phi = self.spline
        return {"x": phi.positions.tolist(), "value": phi.values.tolist()}

    def _export(self) -> None:
        if self.editing:
            self._take()
        self.say("") if self.editing else self._draw()  # where this fails, "written" must not stay
        folder = absolute_path("into", self.folder.value)
        name = self.function.value.replace("/", "-").replace(" ", "-")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._spline(self.function.value).save(folder / f"{name}.json")
            self.save(folder / f"{name}.html")
        except OSError as error:
            raise LabError(f"cannot write to {shown(str(folder))} ({error.strerror}); name another folder") from error
        self.say(f"written: {folder / name}.json and .html")


def _as_many(course: Mapping[int, Spline], several: int) -> dict[int, Spline]:
    """As many steps of a search, in their order, as a page can hold."""
    steps = sorted(course)
    shown = few(len(steps), several * course[steps[0]].values.numel())
    return {steps[number]: course[steps[number]] for number in shown}


def functions(figure: Figure) -> tuple[dict[str, Spline], dict[str, Received]]:
    """The functions of a figure by name, and the inputs of those whose inputs are known. Of several restarts that
    found one, those that were chosen.

    >>> from lab.catalogue.build import figure
    >>> splines, inputs = functions(figure("transformers/fig6", scale="smoke", progress=False))
    >>> splines["Mano"], inputs["Mano"].share.shape
    (Spline((361,) knots on [-20, 20]), (361,))
    """
    table = points_of(figure)
    assert table is not None  # a figure of functions
    if "chosen" in table and table["chosen"].any():
        table = table[table["chosen"].astype(bool)]
    labels = [name for name in LABELS if name in table and table[name].nunique() > 1]
    splines, inputs = {}, {}
    groups = table.groupby(labels, sort=False, dropna=False) if labels else [((), table)]
    for values, rows in list(groups)[:MOST]:
        rows = rows.drop_duplicates("x").sort_values("x")
        x, y = rows["x"].to_numpy(float), rows["value"].to_numpy(float)
        if len(x) < 2 or not np.isfinite(y).all() or not np.allclose(np.diff(x), np.diff(x)[0], rtol=1e-2):
            continue
        name = ", ".join(_word(*pair) for pair in zip(labels, values, strict=True)) or "the function"
        splines[name] = Spline(torch.tensor(y, dtype=torch.float32), float(x[0]), float(x[-1]))
        share = rows["density"].to_numpy(float) if "density" in rows else np.zeros(1)
        if share.sum() > 0:  # a diverged model receives nothing that could be counted
            inputs[name] = Received(x, share / share.sum(), f"{name} model of {figure.name}, scale {figure.scale}")
    return splines, inputs


def points_of(figure: Figure) -> pd.DataFrame | None:
    """The table that has functions, point by point; None where none has."""
    for table in (figure.table, figure.extras.get("functions")):
        if table is not None and {"x", "value"} <= set(table) and "y" not in table:
            return table
    return None


def _word(label: str, value: Any) -> str:
    if label in NUMBERED:
        return f"{label} {value}"
    return task_title(value) if label == "task" else method_title(str(value)) if label == "method" else str(value)
