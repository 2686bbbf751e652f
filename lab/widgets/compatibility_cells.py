"""The learning curves behind the cells of a compatibility matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from lab.catalogue.figure import Figure


class Cells:
    """Curves by cell of a figure whose table has the columns part, architecture, task, seed, step.

    An architecture is "baseline", or the task that it was optimized for.
    """

    def __init__(self, figure: Figure):
        self.table = figure.table
        self.parts = list(self.table["part"].unique())
        curves = figure.extras.get("curves")
        groups = () if curves is None else curves.groupby(["part", "architecture", "task"])
        self._rows = dict(iter(groups))

    def curves(self, part: str, architecture: str, task: str) -> pd.DataFrame | None:
        """Accuracies of a cell's runs in percent, steps × seeds, NaN after a run has diverged; None where the figure
        came without its curves."""
        rows = self._rows.get((part, architecture, task))
        return None if rows is None else 100 * rows.pivot(index="step", columns="seed", values="accuracy")

    def read_step(self, task: str) -> int:
        """The step at which the matrix reads this task."""
        return int(self.table.loc[self.table["task"] == task, "step"].iloc[0])
