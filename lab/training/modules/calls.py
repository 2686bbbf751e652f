"""Calls of the user's models: with other weights in their modules, and which activations they call."""

import copy
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.overrides import TorchFunctionMode

from lab.data.data import Inputs
from lab.errors import ArgumentError, listed, shown
from lab.identity import digest_of
from lab.nonlinearity.activations import KEEP, Place, is_relu_of, kind_named, kind_of
from lab.probes.reading import evaluating


def call(net: nn.Module, inputs: Inputs) -> Tensor:
    """The output of a model: a tensor, the `logits` of an object, or the first of several. It may change its inputs in
    place, so that it gets copies."""
    given = mapped(Tensor.clone, inputs)
    return answer(net(given) if isinstance(given, Tensor) else net(**given))


def call_with(net: nn.Module, tensors: dict[str, Tensor], inputs: Inputs) -> Tensor:
    """As `call`, with other tensors in the place of parameters and buffers, by the names of `tensors_of`; where code
    assigns one anew, the new one is in `tensors` afterwards. It gets the inputs themselves."""
    args, words = ((inputs,), {}) if isinstance(inputs, Tensor) else ((), dict(inputs))
    return answer(functional_call(net, tensors, args, words, tie_weights=False))


def tensors_of(net: nn.Module, instead: Mapping[int, Tensor]) -> dict[str, Tensor]:
    """Parameters and buffers by name: of each module once, tied ones under the name of each module that has them. With
    torch's own names, and its tying, a module in two places would not be restored. instead: others, by their id."""
    tensors = {}
    for path, module in net.named_modules():
        for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
            if tensor is not None:
                tensors[f"{path}.{name}" if path else name] = instead.get(id(tensor), tensor)
    return tensors


def attributes(net: nn.Module) -> dict[str, str]:
    """By name, digests of what the user's own modules keep besides parameters, buffers and parts."""
    of_torch, digests = {*vars(nn.Module()), "_flat_weights"}, dict[str, str]()  # the latter of an nn.RNN
    for path, part in net.named_modules():
        is_of_user = type(part).__module__.partition(".")[0] not in ("torch", "lab")
        for name in vars(part).keys() - of_torch if is_of_user else ():
            with suppress(Exception):  # what cannot be told from others is not followed
                value = vars(part)[name]
                value = value.get_state() if isinstance(value, torch.Generator) else value
                digests[f"{path}.{name}".lstrip(".")] = digest_of(value)
    return digests


def mapped(function: Callable[[Tensor], Tensor], inputs: Any) -> Any:
    """A function of the tensor, or of each of a dictionary."""
    return function(inputs) if isinstance(inputs, Tensor) else {n: function(part) for n, part in inputs.items()}


def answer(output: Any) -> Tensor:
    output = getattr(output, "logits", output)
    if isinstance(output, dict) and "logits" in output:
        output = output["logits"]
    if isinstance(output, (tuple, list)) and len(output):
        output = output[0]
    if not isinstance(output, Tensor):
        raise ArgumentError(f"the model gives {shown(output)}; let it give a tensor, or an object with logits")
    return output


def check_put_in(net: nn.Module, inputs: Inputs) -> bool:
    """Whether the model writes into its inputs. ArgumentError where it takes weights or buffers from elsewhere than its
    modules, so that it does not compute with those that `call_with` puts there."""
    held = {**dict(net.named_parameters()), **dict(net.named_buffers())}
    trained = {name: tensor for name, tensor in held.items() if tensor.requires_grad}
    versions = {name: tensor._version for name, tensor in held.items()}
    missed, writes = dict[str, None](), False
    for mode in (evaluating(net), nullcontext()):
        others = {id(t): t.detach().clone().requires_grad_(t.requires_grad) for t in held.values()}
        given = mapped(Tensor.clone, inputs)
        with torch.random.fork_rng(devices=[]), suppress(Exception), mode:  # what fails in training says so later
            output = call_with(net, tensors_of(net, others), given)
            if output.requires_grad:
                gradients = torch.autograd.grad(output.abs().sum(), list(trained.values()), allow_unused=True)
                missed |= {n: None for n, g in zip(trained, gradients, strict=True) if g is not None}
        writes |= any(part._version for part in ([given] if isinstance(given, Tensor) else given.values()))
    missed |= {name: None for name, tensor in held.items() if tensor._version != versions[name]}
    if missed:
        raise ArgumentError(
            f"the model takes {listed(list(missed))} from a list, or what else it keeps outside its modules, and these"
            " would not learn, since others are put into the modules; read them in forward, as self.layer.weight"
        )
    return writes


class CallRecorder(TorchFunctionMode):
    """Records which activations a model calls within the block; the model keeps its hooks, so give it a copy.

    A module is replaced by a copy, as it will be by a function: what code calls through a list is not in its place.

    calls: how often each place was called, by its name. functional: of activation functions that were called elsewhere
    ("relu" for F.relu), the class of the module that called each.
    """

    def __init__(self, net: nn.Module, places: list[Place]):
        super().__init__()
        self.calls, self.functional = {place.name: 0 for place in places}, dict[str, str]()
        self.inside, self.stack = 0, [type(net).__name__]
        for place in places:
            if not isinstance(place.activation, nn.Module):
                setattr(place.parent, place.attribute, partial(self._call, place.activation, place.name))
            else:
                module = copy.copy(place.activation)
                for hooks in ("_forward_pre_hooks", "_forward_hooks"):
                    setattr(module, hooks, getattr(module, hooks).copy())
                setattr(place.parent, place.attribute, module)
        for module in net.modules():
            names = [place.name for place in places if getattr(place.parent, place.attribute) is module]
            module.register_forward_pre_hook(partial(self._enter, names))
            module.register_forward_hook(partial(self._leave, names))

    def _call(self, function: Callable, name: str, *args: Any, **words: Any) -> Any:
        self.calls[name] += 1
        self.inside += 1
        try:
            return function(*args, **words)
        finally:
            self.inside -= 1

    def _enter(self, names: list[str], module: nn.Module, inputs: Any) -> None:
        self.stack.append(type(module).__name__)
        self.inside += bool(names)
        for name in names:
            self.calls[name] += 1

    def _leave(self, names: list[str], module: nn.Module, inputs: Any, output: Any) -> None:
        self.stack.pop()
        self.inside -= bool(names)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        kind = kind_named(name.removeprefix("rnn_").removesuffix("_cell"))  # an nn.RNN is one call
        kind = kind or ("relu" if is_relu_of(name, args, kwargs or {}) else None)
        if kind and not self.inside:
            self.functional.setdefault(kind, self.stack[-1])
        return func(*args, **(kwargs or {}))


def notes_of(net: nn.Module, places: list[Place], call: Callable, inputs: Inputs) -> tuple[list[str], bool]:
    """Notes on activations that a function in these places does not replace; and whether it replaces any.

    net: in training mode, to be thrown away. call: of a model on inputs.
    """
    recorder = CallRecorder(net, places)
    with torch.random.fork_rng(devices=[]), recorder:
        with evaluating(net):
            call(net, inputs)
        if not all(recorder.calls.values()):
            # some are called in training alone; what fails there fails later, and says so
            with suppress(Exception):
                call(net, inputs)
    kinds = {kind_of(place.activation) for place in places}
    stays = [f"{owner} calls {kind}" for kind, owner in recorder.functional.items() if kind in kinds]
    notes = [f"{', '.join(stays)} beside what is replaced, which stays in all models; {KEEP}"] if stays else []
    silent = [name for name, count in recorder.calls.items() if not count]
    if silent:
        notes.append(f"the model does not call {listed(silent)}: with another function there, nothing changes")
    return notes, len(silent) < len(places)
