"""What is trained, by the class of its spec: fleets of runs, searches by two losses and by episodes, fine-tunings."""

import time
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any, cast

import numpy as np
import torch

from lab import kinds
from lab.data.sentences import labelled
from lab.devices import gpu_memory
from lab.errors import ArgumentError, check_choice
from lab.jobs.job import TRAINERS, Job, Report, Trainer, jobs_of, keep, perform, run_with_checkpoints, wait
from lab.models.small_language import SmallLanguageModel
from lab.probes.language import reader_of
from lab.resolve import resolve
from lab.spec import EpisodeSpec, FineTuning, ModuleSearch, RunSpec, SearchSpec, SharedSearch, TwoLossSpec
from lab.store import Store
from lab.training import episodes, two_loss
from lab.training.descent_fleet import fleet_of
from lab.training.finetuning import TASKS, Tuner, check_tuning
from lab.training.fleet import Fleet, note_of, restored, train
from lab.training.inner_task import learns
from lab.training.modules.fleet import ModulesSearched
from lab.training.perceptron import ONE_CALL, chosen_steps

CPU_FLEET_TOKENS = 4_000  # see fleet_size
# memory a fleet needs for each token × layer × channel of a step: activations kept for the backward pass
GPU_BYTES = 400
LOGIT_BYTES = 16  # and for each logit: its value, its softmax, their gradients, in float32
EXAMPLES = 2_000  # of a task of GLUE, roughly: for the order of jobs alone


def _several(specs: Sequence[Any], one: str, more: str) -> str:
    return f"{len(specs):,} {one if len(specs) == 1 else more}"


def check_run(spec: RunSpec) -> None:
    """As `Trainer.check`."""
    kinds.check_run(spec)
    chosen_steps()  # a wrong word in the environment is said before searches are trained


def most_runs(spec: RunSpec, device: str) -> int:
    """As `Trainer.most`."""
    if (most := kinds.side_by_side(spec.model, spec, device)) is not None:
        return most
    shape = kinds.sizes(spec.task, spec.task_seed)
    logits = shape.outputs if shape.form == "tokens" else 0
    return fleet_size(spec.model, kinds.batch_size(spec), shape.trained or shape.length, device, logits)


def fleet_size(model: Any, batch: int, length: int, device: str, logits: int = 0) -> int:
    """How many runs of this shape train side by side fastest. logits: numbers that are predicted for each token.

    CPU: stacking saves Python's overhead, which matters only while a step's tensors are small; past CPU_FLEET_TOKENS
    (tokens × width / 32; `benchmarks/fleet.py` measures the crossing) one run after the other is as fast, and
    leaves more fleets to share between the processes.
    """
    if device == "cuda":
        token = GPU_BYTES * max(1, model.layers) * model.activation_memory(length) + LOGIT_BYTES * logits
        return max(1, int(0.7 * gpu_memory() / (batch * length * token)))
    return max(1, int(CPU_FLEET_TOKENS / (batch * length * model.width / 32)))


def size_of(spec: Any) -> float:
    """As `Job.size`."""
    return float(spec.recipe.last * kinds.batch_size(spec) * spec.model.width * max(1, spec.model.layers))


def train_runs(job: Job, store: Store, report: Report) -> None:
    """As `Trainer.train`. Each run has its share of the time."""
    specs = cast(Sequence[RunSpec], job.specs)
    parts = [tuple(resolve(part, store) for part in spec.model.parts.values()) for spec in specs]
    fleet = fleet_of(specs, parts, job.device)

    def tell(fleet: Fleet) -> None:
        report(fleet.step * len(specs))

    notes = run_with_checkpoints(job, store, fleet, train, tell, lambda: note_of(fleet))
    if len(specs) > 1:  # a kill between two of the saves below must not leave the rest to another fleet
        keep(job, store, fleet, notes)
    notes |= {"seconds": notes["seconds"] / len(specs), "fleet": len(specs)}
    arrays = fleet.history.arrays()
    for run, spec in enumerate(specs):
        if store.has(spec) and not job.keep:  # trained again for its checkpoints: other numbers are said
            continue
        history = {name: array if name == "steps" else array[:, run] for name, array in arrays.items()}
        diverged = None if fleet.died[run] < 0 else [int(fleet.died[run]), repr(float(fleet.last_value[run]))]
        run_notes = notes | {"diverged": diverged} | fleet.run_notes(run) | fleet.beyond_of([run])
        store.save(spec, history, fleet.run_weights(run), run_notes)


def count_searches(specs: Sequence[Any]) -> str:
    """As `Trainer.counted`, with the models of each, whose steps count."""
    models = {spec.models for spec in specs}
    of = f" of {models.pop()} models{' each' if len(specs) > 1 else ''}" if len(models) == 1 else ""
    return _several(specs, "search", "searches") + of


def train_two_losses(kind: Any, job: Job, store: Store, report: Report) -> None:
    """As `Trainer.train`. kind: the class that searches."""
    (spec,) = job.specs
    others = {name: part for name, part in spec.model.parts.items() if not kind.learns(spec, name)}
    state = kind(spec, job.device, {name: resolve(part, store) for name, part in others.items()})

    def tell(state: two_loss.Search) -> None:
        report(state.step * len(state.specs))

    notes = run_with_checkpoints(job, store, state, train, tell) | state.run_notes(0)
    knots = {part: spline.values.detach().cpu() for part, spline in state.splines.items()}
    history = state.history.arrays() | {"search_loss": torch.tensor(state.search_loss).numpy(), "died": state.died}
    store.save(spec, history, knots, notes | state.beyond_of(range(len(state.specs))))


def two_losses(kind: Any) -> Trainer:
    """Searches by a class: `two_loss.Search`, or one that has its methods."""
    return Trainer(
        check=kind.check,
        steps=lambda spec: spec.recipe.last * spec.models,
        size=size_of,
        words=lambda specs: kind.description(specs[0]),
        counted=count_searches,
        train=partial(train_two_losses, kind),
    )


def train_episodes(job: Job, store: Store, report: Report) -> None:
    """As `Trainer.train`. The runs that decide stay in the store like any other."""
    spec = cast(EpisodeSpec, job.specs[0])
    others = {name: part for name, part in spec.model.parts.items() if not learns(spec, name)}
    given = {name: resolve(part, store) for name, part in others.items()}
    state = episodes.Episodes(spec, job.device, given)

    def tell(state: episodes.Episodes) -> None:
        report(state.steps, state.words())

    def steps() -> str:
        return ONE_CALL if any(inner.by_kernel for inner in state.inner_tasks) else ""

    notes = run_with_checkpoints(job, store, state, train, tell, steps)
    keep(job, store, state, notes)  # a kill among the runs below must not bring the search back
    start, learned = time.perf_counter(), state.functions()
    listed = episodes.selection_runs(spec, learned, given)
    wanted, done = [run for runs in listed for run in runs], episodes.steps(spec) - episodes.selection_steps(spec)
    words = "trains with the learned functions"
    while missing := [run for run in wanted if not store.has(run)]:
        ended = False
        for members in jobs_of(store.free(missing), job.device, store):
            if perform(members, lambda steps, _="", done=done: report(done + steps, words)):
                ended, done = True, done + members.steps
        if not ended:
            wait(missing, store, partial(report, done))
    results, remarks = [], []
    for runs in listed:
        stored = [store.load(run) for run in runs]
        results.append([episodes.result(run, s[0], s[2]) for run, s in zip(runs, stored, strict=True)])
        remarks.append({name: stored[0][2][name] for name in ("beyond", "said") if name in stored[0][2]})
    winner = episodes.best(results)
    weights = {name: torch.tensor(part.values) for name, part in learned[winner].items()}
    for restart, parts in enumerate(learned):
        weights |= {f"{name}@{restart}": torch.tensor(part.values) for name, part in parts.items()}
    history = state.arrays() | {"died": state.died, "stopped": state.stopped, "results": np.array(results)}
    notes |= remarks[winner] | {"winner": winner, "seconds": notes["seconds"] + time.perf_counter() - start}
    store.save(spec, history, weights, notes)


def check_finetuning(spec: FineTuning) -> None:
    """As `Trainer.check`; the task's data have to be here."""
    check_choice("task", spec.task, TASKS)
    if not isinstance(spec.model, SmallLanguageModel):
        said = f"the run is of {spec.pretrained.task_name} with a {type(spec.model).__name__}"
        raise ArgumentError(f"{said}; give one of a GPT-Neo or RoBERTa, whose keys `lab store list` prints")
    kinds.check_run(spec.pretrained)
    check_tuning(spec.tuning)
    for part in ("train", "val"):
        labelled(spec.task, part)


def finetuning_steps(spec: FineTuning) -> int:
    """As `Trainer.steps`."""
    return spec.tuning.epochs * ceil(len(labelled(spec.task, "train")[: spec.examples]) / spec.tuning.batch)


def train_finetuning(job: Job, store: Store, report: Report) -> None:
    """As `Trainer.train`. The result has the course of the tuning, and the weights after the epoch that counts."""
    spec = cast(FineTuning, job.specs[0])
    tuner = Tuner(
        restored(spec.pretrained, store).to(job.device),  # type: ignore[arg-type]  # check saw its kind
        reader_of(spec.pretrained.task),
        spec.task,
        labelled(spec.task, "train")[: spec.examples],
        labelled(spec.task, "val"),
        seed=spec.seed,
        tuning=spec.tuning,
    )
    notes = run_with_checkpoints(job, store, tuner, train, lambda tuner: report(tuner.step))
    columns = ("epoch", "loss", "accuracy", "score", "constant", "best")
    history = {name: tuner.table[name].to_numpy(float) for name in columns}
    store.save(spec, history, tuner.best, notes | {"diverged": None})


TRAINERS.update(
    {
        RunSpec: Trainer(
            check=check_run,
            steps=lambda spec: spec.recipe.last,
            size=size_of,
            words=lambda specs: _several(specs, "run", "runs"),
            counted=lambda specs: _several(specs, "run", "runs"),
            train=train_runs,
            batch_key=kinds.fleet_key,
            most=most_runs,
            rank=1,
        ),
        SearchSpec: two_losses(two_loss.Search),
        SharedSearch: two_losses(two_loss.Shared),
        TwoLossSpec: two_losses(two_loss.TableSearch),
        ModuleSearch: two_losses(ModulesSearched),
        EpisodeSpec: Trainer(
            check=episodes.check,
            steps=episodes.steps,  # of the runs that decide, too
            size=lambda spec: float(episodes.steps(spec) * episodes.pool(spec) * spec.model.width * spec.model.layers),
            words=lambda specs: "search by episodes",
            counted=lambda specs: _several(specs, "search by episodes", "searches by episodes"),
            train=train_episodes,
            threads=lambda spec: spec.retrain.threads,
        ),
        FineTuning: Trainer(
            check=check_finetuning,
            steps=finetuning_steps,
            size=lambda s: float(s.tuning.epochs * (s.examples or EXAMPLES) * s.tuning.length * s.model.width),
            words=lambda specs: "fine-tuning",
            counted=lambda specs: _several(specs, "fine-tuning", "fine-tunings"),
            train=train_finetuning,
            rank=2,  # after the runs that it begins with
            threads=lambda spec: 1,
        ),
    }
)
