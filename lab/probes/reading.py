"""Reading a model: in evaluation mode, without gradients, with nothing of it changed afterwards; and padded tokens."""

import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.transformer import Transformer

DEPTH, MOST = 6, 10_000  # how far modules are looked for in what a function uses: containers in each other, and values
Undo = Callable[[], object]
_PLAIN = (str, bytes, bool, int, float, complex, type, ModuleType, np.generic, type(None))  # hold nothing
_CONTAINERS = (dict, list, tuple, set, frozenset)
HIDING = ("src_key_padding_mask", "key_padding_mask")  # torch's own: True where a token is padding
CLOSE, CLOSE_HALF = 1e-4, 2e-2  # of the largest output: up to where a difference is rounding; of half precision


@contextmanager
def reading(f: object, exact: bool = False) -> Iterator[None]:
    """Within the block f computes in evaluation mode (without dropout, with running statistics) and without gradients.

    f: a module, or any callable, whose modules are those of `modules_of`: `lambda x: model(x)` is read like the model.
    exact: weights of half precision are float32 meanwhile, and products are not rounded to less: for measures of
    differences, in which rounding would be taken for structure.

    Afterwards, or after an error, each part has its mode, attributes and buffers back, weights have their type, and
    torch's generators are where they were.

    >>> model = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(2))
    >>> with reading(lambda x: model(x)):
    ...     print(model[0].training)
    False
    >>> model[0].training
    True
    """
    parts = modules_of(f)
    check_made(parts)
    tensors = {id(t): t for part in parts for t in (*part.parameters(False), *part.buffers(False))}.values()
    devices = sorted({t.device.index for t in tensors if t.is_cuda})
    with torch.random.fork_rng(devices), torch.no_grad(), ExitStack() as stack:
        for part in parts:
            for restore in restorers(part):
                stack.callback(restore)
        if exact:
            for restore in in_float32(tensors):
                stack.callback(restore)
            for kind in {"cpu", *(tensor.device.type for tensor in tensors)} & {"cpu", "cuda"}:
                stack.enter_context(torch.autocast(kind, enabled=False))
            stack.enter_context(full_precision())
        set_evaluation_mode(parts)
        stack.enter_context(torch.inference_mode(False))  # which asks for gradients
        stack.enter_context(torch.no_grad())
        yield


def asked(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The output of f: a tensor or array, the `logits` of an object or a dictionary, the first of several tensors, as
    `lab.compare` reads models; or any other object. A model that takes gradients by itself, as of an energy for its
    forces, may.

    >>> asked(lambda x: {"logits": x}, 3)
    3
    """
    try:
        answer = f(*args, **kwargs)
    except RuntimeError as error:
        if torch.is_grad_enabled() or "does not require grad" not in str(error):
            raise
        with torch.enable_grad():
            answer = f(*args, **kwargs)
    if isinstance(answer, Mapping) and "logits" in answer:
        answer = answer["logits"]
    answer = getattr(answer, "logits", answer)
    if isinstance(answer, tuple) and answer and isinstance(answer[0], Tensor):
        answer = answer[0]
    return answer.detach() if isinstance(answer, Tensor) and not torch.is_grad_enabled() else answer


def modules_of(f: object) -> list[nn.Module]:
    """The modules that a callable is made of, each once, with all their parts.

    >>> model = nn.Sequential(nn.ReLU())
    >>> [type(part).__name__ for part in modules_of(lambda x: model(x))]
    ['Sequential', 'ReLU']
    """
    modules: dict[int, nn.Module] = {}
    for value in used_by(f):
        if isinstance(value, nn.Module):
            modules |= {id(part): part for part in value.modules()}
    return list(modules.values())


def used_by(f: object) -> Iterator[object]:
    """What a callable uses, each once: of a function what it closes over, its defaults and the globals that it names;
    of a method its object, of a partial its arguments, of an object its attributes, of a container what stands in it.
    """
    visited: set[int] = set()
    held: list[object] = []  # what is made here stays, so that no other gets its id
    left = deque([(f, 0)])
    while left and len(visited) < MOST:  # what is near first: behind a global there may be a whole data set
        value, depth = left.popleft()
        if id(value) in visited or depth > DEPTH:
            continue
        visited.add(id(value))
        held.append(value)
        yield value
        left += [(one, depth + 1) for one in _uses(value)]


@contextmanager
def evaluating(net: nn.Module) -> Iterator[nn.Module]:
    """Within the block all of a model is in evaluation mode; afterwards each part is in the one that it was in."""
    modes = {part: part.training for part in net.modules()}
    try:
        yield net.eval()
    finally:
        for part, training in modes.items():
            part.training = training


def set_evaluation_mode(parts: list[nn.Module]) -> None:
    """Put parts into evaluation mode, without calling their `train`, which may do more."""
    for part in parts:
        if getattr(part, "training", False):
            part.training = False


def in_float32(tensors: Any) -> list[Undo]:
    """Make numbers of less precision float32, where they are; what undoes it."""
    undo: list[Undo] = []
    for tensor in tensors:
        if tensor.is_floating_point() and tensor.dtype.itemsize < 4:
            undo.append(functools.partial(setattr, tensor, "data", tensor.data))
            tensor.data = tensor.data.float()
    return undo


def check_made(parts: list[nn.Module]) -> None:
    """ArgumentError where weights are only made at a first call, or have no numbers."""
    for part in parts:
        for tensor in (*part.parameters(False), *part.buffers(False)):
            if torch.nn.parameter.is_lazy(tensor):
                raise ArgumentError(f"{type(part).__name__} makes its weights at its first call; call the model once")
            if tensor.is_meta:
                raise ArgumentError(f"{type(part).__name__} has weights on the meta device; give it numbers first")


def check_steady(first: np.ndarray, again: np.ndarray) -> None:
    """ArgumentError where outputs for the same points, (points, outputs), differ between two calls: where random
    numbers are drawn (dropout in any mode), or, of calls with other points, where an output depends on the other points
    (batch norm without running statistics).
    """
    size = np.abs(first).max(initial=0, where=np.isfinite(first))
    if not np.allclose(first, again, 0, 1e-3 * size, equal_nan=True):
        raise ArgumentError(
            "the answer for a point is another when it is asked again, or beside other points: put its model into"
            " evaluation mode; F.dropout needs training=self.training, batch norm its running statistics"
        )


def restorers(part: nn.Module) -> list[Undo]:
    """Calls that restore a module's attributes, the contents of its lists and dictionaries, and tensors but weights."""
    held = vars(part)
    undo: list[Undo] = [functools.partial(_give_back, held, dict(held))]
    for value in held.values():
        if isinstance(value, (dict, list, set)):
            undo.append(functools.partial(_give_back, value, value.copy()))
        elif isinstance(value, torch.Generator):
            undo.append(functools.partial(value.set_state, value.get_state()))
    if "training" not in held and hasattr(part, "training"):  # of a script
        undo.append(functools.partial(setattr, part, "training", part.training))
    tensors = [*part.buffers(False), *(value for value in held.values() if isinstance(value, Tensor))]
    if getattr(part, "max_norm", None) is not None:  # an embedding shortens its rows where it reads them
        tensors += part.parameters(False)
    for tensor in tensors:
        if tensor.layout == torch.strided:
            undo.append(functools.partial(_write_back, tensor, tensor.detach().clone()))
    return undo


def _give_back(held: Any, before: Any) -> None:
    """Restore the contents of a container, where they have changed."""
    if isinstance(held, dict):
        if len(held) != len(before) or any(held.get(name, held) is not value for name, value in before.items()):
            for name in [name for name in held if name not in before]:
                del held[name]
            held.update(before)
    elif len(held) != len(before) or any(a is not b for a, b in zip(held, before, strict=True)):
        held.clear()
        (held.update if isinstance(held, set) else held.extend)(before)


def _write_back(tensor: Tensor, before: Tensor) -> None:
    if not torch.equal(tensor.detach(), before):
        with torch.inference_mode(tensor.is_inference()):
            tensor.data.copy_(before)


@contextmanager
def full_precision(tf32: bool = False) -> Iterator[None]:
    """No product of float32 is computed in less, whatever torch is set to. tf32: convolutions on a GPU are computed in
    TF32, as torch does after its import."""
    backends: Any = torch.backends
    cudnn, mkldnn = backends.cudnn, backends.mkldnn
    new = hasattr(backends.cuda.matmul, "fp32_precision")  # torch 2.9
    name, full = ("fp32_precision", "ieee") if new else ("allow_tf32", False)
    wanted = dict.fromkeys([backends.cuda.matmul, *([mkldnn.matmul, mkldnn.conv, mkldnn.rnn] if new else [])], full)
    wanted |= dict.fromkeys([cudnn.conv, cudnn.rnn] if new else [cudnn], ("tf32" if tf32 else full) if new else tf32)
    with ExitStack() as stack:
        with suppress(RuntimeError):  # which torch raises where its newer settings, below, are used alone
            if (word := torch.get_float32_matmul_precision()) != "highest":
                stack.callback(torch.set_float32_matmul_precision, word)
                torch.set_float32_matmul_precision("highest")
        for place, value in wanted.items():
            if (before := getattr(place, name)) not in (value, "none"):
                stack.callback(setattr, place, name, before)
                setattr(place, name, value)
        yield


def _uses(value: object) -> list[object]:
    """What a callable uses, one step further."""
    if isinstance(value, (Tensor, np.ndarray)):
        uses = []
    elif isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        named = [value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__]
        uses = [*cells, *named, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        uses.append(getattr(value, "__wrapped__", None))
    elif isinstance(value, MethodType):
        uses = [value.__self__, value.__func__]
    elif isinstance(value, functools.partial):
        uses = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, dict):
        uses = list(value.values())[:MOST]
    elif isinstance(value, _CONTAINERS):
        uses = list(value)[:MOST]
    else:
        attributes = getattr(value, "__dict__", None)
        uses = list(attributes.values()) if isinstance(attributes, dict) else []
    return [one for one in uses if not (isinstance(one, _PLAIN) or (isinstance(one, _CONTAINERS) and not one))]


def _names(code: CodeType) -> Iterator[str]:
    """The globals that code names, and the functions that it contains."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # of a variable that has no value yet
        return False
    return True


def padding(model: Any, inputs: Any) -> Tensor | None:
    """Which tokens only fill up a row, (examples, tokens) bool, where that is known."""
    if isinstance(inputs, Mapping):
        masks = [(inputs.get("attention_mask"), False), *((inputs.get(name), True) for name in HIDING)]
        for mask, hides in masks:
            if isinstance(mask, Tensor) and mask.ndim == 2:
                _check_covers(mask, inputs.get("input_ids"))
                infinite = mask.is_floating_point() and hides
                return mask.cpu() == -torch.inf if infinite else (mask.cpu() != 0) == hides
        return None
    if isinstance(inputs, Tensor) and isinstance(model, Transformer):
        return inputs.cpu() == 0  # token 0 is "<pad>" in every task
    return None


def _check_covers(mask: Tensor, tokens: Any) -> None:
    """ArgumentError where a mask has no number for some token; it may have more, for what was read before."""
    if isinstance(tokens, Tensor) and tokens.ndim == 2:
        if len(mask) != len(tokens) or mask.shape[1] < tokens.shape[1]:
            shapes = f"{tuple(mask.shape)} for tokens {tuple(tokens.shape)}"
            raise ArgumentError(f"attention_mask has shape {shapes}; give one number a token")


def positioned(model: nn.Module, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Inputs of a model, with `position_ids` where rows are padded on the left and it would count from the padding.

    Whether it does is measured: by its outputs for one text with the padding and without. Raises ArgumentError where
    they differ and it takes no `position_ids` that would change that. To be called within `reading`.
    """
    mask = inputs.get("attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2 or "position_ids" in inputs:
        return inputs
    shifted = ((mask[:, 0] == 0) & (mask != 0).any(1)).nonzero().flatten()
    if not len(shifted):
        return inputs
    row, length = int(shifted[0]), mask.shape[1]
    text = mask[row] != 0
    device = next((p.device for p in model.parameters()), mask.device)
    tokens = {n: v for n, v in inputs.items() if isinstance(v, Tensor) and v.ndim > 1 and v.shape[:2] == mask.shape}
    padded = {name: value[row : row + 1].to(device) for name, value in tokens.items()}
    wanted = _answer(model, {name: value[:, text.to(device)] for name, value in padded.items()})
    if wanted is None:  # it reads other things, too
        return inputs

    def same(given: Mapping[str, Tensor]) -> bool:
        answer = _answer(model, given)
        if answer is not None and answer.ndim > 2 and answer.shape[1] == length:
            answer = answer[:, text.to(device)]
        if answer is None or answer.shape != wanted.shape:
            return answer is not None  # nothing to compare
        close = (CLOSE_HALF if answer.dtype.itemsize < 4 else CLOSE) * wanted.abs().max().double()
        return bool((answer.double() - wanted.double()).abs().max() <= close)

    if same(padded):
        return inputs
    positions = ((mask != 0).long().cumsum(1) - 1).clamp(min=0)
    takes = "position_ids" in inspect.signature(model.forward).parameters
    if takes and same({**padded, "position_ids": positions[row : row + 1].to(device)}):
        return {**inputs, "position_ids": positions}
    raise ArgumentError(
        f"{len(shifted)} rows are padded on the left, and {type(model).__name__} counts positions from the padding; pad"
        " on the right (tokenizer.padding_side = 'right'), or give position_ids"
    )


def _answer(model: nn.Module, given: Mapping[str, Tensor]) -> Tensor | None:
    """The output of a model for each token, or for a text; None where it fails."""
    try:
        answer = model(**given)
    except Exception:
        return None
    for name in ("logits", "last_hidden_state"):
        answer = getattr(answer, name, answer)
    answer = answer[0] if isinstance(answer, (tuple, list)) and answer else answer
    return answer if isinstance(answer, Tensor) and answer.is_floating_point() else None
