"""The kinds of runs: the model that a spec names, and what it trains on. To add a kind, add it here.

A run on an algorithmic task, named by a word, has a `ModelSpec`; one on a task whose examples are made as they are
needed (`lab.tasks.stream`) has a `HyperModel`; one on a table (`lab.tasks.table`) has a `Perceptron`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from lab import tasks
from lab.errors import ArgumentError
from lab.models.hyper import HyperTransformer
from lab.models.mlp import MLP
from lab.models.transformer import Transformer
from lab.spec import AdamW, EpisodeSpec, HyperModel, ModelSpec, RunSpec, SearchSpec
from lab.tasks.table import TableTask
from lab.training import rows
from lab.training.rows import Tables
from lab.training.sequences import Words
from lab.training.streams import Fresh


def model_of(specs: Sequence[RunSpec], modules: Sequence[nn.Module | None]) -> nn.Module:
    """Freshly initialized models of a fleet. modules: the non-linearities, in the order of `spec.model.parts`."""
    check(spec := specs[0])
    seeds = [spec.seed for spec in specs]
    if isinstance(spec.task, TableTask):
        return perceptrons(specs, modules)
    if isinstance(spec.task, str):
        task = tasks.load(spec.task, spec.task_seed)
        return Transformer(spec.model, len(task.vocabulary), task.max_length, seeds, *modules)
    task = spec.task
    return HyperTransformer(spec.model, task.inputs, task.outputs, task.length, task.positions, seeds, *modules)


def perceptrons(specs: Sequence[RunSpec], modules: Sequence[nn.Module]) -> MLP:
    """Perceptrons side by side; they may differ in their prefactor."""
    task, model = specs[0].task, specs[0].model
    named = dict(zip(model.parts, modules, strict=True))
    inputs = named.pop("inputs", None)
    phi = list(named.values()) if isinstance(model.phi, tuple) else named["phi"]
    factors = [spec.model.prefactor for spec in specs]
    prefactor = factors[0] if len(set(factors)) == 1 else torch.tensor(factors)
    sizes = [task.inputs, *[model.width] * model.layers, task.outputs]
    seeds, settings = [spec.seed for spec in specs], {"residual": model.residual, "spectral": model.spectral}
    return MLP(sizes, seeds, phi, model.scale, prefactor=prefactor, inputs=inputs, **settings)


def material(specs: Sequence[RunSpec], device: torch.device) -> Words | Fresh | Tables:
    """What a fleet trains on: `at(step)` is a batch, `scores(model)` what is measured, `columns` its names."""
    if isinstance(specs[0].task, TableTask):
        return Tables(specs, device)
    return (Words if isinstance(specs[0].task, str) else Fresh)(specs, device)


def length(spec: RunSpec) -> int:
    """Tokens of a sequence that it trains on; a row of a table counts as one."""
    if isinstance(spec.task, TableTask):
        return 1
    if isinstance(spec.task, str):
        return tasks.load(spec.task, spec.task_seed).training.tokens.shape[1]
    return spec.task.length


def batch(spec: RunSpec | SearchSpec) -> int:
    """Examples of a step."""
    if spec.recipe.batch is not None:
        return spec.recipe.batch
    return len(spec.task.split(spec.task_seed)["train"])


def pool(spec: EpisodeSpec) -> int:
    """Rows of an inner step of a search by episodes, at most, those of all restarts together."""
    splits = spec.tasks[0].split(spec.task_seed)
    count = sum(len(splits[name]) for name in spec.pool)
    return len(spec.restarts) * (count if spec.inner.batch is None else min(count, spec.inner.batch))


def shape(spec: RunSpec) -> tuple:
    """What the task gives the model, apart from its values: equal for tasks whose runs can train side by side."""
    if isinstance(spec.task, str):
        return spec.task, spec.task_seed
    if isinstance(spec.task, TableTask):
        return rows.shape(spec)
    task = spec.task
    return type(task).__name__, task.inputs, task.outputs, task.length, task.positions


def check(spec: RunSpec) -> None:
    """Say what does not fit together before anything is built."""
    if isinstance(spec.task, TableTask):
        return rows.check(spec)
    fresh = not isinstance(spec.task, str)
    if not isinstance(spec.model, HyperModel if fresh else ModelSpec):
        wanted = "HyperModel" if fresh else "ModelSpec"
        raise ArgumentError(f"the task {spec.task_name} needs a {wanted}, not a {type(spec.model).__name__}")
    if fresh and not isinstance(spec.recipe, AdamW):
        raise ArgumentError(f"the task {spec.task_name} needs an AdamW recipe: it says how many examples are evaluated")
