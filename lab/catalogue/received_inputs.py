"""The inputs that a learned function receives in a model trained with it: from shipped results, or from stored runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lab.catalogue.shipped import has_table, shipped_table
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.zoo import with_own
from lab.papers.transformers.individual_tasks.figures import mlp_inputs
from lab.papers.transformers.settings import setting
from lab.probes.profile import Received, profile, received
from lab.resolve import resolve
from lab.run import Run
from lab.scale import COMMON
from lab.spec import needs
from lab.store import Store
from lab.tasks import NAMES
from lab.tasks.named import task_title
from lab.training.fleet import build

if TYPE_CHECKING:
    import pandas as pd

FIGURE = "transformers/fig6"  # its table has a column `density`


def inputs_of(phi: Spline, store: Store | None = None) -> Received | None:
    """What an MLP's learned function really receives in its task's trained model; None where no such model is known.

    Looked for by the function's values, so that inputs never stand beside a function that did not receive them:
    in the shipped tables of Figure 6, then among the stage-II runs of the store.
    """
    return _shipped(phi) or (_stored(phi, store or Store()) if with_own() else None)


def functions_of(table: pd.DataFrame, where: str) -> tuple[dict[str, Spline], dict[str, Received]]:
    """The functions in a table of Figure 6, and their inputs, by the task's name as figures spell it."""
    import torch

    functions, inputs = {}, {}
    for task, rows in table.groupby("task", sort=False):
        name, x = task_title(task), rows["x"].to_numpy()
        functions[name] = Spline(torch.tensor(rows["value"].to_numpy(), dtype=torch.float32), x[0], x[-1])
        share = rows["density"].to_numpy()
        if share.sum() > 0:  # a diverged model receives nothing that could be counted
            inputs[name] = Received(x, share / share.sum(), f"{name} model of {where}")
    return functions, inputs


def _shipped(phi: Spline) -> Received | None:
    for scale in filter(partial(has_table, FIGURE), COMMON):
        functions, inputs = functions_of(shipped_table(FIGURE, scale), f"{FIGURE}, scale {scale}")
        for name, known in functions.items():
            if _same(known, phi):
                return inputs.get(name)
    return None


def _stored(phi: Spline, store: Store) -> Received | None:
    part = as_part(phi)
    for scale in reversed(COMMON):  # the largest first
        for task in NAMES:
            base = setting(task, scale)
            learned = base.runs(1, base.search(("mlp",)))[0]  # of a figure; the other one of `lab.train`
            for spec in (learned, base.runs(1, mlp=part)[0]):
                if not all(map(store.has, (*needs(spec), spec))):
                    continue
                known = build([resolve(spec.model.mlp, store)])
                if isinstance(known, Spline) and _same(known, phi):
                    if len(inputs := mlp_inputs(Run(spec, store))):
                        return received(inputs, profile(phi), f"{task} model in the store, scale {scale}")
    return None


def _same(one: Spline, other: Spline) -> bool:
    """Whether two functions are one; shipped tables keep a few digits only."""
    here, there = profile(one), profile(other)
    if len(here.x) != len(there.x):
        return False
    close = 1e-3 * np.ptp(there.y) + 1e-12
    return np.allclose(here.x, there.x, atol=1e-3) and np.allclose(here.y, there.y, rtol=1e-3, atol=close)
