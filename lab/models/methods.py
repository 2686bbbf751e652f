"""The attention methods of the hypernetwork paper by name: the three of its figures, and all rows of Table A1."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from lab.errors import check_choice
from lab.models.rotary_hyper import RotaryHyperModel
from lab.spec import HyperModel, replace

Model = TypeVar("Model", HyperModel, RotaryHyperModel)
_HYLA: dict[str, Any] = {"normalization": "rms_head", "network": "pair", "phi": "relu"}
_LINEAR: dict[str, Any] = {"normalization": "none"}
_EXPERTS: dict[str, Any] = {"experts": 4}  # the paper does not say how many

# In the order of Table A1.
METHODS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "linear": _LINEAR,
    "hyla": _HYLA,
    "linear_rms_head": {"normalization": "rms_head"},
    # The paper has no formula; our reading: values pass through φ before they are summed over the keys.
    "linear_rms_head_nonlinear": {"normalization": "rms_head", "phi": "relu"},
    "hyla_no_rms_head": _HYLA | {"normalization": "none"},
    "hyla_linear": _HYLA | {"phi": "identity"},
    "hyla_linear_no_rms_head": _HYLA | {"normalization": "none", "phi": "identity"},
    "hyla_softmax": _HYLA | {"normalization": "softmax"},
    "hyla_deep": _HYLA | {"network": "deep"},
    "softmax_experts": _EXPERTS,
    "linear_experts": _LINEAR | _EXPERTS,
    "hyla_experts": _HYLA | _EXPERTS,
}


@overload
def method(name: str) -> HyperModel: ...
@overload
def method(name: str, model: Model) -> Model: ...
def method(name: str, model: HyperModel | RotaryHyperModel | None = None) -> HyperModel | RotaryHyperModel:
    """The model with the attention of that name, its sizes as given.

    >>> method("hyla", HyperModel(layers=4)).network
    'pair'
    """
    model = HyperModel() if model is None else model
    check_choice("method", name, names_of(model))
    plain: dict[str, Any] = {"normalization": "softmax", "network": "head", "phi": "identity"}
    if isinstance(model, HyperModel):
        plain["experts"] = 0
    return replace(model, **plain | METHODS[name])


def names_of(model: HyperModel | RotaryHyperModel) -> tuple[str, ...]:
    """The methods that a model can have: those of language have neither experts nor deeper value networks.

    >>> "hyla_deep" in names_of(RotaryHyperModel())
    False
    """
    every = isinstance(model, HyperModel)
    return tuple(
        name
        for name, settings in METHODS.items()
        if every or ("experts" not in settings and settings.get("network") != "deep")
    )


def method_of(model: HyperModel | RotaryHyperModel) -> str | None:
    """The name of a model's method, if it has one.

    >>> method_of(method("hyla", HyperModel(layers=4)))
    'hyla'
    """
    return next((name for name in names_of(model) if method(name, model) == model), None)
