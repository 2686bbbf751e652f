"""The learning curves behind the cells of a compatibility matrix: from stored runs, or from what is shipped with it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lab.figures.algorithmic import curves
from lab.figures.build import RESULTS
from lab.figures.compatibility import plan
from lab.run import Run
from lab.spec import RunSpec
from lab.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from lab.figures.figure import Figure

Cell = tuple[str, str, str]  # part; architecture: "baseline", or the task it was optimized for; task trained on


class Cells:
    """Curves by cell of a figure whose table has the columns part, architecture, task, seed, step."""

    def __init__(self, figure: Figure, store: Store | None = None):
        self.table, self.store = figure.table, store or Store()
        self.parts = list(self.table["part"].unique())
        self.shipped = RESULTS / figure.name / figure.scale / "curves.csv"
        self._found: dict[Cell, pd.DataFrame | None] = {}
        self._planned: dict[Cell, list[tuple[dict, RunSpec]]] = {}
        for labels, spec in plan(figure.scale, self.table["seed"].nunique(), self.parts):
            cell = labels["part"], labels["architecture"], labels["task"]
            self._planned.setdefault(cell, []).append((labels, spec))

    def curves(self, part: str, architecture: str, task: str) -> pd.DataFrame | None:
        """Accuracies of a cell's runs in percent, steps × seeds, NaN after a run has diverged; None where the runs are
        neither in the store nor shipped."""
        cell = part, architecture, task
        if cell not in self._found:
            rows = self._from_store(cell)
            rows = self._from_shipped(cell) if rows is None else rows
            self._found[cell] = (
                None if rows is None else 100 * rows.pivot(index="step", columns="seed", values="accuracy")
            )
        return self._found[cell]

    def read_step(self, task: str) -> int:
        """The step at which the matrix reads this task."""
        return int(self.table.loc[self.table["task"] == task, "step"].iloc[0])

    def _from_store(self, cell: Cell) -> pd.DataFrame | None:
        planned = self._planned.get(cell, [])
        if not planned or not all(self.store.has(spec) for _, spec in planned):
            return None
        return curves([(labels, Run(spec, self.store)) for labels, spec in planned])

    def _from_shipped(self, cell: Cell) -> pd.DataFrame | None:
        table = self._all_shipped
        if table is None:
            return None
        rows = table[(table["part"] == cell[0]) & (table["architecture"] == cell[1]) & (table["task"] == cell[2])]
        return rows if len(rows) else None

    @cached_property
    def _all_shipped(self) -> pd.DataFrame | None:
        import pandas as pd

        return pd.read_csv(self.shipped) if self.shipped.is_file() else None
