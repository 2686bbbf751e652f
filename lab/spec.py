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

from lab.tabular import Descent, EpisodeSpec, InterpolatedSpec, Perceptron, Restart, TwoLossSpec
from lab.tasks.collage import Collage, Told
from lab.tasks.images import Images
from lab.tasks.logic import Logic
from lab.tasks.operation import Operation
from lab.tasks.sraven import Sraven
from lab.tasks.table import TableTask
from lab.tasks.tabular import Tabular

SCHEMA = 1  # raise it when the same spec would train to something else; when few of them would, see `revision`


@dataclass(frozen=True)
class Knots:
    """A non-linearity given by its values at evenly spaced knots of [low, high]."""

    low: float
    high: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class KnotTable:
    """Several functions on evenly spaced knots of [low, high], one a row: an own one for each dimension of an input."""

    low: float
    high: float
    values: tuple[tuple[float, ...], ...]


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

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name."""
        return {"mlp": self.mlp, "attention": self.attention}

    def breadth(self, length: int) -> float:
        """Roughly how many numbers a layer keeps for a token, in multiples of what it keeps for a channel."""
        return self.width


@dataclass(frozen=True)
class HyperModel:
    """A pre-norm transformer over vectors, whose attention may be a hypernetwork (hypernetwork paper, Sec. 2, App. C).

    `lab.models.methods` names the combinations of the paper. Where its text and its reference code differ, defaults are
    those of the code, with which its numbers were made; `as_printed` has what the text says.
    """

    layers: int = 2
    heads: int = 8
    width: int = 128  # of the residual stream
    key_width: int = 16  # of queries, keys and values, all heads together
    mlp_width: int = 256
    normalization: str = "softmax"  # of scores: "softmax" over keys, "none", or "rms_head" over heads
    network: str = "head"  # φ acts on values of each "head"; in a network for each query and key "pair"; "deep": twice
    phi: Part = "identity"  # the non-linearity of the value network
    mlp: Part = "gelu"
    experts: int = 0  # feed-forward layers that a router chooses from; 0: one, without a router
    active: int = 2  # experts that work on a token
    dropout: float = 0.1  # of attention scores in training, the same for all sequences and heads of a step
    causal: bool = False  # tokens see those before them only

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name."""
        return {"phi": self.phi, "mlp": self.mlp}

    def breadth(self, length: int) -> float:
        """As `ModelSpec.breadth`; scores and their networks are kept, too, with each key about ten numbers a head."""
        return self.width * max(1, self.experts) + self.heads * length / 10

    def revision(self, length: int) -> int:
        """How often what such a model trains to on this many tokens has changed while the schema stayed.

        1 for odd numbers: buckets of relative positions were once computed with ln 2 in the place of ln(S / ⌊S / 2⌋).
        """
        return length % 2


def as_printed(model: HyperModel) -> HyperModel:
    """The model as the text of the paper reads: causal ("decoder-only"), no dropout, and each head as wide as the
    kqv_dim of Table A3, where the code shares that width out among the heads.

    >>> as_printed(HyperModel(heads=8, key_width=16)).key_width
    128
    """
    return replace(model, causal=True, dropout=0.0, key_width=model.heads * model.key_width)


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
class AdamW:
    """How weights are trained (hypernetwork paper, App. C): AdamW, linear warm-up from 0, cosine to a tenth.

    Biases, norms and relative positions do not decay, as the text says of biases and norms. The reference code lets
    decay whatever it does not keep as a vector: decay_tables=True.
    """

    steps: int
    rate: float  # peak learning rate
    batch: int  # sequences a step
    decay: float = 0.1  # weights shrink by rate × decay a step
    warmup: int = 100  # steps; the cosine ends as many steps before the last one, as in the reference code
    betas: tuple[float, float] = (0.9, 0.999)
    decay_tables: bool = False  # also decay relative positions and the biases of queries, keys and values
    stop: int | None = None  # leave the schedule after this many steps (None: run it to its end)
    every: int = 500  # steps between two evaluations
    examples: int = 2048  # of each split, in an evaluation

    @property
    def last(self) -> int:
        """Number of steps that are really taken."""
        return self.steps if self.stop is None else min(self.stop, self.steps)


@dataclass(frozen=True)
class RunSpec:
    """One trained model: task + model + recipe + seed."""

    # a name of `lab.tasks.NAMES`; a task whose examples are made as they are needed; or a table
    task: str | Logic | Sraven | TableTask
    model: ModelSpec | HyperModel | Perceptron
    recipe: Recipe | AdamW | Descent
    seed: int  # of weights and batches; where examples are made as needed, also of what is held out
    evaluate: tuple[str, ...] = ("test",)  # splits that scores are followed on during training
    task_seed: int = 0  # seed of the data set that a name stands for, or of a table's splits

    @property
    def task_name(self) -> str:
        """The name of the task, without its parameters."""
        return self.task if isinstance(self.task, str) else self.task.name


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

    @property
    def task_name(self) -> str:
        """The name of the task, as other specs have it."""
        return self.task


@dataclass(frozen=True)
class Learned:
    """The non-linearity that a search finds. part: of a `SearchSpec` "mlp" or "attention"; of the others "phi", "phi0",
    "phi1", … of the layers, or "inputs"; of an `EpisodeSpec` also of one restart, not of the best, "phi@0", ….
    """

    search: SearchSpec | EpisodeSpec | TwoLossSpec
    part: str = "mlp"


@dataclass(frozen=True)
class Shaped:
    """What a search finds, in another shape: "symmetrized" (App. D), "polynomial" or "chebyshev" (App. F)."""

    of: Learned
    shape: str
    degree: int | None = None  # of the last two


Resolved = str | Knots | KnotTable | Coefficients  # a non-linearity with its values
Part = Resolved | Learned | Shaped
TYPES = {kind.__name__: kind for kind in (Knots, Coefficients, ModelSpec, Recipe, RunSpec, SearchSpec, Learned, Shaped)}
TYPES |= {kind.__name__: kind for kind in (AdamW, HyperModel, Logic, Sraven)}
TYPES |= {kind.__name__: kind for kind in (Perceptron, Descent, KnotTable, EpisodeSpec, InterpolatedSpec, Restart)}
TYPES |= {kind.__name__: kind for kind in (TwoLossSpec, Operation, Images, Collage, Told, Tabular)}


def to_json(spec: object) -> str:
    """Canonical JSON of a spec: sorted keys, every dataclass marked with its type, shortest round-trip floats."""
    return json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_json(text: str) -> object:
    """The spec written by `to_json`."""
    return _spec(json.loads(text))


def key(spec: object) -> str:
    """SHA-256 of the canonical JSON and the version, in hexadecimal: the name of a run or search."""
    return hashlib.sha256(f"{_version(spec)}\n{to_json(spec)}".encode()).hexdigest()


def needs(spec: RunSpec | SearchSpec | EpisodeSpec | TwoLossSpec) -> list[SearchSpec | EpisodeSpec | TwoLossSpec]:
    """The searches whose result this spec trains with."""
    parts = (part.of if isinstance(part, Shaped) else part for part in spec.model.parts.values())
    return [part.search for part in parts if isinstance(part, Learned)]


def searches(spec: object) -> bool:
    """Whether a spec is of a search, and not of a run."""
    return isinstance(spec, (SearchSpec, EpisodeSpec, TwoLossSpec))


def _version(spec: object) -> str:
    """The schema; behind a point the revision of a run's model, where it has one: all other specs keep their keys."""
    revision = 0
    if isinstance(spec, RunSpec) and isinstance(spec.model, HyperModel):
        revision = spec.model.revision(spec.task.length)
    return f"{SCHEMA}.{revision}" if revision else f"{SCHEMA}"


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
