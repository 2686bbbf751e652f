"""Activations that a forward pass calls: the modules that are to be replaced, and functions such as F.relu."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from lab.data.data import Inputs
from lab.errors import listed
from lab.nonlinearity.activations import KEEP, Place, kind_named, kind_of
from lab.training.modules.modes import evaluating


class CallRecorder(TorchFunctionMode):
    """Records which activations a model calls within the block; the model keeps its hooks, so give it a copy.

    calls: how often each place was called, by its name. functional: of activation functions that were called elsewhere
    ("relu" for F.relu), the class of the module that called each.
    """

    def __init__(self, net: nn.Module, places: list[Place]):
        super().__init__()
        self.calls, self.functional = {place.name: 0 for place in places}, dict[str, str]()
        self.inside, self.stack = 0, [type(net).__name__]
        names: dict[int, list[str]] = {}
        for place in places:
            names.setdefault(id(place.activation), []).append(place.name)
            if not isinstance(place.activation, nn.Module):
                setattr(place.parent, place.attribute, self._counted(place.activation, place.name))
        for module in net.modules():
            module.register_forward_pre_hook(self._entering(names.get(id(module), [])))
            module.register_forward_hook(self._leaving(id(module) in names))

    def _counted(self, function: Callable, name: str) -> Callable:
        def called(*args: Any, **words: Any) -> Any:
            self.calls[name] += 1
            self.inside += 1
            try:
                return function(*args, **words)
            finally:
                self.inside -= 1

        return called

    def _entering(self, names: list[str]) -> Callable:
        def enter(module: nn.Module, inputs: Any) -> None:
            self.stack.append(type(module).__name__)
            self.inside += bool(names)
            for name in names:
                self.calls[name] += 1

        return enter

    def _leaving(self, is_place: bool) -> Callable:
        def leave(module: nn.Module, inputs: Any, output: Any) -> None:
            self.stack.pop()
            self.inside -= is_place

        return leave

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        kind = kind_named(name.removeprefix("rnn_").removesuffix("_cell"))  # an nn.RNN is one call
        if kind and not self.inside:
            self.functional.setdefault(kind, self.stack[-1])
        return func(*args, **(kwargs or {}))


def notes_of(net: nn.Module, places: list[Place], call: Callable, inputs: Inputs) -> tuple[list[str], bool]:
    """What a function in these places does not reach, a line each; and whether it reaches anything.

    net: as it is trained, to be thrown away. call: of a model on inputs.
    """
    recorder = CallRecorder(net, places)
    with torch.random.fork_rng(devices=[]), recorder:
        with evaluating(net):
            call(net, inputs)
        if not all(
            recorder.calls.values()
        ):  # some are called in training alone; what fails there fails later, and says so
            with suppress(Exception):
                call(net, inputs)
    kinds = {kind_of(place.activation) for place in places}
    stays = [f"{owner} calls {kind}" for kind, owner in recorder.functional.items() if kind in kinds]
    notes = [f"{', '.join(stays)} beside what is replaced, which stays in all models; {KEEP}"] if stays else []
    silent = [name for name, count in recorder.calls.items() if not count]
    if silent:
        notes.append(f"the model does not call {listed(silent)}: with another function there, nothing changes")
    return notes, len(silent) < len(places)
