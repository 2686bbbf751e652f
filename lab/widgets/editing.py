"""EditingExplorer: change a non-linearity by hand, and see at once what a network makes of it."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ipywidgets as widgets
import numpy as np
import torch

from lab.errors import ArgumentError, shown
from lab.nonlinearity.spline import Spline
from lab.plots.functions import fill_network, fill_shape, portrait_frame, show_range
from lab.probes.complexity import Complexity
from lab.probes.profile import Portrait, counts, portrait, profile, variation
from lab.tasks import NAMES
from lab.widgets.explorer import LABEL, ROW, WIDE, Explorer, button, side_by_side, toggle
from lab.widgets.function_view import TOOLS, CurveEditor, as_bytes, described, function_content
from lab.widgets.pages import Content, live, short
from lab.widgets.training import ContestExplorer

POLYNOMIAL, CHEBYSHEV = 18, 60  # highest degrees: float32 powers are sound up to 18; 60 follows every wave
BANDWIDTHS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)  # on the usual range, [−20, 20]
USUAL = 40.0  # its width
LONGEST = 500  # steps that undo goes back


class EditSliders:
    """Three sliders that change a function: they smooth it, or put a polynomial or a Chebyshev series in its place.

    A slider acts on the function from before it was moved, however far and often it is moved.
    width: of the interval on which the function has its knots; bandwidths are in proportion to it.
    """

    def __init__(self, width: float):
        self.bandwidths = [bandwidth * width / USUAL for bandwidth in BANDWIDTHS]
        widths = [(f"{one:.2g}", one) for one in self.bandwidths]
        degrees = [(str(degree), degree) for degree in range(1, CHEBYSHEV + 1)]
        # what each makes of a function on its knots, and how that is said
        self._edits: dict[widgets.SelectionSlider, tuple[Callable[[Spline, float], Spline], str]] = {}
        for name, options, edit, words in (
            ("smooth", widths, Spline.smoothed, "smoothed, bandwidth {}"),
            ("polynomial degree", degrees[:POLYNOMIAL], _on_knots(Spline.polynomial), "the polynomial of degree {}"),
            ("Chebyshev degree", degrees, _on_knots(Spline.chebyshev), "the Chebyshev series of degree {}"),
        ):
            self._edits[widgets.SelectionSlider(description=name, options=[("off", 0), *options])] = edit, words
        self.smooth, self.polynomial, self.chebyshev = self._edits
        self.active: widgets.SelectionSlider | None = None
        self._before: tuple[Spline, str] | None = None  # what the active one acts on, and what others had made of that

    @property
    def all(self) -> list[widgets.SelectionSlider]:
        """In the order in which they are shown."""
        return list(self._edits)

    def begin(self, slider: widgets.SelectionSlider, phi: Spline, changes: str) -> None:
        """Let a slider act on a function; changes: what sliders have made of it so far, in words."""
        self.release(slider)
        self.active, self._before = slider, (phi, changes)

    def result(self) -> tuple[Spline, str, str]:
        """What the active slider makes of its function: the function, a sentence on it, all changes in words."""
        assert self.active is not None and self._before is not None, "no slider has begun"
        (base, before), (edit, words) = self._before, self._edits[self.active]
        if not self.active.value:
            return base, "", before
        phi = edit(base, self.active.value)
        error = (phi.values - base.values).double()
        words = words.format(self.active.label)
        changes = f"{before}, then {words}" if before else words  # the others are off again, but what they did stays
        largest, rms = error.abs().max(), error.square().mean().sqrt()
        return phi, f"Now: {changes}; from what was before it at most {largest:.2g}, RMS {rms:.2g}.", changes

    def release(self, other: widgets.SelectionSlider | None = None) -> None:
        """No slider is at work any more, and all are off, but the other if there is one."""
        self.active = self._before = None
        for slider in self._edits.keys() - {other}:
            slider.value = 0


def _on_knots(series: Callable[[Spline, int], Callable]) -> Callable[[Spline, float], Spline]:
    """A series of some degree in place of a function, at the knots of that."""
    return lambda phi, degree: Spline.from_function(series(phi, int(degree)), phi.low, phi.high, len(phi.values))


class Step(NamedTuple):
    """What undo goes back to: the values, and what made them, in words."""

    values: np.ndarray
    deed: str
    changes: str = ""  # what sliders have made of it so far, in words


class History:
    """Steps in their order, and which of them is now."""

    def __init__(self, first: Step):
        self._steps, self._at = [first], 0

    @property
    def now(self) -> Step:
        """The present one."""
        return self._steps[self._at]

    @property
    def ends(self) -> tuple[bool, bool]:
        """Whether there is nothing to go back to, and nothing to go forward to."""
        return self._at == 0, self._at == len(self._steps) - 1

    def add(self, step: Step, instead: bool = False) -> None:
        """A new step after the present one, or instead of it; what was ahead is gone."""
        self._steps = [*self._steps[: self._at + (not instead)], step][-LONGEST:]
        self._at = len(self._steps) - 1

    def go(self, count: int) -> Step:
        """A number of steps forward, or back where it is negative, as far as there are any."""
        self._at = min(max(0, self._at + count), len(self._steps) - 1)
        return self.now


class EditingExplorer(Explorer):
    """Pull or draw a function, mirror, smooth or approximate it; next to it stand its slope, its spectrum, and what it
    makes of a random network. Below, edited and original function and GELU train side by side.

    phi: the function to begin with. name: what it is called. scale: of the training. The function as it stands is
    `spline`.

    >>> explorer = EditingExplorer(Spline(torch.tensor([0.0, 1.0, 3.0])))
    >>> explorer.mirror_x.click()
    >>> explorer.spline.values.tolist()
    [3.0, 1.0, 0.0]
    """

    def __init__(self, phi: Spline, name: str = "your function", scale: str = "laptop"):
        super().__init__()
        shape = profile(phi)  # refuses what is not one function
        self._phi, self._scale, self._name = phi, scale, name
        self._history = History(Step(shape.y, ""))
        self._network: tuple | None = None  # seed and scale of the weights that the original's portrait was made with
        reach, unit = (phi.high - phi.low) / 2, (phi.high - phi.low) / USUAL

        self.tool = widgets.ToggleButtons(options=TOOLS, style={"button_width": "60px"}, layout={"width": "auto"})
        self.tool.tooltips = ["take a point, and its neighbours follow", "draw the function by hand"]
        self.brush = widgets.FloatSlider(description="brush", value=0.5 * unit, max=4 * unit, step=0.1 * unit)
        self.window = widgets.FloatSlider(description="window ±", min=reach / 40, max=1.2 * reach, step=reach / 40)
        self.undo, self.redo, self.reset = (button(text) for text in ("undo", "redo", "reset"))
        self.mirror_x = button("mirror x", "φ(−x): left and right change places")
        self.mirror_y = button("mirror y", "−φ(x): upside down")
        self.symmetrize = button("symmetrize", "the average with the most similar mirror image")
        self.edits = EditSliders(phi.high - phi.low)
        self.seed = widgets.IntSlider(description="network seed", max=20)
        self.weights = widgets.FloatSlider(description="weight scale", value=1, min=0.2, max=5, step=0.1)
        self.compete = toggle("train with it")
        self.compete.tooltip = "train a small model with the edited function, one with the original, one with GELU"
        for slider in (self.brush, self.window, *self.edits.all, self.seed, self.weights):
            slider.style, slider.layout.width = LABEL, "300px"
        low, high = shape.support()
        middle = (phi.high + phi.low) / 2
        self.window.value = min(1.1 * max(high - middle, middle - low), self.window.max)

        # all of it at once: the page can lose changes that are made before it shows the editor
        self.editor = CurveEditor(
            low=phi.low,
            high=phi.high,
            value=as_bytes(shape.y),
            before=as_bytes(shape.y),
            window=self._shown,
            density=self._density(portrait(phi, self.seed.value, self.weights.value)),
            tool=self.tool.value,
            brush=self.brush.value,
            bandwidths=self.edits.bandwidths,
        )
        for trait in ("smooth", "polynomial", "chebyshev"):  # in the page: the curve follows them without the kernel
            widgets.jsdlink((getattr(self.edits, trait), "index"), (self.editor, trait))
        self.figure = portrait_frame()
        fill_shape(self.figure, 0, shape)
        self._look()
        self._redraw()
        self.figure = live(self.figure, 420)
        self._contest: ContestExplorer | None = None
        self._below = widgets.VBox(layout=WIDE | {"order": "1000"})  # last
        buttons = [self.undo, self.redo, self.reset, self.mirror_x, self.mirror_y, self.symmetrize]
        row = widgets.HBox(buttons, layout=ROW | {"grid_gap": "2px 4px"})
        self.arrange(
            [self.tool, self.brush, self.window],
            side_by_side([self.editor, row], self.figure, least=420),
            self.edits.all,
            [self.seed, self.weights, self.compete],
        )
        self.children = [*self.children, self._below]

        self.watch(self._look, self.window)
        self.watch(self._redraw, self.editor, self.seed, self.weights)
        self.watch(self._hold, self.tool, self.brush)
        for slider in self.edits.all:
            self.watch(functools.partial(self._slide, slider), slider)
        self.watch(self._show_contest, self.compete)
        for one, act in {
            self.undo: lambda: self._go(-1),
            self.redo: lambda: self._go(1),
            self.reset: lambda: self._put(self._phi, "the original again"),
            self.mirror_x: lambda: self._put(self._spline(self.editor.values[::-1].copy()), "mirrored along x"),
            self.mirror_y: lambda: self._put(-self.spline, "mirrored along y"),
            self.symmetrize: self._symmetrize,
        }.items():
            self.press(act, one)
        self.editor.observe(self._stroke, "strokes")
        self.editor.on_msg(self._key)

    @property
    def spline(self) -> Spline:
        """The function as it stands."""
        return self._spline(self.editor.values)

    @property
    def changed(self) -> bool:
        """Whether it is another function than in the beginning."""
        return not torch.equal(self.spline.values, self._phi.values)

    def content(self) -> Content:
        """The function as it stands, with the one before, to be changed further."""
        first = described(self._name, profile(self._phi))
        state: dict[str, Any] = {"compared": [0], "zoom": self.window.value, "slope": True, "random": True}
        if self.changed:
            state |= {"edited": short(self.editor.values), "changes": ["edited in a notebook"]}
        return function_content([first], **state)

    def _marks(self) -> dict[str, tuple]:
        return {"values": (lambda: short(self.editor.values), self._give_back)}

    def _give_back(self, values: Sequence[float]) -> None:
        count = len(self.editor.values)
        try:
            given = np.array(values, dtype=float)
        except (TypeError, ValueError):
            given = np.array(np.nan)
        if given.shape != (count,) or not np.isfinite(given).all():
            raise ArgumentError(f"state: values={shown(values)}; give {count} finite numbers, one a knot")
        if not np.allclose(given, self.editor.values, rtol=1e-8, atol=0):
            self._put(self._spline(given), "a curve that was kept")

    def _spline(self, values: np.ndarray) -> Spline:
        return Spline(torch.tensor(values).to(self._phi.values), self._phi.low, self._phi.high)

    def _hold(self) -> None:
        self.editor.tool, self.editor.brush = self.tool.value, self.brush.value

    @property
    def _shown(self) -> list[float]:
        """First and last x of the pictures."""
        middle, half = (self._phi.high + self._phi.low) / 2, self.window.value
        return [middle - half, middle + half]

    def _density(self, usage: Portrait) -> bytes:
        """How often the network uses each knot, as the page reads it."""
        return as_bytes(counts(usage.received, self._phi.low, self._phi.high, len(self._phi.values)))

    def _look(self) -> None:
        self.editor.window = self._shown
        show_range(self.figure, *self._shown)

    def _redraw(self) -> None:
        """The function, the network's seed or the scale of its weights is another."""
        phi, network = self.spline, (self.seed.value, self.weights.value)
        new = network != self._network
        with self.figure.batch_update():
            fill_shape(self.figure, 1, profile(phi))
            fill_network(self.figure, 1, now := portrait(phi, *network))
            if new:
                fill_network(self.figure, 0, portrait(self._phi, *network))
        # the picture is on its way: the numbers may take a little longer
        self.editor.density = self._density(now)
        if new:
            self._before, self._network = variation(self._phi, *network), network
        self._now = variation(phi, *network)
        self._describe()

    def _describe(self) -> None:
        """The line below, and which buttons can be pressed."""
        now, before, state = self._now, self._before, self._history.now
        text = f"Total variation of the random network: {_interval(now)}; before: {_interval(before)}."
        under_way = not np.array_equal(state.values, self.editor.values)
        self.say(text if under_way else f"{text} {state.deed}".strip())
        self.undo.disabled, self.redo.disabled = self._history.ends

    def _stroke(self, _) -> None:
        """The hand was lifted."""
        with self.safely():
            if not np.array_equal(self.editor.values, self._history.now.values):
                self._release()
                self._history.add(Step(self.editor.values, "Changed by hand."))
                self._describe()

    def _key(self, _, content: dict, __) -> None:
        with self.safely():
            self._go(-1 if content["kind"] == "undo" else 1)

    def _go(self, count: int) -> None:
        """Undo, or do again."""
        self._release()
        self._set(self._history.go(count))

    def _put(self, phi: Spline, deed: str) -> None:
        """Another function in place of this one."""
        self._release()
        state = Step(profile(phi).y, f"Now: {deed}.")
        self._history.add(state)
        self._set(state)

    def _set(self, state: Step) -> None:
        if np.array_equal(state.values, self.editor.values):
            self._describe()
        else:
            self.editor.value = as_bytes(state.values)  # which is watched

    def _symmetrize(self) -> None:
        symmetry = self.spline.symmetrized()
        mirror = {"x": "along x", "y": "along y", "both": "along both axes"}[symmetry.mirror]
        deed = f"the average with its image mirrored {mirror} (shift {symmetry.shift:.2g}, correlation"
        self._put(symmetry.spline, f"{deed} {symmetry.correlation:.2f})")

    def _slide(self, slider: widgets.SelectionSlider) -> None:
        """A slider was moved: the first move adds a state, the next ones replace it."""
        if first := self.edits.active is not slider:
            with self.quietly():
                self.edits.begin(slider, self.spline, self._history.now.changes)
        phi, deed, changes = self.edits.result()
        state = Step(profile(phi).y, deed, changes)
        self._history.add(state, instead=not first)
        self._set(state)

    def _release(self) -> None:
        """Something else happens to the function: no slider is at work any more."""
        with self.quietly():
            self.edits.release()

    def _show_contest(self) -> None:
        if self._contest is None:  # a figure more is made when it is wanted
            task = self._name.rpartition("/")[2]
            self._contest = ContestExplorer(self._contenders, task if task in NAMES else "memorize", self._scale)
            self._below.children = [self._contest]
        self._below.layout.display = None if self.compete.value else "none"

    def _contenders(self) -> dict[str, Spline | str]:
        edited: dict[str, Spline | str] = {"edited": self.spline} if self.changed else {}
        return edited | {"original": self._phi, "GELU": "gelu"}


def _interval(complexity: Complexity) -> str:
    return f"{complexity.value:.3g} (95 % interval {complexity.low:.3g} to {complexity.high:.3g})"
