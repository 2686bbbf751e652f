"""Fleets of perceptrons: averaged weights, the best evaluation kept, early stopping (simplicity paper, App. E.1)."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
import torch
from torch import Tensor

from lab.spec import ConstantRate, Resolved, RunSpec
from lab.training.fleet import Fleet, fleet_class
from lab.training.optimizers import RunRates


class DescentFleet(Fleet):
    """R perceptrons in training, which may differ in seed, values of non-linearities, prefactor and rate, and in their
    tables where these have one shape.

    What is evaluated is the mean of the weights after the last steps. A run that has stopped is no longer trained; like
    one that has diverged, it has NaN in its history from there on.
    """

    arrays = (*Fleet.arrays, "kept_step", "best", "patience_left", "stopped")
    optimizer: RunRates
    trajectory: list[Tensor]  # (R, P) each

    def __init__(self, specs: Sequence[RunSpec], parts: Sequence[tuple[Resolved, ...]], device: str = "cpu"):
        super().__init__(specs, parts, device)
        flat, runs = flattened(self.weights), len(specs)
        self.average = Average(self.weights, self.recipe)
        self.kept, self.kept_step = torch.full_like(flat, math.nan), np.zeros(runs, dtype=np.int64)
        worst = [-sign * np.inf for sign in self.data.metric_signs.values()]
        self.best = np.tile(worst, (runs, 1))  # scores of the best evaluation, by `metric_signs`
        self.patience_left = np.full(runs, self.recipe.patience or 0)
        self.stopped = np.full(runs, -1)  # step at which a run's patience ended
        self.trajectory = [] if self.recipe.trajectory is None else [flat.clone()]

    def set_rates(self, step: int) -> None:
        self.optimizer.rates = [s.recipe.rate / getattr(s.model, "prefactor", 1.0) for s in self.specs]

    @property
    def living(self) -> np.ndarray:
        """Which runs train on, (R,) bool."""
        return (self.died < 0) & (self.stopped < 0)

    def note_step(self, loss: Tensor) -> None:
        """As Fleet.note_step; the new weights enter the average and, at its steps, the trajectory."""
        super().note_step(loss)
        self.average.add(self.weights)
        if self.recipe.trajectory is not None and self.step % self.recipe.trajectory == 0:
            self.trajectory.append(flattened(self.weights))

    def measure(self) -> None:
        """As Fleet.measure, and decide which runs keep these weights and which stop."""
        mean = self.average.mean()
        with self._holding(mean):
            self.watch_weights()
            alive, scores = self.living, self.scores()
        self.history.close(self.step, scores)
        better, recipe = alive.copy(), self.recipe
        signs = {f"{name}_{recipe.watch}": sign for name, sign in self.data.metric_signs.items()}
        if set(signs) <= set(scores):
            values = np.stack([scores[name] for name in signs], 1)  # (R, scores)
            better &= beats(values, self.best, list(signs.values()))
            self.best[better] = values[better]
        undecided = alive & np.isinf(self.best[:, 0])  # every score was NaN
        keep = alive if recipe.keep == "last" else better | undecided
        self.kept = torch.where(torch.from_numpy(keep).to(self.device)[:, None], mean, self.kept)
        self.kept_step[keep] = self.step
        if recipe.patience is not None:
            self.patience_left = np.where(better, recipe.patience, self.patience_left - alive)
            self.stopped[alive & (self.patience_left <= 0)] = self.step

    def skip(self) -> None:
        """Go to the end with runs that all have ended: history and trajectory are as long as those of any other run."""
        recipe, flat = self.recipe, flattened(self.weights)
        for step in range(self.step + 1, recipe.last + 1):
            if self.trajectory and step % recipe.trajectory == 0:
                self.trajectory.append(flat)
            if step % recipe.every == 0 or step == recipe.last:
                nothing = np.full(len(self.specs), np.nan)
                self.history.add(torch.from_numpy(nothing))
                self.history.close(step, dict.fromkeys(self.data.columns, nothing))
        self.step = recipe.last

    def state(self) -> dict[str, Tensor]:
        tensors = super().state() | self.average.state() | {"kept": self.kept}
        return tensors | ({"trajectory": torch.stack(self.trajectory)} if self.trajectory else {})

    def restore(self, tensors: dict[str, Tensor]) -> None:
        super().restore(tensors)
        self.average.restore(tensors)
        self.kept = tensors["kept"].to(self.device, copy=True)
        if self.trajectory:
            self.trajectory = list(tensors["trajectory"].to(self.device, copy=True))

    def run_weights(self, run: int) -> dict[str, Tensor]:
        """The weights that a run keeps, by name; "trajectory" (S, P) where it was asked for, of raw weights, flat."""
        with self._holding(self.kept):
            named = super().run_weights(run)
        path = {"trajectory": torch.stack([flat[run].cpu() for flat in self.trajectory])} if self.trajectory else {}
        return named | path

    def run_notes(self, run: int) -> dict:
        """At which step its weights were kept, and at which it stopped, if it did."""
        stopped = None if self.stopped[run] < 0 else int(self.stopped[run])
        return {"kept": int(self.kept_step[run]), "stopped": stopped}

    @contextmanager
    def _holding(self, flat: Tensor) -> Iterator[None]:
        """The model with other weights, (R, P)."""
        previous = flattened(self.weights)
        try:
            spread(flat, self.weights)
            yield
        finally:
            spread(previous, self.weights)


class Average:
    """The mean of weights over the last `recipe.average` steps, at every evaluation, flat, (R, P).

    Weights are summed in blocks of steps. A block is the longest that divides the window, the steps between evaluations
    and the last step.
    The open block is summed weight by weight: to lay them end to end costs more than to add them.
    """

    def __init__(self, like: Sequence[Tensor], recipe: ConstantRate):
        self.block = math.gcd(recipe.average, recipe.every, recipe.last)
        self.most = recipe.average // self.block
        self.sums: list[Tensor] = []
        self.open, self.count = [torch.zeros_like(weight) for weight in like], 0

    @torch.no_grad()
    def add(self, weights: Sequence[Tensor]) -> None:
        torch._foreach_add_(self.open, list(weights))
        self.count += 1
        if self.count == self.block:
            self.sums = [*self.sums, flattened(self.open)][-self.most :]
            torch._foreach_zero_(self.open)
            self.count = 0

    def mean(self) -> Tensor:
        return cast(Tensor, sum(self.sums)) / (len(self.sums) * self.block)

    def state(self) -> dict[str, Tensor]:
        sums = {f"average.{number}": total for number, total in enumerate(self.sums)}
        return sums | {"average.open": flattened(self.open), "average.count": torch.tensor(self.count)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        device, numbers = self.open[0].device, range(sum(name.startswith("average.") for name in tensors) - 2)
        self.sums = [tensors[f"average.{number}"].to(device, copy=True) for number in numbers]
        spread(tensors["average.open"], self.open)
        self.count = int(tensors["average.count"])


def flattened(weights: Sequence[Tensor]) -> Tensor:
    """All numbers of each run, (R, P), from weights (R, …).

    >>> flattened([torch.zeros(2, 3, 1), torch.ones(2, 2)])[0]
    tensor([0., 0., 0., 1., 1.])
    """
    return torch.cat([weight.detach().reshape(len(weight), -1) for weight in weights], 1)


@torch.no_grad()
def spread(flat: Tensor, weights: Sequence[Tensor]) -> None:
    """Copy (R, P) into weights (R, …): `flattened`, the other way."""
    sizes = [weight[0].numel() for weight in weights]
    for weight, part in zip(weights, flat.split(sizes, 1), strict=True):
        weight.copy_(part.view_as(weight))


def beats(new: np.ndarray, old: np.ndarray, signs: Sequence[int]) -> np.ndarray:
    """Where new scores (R, S) are better than old ones, (R,) bool: in the first score that differs; no NaN is better.

    >>> beats(np.array([[0.9, 0.3], [0.8, 0.1]]), np.array([[0.8, 0.1], [0.8, 0.1]]), [1, -1])
    array([ True, False])
    """
    better, same = np.zeros(len(new), dtype=bool), np.ones(len(new), dtype=bool)
    for column, sign in enumerate(signs):
        better |= same & (sign * new[:, column] > sign * old[:, column])
        same &= new[:, column] == old[:, column]
    return better


fleet_class.register(ConstantRate, lambda recipe: DescentFleet)


def fleet_of(specs: Sequence[RunSpec], parts: Sequence[tuple[Resolved, ...]], device: str = "cpu") -> Fleet:
    """The fleet for runs with this recipe. parts: their non-linearities, as in `Fleet`."""
    return fleet_class(specs[0].recipe)(specs, parts, device)
