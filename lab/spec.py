"""What a run is: frozen dataclasses whose canonical JSON is the run's identity.

A spec says everything that decides a result and nothing that does not (device, fleet, folder). Two specs with the
same canonical JSON are the same run, so the store can find it, and a figure can list what it needs before anything
was trained: a learned non-linearity is named by the search that finds it (`Learned`), not by its values.

>>> spec = RunSpec("addmod", ModelSpec(width=32), Recipe(steps=100, rate=0.003, batch=64), seed=0)
>>> spec == from_json(to_json(spec))
True
>>> key(spec) == key(replace(spec, seed=1))
False
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass, replace  # noqa: F401  (replace: re-exported for users of specs)

SCHEMA = 1  # raise it when the same spec would train to something else


@dataclass(frozen=True)
class Knots:
    """A non-linearity given by its values at evenly spaced knots of [low, high]."""

    low: float
    high: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class Coefficients:
    """A polynomial on [low, high], constant beyond, by its coefficients (`lab.nonlinearity.polynomial`)."""

    low: float
    high: float
    values: tuple[float, ...]
    basis: str  # "powers" or "chebyshev"


@dataclass(frozen=True)
class ModelSpec:
    """A decoder-only transformer (transformers paper, App. B)."""

    layers: int = 2
    heads: int = 2
    width: int = 32  # of the residual stream; the MLP is 4 times as wide
    positions: str = "learned"  # or "alibi"
    canon: bool = False  # Canon layers at A, B, C, D
    tied: bool = False  # unembedding = embedding
    mlp: Part = "gelu"
    attention: Part = "softmax"  # anything else is kernel attention with that non-linearity


@dataclass(frozen=True)
class Recipe:
    """How weights are trained: Adam, linear warm-up, constant, cosine cool-down to zero."""

    steps: int  # length of the schedule
    rate: float  # peak learning rate
    batch: int  # sequences a step
    betas: tuple[float, float] = (0.9, 0.999)
    warmup: float = 0.05  # fraction of the steps
    cooldown: float = 0.5  # fraction of the steps
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 25  # steps between two evaluations

    @property
    def last(self) -> int:
        """Number of steps that are really taken."""
        return self.steps if self.stop is None else min(self.stop, self.steps)


@dataclass(frozen=True)
class RunSpec:
    """One trained model: task + model + recipe + seed."""

    task: str
    model: ModelSpec
    recipe: Recipe
    seed: int
    evaluate: tuple[str, ...] = ("test",)  # splits whose accuracy is followed during training
    task_seed: int = 0  # seed of the data set


@dataclass(frozen=True)
class SearchSpec:
    """A stage-I search (`two_loss`, Algorithm 1): `models` models share the learned spline(s)."""

    task: str
    model: ModelSpec  # what is searched for replaces its `mlp` and / or `attention`
    recipe: Recipe
    learn: tuple[str, ...] = ("mlp",)  # "mlp", "attention" or both
    models: int = 8  # M of Algorithm 1
    low: float = -20.0
    high: float = 20.0
    knots: int = 361  # spacing 1/9 (Table 4)
    spline_rate: float = 0.005  # peak learning rate of the knots; the paper does not print it
    seed: int = 0
    task_seed: int = 0


@dataclass(frozen=True)
class Learned:
    """The non-linearity that a search finds: its spline for the MLP or for the attention."""

    search: SearchSpec
    part: str = "mlp"


@dataclass(frozen=True)
class Shaped:
    """What a search finds, in another shape: "symmetrized" (App. D), "polynomial" or "chebyshev" (App. F)."""

    of: Learned
    shape: str
    degree: int | None = None  # of the last two


Resolved = str | Knots | Coefficients  # a non-linearity with its values
Part = Resolved | Learned | Shaped
TYPES = {kind.__name__: kind for kind in (Knots, Coefficients, ModelSpec, Recipe, RunSpec, SearchSpec, Learned, Shaped)}


def to_json(spec: object) -> str:
    """Canonical JSON of a spec: sorted keys, every dataclass marked with its type, shortest round-trip floats."""
    return json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> object:
    """The spec written by `to_json`."""
    return _spec(json.loads(text))


def key(spec: object) -> str:
    """SHA-256 of the canonical JSON and the schema version, in hexadecimal: the name of a run or search."""
    return hashlib.sha256(f"{SCHEMA}\n{to_json(spec)}".encode()).hexdigest()


def needs(spec: RunSpec | SearchSpec) -> list[SearchSpec]:
    """The searches whose result this spec trains with."""
    parts = (part.of if isinstance(part, Shaped) else part for part in (spec.model.mlp, spec.model.attention))
    return [part.search for part in parts if isinstance(part, Learned)]


def _plain(value: object, kind: str = "") -> object:
    """What JSON can say of a value; `kind` is the annotation of the field it stands in."""
    if is_dataclass(value):
        return {"type": type(value).__name__} | {f.name: _plain(getattr(value, f.name), f.type) for f in fields(value)}
    if isinstance(value, (tuple, list)):
        return [_plain(item, kind) for item in value]
    if "float" in kind and isinstance(value, (int, float)):
        return float(value) + 0.0  # -20 == -20.0 and 0.0 == -0.0: equal specs need the same text
    return value


def _spec(value: object) -> object:
    if isinstance(value, dict):
        values = {name: _spec(item) for name, item in value.items() if name != "type"}
        return TYPES[value["type"]](**values)
    if isinstance(value, list):
        return tuple(_spec(item) for item in value)
    return value
