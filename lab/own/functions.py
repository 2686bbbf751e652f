"""Functions to compare, as specs have them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn

from lab.errors import ArgumentError, shown
from lab.nonlinearity.channels import LazyChannelSpline, channel_axis
from lab.nonlinearity.functions import Called
from lab.nonlinearity.part import as_part, spline_of
from lab.nonlinearity.shapes import Polynomial
from lab.nonlinearity.spline import ScaledSpline, Spline
from lab.nonlinearity.zoo import zoo
from lab.own.settings import APART
from lab.search_results import EpisodeResult, SearchResult, search_of
from lab.spec import (
    UNCHANGED,
    Learned,
    ModuleEpisodes,
    ModuleFunction,
    ModuleSearch,
    ModuleSpec,
    Part,
    remember,
    replace,
)
from lab.store import Spec, Store


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
    spec = _again(replace(first, model=replace(first.model, name=model.name)), number)
    if number == 0 and not store.has(cast(Spec, spec)):
        store.save(spec, *result._stored)
    elif first.model.layout != model.layout or first.model.replace != model.replace:
        raise ArgumentError(
            "searches: the function was found in another model than this one, so it cannot be searched for again here; "
            "leave searches out"
        )
    return spec


def _again(search: ModuleSearch | ModuleEpisodes, number: int) -> ModuleSearch | ModuleEpisodes:
    """The same search with other seeds, as many as `number` later."""
    if isinstance(search, ModuleSearch):
        return replace(search, seed=search.seed + number)
    later = tuple(replace(restart, seed=restart.seed + APART * number) for restart in search.restarts)
    return replace(search, restarts=later)


def learns(given: Any) -> bool:
    """Whether this is one spline that learns in each model."""
    phi = given.phi if isinstance(given, ScaledSpline) else given
    return isinstance(phi, Spline) and phi.values.dim() == 1 and phi.values.requires_grad


def _function(given: Callable) -> ModuleFunction:
    digest, module = hashlib.sha256(), given if isinstance(given, nn.Module) else Called(given)
    lazy = next((part for part in module.modules() if isinstance(part, LazyChannelSpline)), None)
    for name, tensor in module.state_dict().items() if lazy is None else [("first", lazy.first)]:
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    kind = type(given).__qualname__ if isinstance(given, nn.Module) else getattr(given, "__qualname__", "function")
    part = ModuleFunction(kind, repr(module) if isinstance(given, nn.Module) else kind, digest.hexdigest())
    remember(part, module)
    return part
