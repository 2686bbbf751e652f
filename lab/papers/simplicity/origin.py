"""Where the settings of the simplicity paper come from, and the search behind a run."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from lab.models.mlp import MLP
from lab.papers.origin import Field, Origin
from lab.papers.simplicity import settings
from lab.papers.tables import Labelled
from lab.run import Run
from lab.search_results import EpisodeResult
from lab.spec import EpisodeSpec, needs
from lab.tasks import Operation


def of_operations(
    tasks: Callable[[str], Sequence[Operation]],
    guesses: Sequence[str] = settings.GUESSES,
    more: Callable[[str], Iterable[Field]] = lambda scale: (),
    setting: Callable[[str, Operation], settings.Grokking] = settings.grokking,
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


def _fields(scale: str, task: Operation, setting: Callable[[str, Operation], settings.Grokking]) -> Iterator[Field]:
    """App. E.6 for models, App. C for the search; the rest are guesses."""
    paper = _numbers(setting("paper", task))
    for name, value in _numbers(setting(scale, task)).items():
        sweep = _SWEEP if name == "rate" and scale in ("laptop", "overnight") else ""
        known = name in _APPENDIX
        source = "paper, App. E.6" if known else "guess, the paper does not say"
        yield Field(name, value, paper[name], sweep or source, sweep, known, task.name)


def _numbers(one: settings.Grokking) -> dict[str, object]:
    search, recipe = one.search, one.recipe
    return {
        "width": one.model.width,
        "steps": recipe.steps,
        "rate": recipe.rate,
        "steps averaged": recipe.average,
        "share that is not the test split": one.task.fraction,
        "initial weights, U(±1/√inputs) times": 1.0,
        "search: width": search.model.width,
        "search: rate": search.inner.rate,
        "search: most inner steps": search.inner.steps,
        "search: inner steps more an episode": search.growth,
        **numbers_of(search),
        "search: steps of models that decide": search.retrain.steps,
    }


_APPENDIX = ("width", "steps", "rate", "share that is not the test split")
_SWEEP = "sweep with ReLU on val at laptop scale, for 27 classes; in proportion to the classes"


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
