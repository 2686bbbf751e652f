"""Search and comparison with a model and data of your own: what `lab.search` and `lab.compare` do with them."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from lab.comparison import Comparison, Trained
from lab.data import Data, measures
from lab.errors import ArgumentError, check_choice, check_number, check_type, check_whole, shown
from lab.nonlinearity.named import NAMES
from lab.nonlinearity.part import as_part
from lab.nonlinearity.polynomial import Polynomial
from lab.nonlinearity.spline import Spline
from lab.nonlinearity.swap import Old
from lab.nonlinearity.zoo import zoo
from lab.run import MOST_SEED, MOST_SEEDS, EpisodeResult, Run, SearchResult, complete, search_of
from lab.spec import (
    UNCHANGED,
    DataSpec,
    Fit,
    Learned,
    ModuleFunction,
    ModuleSearch,
    ModuleSpec,
    Part,
    RunSpec,
    remember,
    replace,
)
from lab.store import Spec, Store, as_store
from lab.training.modules.maker import Maker, maker
from lab.training.modules.side_by_side import WAYS

EVALUATIONS = 20  # of a run, where `every` is not given
FIRST_TUNING_SEED = 1_000_000  # of runs that choose a rate: none that a comparison reports
UNKNOWN = "the code of `model` is not part of a result's identity: where it changes, give another name"
Make = Callable[[int], nn.Module]
Replaced = Old | tuple[Old, ...]


def search(
    data: Data,
    model: Make,
    replace: Replaced,
    *,
    models: int = 4,
    steps: int = 1000,
    rate: float = 1e-3,
    spline_rate: float = 0.02,
    low: float = -8.0,
    high: float = 8.0,
    knots: int = 161,
    start: str = "zero",
    seed: int = 0,
    name: str | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    side_by_side: str | None = None,
    **fit: Any,
) -> SearchResult:
    """Learn one function for all the activations of a model of your own; see `lab.search`."""
    store, known = _store(name, store), _known(data, model, replace, name, side_by_side)
    recipe = _fit(steps, rate, **fit)
    spec = ModuleSearch(
        _task(data),
        known[1],
        recipe,
        check_whole("models", models),
        check_number("low", low),
        check_number("high", high),
        check_whole("knots", knots, 2),
        check_number("spline_rate", spline_rate, 0),
        check_choice("start", start, ("zero", *NAMES)),
        check_whole("seed", seed, 0, MOST_SEED),
    )
    if not spec.low < spec.high:
        raise ArgumentError(f"low={low:g}, high={high:g}: low must be below high")
    complete([spec], store, device, progress, workers=1, threads=torch.get_num_threads())
    return SearchResult(spec, store)


def compare(
    data: Data,
    model: Make,
    replace: Replaced,
    functions: Mapping[str, Any],
    *,
    seeds: int = 6,
    searches: int = 1,
    rates: Sequence[float] | None = None,
    steps: int = 1000,
    rate: float = 1e-3,
    tuning_seeds: int = 2,
    name: str | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    side_by_side: str | None = None,
    **fit: Any,
) -> Comparison:
    """Train your own model from scratch with each of several functions, and say what differs.

    data: a `lab.Data`. Models train on `train` and `search`, and are reported on `test`.
    model: a function of a seed that returns a `torch.nn.Module`; your code, unchanged.
    replace: what the functions take the place of: a class (`torch.nn.GELU`), a pattern of names ("*.act"), as for
        `lab.swap`.
    functions: by name a module, a `Spline`, what `lab.search` found, a name ("relu", "mine/digits-cnn"), or None: the
        model as it is.
    seeds: runs a function. searches: how often a function that `lab.search` found is searched for anew, with other
        seeds; each of them gets `seeds` runs, and an interval then covers searches, too.
    rates: learning rates to choose from, on `val` and seeds of their own, each function alike; else all have `rate`.
    steps, rate, batch (128; None: all examples), optimizer ("adam", "adamw", "sgd"), schedule ("trapezoid", "cosine",
        "constant"), decay, momentum, warmup, cooldown, precision ("float32", "bfloat16"), every: of training.
    name: of your model. With it results are kept in the store, and a killed call goes on where it was. Their identity
        is the data's content, the names and shapes of parameters, these settings and the name; the code of `model` is
        not part of it, so that what has changed there needs another name.
    side_by_side: "vmap" or "loop"; default: what is faster, of those that give the same.

    >>> import lab, torch
    >>> from torch import nn
    >>> X = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> data = lab.Data.from_arrays(X, X.prod(1) > 0, name="signs")
    >>> make = lambda seed: nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2))
    >>> result = lab.compare(data, make, nn.GELU, {"GELU": None, "sine": torch.sin}, seeds=2, steps=20, progress=False)
    >>> list(result.table["function"]), result.difference("sine", "GELU").covers
    (['GELU', 'GELU', 'sine', 'sine'], 'seeds')
    """
    check_whole("seeds", seeds, 1, MOST_SEEDS)
    check_whole("searches", searches, 1, MOST_SEEDS)
    store, (found, spec) = _store(name, store), _known(data, model, replace, name, side_by_side)
    recipe, task, metric = _fit(steps, rate, **fit), _task(data), next(iter(data.metrics.values()))
    for split in ("test", *(["val"] if rates is not None else [])):
        if split not in data.rows:
            raise ArgumentError(f"{data.name} has no split {split!r}; it has {', '.join(data.rows)}")
    grid = _rates(rates) if rates is not None else [recipe.rate]
    if not isinstance(functions, Mapping) or not functions:
        raise ArgumentError(
            f"functions={shown(functions)}: give functions by name, as {{'GELU': None, 'ReLU': 'relu'}}"
        )
    parts = {str(key): _parts(key, given, spec, searches, store) for key, given in functions.items()}
    if searches > 1 and all(len(several) == 1 for several in parts.values()):
        raise ArgumentError(
            f"searches={searches}, and no function is what lab.search found; give its result, or leave it"
        )

    def run(part: Part, seed: int, rate: float, split: str) -> RunSpec:
        return RunSpec(task, _replaced(spec, part), _at_rate(recipe, rate), seed, (split,))

    best, tuning = {key: grid[0] for key in parts}, []
    if len(grid) > 1:
        for key, several in parts.items():
            for number in range(check_whole("tuning_seeds", tuning_seeds, 1, MOST_SEEDS)):
                which = number % len(several)
                seed = FIRST_TUNING_SEED + number
                tuning += [Trained(key, which, run(several[which], seed, one, "val")) for one in grid]
        _complete(tuning, store, device, progress)
        best = {key: _best(key, tuning, grid, store, metric, next(iter(data.metrics))) for key in parts}
    runs = [
        Trained(key, which, run(part, seed, best[key], "test"))
        for key, several in parts.items()
        for which, part in enumerate(several)
        for seed in range(seeds)
    ]
    _complete(runs, store, device, progress)
    return Comparison(data, best, tuple(_notes(runs, store, best, grid, seeds, name)), runs, tuning, store, found)


def _complete(runs: Sequence[Trained], store: Store, device: str, progress: bool) -> None:
    complete([run.spec for run in runs], store, device, progress, workers=1, threads=torch.get_num_threads())


def _notes(
    runs: Sequence[Trained],
    store: Store,
    best: Mapping[str, float],
    grid: Sequence[float],
    seeds: int,
    name: str | None,
) -> list[str]:
    notes = []
    for why in dict.fromkeys(Run(run.spec, store).notes["why"] for run in runs):
        if "vmap " in why and " ms" not in why:
            notes.append(f"models were trained one after the other: {why}")
    ends = [key for key, rate in best.items() if len(grid) > 1 and rate in (min(grid), max(grid))]
    if ends:
        notes.append(f"the best rate of {', '.join(ends)} is at an end of the grid: widen it")
    lost = sum(Run(run.spec, store).diverged is not None for run in runs)
    if lost:
        notes.append(f"{lost} of {len(runs)} runs diverged and are left out; try lower rates")
    if seeds == 1:
        notes.append("one seed has no interval: give seeds=6")
    return notes + ([UNKNOWN] if name else [])


def _best(
    key: str, tuning: Sequence[Trained], grid: Sequence[float], store: Store, metric: Any, metric_name: str
) -> float:
    """The rate with the best mean at the end of training, on `val`; a run that diverged counts as the worst."""
    sign = measures.sign(metric)

    def score(rate: float) -> float:
        runs = [Run(run.spec, store) for run in tuning if run.function == key and run.spec.recipe.rate == rate]
        values = np.array([sign * run.score(metric_name, "val")[-1] for run in runs])
        return float(np.where(np.isfinite(values), values, -np.inf).mean())

    return max(grid, key=score)


def _store(name: str | None, store: Store | None) -> Store:
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


def _known(data: Data, model: Make, replace: Replaced, name: str | None, way: str | None) -> tuple[Maker, ModuleSpec]:
    check_type("data", data, Data, "a lab.Data, as lab.Data.from_arrays(X, y)")
    if way is not None:
        check_choice("side_by_side", way, WAYS)
    found, spec = maker(model, replace, data, name or "", way)
    remember((spec.name, spec.layout, spec.replace), found)
    return found, spec


def _task(data: Data) -> DataSpec:
    task = DataSpec(data.name, data.digest)
    remember(task, data)
    return task


def _fit(steps: int, rate: float, **fit: Any) -> Fit:
    known = ("batch", "optimizer", "schedule", "decay", "momentum", "warmup", "cooldown", "precision", "every")
    for key in fit:
        if key not in known:
            raise TypeError(f"unexpected argument {key!r}; of training there are {', '.join(known)}")
    steps = check_whole("steps", steps)
    fit["every"] = check_whole("every", fit.get("every", max(1, steps // EVALUATIONS)))
    if fit.get("batch") is not None:
        check_whole("batch", fit["batch"])
    for key, most in (("decay", np.inf), ("momentum", 1.0), ("warmup", 1.0), ("cooldown", 1.0)):
        if key in fit:
            fit[key] = check_number(key, fit[key], 0, most)
    return Fit(steps, check_number("rate", rate, 0), **fit)


def _rates(rates: Sequence[float]) -> list[float]:
    if isinstance(rates, str) or not isinstance(rates, Sequence | np.ndarray) or not len(rates):
        raise ArgumentError(f"rates={shown(rates)}: give learning rates, as [1e-3, 3e-3, 1e-2]")
    return list(dict.fromkeys(check_number("rates", rate, 0) for rate in rates))


def _at_rate(recipe: Fit, rate: float) -> Fit:
    return replace(recipe, rate=rate)


def _replaced(spec: ModuleSpec, part: Part) -> ModuleSpec:
    return replace(spec, phi=part)


def _parts(key: Any, given: Any, model: ModuleSpec, searches: int, store: Store) -> list[Part]:
    """A function as specs have it; of one that was searched for, those of all searches."""
    if not isinstance(key, str):
        raise ArgumentError(f"functions has the name {shown(key)}; give words")
    where = f"functions[{key!r}]"
    if isinstance(given, Spline) and searches > 1:
        given = search_of(given) or given
    if isinstance(given, SearchResult) and isinstance(given.spec, ModuleSearch):
        return [Learned(_kept(given, number, model, store), "phi") for number in range(searches)]
    if isinstance(given, (SearchResult, EpisodeResult)):
        given = given.spline
    if given is None:
        return [UNCHANGED]
    if isinstance(given, str):
        return [as_part(zoo(given)) if "/" in given else as_part(given, where)]
    frozen = isinstance(given, Spline) and not given.values.requires_grad
    if frozen or isinstance(given, Polynomial):
        return [as_part(cast(Spline, given), where)]
    if isinstance(given, type) or not callable(given):
        hint = f"; give {given.__name__}()" if isinstance(given, type) else "; give a module, a name, or None"
        raise ArgumentError(f"{where}={shown(given)} is no function{hint}")
    return [_function(given)]


def _kept(found: SearchResult, number: int, model: ModuleSpec, store: Store) -> ModuleSearch:
    """A search as the store of this comparison has it: the one that was made is copied there, others are to come."""
    first = cast(ModuleSearch, found.spec)
    spec = replace(first, model=replace(first.model, name=model.name), seed=first.seed + number)
    if number == 0 and not store.has(cast(Spec, spec)):
        store.save(spec, *found._stored)
    elif first.model.layout != model.layout or first.model.replace != model.replace:
        raise ArgumentError(
            "searches: the function was found in another model than this one, so it cannot be searched for again here; "
            "leave searches out"
        )
    return spec


class _Called(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Its value."""
        return self.function(x)


def _function(given: Callable) -> ModuleFunction:
    digest, module = hashlib.sha256(), given if isinstance(given, nn.Module) else _Called(given)
    for name, tensor in module.state_dict().items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    kind = type(given).__qualname__ if isinstance(given, nn.Module) else getattr(given, "__qualname__", "function")
    part = ModuleFunction(kind, repr(module) if isinstance(given, nn.Module) else kind, digest.hexdigest())
    remember(part, module)
    return part
