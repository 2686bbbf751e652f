"""A search for one function in models of one's own."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import nn

from lab.data import Data
from lab.errors import ArgumentError, check_above_zero, check_choice, check_number, check_whole, listed, shown
from lab.nonlinearity.functions import NAMES
from lab.own.settings import APART, Make, Replaced, known, recipe_of, store_of, task
from lab.run import MOST_SEED, complete
from lab.search_results import EpisodeResult, SearchResult
from lab.spec import ConstantRate, ModuleEpisodes, ModuleSearch, ModuleSpec, Restart
from lab.store import Store
from lab.training.modules.examples import TRAINED
from lab.training.modules.fleet import OPTIMIZERS
from lab.training.recipes import RULES

GIVEN = ("seed", "device", "progress")  # by lab.search, whatever the user has set


def search_data(
    data: Any, model: Any, replace: Any, by: str | None, store: Store | None, **settings: Any
) -> SearchResult | EpisodeResult:
    """By two losses, or by episodes; says what is missing of a `lab.Data`, its model, and what is replaced."""
    if not isinstance(data, Data):
        raise ArgumentError(
            f"task={shown(data)} with model, replace or settings: these are for data of your own; give a lab.Data, as "
            "lab.Data.from_arrays(X, y)"
        )
    if model is None and replace is None and (named := [key for key in settings if key not in GIVEN]):
        raise ArgumentError(
            f"{listed(named)} {'is' if len(named) == 1 else 'are'} for a search with model= and replace=; without, "
            "the lab's own perceptrons are searched, as lab.search(data)"
        )
    if model is None or replace is None:
        raise ArgumentError(
            "a lab.Data is searched with a model of your own: give model=make and replace=torch.nn.GELU"
        )
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
    **fit: Any,
) -> SearchResult:
    """Learn one function for all the activations of a model of your own, by two losses; see `lab.search`."""
    if "per_channel" in fit:
        raise ArgumentError(
            "per_channel: lab.search learns one function for all; lab.compare has it, of learnable splines"
        )
    store, spec = store_of(name, store), _searchable(data, model, replace, name, side_by_side)
    recipe = recipe_of(steps, rate, device, **fit)
    models, phi = check_whole("models", models), _function(low, high, knots, spline_rate, start, seed)
    wanted = ModuleSearch(task(data), spec, recipe, models, phi.low, phi.high, phi.knots, phi.rate, phi.start, phi.seed)
    complete([wanted], store, device, progress, workers=1)
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
    **fit: Any,
) -> EpisodeResult:
    """The same by episodes (Algorithm 1 of the simplicity paper); see `lab.search`."""
    store, spec = store_of(name, store), _searchable(data, model, replace, name, side_by_side)
    if "every" in fit:
        raise ArgumentError(f"every={shown(fit['every'])}: a search by episodes looks at the end of training alone")
    retrain = recipe_of(steps, rate, device, **fit)
    check_choice("optimizer", retrain.optimizer, [rule for rule in RULES if rule in OPTIMIZERS])
    phi = _function(low, high, knots, spline_rate, start, seed)
    check_whole("window", window, 0)
    wanted = ModuleEpisodes(
        task(data),
        spec,
        ConstantRate(steps, rate, retrain.batch, retrain.optimizer),
        retrain,
        tuple(
            Restart(APART * phi.seed + number, phi.rate, phi.knots, window, phi.start)
            for number in range(check_whole("restarts", restarts, 1, APART))
        ),
        low=phi.low,
        high=phi.high,
        episodes=check_whole("episodes", episodes),
        pool=tuple(name for name in TRAINED if name in data.rows),
        normalized=True,
    )
    complete([wanted], store, device, progress, workers=1)
    return EpisodeResult(wanted, store)


def _searchable(data: Data, model: Make, replace: Replaced, name: str | None, way: str | None) -> ModuleSpec:
    """As `known`; ArgumentError where the models do not call what is replaced, so that nothing could be learned."""
    maker, spec = known(data, model, replace, name, way)
    if not maker.reached:
        raise ArgumentError(f"{maker.notes[-1]}; name activations that it calls")
    maker.check(nn.Identity(), "a learned function")
    return spec


class _Function(NamedTuple):
    """The function that a search begins with, and how it follows its gradient."""

    low: float
    high: float
    knots: int
    rate: float
    start: str
    seed: int


def _function(low: float, high: float, knots: int, rate: float, start: str, seed: int) -> _Function:
    """What both searches are given of their function, checked."""
    if not check_number("low", low) < check_number("high", high):
        raise ArgumentError(f"low={low:g}, high={high:g}: low must be below high")
    return _Function(
        check_number("low", low),
        check_number("high", high),
        check_whole("knots", knots, 2),
        check_above_zero("spline_rate", rate),
        check_choice("start", start, ("zero", *NAMES)),
        check_whole("seed", seed, 0, MOST_SEED),
    )
