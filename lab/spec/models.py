"""Models and their non-linearities: by name, by their values, or by the search that finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

UNCHANGED = "unchanged"  # a model of the user's keeps the activations that it has


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

    search: Any  # its spec
    part: str = "mlp"


@dataclass(frozen=True)
class Shaped:
    """What a search finds, in another shape: "symmetrized" (App. D), "polynomial" or "chebyshev" (App. F)."""

    of: Learned
    shape: str
    degree: int | None = None  # of the last two


Resolved = str | Knots | KnotTable | Coefficients | ModuleFunction  # a non-linearity with its values
Part = Resolved | Learned | Shaped


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
    # Designs of the literature (Table 3). gated: the MLP is W'(φ(W_g x) ⊙ W x), 2/3 as wide, with as many weights.
    gated: bool = field(default=False, metadata={"since": 2})
    # What takes the place of softmax in attention: "adaptive", "norm", "p1", "p3" (`lab.models.transformer`).
    weighting: str = field(default="softmax", metadata={"since": 2})

    @property
    def arithmetic(self) -> dict[str, int]:
        """Revisions of how it is trained, by what its inputs are, where they are not the lab's (`lab.versions`)."""
        return {} if self.gated or self.weighting != "softmax" else {"tokens": 5, "vectors": 6}

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name."""
        return {"mlp": self.mlp, "attention": self.attention}

    def activation_memory(self, length: int) -> float:
        """Roughly how many numbers a layer keeps for a token, in multiples of what it keeps for a channel."""
        return self.width


@dataclass(frozen=True)
class HyperModel:
    """A pre-norm transformer over vectors, whose attention may be a hypernetwork (hypernetwork paper, Sec. 2, App. C).

    `lab.models.hyper` names the combinations of the paper. Where its text and its reference code differ, defaults are
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
    def arithmetic(self) -> dict[str, int]:
        """As in `ModelSpec`."""
        return {} if self.experts or self.network == "deep" else {"tokens": 6, "vectors": 6}

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name."""
        return {"phi": self.phi, "mlp": self.mlp}

    def activation_memory(self, length: int) -> float:
        """As in `ModelSpec`; scores and their networks are kept, too, with each key about ten numbers a head."""
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
class Perceptron:
    """A multi-layer perceptron on the rows of a table (simplicity paper, App. E).

    phi: one non-linearity for all hidden layers, or a tuple with one a layer. inputs: input activation functions (IAFs,
    Sec. 3.3), applied to the data before the first layer: a `KnotTable` has one for each dimension, anything else is
    the same for all. No hidden layers: the linear model of App. E.4.
    """

    layers: int = 1  # hidden ones; the paper has 1 to 4
    width: int = 256
    phi: Part | tuple[Part, ...] = "relu"
    prefactor: float = 1.0  # α of φ(αx); the learning rate is divided by it (App. E.4)
    inputs: Part | None = None
    residual: bool = False  # hidden layers after the first add what they receive to what they give (App. E.2)
    scale: float = 1.0  # of initial weights and biases, in multiples of `lab.models.mlp.MLP`'s; the paper is silent
    spectral: bool = False  # every weight matrix divided by its largest singular value (App. E.5)

    @property
    def arithmetic(self) -> dict[str, int]:
        """As in `ModelSpec`."""
        return {} if self.spectral else {"row": 3}

    @property
    def parts(self) -> dict[str, Part]:
        """Its non-linearities by name: "phi", or "phi0", "phi1", … of the layers; and "inputs", where it has some."""
        functions: dict[str, Part]
        if isinstance(self.phi, tuple):
            functions = {f"phi{layer}": part for layer, part in enumerate(self.phi)}
        else:
            functions = {"phi": self.phi}
        return functions | ({} if self.inputs is None else {"inputs": self.inputs})

    def having(self, parts: Mapping[str, Part]) -> Perceptron:
        """The same with other non-linearities, by the names of `parts`.

        >>> Perceptron(layers=2).having({"phi0": "tanh", "phi1": "relu"}).phi
        ('tanh', 'relu')
        """
        phi = parts.get("phi") or tuple(parts[f"phi{layer}"] for layer in range(self.layers))
        return replace(self, phi=phi, inputs=parts.get("inputs"))

    def activation_memory(self, length: int) -> float:
        """As in `ModelSpec`."""
        return self.width


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
