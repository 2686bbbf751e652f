"""Tables of runs that every paper measures in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.run import Run

if TYPE_CHECKING:
    import pandas as pd


def curves(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row per run and evaluation: the run's labels, seed, step, accuracy (0 to 1), diverged."""
    import pandas as pd

    return pd.DataFrame(
        [
            labels
            | {"seed": run.spec.seed, "step": int(step), "accuracy": float(value), "diverged": bool(run.diverged)}
            for labels, run in runs
            for step, value in zip(run.steps, run.accuracy, strict=True)
        ]
    )


def final(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """The last evaluation of each run: one row a run."""
    table = curves(runs)
    identity = [name for name in table.columns if name not in ("step", "accuracy")]
    last = table.groupby(identity, sort=False, dropna=False)["step"].idxmax()  # a label may be None
    return table.loc[last].reset_index(drop=True)
