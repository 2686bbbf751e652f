"""A search for one function in models of one's own."""

from __future__ import annotations

from typing import Any

import torch

from lab.data import Data
from lab.errors import ArgumentError, check_choice, check_number, check_whole
from lab.nonlinearity.named import NAMES
from lab.own.settings import Make, Replaced, known, recipe_of, store_of, task
from lab.run import MOST_SEED, complete
from lab.search_results import SearchResult
from lab.spec import ModuleSearch
from lab.store import Store


def search(
    data: Data,
    model: Make,
    replace: Replaced,
    *,
    models: int = 4,
    steps: int = 1000,
    rate: float = 1e-3,
    spline_rate: float = 0.005,
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
    """Learn one function for all the activations of a model of your own; see `lab.search`."""
    store, (_, spec) = store_of(name, store), known(data, model, replace, name, side_by_side)
    recipe = recipe_of(steps, rate, **fit)
    wanted = ModuleSearch(
        task(data),
        spec,
        recipe,
        check_whole("models", models),
        check_number("low", low),
        check_number("high", high),
        check_whole("knots", knots, 2),
        check_number("spline_rate", spline_rate, 0),
        check_choice("start", start, ("zero", *NAMES)),
        check_whole("seed", seed, 0, MOST_SEED),
    )
    if not wanted.low < wanted.high:
        raise ArgumentError(f"low={low:g}, high={high:g}: low must be below high")
    complete([wanted], store, device, progress, workers=1, threads=torch.get_num_threads())
    return SearchResult(wanted, store)
