"""A fleet: runs of one shape that train side by side; and the training loop.

The runs differ in seed and in the values of their non-linearities; with the recipe `AdamWCosine` also in rate, decay
and warm-up; with `ConstantRate` in rate and prefactor (`lab.training.descent_fleet`); and on tables and stream tasks
also in the task, where its examples have one shape.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, singledispatch
from typing import Protocol, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError
from lab.kinds import Batch, batch_key, check_run, optimizer, sizes, training_data
from lab.kinds import build as build_model
from lab.models import kinds  # noqa: F401  the models that come with the lab
from lab.models.mlp import InputFunctions
from lab.nonlinearity.functions import named
from lab.nonlinearity.part import as_module
from lab.nonlinearity.spline import Spline
from lab.probes.reading import evaluating, full_precision
from lab.resolve import resolve
from lab.spec import UNCHANGED, Knots, KnotTable, ModuleSpec, Resolved, RunSpec, key
from lab.store import Store
from lab.training import blocks, constant_rate, perceptron, rows, sequences, streams, text  # noqa: F401  tasks, recipes
from lab.training.optimizers import of_runs, trainable
from lab.training.perceptron import ONE_CALL, chosen_steps, kernel_of, say_plain
from lab.training.steps import Compiled
from lab.versions import ARITHMETIC, arithmetic


class Training(Protocol):
    """What `train` takes to its end."""

    @property
    def over(self) -> bool:
        """Whether all steps are taken."""

    def advance(self) -> None:
        """Take one step."""


T = TypeVar("T", bound=Training)


class Fleet:
    """The state of R runs in training: models, optimizer, data, history, and which runs have diverged.

    specs: with equal keys (`lab.kinds.batch_key`). parts: for each run its resolved non-linearities, in the order of
    `model.parts`, each a name or the values of a function. Raises ArgumentError, a ValueError, where recipes differ in
    what their optimizer has for all runs, as the rate of an `AdamTrapezoid`.
    """

    resumes = True  # whether training goes on from `state`
    arrays: tuple[str, ...] = ("died", "last_value")  # attributes with a value for each run, for a checkpoint

    def __init__(self, specs: Sequence[RunSpec], parts: Sequence[tuple[Resolved, ...]], device: str = "cpu"):
        self.specs, self.device = list(specs), torch.device(device)
        self.recipe = specs[0].recipe
        check_recipes(specs)
        modules = [build(same, specs[0].model) for same in zip(*parts, strict=True)]
        self.model = model_of(self.specs, modules).to(self.device)
        self.parts = dict(zip(specs[0].model.parts, modules, strict=True))  # its non-linearities by name
        self.weights = trainable(self.model)
        self.finite = [bool(weight.isfinite().all()) for weight in self.weights]  # all but a mask's infinities
        self.optimizer = optimizer(self.recipe, [spec.recipe for spec in specs], self.model)
        self.data = training_data(specs[0].task, self.specs, self.device)
        self.history = History(len(specs), self.data.columns)
        self.step = 0
        self.died = np.full(len(specs), -1)  # step at which a run's loss, or a weight, was no longer finite
        self.last_value = np.full(len(specs), np.nan)  # and that loss

    def batch(self, step: int) -> Batch:
        """The training batch of each run at this step: `outputs` of a model, and their `loss`."""
        return self.data.at(step)

    @cached_property
    def losses(self) -> Callable[[Batch], Tensor]:
        """The losses (R,) of a batch, ready for backward()."""
        asked = chosen_steps()
        if asked == "kernel" and not self.blocks_lack:
            return blocks.Losses(self.model)
        return Compiled(self) if asked == "compiled" else self.plain_losses

    def plain_losses(self, batch: Batch) -> Tensor:
        """`losses` by torch's operators, one by one."""
        return batch.loss(batch.outputs(self.model))

    @cached_property
    def blocks_lack(self) -> str:
        """Why the kernel of transformers does not take this model's blocks; empty where it does."""
        if not os.environ.get("LAB_STEPS") and arithmetic(self.specs[0]) == str(ARITHMETIC):
            return "the revision of the arithmetic is that of plain steps"
        return blocks.refusal(self.model, sizes(self.specs[0].task, self.specs[0].task_seed))

    @cached_property
    def kernel(self) -> perceptron.Kernel | None:
        """Takes whole steps in one call, where it can; where it was asked for and cannot, a line says why."""
        if hasattr(self.model, "stack"):
            say_plain(self.blocks_lack if chosen_steps() == "kernel" else "")
            return None
        return kernel_of(self.model, self.optimizer, self.batch(self.step))

    def set_rates(self, step: int) -> None:
        self.optimizer.set_rates([spec.recipe for spec in self.specs], step)

    def scores(self) -> dict[str, np.ndarray]:
        """Scores of an evaluation, each (R,), NaN for runs that have diverged."""
        alive = self.living
        return {name: np.where(alive, values, np.nan) for name, values in self.data.scores(self.model).items()}

    def watch(self, loss: Tensor, step: int) -> Tensor:
        """Record runs whose loss (R,) is not finite; return the sum over the others, ready for backward()."""
        finite = torch.isfinite(loss)
        if not bool(finite.all()):
            for run in np.flatnonzero(~finite.cpu().numpy() & (self.died < 0)):
                self.died[run], self.last_value[run] = step, float(loss[run].detach())
        return loss.sum() if self.living.all() else loss[self.alive].sum()

    @property
    def over(self) -> bool:
        """Whether all steps are taken."""
        return self.step >= self.recipe.last

    @property
    def living(self) -> np.ndarray:
        """Which runs train on, (R,) bool."""
        return self.died < 0

    @property
    def alive(self) -> Tensor:
        """`living`, on the device."""
        return torch.from_numpy(self.living).to(self.device)

    def freeze(self) -> None:
        """Set gradients and moments of diverged runs to zero: they keep the weights that gave the non-finite loss."""
        if self.living.all():
            return
        alive = self.alive
        for weight in self.weights:
            if weight.grad is None:  # the loss does not depend on it: it stays where it is
                continue
            keep = of_runs(alive, weight)
            weight.grad = torch.where(keep, weight.grad, 0.0)
            for moment in self.optimizer.state[weight].values():
                if moment.shape == weight.shape:
                    moment.copy_(torch.where(keep, moment, 0.0))
        self.optimizer.hold(alive.tolist())

    def advance(self) -> None:
        """Take a step, and evaluate where the recipe says so."""
        self.set_rates(self.step)
        batch = self.batch(self.step)
        loss = self.losses(batch) if self.kernel is None else self.kernel(batch, self.alive)  # (R,)
        total = self.watch(loss, self.step)  # a run whose loss is not finite is left out from here on
        if self.kernel is None:
            self.optimizer.zero_grad()
            total.backward()
            self.freeze()
            self.optimizer.step()

        self.note_step(loss)
        if self.step % self.recipe.every == 0 or self.over:
            self.measure()
            if not self.living.any():
                self.skip()

    def note_step(self, loss: Tensor) -> None:
        """Record a step that was taken, and the losses (R,) before it; NaN of runs that train no more."""
        self.history.add(loss if self.living.all() else torch.where(self.alive, loss.detach(), math.nan))
        self.step += 1

    def measure(self) -> None:
        """Evaluate, and end an interval of the history."""
        self.watch_weights()
        self.history.close(self.step, self.scores())

    def watch_weights(self) -> None:
        """Record runs with a weight that is no longer finite: the largest of NaNs is class 0, which may be right."""
        watched = [weight for weight, finite in zip(self.weights, self.finite, strict=True) if finite]
        fine = [weight.detach()[..., None].isfinite().flatten(1).all(1).cpu().numpy() for weight in watched]
        for run in np.flatnonzero(~np.all(fine, 0) & (self.died < 0)):
            self.died[run] = self.step

    def skip(self) -> None:
        """Go to the end, where no run trains on any more. Here runs that have diverged are evaluated, too."""

    def state(self) -> dict[str, Tensor]:
        """Everything that a bit-for-bit continuation needs, as named tensors."""
        tensors = {f"weight.{i}": w.detach() for i, w in enumerate(self.weights)}
        for i, weight in enumerate(self.weights):
            tensors |= {f"adam.{i}.{name}": value for name, value in self.optimizer.state[weight].items()}
        tensors |= {name: torch.from_numpy(getattr(self, name)) for name in self.arrays}
        return tensors | {"step": torch.tensor(self.step)} | self.history.state()

    def restore(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            for i, weight in enumerate(self.weights):
                weight.copy_(tensors[f"weight.{i}"])
                of = {name.split(".")[2]: t for name, t in tensors.items() if name.startswith(f"adam.{i}.")}
                self.optimizer.state[weight] = {name: t.to(weight.device, copy=True) for name, t in of.items()}
        for name in self.arrays:
            setattr(self, name, tensors[name].numpy().copy())
        self.step = int(tensors["step"])
        self.history.restore(tensors)

    def named_weights(self) -> dict[str, Tensor]:
        """The weights of all runs by name, (R, …) each; knots are not weights, the spec has them."""
        return {name: p.detach() for name, p in self.model.named_parameters() if p.requires_grad}

    learned = named_weights  # what checkpoints keep; those of a search, its functions

    def run_weights(self, run: int) -> dict[str, Tensor]:
        """Weights of one run by name, each with a run axis of length 1."""
        return {name: weight[run : run + 1].cpu().clone() for name, weight in self.named_weights().items()}

    def run_notes(self, run: int) -> dict:
        """Notes of a run, which are stored with its result."""
        return {}

    @cached_property
    def beyond(self) -> list[float | None]:
        """By run, the share of its splines' inputs in the last batch that lies beyond their knots, where they are
        constant; None without a spline."""
        counts, runs = np.zeros((2, len(self.specs))), len(self.specs)
        of_inputs = [module.phi for module in self.model.modules() if isinstance(module, InputFunctions)]

        def count(phi: Spline, given: tuple[Tensor, ...]) -> None:
            x = given[0]
            in_front = x.dim() > 1 and len(x) == runs and not any(phi is other for other in of_inputs)
            if in_front and not torch._C._are_functorch_transforms_active():  # else it is not known whose is what
                counts[0] += ((x < phi.low) | (x > phi.high)).flatten(1).sum(1).cpu().numpy()
                counts[1] += x[0].numel()

        with counting(self.model, count) as any_spline:
            if any_spline:
                self.batch(max(0, self.step - 1)).outputs(self.model)
        return [float(out / of) if of else None for out, of in counts.T]

    def beyond_of(self, runs: Sequence[int]) -> dict[str, float]:
        """The mean of `beyond` over some runs, for notes; nothing where these have no spline."""
        shares = [share for run in runs if (share := self.beyond[run]) is not None]
        return {"beyond": sum(shares) / len(shares)} if shares else {}


def check_recipes(specs: Sequence[RunSpec]) -> None:
    """Raise ArgumentError, which names the settings, for recipes that cannot train in one fleet."""
    recipes = list({batch_key(spec.recipe, spec): spec.recipe for spec in specs}.values())
    if len(recipes) > 1:
        settings = [{"recipe": type(recipe).__name__, **vars(recipe)} for recipe in recipes]
        values = {name: [each.get(name) for each in settings] for name in settings[0]}
        said = "; ".join(f"{name}: {', '.join(map(repr, had))}" for name, had in values.items() if len(set(had)) > 1)
        raise ArgumentError(f"runs of one fleet need recipes that can be trained together; these have {said}")


@contextmanager
def counting(model: nn.Module, count: Callable[[Spline, tuple[Tensor, ...]], None]) -> Iterator[bool]:
    """Within the block, in evaluation mode and without gradients, `count` is called with each spline of a model and its
    inputs, as a forward pre-hook; gives whether there is a spline."""
    hooks = [m.register_forward_pre_hook(count) for m in model.modules() if isinstance(m, Spline)]
    try:
        with torch.no_grad(), evaluating(model):
            yield bool(hooks)
    finally:
        for hook in hooks:
            hook.remove()


@singledispatch
def fleet_class(recipe: object) -> type[Fleet]:
    """The class of fleets with this kind of recipe."""
    return Fleet


class History:
    """What was measured during training: step, mean training loss since the evaluation before, scores.

    columns: names of the scores, as far as they are known before the first evaluation.
    """

    def __init__(self, runs: int, columns: Sequence[str] = ()):
        self.steps: list[int] = []
        self.loss: list[np.ndarray] = []
        self.scores: dict[str, list[np.ndarray]] = {name: [] for name in columns}
        self._sum, self._count = torch.zeros(runs, dtype=torch.float64), 0

    def add(self, loss: Tensor) -> None:
        """Add the training losses (R,) of a step."""
        self._sum = self._sum.to(loss.device) + loss.detach()
        self._count += 1

    def close(self, step: int, scores: dict[str, np.ndarray]) -> None:
        """End an interval at `step`, with scores (R,) by name, the same names at every step."""
        self.steps.append(step)
        self.loss.append((self._sum.cpu() / max(1, self._count)).numpy())
        for name, values in scores.items():
            self.scores.setdefault(name, []).append(values)
        self._sum, self._count = torch.zeros_like(self._sum), 0

    def arrays(self) -> dict[str, np.ndarray]:
        """steps (T,), loss (T, R), and each score (T, R), in the order of names: a checkpoint keeps no other."""
        runs = len(self._sum)
        stacked = {name: np.array(v, dtype=float).reshape(-1, runs) for name, v in sorted(self.scores.items())}
        return {"steps": np.array(self.steps, dtype=np.int64), "loss": np.array(self.loss).reshape(-1, runs)} | stacked

    def state(self) -> dict[str, Tensor]:
        """For a checkpoint: `arrays`, and the open interval."""
        tensors = {f"history.{name}": torch.from_numpy(array) for name, array in self.arrays().items()}
        return tensors | {"pending.sum": self._sum.cpu(), "pending.count": torch.tensor(self._count)}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        series = {n.removeprefix("history."): list(v.numpy()) for n, v in tensors.items() if n.startswith("history.")}
        self.steps, self.loss = [int(step) for step in series.pop("steps")], series.pop("loss")
        self.scores = series
        self._sum, self._count = tensors["pending.sum"].clone(), int(tensors["pending.count"])


def model_of(specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    """Freshly initialized models of a fleet. modules: the non-linearities, in the order of `spec.model.parts`."""
    check_run(spec := specs[0])
    return build_model(spec.model, sizes(spec.task, spec.task_seed), specs, modules)


def build(parts: Sequence[Resolved], model: object = None) -> nn.Module | None:
    """The module for the non-linearity of R runs; None for softmax. model: a `ModuleSpec` has each run's function in
    the run's own module, all others one with a run axis."""
    first, is_same = parts[0], len(set(parts)) == 1  # one function for all runs: less memory to look through
    forms = {(p.low, p.high, np.shape(p.values)) if isinstance(p, Knots | KnotTable) else p for p in parts}
    if len(forms) > 1:
        wanted = "one name, one polynomial, or knots at the same places"
        raise ArgumentError(f"runs of one fleet need {wanted}; these have {forms}")
    if first in ("softmax", UNCHANGED):
        return None
    if isinstance(first, str) and not isinstance(model, ModuleSpec):
        return named(first, runs=len(parts))
    if not isinstance(first, Knots | KnotTable) or (is_same and isinstance(first, Knots)):
        return as_module(first)
    values = first.values if is_same else [cast(Knots | KnotTable, part).values for part in parts]
    kind = InputFunctions if isinstance(first, KnotTable) else Spline
    return kind(torch.tensor(values), first.low, first.high)


def note_of(fleet: Fleet) -> str:
    """The suffix of the kernel's name in the notes of the runs."""
    if fleet.kernel is not None:
        return ONE_CALL
    if isinstance(fleet.losses, blocks.Losses):
        return ", blocks in one call"
    return ", compiled steps" if isinstance(fleet.losses, Compiled) and fleet.losses.is_compiled else ""


def train(state: T, report: Callable[[T], bool] | None = None) -> T:
    """The training loop of fleets, searches and fine-tunings, from where they stand to their end.

    report: called after every step (a search by episodes: every episode); training stops there when it returns False,
    and can be taken up again.
    """
    while not state.over:
        state.advance()
        if report is not None and not report(state):
            break
    return state


def restored(spec: RunSpec, store: Store, stored: dict[str, Tensor] | None = None) -> nn.Module:
    """The model of a run, with a run axis of length 1. stored: its weights, where they have been read."""
    if stored is None:
        stored = store.load(spec)[1]
    modules = [build([resolve(part, store)], spec.model) for part in spec.model.parts.values()]
    model = model_of([spec], modules)
    weights = {name: weight for name, weight in stored.items() if name != "trajectory"}
    absent, unexpected = model.load_state_dict(weights, strict=False)
    names = {name for name, _ in model.named_parameters()}  # tied weights under their first name
    missing = [name for name in absent if name in names and "phi" not in name.split(".")]
    if unexpected or missing:
        differences = f"missing {missing}, unexpected {unexpected}"
        raise ValueError(f"run {key(spec)}: its weights do not fit its spec ({differences})")
    return model.requires_grad_(False)


@contextmanager
def torch_defaults() -> Iterator[None]:
    """torch as it is after its import, whatever a notebook has set: what a key stands for does not depend on that.

    Within the block, or the function that it decorates: gradients, also under `torch.inference_mode`; float32, the
    CPU where no device is named; products of float32 in full; neither autocast nor the search for anomalies, since the
    lab itself watches losses.

    >>> with torch.inference_mode(), torch_defaults():
    ...     torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    (True, False)
    """
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        if torch.is_anomaly_enabled():
            stack.enter_context(torch.autograd.set_detect_anomaly(False))
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        if torch.get_default_device().type != "cpu":  # the context costs something at every call
            stack.enter_context(torch.device("cpu"))
        if dtype != torch.float32:  # of all threads: nothing is put back that another one may have set
            stack.callback(torch.set_default_dtype, dtype)
            torch.set_default_dtype(torch.float32)
        stack.enter_context(full_precision(tf32=True))
        yield
