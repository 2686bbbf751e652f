"""LandscapeExplorer: two measures over one plane of weight space; click, and see the network that stands there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np
from torch import Tensor

from lab.plots.landscape import SIDES, choose, fill, surface
from lab.plots.slices import frame
from lab.probes.calling import function_of
from lab.probes.landscape import Landscape
from lab.probes.slices import slice_2d
from lab.training.live import one_thread
from lab.widgets.explorer import LABEL, Explorer, live
from lab.widgets.hosted import hosted_page, short
from lab.widgets.landscape_view import LandscapeView, as_read, points_of
from lab.widgets.slices import GREYS, Cut

GIVEN = "your directions"
PLANES = {
    "principal (PCA)": ("pca", ""),
    "random, by neuron": ("random", "filter"),
    "random, by layer": ("random", "layer"),
    "random, as a whole": ("random", "global"),
}
RADII = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
COARSE = 12  # points on a side of what is shown first
FINE = 60  # of a slice
STEPS = 100  # of a slider along an axis
SLICED = ("at the chosen point", "the model itself (star)")


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
        self.landscape, self._grid = landscape, len(landscape.x)
        asked, names = landscape.asked, list(landscape.values)
        planes = [name for name, (kind, _) in PLANES.items() if kind == "random" or landscape.trajectory is not None]
        kind = asked["directions"] if isinstance(asked["directions"], str) else None
        wanted = (kind, asked["normalize"] if kind == "random" else "")
        given = [name for name in planes if PLANES[name] == wanted]
        planes = planes if given else [GIVEN, *planes]
        radii = sorted({*RADII, asked["radius"]})
        self.plane = widgets.Dropdown(description="plane", options=planes, value=(given or [GIVEN])[0], style=LABEL)
        self.radius = widgets.SelectionSlider(description="radius", options=radii, value=asked["radius"], style=LABEL)
        self.seed = widgets.IntSlider(description="directions", max=max(9, asked["seed"]), style=LABEL)
        self.seed.value = asked["seed"]
        self.seed.tooltip = "other random directions"
        self._given = landscape
        self._thread: threading.Thread | None = None
        self._wanted = self._key
        self._known = {self._key: landscape}
        self.left = widgets.Dropdown(description="left", options=names, value=names[0], style=LABEL)
        self.right = widgets.Dropdown(description="right", options=names, value=names[-1], style=LABEL)
        self.view = widgets.ToggleButtons(options=["contour", "3-D"], style={"button_width": "70px"})
        self.logarithm = widgets.ToggleButton(
            description="log", tooltip="colours by logarithm", layout={"width": "60px"}
        )
        self.progress = widgets.FloatProgress(max=1.0, layout={"width": "120px", "visibility": "hidden"})
        self.x = widgets.FloatSlider(description="x", style=LABEL, readout_format=".3g")
        self.y = widgets.FloatSlider(description="y", style=LABEL, readout_format=".3g")
        last = 0 if landscape.trajectory is None else len(landscape.trajectory) - 1
        self.checkpoint = widgets.IntSlider(description="nearest to checkpoint", value=last, max=last, style=LABEL)
        self.checkpoint.layout.display = "none" if landscape.trajectory is None else None

        points = points_of(landscape) if points is None else points
        self._cut: Cut | None = None
        if points is not None and np.ndim(points) == 2 and np.shape(points)[1] > 1:
            self._model = function_of(landscape.model)
            answer = slice_2d(self._model, np.asarray(points[0], np.float64), (0, 1), 2).values
            self._cut = Cut(points, columns, answer.shape[2] if answer.ndim == 3 else 1)
        self._range()
        self.map = LandscapeView(land=as_read(landscape))
        for control, trait in (
            (self.left, "left"),
            (self.right, "right"),
            (self.logarithm, "logarithm"),
            (self.x, "px"),
            (self.y, "py"),
        ):
            self.map.follow(control, trait)
        self.surface: Any = None  # a figure from when it is first asked for
        self.slices: Any = frame(SLICED) if self._cut else None
        self._draw()
        if self.slices is not None:
            self.slices = live(self.slices, self.slices.layout.height)
        self._place = widgets.VBox([self.map], layout={"width": "100%"})
        below = [self._cut.controls, self.slices] if self._cut else []
        self.arrange(
            [self.plane, self.radius, self.seed, self.progress],
            [self.left, self.right, self.view, self.logarithm],
            self._place,
            [self.x, self.y, self.checkpoint],
            *below,
        )
        self.watch(self._ask, self.plane, self.radius, self.seed)
        self.watch(self._draw_maps, self.left, self.right, self.logarithm)
        self.watch(self._turn, self.view)
        self.watch(self._draw_point, self.x, self.y)
        self.watch(self._to_checkpoint, self.checkpoint)
        if self._cut:
            self.watch(self._draw_slices, *self._cut.controls)

    def page(self) -> str:
        """The maps, to be explored without a kernel."""
        title = f"Landscape: {', '.join(self.landscape.values)}"
        return hosted_page(title, self.map, self.code(), self.status.value, self._table(), self._below())

    def _table(self) -> dict[str, Sequence]:
        across, up = (grid.ravel().tolist() for grid in np.meshgrid(self.landscape.x, self.landscape.y))
        return {"x": across, "y": up} | {name: short(z.ravel()) for name, z in self.landscape.values.items()}

    def _below(self) -> list[dict[str, Any]]:
        """The slices as they stand, as the page reads them."""
        if self._cut is None:
            return []
        given = [[short(row) for row in self.slices.data[2 * number].z] for number in range(len(SLICED))]
        mark, axis = self.slices.data[1], self.slices.data[0].x
        return [
            {
                "view": "slices",
                "models": [{"name": name, "alphas": [], "networks": [None]} for name in SLICED],
                "points": [[float(mark.x[0]), float(mark.y[0])]],
                "columns": [self._cut.across.label, self._cut.up.label],
                **{"point": 0, "across": 0, "up": 1, "output": 0},
                "given": [{"plane": [0, 0, 1, 0], "z": z} for z in given],
                **{"grid": FINE, "low": float(axis[0]), "high": float(axis[-1]), "greys": list(GREYS)},
            }
        ]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the landscape that is being computed is there; whether it is."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def _settle(self) -> None:
        self.wait()

    def _controls_kept(self) -> dict[str, Any]:
        names = ("point", "across", "up", "output")
        cut = {"slice": dict(zip(names, self._cut.controls, strict=True))} if self._cut else {}
        return super()._controls_kept() | cut

    @property
    def point(self) -> tuple[float, float]:
        """Coordinates of the chosen point."""
        return self.x.value, self.y.value

    @property
    def _key(self) -> tuple[str, float, int]:
        """What the controls ask for: a seed makes a difference for random planes only."""
        random = self.plane.value in PLANES and PLANES[self.plane.value][0] == "random"
        return self.plane.value, self.radius.value, self.seed.value if random else 0

    def _to_checkpoint(self) -> None:
        with self.quietly():
            if self.landscape.trajectory is not None:
                self.x.value, self.y.value = self.landscape.trajectory[self.checkpoint.value]
        self._draw_point()

    def _ask(self) -> None:
        """Another plane: shown at once where it is known, else computed, first coarsely."""
        key = self._wanted = self._key
        if key in self._known:
            self.progress.layout.visibility = "hidden"
            return self._show(self._known[key])
        self.progress.value, self.progress.layout.visibility = 0.0, "visible"
        self._thread = threading.Thread(target=self._compute, args=(key,), name="lab landscape", daemon=True)
        self._thread.start()
        return None

    def _compute(self, key: tuple) -> None:
        """In a thread of its own; ends early when another plane is wanted."""

        grids = sorted({min(COARSE, self._grid), self._grid})
        before, whole = 0, sum(grid**2 for grid in grids)

        def report(done: int, of: int) -> None:
            if self._wanted != key:
                raise _Stale
            self.progress.value = (before + done / of * grid**2) / whole

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
                with self.safely():
                    if self._wanted == key:
                        self._show(landscape)
            self._known[key] = landscape
        except _Stale:
            return
        except Exception as error:  # a thread has nobody above it who would see it
            with self.lock:
                self.show(error)
        with self.lock:
            if self._wanted == key:
                self.progress.layout.visibility = "hidden"

    def _show(self, landscape: Landscape) -> None:
        self.landscape = landscape
        self.map.land = as_read(landscape)
        self._range()
        self._draw()

    def _range(self) -> None:
        """Sliders along the axes of this plane; the model is chosen."""
        with self.quietly():
            for slider, axis in ((self.x, self.landscape.x), (self.y, self.landscape.y)):
                slider.min, slider.max = min(slider.min, axis[0]), max(slider.max, axis[-1])  # never crossed
                slider.value = np.clip(0.0, axis[0], axis[-1])
                slider.min, slider.max, slider.step = axis[0], axis[-1], (axis[-1] - axis[0]) / STEPS

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
        if self._cut is None:
            return
        number, across, up = self._cut.plane
        networks = [function_of(self.landscape.at(*self.point)), self._model]
        slices = [slice_2d(one, self._cut.points[number], (across, up), FINE) for one in networks[: 1 + itself]]
        with self.slices.batch_update():
            for panel, slice_ in enumerate(slices):
                self._cut.draw(self.slices, panel, slice_)

    def _turn(self) -> None:
        """Contours, or surfaces: these are made when they are first asked for."""
        if self.view.value == "3-D" and self.surface is None:
            self.surface = surface()
            self._draw_maps()
            self.surface = live(self.surface, self.surface.layout.height)
        self._place.children = [self.surface if self.view.value == "3-D" else self.map]

    def _describe(self) -> None:
        landscape = self.landscape
        itself = ", ".join(f"{name} {value:.4g}" for name, value in landscape.here.items())
        text = f"The model itself (star): {itself}. "
        if landscape.checkpoints is not None and landscape.distance is not None:
            way = np.linalg.norm(landscape.checkpoints - landscape.plane.centre, axis=1).max()
            away = landscape.distance.max()
            text += f"Checkpoints are up to {away:.3g} away from this plane, {way:.3g} from the model. "
        if landscape.plane.explained is None:
            text += f"Directions: {landscape.plane.normalization}."
        else:
            text += f"The plane holds {100 * landscape.plane.explained.sum():.1f} % of the training's variance."
        self.say(text)


class _Stale(Exception):
    """Another plane is wanted."""
