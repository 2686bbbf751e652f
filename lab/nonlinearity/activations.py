"""The activations that a torch model has: where each stands, and how to name them to a user.

Some are no submodules: functions that the code of a model's own classes calls (F.relu), modules that it makes in
`forward`, modules in plain lists; and the code never reads some submodules. Code is read, not run: what stands in it
may be called or not. `lab.compare`, which has examples, records a forward pass instead.
"""

import builtins
import dis
import functools
import inspect
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from lab.nonlinearity.functions import TABLE

HOMES = (nn.functional, torch)  # of functions
FUNCTIONS = [  # of one argument
    getattr(home, name) for home in HOMES for name in (*TABLE, "leaky_relu") if name != "prelu" and hasattr(home, name)
]
NOT_SCALAR = (nn.MultiheadAttention, nn.Softmax, nn.Softmax2d, nn.LogSoftmax, nn.Softmin, nn.GLU)
SHOWN = 2  # names of each kind in an error's line
KEEP = "let the model keep a module (self.act = torch.nn.GELU()) and call that"
ZEROS = {"zeros", "zeros_like", "new_zeros"}
CLAMPS = {"clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_min_"}
UNKNOWN = object()
DYNAMIC = {"getattr", "_modules", "children", "named_children", "modules", "named_modules", "__dict__", "vars"}


@dataclass(frozen=True, eq=False)
class Place:
    """Where an activation stands: `parent.attribute`, known in the model as `name`."""

    name: str
    parent: nn.Module
    attribute: str
    activation: nn.Module | Callable

    @property
    def is_module(self) -> bool:
        return isinstance(self.activation, nn.Module)


def places_in(module: nn.Module, path: str = "") -> Iterator[Place]:
    """Every module below a module, and every function that one keeps as an attribute; each before what is inside it."""
    children = {name: child for name, child in module._modules.items() if child is not None}
    functions = {name: value for name, value in vars(module).items() if function_behind(value)}
    for attribute, value in (children | functions).items():
        yield Place(path + attribute, module, attribute, value)
        if attribute in children and not isinstance(value, torch.jit.ScriptModule):  # whose parts cannot be replaced
            yield from places_in(value, f"{path}{attribute}.")


def is_activation(module: nn.Module | Callable) -> bool:
    """Whether this is an activation: a known class or function, or a model's own module that holds nothing and takes
    one input."""
    if not isinstance(module, nn.Module):
        return one_of(module, FUNCTIONS)
    code, custom = getattr(type(module).forward, "__code__", None), not type(module).__module__.startswith("torch.")
    holds = has_state(module) or any(True for _ in module.children())
    return is_elementwise(module) or (custom and not holds and code is not None and code.co_argcount == 2)


def kind_named(name: str) -> str | None:
    """Which row of the table a function or a class computes, by its own name: "relu" of relu_; None for all others.

    >>> kind_named("relu_"), kind_named("NewGELUActivation"), kind_named("Linear"), kind_named("leaky_relu")
    ('relu', 'gelu', None, 'leakyrelu')
    """
    plain = name.lower().replace("_", "").removesuffix("activation")
    if plain in TABLE:
        return None if plain == "identity" else plain
    if not name.endswith("Activation"):
        return None
    return max((known for known in TABLE if plain.endswith(known)), key=len, default=None)


def kind_of(activation: nn.Module | Callable) -> str | None:
    """As `kind_named`, of what stands in a place."""
    function = type(activation) if isinstance(activation, nn.Module) else function_behind(activation)
    return kind_named(getattr(function, "__name__", ""))


def has_state(module: nn.Module) -> bool:
    """Whether a module has parameters or buffers, of its own or of modules inside it."""
    return any(True for _ in module.parameters()) or any(True for _ in module.buffers())


def is_elementwise(activation: nn.Module | Callable) -> bool:
    """Whether this is known to be an activation that treats each number by itself: a function of torch, or a module by
    what its class is, one of torch, of transformers or of the lab."""
    if not isinstance(activation, nn.Module):
        return one_of(activation, FUNCTIONS)
    home = type(activation).__module__
    from_torch = home == nn.GELU.__module__ and not isinstance(activation, NOT_SCALAR)
    return from_torch or home == "transformers.activations" or home.startswith(__package__)


def function_behind(value: object) -> Callable | None:
    """The function behind a partial, such as gelu with approximate="tanh"; None for what is no function."""
    value = value.func if isinstance(value, functools.partial) else value
    return value if callable(value) and not isinstance(value, (type, nn.Module)) else None


def one_of(value: object, functions: Iterable[Callable]) -> bool:
    """Whether this is one of these functions, or a partial of one."""
    return any(function_behind(value) is function for function in functions)


def class_of(function: Callable) -> type[nn.Module] | None:
    """The class of torch.nn that computes what a function of torch does, by its name: nn.ReLU of torch.relu."""
    name = getattr(function_behind(function), "__name__", "")
    row = TABLE.get(name.replace("_", "")) if one_of(function, FUNCTIONS) else None
    return row.make if row is not None and hasattr(nn, row.make.__name__) else None


@dataclass(frozen=True)
class ActivationCall:
    """An activation that no place holds. kind: its name in the table. words: who has it, and how."""

    kind: str
    words: str


def activations_in_code(model: nn.Module) -> list[ActivationCall]:
    """Activations in the code of a model that are no submodules of it, each once.

    >>> class Calls(nn.Linear):
    ...     __module__ = "__main__"  # as in a notebook
    ...     def forward(self, x):
    ...         return torch.relu(super().forward(x))
    >>> [one.words for one in activations_in_code(nn.Sequential(Calls(1, 1)))]
    ['Calls.forward calls relu']
    """
    activations: dict[ActivationCall, None] = {}
    for module in model.modules():
        if isinstance(module, (nn.RNN, nn.RNNCell)) and (kind := kind_named(module.nonlinearity)):
            activations[ActivationCall(kind, f"a torch.nn.{type(module).__name__} computes {kind}")] = None
    for module in _one_a_class(model):
        name = type(module).__name__
        if not _is_own(type(module)) or is_activation(module):
            continue
        reader = _Reader(module)
        reader.read(type(module).forward, f"{name}.forward")
        for attribute, value in vars(module).items():
            if attribute.startswith("_"):
                continue
            if isinstance(value, FunctionType):
                reader.read(value, f"{name}.{attribute}")
            else:
                reader.inside(value, f"{name}.{attribute}")
        activations |= reader.calls
    return list(activations)


def unread(model: nn.Module, places: Sequence[Place]) -> list[Place]:
    """Those of these places that no code of the model's own classes names: the model does not call them.

    Nothing is said of a class whose code looks for its parts by names that it makes up.
    """
    names = set[str]().union(*(_names(type(module)) for module in _one_a_class(model)))
    return [
        place
        for place in places
        if _is_own(type(place.parent)) and place.attribute not in names and not _names(type(place.parent)) & DYNAMIC
    ]


def _one_a_class(model: nn.Module) -> list[nn.Module]:
    return list({type(module): module for module in model.modules()}.values())


def _is_own(kind: type) -> bool:
    """Whether it is a module's class that does not come with torch, and is written in Python."""
    home = kind.__module__.partition(".")[0]
    return issubclass(kind, nn.Module) and home != "torch"


def _names(kind: type) -> set[str]:
    """Names and words in the code of a class and of the functions that it calls, without its `__init__`."""
    if kind in _known:
        return _known[kind]
    names, visited = set[str](), set[CodeType]()

    def read(code: CodeType, places: dict[str, Any]) -> None:
        if code in visited:
            return
        visited.add(code)
        names.update(code.co_names, (word for word in code.co_consts if isinstance(word, str)))
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                read(inner, places)
        for name in code.co_names:
            if isinstance(function := places.get(name), FunctionType) and _near(function, kind):
                read(function.__code__, function.__globals__)

    bases, over = [base for base in kind.__mro__ if _is_own(base)], {"__init__"}
    for base in bases:
        for name, value in vars(base).items():
            value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(value, FunctionType) and name not in over:
                function = inspect.unwrap(value)
                read(function.__code__, function.__globals__)
                if not {"super", *(base.__name__ for base in bases)} & {*function.__code__.co_names}:
                    over.add(name)  # nothing calls what it stands before
    _known[kind] = names
    return names


_known: WeakKeyDictionary[type, set[str]] = WeakKeyDictionary()  # by class


def _near(function: FunctionType | MethodType, kind: type) -> bool:
    """Whether a function is of the same file as a class, or of the same folder."""
    home, folder = str(function.__module__), kind.__module__.rpartition(".")[0]
    return home == kind.__module__ or bool(folder) and home.startswith(f"{folder}.")


class _Reader:
    """Follows what the code of one module calls."""

    def __init__(self, module: nn.Module):
        self.module, self.calls, self.visited = module, dict[ActivationCall, None](), set[tuple[CodeType, int]]()

    def read(self, function: Any, where: str, module: nn.Module | None = None) -> None:
        """Note what a function has of activations, and what those have that it calls. module: its `self`."""
        function = inspect.unwrap(function)
        if isinstance(function, FunctionType):
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            outside = ChainMap({name: _content(cell) for name, cell in cells}, function.__globals__, vars(builtins))
            self._code(function.__code__, outside, where, module or self.module)

    def inside(self, container: Any, where: str) -> None:
        """Note the activations in a list or dictionary of Python's, into which torch does not look."""
        if isinstance(container, (list, tuple, dict)):
            for held in container.values() if isinstance(container, dict) else container:
                known = isinstance(held, nn.Module) or (callable(held) and one_of(held, FUNCTIONS))
                if known and (kind := kind_of(held)):
                    called = type(held).__name__ if isinstance(held, nn.Module) else kind
                    words = f"{where}, a {type(container).__name__} of Python's, holds {called}"
                    self.calls[ActivationCall(kind, words)] = None

    def _code(self, code: CodeType, outside: ChainMap[str, Any], where: str, module: nn.Module) -> None:
        if (code, id(module)) in self.visited:
            return
        self.visited.add((code, id(module)))
        if code.co_argcount and code.co_varnames[0] == "self":
            outside = outside.new_child({"self": module})
        for root, *attributes in _chains(code):
            value, holder = outside.get(root, UNKNOWN) if root else UNKNOWN, None
            for attribute in attributes:
                holder, value = value, _attribute(value, attribute)
            self._value(value, holder, attributes[-1] if attributes else "", where)
            if holder is None or isinstance(holder, ModuleType):
                self.inside(value, f"{'.'.join([root, *attributes])} in {where}")
        if cuts_at_zero(code):
            self.calls[ActivationCall("relu", f"{where} calls clamp(min=0), perhaps a ReLU")] = None
        names = {*code.co_names}
        if name := next((n for n in ("maximum", "fmax", "max") if n in names and _has_zero(code, n != "max")), None):
            self.calls[ActivationCall("relu", f"{where} calls {name} with zeros, perhaps a ReLU")] = None
        if any(n in names and _has_zero(code) for n in ("threshold", "threshold_")):
            self.calls[ActivationCall("relu", f"{where} calls threshold, perhaps a ReLU")] = None
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._code(inner, outside, where, module)

    def _value(self, value: Any, holder: Any, last: str, where: str) -> None:
        made = value.func if isinstance(value, functools.partial) else value
        if isinstance(made, type):
            if issubclass(made, nn.Module) and (kind := kind_named(made.__name__)):
                self.calls[ActivationCall(kind, f"{where} makes {made.__name__}")] = None
        elif isinstance(holder, ModuleType) and holder.__name__.startswith("torch") or value is UNKNOWN:
            known = value is not UNKNOWN or hasattr(torch.Tensor, last)
            if known and (kind := kind_named(last)) and not last[:1].isupper():
                self.calls[ActivationCall(kind, f"{where} calls {last}")] = None
        elif holder is None and callable(value) and _of_torch(value):
            if kind := kind_named(getattr(value, "__name__", "")):  # from torch.nn.functional import relu
                self.calls[ActivationCall(kind, f"{where} calls {kind}")] = None
        elif isinstance(value, (FunctionType, MethodType)) and _near(value, type(self.module)):
            self.read(value, where, holder if isinstance(holder, nn.Module) else None)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return UNKNOWN


def _of_torch(value: Callable) -> bool:
    return any(getattr(home, getattr(value, "__name__", ""), None) is value for home in HOMES)


def _attribute(value: Any, name: str) -> Any:
    """An attribute, without running code of the user's."""
    if isinstance(value, nn.Module):
        for held in (value._modules, vars(value)):
            if name in held:
                return held[name]
        content = inspect.getattr_static(type(value), name, UNKNOWN)
        return getattr(content, "__func__", content) if not isinstance(content, property) else UNKNOWN
    return getattr(value, name, UNKNOWN) if isinstance(value, ModuleType) else UNKNOWN


def _chains(code: CodeType) -> Iterator[list[str]]:
    """The names that code reads: ["F", "relu"]; "" stands for what an expression or a variable of its own gives."""
    chain: list[str] | None = None
    for step in dis.get_instructions(code):
        if step.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            chain = [*(chain or [""]), str(step.argval)]
            continue
        if step.opname in ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP"):
            continue
        if chain and any(chain):
            yield chain
        chain = None
        if step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")) and step.argval:
            name = step.argval[-1] if isinstance(step.argval, tuple) else str(step.argval)
            chain = ["" if step.opname.startswith("LOAD_FAST") and name != "self" else name]


def cuts_at_zero(code: CodeType) -> bool:
    """Whether code may have a ReLU as x.clamp(min=0), x.clamp_min(0), x.clip(0), torch.clamp(x, min=0) or
    torch.clamp(x, 0). What is made whole numbers at once, a count, is none.

    >>> [cuts_at_zero(f.__code__) for f in (lambda x: x.clamp(min=0.0), lambda x: x.clip(0), lambda x: x.clamp(0, 1))]
    [True, True, False]
    """
    if not CLAMPS & {*code.co_names}:
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL")]
    for at, number in enumerate(steps):
        after, words = [step for step in steps[at + 1 : at + 5] if step.opname != "PRECALL"], ("min",)
        is_zero = number.opname.startswith("LOAD") and type(number.argval) in (int, float) and number.argval == 0
        if not is_zero or len(after) < 2:
            continue
        if after[0].opname == "KW_NAMES" or after[1].opname == "CALL_KW":
            words = code.co_consts[after.pop(0).arg or 0]
        call, then = after[:2]
        before, others = steps[:at], (call.arg or 0) - 1  # arguments besides the 0
        while before and others > 0:
            step = before.pop()
            others -= dis.stack_effect(step.opcode, step.arg, jump=False)
        if (
            not call.opname.startswith("CALL")
            or words != ("min",)
            or len(before) < 2
            or before[-1].argval not in CLAMPS
        ):
            continue
        of_torch = before[-1].opname == "LOAD_GLOBAL" or before[-2].argval == "torch"  # torch.clamp(x, 0)
        if call.arg == 1 + of_torch and then.argval not in ("long", "int"):
            return True
    return False


def _has_zero(code: CodeType, numbers: bool = True) -> bool:
    """Whether code makes zeros; numbers: or has a 0 in it."""
    said = any(type(number) in (int, float) and number == 0 for number in code.co_consts)
    return bool(ZEROS & {*code.co_names}) or numbers and said


def is_relu_of(name: str, args: Sequence[Any], words: Mapping[str, Any]) -> bool:
    """Whether a call of a function of torch by this name is a ReLU: a clamp, a threshold or a maximum at zero.

    >>> x = torch.ones(2)
    >>> is_relu_of("clamp", (x,), {"min": 0}), is_relu_of("clamp", (x, 0, 1), {})
    (True, False)
    >>> is_relu_of("threshold", (x, 0, 0), {}), is_relu_of("maximum", (x, torch.zeros(())), {})
    (True, True)
    """
    x, rest = args[0] if args else words.get("input"), list(args[1:])
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        return False
    if name in CLAMPS:
        low, high = (rest[n] if len(rest) > n else words.get(word) for n, word in enumerate(("min", "max")))
        return type(low) in (int, float) and low == 0 and high is None
    if name.strip("_") == "threshold":
        return all(one == 0 for one in [*rest[:2], *(words[key] for key in ("threshold", "value") if key in words)])
    if name not in ("maximum", "fmax", "max"):
        return False
    other = rest[0] if rest else words.get("other")
    pair = [x, other] if isinstance(other, torch.Tensor) and other.is_floating_point() else []
    return any(not bool(one.any()) for one in pair)


def what_there_is(model: nn.Module) -> str:
    """The activations of a model; or the functions that it calls, which no one can replace from outside."""
    names: dict[str, list[str]] = {}
    attributes: dict[str, None] = {}
    inside: tuple[str, ...] = ()
    for place in places_in(model):
        if is_activation(place.activation) and not place.name.startswith(inside):
            names.setdefault(_kind(place.activation), []).append(place.name)
            attributes[place.attribute] = None
            inside += (f"{place.name}.",)
    if names:
        patterns = [f"'*{attribute}'" for attribute in attributes if not attribute.isdigit()][:SHOWN]
        advice = f"; they can be named by a pattern: {' or '.join(patterns)}" if patterns else ""
        more = {kind: f" and {len(of) - SHOWN} more" if len(of) > SHOWN else "" for kind, of in names.items()}
        kinds = [f"{kind} ({', '.join(of[:SHOWN])}{more[kind]})" for kind, of in names.items()]
        return f"its activations are {'; '.join(kinds)}{advice}"
    if activations := activations_in_code(model):
        said = ", ".join(dict.fromkeys(one.words for one in activations))
        return f"it has no activation modules: {said}, and that cannot be replaced from outside; {KEEP}"
    return "it has no activations"


def _kind(activation: nn.Module | Callable) -> str:
    if isinstance(activation, nn.Module):
        return f"{type(activation).__module__}.{type(activation).__name__}"
    return f"the function {getattr(function_behind(activation), '__name__', '')}"
