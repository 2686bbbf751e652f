"""Windows of text, drawn anew at each step, and scores: what runs of language models train on.

A causal model predicts the next token, a masked one tokens that were hidden, from those before and after. As in BERT
and RoBERTa: 15 % of the tokens of a window are chosen anew at each step; of them 80 % are replaced by a mask, 10 % by
any token, 10 % stay. The activations paper gives none of these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.data.tokens import SPLITS, Windows
from lab.errors import ArgumentError
from lab.kinds import Sizes, check, sizes, training_data
from lab.seeds import stream
from lab.spec import RunSpec, register, replace
from lab.tasks.text import Text
from lab.training.sequences import Batch

EVALUATED = 1 << 15  # tokens of a split in an evaluation
CHUNK = 1 << 12  # of them in memory at once, a run
REPLACED, RANDOM = 0.8, 0.1  # of the chosen tokens: by the mask, by any token


@dataclass(frozen=True, eq=False)
class TextBatch:
    """R runs × B windows. targets: (R, B, T) int64, the token after each of `tokens`, (R, B, T)."""

    tokens: Tensor
    targets: Tensor

    def outputs(self, model: nn.Module) -> Tensor:
        """Logits of the next token, (R, B, T, V)."""
        return model(self.tokens)

    def loss(self, logits: Tensor) -> Tensor:
        """Mean cross-entropy over all tokens, in nats: logits (R, B, T, V) → (R,)."""
        return self.nats(logits).mean((1, 2))

    def nats(self, logits: Tensor) -> Tensor:
        """Cross-entropy of each token, (R, B, T)."""
        return F.cross_entropy(logits.flatten(0, -2), self.targets.flatten(), reduction="none").view_as(self.targets)


class TextData:
    """What runs on a text train on and are measured by.

    The windows of a step depend on a run's seed and the step alone, so a resumed run sees what it would have seen.
    Every evaluation is on the same windows of a split, spread evenly over it.
    """

    metric_signs = {"loss": -1, "accuracy": 1}

    def __init__(self, task: Text, specs: Sequence[RunSpec], device: torch.device):
        spec, self.device = specs[0], device
        self.task, self.batch, self.seeds = task, spec.recipe.batch, [spec.seed for spec in specs]
        self.training: Windows = self.task.windows("training")
        self.followed = dict.fromkeys([*spec.evaluate, *spec.recipe.watched])
        self.columns = [f"{score}_{split}" for split in self.followed for score in ("loss", "bits", "accuracy")]

    def at(self, step: int) -> TextBatch:
        drawn = [self._draw(self.training, stream(seed, "windows", step)) for seed in self.seeds]
        return self._batch(np.stack(drawn))

    def divide(self, seed: int) -> Callable[[int], TextBatch]:
        """For a search: weights train on `train` alone; gives the batches of `search`, the same for all models."""
        self.training = self.task.windows("train")
        held_out = self.task.windows("search")

        def search_batch(step: int) -> TextBatch:
            drawn = self._draw(held_out, stream(seed, "search windows", step))
            return self._batch(drawn[None])

        return search_batch

    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """By split, each (R,): loss_<split>, nats a token; bits_<split>, bits a character; accuracy_<split>, 0 to 1, of
        the most probable token in the second half of the context."""
        return {name: value for split in self.followed for name, value in self._scores(model, split).items()}

    @torch.no_grad()
    def _scores(self, model: nn.Module, split: str) -> dict[str, np.ndarray]:
        windows, length = self.task.windows(split), self.task.context
        count = min(len(windows), -(-EVALUATED // length))
        numbers = np.linspace(0, len(windows) - 1, count).astype(np.int64)
        weights = torch.from_numpy(self.task.vocabulary.characters).to(self.device)
        nats, hits = (torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device) for _ in range(2))
        letters, size = 0, max(1, CHUNK // length)
        for start in range(0, count, size):
            batch = self._batch(windows.at(numbers[start : start + size])[None])
            logits = batch.outputs(model)
            nats = nats + batch.nats(logits).double().sum((1, 2))
            hits = hits + (logits.argmax(-1) == batch.targets)[..., length // 2 :].double().sum((1, 2))
            letters += int(weights[batch.targets[0]].sum())
        scores = {
            "loss": nats / (count * length),
            "bits": nats / (log(2) * max(1, letters)),
            "accuracy": hits / (count * (length - length // 2)),
        }
        return {f"{score}_{split}": value.cpu().numpy() for score, value in scores.items()}

    def _draw(self, windows: Windows, seed: int) -> np.ndarray:
        return windows.at(np.random.default_rng(seed).integers(len(windows), size=self.batch))

    def _batch(self, windows: np.ndarray) -> TextBatch:
        """windows: (R, B, T + 1), or (1, B, T + 1) for all runs."""
        both = torch.from_numpy(windows).to(self.device).expand(len(self.seeds), -1, -1)
        return TextBatch(both[..., :-1], both[..., 1:])


training_data.register(Text, TextData)


@sizes.register(Text)
def _(task: Text, seed: int) -> Sizes:
    known = len(task.vocabulary)
    return Sizes("tokens", known, known, task.context)


@check.register(Text)
def _(task: Text, spec: RunSpec) -> None:
    for name in (*spec.evaluate, *spec.recipe.watched):
        if name not in SPLITS:
            raise ArgumentError(f"{task.name} has no split {name!r}; choose one of {', '.join(SPLITS)}")
        task.windows(name)
    if spec.recipe.batch is None:
        raise ArgumentError(f"batch=None: windows of {task.name} are drawn as they are needed; give their number")


@register
@dataclass(frozen=True)
class MaskedText:
    """A text with hidden tokens. The mask is one token more than the text has. share: of the tokens that are chosen.

    >>> task = MaskedText(Text("moby_dick", context=64))
    >>> task.name, task.mask
    ('moby_dick char masked', 57)
    """

    text: Text
    share: float = 0.15

    @property
    def name(self) -> str:
        """The text, its tokens, and that they are masked."""
        return f"{self.text.name} masked"

    @property
    def mask(self) -> int:
        """The token that stands for a hidden one."""
        return len(self.text.vocabulary)


class MaskedData:
    """What runs on a masked text train on and are measured by. Windows and masks of a step depend on a run's seed and
    the step alone; every evaluation has the same."""

    metric_signs = {"loss": -1, "accuracy": 1}

    def __init__(self, task: MaskedText, specs: Sequence[RunSpec], device: torch.device):
        spec, self.device = specs[0], device
        self.task, self.batch, self.seeds = task, spec.recipe.batch, [spec.seed for spec in specs]
        self.training: Windows = self.task.text.windows("training")
        self.followed = dict.fromkeys([*spec.evaluate, *spec.recipe.watched])
        self.columns = [f"{score}_{split}" for split in self.followed for score in ("loss", "accuracy")]

    def at(self, step: int) -> Batch:
        batches = []
        for seed in self.seeds:
            rng = np.random.default_rng(stream(seed, "masked windows", step))
            windows = self.training.at(rng.integers(len(self.training), size=self.batch))[:, :-1]
            batches.append((windows, *hidden(windows, self.task.mask, self.task.share, rng)))
        return self._batch(*(np.stack(parts) for parts in zip(*batches, strict=True)))

    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """By split, each (R,): loss_<split>, nats a chosen token; accuracy_<split>, 0 to 1, of the most probable."""
        return {name: value for split in self.followed for name, value in self._scores(model, split).items()}

    @torch.no_grad()
    def _scores(self, model: nn.Module, split: str) -> dict[str, np.ndarray]:
        windows, length = self.task.text.windows(split), self.task.text.context
        count, size = min(len(windows), -(-EVALUATED // length)), max(1, CHUNK // length)
        numbers = np.linspace(0, len(windows) - 1, count).astype(np.int64)
        nats, hits = (torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device) for _ in range(2))
        for start in range(0, count, size):
            chosen = windows.at(numbers[start : start + size])[:, :-1]
            rng = np.random.default_rng(stream(start, f"masks of {split}"))
            parts = (chosen, *hidden(chosen, self.task.mask, self.task.share, rng))
            batch = self._batch(*(part[None] for part in parts))
            logits = batch.outputs(model)
            nats += batch.loss(logits).double() * len(chosen)
            hits += batch.hits(logits).double().mean(-1).sum(-1)
        scores = {"loss": nats / count, "accuracy": hits / count}
        return {f"{score}_{split}": value.cpu().numpy() for score, value in scores.items()}

    def _batch(self, windows: np.ndarray, inputs: np.ndarray, positions: np.ndarray) -> Batch:
        """The tokens, those that the model sees, and where they were chosen: each (R, B, …), or (1, B, …) for all."""
        targets = np.take_along_axis(windows, positions, -1)
        shape = (len(self.seeds), -1, -1)
        tensors = (torch.from_numpy(part).to(self.device).expand(shape) for part in (inputs, positions, targets))
        tokens, places, wanted = tensors
        return Batch(tokens, places, wanted, torch.ones(places.shape, device=self.device))


def hidden(windows: np.ndarray, mask: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What a model sees of windows (B, T), and the positions (B, K) of the tokens that were chosen, in order.

    >>> inputs, positions = hidden(np.arange(20)[None], 20, 0.15, np.random.default_rng(0))
    >>> positions.shape, int((inputs != np.arange(20)).sum()) <= 3
    ((1, 3), True)
    """
    count, length = windows.shape
    chosen = max(1, round(share * length))
    positions = np.sort(rng.permuted(np.tile(np.arange(length), (count, 1)), axis=1)[:, :chosen], axis=1)
    lot = rng.random(positions.shape)
    ids = np.take_along_axis(windows, positions, 1)
    fresh = np.where(lot < REPLACED, mask, np.where(lot < REPLACED + RANDOM, rng.integers(mask, size=ids.shape), ids))
    inputs = windows.copy()
    np.put_along_axis(inputs, positions, fresh.astype(windows.dtype), 1)
    return inputs, positions


training_data.register(MaskedText, MaskedData)


@sizes.register(MaskedText)
def _(task: MaskedText, seed: int) -> Sizes:
    known = task.mask + 1
    return Sizes("masked", known, known, task.text.context)


@check.register(MaskedText)
def _(task: MaskedText, spec: RunSpec) -> None:
    check(task.text, replace(spec, task=task.text))
