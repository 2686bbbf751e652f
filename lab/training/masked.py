"""Masked language modelling: predict tokens of a text that were hidden, from those before and after (RoBERTa).

As in BERT and RoBERTa: 15 % of the tokens of a window are chosen anew at each step; of them 80 % are replaced by a
mask, 10 % by any token, 10 % stay. The activations paper gives none of these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lab.data.tokens import Windows
from lab.kinds import Sizes, check, material, sizes
from lab.seeds import stream
from lab.spec import RunSpec, register, replace
from lab.tasks.text import Text
from lab.training.sequences import Batch
from lab.training.text import CHUNK, EVALUATED

REPLACED, RANDOM = 0.8, 0.1  # of the chosen tokens: by the mask, by any token


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

    judged = {"loss": -1, "accuracy": 1}

    def __init__(self, specs: Sequence[RunSpec], device: torch.device):
        spec, self.device = specs[0], device
        self.task, self.batch, self.seeds = spec.task, spec.recipe.batch, [spec.seed for spec in specs]
        self.training: Windows = self.task.text.windows("training")
        self.followed = dict.fromkeys([*spec.evaluate, *spec.recipe.watched])

    def at(self, step: int) -> Batch:
        """The training batch of each run at this step."""
        batches = []
        for seed in self.seeds:
            rng = np.random.default_rng(stream(seed, "masked windows", step))
            windows = self.training.at(rng.integers(len(self.training), size=self.batch))[:, :-1]
            batches.append((windows, *hidden(windows, self.task.mask, self.task.share, rng)))
        return self._batch(*(np.stack(parts) for parts in zip(*batches, strict=True)))

    @property
    def columns(self) -> list[str]:
        """Names of the scores."""
        return [f"{score}_{split}" for split in self.followed for score in ("loss", "accuracy")]

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


@sizes.register(MaskedText)
def _(task: MaskedText, seed: int) -> Sizes:
    known = task.mask + 1
    return Sizes("masked", known, known, task.text.context)


@material.register(MaskedText)
def _(task: MaskedText, specs: Sequence[RunSpec], device: torch.device) -> MaskedData:
    return MaskedData(specs, device)


@check.register(MaskedText)
def _(task: MaskedText, spec: RunSpec) -> None:
    check(task.text, replace(spec, task=task.text))
