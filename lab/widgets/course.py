"""Sliders over the checkpoints of a training, of which a page has the data: functions, codes, slices, places."""

from collections.abc import Iterable, Sequence

import ipywidgets as widgets
import numpy as np
from traitlets import Dict, Int, List

from lab.widgets.explorer import LABEL
from lab.widgets.pages import PageView

MOST = 400_000  # numbers of checkpoints in a page, about 3 MB: of more, fewer checkpoints are shown
BEAT = 400  # ms between two checkpoints, when they are played


class CourseView(PageView):
    """A picture with a slider over checkpoints. steps: all that it can stand at; step: the number of one; course: what
    there is to show at some of them, as the page's module says. Each part shows its latest checkpoint."""

    steps = List(Int()).tag(sync=True)
    step = Int(0).tag(sync=True)
    course: Dict = Dict().tag(sync=True)


class StepSlider(widgets.SelectionSlider):
    """Over `steps`, after which checkpoints were kept; it begins at the last. play: a button that moves it."""

    def __init__(self, steps: Iterable[int]):
        shown = sorted({int(step) for step in steps}) or [0]
        options = [(f"{step:,}", step) for step in shown]
        super().__init__(description="step", options=options, value=shown[-1], style=LABEL)
        self.steps = shown
        self.play = widgets.Play(max=len(options) - 1, interval=BEAT, layout={"width": "auto"})
        self.play.value = self.index  # what is linked begins with it
        widgets.link((self, "index"), (self.play, "value"))
        widgets.jslink((self.play, "value"), (self, "index"))
        if len(options) < 2:
            self.layout.display = self.play.layout.display = "none"

    def widen(self, steps: Iterable[int]) -> None:
        """Go over these steps, too, which another training has."""
        self.steps = sorted({*self.steps, *steps})
        self.play.max = len(self.steps) - 1
        self.options, self.value = [(f"{step:,}", step) for step in self.steps], self.steps[-1]


def latest(steps: Sequence[int], step: int) -> int:
    """The number of the last checkpoint that is not after a step; before the first, the first.

    >>> latest([0, 3, 9], 5), latest([2, 3], 0)
    (1, 0)
    """
    return max(int(np.searchsorted(steps, step, "right")) - 1, 0)


def few(count: int, numbers: int, most: int = MOST) -> list[int]:
    """Which of `count` checkpoints of so many numbers a page can hold, the first and the last among them.

    >>> few(5, 10), few(5, 10, most=30), few(5, 10, most=3)
    ([0, 1, 2, 3, 4], [0, 2, 4], [0, 4])
    """
    places = np.linspace(0, count - 1, min(count, max(2, most // max(1, numbers))))
    return sorted({round(place) for place in places.tolist()})
