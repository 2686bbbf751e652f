"""Planes: landscapes over the given plane and over others, which are computed in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable

import ipywidgets as widgets

from lab.probes.landscape import Landscape
from lab.training.live import one_thread
from lab.widgets.explorer import LABEL, Explorer

GIVEN = "your directions"
PLANES = {
    "principal (PCA)": ("pca", ""),
    "random, by neuron": ("random", "filter"),
    "random, by layer": ("random", "layer"),
    "random, as a whole": ("random", "global"),
}
RADII = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
COARSE = 12  # points on a side of what is shown first


class Planes:
    """Controls for the plane, its radius and its random directions; and the landscape over what they ask for.

    given: the landscape that is there; others have its model, measures and checkpoints. explorer: whose lock is held
    while something is shown, and where errors show. show: is called with a landscape, the lock held.
    """

    def __init__(self, given: Landscape, explorer: Explorer, show: Callable[[Landscape], None]):
        self._given, self._explorer, self._show = given, explorer, show
        asked = given.asked
        there = [name for name, (kind, _) in PLANES.items() if kind == "random" or given.trajectory is not None]
        kind = asked["directions"] if isinstance(asked["directions"], str) else None
        wanted = (kind, asked["normalize"] if kind == "random" else "")
        named = [name for name in there if PLANES[name] == wanted]
        options = there if named else [GIVEN, *there]
        radii = sorted({*RADII, asked["radius"]})
        self.plane = widgets.Dropdown(description="plane", options=options, value=(named or [GIVEN])[0], style=LABEL)
        self.radius = widgets.SelectionSlider(description="radius", options=radii, value=asked["radius"], style=LABEL)
        self.seed = widgets.IntSlider(description="directions", max=max(9, asked["seed"]), style=LABEL)
        self.seed.value = asked["seed"]
        self.seed.tooltip = "other random directions"
        self.progress = widgets.FloatProgress(max=1.0, layout={"width": "120px", "visibility": "hidden"})
        self.thread: threading.Thread | None = None
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

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the landscape that is being computed is there; whether it is."""
        if self.thread is not None:
            self.thread.join(timeout)
        return self.thread is None or not self.thread.is_alive()

    def ask(self) -> None:
        """Another plane: shown at once where it is known, else computed, first coarsely."""
        key = self._wanted = self.key
        self.seed.disabled = not self._is_random
        if key in self.known:
            self.progress.layout.visibility = "hidden"
            return self._show(self.known[key])
        self.progress.value, self.progress.layout.visibility = 0.0, "visible"
        self.thread = threading.Thread(target=self._compute, args=(key,), name="lab landscape", daemon=True)
        self.thread.start()
        return None

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
