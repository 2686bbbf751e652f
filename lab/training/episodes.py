"""Search for a non-linearity by episodes (simplicity paper, Algorithm 1 and App. C).

An episode is a training from fresh weights on a fresh part of the data, with the function fixed; what it then loses on
held-out data is differentiated in the function's knots, through the last t steps of that training (second order), and
the knots take one step. Episodes grow longer. Restarts travel side by side along the run axis, each with knots, data
and weights of its own.

The gradient goes back step by step: only the weights of the last t steps are kept, and each step is computed anew when
its turn comes. So the memory is that of one step, whatever t is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from lab.errors import ArgumentError, check_whole
from lab.kinds import check_run, sizes
from lab.models.kinds import perceptrons
from lab.models.mlp import MLP
from lab.seeds import stream
from lab.spec import EpisodeSpec, InterpolatedSpec, Knots, KnotTable, Resolved, RunSpec, replace
from lab.tasks.table import TableTask
from lab.training.fleet import build
from lab.training.interpolation import refine
from lab.training.knots import Functions, with_places
from lab.training.optimizers import MOMENTS, descend
from lab.training.rows import Rows, TableBatch
from lab.training.sequences import Order

MEMORY = 0.9  # of the running mean of outer losses, by which a restart is followed
CONTEST_SEED = 5_000_000  # of the models that decide between restarts: none that other runs use
LEARN, STARTS = ("shared", "layers", "inputs"), ("zero", "relu", "identity", "noise")
Moving = list[Tensor]  # all weights (R, …), then all moments of the inner optimizer


class Arena:
    """One task of a search: its model, the rows that episodes draw from, and what their outer loss is measured on."""

    def __init__(
        self, spec: EpisodeSpec, task: TableTask, phi: Functions, given: Mapping[str, Resolved], device: torch.device
    ):
        model = with_places(spec.model, spec.learn)
        runs = [RunSpec(task, model, spec.inner, restart.seed, (), spec.task_seed) for restart in spec.restarts]
        modules = {name: build([part] * len(runs)) for name, part in given.items()} | phi.modules()
        shape = sizes(task, spec.task_seed)
        self.model: MLP = perceptrons(shape, runs, [modules[name] for name in model.parts]).to(device)
        self.names = [name for name, _ in self.model.layers.named_parameters(prefix="layers")]
        splits = task.split(spec.task_seed)
        self.task, self.device = task, device
        self.inputs = torch.cat([splits[name].inputs for name in spec.pool]).to(device)  # (N, D)
        self.targets = torch.cat([splits[name].targets for name in spec.pool]).to(device)  # (N,)
        named = spec.objective not in ("val", "train")
        self.other = Rows(runs, spec.objective, device) if named else None

    def weights(self) -> list[Tensor]:
        """Those of the model, as they were drawn last."""
        return [parameter.detach().clone() for _, parameter in self.model.layers.named_parameters()]

    def outputs(self, weights: Sequence[Tensor], batch: TableBatch) -> Tensor:
        """(R, B, O), with weights in place of the model's own."""
        return functional_call(self.model, dict(zip(self.names, weights, strict=True)), (batch.inputs,))

    def rows(self, index: Tensor) -> TableBatch:
        """Rows (R, B) of the pool."""
        return TableBatch(self.task, self.inputs[index], self.targets[index])


class Outcome(NamedTuple):
    """What an episode gives, for each restart."""

    loss: Tensor  # (R,), the outer one
    accuracy: Tensor  # (R,), on the same rows
    training: Tensor  # (R,), the last inner loss
    gradients: list[Tensor]  # of the outer loss in the knots: as `Functions.values`


class Episodes:
    """A search by episodes: `run` takes it from where it stands to its end.

    given: values of the non-linearities that are not searched for, by their names in `spec.model.parts`.
    """

    def __init__(self, spec: EpisodeSpec, device: str = "cpu", given: Mapping[str, Resolved] | None = None):
        check(spec)
        self.spec, self.device = spec, torch.device(device)
        self.phi = Functions(spec, self.device)
        parts = with_places(spec.model, spec.learn).parts
        given = {name: (given or parts)[name] for name in parts if name not in self.phi.names}
        self.arenas = [Arena(spec, task, self.phi, given, self.device) for task in spec.tasks]
        runs = len(spec.restarts)
        self.episode = 0
        self.kept = [values.clone() for values in self.phi.values]  # the knots of the lowest running mean
        self.mean, self.lowest = np.full(runs, np.nan), np.full(runs, np.inf)
        self.patience_left = np.full(runs, spec.patience or 0)
        self.stopped, self.died = np.full(runs, -1), np.full(runs, -1)  # episodes; -1: it goes on
        self.last_value = np.full(runs, np.nan)  # the loss that was not finite
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

    def words(self) -> str:
        """Where it stands."""
        done, lowest = self.episode, np.nanmin(self.lowest)
        return f"episode {done} of {self.spec.episodes}, {self.spec.inner_steps(done)} inner steps, best {lowest:.4g}"

    def play(self, episode: int) -> Outcome:
        """An episode with the knots as they are: what it loses, and the gradient of that."""
        spec, arena = self.spec, self.arenas[episode % len(self.arenas)]
        steps, window = spec.inner_steps(episode), torch.tensor([r.window for r in spec.restarts], device=self.device)
        train, outer = self._draw(arena, episode)
        weights = arena.weights()
        count, moments = len(weights), len(MOMENTS[spec.inner.optimizer])
        state: Moving = [*weights, *(torch.zeros_like(weight) for _ in range(moments) for weight in weights)]
        states = []
        longest = min(steps, max(restart.window for restart in spec.restarts))
        for step in range(steps):
            if step >= steps - longest:
                states.append(state)
            state, training = self._inner(arena, state, count, train(step), step, create_graph=False)
        outer = train(steps - 1) if outer is None else outer
        weights = [weight.requires_grad_() for weight in state[:count]]
        outputs = arena.outputs(weights, outer)
        loss = outer.loss(outputs)
        adjoint, own = _split(torch.autograd.grad(loss.sum(), [*weights, *self.phi.values]), count)
        adjoint = [*adjoint, *(torch.zeros_like(moment) for moment in state[count:])]
        for step in reversed(range(steps - longest, steps)):  # back through the last steps, one at a time
            within = step >= steps - window  # (R,): a restart whose window has not begun passes nothing further back
            adjoint = [torch.where(within.view(-1, *[1] * (a.dim() - 1)), a, 0.0) for a in adjoint]
            before = [tensor.detach().requires_grad_() for tensor in states.pop()]
            after, _ = self._inner(arena, before, count, train(step), step, create_graph=True)
            back = torch.autograd.grad(after, [*before, *self.phi.values], adjoint, materialize_grads=True)
            adjoint, more = _split(back, len(before))
            own = [a + b for a, b in zip(own, more, strict=True)]
        accuracy = arena.task.scores(outputs.detach(), outer.targets)["accuracy"]
        return Outcome(loss.detach(), accuracy, training, own)

    def learn(self, outcome: Outcome) -> None:
        """Note an outcome; the knots of the restarts that go on take their step."""
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
        seen = {
            "loss": loss,
            "accuracy": outcome.accuracy.cpu().numpy(),
            "slope": slope.double().cpu().numpy(),
            "training": outcome.training.double().cpu().numpy(),
        }
        for name, values in seen.items():
            self.history[name].append(np.where(alive, values, np.nan))
        self.episode += 1

    def arrays(self) -> dict[str, np.ndarray]:
        """By episode and restart, (E, R): outer loss and accuracy, last inner loss, length of the knots' gradient; and
        inner steps (E,)."""
        runs, steps = len(self.spec.restarts), range(self.episode)
        found = {name: np.array(v, dtype=float).reshape(-1, runs) for name, v in self.history.items()}
        return found | {"inner_steps": np.array([self.spec.inner_steps(episode) for episode in steps], dtype=np.int64)}

    def found(self) -> list[dict[str, Knots | KnotTable]]:
        """The learned functions of each restart, by their names in `model.parts`."""
        return [self.phi.parts(self.kept, restart) for restart in range(len(self.spec.restarts))]

    def state(self) -> dict[str, Tensor]:
        """Everything that a bit-for-bit continuation needs, as named tensors."""
        tensors = {f"knots.{i}": values.detach() for i, values in enumerate(self.phi.values)}
        tensors |= {f"kept.{i}": values for i, values in enumerate(self.kept)}
        tensors |= {name: torch.from_numpy(getattr(self, name)) for name in _FOLLOWED}
        arrays = self.arrays()
        tensors |= {f"history.{name}": torch.from_numpy(arrays[name]) for name in self.history}
        return tensors | {"episode": torch.tensor(self.episode)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take up the state that `state` gave."""
        with torch.no_grad():
            for i, values in enumerate(self.phi.values):
                values.copy_(tensors[f"knots.{i}"])
        self.kept = [tensors[f"kept.{i}"].to(self.device, copy=True) for i in range(len(self.kept))]
        for name in _FOLLOWED:
            setattr(self, name, tensors[name].numpy().copy())
        self.history = {name: list(tensors[f"history.{name}"].numpy().copy()) for name in self.history}
        self.episode = int(tensors["episode"])

    def _draw(self, arena: Arena, episode: int) -> tuple[Callable[[int], TableBatch], TableBatch | None]:
        """Fresh weights for the arena's model; the inner batch of each step, and the rows of the outer loss, None for
        those of the last inner batch."""
        spec, seeds = self.spec, [restart.seed for restart in self.spec.restarts]
        arena.model.draw([stream(seed, f"episode {episode} weights") for seed in seeds], spec.model.scale)
        generators = [torch.Generator().manual_seed(stream(seed, f"episode {episode} rows")) for seed in seeds]
        shuffled = torch.stack([torch.randperm(len(arena.inputs), generator=g) for g in generators]).to(self.device)
        held = max(1, round(spec.held_out * len(arena.inputs)))
        train, most = shuffled[:, held:], spec.inner.batch
        if most is None or most >= train.shape[1]:
            whole = arena.rows(train)

            def inner(step: int) -> TableBatch:
                return whole
        else:
            order = Order(seeds, train.shape[1], most, f"episode {episode} batches")

            def inner(step: int) -> TableBatch:
                return arena.rows(train.gather(1, order.at(step).to(self.device)))

        if spec.objective == "train":
            return inner, None
        if arena.other is None:
            return inner, arena.rows(shuffled[:, :held][:, :most])
        if most is None or most >= len(arena.other):
            return inner, arena.other.at(slice(None))
        index = torch.stack([torch.randperm(len(arena.other), generator=g)[:most] for g in generators])
        return inner, arena.other.at(index.to(self.device))

    def _inner(
        self, arena: Arena, state: Moving, count: int, batch: TableBatch, step: int, create_graph: bool
    ) -> tuple[Moving, Tensor]:
        """One inner step: weights and moments after it, and the loss (R,) before it."""
        spec = self.spec
        weights, moments = state[:count], state[count:]
        if not create_graph:
            weights = [weight.detach().requires_grad_() for weight in weights]
        with torch.enable_grad():
            loss = batch.loss(arena.outputs(weights, batch))
            gradients = torch.autograd.grad(loss.sum(), weights, create_graph=create_graph)
        names = MOMENTS[spec.inner.optimizer]
        rates = torch.full((len(spec.restarts),), spec.inner.rate / spec.model.prefactor, dtype=loss.dtype).to(
            loss.device
        )
        new, kept = [], {name: [] for name in names}
        with torch.set_grad_enabled(create_graph):
            for i, (weight, gradient) in enumerate(zip(weights, gradients, strict=True)):
                own = {name: moments[j * count + i] for j, name in enumerate(names)}
                moved, own = descend(spec.inner.optimizer, weight, gradient, own, step + 1, rates)
                new.append(moved)
                for name in names:
                    kept[name].append(own[name])
        new += [moment for name in names for moment in kept[name]]
        return (new if create_graph else [tensor.detach() for tensor in new]), loss.detach()


_FOLLOWED = ("mean", "lowest", "patience_left", "stopped", "died", "last_value")


def search(state: Episodes, report: Callable[[Episodes], bool] | None = None) -> Episodes:
    """Run a search from where it stands to its end. report: called after every episode; False stops there."""
    while not state.over:
        state.learn(state.play(state.episode))
        if report is not None and not report(state):
            break
    return state


def learns(spec: EpisodeSpec, name: str) -> bool:
    """Whether a non-linearity of its model, by its name in `parts`, is searched for."""
    return name.startswith("inputs" if spec.learn == "inputs" else "phi")


def steps(spec: EpisodeSpec) -> int:
    """Training steps of a whole search, for a progress bar: those of its episodes and of the runs that decide."""
    return _steps(spec, spec.episodes) + contest_steps(spec)


def pool(spec: EpisodeSpec) -> int:
    """Rows of an inner step, at most, those of all restarts together."""
    splits = spec.tasks[0].split(spec.task_seed)
    rows = sum(len(splits[name]) for name in spec.pool)
    return len(spec.restarts) * (rows if spec.inner.batch is None else min(rows, spec.inner.batch))


def contest_steps(spec: EpisodeSpec) -> int:
    """Those of the runs that decide."""
    return spec.retrain.last * spec.retrain_seeds * len(spec.tasks) * len(spec.restarts)


def contest(
    spec: EpisodeSpec, found: Sequence[Mapping[str, Resolved]], given: Mapping[str, Resolved]
) -> list[list[RunSpec]]:
    """For each restart, the runs that are trained from scratch with its functions to decide between restarts.

    found: the functions of each restart. given: the other non-linearities of the model.
    """
    width = spec.model.width if spec.retrain_width is None else spec.retrain_width
    listed = []
    for parts in found:
        model = replace(spec.model, width=width).having({**given, **parts})
        listed.append(
            [
                RunSpec(task, model, spec.retrain, CONTEST_SEED + seed, (spec.retrain.watch,), spec.task_seed)
                for task in spec.tasks
                for seed in range(spec.retrain_seeds)
            ]
        )
    return listed


def result(spec: RunSpec, history: Mapping[str, np.ndarray], kept: int) -> tuple[float, float]:
    """Accuracy and loss on the watched split of the weights that a run kept at step `kept`; NaN where it kept none."""
    at = np.flatnonzero(history["steps"] == kept)
    names = [f"{name}_{spec.recipe.watch}" for name in ("accuracy", spec.task.loss_name)]
    accuracy, loss = (float(history[name][at[0]]) if len(at) else np.nan for name in names)
    return accuracy, loss


def best(results: Sequence[Sequence[tuple[float, float]]]) -> int:
    """The restart whose runs have the highest mean accuracy; of equal ones, that with the lowest mean loss. A run that
    diverged before it was evaluated counts as wrong everywhere.

    >>> best([[(0.5, 0.1), (0.7, 0.1)], [(0.8, 0.3), (0.4, 0.0)], [(0.9, 0.1), (float("nan"), float("nan"))]])
    0
    """
    values = np.array(results, dtype=float)  # (restarts, runs, 2)
    accuracy = np.nan_to_num(values[..., 0], nan=0.0).mean(1).round(12)
    loss = np.nan_to_num(values[..., 1], nan=np.inf).mean(1)
    return int(np.lexsort((loss, -accuracy))[0])


def check(spec: EpisodeSpec) -> None:
    """Say what does not fit together before anything is built."""
    if spec.learn not in LEARN:
        raise ArgumentError(f"learn={spec.learn!r}; give {', '.join(LEARN)}")
    if spec.learn != "inputs" and spec.model.layers < 1:
        raise ArgumentError(
            "a model without hidden layers has no non-linearity to learn; give it layers, or learn inputs"
        )
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
        if restart.start not in STARTS:
            raise ArgumentError(f"unknown start {restart.start!r}; known: {', '.join(STARTS)}")
        check_whole("knots", restart.knots, 2)
        check_whole("window", restart.window, 0)
    for task in spec.tasks:
        splits = task.split(spec.task_seed)
        wanted = [*spec.pool, *([] if spec.objective in ("val", "train") else [spec.objective])]
        if missing := [name for name in wanted if name not in splits]:
            raise ArgumentError(f"{task.name} has no split {missing[0]!r}; choose one of {', '.join(splits)}")
        for recipe in (spec.inner, spec.retrain):
            check_run(RunSpec(task, spec.model, recipe, 0, (), spec.task_seed))


def _steps(spec: EpisodeSpec, episodes: int) -> int:
    return len(spec.restarts) * sum(spec.inner_steps(episode) + 1 for episode in range(episodes))


def _split(tensors: Sequence[Tensor], count: int) -> tuple[list[Tensor], list[Tensor]]:
    return list(tensors[:count]), list(tensors[count:])
