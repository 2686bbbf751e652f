"""What can be drawn says so itself: `.plot()`, where `lab.plot` has a picture of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lab.errors import summary

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Drawn:
    """What can be drawn."""

    def plot(self) -> go.Figure:
        """Draw it, as `lab.plot` does.

        >>> import lab
        >>> lab.Spline([0.0, 1.0, 0.0], low=-1.0, high=1.0).plot().data[0].y.tolist()
        [0.0, 1.0, 0.0]
        """
        return import_module("lab.widgets").plot(self)  # which stands above all that is drawn


class HasPicture:
    """A probe's result, a dataclass of arrays that can be drawn, and is printed in a line."""

    def __repr__(self) -> str:
        return summary(self)

    def plot(self, labels: Any = None) -> go.Figure:
        """Draw it, as `lab.plot` does. labels: (examples,), of codes and of an embedding: the colours of the points.

        >>> from lab.probes import slice_1d
        >>> slice_1d(lambda x: x.sum(1), [0.0], [1.0], samples=3).plot().data[0].y.tolist()
        [0.0, 0.5, 1.0]
        """
        return import_module("lab.widgets").plot(self, labels)
