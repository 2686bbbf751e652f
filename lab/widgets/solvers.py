"""Trained models that can be asked about a problem: those that the lab's figures train, where the store has them."""

from __future__ import annotations

from collections.abc import Sequence

from lab.models.hyper import method_of
from lab.papers.hypernetwork.settings import FIGURE_METHODS, PROBLEMS, SEEDS, of_task, sraven
from lab.plots.style import method_title
from lab.run import Run
from lab.scale import largest_first
from lab.spec import RunSpec, replace
from lab.store import Store
from lab.tasks import Logic, Sraven


def solvers(task: Logic | Sraven, scale: str, store: Store, given: Sequence[Run] = ()) -> dict[str, Run]:
    """Trained models for a task, by what they are to be called: those given that fit, then one a method.

    A model that learned on shuffled features can answer SRAVEN problems whose features are not: it is taken for both.
    Of a method, the one that saw most examples, with the lowest seed.
    """
    models = {run_title(run.spec): run for run in given if run.spec.task in _learned(task)}
    for name in FIGURE_METHODS:
        specs = (spec for each in largest_first(scale) for kind in _learned(task) for spec in _specs(kind, each, name))
        spec = next(filter(store.has, specs), None)
        if spec is not None:
            models.setdefault(run_title(spec), Run(spec, store))
    return models


def _learned(task: Logic | Sraven) -> list[Logic | Sraven]:
    """The tasks that a model may have been trained on, to be asked about this one."""
    return list(dict.fromkeys((replace(task, permute=True), task))) if isinstance(task, Sraven) else [task]


def run_title(spec: RunSpec) -> str:
    """What a run is to be called: its method, its seed, how many examples it has seen.

    >>> run_title(sraven(name="hyla").runs(seeds=1)[0])
    'HYLA, seed 0, 768,000 examples'
    """
    examples = spec.recipe.last * spec.recipe.batch
    return f"{method_title(method_of(spec.model) or 'model')}, seed {spec.seed}, {examples:,} examples"


def _specs(task: Logic | Sraven, scale: str, name: str) -> list[RunSpec]:
    """The runs that there may be, the best first."""
    if isinstance(task, Logic):
        return of_task(task, scale, name).runs(SEEDS[scale])
    base = of_task(task, scale, name)
    recipes = (sraven(scale, name, problems=problems).recipe for problems in reversed(PROBLEMS[scale]))
    return [run for recipe in recipes for run in replace(base, recipe=recipe).runs(SEEDS[scale])]
