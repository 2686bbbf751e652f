"""CompatibilityExplorer: click a cell of Figure 5 or 11, and see the learning curves behind it."""

from math import isfinite
from typing import Any

import pandas as pd
import traitlets

from lab.catalogue.figure import Figure
from lab.errors import ArgumentError
from lab.papers.compatibility import BASELINE, FAINT, NO_MODEL_LEARNS, best, delta, square, unlearned
from lab.plots.caption import counted
from lab.plots.style import DELTA_RANGE, METHOD_COLOURS, ink_on, shade_of
from lab.tasks.named import task_title
from lab.widgets import pages
from lab.widgets.explorer import Explorer, menu
from lab.widgets.pages import Content, PageView, view_content

COLOURS = {
    "MLP": METHOD_COLOURS["learned MLP"],
    "attention": METHOD_COLOURS["learned attention"],
    "both": METHOD_COLOURS["learned MLP + attention"],
}


class CompatibilityView(PageView):
    """The matrix and the curves of the chosen cell; what the traits hold is said in `page/compatibility.js`."""

    name, _esm = "compatibility", pages.widget("compatibility.js")

    parts = traitlets.List(traitlets.Dict()).tag(sync=True)
    rows = traitlets.List(traitlets.Unicode()).tag(sync=True)
    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    steps = traitlets.List(traitlets.Int()).tag(sync=True)
    part = traitlets.Int(0).tag(sync=True)
    row = traitlets.Int(0).tag(sync=True)
    column = traitlets.Int(0).tag(sync=True)


class CompatibilityExplorer(Explorer):
    """The matrix, and for the chosen cell one curve a seed, with the baseline's in grey.

    figure: transformers/fig5 or fig11, as `lab.figure` gives it. A cell is chosen with the mouse, the arrow keys, or in
    the menus; the page draws it without the kernel.
    """

    def __init__(self, figure: Figure):
        super().__init__()
        if not {"architecture", "part"} <= set(figure.table):
            raise ArgumentError(
                f"{figure.name} has no architectures of several parts to compare; give transformers/fig5 or fig11"
            )
        table, curves, self._name = figure.table, figure.extras.get("curves"), figure.name
        self._unlearned = unlearned(table)
        parts, steps = list(table["part"].unique()), table.groupby("task")["step"].first()
        self._curves = {} if curves is None else dict(iter(curves.groupby(["part", "architecture", "task"])))
        self._deltas = {part: delta(table[table["part"] == part]) for part in parts}
        values = square(self._deltas[parts[0]])
        self._rows, self._columns = list(values.index), list(values.columns)

        self.part = menu("optimized part", parts)
        self.part.layout.display = None if len(parts) > 1 else "none"
        rows, columns = ([(task_title(name), name) for name in names] for names in (self._rows, self._columns))
        self.architecture, self.task = menu("optimized for", rows), menu("trained on", columns)
        self.view = CompatibilityView(
            parts=[self._part(part) for part in parts],
            rows=[name for name, _ in rows],
            columns=[name for name, _ in columns],
            steps=[int(steps[task]) for task in self._columns],
        )
        self.view.follow(part=self.part, row=self.architecture, column=self.task)
        self.arrange([self.part, self.architecture, self.task], self.view)
        self._describe()

    def content(self) -> Content:
        """The matrix and the curves, to be explored without a kernel."""
        title = f"{self._name}: cells and their curves"
        return view_content(title, self.view, self.code(), self.status.value, self._table())

    def _table(self) -> dict[str, list]:
        cells = pd.concat([cells.assign(part=part) for part, cells in self._deltas.items()])
        names = ["part", "architecture", "task", "delta", "low", "high", "seeds"]
        columns: dict[str, list] = cells[names].astype(object).where(cells[names].notna(), None).to_dict("list")
        return columns

    def _part(self, part: str) -> dict[str, Any]:
        cells = self._deltas[part].set_index(["architecture", "task"])
        values = square(self._deltas[part])
        tops = best(values.drop(columns=[task for task in values if task in self._unlearned]))
        return {
            "name": part,
            "colour": COLOURS.get(part, METHOD_COLOURS["learned MLP"]),
            "cells": [[self._cell(cells, row, column, tops) for column in self._columns] for row in self._rows],
            "curves": [[self._courses(part, row, column) for column in self._columns] for row in self._rows],
            "baselines": [self._courses(part, BASELINE, column) for column in self._columns],
        }

    def _cell(self, cells: pd.DataFrame, architecture: str, task: str, tops: set[tuple[str, str]]) -> dict[str, Any]:
        one = cells.loc[(architecture, task)]
        value, half = float(one["delta"]), float(one["high"] - one["low"]) / 2
        known = isfinite(value)
        text = (f"{value:+z.1f}" if known else "") + (f"\n± {half:.1f}" if isfinite(half) else "")
        words = f"Optimized for {task_title(architecture)}, trained on {task_title(task)}: "
        words += f"{value:+z.1f}" if known else "no run is left"
        words += f" ± {half:.1f}" if isfinite(half) else ""
        words += f" percentage points against the baseline, {counted(int(one['seeds']), 'seed')}"
        words += f" ({int(one['lost'])} more diverged)" if one["lost"] else ""
        flat = task in self._unlearned or not known
        shade = NO_MODEL_LEARNS if flat else shade_of(value, -DELTA_RANGE, DELTA_RANGE)
        return {
            "value": value if known else None,
            "text": text.replace("-", "−"),
            "words": words.replace("-", "−") + ("; no model learns this task" if task in self._unlearned else ""),
            "shade": shade,
            "ink": FAINT if flat else ink_on(shade),
            "best": (architecture, task) in tops,
        }

    def _courses(self, part: str, architecture: str, task: str) -> dict[str, Any] | None:
        """The accuracies (%) of a cell, one course a seed, NaN after a run has diverged; None where the figure came
        without them."""
        rows = self._curves.get((part, architecture, task))
        if rows is None:
            return None
        runs = 100 * rows.pivot(index="step", columns="seed", values="accuracy")
        courses = [[round(value, 9) if isfinite(value) else None for value in runs[seed]] for seed in runs]
        return {"x": [int(step) for step in runs.index], "runs": courses}

    def _describe(self) -> None:
        text = (
            "Thin: one run a seed. Thick: mean. Black frames: best of a column. Grey: no model learns the task. ±: 95 %"
            " interval of the mean over seeds."
        )
        if any(row is None for part in self.view.parts for row in part["baselines"]):
            text += f" The figure came without its curves; lab.figure('{self._name}', …, force=True) trains them."
        self.say(text)
