"""LandscapeExplorer: two measures over one plane of weight space; click, and see the network that stands there."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
import traitlets
from plotly.colors import sequential
from torch import Tensor

from lab.plots.landscape import SIDES, axis_title, choose, fill, surface
from lab.probes.calling import function_of, slice_2d
from lab.probes.landscape import Landscape
from lab.training.live import one_thread
from lab.widgets import pages
from lab.widgets.course import CourseView, StepSlider, latest
from lab.widgets.explorer import LABEL, WIDE, Explorer, menu, toggle
from lab.widgets.pages import Content, live, short, view_content
from lab.widgets.slices import Cut, SlicesView

GIVEN = "your directions"
PLANES = {
    "principal (PCA)": ("pca", ""),
    "sharpest (Hessian)": ("hessian", ""),
    "random, by neuron": ("random", "filter"),
    "random, by layer": ("random", "layer"),
    "random, as a whole": ("random", "global"),
}
RADII = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
COARSE, FINE = 12, 60  # points on a side: of a landscape as it is shown first, of a slice
STEPS = 100  # of a slider along an axis
SLICED = ("at the chosen point", "the model itself (star)")


class LandscapeView(CourseView):
    """Two measures and the chosen point; what the traits hold is said in `page/landscape.js`."""

    name, _esm = "landscape", pages.widget("landscape.js")

    land = traitlets.Dict().tag(sync=True)
    left = traitlets.Int(0).tag(sync=True)
    right = traitlets.Int(0).tag(sync=True)
    logarithm = traitlets.Bool(False).tag(sync=True)
    px = traitlets.Float(0.0).tag(sync=True)
    py = traitlets.Float(0.0).tag(sync=True)
    frame: traitlets.List = traitlets.List().tag(sync=True)
    ranges = traitlets.Dict().tag(sync=True)
    colours = traitlets.List(traitlets.Unicode(), list(sequential.Cividis)).tag(sync=True)


def as_read(landscape: Landscape) -> dict[str, Any]:
    """A landscape as the page reads it."""
    return {
        "x": landscape.x.tolist(),
        "y": landscape.y.tolist(),
        "values": {name: [short(row) for row in values] for name, values in landscape.values.items()},
        "trajectory": [] if landscape.trajectory is None else [short(point) for point in landscape.trajectory],
        "axes": [axis_title(landscape, number) for number in range(2)],
        "steps": steps_of(landscape),
    }


def steps_of(landscape: Landscape) -> list[int]:
    """After which its checkpoints were kept; their numbers, where this is not known."""
    steps = getattr(landscape.checkpoints, "steps", None)
    return list(
        range(0 if landscape.trajectory is None else len(landscape.trajectory)) if steps is None else map(int, steps)
    )


class Planes:
    """Controls for the plane, its radius and its random directions; and the landscape over what they ask for.

    given: the landscape that is there; others have its model, measures and checkpoints. explorer: whose lock is held
    while something is shown, and where errors show. show: is called with a landscape, the lock held.
    """

    def __init__(self, given: Landscape, explorer: Explorer, show: Callable[[Landscape], None]):
        self._given, self._explorer, self._show = given, explorer, show
        asked = given.asked
        there = [name for name, (kind, _) in PLANES.items() if kind != "pca" or given.trajectory is not None]
        kind = asked["directions"] if isinstance(asked["directions"], str) else None
        wanted = (kind, asked["normalize"] if kind == "random" else "")
        named = [name for name in there if PLANES[name] == wanted]
        options = there if named else [GIVEN, *there]
        radii = sorted({*RADII, asked["radius"]})
        self.plane = menu("plane", options, (named or [GIVEN])[0])
        self.radius = widgets.SelectionSlider(description="radius", options=radii, value=asked["radius"], style=LABEL)
        self.seed = widgets.IntSlider(description="directions", max=max(9, asked["seed"]), style=LABEL)
        self.seed.value = asked["seed"]
        self.seed.tooltip = "other random directions"
        self.progress = widgets.FloatProgress(max=1.0, layout={"width": "120px", "visibility": "hidden"})
        self.seed.disabled = not self._is_random
        self._wanted = self.key
        self.known = {self.key: given}

    @property
    def key(self) -> tuple[str, float, int]:
        """What the controls ask for: a seed makes a difference for random planes only."""
        return self.plane.value, self.radius.value, self.seed.value if self._is_random else 0

    @property
    def _is_random(self) -> bool:
        return self.plane.value in PLANES and PLANES[self.plane.value][0] == "random"

    def ask(self) -> None:
        """Another plane: shown at once where it is known, else computed, first coarsely."""
        key = self._wanted = self.key
        self.seed.disabled = not self._is_random
        self.progress.layout.visibility = "hidden" if key in self.known else "visible"
        if key in self.known:
            self._show(self.known[key])
        else:
            self.progress.value = 0.0
            thread = threading.Thread(target=self._compute, args=(key,), name="lab landscape", daemon=True)
            self._explorer.worker = thread
            thread.start()

    def _compute(self, key: tuple[str, float, int]) -> None:
        """In a thread of its own; ends early when another plane is wanted."""
        whole = len(self._given.x)
        grids = sorted({min(COARSE, whole), whole})
        before, points = 0, sum(grid**2 for grid in grids)

        def report(done: int, of: int) -> None:
            if self._wanted != key:
                raise _Stale
            self.progress.value = (before + done / of * grid**2) / points

        plane, radius, seed = key
        asked = {"radius": radius, "seed": seed, "progress": report}
        if plane != GIVEN:
            asked["directions"], normalize = PLANES[plane]
            asked |= {"normalize": normalize} if normalize else {}
        try:
            for grid in grids:
                with one_thread():
                    landscape = self._given.again(grid=grid, **asked)
                before += grid**2
                with self._explorer.safely():
                    if self._wanted == key:
                        self._show(landscape)
            self.known[key] = landscape
        except _Stale:
            return
        except Exception as error:  # a thread has nobody above it who would see it
            with self._explorer.lock:
                self._explorer.error.show(error)
        with self._explorer.lock:
            if self._wanted == key:
                self.progress.layout.visibility = "hidden"


class _Stale(Exception):
    """Another plane is wanted."""


class LandscapeExplorer(Explorer):
    """Loss and complexity side by side, the training on them; below, the function of the network at the chosen point.

    landscape: what `probes.landscape` returned; other planes and radii are computed in the background, with its model,
    measures and checkpoints. points (N, inputs): data to slice functions at; by default those of its measures. A point
    is chosen with the mouse, the sliders, or as the one nearest to a checkpoint.

    >>> import torch
    >>> from lab import probes
    >>> measures = {"complexity": probes.Variation(torch.rand(20, 2), paths=5)}
    >>> LandscapeExplorer(probes.landscape(torch.nn.Linear(2, 1), measures, "random", grid=3)).left.value
    'complexity'
    """

    forgotten = ("checkpoint",)  # it moves the chosen point, which x and y tell

    def __init__(
        self, landscape: Landscape, points: Tensor | np.ndarray | None = None, columns: Sequence[str] | None = None
    ):
        super().__init__()
        self.landscape, names = landscape, list(landscape.values)
        self.planes = Planes(landscape, self, self._show)
        self.plane, self.radius, self.seed = self.planes.plane, self.planes.radius, self.planes.seed
        self.left, self.right = menu("left", names), menu("right", names, names[-1])
        self.view = widgets.ToggleButtons(options=["contour", "3-D"], style={"button_width": "70px"})
        self.logarithm = toggle("log", "colours by logarithm")
        self.x = widgets.FloatSlider(description="x", style=LABEL, readout_format=".3g")
        self.y = widgets.FloatSlider(description="y", style=LABEL, readout_format=".3g")
        self.checkpoint = StepSlider(steps_of(landscape))
        known = getattr(landscape.checkpoints, "steps", None) is not None
        self.checkpoint.description = "nearest to step" if known else "nearest to checkpoint"

        if points is None:  # the data of the measures, where they have any
            parts = (getattr(measure, n, None) for measure in landscape.measures.values() for n in ("points", "inputs"))
            points = next((part for part in parts if part is not None), None)
        self._cut: Cut | None = None
        self.slices: SlicesView | None = None
        if points is not None and np.ndim(points) == 2 and np.shape(points)[1] > 1:
            self._model = function_of(landscape.model)
            answer = slice_2d(self._model, np.asarray(points[0], np.float64), (0, 1), 2).values
            self._cut = Cut(points, columns, answer.shape[2] if answer.ndim == 3 else 1)
            models = [{"name": name, "alphas": [], "networks": [None]} for name in SLICED]
            self.slices = SlicesView(models=models, grid=FINE)
        self._range()
        self.map = LandscapeView(land=as_read(landscape))
        self.map.steps = self.checkpoint.steps
        self.map.follow(left=self.left, right=self.right, logarithm=self.logarithm, px=self.x, py=self.y)
        self.map.follow(step=self.checkpoint)
        self.surface: Any = None  # a figure from when it is first asked for
        self._draw()
        self._place = widgets.VBox([self.map], layout=WIDE)
        cut = list(self._cut.controls.values()) if self._cut else []
        self.arrange(
            [self.plane, self.radius, self.seed, self.planes.progress],
            [self.left, self.right, self.view, self.logarithm],
            self._place,
            [self.x, self.y, self.checkpoint, self.checkpoint.play],
            *([cut, self.slices] if self.slices else []),
        )
        self.watch(self.planes.ask, self.plane, self.radius, self.seed)
        self.watch(self._draw_maps, self.left, self.right, self.logarithm)
        self.watch(self._turn, self.view)
        self.watch(self._draw_point, self.x, self.y)
        self.watch(self._to_checkpoint, self.checkpoint)
        self.watch(self._draw_slices, *cut)

    def content(self) -> Content:
        """The maps, to be explored without a kernel, and the slices as they stand."""
        title = f"Landscape: {', '.join(self.landscape.values)}"
        below = [{"view": "slices", **self.slices.data()}] if self.slices else []
        return view_content(title, self.map, self.code(), self.status.value, self._table(), below)

    def _table(self) -> dict[str, Sequence]:
        across, up = (grid.ravel().tolist() for grid in np.meshgrid(self.landscape.x, self.landscape.y))
        return {"x": across, "y": up} | {name: short(z.ravel()) for name, z in self.landscape.values.items()}

    def _controls_kept(self) -> dict[str, Any]:
        return super()._controls_kept() | ({"slice": self._cut.controls} if self._cut else {})

    @property
    def point(self) -> tuple[float, float]:
        """Coordinates of the chosen point."""
        return self.x.value, self.y.value

    def _to_checkpoint(self) -> None:
        with self.quietly():
            if self.landscape.trajectory is not None:
                at = latest(steps_of(self.landscape), self.checkpoint.value)
                self.x.value, self.y.value = self.landscape.trajectory[at]
        self._draw_point()

    def _show(self, landscape: Landscape) -> None:
        self.landscape = landscape
        self.map.land = as_read(landscape)
        self._range()
        self._draw()

    def _range(self) -> None:
        """Sliders along the axes of this plane; the model is chosen, with the checkpoint nearest to it."""
        with self.quietly():
            for slider, axis in ((self.x, self.landscape.x), (self.y, self.landscape.y)):
                slider.min, slider.max = min(slider.min, axis[0]), max(slider.max, axis[-1])  # never crossed
                slider.value = np.clip(0.0, axis[0], axis[-1])
                slider.min, slider.max, slider.step = axis[0], axis[-1], (axis[-1] - axis[0]) / STEPS
            if self.landscape.trajectory is not None:  # the model may be from before the end of the training
                nearest = np.linalg.norm(self.landscape.trajectory, axis=1).argmin()
                self.checkpoint.value = steps_of(self.landscape)[nearest]

    def _draw(self) -> None:
        self._draw_maps()
        self._draw_point()
        self._draw_slices()

    def _draw_maps(self) -> None:
        self._put(fill)

    def _draw_point(self) -> None:
        self._put(choose)
        self._draw_slices(itself=False)
        self._describe()

    def _put(self, draw: Callable) -> None:
        """Draw on both sides of the surfaces, where there are any; the maps are the page's own."""
        if self.surface is not None:
            with self.surface.batch_update():
                for side, name in zip(SIDES, (self.left.value, self.right.value), strict=True):
                    draw(self.surface, side, self.landscape, name, self.logarithm.value, self.point)

    def _draw_slices(self, itself: bool = True) -> None:
        """What the network at the chosen point answers, and what the model itself does, where there are data."""
        if self._cut is None or self.slices is None:
            return
        number, across, up = self._cut.plane
        networks = [function_of(self.landscape.at(*self.point)), self._model]
        slices = [slice_2d(one, self._cut.points[number], (across, up), FINE) for one in networks[: 1 + itself]]
        given = [{"plane": [0, 0, 1, 0], "z": self._cut.shades(slice_)} for slice_ in slices]
        with self.slices.hold_sync():
            self.slices.points = [short(self._cut.points[number, [across, up]])]
            self.slices.columns = [self._cut.names[across], self._cut.names[up]]
            self.slices.given = [*given, *self.slices.given[len(given) :]]

    def _turn(self) -> None:
        """Contours, or surfaces: these are made when they are first asked for."""
        if self.view.value == "3-D" and self.surface is None:
            self.surface = surface()
            self._draw_maps()
            self.surface = live(self.surface)
        self._place.children = [self.surface if self.view.value == "3-D" else self.map]

    def _describe(self) -> None:
        landscape = self.landscape
        itself = ", ".join(f"{name} {value:.4g}" for name, value in landscape.here.items())
        text = f"The model itself (star): {itself}. "
        if landscape.checkpoints is not None and landscape.distance is not None:
            way = np.linalg.norm(landscape.checkpoints.weights - landscape.plane.centre, axis=1).max()
            away = landscape.distance.max()
            text += f"Checkpoints are at most {away:.3g} from this plane, and {way:.3g} from the model. "
        if landscape.plane.explained is None:
            text += f"Directions: {landscape.plane.normalization}."
        else:
            text += f"The plane holds {100 * landscape.plane.explained.sum():.1f} % of the training's variance."
        self.say(" ".join([text, *(f"Note: {note}." for note in landscape.notes)]))
