"""LandscapeExplorer: two measures over one plane of weight space; click, and see the network that stands there."""

from __future__ import annotations

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
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.hosted import hosted_page, short
from lab.widgets.landscape_view import LandscapeView, as_read, points_of
from lab.widgets.live_figure import live
from lab.widgets.planes import Planes
from lab.widgets.slices import GREYS, Cut

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
        self.landscape, names = landscape, list(landscape.values)
        self.planes = Planes(landscape, self, self._show)
        self.plane, self.radius, self.seed = self.planes.plane, self.planes.radius, self.planes.seed
        self.left = widgets.Dropdown(description="left", options=names, value=names[0], style=LABEL)
        self.right = widgets.Dropdown(description="right", options=names, value=names[-1], style=LABEL)
        self.view = widgets.ToggleButtons(options=["contour", "3-D"], style={"button_width": "70px"})
        self.logarithm = widgets.ToggleButton(
            description="log", tooltip="colours by logarithm", layout={"width": "60px"}
        )
        self.x = widgets.FloatSlider(description="x", style=LABEL, readout_format=".3g")
        self.y = widgets.FloatSlider(description="y", style=LABEL, readout_format=".3g")
        last = 0 if landscape.trajectory is None else len(landscape.trajectory) - 1
        self.checkpoint = widgets.IntSlider(description="nearest to checkpoint", max=last, style=LABEL)
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
            [self.plane, self.radius, self.seed, self.planes.progress],
            [self.left, self.right, self.view, self.logarithm],
            self._place,
            [self.x, self.y, self.checkpoint],
            *below,
        )
        self.watch(self.planes.ask, self.plane, self.radius, self.seed)
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
        return self.planes.wait(timeout)

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

    def _to_checkpoint(self) -> None:
        with self.quietly():
            if self.landscape.trajectory is not None:
                self.x.value, self.y.value = self.landscape.trajectory[self.checkpoint.value]
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
                self.checkpoint.value = int(np.linalg.norm(self.landscape.trajectory, axis=1).argmin())

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
            way = np.linalg.norm(landscape.checkpoints.weights - landscape.plane.centre, axis=1).max()
            away = landscape.distance.max()
            text += f"Checkpoints are at most {away:.3g} from this plane, and {way:.3g} from the model. "
        if landscape.plane.explained is None:
            text += f"Directions: {landscape.plane.normalization}."
        else:
            text += f"The plane holds {100 * landscape.plane.explained.sum():.1f} % of the training's variance."
        self.say(" ".join([text, *(f"Note: {note}." for note in landscape.notes)]))
