"""Fine-tuning a pretrained GPT-Neo or RoBERTa on a task of GLUE, as the evaluations of BabyLM do.

All weights train, with a new head of two classes. As in the library transformers, GPT-Neo's reads the last token by a
linear map, RoBERTa's the first by a layer with tanh and a linear map; here without dropout. The evaluation of 2025
reads the first token by default, also of causal models, which then give every sentence one answer: here none does.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.datasets.glue import TASKS
from lab.datasets.sentences import Labelled
from lab.errors import ArgumentError, check_choice
from lab.models.small_language import GPTNeo, Roberta
from lab.models.stacked import Stacked
from lab.seeds import stream
from lab.spec import TUNINGS, Tuning

if TYPE_CHECKING:
    import pandas as pd

    from lab.probes.minimal_pairs import Reader

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
    common = {name for name, p in inner.named_parameters() if id(p) in model.common}
    done: dict[int, nn.Parameter] = {}
    for home, module in alone.named_modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None or f"{home}.{name}" in common:
                continue
            if id(parameter) not in done:
                done[id(parameter)] = nn.Parameter(parameter.detach()[run].clone())
            module._parameters[name] = done[id(parameter)]
    return alone


def fine_tune(
    model: Stacked,
    reader: Reader,
    task: str,
    training: Sequence[Labelled],
    validation: Sequence[Labelled],
    run: int = 0,
    seed: int = 0,
    tuning: Tuning = TUNINGS["2024"],
) -> pd.DataFrame:
    """Tune one run of a pretrained model on a task of GLUE; the model itself stays as it is. One row an epoch.

    reader: of the text that the model was trained on (`lab.probes.minimal_pairs.reader_of`). training, validation: of
    `lab.datasets.sentences.labelled`. seed: of the head's initial weights and of the order of examples.

    Columns: task, seed, epoch, loss (in training, nats), accuracy, score (the task's own: accuracy, F1 of class 1, or
    the correlation of Matthews), constant (the score of the better constant answer), best (whether the row counts).
    """
    import pandas as pd

    check_choice("task", task, TASKS)
    if not training or not validation:
        raise ArgumentError(
            "there are no examples; give one or more to train on, and one or more to choose an epoch by"
        )
    generator = torch.Generator().manual_seed(stream(seed, "fine-tuning"))
    made = Classifier(one_run(model, run), generator)
    device = next(model.parameters()).device
    made.to(device).train()
    kind, most = TASKS[task].score, min(tuning.length, reader.length)
    own, held = ([_tokens(example, reader, most) for example in part] for part in (training, validation))
    labels = torch.tensor([example.label for example in training])
    truth = np.array([example.label for example in validation])
    weights = [weight for weight in made.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=0.0, weight_decay=tuning.decay)
    batches = math.ceil(len(own) / tuning.batch)
    rows: list[dict] = []
    for epoch in range(tuning.epochs):
        order, total = torch.randperm(len(own), generator=generator), 0.0
        for number in range(batches):
            chosen = order[number * tuning.batch : (number + 1) * tuning.batch]
            optimizer.param_groups[0]["lr"] = tuning.rate * _fraction(epoch * batches + number, batches, tuning)
            loss = F.cross_entropy(made(*_padded([own[i] for i in chosen], device)), labels[chosen].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(chosen)
        answers = _answers(made, held, tuning.batch, device)
        row = {"accuracy": score(answers, truth, "accuracy"), "score": score(answers, truth, kind)}
        rows.append({"task": task, "seed": seed, "epoch": epoch + 1, "loss": total / len(own)} | row)
        best = int(np.argmax([row["score"] for row in rows]))
        if tuning.patience is not None and epoch - best >= tuning.patience:
            break
    constant = max(score(np.full_like(truth, answer), truth, kind) for answer in range(CLASSES))
    return pd.DataFrame(rows).assign(constant=constant, best=np.arange(len(rows)) == best)


def score(answers: np.ndarray, truth: np.ndarray, kind: str) -> float:
    """Of answers 0 or 1, (N,). kind: "accuracy"; "f1", of class 1; or "mcc", the correlation of Matthews. Where a ratio
    is 0 / 0 it is 0.

    >>> score(np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1]), "f1")
    0.8
    """
    if kind == "accuracy":
        return float((answers == truth).mean())
    right, wrong = int((answers & truth).sum()), int((answers & ~truth & 1).sum())
    missed, rest = int((~answers & 1 & truth).sum()), int((~answers & ~truth & 1).sum())
    if kind == "f1":
        return 2 * right / max(1, 2 * right + wrong + missed)
    product = (right + wrong) * (right + missed) * (rest + wrong) * (rest + missed)
    return (right * rest - wrong * missed) / math.sqrt(product) if product else 0.0


def _fraction(step: int, batches: int, tuning: Tuning) -> float:
    """Fraction of the rate at a step."""
    whole = batches * tuning.epochs
    warm = round(tuning.warmup * whole)
    if step < warm:
        return (step + 1) / warm
    into = (step - warm) / max(1, whole - warm)
    left = 1 - into if tuning.schedule == "line" else 0.5 * (1 + math.cos(math.pi * into))
    return tuning.floor + (1 - tuning.floor) * left


def _tokens(example: Labelled, reader: Reader, most: int) -> list[int]:
    """An example as tokens, the start in front of each sentence."""
    start = [] if reader.start is None else [reader.start]
    parts = [example.first, example.second] if example.second else [example.first]
    found = [token for part in parts for token in (*start, *reader.encode(part))][:most]
    return found or [0]  # nothing of it is in the vocabulary


def _padded(rows: Sequence[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(row) for row in rows], device=device)
    tokens = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long, device=device)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = torch.tensor(row, device=device)
    return tokens, lengths


@torch.no_grad()
def _answers(made: Classifier, rows: Sequence[list[int]], batch: int, device: torch.device) -> np.ndarray:
    parts = (rows[start : start + batch] for start in range(0, len(rows), batch))
    return np.concatenate([made(*_padded(part, device)).argmax(-1).cpu().numpy() for part in parts])
