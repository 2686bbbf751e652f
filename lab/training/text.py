"""Data of language models: windows of text, drawn anew at each step, and the evaluation.

A causal model predicts the next token, a masked one tokens that are hidden, from those before and after. As in BERT and
RoBERTa 15 % of the tokens of a window are chosen at each step; of them 80 % are replaced by a mask, 10 % by any token,
10 % stay. The activations paper gives none of these numbers.
"""

from collections.abc import Callable, Iterator, Sequence
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
from lab.training.sequences import Batch, check_splits, followed

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


class WindowData:
    """Windows of a text for R runs, and the evaluation on them.

    The windows of a step depend on a run's seed and the step alone, so a resumed run has the batches of an
    uninterrupted one. Every evaluation is on the same windows of a split, spread evenly over it.
    """

    metric_signs = {"loss": -1, "accuracy": 1}
    names: tuple[str, ...]

    def __init__(self, task: Text | MaskedText, specs: Sequence[RunSpec], device: torch.device):
        self.task, self.text = task, task.text if isinstance(task, MaskedText) else task
        self.device, self.batch, self.seeds = device, specs[0].recipe.batch, [spec.seed for spec in specs]
        self.training: Windows = self.text.windows("training")
        self.followed = followed(specs[0])
        self.columns = [f"{score}_{split}" for split in self.followed for score in self.names]

    @torch.no_grad()
    def scores(self, model: nn.Module) -> dict[str, np.ndarray]:
        """<score>_<split>, (R,) each."""
        named = {split: self._scores(model, split) for split in self.followed}
        return {f"{name}_{split}": s.cpu().numpy() for split, scores in named.items() for name, s in scores.items()}

    def _scores(self, model: nn.Module, split: str) -> dict[str, Tensor]:
        """Each of `names`, (R,)."""
        raise NotImplementedError

    def _zeros(self) -> Tensor:
        return torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device)

    def _evaluated(self, split: str) -> Iterator[tuple[int, np.ndarray]]:
        """Windows (B, T + 1) of an evaluation, as many as are in memory at once, and the number of the first."""
        windows, length = self.text.windows(split), self.text.context
        count, size = min(len(windows), -(-EVALUATED // length)), max(1, CHUNK // length)
        numbers = np.linspace(0, len(windows) - 1, count).astype(np.int64)
        for start in range(0, count, size):
            yield start, windows.at(numbers[start : start + size])


class TextData(WindowData):
    """Windows of which each token but the first is predicted."""

    names = ("loss", "bits", "accuracy")

    def at(self, step: int) -> TextBatch:
        drawn = [self._draw(self.training, stream(seed, "windows", step)) for seed in self.seeds]
        return self._batch(np.stack(drawn))

    def divide(self, seed: int) -> Callable[[int], TextBatch]:
        """For a search: weights train on `train` alone; gives the batches of `search`, the same for all models."""
        self.training = self.text.windows("train")
        held_out = self.text.windows("search")

        def search_batch(step: int) -> TextBatch:
            drawn = self._draw(held_out, stream(seed, "search windows", step))
            return self._batch(drawn[None])

        return search_batch

    def _scores(self, model: nn.Module, split: str) -> dict[str, Tensor]:
        """Loss in nats a token, bits a character, and the accuracy, 0 to 1, in the second half of the context."""
        weights, length = torch.from_numpy(self.text.vocabulary.characters).to(self.device), self.text.context
        nats, hits = self._zeros(), self._zeros()
        count, letters = 0, 0
        for _, windows in self._evaluated(split):
            batch = self._batch(windows[None])
            logits = batch.outputs(model)
            nats = nats + batch.nats(logits).double().sum((1, 2))
            hits = hits + (logits.argmax(-1) == batch.targets)[..., length // 2 :].double().sum((1, 2))
            letters += int(weights[batch.targets[0]].sum())
            count += len(windows)
        return {
            "loss": nats / (count * length),
            "bits": nats / (log(2) * max(1, letters)),
            "accuracy": hits / (count * (length - length // 2)),
        }

    def _draw(self, windows: Windows, seed: int) -> np.ndarray:
        return windows.at(np.random.default_rng(seed).integers(len(windows), size=self.batch))

    def _batch(self, windows: np.ndarray) -> TextBatch:
        """windows: (R, B, T + 1), or (1, B, T + 1) for all runs."""
        both = torch.from_numpy(windows).to(self.device).expand(len(self.seeds), -1, -1)
        return TextBatch(both[..., :-1], both[..., 1:])


class MaskedData(WindowData):
    """Windows with hidden tokens, which are predicted."""

    task: MaskedText
    names = ("loss", "accuracy")

    def at(self, step: int) -> Batch:
        batches = []
        for seed in self.seeds:
            rng = np.random.default_rng(stream(seed, "masked windows", step))
            windows = self.training.at(rng.integers(len(self.training), size=self.batch))[:, :-1]
            batches.append((windows, *hidden(windows, self.task.mask, self.task.share, rng)))
        return self._batch(*(np.stack(parts) for parts in zip(*batches, strict=True)))

    def _scores(self, model: nn.Module, split: str) -> dict[str, Tensor]:
        """Loss in nats a hidden token, and the accuracy, 0 to 1."""
        nats, hits = self._zeros(), self._zeros()
        count = 0
        for start, windows in self._evaluated(split):
            tokens, rng = windows[:, :-1], np.random.default_rng(stream(start, f"masks of {split}"))
            parts = (tokens, *hidden(tokens, self.task.mask, self.task.share, rng))
            batch = self._batch(*(part[None] for part in parts))
            logits = batch.outputs(model)
            nats += batch.loss(logits).double() * len(tokens)
            hits += batch.hits(logits).double().mean(-1).sum(-1)
            count += len(tokens)
        return {"loss": nats / count, "accuracy": hits / count}

    def _batch(self, windows: np.ndarray, inputs: np.ndarray, positions: np.ndarray) -> Batch:
        """The tokens, those that the model sees, and where they were chosen: each (R, B, …), or (1, B, …) for all."""
        targets = np.take_along_axis(windows, positions, -1)
        shape = (len(self.seeds), -1, -1)
        parts = (torch.from_numpy(part).to(self.device).expand(shape) for part in (inputs, positions, targets))
        tokens, places, wanted = parts
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


training_data.register(Text, TextData)


@sizes.register(Text)
def _(task: Text, seed: int) -> Sizes:
    known = len(task.vocabulary)
    return Sizes("tokens", known, known, task.context)


@check.register(Text)
def _(task: Text, spec: RunSpec) -> None:
    check_splits(task.name, followed(spec), SPLITS)
    for name in followed(spec):
        task.windows(name)
    if spec.recipe.batch is None:
        raise ArgumentError(f"batch=None: windows of {task.name} are drawn as they are needed; give their number")


training_data.register(MaskedText, MaskedData)


@sizes.register(MaskedText)
def _(task: MaskedText, seed: int) -> Sizes:
    known = task.mask + 1
    return Sizes("masked", known, known, task.text.context)


@check.register(MaskedText)
def _(task: MaskedText, spec: RunSpec) -> None:
    check(task.text, replace(spec, task=task.text))
