"""CompatibilityExplorer: click a cell of Figure 5 or 11, and see the learning curves behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go

from lab.errors import ArgumentError
from lab.papers.transformers.compatibility.matrix import BASELINE, delta
from lab.papers.transformers.compatibility.plots import Matrix, heatmaps
from lab.plots.caption import counted
from lab.plots.panels import ACCURACY, FULL, STEP
from lab.plots.style import GREY, METHOD_COLOURS, TEMPLATE, VERMILLION, faded, task_title
from lab.widgets.compatibility_cells import Cells
from lab.widgets.explorer import LABEL, Explorer, live

if TYPE_CHECKING:
    from lab.catalogue.figure import Figure

COLOURS = {
    "MLP": METHOD_COLOURS["ours MLP"],
    "attention": METHOD_COLOURS["ours attention"],
    "both": METHOD_COLOURS["ours MLP + attention"],
}
FRAME = {"type": "rect", "line": {"color": VERMILLION, "width": 4}}
# Beside each other where the page is wide enough, else one below the other.
SIDE = {"flex": "1 1 400px", "min_width": "0", "overflow": "hidden"}


class CompatibilityExplorer(Explorer):
    """The matrix, and for the chosen cell one curve a seed, with the baseline's in grey.

    figure: transformers/fig5 or fig11, as `lab.figure` gives it. A cell is chosen with the mouse or in the menus.
    """

    def __init__(self, figure: Figure):
        super().__init__()
        if not {"architecture", "part"} <= set(figure.table):
            raise ArgumentError(
                f"{figure.name} has no architectures of several parts to compare; give transformers/fig5 or fig11"
            )
        table, self._name, self.cells = figure.table, figure.name, Cells(figure)
        self._deltas = {part: delta(table[table["part"] == part]) for part in self.cells.parts}
        self._matrices = {part: heatmaps([Matrix("", cells)]) for part, cells in self._deltas.items()}
        first = self._matrices[self.cells.parts[0]]
        self._rows = [cell[0][0] for cell in first.data[0].customdata]
        self._columns = [cell[1] for cell in first.data[0].customdata[0]]

        self.part = widgets.Dropdown(description="optimized part", options=self.cells.parts, style=LABEL)
        self.part.layout.display = None if len(self.cells.parts) > 1 else "none"
        rows, columns = ([(task_title(name), name) for name in names] for names in (self._rows, self._columns))
        self.architecture = widgets.Dropdown(description="optimized for", options=rows, style=LABEL)
        self.task = widgets.Dropdown(description="trained on", options=columns, style=LABEL)
        self.matrix, self.curves = go.Figure(first), _frame(table["seed"].nunique())
        self._drawn: tuple[str, str, str] | None = None
        self._draw_matrix()
        self._draw_curves()
        self.matrix, self.curves = live(self.matrix, height=first.layout.height), live(self.curves, height=400)
        self.matrix.data[0].on_click(self._click)
        sides = [widgets.VBox([side], layout=SIDE) for side in (self.matrix, self.curves)]
        self.arrange([self.part, self.architecture, self.task], widgets.HBox(sides, layout={"flex_flow": "row wrap"}))
        self.watch(self._draw_matrix, self.part)
        self.watch(self._draw_curves, self.part, self.architecture, self.task)

    def _click(self, trace, points, state) -> None:
        with self.safely():
            if points.point_inds:
                row, column = points.point_inds[0]
                # both before either is told, so that no cell on the way is drawn
                with self.architecture.hold_trait_notifications(), self.task.hold_trait_notifications():
                    self.architecture.value, self.task.value = self._rows[row], self._columns[column]

    def _draw_matrix(self) -> None:
        """Another part: other numbers in the same matrix. The last shape is the frame of the chosen cell."""
        drawn = self._matrices[self.part.value]
        with self.matrix.batch_update():
            for here, there in zip(self.matrix.data, drawn.data, strict=True):
                here.update(there)
            self.matrix.layout.shapes = [*drawn.layout.shapes, FRAME]

    def _draw_curves(self) -> None:
        """Another cell: its curves are drawn, it is framed in the matrix."""
        cell = part, architecture, task = self.part.value, self.architecture.value, self.task.value
        if cell == self._drawn:
            return
        ours, standard = self.cells.curves(*cell), self.cells.curves(part, BASELINE, task)
        x, y, read = self._columns.index(task), self._rows.index(architecture), self.cells.read_step(task)
        half = len(self.curves.data) // 2
        with self.curves.batch_update():
            _fill(self.curves.data[:half], standard, GREY)
            _fill(self.curves.data[half:], ours, COLOURS.get(part, METHOD_COLOURS["ours MLP"]))
            self.curves.data[-1].name = f"optimized for {task_title(architecture)}"
            self.curves.layout.shapes[0].update(x0=read, x1=read)
            self.curves.layout.annotations[0].update(x=read, text=f"the matrix reads here: step {read}")
            self.curves.layout.title.text = f"Trained on {task_title(task)}"
        with self.matrix.batch_update():
            self.matrix.layout.shapes[-1].update(x0=x - 0.5, x1=x + 0.5, y0=y - 0.5, y1=y + 0.5)
        self._describe(part, architecture, task, ours is None or standard is None)
        self._drawn = cell

    def _describe(self, part: str, architecture: str, task: str, missing: bool) -> None:
        cells = self._deltas[part]
        cell = cells[(cells["architecture"] == architecture) & (cells["task"] == task)].iloc[0]
        half = (cell["high"] - cell["low"]) / 2
        text = f"Optimized for {task_title(architecture)}, trained on {task_title(task)}: {cell['delta']:+z.1f}"
        text += f" ± {half:.1f}" if pd.notna(half) else ""
        seeds = counted(cell["seeds"], "seed")
        text += f" percentage points against the baseline at step {self.cells.read_step(task)}, {seeds}"
        text += f" ({cell['lost']} more diverged)" if cell["lost"] else ""
        text = text.replace("-", "−") + ". Thin: one run a seed. Thick: mean. Black frames: best of a column."
        if missing:
            text += f" The figure came without its curves; lab.figure('{self._name}', …, force=True) trains them."
        self.say(text)


def _fill(traces: tuple[go.Scatter, ...], runs: pd.DataFrame | None, colour: str) -> None:
    """Thin lines for the seeds, and a thick one, the last trace, for their mean; runs: steps × seeds, or None."""
    for number, trace in enumerate(traces[:-1]):
        run = None if runs is None or number >= runs.shape[1] else runs.iloc[:, number]
        trace.x, trace.y = ([], []) if run is None else (run.index, run)
        trace.line.color = faded(colour, 0.45)
    traces[-1].x, traces[-1].y = ([], []) if runs is None else (runs.index, runs.mean(axis=1))
    traces[-1].line.color = colour


def _frame(seeds: int) -> go.Figure:
    """The picture of the curves, without data: the baseline's seeds and mean, then those of a cell."""
    figure = go.Figure()
    for kind in (BASELINE, "optimized"):
        for number in range(seeds + 1):
            mean = number == seeds
            figure.add_scatter(
                x=[],
                y=[],
                mode="lines",
                name=kind,
                legendgroup=kind,
                showlegend=mean,
                line={"width": 2.6 if mean else 1},
                hovertemplate="step %{x}: %{y:.1f} %",
            )
    figure.add_shape(type="line", yref="paper", y0=0, y1=1, line={"color": GREY, "width": 1, "dash": "dash"})
    figure.add_annotation(yref="paper", y=1, yanchor="bottom", showarrow=False, font={"size": 11})
    figure.update_layout(
        template=TEMPLATE,
        title={"font": {"size": 13}, "x": 0.02, "y": 0.98, "yanchor": "top"},
        legend={"xref": "container", "yref": "container", "x": 0.01, "y": 0.92, "yanchor": "top"},
        margin={"t": 80},
        xaxis={"title": STEP, "rangemode": "tozero"},
        yaxis={"title": ACCURACY, "range": FULL},
    )
    return figure
