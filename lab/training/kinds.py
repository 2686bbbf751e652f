"""The kinds of runs: the model that a spec names, and what it trains on. To add a kind, add it here.

A run on an algorithmic task, named by a word, has a `ModelSpec`; one on a task whose examples are made as they are
needed (`lab.tasks.stream`) has a `HyperModel`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from lab import tasks
from lab.errors import ArgumentError
from lab.models.hyper import HyperTransformer
from lab.models.transformer import Transformer
from lab.spec import AdamW, HyperModel, ModelSpec, RunSpec
from lab.training.batches import Words
from lab.training.fresh import Fresh


def model_of(spec: RunSpec, seeds: Sequence[int], modules: Sequence[nn.Module | None]) -> nn.Module:
    """Freshly initialized models, one a seed. modules: the non-linearities, in the order of `spec.model.parts`."""
    check(spec)
    if isinstance(spec.task, str):
        task = tasks.load(spec.task, spec.task_seed)
        return Transformer(spec.model, len(task.vocabulary), task.max_length, seeds, *modules)
    task = spec.task
    return HyperTransformer(spec.model, task.inputs, task.outputs, task.length, task.positions, seeds, *modules)


def material(specs: Sequence[RunSpec], device: torch.device) -> Words | Fresh:
    """What a fleet trains on: `at(step)` is a batch, `scores(model)` what is measured, `columns` its names."""
    return (Words if isinstance(specs[0].task, str) else Fresh)(specs, device)


def length(spec: RunSpec) -> int:
    """Tokens of a sequence that it trains on."""
    if isinstance(spec.task, str):
        return tasks.load(spec.task, spec.task_seed).training.tokens.shape[1]
    return spec.task.length


def shape(spec: RunSpec) -> tuple:
    """What the task gives the model, apart from its values: equal for tasks whose runs can train side by side."""
    if isinstance(spec.task, str):
        return spec.task, spec.task_seed
    task = spec.task
    return type(task).__name__, task.inputs, task.outputs, task.length, task.positions


def check(spec: RunSpec) -> None:
    """Say what does not fit together before anything is built."""
    fresh = not isinstance(spec.task, str)
    if not isinstance(spec.model, HyperModel if fresh else ModelSpec):
        wanted = "HyperModel" if fresh else "ModelSpec"
        raise ArgumentError(f"the task {spec.task_name} needs a {wanted}, not a {type(spec.model).__name__}")
    if fresh and not isinstance(spec.recipe, AdamW):
        raise ArgumentError(f"the task {spec.task_name} needs an AdamW recipe: it says how many examples are evaluated")
