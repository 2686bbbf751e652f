"""What can be explored of a figure of the catalogue: functions in its tables, or the task that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab import tasks
from lab.catalogue.figure import Figure
from lab.catalogue.registry import entry
from lab.nonlinearity.spline import Spline
from lab.plots.style import method_title
from lab.probes.profile import Received
from lab.tasks.named import table_named, task_title
from lab.tasks.operation import Operation

if TYPE_CHECKING:
    import pandas as pd

# columns that say which function a row is of, in the order of its name
LABELS: tuple[str, ...] = ("task", "set", "mode", "family", "line", "spectral", "method", "start", "search", "restart")
LABELS += ("layer", "layers", "width", "degree")
NUMBERED = ("search", "restart", "layer", "layers", "width", "degree")
MOST = 60  # functions in a menu


def has_functions(figure: Figure) -> bool:
    """Whether one of its tables has functions, point by point."""
    return _points(figure) is not None


def functions(figure: Figure) -> tuple[dict[str, Spline], dict[str, Received]]:
    """The functions of a figure by name, and the inputs of those whose inputs are known. Of several restarts that
    found one, those that were chosen.

    >>> from lab.catalogue.build import figure
    >>> splines, inputs = functions(figure("transformers/fig6", scale="smoke", progress=False))
    >>> splines["Mano"], inputs["Mano"].share.shape
    (Spline((361,) knots on [-20, 20]), (361,))
    """
    table = _points(figure)
    assert table is not None  # has_functions
    if "chosen" in table and table["chosen"].any():
        table = table[table["chosen"].astype(bool)]
    labels = [name for name in LABELS if name in table and table[name].nunique() > 1]
    splines, inputs = {}, {}
    groups = table.groupby(labels, sort=False, dropna=False) if labels else [((), table)]
    for values, rows in list(groups)[:MOST]:
        rows = rows.drop_duplicates("x").sort_values("x")
        x, y = rows["x"].to_numpy(float), rows["value"].to_numpy(float)
        if len(x) < 2 or not np.isfinite(y).all() or not np.allclose(np.diff(x), np.diff(x)[0], rtol=1e-2):
            continue
        name = ", ".join(_word(*pair) for pair in zip(labels, values, strict=True)) or "the function"
        splines[name] = Spline(torch.tensor(y, dtype=torch.float32), float(x[0]), float(x[-1]))
        share = rows["density"].to_numpy(float) if "density" in rows else np.zeros(1)
        if share.sum() > 0:  # a diverged model receives nothing that could be counted
            inputs[name] = Received(x, share / share.sum(), f"{name} model of {figure.name}, scale {figure.scale}")
    return splines, inputs


def task(figure: Figure) -> Any:
    """What the explorer of a figure's task is of: an algorithmic task's name, SRAVEN, fuzzy logic or an operation; None
    where its first task is none of these."""
    name = next(iter(entry(figure.name).tasks), "")
    if name in ("sraven", "logic"):
        return tasks.Sraven() if name == "sraven" else tasks.Logic()
    table = table_named(name) if " mod " in name else None
    return name if name in tasks.NAMES else table if isinstance(table, Operation) else None


def _points(figure: Figure) -> pd.DataFrame | None:
    for table in (figure.table, figure.extras.get("functions")):
        if table is not None and {"x", "value"} <= set(table) and "y" not in table:
            return table
    return None


def _word(label: str, value: Any) -> str:
    if label in NUMBERED:
        return f"{label} {value}"
    return task_title(value) if label == "task" else method_title(str(value)) if label == "method" else str(value)
