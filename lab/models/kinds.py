"""The models that come with the lab, for every task whose sizes fit.

Models also take tasks of another form than their own. A row of D numbers becomes a sequence of D tokens with one number
each, and the last token predicts. A sequence of vectors becomes one row for a perceptron. Words become one-hot vectors
for a transformer that reads vectors.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import Sizes, batch_key, build, check
from lab.models.hyper import HyperTransformer, TokenHyperTransformer
from lab.models.layers import Decoder
from lab.models.mlp import MLP
from lab.models.rotary_hyper import RotaryHyperModel
from lab.models.small_language import SmallLanguageModel
from lab.models.speedrun import SpeedrunModel
from lab.models.transformer import Transformer, VectorTransformer
from lab.spec import HyperModel, ModelSpec, Perceptron, RunSpec
from lab.spec.canonical import form


def as_vectors(sizes: Sizes) -> Sizes:
    """The sizes of rows as sequences of numbers.

    >>> as_vectors(Sizes("row", inputs=7, outputs=2)).of_model
    ('vectors', 1, 2, 7, (6,))
    """
    return replace(sizes, form="vectors", inputs=1, length=sizes.inputs, positions=(sizes.inputs - 1,))


class Columns(nn.Module):
    """A model that reads vectors, on rows: x (R, B, D) → (R, B, outputs)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x[..., None])[:, :, 0]

    def attention_scores(self, x: Tensor, normalized: bool = True) -> list[Tensor]:
        """As those of the model: (R, B, heads, query, key) for each layer; tokens are columns."""
        return cast(Decoder, self.model).attention_scores(x[..., None], normalized)


class Flat(nn.Module):
    """A perceptron on sequences of vectors: (R, B, T, D) → (R, B, K, outputs)."""

    def __init__(self, model: nn.Module, positions: int):
        super().__init__()
        self.model, self.positions = model, positions

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """All tokens of a sequence in one row. There are no attention scores that `keep` could drop."""
        return self.model(x.flatten(2)).unflatten(-1, (self.positions, -1))


@build.register(ModelSpec)
def _(model: ModelSpec, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    _refuse_masked(model, sizes)
    seeds, mlp, attention = [spec.seed for spec in specs], cast(nn.Module, modules[0]), modules[1]
    if sizes.form == "tokens":
        return Transformer(model, sizes.inputs, sizes.length, seeds, mlp, attention)
    if sizes.form == "row":
        return Columns(VectorTransformer(model, as_vectors(sizes), seeds, mlp, attention))
    return VectorTransformer(model, sizes, seeds, mlp, attention)


@build.register(HyperModel)
def _(model: HyperModel, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    _refuse_masked(model, sizes)
    seeds = [spec.seed for spec in specs]
    phi, mlp = cast(Sequence[nn.Module], modules)
    if sizes.form == "tokens":
        return TokenHyperTransformer(model, sizes, seeds, phi, mlp)
    if sizes.form == "row":
        if model.dropout:
            raise ArgumentError(f"dropout={model.dropout}: tables train without dropout; give dropout=0.0")
        return Columns(build(model, as_vectors(sizes), specs, modules))
    return HyperTransformer(model, sizes, seeds, phi, mlp)


@build.register(Perceptron)
def _(model: Perceptron, sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    _refuse_masked(model, sizes)
    if sizes.form == "tokens":
        raise ArgumentError("a Perceptron reads rows of numbers, and this task has tokens; give a ModelSpec")
    if sizes.form == "vectors":
        count = len(sizes.positions)
        flat = Sizes("row", sizes.length * sizes.inputs, count * sizes.outputs)
        return Flat(perceptrons(flat, specs, modules), count)
    return perceptrons(sizes, specs, modules)


def _refuse_masked(model: object, sizes: Sizes) -> None:
    if sizes.form == "masked":
        name = type(model).__name__
        raise ArgumentError(f"a {name} cannot read masked tokens; give a SmallLanguageModel with family='roberta'")


def perceptrons(sizes: Sizes, specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> MLP:
    """Perceptrons side by side on rows; they may differ in their prefactor."""
    model = specs[0].model
    named = dict(zip(model.parts, modules, strict=True))
    inputs = named.pop("inputs", None)
    phi = list(named.values()) if isinstance(model.phi, tuple) else named["phi"]
    factors = [spec.model.prefactor for spec in specs]
    prefactor = factors[0] if len(set(factors)) == 1 else torch.tensor(factors)
    widths = [sizes.inputs, *[model.width] * model.layers, sizes.outputs]
    seeds, settings = [spec.seed for spec in specs], {"residual": model.residual, "spectral": model.spectral}
    return MLP(widths, seeds, phi, model.scale, prefactor=prefactor, inputs=inputs, **settings)


@batch_key.register(ModelSpec)
@batch_key.register(HyperModel)
@batch_key.register(RotaryHyperModel)
@batch_key.register(SmallLanguageModel)
@batch_key.register(SpeedrunModel)
def _(model: Any, spec: RunSpec) -> Any:
    return replace(model, **{name: form(part) for name, part in model.parts.items()})


@batch_key.register(Perceptron)
def _(model: Perceptron, spec: RunSpec) -> Perceptron:
    forms = {name: form(part) for name, part in model.parts.items()}
    return replace(model.having(forms), prefactor=0.0)


@check.register(Perceptron)
def _(model: Perceptron, spec: RunSpec) -> None:
    if isinstance(model.phi, tuple) and len(model.phi) != model.layers:
        raise ArgumentError(f"{len(model.phi)} non-linearities for {model.layers} hidden layers; give one each, or one")
    if not model.prefactor > 0:
        raise ArgumentError(f"prefactor={model.prefactor}: give a number above 0")
