"""Any table task: the models that `lab.train` trains on it, and the search that `lab.search` makes for it.

Operations, tables and images have the settings of their figures, where they have a figure. Others, as collages, have
those of the image figures, with gradients of knots divided by their length, as everywhere; a table of one's own has
those of MagicTelescope. Nothing is tuned for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lab.errors import ArgumentError, described, shown
from lab.papers.simplicity.images.settings import CLASSIFICATION, REGRESSION, SETS, data_of, images
from lab.papers.simplicity.settings import grokking
from lab.papers.simplicity.tables import settings as tabular_settings
from lab.scale import COMMON, check_scale
from lab.spec import (
    ConstantRate,
    EpisodeSpec,
    ModuleSearch,
    OwnTable,
    Perceptron,
    Restart,
    RunSpec,
    TwoLossSpec,
    by_episodes,
    replace,
)
from lab.tasks import Collage, Images, Operation, Tabular
from lab.tasks.table import TableTask
from lab.training.episodes import LEARN

EPISODES, TWO_LOSSES = "episodes", "two_loss"
SEARCHES = (EPISODES, TWO_LOSSES)
KINDS = (Operation, Images, Collage, Tabular, OwnTable)
OF_OTHERS = "MagicTelescope"  # whose settings a table of one's own has
APART = 1_000  # between the seeds of restarts of two searches


@dataclass(frozen=True)
class TableSetting:
    """A table task, its models, and the search for their function."""

    scale: str
    task: TableTask
    model: Perceptron
    recipe: ConstantRate
    base: EpisodeSpec  # one function for all hidden layers, seed 0
    inputs: EpisodeSpec | None = None  # one function an input, where that has settings of its own

    def runs(self, seeds: int) -> list[RunSpec]:
        """One run a seed, with ReLU."""
        return [RunSpec(self.task, self.model, self.recipe, seed, ("test", "train")) for seed in range(seeds)]

    def search(self, learn: str = "shared", seed: int = 0, by: str = EPISODES) -> EpisodeSpec | TwoLossSpec:
        """The search for one function ("shared"), one a layer ("layers") or one an input ("inputs")."""
        if learn not in LEARN:
            raise ArgumentError(f"learn={shown(learn)}: for a table give {', '.join(LEARN[:-1])} or {LEARN[-1]}")
        if by not in SEARCHES:
            raise ArgumentError(f"by={shown(by)}: give {' or '.join(SEARCHES)}")
        spec = replace(self.base, learn=learn)
        if learn == "inputs" and self.inputs is not None:
            spec = self.inputs
        elif learn == "inputs":  # from the identity, on the range of the data (Section 3.3); hidden layers have ReLU
            of = replace(spec.model, inputs="identity")
            restarts = tuple(replace(restart, start="identity") for restart in spec.restarts)
            spec = replace(spec, model=of, restarts=tuple(dict.fromkeys(restarts)), low=-1.0, high=1.0)
        spec = replace(spec, restarts=tuple(replace(r, seed=r.seed + APART * seed) for r in spec.restarts))
        if by == EPISODES:
            return spec
        first = next((r for r in spec.restarts if r.start != "relu"), spec.restarts[0])
        return TwoLossSpec(
            spec.tasks[0],
            spec.model,
            replace(spec.inner, steps=_STEPS[self.scale]),
            learn,
            low=spec.low,
            high=spec.high,
            knots=first.knots,
            spline_rate=_KNOT_RATE,
            start=first.start,
            pool=spec.pool,
            seed=seed,
        )


# Of a search by two losses. On Fashion-MNIST as regression with one hidden layer, after 600 steps from zero, accuracy
# on `val` of a model that is trained with what is found (300 steps; ReLU: .426) is .564 for .005, .536 for .02. On a+b
# mod 27 (1,500 steps; 500 with what is found) it is .97 for .005 from noise; from zero, or for .02, the model diverges.
_STEPS = {"smoke": 4, "laptop": 1_500, "paper": 10_000}
_KNOT_RATE = 0.005


def of_table(task: TableTask, scale: str = "laptop") -> TableSetting:
    """The setting of a task at a scale.

    >>> from lab.tasks import Tabular
    >>> setting = of_table(Tabular("bank-marketing"))
    >>> setting.model.layers, setting.search("inputs").restarts[0].start, setting.search(by="two_loss").models
    (2, 'identity', 4)
    """
    if not isinstance(task, KINDS):
        known = ", ".join(kind.__name__ for kind in KINDS)
        raise ArgumentError(f"the task is {described(task)}; give the name of one, or one of lab.tasks: {known}")
    if isinstance(task, Operation):
        source = grokking(check_scale(scale), task)
        return TableSetting(scale, source.task, source.model, source.recipe, source.search)
    if isinstance(task, OwnTable):
        others = of_table(Tabular(OF_OTHERS), scale)
        assert others.inputs is not None
        reach = max(1.0, float(task.split()["train"].inputs.abs().max()))
        inputs = replace(others.inputs, task=task, low=-reach, high=reach)
        return replace(others, task=task, base=replace(others.base, task=task), inputs=inputs)
    if isinstance(task, Tabular):
        run = tabular_settings.network(scale, task.name)
        starts = [tabular_settings.search(scale, task.name, start) for start in tabular_settings.STARTS]
        tries = (restart for start in starts for restart in start.restarts)
        base = replace(starts[0], restarts=tuple(replace(one, seed=seed) for seed, one in enumerate(tries)))
        inputs = tabular_settings.search(scale, task.name, "identity")
        return TableSetting(scale, task, run.model, run.recipe, base, inputs)
    mode = CLASSIFICATION if task.classification else REGRESSION
    name = next((name for name in SETS if isinstance(task, Images) and task.source == data_of(scale, name)), None)
    setting = images(scale, name or "mnist", mode)
    restarts = tuple(
        Restart(seed, rate, knots=21 if scale == "smoke" else 51, window=1 if scale == "smoke" else 5, start=start)
        for seed, (start, rate) in enumerate((start, rate) for start in ("relu", "zero") for rate in _RATES[scale])
    )
    base = replace(setting.base, task=task, restarts=restarts)
    return TableSetting(scale, task, setting.model, setting.recipe, base)


# Of the knots: as in `lab.papers.simplicity.search_settings`, which has the sweep; at smoke scale one.
_RATES = {"smoke": (0.1,), "laptop": (0.05, 0.03), "paper": (0.05, 0.1)}


def scale_of_table(search: EpisodeSpec | TwoLossSpec | ModuleSearch) -> str | None:
    """The scale at which `lab.search` makes this search, whatever its seed; None where it makes others.

    >>> scale_of_table(of_table(Operation("ab", modulus=5), "smoke").search("layers", seed=3))
    'smoke'
    """
    task = search.task
    if isinstance(search, ModuleSearch) or search.by not in (TWO_LOSSES, EPISODES) or not isinstance(task, KINDS):
        return None
    seed = search.restarts[0].seed // APART if by_episodes(search) else search.seed
    for scale in COMMON:
        candidate = of_table(task, scale).search(search.learn, seed, search.by)
        if candidate == search:
            return scale
    return None
