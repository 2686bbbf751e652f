"""A comparison of functions in models of one's own: as specs have them, each with its learning rate."""

from collections.abc import Callable, Mapping, Sequence
from math import inf, isnan, log
from typing import Any, cast

import numpy as np
from torch import nn

from lab import spec as specs
from lab.comparison import Comparison, Trained
from lab.data import Data, measures
from lab.errors import ArgumentError, check_whole, shown
from lab.identity import digest_of
from lab.nonlinearity.channels import LazyChannelSpline, channel_axis
from lab.nonlinearity.functions import Called
from lab.nonlinearity.part import as_module, as_part, spline_of
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import ScaledSpline, Spline
from lab.nonlinearity.zoo import zoo
from lab.own.search import APART, Make, Replaced, grid_of, known, recipe_of, store_of, task
from lab.run import MOST_SEEDS, Run, beyond_knots, complete
from lab.search_results import EpisodeResult, SearchResult, search_of
from lab.spec import UNCHANGED, Learned, ModuleEpisodes, ModuleFunction, ModuleSearch, ModuleSpec, Part, RunSpec
from lab.store import Spec, Store
from lab.training.modules.maker import Maker
from lab.training.modules.side_by_side import TRAINED

RATE, TUNING_SEEDS = 1e-3, 2
FIRST_TUNING_SEED = 1_000_000  # of runs that choose a rate: none that a comparison reports
UNKNOWN = "the code of `model` is not part of a result's identity: where it changes, give another name"


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
    rate: float = RATE,
    tuning_seeds: int = TUNING_SEEDS,
    name: str | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    side_by_side: str | None = None,
    per_channel: bool | int = False,
    **fit: Any,
) -> Comparison:
    """Train your own model from scratch with each of several functions, and measure the differences.

    data: a `lab.Data`. Models train on `train` and `search`, and are measured on `test`.
    model: a function of a seed that returns a `torch.nn.Module`; your code, unchanged.
    replace: what the functions replace: a class (`torch.nn.GELU`) or a pattern of names ("*.act"), as for `lab.swap`.
    functions: by name a module, a `Spline`, a result of `lab.search`, a name ("relu", "mine/digits-cnn"), or None: the
        model as it is.
    seeds: runs for each function. searches: how often a function from `lab.search` is searched for again, with other
        seeds; each of these functions gets `seeds` runs, and an interval then covers searches, too.
    rates: learning rates to choose from, for each function by itself, on `val` and with `tuning_seeds` seeds that are
        not reported: of those whose first metric is the best or cannot be told from it, the one with the least loss.
        None: all have `rate`.
    steps, rate, batch (128; None, or as many as there are: all examples), optimizer ("adam", "adamw", "sgd"), schedule
        ("trapezoid", "cosine", "constant"), precision ("float32", "bfloat16"), every: of training. Of "adamw" alone
        decay (0): matrices and kernels shrink by rate × decay a step; biases, norms, functions that learn and what has
        no gradient do not. Of "sgd" alone momentum
        (.9). warmup (.05) and cooldown (.5): shares of the steps, of a trapezoid; a cosine has the first alone.
        threads: of torch on a CPU, by default as many as it has; another number rounds otherwise.
    name: of your model. With a name, results are kept in the store, and a killed call, repeated, continues. A result is
        known by the data's content, the names and shapes of parameters, these settings and the name. The code of
        `model` is not part of it: when it changes, give another name.
    side_by_side: "vmap" or "loop"; default: the faster one, if both give the same. They differ in rounding, and which
        is faster is timed: name one for the same digits in every call.
    per_channel: makes of each spline that learns (`lab.Spline(values, learnable=True)`) one per channel, as `lab.swap`
        does: True, or the number of the channels' axis. Every model learns its own.

    Returns a `Comparison`: `.table`, `.difference(a, b)`, `.plot()`. Raises ArgumentError for a wrong argument, and for
    a model that fails on the data.

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
    store, (maker, spec) = store_of(name, store), known(data, model, replace, name, side_by_side)
    recipe, data_spec = recipe_of(steps, rate, device, **fit), task(data)
    for split in ("test", *(["val"] if rates is not None else [])):
        if split not in data.rows:
            raise ArgumentError(f"{data.name} has no split {split!r}; it has {', '.join(data.rows)}")
    grid = grid_of(rates) if rates is not None else [recipe.rate]
    if rates is not None and rate != RATE:
        raise ArgumentError(f"rate={rate:g} and rates: give one of the two")
    if len(grid) == 1 and tuning_seeds != TUNING_SEEDS:
        raise ArgumentError(f"tuning_seeds={shown(tuning_seeds)}: there is no rate to choose; give rates=[1e-3, 3e-3]")
    if not isinstance(functions, Mapping) or not functions:
        raise ArgumentError(f"functions={shown(functions)}: give them by name, as {{'GELU': None, 'ReLU': 'relu'}}")
    parts = {str(key): parts_of(key, given, spec, searches, store, per_channel) for key, given in functions.items()}
    for key, (part, *_) in parts.items():
        if part != UNCHANGED:
            module = nn.Identity() if isinstance(part, (Learned, specs.Shaped)) else as_module(cast(Any, part))
            maker.check(module, f"functions[{key!r}]")
    if per_channel is not False and not any(map(learns, functions.values())):
        cure = "give lab.Spline(values, learnable=True)"
        raise ArgumentError(f"per_channel={per_channel}, and no function learns in each model; {cure}")
    if searches > 1 and all(len(several) == 1 for several in parts.values()):
        said = "no function is what lab.search found for this data and model"
        raise ArgumentError(f"searches={searches}, and {said}; give its result, or leave searches out")

    def run(part: Part, seed: int, rate: float, split: str) -> RunSpec:
        return RunSpec(data_spec, specs.replace(spec, phi=part), specs.replace(recipe, rate=rate), seed, (split,))

    best, tuning = {key: grid[0] for key in parts}, []
    if len(grid) > 1:
        for key, several in parts.items():
            for number in range(check_whole("tuning_seeds", tuning_seeds, 1, MOST_SEEDS)):
                which, seed = number % len(several), FIRST_TUNING_SEED + number
                tuning += [Trained(key, which, run(several[which], seed, one, "val")) for one in grid]
        complete([run.spec for run in tuning], store, device, progress, workers=1)
        best = {key: best_rate([t.spec for t in tuning if t.function == key], data, store) for key in parts}
    runs = [
        Trained(key, which, run(part, seed, best[key], "test"))
        for key, several in parts.items()
        for which, part in enumerate(several)
        for seed in range(seeds)
    ]
    complete([run.spec for run in runs], store, device, progress, workers=1)
    notes = _notes(data, runs, store, best, grid, seeds, name, maker)
    return Comparison(data, best, tuple(notes), runs, tuning, store, maker)


def _notes(
    data: Data,
    runs: Sequence[Trained],
    store: Store,
    best: Mapping[str, float],
    grid: Sequence[float],
    seeds: int,
    name: str | None,
    maker: Maker,
) -> list[str]:
    trained = [Run(run.spec, store).notes for run in runs]
    notes = list(dict.fromkeys([*maker.notes, *(line for one in trained for line in one.get("said", ()))]))
    batch, count = runs[0].spec.recipe.batch, sum(len(data.rows.get(name, ())) for name in TRAINED)
    if batch not in (None, specs.Fit.batch) and batch > count:
        notes.append(f"batch={batch}: each step sees all {count} training examples")
    for key in best:
        of_function = [one.get("beyond") for run, one in zip(runs, trained, strict=True) if run.function == key]
        share = max((share for share in of_function if share is not None), default=None)
        phi = next(run.spec.model.phi for run in runs if run.function == key)
        notes += beyond_knots(f"models with {key}", share, phi.search if isinstance(phi, Learned) else phi)
    for why in dict.fromkeys(one["why"] for one in trained if one.get("needs_loop")):
        notes.append(f"models were trained one after the other: {why}")
    if at_end := [key for key, rate in best.items() if len(grid) > 1 and rate in (min(grid), max(grid))]:
        notes.append(f"the best rate of {', '.join(at_end)} is at an end of the grid: widen it")
    if len(set(best.values())) > 1:
        said = "functions have different rates, a part of what differs"
        notes.append(f"{said}; to compare at one, give rate= and no rates=")
    alive = [run for run in (Run(trained_run.spec, store) for trained_run in runs) if run.diverged is None]
    if diverged := len(runs) - len(alive):
        notes.append(f"{diverged} of {len(runs)} runs diverged and are left out; try lower rates")
    for metric in data.metrics:
        if missing := sum(isnan(run.score(metric, run.spec.evaluate[0])[-1]) for run in alive):
            notes.append(f"{metric} is NaN in {missing} of {len(runs)} runs, which are left out where it is compared")
    guess = log(len(data.classes)) if data.loss == "cross_entropy" else inf
    if worse := sum(Run(run.spec, store).loss[-1] > 2 * guess for run in runs):
        said = f"{worse} of {len(runs)} runs ended with more than twice the training loss of a guess among all classes"
        notes.append(f"{said}; try lower rates")
    if seeds == 1:
        notes.append("one seed has no interval: give seeds=6")
    return notes + ([UNKNOWN] if name else [])


def best_rate(runs: Sequence[RunSpec], data: Data, store: Store) -> float:
    """The rate of these runs that is best on `val` at the end of training: by the first metric, and among rates that it
    cannot tell apart by the loss. A run that diverged counts as the worst.
    """
    name, metric = next(iter(data.metrics.items()))
    scores, losses = dict[float, list[float]](), dict[float, list[float]]()
    for spec in runs:
        run = Run(spec, store)
        scores.setdefault(spec.recipe.rate, []).append(measures.sign(metric) * float(run.score(name, "val")[-1]))
        losses.setdefault(spec.recipe.rate, []).append(float(run.score("loss", "val")[-1]))
    return choice(scores, losses, len(data.rows["val"]) if metric == "accuracy" else None)


def choice(
    scores: Mapping[float, Sequence[float]], losses: Mapping[float, Sequence[float]], examples: int | None = None
) -> float:
    """The rate with the least mean loss, among those whose mean score is within a standard error of the best one's.

    scores: of each rate those of its runs; more is better. losses: in the same order. examples: where scores are
    accuracies, how many examples these are of; a difference is then as uncertain as that of two such samples, or more.

    One example of 180, and a loss that says the opposite:

    >>> choice({0.001: [0.983, 0.983], 0.003: [0.978, 0.983]}, {0.001: [0.117, 0.12], 0.003: [0.074, 0.072]}, 180)
    0.003
    >>> choice({0.001: [0.98, 0.99], 0.003: [0.6, 0.61]}, {0.001: [0.12, 0.12], 0.003: [0.07, 0.07]}, 180)
    0.001
    """
    means = {rate: _mean(values, -np.inf) for rate, values in scores.items()}
    best = max(means, key=means.__getitem__)
    gaps = {rate: 0.0 if mean == means[best] else means[best] - mean for rate, mean in means.items()}  # not ∞ - ∞
    near = [rate for rate, gap in gaps.items() if gap <= _error(scores[best], scores[rate], examples)]
    return min(near, key=lambda rate: _mean(losses[rate], np.inf))


def _mean(values: Sequence[float], worst: float) -> float:
    return float(np.where(np.isfinite(values), values, worst).mean())


def _error(one: Sequence[float], other: Sequence[float], examples: int | None) -> float:
    """The standard error of the difference of two mean scores: over runs, and of accuracies over examples, too."""
    if not np.isfinite([*one, *other]).all():
        return 0.0
    over_runs = sum(np.var(values, ddof=1) / len(values) for values in (one, other) if len(values) > 1)
    right = float(np.clip(np.mean([*one, *other]), 0, 1))
    over_examples = 2 * right * (1 - right) / examples if examples else 0.0
    return float(np.sqrt(max(over_runs, over_examples)))


def parts_of(
    key: Any, given: Any, model: ModuleSpec, searches: int, store: Store, per_channel: bool | int = False
) -> list[Part]:
    """A function as specs have it; of one that was searched for, those of all searches.

    per_channel: of one that learns, as `lab.swap` has it.
    """
    if not isinstance(key, str):
        raise ArgumentError(f"functions has the name {shown(key)}; give words")
    where = f"functions[{key!r}]"
    if isinstance(given, Spline) and searches > 1:
        given = search_of(given) or given
    if isinstance(given, (SearchResult, EpisodeResult)) and isinstance(given.spec, (ModuleSearch, ModuleEpisodes)):
        return [Learned(_stored_search(given, number, model, store), "phi") for number in range(searches)]
    if isinstance(given, (SearchResult, EpisodeResult)):
        given = spline_of(given, where)
    if given is None:
        return [UNCHANGED]
    if isinstance(given, str):
        return [as_part(zoo(given)) if "/" in given else as_part(given, where)]
    if per_channel is not False and learns(given):
        phi = given.phi if isinstance(given, ScaledSpline) else given
        lazy = LazyChannelSpline(phi, dim=channel_axis(per_channel))
        return [_function(ScaledSpline(lazy) if isinstance(given, ScaledSpline) else lazy)]
    frozen = isinstance(given, Spline) and not given.values.requires_grad
    if frozen or isinstance(given, Polynomial):
        return [as_part(cast(Spline, given), where)]
    if isinstance(given, type) or not callable(given):
        hint = f"; give {given.__name__}()" if isinstance(given, type) else "; give a module, a name, or None"
        raise ArgumentError(f"{where}={shown(given)} is no function{hint}")
    return [_function(given)]


def _stored_search(
    result: SearchResult | EpisodeResult, number: int, model: ModuleSpec, store: Store
) -> ModuleSearch | ModuleEpisodes:
    """A search as the store of this comparison has it: the one that was made is copied there, others are to come."""
    first = cast("ModuleSearch | ModuleEpisodes", result.spec)
    spec = _again(specs.replace(first, model=specs.replace(first.model, name=model.name)), number)
    if number == 0 and not store.has(cast(Spec, spec)):
        store.save(spec, *result._stored)
    elif first.model.layout != model.layout or first.model.replace != model.replace:
        said = "the function was found in another model than this one, so it cannot be searched for again here"
        raise ArgumentError(f"searches: {said}; leave searches out")
    return spec


def _again(search: ModuleSearch | ModuleEpisodes, number: int) -> ModuleSearch | ModuleEpisodes:
    """The same search with other seeds, as many as `number` later."""
    if isinstance(search, ModuleSearch):
        return specs.replace(search, seed=search.seed + number)
    return specs.replace(search, restarts=specs.later(search.restarts, APART * number))


def learns(given: Any) -> bool:
    """Whether this is one spline that learns in each model."""
    phi = given.phi if isinstance(given, ScaledSpline) else given
    return isinstance(phi, Spline) and phi.values.dim() == 1 and phi.values.requires_grad


def _function(given: Callable) -> ModuleFunction:
    module = given if isinstance(given, nn.Module) else Called(given)
    lazy = next((part for part in module.modules() if isinstance(part, LazyChannelSpline)), None)
    digest = digest_of(given if lazy is None else lazy.first)
    kind = type(given).__qualname__ if isinstance(given, nn.Module) else getattr(given, "__qualname__", "function")
    part = ModuleFunction(kind, repr(module) if isinstance(given, nn.Module) else kind, digest)
    specs.register_object(part, module)
    return part
