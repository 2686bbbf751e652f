"""Trained models that can answer a SRAVEN problem: those that the lab's figures train, where the store has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from lab.figures.hyper_settings import FIGURE_METHODS, SEEDS, sraven
from lab.figures.raven import PROBLEMS
from lab.figures.style import method_title
from lab.models.methods import METHODS, method
from lab.run import Run
from lab.spec import RunSpec, replace
from lab.store import Store
from lab.tasks.sraven import Sraven
from lab.tasks.stream import Examples


def solvers(task: Sraven, scale: str, store: Store, given: Sequence[Run] = ()) -> dict[str, Run]:
    """Trained models for problems of this size, by what they are to be called: those given that fit, then one a method.

    A model that learned on shuffled features can answer problems whose features are not, so it is taken for both. Of a
    method, the one that saw most problems, with the lowest seed.
    """
    found = {run_title(run.spec): run for run in given if fits(run.spec.task, task)}
    learned = dict.fromkeys((replace(task, permute=True), task))
    for name in FIGURE_METHODS:
        specs = (spec for kind in learned for spec in _specs(kind, scale, name))
        spec = next(filter(store.has, specs), None)
        if spec is not None:
            found.setdefault(run_title(spec), Run(spec, store))
    return found


def fits(learned: object, task: Sraven) -> bool:
    """Whether a model that was trained on one task can be asked about problems of another."""
    if not isinstance(learned, Sraven):
        return False
    return (learned.features, learned.values) == (task.features, task.values) and learned.permute >= task.permute


def probabilities(model: nn.Module, examples: Examples) -> np.ndarray:
    """What a model of one run thinks of each value of each feature of each answer, (N, K, F); sums over F are 1."""
    with torch.no_grad():
        return model(examples.inputs[None])[0].softmax(-1).numpy()


def run_title(spec: RunSpec) -> str:
    """What a run is to be called: its method, its seed, how many problems it has seen.

    >>> run_title(sraven(name="hyla").runs(seeds=1)[0])
    'HYLA, seed 0, 768,000 problems'
    """
    same = (name for name in METHODS if method(name, spec.model) == spec.model)
    return f"{method_title(next(same, 'model'))}, seed {spec.seed}, {spec.recipe.last * spec.recipe.batch:,} problems"


def _specs(task: Sraven, scale: str, name: str) -> list[RunSpec]:
    """The runs that there may be, the best first."""
    found = []
    for problems in reversed(PROBLEMS[scale]):
        setting = replace(sraven(scale, name, problems=problems), task=task)
        found += setting.runs(SEEDS[scale])
    return found
