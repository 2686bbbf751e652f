"""What training gives back: one run, or several; `lab.search_results` has what searches do."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, overload

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from lab import engine
from lab.devices import choose_device
from lab.errors import ArgumentError, LabError, LabWarning, check_number, check_type, check_whole, shown
from lab.jobs.course import tensors_of
from lab.picture import Drawn
from lab.progress import Progress
from lab.spec import RunSpec, is_search, key, to_json
from lab.store import Spec, Store, as_store
from lab.training.fleet import restored
from lab.versions import MixedRevisionsError, check_one_revision

if TYPE_CHECKING:
    from distributed import Client

R = TypeVar("R")
MOST_SEEDS, MOST_SEED, MOST_WIDTH = 10_000, 2**32 - 1, 2**16  # of one call; of the generators; that memory holds
MOST_KEPT = 1000  # checkpoints of a run: as many times its weights are held and written
MUCH = 0.05  # of a function's inputs beyond its knots: a larger share is said


class NoRunError(ArgumentError, IndexError):
    """There is no run of that number. It is an IndexError, too, by which Python knows where a sequence ends."""


class RunList(Sequence[R]):
    """Runs in a row, of one class; a slice is a list of them, too."""

    of: ClassVar[type]  # the class
    named: ClassVar[str]  # how messages call it

    def __init__(self, runs: Sequence[R]):
        if isinstance(runs, str) or not isinstance(runs, Iterable):
            raise ArgumentError(f"runs={shown(runs)}: give a list of {self.named}")
        self._runs: list[R] = [check_type("runs", run, self.of, f"a list of {self.named}") for run in runs]

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> R: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self._runs[index])
        try:
            return self._runs[index]
        except (IndexError, TypeError) as error:
            few = f"0 to {len(self) - 1}" if len(self) else "there are no runs"
            raise NoRunError(f"index={shown(index)}: give the number of a run, {few}") from error


@dataclass(frozen=True, eq=False)
class Stored:
    """What the store keeps of a spec, read when asked."""

    spec: Spec
    store: Store

    def __post_init__(self):
        expected = "the spec of what was trained; lab.train and lab.search give results with theirs"
        check_type("spec", self.spec, Spec, expected)
        if self.store is None:  # the user's own is meant only where nothing is said
            raise ArgumentError("store=None: give a store, such as lab.store.Store(folder)")
        as_store(self.store)

    @property
    def key(self) -> str:
        """Its name in the store: the SHA-256 of its spec."""
        return key(self.spec)

    @property
    def provenance(self) -> dict:
        """Key, spec, device, wall time."""
        return {"key": self.key, "spec": json.loads(to_json(self.spec))} | self._stored[2]

    @cached_property
    def _stored(self) -> tuple[dict[str, np.ndarray], dict[str, Tensor], dict]:
        return self.store.load(self.spec)

    @cached_property
    def checkpoints(self) -> np.ndarray:
        """The steps after which checkpoints were kept (`keep=`), (S,), from 0 to the last; of a search by episodes, how
        many of these were over. Raises ArgumentError where there are none."""
        return self._course["steps"].numpy()

    @property
    def has_checkpoints(self) -> bool:
        """Whether any were kept."""
        return self.store.has_course(self.spec, 1)

    @cached_property
    def _course(self) -> dict[str, Tensor]:
        if (course := self.store.course(self.spec)) is None:
            call = f"lab.{'search' if is_search(self.spec) else 'train'}(…, keep=20)"
            raise ArgumentError(
                f"no checkpoints of {self.spec.task_name}, {self.key[:12]}, were kept: {call} trains it again and keeps"
                " them; it stays what it is"
            )
        return course

    def _learned(self, step: int) -> dict[str, Tensor]:
        """What a checkpoint has, (1, …) each."""
        steps = self.checkpoints.tolist()
        if check_whole("step", step, 0) not in steps:
            raise ArgumentError(f"step={step}: checkpoints were kept after {', '.join(map(str, steps))}")
        place = steps.index(step)
        return {name: tensor[place : place + 1] for name, tensor in tensors_of(self._course).items()}


@dataclass(frozen=True, eq=False, repr=False)
class Run(Stored, Drawn):
    """One trained model: its scores during training, its weights, where it comes from. Read from the store when asked.

    >>> import lab
    >>> run = lab.train("memorize", mlp="gelu", seeds=1, scale="smoke", progress=False)[0]
    >>> run.accuracy_on("test").shape == run.steps.shape, run.diverged, type(run.model()).__name__
    (True, None, 'Transformer')
    """

    spec: RunSpec

    def __repr__(self) -> str:
        said = f"run of {self.spec.task_name}, seed {self.spec.seed}, {self.spec.recipe.last} steps"
        return f"{said}{_end([self])}"

    @property
    def steps(self) -> np.ndarray:
        """Steps at which it was evaluated, (T,)."""
        return self._stored[0]["steps"]

    @property
    def loss(self) -> np.ndarray:
        """Training loss, mean over the steps since the evaluation before, (T,): nats; for values, squared error."""
        return self._stored[0]["loss"]

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Everything measured at these steps, each (T,), by the name <score>_<split>: "accuracy_test", "r2_ood", …"""
        return {name: values for name, values in self._stored[0].items() if name not in ("steps", "loss")}

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy, 0 to 1, (T,), on the first split that was evaluated: `test`, unless asked otherwise."""
        return self.accuracy_on(self.spec.evaluate[0])

    def accuracy_on(self, split: str) -> np.ndarray:
        """Accuracy, 0 to 1, (T,), on a split that it was measured on during training; ArgumentError for any other."""
        return self.score("accuracy", split)

    def score(self, name: str, split: str) -> np.ndarray:
        """A score ("accuracy", "r2", …), (T,), on a split that it was measured on during training; ArgumentError for
        any other.
        """
        if f"{name}_{split}" in self.scores:
            return self.scores[f"{name}_{split}"]
        pairs = [self._named(measured) for measured in self.scores]
        splits = dict.fromkeys(of for _, of in pairs)
        if not isinstance(split, str) or split not in splits:
            raise ArgumentError(
                f"split {shown(split)} was not evaluated during training; there are: {', '.join(splits)}"
            )
        known = ", ".join(measured for measured, of in pairs if of == split)
        raise ArgumentError(f"{self.spec.task_name} is not measured by {shown(name)}; there are: {known}")

    def _named(self, measured: str) -> tuple[str, str]:
        """A score and its split, of a name that joins them."""
        for split in sorted(self.spec.evaluate, key=len, reverse=True):
            if measured.endswith(f"_{split}"):
                return measured.removesuffix(f"_{split}"), split
        name, _, split = measured.rpartition("_")
        return name, split

    def first_step(self, level: float = 0.95, split: str = "test") -> float:
        """The first step with this accuracy (0 to 1) on a split, on straight lines between evaluations; NaN: none."""
        return first_step(self.steps, self.accuracy_on(split), check_number("level", level, 0, 1))

    @property
    def diverged(self) -> tuple[int, float] | None:
        """Step and value of the first loss that was not finite, or None. NaN: of a weight, seen at an evaluation."""
        note = self._stored[2]["diverged"]
        return None if note is None else (note[0], float(note[1]))

    @property
    def notes(self) -> dict:
        """Device, wall time in seconds and size of the fleet it was trained in."""
        return self._stored[2]

    def model(self, step: int | None = None) -> nn.Module:
        """The trained model, with a run axis of length 1; as it was after a step, one of `checkpoints`.

        On a table its weights are those that were kept, a mean over some steps: of the best evaluation on `val`, or
        whichever the recipe says. Its scores are those of that evaluation, which need not be the last. A run that
        diverged before any has weights that are NaN.
        """
        return restored(self.spec, self.store, self._stored[1] if step is None else self._learned(step))

    @property
    def trajectory(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights on the way: steps (S,), and after each the weights (S, P), flat, in the order of
        `model().parameters()` without knots; every so many steps (`trajectory=`), or as checkpoints (`keep=`).

        They are those of training itself; on tables, what is evaluated and stored as the run is a mean over its last
        steps, at the best evaluation. Raises ArgumentError for a run that did not keep them.
        """
        if (path := self._stored[1].get("trajectory")) is not None:
            return np.arange(len(path)) * self.spec.recipe.trajectory, path.numpy()
        if not self.has_checkpoints:
            said = "this run's weights were not remembered on its way; train it with keep=20"
            raise ArgumentError(f"{said}{', or trajectory=' if hasattr(self.spec.recipe, 'trajectory') else ''}")
        weights = tensors_of(self._course)
        names = [name for name, _ in self.model().named_parameters() if name in weights]
        steps = self.checkpoints
        return steps, torch.cat([weights[name].reshape(len(steps), -1) for name in names], 1).numpy()


class Runs(RunList[Run], Drawn):
    """Runs of one task and shape, one for each seed, as `lab.train` returns them. runs[i] is a `Run`.

    >>> import lab
    >>> runs = lab.train("memorize", mlp="gelu", seeds=2, scale="smoke", progress=False)
    >>> runs.accuracy.shape == (2, len(runs.steps)), runs[0].spec.seed, len(runs[1:])
    (True, 0, 1)
    """

    of, named = Run, "lab.Run"

    def __repr__(self) -> str:
        if not len(self):
            return "no runs"
        kinds = list(dict.fromkeys((run.spec.task_name, run.spec.recipe.last, run.spec.evaluate) for run in self))
        said = f"{len(self)} {'runs' if len(self) > 1 else 'run'} of {', '.join(dict.fromkeys(k[0] for k in kinds))}"
        return said if len(kinds) > 1 else f"{said}, {kinds[0][1]} steps{_end(self)}"

    @property
    def steps(self) -> np.ndarray:
        """Steps of evaluation, (T,)."""
        return self[0].steps

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy by run and step, (R, T), 0 to 1."""
        return self._table([run.accuracy for run in self])

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Every score by run and step, (R, T), by <score>_<split>."""
        return {name: self._table([run.scores[name] for run in self]) for name in self[0].scores}

    @property
    def table(self) -> pd.DataFrame:
        """One row a run and evaluation: task, seed, step, loss (of training), every score, whether the run diverged.

        >>> import lab
        >>> table = lab.train("memorize", mlp="gelu", seeds=2, scale="smoke", progress=False).table
        >>> list(table), len(table)
        (['task', 'seed', 'step', 'loss', 'accuracy_test', 'diverged'], 6)
        >>> int(table.groupby("seed").tail(1).step.max())  # the last evaluation of each run
        6
        """
        parts = []
        for run in self:
            row: dict[str, Any] = {"task": run.spec.task_name, "seed": run.spec.seed, "step": run.steps}
            parts.append(pd.DataFrame(row | {"loss": run.loss} | run.scores | {"diverged": run.diverged is not None}))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _table(self, scores: list[np.ndarray]) -> np.ndarray:
        if len(lengths := sorted({len(of_run) for of_run in scores})) != 1:
            said = f"runs of {lengths[0]} to {lengths[-1]} evaluations have" if lengths else "no runs have"
            raise ArgumentError(f"{said} no table of runs × steps; look at single ones, as in runs[0].accuracy")
        return np.stack(scores)


def _end(runs: Sequence[Run]) -> str:
    """The last value of the first score, in words; of several runs the mean, without diverged ones. Below it a line
    where the function is too narrow for its inputs. Empty where the store no longer has the runs."""
    spec = runs[0].spec
    split = spec.evaluate[0]
    try:
        scores, share = [run.scores for run in runs], max(run.notes.get("beyond") or 0.0 for run in runs)
    except LabError:
        return ""
    names = [name for name in sorted(scores[0], key=lambda name: "accuracy" not in name) if name.endswith(f"_{split}")]
    ends = np.array([of_run[names[0]][-1] for of_run in scores], float)
    finite, mean = ends[np.isfinite(ends)], " (mean)" if len(ends) > 1 else ""
    value = f"{finite.mean():.3g}" if len(finite) else "not finite"
    died = sum(run.diverged is not None for run in runs)
    diverged = f", {died} diverged" if died else ""
    narrow = next((part for part in spec.model.parts.values() if hasattr(part, "low")), None)
    line = f": {names[0].removesuffix(f'_{split}')} {value} on {split} at the end{mean}{diverged}"
    return "\n".join([line, *beyond_knots("these models", share, narrow)])


def beyond_knots(whose: str, share: float | None, function: Any) -> list[str]:
    """A line on the share of a function's inputs that lie beyond its knots, from `low` to `high`; none where it is
    small, or not known."""
    if share is None or share <= MUCH:
        return []
    knots = f"[{function.low:g}, {function.high:g}]" if hasattr(function, "low") else "its knots"
    return [
        f"{100 * share:.0f} % of what the function gets in {whose} lies beyond {knots}, where it is constant; scale X, "
        "or give it wider knots (low=, high=)"
    ]


def first_step(steps: np.ndarray, values: np.ndarray, level: float) -> float:
    """The step at which values first reach a level, on straight lines between evaluations; NaN where they never do.

    >>> first_step(np.array([10, 20]), np.array([0.25, 0.75]), 0.5)
    15.0
    """
    reached = np.flatnonzero(values >= level)
    if not len(reached):
        return float("nan")
    at = reached[0]
    if at == 0:
        return float(steps[0])
    (x0, x1), (y0, y1) = steps[at - 1 : at + 1], values[at - 1 : at + 1]
    return float(x0 + (x1 - x0) * (level - y0) / (y1 - y0))


def warn_of_revisions(runs: Iterable[Run]) -> None:
    """A LabWarning where runs that are looked at together are of several revisions of the lab's arithmetic."""
    try:
        check_one_revision([(run.spec, run.store.notes(run.spec)) for run in runs if run.store.has(run.spec)])
    except MixedRevisionsError as error:
        warnings.warn(str(error).replace("would be", "are"), LabWarning, stacklevel=3)


def complete(
    specs: Sequence[Spec],
    store: Store,
    device: str = "auto",
    progress: bool = True,
    workers: int | None = None,
    cluster: Client | None = None,
    urgency: Mapping[Spec, float] | None = None,
    announce: bool = True,
    keep: int | None = None,
) -> None:
    """`engine.complete` with a progress bar in training steps, or a line now and then where stderr is a file. What will
    take more than 15 seconds says so, unless the caller has (`announce`). Raises MixedRevisionsError where the store
    has some of them from another revision of the lab's arithmetic. keep: how many checkpoints of each are kept; one
    line says which are trained again for that."""
    store.check_one_revision(specs)
    if keep is not None:
        keep = check_whole("keep", keep, 2, MOST_KEPT)
        again = [spec for spec in specs if store.has(spec) and not store.has_course(spec, keep)]
        if again:
            said = f"{len(again)} of {len(specs)} are in the store without {keep} checkpoints, and are trained again"
            print(f"{said} to keep these; their results stay", file=sys.stderr)
    if cluster is None:
        choose_device(device)  # before there is a bar
    with Progress(announce) if progress else nullcontext() as report:
        engine.complete(specs, store, device, workers, report, cluster, urgency, keep)
