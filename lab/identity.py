"""What functions and modules of the user's own are: a digest of their code, settings and tensors."""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Mapping
from functools import lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

UNKNOWN = (UninitializedParameter, UninitializedBuffer)
PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size, type(...))


def digest_of(thing: Any) -> str:
    """SHA-256 of a function, a module or a value: two of one name that compute other things have two.

    Of functions the code, default arguments, what they close over and the globals that they read; of
    `functools.partial` its arguments; of modules class, parameters, buffers and all other attributes; of the user's
    classes their methods. Of what torch and other installed packages have, its name. What is in a file, or drawn from
    a generator, is not in it.

    >>> one, same, other = (partial(torch.clamp, min=low) for low in (0.0, 0.0, 1.0))
    >>> digest_of(one) == digest_of(same), digest_of(one) == digest_of(other)
    (True, False)
    >>> digest_of(nn.CrossEntropyLoss()) == digest_of(nn.CrossEntropyLoss(label_smoothing=0.4))
    False
    """
    digest = _Digest()
    digest.add(thing)
    return digest.hasher.hexdigest()


class _Digest:
    def __init__(self) -> None:
        self.hasher, self.seen, self.kept = hashlib.sha256(), dict[int, int](), list[Any]()

    def say(self, *words: object) -> None:
        self.hasher.update("\0".join(map(str, words)).encode("utf-8", "surrogatepass") + b"\n")

    def add(self, thing: Any) -> None:
        if isinstance(thing, PLAIN):
            return self.say(type(thing).__name__, repr(thing))
        if id(thing) in self.seen:  # in a circle, or in two places: which one
            return self.say("again", self.seen[id(thing)])
        self.seen[id(thing)] = len(self.seen)
        self.kept.append(thing)  # else what is made on the way might leave its id to another
        if isinstance(thing, (Tensor, np.ndarray, np.generic)):
            return self._numbers(thing)
        self.say(type(thing).__module__, type(thing).__qualname__)
        if isinstance(thing, (list, tuple)):
            self._each(thing)
        elif isinstance(thing, (set, frozenset)):
            self._each(sorted(thing, key=repr))
        elif isinstance(thing, Mapping):
            self._named(thing)
        elif isinstance(thing, CodeType):
            self._code(thing)
        elif isinstance(thing, FunctionType):
            self._function(thing)
        elif isinstance(thing, partial):
            self._each((thing.func, thing.args, thing.keywords))
        elif isinstance(thing, MethodType):
            self._each((thing.__func__, thing.__self__))
        elif isinstance(thing, type):
            self._class(thing)
        elif isinstance(thing, (BuiltinFunctionType, ModuleType)):
            self.say(getattr(thing, "__qualname__", thing.__name__))
        else:
            self.add(type(thing))
            self._named({k: v for k, v in getattr(thing, "__dict__", {}).items() if not _is_torchs_own(thing, k)})

    def _each(self, things: Any) -> None:
        self.say(len(things))
        for thing in things:
            self.add(thing)

    def _named(self, things: Mapping[Any, Any]) -> None:
        self.say(len(things))
        for name, thing in things.items():
            self.add(name)
            self.add(thing)

    def _numbers(self, values: Any) -> None:
        if isinstance(values, Tensor):
            shape = () if isinstance(values, UNKNOWN) else tuple(values.shape)
            self.say("tensor", values.dtype, shape, values.requires_grad)
            if isinstance(values, UNKNOWN) or values.is_meta or values.layout != torch.strided:
                return
            flat = values.detach().cpu().reshape(-1).contiguous()
            values = torch.view_as_real(flat.resolve_conj()).reshape(-1) if flat.is_complex() else flat
            self.hasher.update(values.view(torch.uint8).numpy().tobytes() if len(flat) else b"")
        elif values.dtype.hasobject:
            self._each(values.reshape(-1).tolist())
        else:
            self.say("array", values.dtype, values.shape)
            self.hasher.update(np.ascontiguousarray(values).tobytes())

    def _code(self, code: CodeType) -> None:
        self.say(code.co_code.hex(), *code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        self._each(code.co_consts)

    def _function(self, function: FunctionType) -> None:
        self.say(function.__module__, function.__qualname__)
        if _is_of_a_library(function.__module__):
            return
        self.add(function.__code__)
        self._each((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # not yet filled
                self.say("empty")
        self._named({name: function.__globals__[name] for name in _names(function) if name in function.__globals__})

    def _class(self, kind: type) -> None:
        self.say(kind.__module__, kind.__qualname__)
        if _is_of_a_library(kind.__module__):
            return
        self._each(kind.__bases__)
        methods: dict[str, object] = {}
        for name, value in vars(kind).items():
            value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            value = value.fget if isinstance(value, property) else value
            if isinstance(value, (FunctionType, *PLAIN)) and name not in ("__module__", "__doc__", "__firstlineno__"):
                methods[name] = value
        self._named(methods)


def _names(function: FunctionType) -> list[str]:
    """The globals that a function reads, also within functions and comprehensions of it."""
    names, codes = dict[str, None](), [function.__code__]
    while codes:
        code = codes.pop()
        names |= dict.fromkeys(step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    return sorted(names)


@lru_cache(maxsize=4096)
def _is_of_a_library(module: str | None) -> bool:
    """Whether a module is Python's, installed, or the lab's."""
    top = (module or "").partition(".")[0]
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return top in sys.stdlib_module_names - {"__main__"} or top == "lab" or "-packages" in file


def _is_torchs_own(thing: Any, name: str) -> bool:
    """Whether an attribute of a module is torch's book-keeping: hooks, and whether it trains."""
    return isinstance(thing, nn.Module) and (name.endswith("_hooks") or "_hooks_" in name or name == "training")
