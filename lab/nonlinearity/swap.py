"""Putting a non-linearity into any torch model, in the place of the activations that it has."""

import copy
import warnings
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

import torch
from torch import nn

from lab.errors import ArgumentError, LabWarning, check_flag, described, listed, shortened, shown
from lab.nonlinearity import activations
from lab.nonlinearity.activations import Place, activations_in_code
from lab.nonlinearity.channels import ChannelSpline, LazyChannelSpline, channel_axis
from lab.nonlinearity.functions import HOOKS, MARK, Called, check_unmixed, name_of
from lab.nonlinearity.part import Function, as_module
from lab.nonlinearity.spline import ScaledSpline, Spline, check_finite, check_single

Old = type[nn.Module] | Callable | str  # what is replaced; or a tuple of these
PLACES = "a class such as torch.nn.GELU or a pattern such as '*.mlp.act'"
Script = torch.jit.ScriptModule
KEPT = ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")


def swap(
    model: nn.Module,
    old: Old | tuple[Old, ...],
    phi: Function,
    *,
    learnable: bool | None = None,
    shared: bool = False,
    per_channel: bool | int = False,
    scaled: bool = False,
) -> list[str]:
    """Replace a model's activations by `phi`, in the model itself; return the names of what was replaced.

    model: any torch module: from torch, from Hugging Face, your own.
    old: what to replace: a class (`torch.nn.GELU`; subclasses count), a pattern of qualified names, where "*" stands
        for anything ("*.mlp.act"), a function that modules keep as an attribute (`torch.nn.functional.relu`), or a
        tuple of these.
    phi: a `Spline`, any module or function that maps a tensor to its own shape (torch.sin), a name ("relu"), a name in
        the zoo, or what `lab.search` gives. In the place of torch's activations, one without weights has to treat each
        number by itself: no softmax. The model gets copies: `phi` itself neither moves nor learns. The function that
        learns is `model.get_submodule(names[0])`.
    learnable: whether its parameters get gradients. None: as in `phi` (splines are frozen by default).
    shared: False: each place has its own copy. True: one module is in all places, so that one function is learned for
        all layers, as in the papers. Places that shared a module before share one afterwards, in both cases.
    per_channel: each channel of a place gets its own function, which starts as `phi`, a Spline. True: channels are axis
        1, as of images (B, C, H, W) and rows (B, C); or the number of their axis, -1 for tokens (B, T, C). The first
        call finds out how many there are: make it before an optimizer.
    scaled: each function gets a scale of its input that is learned with it (`ScaledSpline`).

    Copies go to the device of the layers around them. Values of splines are at least float32 there, because bfloat16
    would round them; other modules take the dtype of these layers.

    What the function has learned is in `model.state_dict()`: to load a saved model, build it, swap in a function of the
    same kind and range, `load_state_dict`, which refuses a spline of another range (safetensors keep none: there it is
    not noticed). The `from_pretrained` of transformers does not know the function, and builds the activation that the
    configuration names: use `lab.save_swapped(model, folder)` and `lab.load_swapped(GPT2LMHeadModel, folder)`.

    Hooks on what is replaced go along. What stays in the code of the model's own classes (`F.relu` in a `forward`, for
    nn.ReLU), and places that this code never reads, are named in a `lab.LabWarning`.

    Raises ArgumentError where nothing fits, and names the activations that the model has; where its code reads none of
    the places; for a ScriptModule. Transformers paper, App. F.

    >>> model = nn.Sequential(nn.Linear(1, 8), nn.GELU(), nn.Linear(8, 1))
    >>> swap(model, nn.GELU, "transformers/memorize")
    ['1']
    >>> model[1]
    Spline((361,) knots on [-20, 20])
    """
    said: list[str] = []
    names = put(model, old, phi, learnable, shared, per_channel, scaled, said)
    for line in said:
        warnings.warn(line, LabWarning, stacklevel=2)
    return names


@torch.inference_mode(False)  # what is made within one could never be trained
def put(
    model: nn.Module,
    old: Old | tuple[Old, ...],
    phi: Function,
    learnable: bool | None = None,
    shared: bool = False,
    per_channel: bool | int = False,
    scaled: bool = False,
    said: list[str] | None = None,
) -> list[str]:
    """As `swap`; what there is to say of it is added to `said`. Without it, the model's code is not looked into."""
    kinds = kinds_of(old)
    if not isinstance(model, nn.Module):
        raise ArgumentError(f"model is {described(model)}; give a torch.nn.Module")
    check_flag("shared", shared)
    phi = as_module(phi, "phi")
    if learnable is not None:
        if check_flag("learnable", learnable) and not any(True for _ in phi.parameters()):
            raise ArgumentError(f"learnable=True: {shown(phi)} has nothing that could be learned; give a lab.Spline")
        phi = _copied(phi).requires_grad_(learnable)
    # each of several functions belongs to an index of the first axis: runs in the lab's own models, else examples
    if isinstance(phi, Spline) and not isinstance(phi, ChannelSpline) and len(phi.values) != getattr(model, "runs", 0):
        check_single(phi, "phi")
    for part in phi.modules():
        if isinstance(part, Spline) and not isinstance(part, LazyChannelSpline):
            check_finite(part, "phi")
    if per_channel is not False:
        phi = _per_channel(phi, per_channel, shared)
    if check_flag("scaled", scaled):
        phi = ScaledSpline(cast(Spline, phi))
    places = places_of(model, kinds)
    if said is not None:
        said += _unseen(model, places, kinds)
    unknown = isinstance(phi, Called) or not (activations.is_elementwise(phi) or activations.has_state(phi))
    if unknown and any(activations.is_elementwise(place.activation) for place in places):
        check_unmixed(_copied(phi), "phi")
    fresh, chosen = {}, list[nn.Module]()
    homes = {place.name: _home(model, place.name) for place in places}
    if shared and len({device for device, _ in homes.values()}) > 1:
        devices = ", ".join(sorted({str(device) for device, _ in homes.values()}))
        raise ArgumentError(f"one shared module cannot be on several devices ({devices}); give shared=False")
    for place in places:
        # a function is the same object everywhere, a module is not
        owner = place.activation if isinstance(place.activation, nn.Module) else place
        key = None if shared else id(owner)
        if key not in fresh:
            device, dtype = homes[place.name]
            if dtype is not None and type(phi).__module__.startswith(__package__):  # tables and coefficients of ours
                dtype = torch.promote_types(dtype, torch.float32)
            fresh[key] = _copied(phi).to(device=device, dtype=dtype).train(place.parent.training)
            setattr(fresh[key], MARK, True)  # for `save_swapped`
            if not shared:
                _take_hooks(place.activation, fresh[key])
        chosen.append(fresh[key])
    settle(model, places, chosen)
    if shared and said is not None and (hooked := [place.name for place in places if _hooks(place.activation)]):
        said.append(f"the hooks on {listed(hooked)} are gone: one shared module stands in all places; give it its own")
    return [place.name for place in places]


def places_of(model: nn.Module, old: Old | tuple[Old, ...]) -> list[Place]:
    """Where what is to be replaced stands; ArgumentError where nothing fits, or nothing can be replaced."""
    kinds = kinds_of(old)
    places = [] if isinstance(model, Script) else _matching(model, kinds)
    if not places and (script := next((m for m in model.modules() if isinstance(m, Script)), None)) is not None:
        said = f"the model has a {type(script).__name__}, whose code is fixed"
        raise ArgumentError(f"{said}; swap first, then torch.jit.trace (script cannot read functions of the lab)")
    if not places:
        raise ArgumentError(f"{_nothing_fits(model, kinds)}; {activations.what_there_is(model)}")
    return places


def settle(model: nn.Module, places: Sequence[Place], functions: Sequence[nn.Module]) -> None:
    """Put functions into places: into all, or into none, where a model takes the names of functions alone."""
    names = []
    for place, attribute in _by_name(model, places).items():
        name = name_of(functions[places.index(place)])
        if name not in _act2fn():
            why = f"{type(place.parent).__name__} makes its activation from the name in .{attribute}"
            raise ArgumentError(f"{place.name}: {why}, so that only a named one can be put in, such as 'relu'")
        names.append((place.parent, attribute, name))
    for parent, attribute, name in names:
        setattr(parent, attribute, name)
    for place, phi in zip(places, functions, strict=True):
        setattr(place.parent, place.attribute, phi)
    leave_fused_paths(model, places)


def _by_name(model: nn.Module, places: Sequence[Place]) -> dict[Place, str]:
    """Places of transformers' modules that are never read, and the attribute whose name is read in their stead."""
    known = [place for place in places if type(place.parent).__module__.startswith("transformers.")]
    attributes = {}
    for place in activations.unread(model, known) if known else ():
        named = (key for key, word in vars(place.parent).items() if "act" in key and isinstance(word, str))
        if attribute := next((key for key in named if getattr(place.parent, key) in _act2fn()), None):
            attributes[place] = attribute
    return attributes


def _act2fn() -> Any:
    """The activations of transformers by name."""
    from transformers.activations import ACT2FN

    return ACT2FN


def _unseen(model: nn.Module, places: Sequence[Place], old: tuple[Old, ...]) -> list[str]:
    """What a swap does not reach, a line each."""
    named = _by_name(model, places)
    silent = [place for place in activations.unread(model, places) if place not in named]
    kinds = {activations.kind_of(place.activation) for place in places}
    stays = [one.words for one in activations_in_code(model) if one.kind in kinds]
    said = f"{', '.join(stays)}, which stays as it is; {activations.KEEP}"
    if silent:
        owner, names = type(silent[0].parent).__name__, listed([place.name for place in silent])
        line = f"the code of {owner} never reads {names}: with another function there, nothing would change"
        if len(silent) == len(places):
            raise ArgumentError(f"{line}; {said if stays else 'name activations that the model calls'}")
        return [line, *([said] if stays else [])]
    lines = [said] if stays else []
    # places of functions, where those of modules are replaced; or of modules, where those of functions are
    sorts, inside = {place.is_module for place in places}, tuple(f"{place.name}." for place in places)
    others = [p for p in activations.places_in(model) if p.is_module not in sorts and not p.name.startswith(inside)]
    unused = activations.unread(model, others)
    others = [place for place in others if place not in unused and activations.kind_of(place.activation) in kinds]
    if others and not any(isinstance(kind, str) for kind in old):  # a pattern says which are meant
        sort = "a module" if others[0].is_module else "a function that a module keeps"
        names = listed([place.name for place in others])
        lines.append(f"{names}: {sort}, which stays as it is; give a tuple, (torch.nn.ReLU, F.relu), to replace both")
    return lines


def _copied(phi: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(phi)
    except Exception as error:  # it keeps a tensor of a computation, or what else cannot be copied
        said = f"{type(error).__name__}: {shortened(str(error), 120)}"
        raise ArgumentError(f"phi, a {type(phi).__name__}, cannot be copied ({said}); give one that is new") from error


def _hooks(module: Any) -> bool:
    return isinstance(module, nn.Module) and any(getattr(module, name) for name in HOOKS)


def _take_hooks(old: Any, new: nn.Module) -> None:
    """Hooks of a module that is replaced, on the one in its place; what removes them there removes them here."""
    if not _hooks(old):
        return
    for name in (*HOOKS, *KEPT):
        before, hooks = getattr(old, name), getattr(new, name)
        if hooks:  # of a module that counts its channels at its first call, which takes its own away
            hooks.update(before)
        else:
            setattr(new, name, before)
    new._is_full_backward_hook = old._is_full_backward_hook


def kinds_of(old: Old | tuple[Old, ...], name: str = "old") -> tuple[Old, ...]:
    """What is to be replaced, each checked. name: of the argument that it is.

    >>> kinds_of("*.act"), len(kinds_of((nn.GELU, nn.ReLU)))
    (('*.act',), 2)
    """
    kinds = old if isinstance(old, tuple) else (old,)
    for kind in kinds:
        if isinstance(kind, nn.Module):
            advice = f"give its class, torch.nn.{type(kind).__name__}, or a name"
            raise ArgumentError(f"{name}={shown(kind)} is a module; {advice}")
        if not (isinstance(kind, str) or callable(kind)):
            given = f"a list of {len(kind)}, no tuple" if isinstance(kind, list) else shown(kind)
            raise ArgumentError(f"{name}={given}: give {PLACES}")
    if not kinds:
        raise ArgumentError(f"{name}=() names nothing; give {PLACES}")
    return kinds


def _per_channel(phi: nn.Module, per_channel: bool | int, shared: bool) -> nn.Module:
    if type(phi) is not Spline:
        raise ArgumentError(f"per_channel is for splines, and phi is a {type(phi).__name__}; give a lab.Spline")
    if shared:
        raise ArgumentError("per_channel and shared: places have channels of their own; give one of the two")
    return LazyChannelSpline(phi, dim=channel_axis(per_channel))


def _matching(model: nn.Module, kinds: tuple[Old, ...]) -> list[Place]:
    classes = tuple(kind for kind in kinds if isinstance(kind, type))
    patterns = [kind for kind in kinds if isinstance(kind, str)]
    functions = [kind for kind in kinds if not isinstance(kind, (type, str))]
    if isinstance(model, classes):
        raise ArgumentError(f"the model itself is a {type(model).__name__}, and nothing holds it: use phi in its place")
    matches: list[Place] = []
    inside: tuple[str, ...] = ()
    for place in activations.places_in(model):
        chosen = isinstance(place.activation, classes) or activations.one_of(place.activation, functions)
        could = isinstance(place.activation, nn.Module) or activations.one_of(place.activation, activations.FUNCTIONS)
        by_name = could and any(fnmatchcase(place.name, pattern) for pattern in patterns)
        if (chosen or by_name) and not place.name.startswith(inside):
            _refuse_layers(place, by_name and not chosen)
            matches.append(place)
            inside += (f"{place.name}.",)
    return matches


def _refuse_layers(place: Place, by_name: bool) -> None:
    """A pattern that is too wide, or a wrong class, must not throw trained weights away."""
    if isinstance(place.activation, nn.Module) and not activations.is_elementwise(place.activation):
        if any(by_name or weight.dim() > 1 for weight in place.activation.parameters()):
            kind = type(place.activation).__name__
            raise ArgumentError(f"{place.name} is a {kind} with weights, not an activation; name activations only")


def _home(model: nn.Module, name: str) -> tuple[torch.device | None, torch.dtype | None]:
    """Device and dtype of the nearest layer with weights around a place; None where the model has none."""
    while name:
        name = name.rpartition(".")[0]
        for weight in model.get_submodule(name).parameters():
            if weight.is_floating_point() and weight.itemsize > 1 and not weight.is_meta:  # float8 computes in others
                return weight.device, weight.dtype
    return None, None


def leave_fused_paths(model: nn.Module, places: Sequence[Place]) -> None:
    """torch's encoder layers note at birth that they use ReLU or GELU, and call a fused kernel with it in eval mode.

    Without this, they would go on with the old function there. With ReLU or GELU in the place they call the kernel of
    that one, as if they had been made with it.
    """
    changed = set()
    for place in places:
        if isinstance(layer := place.parent, nn.TransformerEncoderLayer):
            phi = getattr(layer, place.attribute)
            exact = type(phi) is nn.GELU and phi.approximate == "none"
            layer.activation_relu_or_gelu = 1 if type(phi) is nn.ReLU else 2 if exact else 0
            if not layer.activation_relu_or_gelu:
                changed.add(layer)
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoder) and not changed.isdisjoint(module.layers):
            module.use_nested_tensor = False  # only the fused kernel takes these


def _nothing_fits(model: nn.Module, kinds: tuple[Old, ...]) -> str:
    words = [_said(kind) for kind in kinds]
    said = f"nothing in this {type(model).__name__} is {' or '.join(words)}"
    classes = {activations.class_of(kind) for kind in kinds if not isinstance(kind, (str, type))} - {None}
    meant = sorted({f"torch.nn.{type(m).__name__}" for m in model.modules() if type(m) in classes})
    if meant:
        return f"{said}; its modules are of the class {meant[0]}: give old={meant[0]}"
    texts = {kind.lower() for kind in kinds if isinstance(kind, str)}  # patterns of names
    held = (place.activation for place in activations.places_in(model) if activations.is_activation(place.activation))
    named = [one for one in held if (activations.kind_of(one) or type(one).__name__).lower() in texts]
    return f"{said}: a text is the name of a place; give old={_as_python(named[0])}" if named else said


def _as_python(activation: Any) -> str:
    """An activation's class, or the function, as Python names it."""
    made: Any = type(activation) if isinstance(activation, nn.Module) else activations.function_behind(activation)
    return f"{made.__module__.replace('torch.nn.modules.activation', 'torch.nn')}.{made.__name__}"


def _said(kind: Old) -> str:
    if isinstance(kind, str):
        return repr(kind)
    name = getattr(kind, "__name__", str(kind))
    return name if isinstance(kind, type) else f"the function {name}"
