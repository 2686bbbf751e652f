"""A pretrained GPT-Neo or RoBERTa with a new head of two classes.

As in the library transformers, GPT-Neo's head reads the last token by a linear map, RoBERTa's the first by a layer with
tanh and a linear map; here without dropout. BabyLM's evaluation of 2025 reads the first token by default, also of
causal models, which then give every sentence one answer: here none does.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.models.small_language import GPTNeo, Roberta, Stacked

CLASSES, STD = 2, 0.02  # of the head's initial weights, as in the library


class Classifier(nn.Module):
    """A pretrained model with a head of two classes: tokens (B, T), lengths (B,) → logits (B, 2)."""

    def __init__(self, body: GPTNeo | Roberta, generator: torch.Generator):
        super().__init__()
        self.body, self.causal = body, isinstance(body, GPTNeo)
        width = body.net.config.hidden_size
        self.dense = None if self.causal else nn.Linear(width, width)
        self.out = nn.Linear(width, CLASSES, bias=not self.causal)
        for layer in (self.dense, self.out):
            if layer is not None:
                nn.init.normal_(layer.weight, std=STD, generator=generator)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """What stands behind an example's length is not seen."""
        place = torch.arange(tokens.shape[1], device=tokens.device)
        mask = (place < lengths[:, None]).long()
        net: Any = self.body.net
        if self.causal:
            x = net.transformer(tokens, attention_mask=mask, use_cache=False).last_hidden_state
            return self.out(x[torch.arange(len(x)), lengths - 1])
        places = place.expand_as(tokens)
        x = net.roberta(input_ids=tokens, attention_mask=mask, position_ids=places).last_hidden_state[:, 0]
        assert self.dense is not None
        return self.out(torch.tanh(self.dense(x)))


def one_run(model: Stacked, run: int = 0) -> GPTNeo | Roberta:
    """A copy of one run's model, without a run axis, whose weights can be trained.

    Raises ArgumentError for a model that is no GPT-Neo or RoBERTa of the lab.
    """
    inner = getattr(model, "model", None)
    if not isinstance(inner, (GPTNeo, Roberta)):
        raise ArgumentError(f"model is a {type(model).__name__}; give one of a run with a SmallLanguageModel")
    alone = copy.deepcopy(inner)
    done: dict[int, nn.Parameter] = {}
    for home, module in alone.named_modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None or (f"{home}.{name}" if home else name) in model.common:
                continue
            if id(parameter) not in done:
                done[id(parameter)] = nn.Parameter(parameter.detach()[run].clone())
            module._parameters[name] = done[id(parameter)]
    return alone


def padded(rows: Sequence[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows of tokens as one tensor (B, T) with zeros behind them, and their lengths (B,)."""
    lengths = torch.tensor([len(row) for row in rows], device=device)
    tokens = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long, device=device)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = torch.tensor(row, device=device)
    return tokens, lengths
