"""Trained models that can be asked about a problem: those that the lab's figures train, where the store has them."""

import html
from collections.abc import Sequence

import ipywidgets as widgets
from torch import nn

from lab.catalogue.registry import papers_with
from lab.models.hyper import method_of
from lab.places import SHIPPED
from lab.plots.style import method_title
from lab.run import Run
from lab.scale import BEST, SCALES, check_scale, largest_first, training_scale
from lab.spec import RunSpec, replace
from lab.store import Store
from lab.tasks import Logic, Sraven
from lab.widgets.explorer import Explorer


def solvers(task: Logic | Sraven, scale: str, store: Store, given: Sequence[Run] = ()) -> dict[str, Run]:
    """Trained models for a task, by what they are to be called: those given that fit, then one a method.

    A model that learned on shuffled features can answer SRAVEN problems whose features are not: it is taken for both.
    Of a method, the one that saw most examples, with the lowest seed.
    """
    models = {run_title(run.spec): run for run in given if run.spec.task in _learned(task)}
    (paper,) = papers_with("candidates")
    for specs in paper.candidates(_learned(task), largest_first(scale)):
        spec = next(filter(store.has, specs), None)
        if spec is not None:
            models.setdefault(run_title(spec), Run(spec, store))
    return models


def _learned(task: Logic | Sraven) -> list[Logic | Sraven]:
    """The tasks that a model may have been trained on, to be asked about this one."""
    return list(dict.fromkeys((replace(task, permute=True), task))) if isinstance(task, Sraven) else [task]


def run_title(spec: RunSpec) -> str:
    """What a run is to be called: its method, its seed, how many examples it has seen.

    >>> from lab.catalogue.registry import setting
    >>> run_title(setting(Sraven(features=2), "laptop", "hyla").runs(seeds=1)[0])
    'HYLA, seed 0, 768,000 examples'
    """
    examples = spec.recipe.last * spec.recipe.batch
    return f"{method_title(method_of(spec.model) or 'model')}, seed {spec.seed}, {examples:,} examples"


class SolverExplorer(Explorer):
    """An explorer that asks trained models, by a menu `model`: those of the lab's figures at this scale, or at the
    largest at which there are some ("best"), where the store has them."""

    model: widgets.Dropdown

    def __init__(self, scale: str = BEST, store: Store | None = None):
        super().__init__()
        self._scale, self._store = check_scale(scale, (*SCALES, BEST)), store or Store(shipped=SHIPPED)
        self._solvers: dict[str, Run] = {}
        self._models: dict[str, nn.Module] = {}  # by key, each read from the store once
        self.told = widgets.HTML()

    @property
    def run(self) -> Run | None:
        """The run that is asked, where there is one."""
        return self._solvers.get(self.model.value)

    def _offer(self, models: dict[str, Run], chosen: str | None) -> None:
        """Let the menu have these, with this one chosen."""
        self._solvers = models
        if tuple(models) != tuple(self.model.options):
            self.model.options = list(models)
        self.model.disabled = not models
        if chosen is not None:
            self.model.value = chosen

    def _model(self, run: Run) -> nn.Module:
        if run.key not in self._models:
            self._models[run.key] = run.model()
        return self._models[run.key]

    def _tell(self, lines: Sequence[str]) -> None:
        text = "<br>".join(map(html.escape, lines))
        self.told.value = f'<div style="line-height: 1.5; max-width: 40rem">{text}</div>'

    def _command(self, task: str) -> str:
        """What trains a model of a task, as Python."""
        return f'lab.train(lab.tasks.{task}, attention="hyla", seeds=1, scale="{training_scale(self._scale)}")'
