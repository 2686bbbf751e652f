"""Functions that models were trained with, point by point, for drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.resolve import resolve
from lab.run import Run
from lab.spec import Knots, Learned

if TYPE_CHECKING:
    import pandas as pd


def learned_functions(runs: Sequence[tuple[dict, Run]], part: str, names: Sequence[str]) -> pd.DataFrame:
    """Of each kind of runs that has a learned function in `part` of its model: the labels `names`, x, value, at all
    knots."""
    import pandas as pd
    import torch

    rows: dict[tuple, list[dict]] = {}
    for labels, run in runs:
        known = getattr(run.spec.model, part)
        kind = tuple(labels[name] for name in names)
        if not isinstance(known, Learned) or kind in rows:
            continue
        knots = resolve(known, run.store)
        assert isinstance(knots, Knots), "one function, not one an input"
        x = torch.linspace(knots.low, knots.high, len(knots.values)).tolist()
        columns = dict(zip(names, kind, strict=True))
        rows[kind] = [columns | {"x": a, "value": b} for a, b in zip(x, knots.values, strict=True)]
    return pd.DataFrame([row for kind_rows in rows.values() for row in kind_rows]).round({"x": 6, "value": 6})
