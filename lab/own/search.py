"""A search for one function in models of one's own; and what a comparison shares with it: where results go, what is
known of data and model, how models are trained."""

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
    listed,
    shown,
)
from lab.nonlinearity.functions import scalars
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import Old
from lab.run import MOST_SEED, complete
from lab.search_results import EpisodeResult, SearchResult
from lab.spec import ConstantRate, DataSpec, Fit, ModuleEpisodes, ModuleSearch, ModuleSpec, Restart, register_object
from lab.store import Store, as_store
from lab.training.modules.fleet import OPTIMIZERS
from lab.training.modules.maker import Maker, maker
from lab.training.modules.side_by_side import TRAINED, WAYS
from lab.training.optimizers import RULES

GIVEN = ("seed", "device", "progress", "keep")  # by lab.search, whatever the user has set
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
    register_object((spec.name, spec.layout, spec.replace), model_maker)
    return model_maker, spec


def task(data: Data) -> DataSpec:
    """The data as specs have it, registered for training."""
    spec = DataSpec(data.name, data.digest)
    register_object(spec, data)
    return spec


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
    if isinstance(rates, str) or not isinstance(rates, Sequence | np.ndarray) or not len(rates):
        raise ArgumentError(f"rates={shown(rates)}: give learning rates, as [1e-3, 3e-3, 1e-2]")
    return list(dict.fromkeys(check_above_zero("rates", rate) for rate in rates))


def search_data(
    data: Any, model: Any, replace: Any, by: str | None, store: Store | None, **settings: Any
) -> SearchResult | EpisodeResult:
    """By two losses, or by episodes; says what is missing of a `lab.Data`, its model, and what is replaced."""
    if not isinstance(data, Data):
        said = f"task={shown(data)} with model, replace or settings: these are for data of your own"
        raise ArgumentError(f"{said}; give a lab.Data, as lab.Data.from_arrays(X, y)")
    if model is None and replace is None and (named := [key for key in settings if key not in GIVEN]):
        said = f"{listed(named)} {'is' if len(named) == 1 else 'are'} for a search with model= and replace="
        raise ArgumentError(f"{said}; without, the lab's own perceptrons are searched, as lab.search(data)")
    if model is None or replace is None:
        raise ArgumentError("a lab.Data is searched with a model of yours: give model=make and replace=torch.nn.GELU")
    if check_choice("by", "two_loss" if by is None else by, ("two_loss", "episodes")) == "two_loss":
        return search_by_two_losses(data, model, replace, store=store, **settings)
    return search_by_episodes(data, model, replace, store=store, **settings)


def search_by_two_losses(
    data: Data,
    model: Make,
    replace: Replaced,
    *,
    models: int = 4,
    steps: int = 1000,
    rate: float = 1e-3,
    spline_rate: float = 0.0005,  # chosen on `val` by benchmarks/own_defaults.py, which decides nothing about the start
    low: float = -8.0,
    high: float = 8.0,
    knots: int = 161,
    start: str = "gelu",
    seed: int = 0,
    name: str | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    side_by_side: str | None = None,
    keep: int | None = None,
    **fit: Any,
) -> SearchResult:
    """Learn one function for all the activations of a model of your own, by two losses; see `lab.search`."""
    if "per_channel" in fit:
        raise ArgumentError("per_channel: lab.search learns one function; lab.compare has it, of learnable splines")
    store, spec = store_of(name, store), _searchable(data, model, replace, name, side_by_side)
    recipe = recipe_of(steps, rate, device, **fit)
    phi = _function(low, high, knots, spline_rate, start, seed)
    wanted = ModuleSearch(task(data), spec, recipe, check_whole("models", models), *phi)
    complete([wanted], store, device, progress, workers=1, keep=keep)
    return SearchResult(wanted, store)


def search_by_episodes(
    data: Data,
    model: Make,
    replace: Replaced,
    *,
    restarts: int = 2,
    episodes: int = 100,
    window: int = 5,
    steps: int = 1000,
    rate: float = 1e-2,
    spline_rate: float = 0.05,
    low: float = -8.0,
    high: float = 8.0,
    knots: int = 161,
    start: str = "gelu",
    seed: int = 0,
    name: str | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    side_by_side: str | None = None,
    keep: int | None = None,
    **fit: Any,
) -> EpisodeResult:
    """The same by episodes (Algorithm 1 of the simplicity paper); see `lab.search`."""
    store, spec = store_of(name, store), _searchable(data, model, replace, name, side_by_side)
    if "every" in fit:
        raise ArgumentError(f"every={shown(fit['every'])}: a search by episodes looks at the end of training alone")
    retrain = recipe_of(steps, rate, device, **fit)
    check_choice("optimizer", retrain.optimizer, [rule for rule in RULES if rule in OPTIMIZERS])
    low, high, knots, spline_rate, start, seed = _function(low, high, knots, spline_rate, start, seed)
    check_whole("window", window, 0)
    numbers = range(APART * seed, APART * seed + check_whole("restarts", restarts, 1, APART))
    wanted = ModuleEpisodes(
        task(data),
        spec,
        ConstantRate(steps, rate, retrain.batch, retrain.optimizer),
        retrain,
        tuple(Restart(number, spline_rate, knots, window, start) for number in numbers),
        low=low,
        high=high,
        episodes=check_whole("episodes", episodes),
        pool=tuple(name for name in TRAINED if name in data.rows),
        normalized=True,
    )
    complete([wanted], store, device, progress, workers=1, keep=keep)
    return EpisodeResult(wanted, store)


def _searchable(data: Data, model: Make, replace: Replaced, name: str | None, way: str | None) -> ModuleSpec:
    """As `known`; ArgumentError where the models do not call what is replaced, so that nothing could be learned."""
    maker, spec = known(data, model, replace, name, way)
    if not maker.reached:
        raise ArgumentError(f"{maker.notes[-1]}; name activations that it calls")
    maker.check(nn.Identity(), "a learned function")
    return spec


def _function(
    low: float, high: float, knots: int, rate: float, start: str, seed: int
) -> tuple[float, float, int, float, str, int]:
    """What both searches are given of the function that they begin with, checked."""
    phi, rate = Spline.zeros(knots, low, high), check_above_zero("spline_rate", rate)
    start, seed = check_choice("start", start, ("zero", *scalars())), check_whole("seed", seed, 0, MOST_SEED)
    return phi.low, phi.high, phi.values.numel(), rate, start, seed
