"""Things of one kind by name: functions over each other, runs on one plane, and two explorers side by side."""

import html
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import ipywidgets as widgets
import numpy as np

from lab.errors import ArgumentError, described
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.table import Learnable
from lab.run import Run, Runs
from lab.search_results import EpisodeResult
from lab.spec import OwnTask
from lab.tasks.table import TableTask
from lab.widgets.course import StepSlider
from lab.widgets.explorer import Explorer, side_by_side
from lab.widgets.landscape import LandscapeExplorer
from lab.widgets.latent import LatentExplorer
from lab.widgets.model import DataExplorer, ModelExplorer
from lab.widgets.pages import Content, PageView, view_content
from lab.widgets.result import ConnectivityExplorer, ResultExplorer
from lab.widgets.slices import SliceExplorer
from lab.widgets.spline import GIVEN, SplineExplorer

KNOTS = 801  # of a function that learns, on [-20, 20]
HALF = 330  # px: where a page has less for each, one stands below the other
SHARED = ("chosen",)  # traits of views: both show the same example
PAIRED = (LatentExplorer, LandscapeExplorer, ConnectivityExplorer, ModelExplorer, DataExplorer, ResultExplorer)
WHAT = "two runs on SRAVEN or fuzzy logic, landscapes, models with inputs=, data or results can stand side by side"


def functions(x: Mapping[str, Any], splines: Mapping[str, Spline], **given: Any) -> SplineExplorer:
    """Functions over each other, with one slider over the checkpoints of their searches. splines: what they are."""
    courses = {}
    for name, search in x.items():
        if getattr(search, "has_checkpoints", False):
            part = next(iter(search.splines))
            courses[str(name)] = {step: search.at(step)[part] for step in search.checkpoints.tolist()}
    splines = {name: splines[name] for name in sorted(splines, key=lambda name: name not in courses)}  # these first
    units = {"episode" if isinstance(x[name], EpisodeResult) else "step" for name in x if str(name) in courses}
    unit = " or ".join(sorted(units)) or "step"
    return SplineExplorer(splines, courses=courses, compared=list(splines)[1:], unit=unit, **given)


def learning(run: Run, step: int | None = None) -> Spline | None:
    """The function of a run that learns with its weights (`xielu`, …), as a spline through it; None where none does."""
    phi = next((part for part in run.model(step).modules() if isinstance(part, Learnable)), None)
    if phi is None:
        return None
    return Spline.from_function(lambda x: phi(x[None])[0], knots=KNOTS)


def learns(x: Any) -> bool:
    """Whether x is a run that kept checkpoints, of an algorithmic task, and one whose function learns."""
    run = x[0] if isinstance(x, Runs) and len(x) else x
    fits = isinstance(run, Run) and isinstance(run.spec.task, (str, OwnTask)) and run.has_checkpoints
    return fits and learning(run) is not None


def function_of_run(x: Any) -> SplineExplorer:
    """How the function of a run comes about."""
    run = x[0] if isinstance(x, Runs) else x
    steps = run.checkpoints.tolist()
    course = {step: cast(Spline, learning(run, step)) for step in steps}
    return SplineExplorer({GIVEN: course[steps[-1]]}, courses={GIVEN: course})


def slices(x: Any) -> SliceExplorer:
    """Runs on a table, on one plane of its inputs, with one slider over their checkpoints; also by name."""
    runs = {str(name): run[0] if isinstance(run, Runs) else run for name, run in _by_name(x).items()}
    if len({run.spec.task for run in runs.values()}) > 1:
        names = ", ".join(dict.fromkeys(run.spec.task_name for run in runs.values()))
        raise ArgumentError(
            f"these runs are of several tables ({names}), which have no plane in common; give runs of one"
        )
    first = next(iter(runs.values())).spec
    points = first.task.split(first.task_seed)["train"].inputs
    low, high = float(points.min()), float(points.max())
    return SliceExplorer(runs, points, bounds=(low, max(high, low + 1e-6)), common=len(runs) > 1)


def has_slices(x: Any, by_name: bool) -> bool:
    """Whether x is runs, also by name, on tables of two inputs or more, some with checkpoints."""
    if isinstance(x, dict) != by_name:
        return False
    runs = [run[0] if isinstance(run, Runs) and len(run) else run for run in _by_name(x).values()]
    on_tables = [isinstance(run, Run) and isinstance(run.spec.task, TableTask) for run in runs]
    return (
        bool(runs)
        and all(on_tables)
        and all(run.spec.task.inputs > 1 for run in runs)
        and any(run.has_checkpoints for run in runs)
    )


def _by_name(x: Any) -> dict[str, Any]:
    return x if isinstance(x, dict) else {"the model": x}


class PairExplorer(Explorer):
    """Two explorers of one kind next to each other, under the controls of the first, which both obey: latent maps of
    the same problems, landscapes on the same axes with the same shades, models on the same inputs, results.

    things: two, by name. alone: makes the explorer of one.

    >>> import torch
    >>> from lab import probes
    >>> size, model = {"size": lambda model: float(model.weight.norm())}, torch.nn.Linear(2, 1)
    >>> planes = {f"radius {r}": probes.landscape(model, size, "random", grid=3, radius=r) for r in (1, 2)}
    >>> PairExplorer(planes, LandscapeExplorer).heading
    'radius 1 and radius 2'
    """

    def __init__(self, things: Mapping[str, Any], alone: Callable[[Any], Explorer]):
        super().__init__()
        if len(things) != 2:
            said = f"{len(things)} things by name: two stand side by side"
            raise ArgumentError(f"{said}, as {{'GELU': a, 'learned': b}}; functions, and runs on a text, may be more")
        check_alike(*things.values())
        self.names = list(map(str, things))
        self.both = [alone(one) for one in things.values()]
        first, second = self.both
        if type(first) is not type(second) or not isinstance(first, PAIRED):
            kinds = " and a ".join(dict.fromkeys(type(one).__name__ for one in self.both))
            raise ArgumentError(f"a {kinds} cannot be shown by name: {WHAT}")
        if isinstance(first, LandscapeExplorer):
            for one in self.both:
                one.map.observe(lambda _: self._on_one_scale(), "land")
                one.x.layout.display = one.y.layout.display = "none"  # each has a point of its own
            self._on_one_scale()
        common, other_choices = [], []
        theirs = list(filter(_is_row, second.children))
        for row, other in zip(filter(_is_row, first.children), theirs, strict=False):
            linked = [_link(*pair) for pair in zip(row.children, other.children, strict=False)]
            if any(linked):
                common += [row, other]
                pairs = zip(other.children, linked, strict=False)
                other_choices += [c for c, done in pairs if not done and hasattr(c, "options")]
        for view, other in zip(self.views[:1], self.views[1:], strict=False):
            view.steps = other.steps = next((c.steps for c in _controls(first) if isinstance(c, StepSlider)), [])
            for trait in filter(view.has_trait, SHARED):
                _together(view, other, trait)
        columns = []
        for name, one in zip(self.names, self.both, strict=True):
            shown = [part for part in one.children if part is not one.tools and part not in common]
            spare = other_choices if one is second else []
            columns.append([widgets.HTML(f"<b>{html.escape(name)}</b>"), *spare, *shown])
        self.children = [*common[::2], side_by_side(*columns, least=HALF), self.error, self.tools]
        for number, part in enumerate(self.children):  # as `arrange` counts them
            part.layout.order = str(2 * number)

    @property
    def heading(self) -> str:
        """Both names."""
        return " and ".join(self.names)

    @property
    def views(self) -> list[PageView]:
        """What the page draws by itself, of both."""
        parts = [getattr(one, "map", None) for one in self.both]
        return [view for view in parts if isinstance(view, PageView)]

    def _on_one_scale(self) -> None:
        lands = [one.landscape for one in self.both]
        frame = [_ends([getattr(land, axis) for land in lands]) for axis in "xy"]
        ranges = {name: _scale([land.values[name] for land in lands]) for name in lands[0].values}
        for view in self.views:
            with view.hold_sync():
                view.frame, view.ranges = frame, ranges

    def wait(self, timeout: float | None = None) -> bool:
        """As of an explorer: for both."""
        return all([one.wait(timeout) for one in self.both])

    def _controls_kept(self) -> dict[str, Any]:
        return self.both[0]._controls_kept()

    def _marks(self) -> dict[str, tuple]:
        return self.both[0]._marks()

    def content(self) -> Content:
        """Both, under controls that both obey, as far as they need no kernel; else what is seen."""
        if not self.views:
            return super().content()
        one, other = self.views
        traits = [trait for *_, trait in one._links if trait not in ("px", "py")] + list(filter(one.has_trait, SHARED))
        second = {"names": self.names, "linked": traits, "state": other.data()}
        words, said = "", set[str]()
        for name, each in zip(self.names, self.both, strict=True):  # what is said of both, once
            sentences = [one for one in re.sub("<[^>]*>", "", each.status.value).split(". ") if one not in said]
            text = ". ".join(sentences).rstrip(".")
            words += f"<p><b>{html.escape(name)}</b> {text}.</p>" if text else ""
            said.update(sentences)
        return view_content(self.heading, one, self.code(), words, second=second)


def check_alike(one: Any, other: Any) -> None:
    """Say what does not fit together before anything is computed."""
    if type(one) is not type(other) and not isinstance(one, type(other)) and not isinstance(other, type(one)):
        raise ArgumentError(f"{described(one)} and {described(other)} by name: give two things of one kind; {WHAT}")
    if isinstance(one, Run) and isinstance(other, Run) and one.spec.task != other.spec.task:
        names = sorted({one.spec.task_name, other.spec.task_name})
        what = " and ".join(names) if len(names) > 1 else f"two kinds of {names[0]}"
        raise ArgumentError(f"these runs are of {what}, and have no problems in common; give runs of one task")
    measures = [list(values) for each in (one, other) if isinstance(values := getattr(each, "values", None), dict)]
    if len(measures) == 2 and measures[0] != measures[1]:
        named = " and ".join(", ".join(names) for names in measures)
        raise ArgumentError(f"these landscapes have other measures, {named}; give two of the same")


def _is_row(part: widgets.Widget) -> bool:
    """Whether a part of an explorer is a row of controls (`Explorer.arrange`)."""
    return isinstance(part, widgets.HBox) and part.layout.align_items == "center"


def _controls(explorer: Explorer) -> list[widgets.Widget]:
    return [control for part in explorer.children if _is_row(part) for control in part.children]


def _link(one: widgets.Widget, other: widgets.Widget) -> bool:
    """Let two controls go together; False where they are none, or have other choices."""
    if isinstance(one, StepSlider) and isinstance(other, StepSlider):
        one.widen(other.steps)
        other.widen(one.steps)
    settable = one.has_trait("value") and not isinstance(one, (widgets.HTML, widgets.Play, widgets.FloatProgress))
    choices = [[getattr(control, name, None) for name in ("options", "min", "max")] for control in (one, other)]
    if not settable or choices[0] != choices[1] or one.layout.display == "none":
        return False
    _together(one, other, "index" if one.has_trait("index") else "value")
    return True


def _together(one: widgets.Widget, other: widgets.Widget, trait: str) -> None:
    """Here, and in the page, so that it need not ask."""
    widgets.link((one, trait), (other, trait))
    widgets.jslink((one, trait), (other, trait))


def _scale(parts: list[np.ndarray]) -> list[float]:
    """Least and most, and the least number above 0, with which a scale of logarithms begins."""
    above = [part[part > 0] for part in parts]
    return _ends(parts) + (_ends(above)[:1] if any(map(len, above)) else [])


def _ends(parts: list[np.ndarray]) -> list[float]:
    numbers = np.concatenate([part[np.isfinite(part)] for part in map(np.asarray, parts)])
    return [float(numbers.min()), float(numbers.max())] if len(numbers) else [0.0, 1.0]
