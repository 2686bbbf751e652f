"""Edits of a function, each of which gives another one on the same knots, and the sliders of three of them."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as widgets

from lab.nonlinearity.spline import Spline

OFF = ("off", 0)  # of a slider
POLYNOMIAL, CHEBYSHEV = 18, 60  # highest degrees: float32 powers are sound up to 18; 60 follows every wave
BANDWIDTHS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)  # on the usual range, [−20, 20]
USUAL = 40.0  # its width


def mirrored(phi: Spline) -> Spline:
    """φ(−x)."""
    return Spline(phi.values.flip(-1), phi.low, phi.high)


def polynomial(phi: Spline, degree: int) -> Spline:
    """The polynomial of a degree that is nearest to φ, on its knots."""
    return Spline.from_function(phi.polynomial(degree), phi.low, phi.high, len(phi.values))


def chebyshev(phi: Spline, degree: int) -> Spline:
    """The Chebyshev series of φ up to a degree, on its knots."""
    return Spline.from_function(phi.chebyshev(degree), phi.low, phi.high, len(phi.values))


class EditSliders:
    """Three sliders that change a function: they smooth it, or put a polynomial or a Chebyshev series in its place.

    A slider acts on the function from before it was moved, however far and often it is moved.
    width: of the interval on which the function has its knots; bandwidths are in proportion to it.
    """

    def __init__(self, width: float):
        self.bandwidths = [bandwidth * width / USUAL for bandwidth in BANDWIDTHS]
        self.smooth = _slider("smooth", [(f"{width:.2g}", width) for width in self.bandwidths])
        self.polynomial = _slider("polynomial degree", [(str(degree), degree) for degree in range(1, POLYNOMIAL + 1)])
        self.chebyshev = _slider("Chebyshev degree", [(str(degree), degree) for degree in range(1, CHEBYSHEV + 1)])
        # what each makes of a function, and how that is said
        self._edits: dict[widgets.SelectionSlider, tuple[Callable[..., Spline], str]] = {
            self.smooth: (Spline.smoothed, "smoothed, bandwidth {}"),
            self.polynomial: (polynomial, "the polynomial of degree {}"),
            self.chebyshev: (chebyshev, "the Chebyshev series of degree {}"),
        }
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


def _slider(name: str, options: list) -> widgets.SelectionSlider:
    return widgets.SelectionSlider(description=name, options=[OFF, *options])
