"""Search for a non-linearity by episodes (simplicity paper, Algorithm 1 and App. C), and the choice of a restart.

An episode trains fresh weights on a fresh part of the data, with the function fixed; its loss on held-out data is
differentiated in the function's knots, through the last t steps of that training (second order), and the knots take
one step. Episodes grow longer. Restarts are runs of one fleet, each with knots, data and weights of its own; the best
is the one whose functions are best in networks trained from scratch. The gradient goes back one step at a time, from
the weights before it, so that the memory is that of one step, whatever t is.
"""

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from lab.errors import ArgumentError, check_choice, check_whole
from lab.spec import EpisodeSpec, InterpolatedSpec, Knots, KnotTable, Resolved, RunSpec, replace
from lab.training.inner_task import (
    STARTS,
    Functions,
    check_learn,
    check_task,
    inner_task,
    most_rows,
    refine,
    with_identities,
)
from lab.training.optimizers import of_runs

SELECTION_SEED = 5_000_000  # of the models that decide between restarts: none that other runs use
MEMORY = 0.9  # of the running mean of outer losses, by which a restart is followed
_FOLLOWED = ("mean", "lowest", "patience_left", "stopped", "died", "last_value")


def selection_steps(spec: EpisodeSpec) -> int:
    """Training steps of the runs that decide between restarts."""
    return spec.retrain.last * spec.retrain_seeds * len(spec.tasks) * len(spec.restarts)


def selection_runs(
    spec: EpisodeSpec, learned: Sequence[Mapping[str, Resolved]], given: Mapping[str, Resolved]
) -> list[list[RunSpec]]:
    """For each restart, the runs that are trained from scratch with its functions to decide between restarts.

    learned: the functions of each restart. given: the other non-linearities of the model.
    """
    wide = spec.model if spec.retrain_width is None else replace(spec.model, width=spec.retrain_width)
    listed = []
    for parts in learned:
        model = wide.having({**given, **parts})
        listed.append(
            [
                RunSpec(task, model, spec.retrain, SELECTION_SEED + seed, (spec.retrain.watch,), spec.task_seed)
                for task in spec.tasks
                for seed in range(spec.retrain_seeds)
            ]
        )
    return listed


def result(spec: RunSpec, history: Mapping[str, np.ndarray], notes: Mapping[str, Any]) -> tuple[float, float]:
    """A score of which more is better, and the loss, on the watched split, of the weights that a run has stored: those
    of the step "kept" in its notes, without it the last ones. NaN without any, -inf where the last diverged.
    """
    (score, loss), sign = deciding(spec.task)
    scores, losses = (history[f"{name}_{spec.recipe.watch}"] for name in (score, loss))
    if "kept" not in notes:
        return (sign * float(scores[-1]), float(losses[-1])) if notes["diverged"] is None else (-np.inf, np.inf)
    at = np.flatnonzero(history["steps"] == notes["kept"])
    return (sign * float(scores[at[0]]), float(losses[at[0]])) if len(at) else (np.nan, np.nan)


@singledispatch
def deciding(task: Any) -> tuple[tuple[str, str], int]:
    """Names of the score and the loss that decide, and 1 where more of the score is better, -1 where less is."""
    score, loss = task.metric_signs
    return (score, loss), 1


def best(results: Sequence[Sequence[tuple[float, float]]]) -> int:
    """The restart whose runs have the highest mean score; of equal ones, that with the lowest mean loss.

    results: by restart and run a score, of which more is better (it may be negative), and the loss. A restart with a
    run that diverged, whose score is NaN or -inf, loses against every restart without one.

    >>> best([[(0.5, 0.1), (0.7, 0.1)], [(0.8, 0.3), (0.4, 0.0)], [(0.9, 0.1), (float("nan"), float("nan"))]])
    0
    >>> best([[(-0.1, 1.1)], [(float("nan"), float("nan"))]])
    0
    """
    values = np.array(results, dtype=float)  # (restarts, runs, 2)
    score = np.nan_to_num(values[..., 0], nan=-1e30, neginf=-1e30).mean(1).round(12)
    loss = np.nan_to_num(values[..., 1], nan=np.inf).mean(1)
    return int(np.lexsort((loss, -score))[0])


class Outcome(NamedTuple):
    """The losses and gradients of an episode, by restart."""

    loss: Tensor  # (R,), the outer one
    accuracy: Tensor  # (R,), on the same rows
    training: Tensor  # (R,), the last inner loss
    gradients: list[Tensor]  # of the outer loss in the knots: as `Functions.values`


class Episodes:
    """A search by episodes; `lab.training.fleet.train` takes it from where it stands to its end.

    given: values of the non-linearities that are not searched for, by their names in `spec.model.parts`.
    """

    def __init__(self, spec: EpisodeSpec, device: str = "cpu", given: Mapping[str, Resolved] | None = None):
        check(spec)
        self.spec, self.device = spec, torch.device(device)
        self.phi = Functions(spec, self.device)
        parts = with_identities(spec.model, spec.learn).parts
        known = cast(Mapping[str, Resolved], given or parts)
        others = {name: known[name] for name in parts if name not in self.phi.names}
        self.inner_tasks = [inner_task(task, spec, self.phi, others, self.device) for task in spec.tasks]
        runs = len(spec.restarts)
        self.episode = 0
        self.kept = [values.clone() for values in self.phi.values]  # the knots of the lowest running mean
        self.mean, self.lowest = np.full(runs, np.nan), np.full(runs, np.inf)
        self.patience_left = np.full(runs, spec.patience or 0)
        self.stopped, self.died = np.full(runs, -1), np.full(runs, -1)  # episodes; -1: it goes on
        self.last_value = np.full(runs, np.nan)  # the loss of the episode at which a restart died
        self.history: dict[str, list[np.ndarray]] = {name: [] for name in ("loss", "accuracy", "training", "slope")}

    @property
    def alive(self) -> np.ndarray:
        """Which restarts go on, (R,) bool."""
        return (self.stopped < 0) & (self.died < 0)

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return self.episode >= self.spec.episodes or not self.alive.any()

    @property
    def steps(self) -> int:
        """Inner steps taken so far, an outer one counted as one more, those of all restarts together."""
        return _steps(self.spec, self.episode)

    @property
    def step(self) -> int:
        """How many episodes are over."""
        return self.episode

    def learned(self) -> dict[str, Tensor]:
        """The functions that each restart would give, if it ended here: values (1, …) by "name@restart"."""
        functions = [(f"{name}@{r}", f) for r, parts in enumerate(self.functions()) for name, f in parts.items()]
        return {name: torch.tensor(function.values)[None] for name, function in functions}

    def words(self) -> str:
        done, lowest = self.episode, np.nanmin(self.lowest)
        return f"episode {done} of {self.spec.episodes}, {self.spec.inner_steps(done)} inner steps, best {lowest:.4g}"

    def advance(self) -> None:
        """Take an episode, and with what it gives a step of the knots."""
        self.learn(self.run_episode(self.episode))

    def run_episode(self, episode: int) -> Outcome:
        """An episode with the knots as they are: its loss, and the gradient of that."""
        spec, inner = self.spec, self.inner_tasks[episode % len(self.inner_tasks)]
        steps, window = spec.inner_steps(episode), torch.tensor([r.window for r in spec.restarts], device=self.device)
        train, outer = inner.draw(episode)
        longest = min(steps, max(restart.window for restart in spec.restarts))
        states, training = inner.train(train, steps, longest)
        state, count = states.pop(), len(inner.drawn)
        outer = train(steps - 1) if outer is None else outer
        weights = [weight.requires_grad_() for weight in state[:count]]
        outputs = inner.outputs(weights, outer)
        loss = outer.loss(outputs)
        back = torch.autograd.grad(loss.sum(), [*weights, *self.phi.values])
        gradients = list(back[count:])
        adjoint = [*back[:count], *(torch.zeros_like(moment) for moment in state[count:])]
        for step in reversed(range(steps - longest, steps)):  # back through the last steps, one at a time
            within = step >= steps - window  # (R,): a restart whose window has not begun passes nothing further back
            adjoint = [torch.where(of_runs(within, a), a, 0.0) for a in adjoint]
            before = [tensor.detach().requires_grad_() for tensor in states.pop()]
            after, _ = inner.step(before, count, train(step), step, create_graph=True)
            back = torch.autograd.grad(after, [*before, *self.phi.values], adjoint, materialize_grads=True)
            adjoint = list(back[: len(before)])
            gradients = [a + b for a, b in zip(gradients, back[len(before) :], strict=True)]
        accuracy = inner.score(outputs.detach(), outer)
        return Outcome(loss.detach(), accuracy, training, gradients)

    def learn(self, outcome: Outcome) -> None:
        """Record an outcome; the knots of the restarts that go on take their step."""
        spec, loss = self.spec, outcome.loss.double().cpu().numpy()
        slope = self.phi.lengths(outcome.gradients)  # (R,)
        fine = np.isfinite(loss) & np.isfinite(slope.cpu().numpy())
        fallen = self.alive & ~fine
        self.died[fallen], self.last_value[fallen] = self.episode, loss[fallen]
        alive = self.alive
        self.mean = np.where(np.isnan(self.mean), loss, MEMORY * self.mean + (1 - MEMORY) * loss)
        better = alive & (self.mean < self.lowest)
        self.lowest[better] = self.mean[better]
        self.kept = self.phi.chosen(better, self.phi.values, self.kept)
        if spec.patience is not None:
            self.patience_left = np.where(better, spec.patience, self.patience_left - alive)
            self.stopped[alive & (self.patience_left <= 0)] = self.episode
        rates = torch.tensor([restart.rate for restart in spec.restarts], dtype=slope.dtype, device=self.device)
        rates = rates / slope.clamp_min(1e-30) if spec.normalized else rates
        self.phi.descend(outcome.gradients, rates, self.alive)
        record = {
            "loss": loss,
            "accuracy": outcome.accuracy.cpu().numpy(),
            "slope": slope.double().cpu().numpy(),
            "training": outcome.training.double().cpu().numpy(),
        }
        for name, values in record.items():
            self.history[name].append(np.where(alive, values, np.nan))
        self.episode += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """By episode and restart, (E, R): outer loss and accuracy, last inner loss, length of the knots' gradient; and
        inner steps (E,)."""
        runs, steps = len(self.spec.restarts), range(self.episode)
        series = {name: np.array(v, dtype=float).reshape(-1, runs) for name, v in self.history.items()}
        return series | {"inner_steps": np.array([self.spec.inner_steps(episode) for episode in steps], dtype=np.int64)}

    def functions(self) -> list[dict[str, Knots | KnotTable]]:
        """The learned functions of each restart, by their names in `model.parts`."""
        return [self.phi.parts(self.kept, restart) for restart in range(len(self.spec.restarts))]

    def state(self) -> dict[str, Tensor]:
        tensors = {f"knots.{i}": values.detach() for i, values in enumerate(self.phi.values)}
        tensors |= {f"kept.{i}": values for i, values in enumerate(self.kept)}
        tensors |= {name: torch.from_numpy(getattr(self, name)) for name in _FOLLOWED}
        arrays = self.arrays()
        tensors |= {f"history.{name}": torch.from_numpy(arrays[name]) for name in self.history}
        return tensors | {"episode": torch.tensor(self.episode)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for i, values in enumerate(self.phi.values):
                values.copy_(tensors[f"knots.{i}"])
        self.kept = [tensors[f"kept.{i}"].to(self.device, copy=True) for i in range(len(self.kept))]
        for name in _FOLLOWED:
            setattr(self, name, tensors[name].numpy().copy())
        self.history = {name: list(tensors[f"history.{name}"].numpy().copy()) for name in self.history}
        self.episode = int(tensors["episode"])


def running_mean(losses: np.ndarray) -> np.ndarray:
    """The running mean of a restart's outer losses (E,), by which its knots are chosen: those before the episode at
    which it is lowest.

    >>> running_mean(np.array([1.0, 2.0])).round(3).tolist()
    [1.0, 1.1]
    """
    means = losses[:1].tolist()
    for loss in losses[1:]:
        means.append(MEMORY * means[-1] + (1 - MEMORY) * loss)
    return np.array(means)


def steps(spec: EpisodeSpec) -> int:
    """Training steps of a whole search, for a progress bar: those of its episodes and of the runs that decide."""
    return _steps(spec, spec.episodes) + selection_steps(spec)


def pool(spec: EpisodeSpec) -> int:
    """Rows of an inner step, at most, those of all restarts together."""
    rows = most_rows(spec.tasks[0], spec)
    return len(spec.restarts) * (rows if spec.inner.batch is None else min(rows, spec.inner.batch))


def check(spec: EpisodeSpec) -> None:
    check_learn(spec.learn, spec.model.layers)
    if spec.learn == "inputs" and len(spec.tasks) > 1:
        raise ArgumentError("functions of inputs are learned for one task; give one, or learn='shared'")
    if not spec.restarts or spec.episodes < 1 or not spec.growth > 0 or not 0 < spec.held_out < 1:
        raise ArgumentError(
            f"{len(spec.restarts)} restarts, episodes={spec.episodes}, growth={spec.growth}, held_out={spec.held_out}:"
            " give one or more of each of the first two, growth above 0, and held_out between 0 and 1"
        )
    if isinstance(spec, InterpolatedSpec):
        refine(spec.interpolation, 2)
    for restart in spec.restarts:
        check_choice("start", restart.start, STARTS)
        check_whole("knots", restart.knots, 2)
        check_whole("window", restart.window, 0)
    for task in spec.tasks:
        check_task(task, spec)


def _steps(spec: EpisodeSpec, episodes: int) -> int:
    return len(spec.restarts) * sum(spec.inner_steps(episode) + 1 for episode in range(episodes))
