"""The attention methods of the hypernetwork paper by name: the three of its figures, and all rows of Table A1."""

from __future__ import annotations

from typing import Any

from lab.errors import check_choice
from lab.spec import HyperModel, replace

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


def method(name: str, model: HyperModel | None = None) -> HyperModel:
    """The model with the attention of that name, its sizes as given.

    >>> method("hyla", HyperModel(layers=4)).network
    'pair'
    """
    check_choice("method", name, METHODS)
    plain: dict[str, Any] = {"normalization": "softmax", "network": "head", "phi": "identity", "experts": 0}
    return replace(model or HyperModel(), **plain | METHODS[name])


def method_of(model: HyperModel) -> str | None:
    """The name of a model's method, if it has one.

    >>> method_of(method("hyla", HyperModel(layers=4)))
    'hyla'
    """
    return next((name for name in METHODS if method(name, model) == model), None)
