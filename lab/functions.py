"""The zoo as notebooks call it: a function by its name, which needs torch alone, or the table of all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, overload

from lab.nonlinearity import zoo as functions
from lab.nonlinearity.spline import Spline

if TYPE_CHECKING:  # one function needs no tables
    import pandas as pd


@overload
def zoo(name: None = None, folder: str | Path | None = None) -> pd.DataFrame: ...
@overload
def zoo(name: str, folder: str | Path | None = None) -> Spline: ...
def zoo(name: str | None = None, folder: str | Path | None = None) -> Spline | pd.DataFrame:
    """A learned non-linearity by its name, frozen; without a name, the table of all that exist.

    folder: your own zoo. Default: the folder that LAB_ZOO names; if it is not set, "zoo" in the store's folder.

    The table has one row for each function: task; part of the model that it was learned for; paper whose method found
    it; scale; then what it gains on `test` over another function, twice, each with its 95 % interval (Student's t for
    two groups of runs, not paired; empty where one run has none). Above 0 it is better, also of an error:

    gain_end, low_end, high_end: at the end of training. gain_mean, low_mean, high_mean: as a mean over training, which
        also says how soon a model learns.
    unit: "points" (percentage points) of an accuracy; else empty, the metric's own.

    measured: what, and where. Of functions of the papers' tasks (shipped, or your own) it is the accuracy over models
    with GELU and softmax (simplicity paper: with ReLU), and where the runs are: "transformers/fig10" for shipped
    results, "store" for yours; empty if nothing was trained with it. Of functions that were published with
    `measured=` a `lab.Comparison` it is the first metric of its data, over the first of the other functions: "accuracy
    on digits, over GELU".

    seeds: how many runs. steps: of training. Then the device of its search, the commit of the lab that wrote the file,
    the search's key; and problem, only if some file cannot be read.

    Raises ArgumentError for an unknown name, LabError for a file that is damaged or of a newer schema.

    >>> zoo("transformers/memorize").spacing < 1
    True
    >>> table = zoo()
    >>> table.task["transformers/addmod"], table.scale["transformers/addmod"], int(table.seeds["transformers/addmod"])
    ('addmod', 'laptop', 6)
    """
    if name is not None:
        return functions.zoo(name, folder)
    from lab.catalogue.zoo import table

    return table(folder)
