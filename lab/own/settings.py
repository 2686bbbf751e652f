"""What search and comparison in models of one's own share: where results go, what is known, how models are trained."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from lab.data import Data
from lab.devices import choose_device
from lab.errors import (
    ArgumentError,
    KeywordError,
    check_above_zero,
    check_choice,
    check_number,
    check_type,
    check_whole,
    shown,
)
from lab.nonlinearity.swap import Old
from lab.spec import DataSpec, Fit, ModuleSpec, remember
from lab.store import Store, as_store
from lab.training.modules.maker import Maker, maker
from lab.training.modules.side_by_side import WAYS

TRAINING = tuple("steps rate batch optimizer schedule decay momentum warmup cooldown precision every threads".split())
USUAL = {  # names that other libraries have
    **dict.fromkeys(("lr", "learning_rate"), "rate"),
    **dict.fromkeys(("epochs", "n_steps", "max_steps", "iterations"), "steps"),
    **dict.fromkeys(("optim", "opt"), "optimizer"),
    **{"batch_size": "batch", "weight_decay": "decay", "scheduler": "schedule"},
}
EVALUATIONS = 20  # of a run, where `every` is not given
MOST_THREADS = 1024
APART = 1_000  # between the seeds of restarts of two searches
Make = Callable[[int], nn.Module]
Replaced = Old | tuple[Old, ...]


def store_of(name: str | None, store: Store | None) -> Store:
    """Where results go: without a name a folder that lives as long as they do."""
    if name is not None:
        if not check_type("name", name, str, "a name for your model, such as 'digits-cnn'"):
            raise ArgumentError("name='': give a name for your model, such as 'digits-cnn'")
        return as_store(store)
    if store is not None:
        raise ArgumentError("store is given and name is not: results are kept under a name, such as name='digits-cnn'")
    folder = tempfile.mkdtemp(prefix="lab-")
    passing = Store(folder)
    weakref.finalize(passing, shutil.rmtree, folder, True)
    return passing


def known(data: Data, model: Make, replace: Replaced, name: str | None, way: str | None) -> tuple[Maker, ModuleSpec]:
    check_type("data", data, Data, "a lab.Data, as lab.Data.from_arrays(X, y)")
    if way is not None:
        check_choice("side_by_side", way, WAYS)
    model_maker, spec = maker(model, replace, data, name or "", way)
    remember((spec.name, spec.layout, spec.replace), model_maker)
    return model_maker, spec


def task(data: Data) -> DataSpec:
    """The data as specs have it, remembered for training."""
    task = DataSpec(data.name, data.digest)
    remember(task, data)
    return task


def recipe_of(steps: int, rate: float, device: str = "auto", **fit: Any) -> Fit:
    """How models are trained, checked; `lab.training.modules.fleet` knows which settings go together."""
    for key in fit:
        if key not in TRAINING:
            batches = ", a number of batches" if key == "epochs" else ""
            meant = f"; did you mean {USUAL[key]}{batches}?" if key in USUAL else ""
            raise KeywordError(f"unexpected argument {key!r}; of training there are {', '.join(TRAINING)}{meant}")
    steps = check_whole("steps", steps)
    fit["every"] = check_whole("every", fit.get("every", max(1, steps // EVALUATIONS)))
    on_cpu = choose_device(device) == "cpu"
    if "threads" in fit and not on_cpu:
        raise ArgumentError(f"threads={shown(fit['threads'])}: these are of a CPU; leave it out, or give device='cpu'")
    usual = torch.get_num_threads() if on_cpu else 1
    fit["threads"] = check_whole("threads", fit.get("threads", usual), 1, MOST_THREADS)
    if fit.get("batch") is not None:
        check_whole("batch", fit["batch"])
    for key, most in (("decay", np.inf), ("momentum", 1.0), ("warmup", 1.0), ("cooldown", 1.0)):
        if key in fit:
            fit[key] = check_number(key, fit[key], 0, most)
    return Fit(steps, check_above_zero("rate", rate), **fit)


def grid_of(rates: Sequence[float]) -> list[float]:
    """Learning rates to choose from."""
    if isinstance(rates, str) or not isinstance(rates, Sequence | np.ndarray) or not len(rates):
        raise ArgumentError(f"rates={shown(rates)}: give learning rates, as [1e-3, 3e-3, 1e-2]")
    return list(dict.fromkeys(check_above_zero("rates", rate) for rate in rates))
