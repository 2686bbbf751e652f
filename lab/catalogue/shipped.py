"""Results that are shipped with the lab: where they are, and the functions among them."""

from __future__ import annotations

from pathlib import Path

from lab.nonlinearity.spline import Spline

RESULTS = Path(__file__).parents[2] / "data" / "results"


def folder_of(name: str, scale: str) -> Path:
    """Where the results of this entry are, or would be."""
    return RESULTS / name / scale


def has_results(name: str, scale: str) -> bool:
    """Whether results of this entry are shipped."""
    return (folder_of(name, scale) / "provenance.json").is_file()


def shipped_functions(scale: str = "laptop") -> dict[str, Spline]:
    """Functions that were learned for operations, by task, from the results that are shipped with the lab.

    >>> shipped_functions()["a+b mod 27"].low
    -2.0
    """
    import pandas as pd
    import torch

    found = {}
    for name in ("fig11", "fig12", "fig28"):
        path = folder_of(f"simplicity/{name}", scale) / "functions.csv"
        table = pd.read_csv(path) if path.is_file() else pd.DataFrame({"task": [], "chosen": []})
        for task, rows in table[table["chosen"].astype(bool)].groupby("task", sort=False):
            x, values = rows["x"].to_numpy(), torch.tensor(rows["value"].to_numpy(), dtype=torch.float32)
            found.setdefault(task, Spline(values, float(x[0]), float(x[-1])))
    return found
