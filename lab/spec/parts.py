"""Non-linearities as a spec has them: by name, by their values, or by the search that finds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.spec.modules import ModuleSearch
    from lab.spec.searches import EpisodeSpec, SearchSpec, SharedSearch, TwoLossSpec


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
    """A polynomial on [low, high], constant beyond, by its coefficients (`lab.nonlinearity.shapes`)."""

    low: float
    high: float
    values: tuple[float, ...]
    basis: str  # "powers" or "chebyshev"


@dataclass(frozen=True)
class ModuleFunction:
    """An activation that is a module or a function of the user's: what it is, how it prints itself, and its state."""

    kind: str
    text: str
    digest: str


@dataclass(frozen=True)
class Learned:
    """The non-linearity that a search finds. part: of a `SearchSpec` "mlp" or "attention"; of the others "phi", "phi0",
    "phi1", … of the layers, or "inputs"; of an `EpisodeSpec` also of one restart, not of the best, "phi@0", ….
    """

    search: SearchSpec | SharedSearch | EpisodeSpec | TwoLossSpec | ModuleSearch
    part: str = "mlp"


@dataclass(frozen=True)
class Shaped:
    """What a search finds, in another shape: "symmetrized" (App. D), "polynomial" or "chebyshev" (App. F)."""

    of: Learned
    shape: str
    degree: int | None = None  # of the last two


Resolved = str | Knots | KnotTable | Coefficients | ModuleFunction  # a non-linearity with its values
Part = Resolved | Learned | Shaped
