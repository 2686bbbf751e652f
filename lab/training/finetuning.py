"""Fine-tuning a pretrained GPT-Neo or RoBERTa on a task of GLUE, as the evaluations of BabyLM do: all weights train,
with a new head of two classes, without dropout.

As in the library transformers, GPT-Neo's head reads the last token by a linear map, RoBERTa's the first by a layer with
tanh and a linear map. BabyLM's evaluation of 2025 reads the first token by default, also of causal models, which then
give every sentence one answer: here none does.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.data.sentence_sets import TASKS
from lab.data.sentences import Labelled
from lab.errors import ArgumentError, LabError, check_choice, check_number, check_whole, described
from lab.models.small_language import GPTNeo, Roberta, Stacked
from lab.probes.language import Reader
from lab.seeds import stream
from lab.spec import TUNINGS, Tuning

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


def check_tuning(tuning: Tuning) -> Tuning:
    """The tuning, if its numbers can be trained with. Raises ArgumentError."""
    for name in ("batch", "epochs", "length"):
        check_whole(name, getattr(tuning, name))
    for name, most in (("rate", math.inf), ("decay", math.inf), ("warmup", 1.0), ("floor", 1.0)):
        check_number(name, getattr(tuning, name), 0.0, most)
    if tuning.patience is not None:
        check_whole("patience", tuning.patience, 1)
    check_choice("schedule", tuning.schedule, ("line", "cosine"))
    return tuning


def padded(rows: Sequence[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows of tokens as one tensor (B, T) with zeros behind them, and their lengths (B,)."""
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return tokens.to(device), torch.tensor([len(row) for row in rows], device=device)


class Tuner:
    """The fine-tuning of one run of a pretrained model on a task of GLUE, for `lab.training.fleet.train`; the model
    itself is not changed. `state` after any step can be taken up again, with the same bits on the same device.

    reader: of the text that the model was trained on (`lab.probes.language.reader_of`). training, validation: of
    `lab.data.sentences.labelled`. seed: of the head's initial weights and of the order of examples.
    """

    def __init__(
        self,
        model: Stacked,
        reader: Reader,
        task: str,
        training: Sequence[Labelled],
        validation: Sequence[Labelled],
        run: int = 0,
        seed: int = 0,
        tuning: Tuning = TUNINGS["2024"],
    ):
        check_choice("task", task, TASKS)
        if not training or not validation:
            raise ArgumentError(
                "there are no examples; give one or more to train on, and one or more to choose an epoch by"
            )
        self.task, self.seed, self.tuning = task, seed, check_tuning(tuning)
        self._generator = torch.Generator().manual_seed(stream(seed, "fine-tuning"))
        self.classifier = Classifier(one_run(model, run), self._generator)
        self._device = next(model.parameters()).device
        self.classifier.to(self._device).train()
        most = min(tuning.length, reader.length)
        self._rows, self._held_out = ([_tokens(one, reader, most) for one in part] for part in (training, validation))
        self._labels = torch.tensor([example.label for example in training])
        self._truth = np.array([example.label for example in validation])
        self._optimizer = torch.optim.AdamW(self._trained.values(), lr=0.0, weight_decay=tuning.decay)
        self.batches = math.ceil(len(self._rows) / tuning.batch)  # of an epoch
        self.step, self._loss = 0, 0.0  # steps taken; sum of the losses of this epoch's examples
        self._order = torch.zeros(0, dtype=torch.long)
        self._scores: list[tuple[float, float, float]] = []  # by epoch: loss, accuracy, score
        self.best: dict[str, Tensor] = {}  # weights after the epoch that counts so far

    @property
    def _trained(self) -> dict[str, Tensor]:
        return {name: weight for name, weight in self.classifier.named_parameters() if weight.requires_grad}

    @property
    def over(self) -> bool:
        """Whether all epochs are done, or the last ones were worse for as long as the tuning's patience."""
        done, patience = len(self._scores), self.tuning.patience
        return done == self.tuning.epochs or (patience is not None and done > 0 and done - 1 - self._best >= patience)

    @property
    def _best(self) -> int:
        """The epoch that counts: the first with the highest score."""
        return int(np.argmax([score for *_, score in self._scores]))

    def advance(self) -> None:
        """Take one step; after the last of an epoch, read the validation examples."""
        epoch, number = divmod(self.step, self.batches)
        if not number:
            self._order, self._loss = torch.randperm(len(self._rows), generator=self._generator), 0.0
        chosen = self._order[number * self.tuning.batch : (number + 1) * self.tuning.batch]
        self._optimizer.param_groups[0]["lr"] = self.tuning.rate * _fraction(self.step, self.batches, self.tuning)
        logits = self.classifier(*padded([self._rows[i] for i in chosen], self._device))
        loss = F.cross_entropy(logits, self._labels[chosen].to(self._device))
        if not loss.isfinite():
            raise self._diverged(self.step + 1, f"a loss of {loss.item():g}")
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        self._loss += loss.item() * len(chosen)
        self.step += 1
        if number == self.batches - 1:
            self._measure()

    def _diverged(self, step: int, what: str) -> LabError:
        said = f"seed {self.seed} diverged at step {step} of its tuning on {self.task} ({what})"
        return LabError(f"{said}; tune at a lower rate than {self.tuning.rate:g}")

    def _measure(self) -> None:
        if not all(weight.isfinite().all() for weight in self._trained.values()):
            raise self._diverged(self.step, "weights are not finite")
        answers = _answers(self.classifier, self._held_out, self.tuning.batch, self._device)
        accuracy, task_score = (score(answers, self._truth, kind) for kind in ("accuracy", TASKS[self.task].score))
        self._scores.append((self._loss / len(self._rows), accuracy, task_score))
        if self._best == len(self._scores) - 1:
            self.best = {name: weight.detach().clone() for name, weight in self._trained.items()}

    @property
    def table(self) -> pd.DataFrame:
        """One row an epoch: task, seed, epoch, loss (in training, nats), accuracy, score (the task's own: accuracy, F1
        of class 1, or the correlation of Matthews), constant (the score of the better constant answer), best (whether
        the row counts)."""
        columns = ("loss", "accuracy", "score")
        rows = [
            {"task": self.task, "seed": self.seed, "epoch": epoch + 1} | dict(zip(columns, values, strict=True))
            for epoch, values in enumerate(self._scores)
        ]
        kind = TASKS[self.task].score
        constant = max(score(np.full_like(self._truth, answer), self._truth, kind) for answer in range(CLASSES))
        return pd.DataFrame(rows).assign(constant=constant, best=np.arange(len(rows)) == self._best)

    def state(self) -> dict[str, Tensor]:
        numbers = torch.tensor([self.step, self._loss], dtype=torch.float64)
        tensors = {"generator": self._generator.get_state(), "numbers": numbers, "order": self._order}
        tensors["scores"] = torch.tensor(self._scores, dtype=torch.float64).reshape(-1, 3)
        tensors |= {f"weight.{name}": weight for name, weight in self._trained.items()}
        tensors |= {f"best.{name}": weight for name, weight in self.best.items()}
        for place, moments in self._optimizer.state_dict()["state"].items():
            tensors |= {f"moment.{place}.{name}": value for name, value in moments.items()}
        return tensors

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor]) -> None:
        self._generator.set_state(tensors["generator"])
        self.step, self._loss = int(tensors["numbers"][0]), float(tensors["numbers"][1])
        self._order = tensors["order"]
        self._scores = [tuple(row) for row in tensors["scores"].tolist()]
        for name, weight in self._trained.items():
            weight.copy_(tensors[f"weight.{name}"])
        places = [name.partition(".")[2] for name in tensors if name.startswith("best.")]
        self.best = {name: tensors[f"best.{name}"].to(self._device) for name in places}
        moments: dict[int, dict[str, Tensor]] = {}
        for full, value in tensors.items():
            if full.startswith("moment."):
                _, place, name = full.split(".")
                moments.setdefault(int(place), {})[name] = value
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": moments})


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
    tokens = [token for part in parts for token in (*start, *reader.encode(part))][:most]
    return tokens or [0]  # nothing of it is in the vocabulary


def answers(made: Classifier, reader: Reader, examples: Sequence[Labelled], tuning: Tuning) -> np.ndarray:
    """The class that a tuned model gives each example, (N,), 0 or 1."""
    if not len(examples) or not all(isinstance(one, Labelled) for one in examples):
        given = f"examples hold {described(examples[0])}" if len(examples) else "there are no examples"
        raise ArgumentError(f"{given}; give lab.data.sentences.Labelled, as Labelled(0, 'A sentence.', '')")
    most, device = min(tuning.length, reader.length), next(made.parameters()).device
    return _answers(made, [_tokens(one, reader, most) for one in examples], tuning.batch, device)


@torch.no_grad()
def _answers(made: Classifier, rows: Sequence[list[int]], batch: int, device: torch.device) -> np.ndarray:
    parts = (rows[start : start + batch] for start in range(0, len(rows), batch))
    return np.concatenate([made(*padded(part, device)).argmax(-1).cpu().numpy() for part in parts])
