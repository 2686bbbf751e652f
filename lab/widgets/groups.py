"""Two groups of the problems on a map, A and B, and what they differ in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import ipywidgets as widgets
import numpy as np

from lab.errors import ArgumentError, check_whole, shown
from lab.widgets.difference import paragraph
from lab.widgets.latent_view import LatentView

NAMES = ("A", "B")


class Groups:
    """Buttons that put the selected points of a map into A or B, and a text that compares them.

    view: the map. compare: (A, B), numbers of problems, → what they differ in, as HTML.
    """

    def __init__(self, view: LatentView, compare: Callable[[np.ndarray, np.ndarray], str]):
        self._view, self._compare = view, compare
        self._chosen: dict[str, np.ndarray | None] = dict.fromkeys(NAMES)
        self.take = {name: widgets.Button(description=f"selection → {name}") for name in NAMES}
        for button in self.take.values():
            button.tooltip = "the points inside the line that was drawn last"
        self.clear = widgets.Button(description="clear A and B")
        self.difference = widgets.HTML()

    @property
    def buttons(self) -> list[widgets.Button]:
        """In the order in which they are shown."""
        return [*self.take.values(), self.clear]

    @property
    def marks(self) -> dict[str, tuple[Callable, Callable]]:
        """How the groups are read, and how they are put, by name: for the state of an explorer."""
        return {name: (partial(self._numbers, name), partial(self._put, name)) for name in NAMES}

    def take_selected(self, name: str) -> None:
        """Let the selected problems be A or B. Raises ArgumentError where none is selected."""
        if not self._view.selected:
            raise ArgumentError(f"nothing is selected; draw a line around some points of the map, then press → {name}")
        self._chosen[name] = np.array(sorted(self._view.selected))
        self._view.selected = []
        self.draw()

    def forget(self) -> None:
        """No problem is in A or B."""
        self._chosen = dict.fromkeys(NAMES)
        self._view.selected = []
        self.draw()

    def draw(self) -> None:
        """Rings around the problems on the map; what A and B differ in, where both are there."""
        self._view.a, self._view.b = ([] if one is None else one.tolist() for one in self._chosen.values())
        a, b = self._chosen.values()
        self.difference.value = ""  # where they cannot be compared, the comparison of others must not stay
        if a is not None and b is not None:
            self.difference.value = self._compare(a, b)
            return
        there = [f"{name} has {len(group)} problems. " for name, group in self._chosen.items() if group is not None]
        self.difference.value = paragraph(
            "".join(there) + "Draw a line around a cluster of the map and press"
            " <i>selection → A</i>, then around another for B."
        )

    def _numbers(self, name: str) -> list[int] | None:
        which = self._chosen[name]
        return None if which is None else which.tolist()

    def _put(self, name: str, which: Sequence[int] | None) -> None:
        said = f"state: {name}"
        if which is not None:
            if not isinstance(which, (list, tuple)) or not which:
                raise ArgumentError(f"{said}={shown(which)}; give numbers of problems, or None")
            which = sorted({check_whole(said, one, 0, len(self._view.points) - 1) for one in which})
        self._chosen[name] = None if which is None else np.array(which)
        self.draw()
