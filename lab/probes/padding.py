"""Rows that are filled up: which tokens only fill up, and positions that count from where a text begins."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.transformer import Transformer

HIDING = ("src_key_padding_mask", "key_padding_mask")  # torch's own: True where a token is padding
CLOSE, CLOSE_HALF = 1e-4, 2e-2  # of the largest answer: what rounding makes of it


def padding(model: Any, inputs: Any) -> Tensor | None:
    """Which tokens only fill up a row, (examples, tokens) bool, where that is known."""
    if isinstance(inputs, Mapping):
        masks = [(inputs.get("attention_mask"), False), *((inputs.get(name), True) for name in HIDING)]
        for mask, hides in masks:
            if isinstance(mask, Tensor) and mask.ndim == 2:
                infinite = mask.is_floating_point() and hides
                return mask.cpu() == -torch.inf if infinite else (mask.cpu() != 0) == hides
        return None
    if isinstance(inputs, Tensor) and isinstance(model, Transformer):
        return inputs.cpu() == 0  # token 0 is "<pad>" in every task
    return None


def positioned(model: nn.Module, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Inputs of a model, with `position_ids` where rows are padded on the left and it would count from the padding.

    Whether it does is asked of the model: whether it makes the same of one text with the padding as without. Raises
    ArgumentError where it does not, and takes no `position_ids` that would change it. To be called within `reading`.
    """
    mask = inputs.get("attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2 or "position_ids" in inputs:
        return inputs
    shifted = ((mask[:, 0] == 0) & (mask != 0).any(1)).nonzero().flatten()
    if not len(shifted):
        return inputs
    row, length = int(shifted[0]), mask.shape[1]
    text = mask[row] != 0
    device = next((p.device for p in model.parameters()), mask.device)
    tokens = {n: v for n, v in inputs.items() if isinstance(v, Tensor) and v.ndim > 1 and v.shape[:2] == mask.shape}
    padded = {name: value[row : row + 1].to(device) for name, value in tokens.items()}
    wanted = _answer(model, {name: value[:, text.to(device)] for name, value in padded.items()})
    if wanted is None:  # it reads other things, too
        return inputs

    def same(given: Mapping[str, Tensor]) -> bool:
        answer = _answer(model, given)
        if answer is not None and answer.ndim > 2 and answer.shape[1] == length:
            answer = answer[:, text.to(device)]
        if answer is None or answer.shape != wanted.shape:
            return answer is not None  # nothing to compare
        close = (CLOSE_HALF if answer.dtype.itemsize < 4 else CLOSE) * wanted.abs().max().double()
        return bool((answer.double() - wanted.double()).abs().max() <= close)

    if same(padded):
        return inputs
    positions = ((mask != 0).long().cumsum(1) - 1).clamp(min=0)
    takes = "position_ids" in inspect.signature(model.forward).parameters
    if takes and same({**padded, "position_ids": positions[row : row + 1].to(device)}):
        return {**inputs, "position_ids": positions}
    raise ArgumentError(
        f"{len(shifted)} rows are padded on the left, and {type(model).__name__} counts positions from the padding; pad"
        " on the right (tokenizer.padding_side = 'right'), or give position_ids"
    )


def _answer(model: nn.Module, given: Mapping[str, Tensor]) -> Tensor | None:
    """What a model gives for each token, or for a text; None where it fails."""
    try:
        answer = model(**given)
    except Exception:
        return None
    for name in ("logits", "last_hidden_state"):
        answer = getattr(answer, name, answer)
    answer = answer[0] if isinstance(answer, (tuple, list)) and answer else answer
    return answer if isinstance(answer, Tensor) and answer.is_floating_point() else None
