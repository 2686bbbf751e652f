"""Specs of what a user brings along: data, a function that makes torch modules, activations; and how they are trained.

Data and code stand in no JSON. A spec has their digest or layout, and the process that made it has the rest
(`register_object`): what is stored can be read by all, and trained where data and code are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

from lab.errors import LabError
from lab.spec.parts import Part
from lab.spec.recipes import Steps

UNCHANGED = "unchanged"  # the model keeps the activations that it has
_objects: dict[object, Any] = {}


def register_object(spec: object, thing: Any) -> None:
    """Keep the object that a spec's digest names, as long as this process lives; the last one counts."""
    _objects[spec] = thing


def object_of(spec: object) -> Any:
    """The object that a spec's digest names in this process. LabError where it has not seen it."""
    if spec not in _objects:
        raise LabError(f"{spec} is not known in this process; make the data and call lab.search or lab.compare again")
    return _objects[spec]


def known_here_alone(spec: object) -> bool:
    """Whether a spec stands for something, in any of its parts, that no other process knows."""
    if isinstance(spec, tuple):
        return any(map(known_here_alone, spec))
    if not is_dataclass(spec):
        return False
    return spec in _objects or any(known_here_alone(getattr(spec, field.name)) for field in fields(spec))


@dataclass(frozen=True)
class DataSpec:
    """A `lab.Data`."""

    name: str
    digest: str  # of its content


@dataclass(frozen=True)
class OwnTask:
    """A `lab.Task` that the user has made."""

    name: str
    digest: str  # of its content


@dataclass(frozen=True)
class ModuleSpec:
    """Models that a function of the user's makes, from a seed each.

    Known of them: the user's name for them, the names, shapes and types of parameters and buffers, and how they print
    themselves. The code of the function and of the modules is not part of the identity.
    """

    name: str
    layout: str  # SHA-256 of what is known
    replace: str  # which activations, in words
    phi: Part = UNCHANGED

    layers: ClassVar[int] = 1  # rough sizes of work are not known
    width: ClassVar[int] = 1
    prefactor: ClassVar[float] = 1.0

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name."""
        return {"phi": self.phi}

    def having(self, parts: Mapping[str, Part]) -> ModuleSpec:
        """The same with another function, by the names of `parts`."""
        return replace(self, phi=parts["phi"])

    def activation_memory(self, length: int) -> float:
        """As in `ModelSpec`."""
        return 1.0


@dataclass(frozen=True)
class Fit(Steps):
    """How modules of the user's are trained."""

    steps: int
    rate: float  # peak learning rate
    batch: int | None = 128  # examples a step; None: all of them
    optimizer: str = "adam"  # or "adamw", "sgd"
    schedule: str = "trapezoid"  # linear warm-up, constant, cosine to zero; or "cosine", "constant"
    decay: float = 0.0  # of "adamw": matrices and kernels shrink by rate × decay a step, biases and norms do not
    momentum: float = 0.9  # of "sgd"
    warmup: float = 0.05  # fraction of the steps
    cooldown: float = 0.5  # fraction of the steps, of the trapezoid
    precision: str = "float32"  # or "bfloat16": torch.autocast
    stop: int | None = None
    every: int = 50  # steps between two evaluations
    threads: int = field(default=1, metadata={"since": 2})  # of torch on a CPU; another number rounds otherwise

    watch: ClassVar[str] = "val"  # the split that decides between restarts of a search


@dataclass(frozen=True)
class ModuleSearch:
    """A search by two losses (transformers paper, Algorithm 1) in models of the user's: `models` of them share one
    function, in the place of all activations that are replaced.
    """

    task: DataSpec
    model: ModuleSpec
    recipe: Fit
    models: int = 4  # M of Algorithm 1
    low: float = -8.0
    high: float = 8.0
    knots: int = 161
    spline_rate: float = 0.0005  # peak learning rate of the knots, with Adam
    # function that it begins with: "zero", or a name. At zero nothing passes through layers without a residual branch,
    # and all that the function can follow are the biases of the last one.
    start: str = "gelu"
    seed: int = 0
    task_seed: int = 0

    by: ClassVar[str] = "two_loss"
    on_table: ClassVar[bool] = True

    @property
    def task_name(self) -> str:
        """The name of its data."""
        return self.task.name
