"""Settings that sections of the simplicity paper share: networks on binary operations (grokking), and on any table task
the models that `lab.train` trains and the search that `lab.search` makes.

Of operations `paper` is App. E.6, with the ranges of App. C for the search; `laptop` is reduced until a figure trains
on two CPU cores in 20 minutes; `smoke` only runs the machinery. Operations, tables and images have the settings of
their figures, where they have a figure. Others, as collages, have those of the image figures, with gradients of knots
divided by their length, as everywhere; a table of one's own has those of MagicTelescope. Nothing is tuned for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.errors import ArgumentError, described, shown
from lab.models.mlp import MLP
from lab.papers.entry import Field, Origin
from lab.papers.simplicity.images.settings import CLASSIFICATION, REGRESSION, SETS, data_of, images
from lab.papers.simplicity.tables import settings as tabular_settings
from lab.papers.tables import Labelled
from lab.run import Run
from lab.scale import COMMON, SCALES, check_scale
from lab.search_results import EpisodeResult
from lab.spec import (
    ConstantRate,
    EpisodeSpec,
    Learned,
    ModuleSearch,
    OwnTable,
    Perceptron,
    Restart,
    RunSpec,
    TwoLossSpec,
    later,
    needs,
    replace,
)
from lab.tasks import Collage, Images, Operation, Tabular
from lab.tasks.operation import ALL
from lab.tasks.table import TableTask
from lab.training.inner_task import LEARN

METHODS = RELU, LEARNED = "ReLU", "learned"
ADDITION = Operation("a+b", modulus=27)  # Figure 11
# Figure 28; at laptop scale those modulo 27, for the sake of time
OPERATIONS = {"smoke": (ALL[0], ALL[2]), "laptop": ALL[:8], "overnight": ALL[:8], "paper": ALL}
LEVEL = 0.95  # test accuracy that counts as solved (Figure 13)


@dataclass(frozen=True)
class Grokking:
    """One operation: the models that are trained on it, and the search for their function."""

    task: Operation  # `train` is nearly all that is not the test split
    model: Perceptron
    recipe: ConstantRate
    search: EpisodeSpec

    def runs(self, method: str, seeds: int) -> list[RunSpec]:
        """One run a seed, with ReLU or with the function that the search finds."""
        model = replace(self.model, phi=Learned(self.search, "phi") if method == LEARNED else "relu")
        return [RunSpec(self.task, model, self.recipe, seed, ("test", "train")) for seed in range(seeds)]


def grokking(scale: str = "laptop", task: Operation = ADDITION, size: float = 1.0) -> Grokking:
    """An operation, its models and its search. size: of the initial weights, as a multiple of torch's.

    The search holds out a part of what is not the test split, and decides between its restarts on it; models are then
    trained on all of it but `_SPARE`, so that ReLU and learned functions get the same data.

    >>> grokking("paper").recipe.rate, grokking("laptop").runs("ReLU", seeds=2)[1].seed
    (1.0, 1)
    """
    model = Perceptron(width=256, scale=size * TORCH_SIZE)
    recipe = ConstantRate(steps=60_000, rate=1.0, batch=4_096, keep="last", every=100)
    narrow, inner = replace(model, width=64), ConstantRate(4_500, 1.0, batch=4_096)
    retrain = replace(recipe, steps=10_000, keep="best")
    how: dict[str, Any] = {"low": -2.0, "high": 2.0, "pool": ("train", "val"), "normalized": True}
    how |= {"episodes": 225, "growth": 20.0, "retrain_width": model.width}
    search = EpisodeSpec(task, narrow, inner, retrain, _PAPER_RESTARTS, **how)
    if check_scale(scale, SCALES) != "paper":
        rate = LAPTOP_RATE * task.classes / ADDITION.classes
        recipe = ConstantRate(steps=5_000, rate=rate, keep="last", every=25)
        inner, retrain = ConstantRate(450, rate), ConstantRate(500, rate, every=100)
        search = replace(search, inner=inner, retrain=retrain, restarts=_LAPTOP_RESTARTS, growth=2.0)
    if scale == "smoke":
        model, recipe = replace(model, width=8), replace(recipe, steps=12, every=4, average=4)
        inner, retrain = replace(inner, steps=2), replace(recipe, keep="best")
        how = {"restarts": _SMOKE_RESTARTS, "episodes": 2, "growth": 1.0, "retrain_width": 8}
        search = replace(search, model=replace(model, width=4), inner=inner, retrain=retrain, **how)
    spare = max(_SPARE, 1 / round(task.fraction * task.classes**2))  # one pair at least
    return Grokking(replace(task, held_out=spare), model, recipe, search)


# Of the initial weights: what torch gives a Linear, U(±1/√inputs), as a multiple of `lab.models.mlp.MLP`'s.
TORCH_SIZE = 6**-0.5
# For 27 classes, best for ReLU on val; in proportion to their number, because the loss is a mean over outputs.
LAPTOP_RATE = 10.0
_SPARE = 0.01  # of what is not the test split: a task has a "val", and nothing is decided on this one
# App. C: "typically t = 5", 50 to 400 knots, rates of .01 to .2. Shorter inner loops find nothing (docs/log.md).
_LAPTOP_RESTARTS = tuple(Restart(seed, rate=0.05, knots=101, window=5, start="noise") for seed in range(4))
_PAPER_RESTARTS = _LAPTOP_RESTARTS + tuple(
    Restart(seed, rate, knots, window=5, start=start)
    for seed, (start, rate, knots) in enumerate(
        ((start, rate, knots) for start in ("zero", "relu") for rate in (0.01, 0.05) for knots in (101, 400)), start=4
    )
)
_SMOKE_RESTARTS = tuple(Restart(seed, rate=0.05, knots=21, window=1, start="noise") for seed in range(2))

# Where the paper is silent, at every scale.
GUESSES = (
    "initial weights and biases as torch draws them, uniform within 1/√inputs",
    "the mean squared error is a mean over rows and outputs, the target is one-hot",
    "functions have knots on [-2, 2]; restarts begin with noise of standard deviation .1 (at paper scale also with zero"
    " and ReLU, App. C), and the gradient of the knots is divided by its length",
    "each episode trains on 80 % of what is not the test split, and measures its outer loss on the other 20 %",
    "what is evaluated is the mean of the weights over the last 50 steps, as App. E.1 has it for other data",
)


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
        spec = replace(spec, restarts=later(spec.restarts, APART * seed))
        if by == EPISODES:
            return spec
        first = next((r for r in spec.restarts if r.start != "relu"), spec.restarts[0])
        recipe = replace(spec.inner, steps=_STEPS[self.scale])
        of_knots: dict[str, Any] = {"low": spec.low, "high": spec.high, "knots": first.knots, "start": first.start}
        of_knots |= {"spline_rate": _KNOT_RATE}
        return TwoLossSpec(spec.tasks[0], spec.model, recipe, learn, **of_knots, pool=spec.pool, seed=seed)


# Of a search by two losses: best on val of Fashion-MNIST and of a+b mod 27 (docs/log.md).
_STEPS = {"smoke": 4, "laptop": 1_500, "paper": 10_000}
_KNOT_RATE = 0.005


def of_table(task: TableTask, scale: str = "laptop") -> TableSetting:
    """The setting of a task at a scale.

    >>> setting = of_table(Tabular("bank-marketing"))
    >>> setting.model.layers, setting.search("inputs").restarts[0].start, setting.search(by="two_loss").models
    (2, 'identity', 4)
    """
    if not isinstance(task, KINDS):
        known = ", ".join(kind.__name__ for kind in KINDS if kind is not OwnTable)
        said = f"the task is {described(task)}; give the name of one, or one of lab.tasks: {known}"
        modules = "; a model of yours learns in lab.search(data, model=make, replace=…) and lab.compare"
        raise ArgumentError(said + modules * isinstance(task, nn.Module))
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
    base = replace(setting.base, task=task, restarts=both_starts(scale, KNOT_RATES[scale]))
    return TableSetting(scale, task, setting.model, setting.recipe, base)


# By scale; Table 1 has 4 restarts: two rates for each start. Larger ones find less at laptop scale (docs/log.md).
KNOT_RATES = {"smoke": (0.1,), "laptop": (0.05, 0.03), "paper": (0.05, 0.1)}


def both_starts(scale: str, rates: Sequence[float], number: int = 0) -> tuple[Restart, ...]:
    """Restarts from ReLU and from zero at each of the rates. number: of several searches, which share no seed."""
    pairs = [(start, rate) for start in ("relu", "zero") for rate in rates]
    knots, window = (21, 1) if scale == "smoke" else (51, 5)
    seeds = range(number * len(pairs), (number + 1) * len(pairs))
    return tuple(Restart(seed, rate, knots, window, start) for seed, (start, rate) in zip(seeds, pairs, strict=True))


def scale_of_table(search: EpisodeSpec | TwoLossSpec | ModuleSearch) -> str | None:
    """The scale at which `lab.search` makes this search, whatever its seed; None where it makes others.

    >>> scale_of_table(of_table(Operation("ab", modulus=5), "smoke").search("layers", seed=3))
    'smoke'
    """
    task = search.task
    if isinstance(search, ModuleSearch) or search.by not in (TWO_LOSSES, EPISODES) or not isinstance(task, KINDS):
        return None
    seed = search.restarts[0].seed // APART if isinstance(search, EpisodeSpec) else search.seed
    for scale in COMMON:
        candidate = of_table(task, scale).search(search.learn, seed, search.by)
        if candidate == search:
            return scale
    return None


def of_operations(
    tasks: Callable[[str], Sequence[Operation]],
    guesses: Sequence[str] = GUESSES,
    more: Callable[[str], Iterable[Field]] = lambda scale: (),
    setting: Callable[[str, Operation], Grokking] = grokking,
) -> Origin:
    """The simplicity paper, operations of a scale, with a setting of `lab.papers.simplicity.settings`.

    more: numbers of no operation.
    """

    def facts(scale: str) -> Iterator[Field]:
        for task in tasks(scale):
            yield from _fields(scale, task, setting)
        yield from more(scale)

    return Origin(
        data=lambda scale: [_source(task) for task in tasks(scale)],
        facts=facts,
        guesses=guesses,
        for_tasks=lambda names: of_operations(
            lambda scale: [task for task in tasks(scale) if task.name in names], guesses, more, setting
        ),
        words=lambda field: f"{field.name} {field.value:.4g} (paper {field.paper:g})",
        merged=True,
    )


def _source(task: Operation) -> dict:
    """The whole table, with the digest of all results."""
    return {
        "name": task.name,
        "from": "all pairs of operands, split by lab.tasks.operation with seed 0",
        "sha256": hashlib.sha256(task.table().numpy().tobytes()).hexdigest(),
    }


def _fields(scale: str, task: Operation, setting: Callable[[str, Operation], Grokking]) -> Iterator[Field]:
    """App. E.6 for models, App. C for the search; the rest are guesses."""
    paper = _numbers(setting("paper", task))
    for name, value in _numbers(setting(scale, task)).items():
        sweep = _SWEEP if name == "rate" and scale in ("laptop", "overnight") else ""
        known = name in _APPENDIX
        source = "paper, App. E.6" if known else "guess, the paper does not say"
        yield Field(name, value, paper[name], sweep or source, sweep, known, task.name)


def _numbers(one: Grokking) -> dict[str, object]:
    search, recipe = one.search, one.recipe
    return {
        "width": one.model.width,
        "steps": recipe.steps,
        "rate": recipe.rate,
        "steps averaged": recipe.average,
        "share that is not the test split": one.task.fraction,
        "initial weights, U(±1/√inputs) times": round(one.model.scale / TORCH_SIZE, 12),
        "search: width": search.model.width,
        "search: rate": search.inner.rate,
        "search: most inner steps": search.inner.steps,
        "search: inner steps more an episode": search.growth,
        **numbers_of(search),
        "search: steps of models that decide": search.retrain.steps,
    }


_APPENDIX = ("width", "steps", "rate", "share that is not the test split")
_SWEEP = "sweep with ReLU on val at laptop scale, for 27 classes; in proportion to the classes"


def again(search: EpisodeSpec, number: int) -> EpisodeSpec:
    """The same search for another time, with other seeds of its restarts; number: from 0, which is the search itself.

    >>> [restart.seed for restart in again(grokking("laptop").search, 1).restarts]
    [4, 5, 6, 7]
    """
    return replace(search, restarts=later(search.restarts, number * len(search.restarts)))


def first_of_searches(runs: Labelled) -> Iterator[tuple[dict, Run]]:
    """The first run of each search that runs need, with its labels."""
    known = set()
    for labels, run in runs:
        for search in needs(run.spec)[:1]:
            if search not in known:
                known.add(search)
                yield labels, run


def received(run: Run) -> list[Tensor]:
    """What the functions of a trained perceptron receive on test rows, by layer."""
    model = run.model()
    assert isinstance(model, MLP)
    with torch.no_grad():
        return model.received(run.spec.task.split(run.spec.task_seed)["test"].inputs[None])


def episode_result(run: Run) -> EpisodeResult:
    """What the first search that a run needs has found."""
    search = needs(run.spec)[0]
    assert isinstance(search, EpisodeSpec), f"run {run.key} has a function of a {type(search).__name__}"
    return EpisodeResult(search, run.store)


def restarts(result: EpisodeResult) -> Iterator[dict]:
    """What each restart of a search found: restart, accuracy_val (of the model that was trained with it to decide),
    chosen; x and value: arrays of one number a knot."""
    for restart, scores in enumerate(result.results):
        value = result.of_restart(restart)["phi"].values.detach().double().numpy().ravel()
        about = {"restart": restart, "accuracy_val": float(scores[:, 0].mean()), "chosen": restart == result.winner}
        yield about | {"x": np.linspace(result.spec.low, result.spec.high, len(value)), "value": value}


def numbers_of(search: EpisodeSpec) -> dict[str, object]:
    """The settings of a search's restarts by name, each with all of its values."""

    def values(name: str) -> list:
        return sorted({getattr(restart, name) for restart in search.restarts})

    return {
        "search: episodes": search.episodes,
        "search: restarts": len(search.restarts),
        "search: rates of knots": values("rate"),
        "search: numbers of knots": values("knots"),
        "search: inner steps differentiated": values("window"),
        "search: starts": values("start"),
        "search: range of knots": [search.low, search.high],
    }
