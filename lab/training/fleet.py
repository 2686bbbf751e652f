"""A fleet: runs that differ only in seed and non-linearity, and everything needed to train them side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from lab import tasks
from lab.errors import ArgumentError
from lab.models.transformer import Transformer
from lab.nonlinearity.part import as_module
from lab.nonlinearity.spline import Spline
from lab.spec import Knots, Resolved, RunSpec
from lab.training.batches import Data, Order

CHUNK = 250  # examples of an evaluation that are in memory at once, a run


class Fleet:
    """The state of R runs in training: models, optimizer, data order, history, and which runs have diverged.

    specs: equal but for seed and values of the non-linearities. parts: for each run its resolved (mlp, attention),
    each a name or the values of a function. Nothing here knows of files: `state` and `restore` speak in tensors.
    """

    def __init__(self, specs: Sequence[RunSpec], parts: Sequence[tuple[Resolved, Resolved]], device: str = "cpu"):
        self.specs, self.device = list(specs), torch.device(device)
        spec = specs[0]
        self.recipe, seeds = spec.recipe, [s.seed for s in specs]
        self.task = tasks.load(spec.task, spec.task_seed)
        mlp, attention = (build([pair[i] for pair in parts]) for i in range(2))
        length = self.task.max_length
        model = Transformer(spec.model, len(self.task.vocabulary), length, seeds, mlp, attention)
        self.model = model.to(self.device)
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adam(self.weights, lr=0.0, betas=spec.recipe.betas, fused=True)
        self.train_data = Data(self.task.training, self.device)
        self.evaluation = {name: Data(self.task.splits[name], self.device) for name in spec.evaluate}
        self.order = Order(seeds, len(self.train_data), spec.recipe.batch)
        self.history = History(len(specs), spec.evaluate)
        self.step = 0
        self.died = np.full(len(specs), -1)  # step at which a run's loss was no longer finite
        self.last_value = np.full(len(specs), np.nan)  # and that loss

    def batch(self, step: int):
        """The training batch of each run at this step."""
        return self.train_data.at(self.order.at(step).to(self.device))

    def watch(self, loss: Tensor, step: int) -> Tensor:
        """Note runs whose loss (R,) is not finite; return the sum over the others, ready for backward()."""
        finite = torch.isfinite(loss)
        if not bool(finite.all()):
            for run in np.flatnonzero(~finite.cpu().numpy() & (self.died < 0)):
                self.died[run], self.last_value[run] = step, float(loss[run].detach())
        return loss[self.alive].sum()

    @property
    def alive(self) -> Tensor:
        """Which runs train on, (R,) bool."""
        return torch.from_numpy(self.died < 0).to(self.device)

    def freeze(self) -> None:
        """Take the step away from diverged runs: the weights that gave the non-finite loss are kept."""
        if (self.died < 0).all():
            return
        alive = self.alive
        for weight in self.weights:
            keep = alive.view(-1, *[1] * (weight.dim() - 1))
            weight.grad = torch.where(keep, weight.grad, 0.0)
            for name in ("exp_avg", "exp_avg_sq"):
                if name in self.optimizer.state[weight]:
                    state = self.optimizer.state[weight]
                    state[name].copy_(torch.where(keep, state[name], 0.0))

    @torch.no_grad()
    def accuracy(self, split: str) -> np.ndarray:
        """Accuracy of each run on a split, (R,): of output tokens, or of whole sequences where the task says so.

        Predictions are made with the true output so far; a sequence counts as right when all of its tokens are, which
        is the case exactly when greedy generation gives it.
        """
        data, right, total = self.evaluation[split], 0.0, 0.0
        for start in range(0, len(data), CHUNK):
            index = torch.arange(start, min(start + CHUNK, len(data)), device=self.device)
            batch = data.at(index.expand(len(self.specs), -1))
            hits = batch.hits(self.model(batch.tokens, batch.positions))
            if self.task.metric == "sequence":
                right, total = right + hits.all(-1).sum(-1).cpu().numpy(), total + len(index)
            else:
                right = right + (hits * batch.weights).sum((1, 2)).cpu().numpy()
                total = total + batch.weights.sum((1, 2)).cpu().numpy()
        return np.where(self.died < 0, right / total, np.nan)

    def state(self) -> dict[str, Tensor]:
        """Everything that a bit-for-bit continuation needs, as named tensors."""
        tensors = {f"weight.{i}": w.detach() for i, w in enumerate(self.weights)}
        for i, weight in enumerate(self.weights):
            tensors |= {f"adam.{i}.{name}": value for name, value in self.optimizer.state[weight].items()}
        tensors |= {f"history.{name}": torch.from_numpy(a) for name, a in self.history.arrays().items()}
        tensors |= {"died": torch.from_numpy(self.died), "last_value": torch.from_numpy(self.last_value)}
        return tensors | {"step": torch.tensor(self.step)} | self.history.pending()

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that `state` gave."""
        with torch.no_grad():
            for i, weight in enumerate(self.weights):
                weight.copy_(tensors[f"weight.{i}"])
                names = [name for name in tensors if name.startswith(f"adam.{i}.")]
                self.optimizer.state[weight] = {
                    name.split(".")[2]: tensors[name].to(weight.device, copy=True) for name in names
                }
        self.died, self.last_value = tensors["died"].numpy().copy(), tensors["last_value"].numpy().copy()
        self.step = int(tensors["step"])
        self.history.restore(tensors)

    def run_weights(self, run: int) -> dict[str, Tensor]:
        """Weights of one run by name, each with a run axis of length 1; knots are not weights, the spec has them."""
        named_weights = ((n, p) for n, p in self.model.named_parameters() if p.requires_grad)
        return {name: p.detach()[run : run + 1].cpu().clone() for name, p in named_weights}


class History:
    """What was measured during training: step, mean training loss since the step before, accuracy by split."""

    def __init__(self, runs: int, splits: Sequence[str]):
        self.splits = list(splits)
        self.steps: list[int] = []
        self.loss: list[np.ndarray] = []
        self.scores: dict[str, list[np.ndarray]] = {name: [] for name in splits}
        self._sum, self._count = torch.zeros(runs, dtype=torch.float64), 0

    def add(self, loss: Tensor) -> None:
        """Note the training losses (R,) of a step."""
        self._sum = self._sum.to(loss.device) + loss.detach()
        self._count += 1

    def close(self, step: int, scores: dict[str, np.ndarray]) -> None:
        """End an interval at `step`, with the accuracies (R,) of each split."""
        self.steps.append(step)
        self.loss.append((self._sum.cpu() / max(1, self._count)).numpy())
        for name in self.splits:
            self.scores[name].append(scores[name])
        self._sum, self._count = torch.zeros_like(self._sum), 0

    def arrays(self) -> dict[str, np.ndarray]:
        """steps (T,), loss (T, R), accuracy_<split> (T, R)."""
        runs = len(self._sum)
        stacked = {f"accuracy_{n}": np.array(v, dtype=float).reshape(-1, runs) for n, v in self.scores.items()}
        return {"steps": np.array(self.steps, dtype=np.int64), "loss": np.array(self.loss).reshape(-1, runs)} | stacked

    def pending(self) -> dict[str, Tensor]:
        """The open interval, for a checkpoint."""
        return {"pending.sum": self._sum.cpu(), "pending.count": torch.tensor(self._count)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up what `arrays` and `pending` gave."""
        self.steps = tensors["history.steps"].tolist()
        self.loss = list(tensors["history.loss"].numpy())
        self.scores = {name: list(tensors[f"history.accuracy_{name}"].numpy()) for name in self.splits}
        self._sum, self._count = tensors["pending.sum"].clone(), int(tensors["pending.count"])


def build(parts: Sequence[Resolved]) -> nn.Module | None:
    """The module for the non-linearity of R runs; None for softmax."""
    first = parts[0]
    forms = {(part.low, part.high, len(part.values)) if isinstance(part, Knots) else part for part in parts}
    if len(forms) > 1:
        raise ArgumentError(
            f"runs of one fleet need one name, one polynomial, or knots at the same places; these have {forms}"
        )
    if first == "softmax":
        return None
    if len(set(parts)) == 1:  # one table where all runs have the same function: less memory to look through
        return as_module(first)
    return Spline(torch.tensor([part.values for part in parts]), first.low, first.high)
