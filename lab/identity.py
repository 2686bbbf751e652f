"""What functions and modules of the user's own are: a digest of their code, settings and tensors."""

from __future__ import annotations

import copyreg
import dis
import hashlib
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils.hooks import RemovableHandle

from lab.errors import ArgumentError, described

LAZY = (UninitializedParameter, UninitializedBuffer)
PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size, type(...))
ARRAYS = (Tensor, np.ndarray, np.generic)
VALUES = (*PLAIN, *ARRAYS, list, tuple, set, frozenset, Mapping, partial)  # which may have attributes, too
FORWARD, BACKWARD = ("_forward_pre_hooks", "_forward_hooks"), ("_backward_pre_hooks", "_backward_hooks")
BOOKKEEPING = {"call_super_init", *(name for name in vars(nn.Module()) if "hook" in name)}
GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def digest_of(thing: Any) -> str:
    """SHA-256 of a function, a module or a value: two of one name that compute other things have two.

    Of functions the code, default arguments, attributes, what they close over and the globals that they read; of
    `functools.partial` its arguments; of modules class, mode, hooks, buffers, parameters and whether these are frozen,
    and all other attributes; of the user's classes their methods and attributes. Of what torch and other packages have,
    its name. What is in a file, drawn from a generator, or imported within a function, is not in it. ArgumentError for
    what is nested too deeply, and for what torch.jit.trace returns.

    >>> one, same, other = (partial(torch.clamp, min=low) for low in (0.0, 0.0, 1.0))
    >>> digest_of(one) == digest_of(same), digest_of(one) == digest_of(other)
    (True, False)
    >>> digest_of(nn.CrossEntropyLoss()) == digest_of(nn.CrossEntropyLoss(label_smoothing=0.4))
    False
    """
    digest = _Digest()
    try:
        digest.add(thing)
    except RecursionError as error:
        said = f"{described(thing)} is nested too deeply to be told from others"
        raise ArgumentError(f"{said}; give a function of its own, without so many inside") from error
    return digest.hasher.hexdigest()


class _Digest:
    """home: the top-level name of the module that the first of the user's functions is from."""

    def __init__(self) -> None:
        self.hasher, self.seen, self.kept, self.home = hashlib.sha256(), dict[int, int](), list[Any](), ""

    def say(self, *words: object) -> None:
        self.hasher.update("\0".join(map(str, words)).encode("utf-8", "surrogatepass") + b"\n")

    def add(self, thing: Any) -> None:
        if isinstance(thing, PLAIN) and (type(thing) in PLAIN or self._is_foreign(type(thing).__module__)):
            return self.say(type(thing).__name__, repr(thing))
        if id(thing) in self.seen:  # in a circle, or in two places: which one
            return self.say("again", self.seen[id(thing)])
        self.seen[id(thing)] = len(self.seen)
        self.kept.append(thing)  # else what is made on the way might leave its id to another
        if isinstance(thing, VALUES):
            self._value(thing)
            if not self._is_foreign(type(thing).__module__):
                self.add(type(thing))
            if held := dict(_attributes(thing)):
                self._named(held)
            return
        thing = getattr(thing, "_torchdynamo_orig_callable", thing)  # of torch.compile
        self.say(type(thing).__module__, type(thing).__qualname__)
        if isinstance(thing, CodeType):
            self._code(thing)
        elif isinstance(thing, FunctionType):
            self._function(thing)
        elif isinstance(thing, MethodType):
            self._each((thing.__func__, thing.__self__))
        elif isinstance(thing, type):
            self._class(thing)
        elif isinstance(thing, ModuleType):
            self.say(thing.__name__)
        elif isinstance(thing, BuiltinFunctionType):
            self.say(thing.__qualname__)
            self.add(None if isinstance(thing.__self__, (type, ModuleType)) else thing.__self__)
        elif isinstance(thing, torch.jit.TracedModule):
            cure = "give the module that was traced"
            raise ArgumentError(f"a module of torch.jit.trace cannot be told from others; {cure}")
        elif hasattr(thing, "_orig_mod"):  # a module of torch.compile
            self.add(thing._orig_mod)
        elif hasattr(thing, "to_numpy"):  # of pandas
            self._each((list(map(str, getattr(thing, "columns", ()))), thing.to_numpy()))
            index = getattr(thing, "index", range(0))
            if not callable(index) and (labels := [*map(repr, index)]) != [*map(repr, range(len(labels)))]:
                self._each(labels)
        elif not isinstance(thing, RemovableHandle):  # which has a number that is another one each time
            self._object(thing)

    def _value(self, thing: Any) -> None:
        if isinstance(thing, ARRAYS):
            return self._numbers(thing)
        self.say(type(thing).__module__, type(thing).__qualname__)
        if isinstance(thing, PLAIN):
            kind: Any = next(kind for kind in PLAIN if isinstance(thing, kind))
            self.say(kind.__repr__(thing))
        elif isinstance(thing, (list, tuple)):
            self._each(thing)
        elif isinstance(thing, (set, frozenset)):
            self._each(sorted(map(digest_of, thing)))
        elif isinstance(thing, partial):
            self._each((thing.func, thing.args, thing.keywords))
        else:
            self._named(thing)
            if isinstance(thing, defaultdict):
                self.add(thing.default_factory)

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
        if isinstance(values, nn.Parameter) and not values.requires_grad:
            self.say("frozen")
        if isinstance(values, Tensor):
            values = getattr(values, "data", values)
            shape = () if isinstance(values, LAZY) else tuple(values.shape)
            self.say("tensor", values.dtype, shape)
            if isinstance(values, LAZY) or values.is_meta:
                return
            flat = (values if values.layout == torch.strided else values.to_dense()).detach().cpu()
            flat = torch.view_as_real(flat.resolve_conj()) if flat.is_complex() else flat
            values = flat.resolve_neg().reshape(-1).contiguous().view(torch.uint8).numpy()
            self.hasher.update(values.tobytes())
        elif values.dtype.hasobject:
            self._each(values.reshape(-1).tolist())
        else:
            self.say("array", values.dtype, values.shape)
            self.hasher.update(np.ascontiguousarray(values).tobytes())
            self.add(np.ma.getmask(values).tobytes() if np.ma.isMaskedArray(values) else None)

    def _object(self, thing: Any) -> None:
        """By its class and attributes; else as it is pickled."""
        self.add(type(thing))
        if held := dict(_attributes(thing)):
            return self._named(held)
        try:
            reduced = copyreg.dispatch_table.get(type(thing), lambda thing: thing.__reduce_ex__(4))(thing)
        except Exception:  # a lock, a generator, a file: its class says what can be said
            return
        for part in reduced[1:] if isinstance(reduced, tuple) else ():
            self.add(list(part) if isinstance(part, Iterator) else part)

    def _code(self, code: CodeType) -> None:
        self.say(code.co_code.hex(), *code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        if variadic := code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            self.say(variadic)
        self._each(code.co_consts)

    def _function(self, function: FunctionType) -> None:
        self.say(function.__module__, function.__qualname__)
        if (is_foreign := self._is_foreign(function.__module__)) and _is_at_its_name(function):
            return
        names, attributes = (set[str](), set[str]()) if is_foreign else _read_by(function.__code__)
        self.add(function.__code__)
        self._each((function.__defaults__, function.__kwdefaults__))
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # not yet filled
                self.say("empty")
            else:
                self._read(content, attributes)
        held = {name: thing for name, thing in vars(function).items() if not name.startswith(("__", "_torchdynamo"))}
        if held:
            self._named(held)
        for name in sorted(names & set(function.__globals__)):
            self.add(name)
            self._read(function.__globals__[name], attributes)

    def _read(self, thing: Any, attributes: set[str], inside: tuple[ModuleType, ...] = ()) -> None:
        """What code reads; of the user's modules those attributes, also of modules in them."""
        self.add(thing)
        if isinstance(thing, ModuleType) and not self._is_foreign(thing.__name__) and thing not in inside:
            held = {name: getattr(thing, name) for name in sorted(attributes) if hasattr(thing, name)}
            self.say(len(held))
            for name, value in held.items():
                self.add(name)
                self._read(value, attributes, (*inside, thing))

    def _class(self, kind: type) -> None:
        self.say(kind.__module__, kind.__qualname__)
        if self._is_foreign(kind.__module__):
            for base in kind.__mro__:  # torch makes classes of the user's, as for parametrizations
                if not self._is_foreign(base.__module__):
                    self.add(base)
            return
        self._each(kind.__bases__)
        held = {}
        for name, value in vars(kind).items():
            value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
            if isinstance(value, property):
                value = (value.fget, value.fset, value.fdel) if value.fset or value.fdel else value.fget
            is_called = callable(value) or hasattr(type(value), "__get__")
            is_of_python = hasattr(type(value), "__set__") and self._is_foreign(type(value).__module__)  # a slot
            if not is_of_python and (is_called or not (name.startswith("__") or name == "_abc_impl")):
                held[name] = value
        self._named(held)

    def _is_foreign(self, module: str | None) -> bool:
        """Whether only the name of what is in a module counts: installed packages, and others than the user's own."""
        top, _, inside = (module or "").partition(".")
        if _is_of_a_library(module):
            return True
        self.home = self.home or top
        return bool(inside) and top != self.home


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    """Attributes and slots. Of modules, torch's book-keeping is left out, but for hooks of calls and gradients."""
    if isinstance(thing, np.ma.MaskedArray):  # numpy's book-keeping
        return
    held = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{kind.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                held[name] = getattr(thing, name)
    for name, value in held.items():
        if not (isinstance(thing, nn.Module) and name in BOOKKEEPING):
            yield name, value
        elif name in FORWARD or (value and name in BACKWARD):
            yield name, list(value.values())
        elif value and name.endswith("_with_kwargs"):
            yield name, [key in value for key in held[name.removesuffix("_with_kwargs")]]
        elif value is False:  # backward hooks that get gradients of the last operation alone
            yield name, value


def _read_by(code: CodeType) -> tuple[set[str], set[str]]:
    """The globals and the attributes that code reads, also within functions and comprehensions in it."""
    names, attributes, codes = set[str](), set[str](), [code]
    while codes:
        code = codes.pop()
        names |= {step.argval for step in dis.get_instructions(code) if step.opname in GLOBALS}
        attributes |= set(code.co_names)
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    return names, attributes


def _is_at_its_name(function: FunctionType) -> bool:
    """Whether its module has this function by its name; not of what another function made, or wraps."""
    there: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        there = getattr(there, name, None)
    return there is function


@lru_cache(maxsize=4096)
def _is_of_a_library(module: str | None) -> bool:
    """Whether a module is Python's, installed, or the lab's."""
    top = (module or "").partition(".")[0]
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return top in sys.stdlib_module_names - {"__main__"} or top == "lab" or "-packages" in file
