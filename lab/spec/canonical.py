"""Canonical JSON of a spec, and its key: the name of a run or search in a store."""

import hashlib
import json
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, TypeVar, cast

from lab.errors import ArgumentError
from lab.spec import models, own, recipes, runs, searches
from lab.spec.models import Coefficients, KnotTable, Learned, ModuleFunction, Part, Shaped
from lab.spec.recipes import AdamTrapezoid, AdamWCosine, ConstantRate
from lab.tasks import Collage, Images, Logic, Operation, SingleTileCollage, Sraven, Tabular, Text

T = TypeVar("T")
SCHEMA = 1  # raise it when the same spec would train to something else; when few of them would, see `revision`
# What JSON calls kinds whose class has another name: keys of stored results were made with these.
NAMES = {AdamTrapezoid: "Recipe", AdamWCosine: "AdamW", ConstantRate: "Descent", SingleTileCollage: "Told"}
_KINDS: list[type] = [Logic, Sraven, Operation, Images, Collage, SingleTileCollage, Tabular, Text]
for module in (models, own, recipes, runs, searches):  # and each dataclass that one of these defines
    members = (kind for kind in vars(module).values() if isinstance(kind, type) and is_dataclass(kind))
    _KINDS += [kind for kind in members if kind.__module__ == module.__name__]
TYPES: dict[str, type] = {NAMES.get(kind, kind.__name__): kind for kind in _KINDS}
# Further kinds of the lab's register themselves where they are implemented; imported when JSON names an unknown one.
ELSEWHERE = ("lab.models.kinds", "lab.training.text", "lab.training.optimizers")


def register(kind: type[T]) -> type[T]:
    """Let a frozen dataclass stand in specs and their JSON; a decorator. Its name must be its own.

    A field that is added to a kind later, when runs with it are stored, says `field(default=…, metadata={"since": 2})`:
    at its default it stays out of the JSON, so that the keys of these runs stay what they are.
    """
    if not is_dataclass(kind) or not cast(Any, kind).__dataclass_params__.frozen:
        raise ArgumentError(f"{kind.__name__} is no frozen dataclass; write @dataclass(frozen=True) above it")
    if TYPES.setdefault(kind.__name__, kind) is not kind:
        raise ArgumentError(f"there is another kind called {kind.__name__}; choose another name")
    return kind


def to_json(spec: object) -> str:
    """Canonical JSON of a spec: sorted keys, every dataclass marked with its type, shortest round-trip floats."""
    return json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> object:
    """The spec written by `to_json`."""
    return _spec(json.loads(text))


def key(spec: object) -> str:
    """SHA-256 of the canonical JSON and the version, in hexadecimal: the name of a run or search."""
    return hashlib.sha256(f"{_version(spec)}\n{to_json(spec)}".encode()).hexdigest()


def _version(spec: object) -> str:
    """The schema; behind a point the revision of a run's model, where it has one: all other specs keep their keys."""
    revision = 0
    if isinstance(spec, runs.RunSpec) and hasattr(spec.model, "revision") and hasattr(spec.task, "length"):
        revision = spec.model.revision(spec.task.length)
    return f"{SCHEMA}.{revision}" if revision else f"{SCHEMA}"


def _plain(value: object, kind: str = "") -> object:
    """What JSON can say of a value; `kind` is the annotation of the field it stands in."""
    if is_dataclass(value):
        members = [f for f in fields(value) if "since" not in f.metadata or getattr(value, f.name) != f.default]
        name = NAMES.get(type(value), type(value).__name__)
        return {"type": name} | {f.name: _plain(getattr(value, f.name), str(f.type)) for f in members}
    if isinstance(value, (tuple, list)):
        return [_plain(item, kind) for item in value]
    if "float" in kind and isinstance(value, (int, float)):
        return float(value) + 0.0  # -20 == -20.0 and 0.0 == -0.0: equal specs need the same text
    return value


def _spec(value: object) -> object:
    if isinstance(value, dict):
        values = {name: _spec(item) for name, item in value.items() if name != "type"}
        if value["type"] not in TYPES:
            for module in ELSEWHERE:
                import_module(module)
        return TYPES[value["type"]](**values)
    if isinstance(value, list):
        return tuple(_spec(item) for item in value)
    return value


def form(part: Part) -> str:
    """A text that is equal for two parts whose values can stand side by side along the run axis.

    >>> from lab.spec import Knots
    >>> form("gelu"), form(Knots(-1.0, 1.0, (0.0, 1.0, 0.0))) == form(Knots(-1.0, 1.0, (0.0, 0.0, 2.0)))
    ('gelu', True)
    """
    if isinstance(part, Shaped) and part.shape == "symmetrized":
        part = part.of  # on the same knots
    if isinstance(part, str):
        return part
    if isinstance(part, (Coefficients, Shaped, ModuleFunction)):
        return to_json(part)  # a polynomial has no run axis: one fleet, one function
    if isinstance(part, KnotTable):
        return f"table {part.low} {part.high} {len(part.values)} {len(part.values[0])}"
    if not isinstance(part, Learned):
        return f"spline {part.low} {part.high} {len(part.values)}"
    count = getattr(part.search, "knots", None)
    if count is None:
        return to_json(part)  # how many knots the best restart of a search by episodes has is not known before
    return f"spline {part.search.low} {part.search.high} {count}"
