"""DataExplorer: the splits of a data set of one's own, what is predicted, its inputs, and what was done to it."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
from torch import Tensor

from lab.data import Data
from lab.plots.style import SEQUENCE, TEMPLATE
from lab.widgets.explorer import LABEL, Explorer
from lab.widgets.live_figure import live

TARGETS = "what is predicted"
HEIGHT = 340  # px
BARS, MOST = 40, 60  # of a histogram; columns, or classes, that are told apart


class DataExplorer(Explorer):
    """Choose what to look at: the targets, or one of the inputs, by split, as shares of its examples. Below: how many
    examples each split has, and what was done to the data, or left out of them.

    data: a `lab.Data`.

    >>> data = Data.from_arrays(np.arange(90.0).reshape(45, 2), np.arange(45) % 3, name="three")
    >>> DataExplorer(data).column.options
    ('what is predicted', 'input 0', 'input 1')
    """

    def __init__(self, data: Data):
        super().__init__()
        self._data, self._columns = data, _columns(data)
        self.column = widgets.Dropdown(description="look at", options=[TARGETS, *self._columns], style=LABEL)
        self._place = widgets.VBox(layout={"width": "100%"})
        self.arrange([self.column], self._place)
        self._draw()
        self.watch(self._draw, self.column)

    @property
    def heading(self) -> str:
        """The name of the data."""
        return f"Data {self._data.name}"

    def _draw(self) -> None:
        data, name = self._data, self.column.value
        values, words = (data.targets, data.classes) if name == TARGETS else (self._columns[name], ())
        figure = go.Figure()
        edges = None if words else _edges(values)
        for (split, rows), ink in zip(data.rows.items(), SEQUENCE * len(data.rows), strict=False):
            shown = values[rows].reshape(-1).numpy()
            if edges is None:
                counts, x = np.bincount(shown[shown >= 0], minlength=len(words))[: len(words)], list(words)
            else:
                counts, x = np.histogram(shown, edges)[0], (edges[1:] + edges[:-1]) / 2
            share = 100 * counts / max(1, counts.sum())
            figure.add_bar(x=x[:MOST], y=share[:MOST], name=f"{split} ({len(rows):,})", marker={"color": ink})
        figure.update_layout(template=TEMPLATE, height=HEIGHT, bargap=0.1, legend={"orientation": "h", "y": 1.12})
        figure.update_xaxes(title_text=name, type="category" if words else None)
        figure.update_yaxes(title_text="share of a split (%)")
        self._place.children = [live(figure, figure.layout.height)]
        cut = f"\nThe first {MOST} of {len(words)} classes are drawn." if len(words) > MOST else ""
        self.say(repr(data) + cut)


def _columns(data: Data) -> Mapping[str, Tensor]:
    """The inputs by name: columns of a table one by one, else all values of an input together."""
    parts = {"": data.inputs} if isinstance(data.inputs, Tensor) else dict(data.inputs)
    columns: dict[str, Tensor] = {}
    for name, part in parts.items():
        if part.ndim == 2 and part.is_floating_point() and part.shape[1] <= MOST:
            names = data.columns or [f"{name or 'input'} {number}" for number in range(part.shape[1])]
            columns |= {str(column): part[:, number] for number, column in enumerate(names)}
        else:
            columns[name or "all inputs"] = part
    return columns


def _edges(values: Tensor) -> np.ndarray:
    """Where the bars of a histogram begin and end: of whole numbers in the middle between them, as far as they fit."""
    low, high = float(values.min()), float(values.max())
    if not values.is_floating_point() and high - low < BARS:
        return np.arange(low - 0.5, high + 1)
    return np.linspace(low, high if high > low else low + 1, BARS + 1)
