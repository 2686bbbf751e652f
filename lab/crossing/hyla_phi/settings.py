"""What HYLA's φ is learned and trained with, at each scale.

`laptop` is the hypernetwork paper's task and model with fewer tokens and steps, so that a run takes seconds; `paper`
has the paper's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.models.hyper import method
from lab.papers.hypernetwork import settings
from lab.papers.origin import SILENT, Field, Origin
from lab.spec import RunSpec, SearchSpec, replace

METHODS = {"softmax": "softmax", "linear φ": "hyla_linear", "ReLU": "hyla", "learned": "hyla"}
RELU, LEARNED = "ReLU", "learned"
TITLES = {"logic": ("fuzzy logic", "R²", "r2"), "sraven": ("SRAVEN", "accuracy", "accuracy")}  # score; its name
TASKS = tuple(TITLES)
SEEDS = {"smoke": 2, "laptop": 4, "paper": 6}
SPLITS = ("test", "ood")
MODELS = {"smoke": 2, "laptop": 3, "paper": 8}  # M of Algorithm 1
KNOTS, REACH, RATE = 121, 6.0, 0.01


def logic(scale: str, name: str = "hyla") -> RunSpec:
    """Fuzzy logic with a method of `lab.models.hyper`.

    >>> logic("laptop").model.phi, logic("laptop").task.length
    ('relu', 16)
    """
    setting = settings.logic(scale, name, length=32 if scale == "paper" else 16)
    if scale == "laptop":
        model = method(name, replace(setting.model, width=64, mlp_width=128))
        setting = replace(setting, model=model, recipe=replace(setting.recipe, steps=1_000, batch=32, every=250))
    return RunSpec(setting.task, setting.model, setting.recipe, 0, SPLITS)


def sraven(scale: str, name: str = "hyla") -> RunSpec:
    """SRAVEN with a method of `lab.models.hyper`."""
    setting = settings.sraven(scale, name, features=4 if scale == "paper" else 1)
    if scale == "laptop":
        model = method(name, replace(setting.model, layers=2, heads=8, width=64, key_width=32, mlp_width=128))
        recipe = replace(setting.recipe, steps=1_000, batch=64, every=250, warmup=100)
        setting = replace(setting, model=model, recipe=recipe)
    return RunSpec(setting.task, setting.model, setting.recipe, 0, SPLITS)


def of_task(task: str, scale: str, name: str = "hyla") -> RunSpec:
    """Of one of TASKS."""
    return {"logic": logic, "sraven": sraven}[task](scale, name)


def search_phi(base: RunSpec, scale: str) -> SearchSpec:
    """The search for φ in the models of a run with HYLA, with that run's recipe. It starts at ReLU, HYLA's own."""
    shape: dict[str, Any] = {"models": MODELS[scale], "low": -REACH, "high": REACH, "knots": KNOTS, "spline_rate": RATE}
    return SearchSpec(base.task, base.model, base.recipe, ("phi",), start="relu", **shape)


GUESSES = (
    "the rate of the knots and where they are; the search starts at ReLU, HYLA's own function",
    "one learning rate for all methods",
)


def origin() -> Origin:
    """Where these settings come from: the hypernetwork paper's, with fewer tokens, steps and features below `paper`."""

    def facts(scale: str) -> Iterator[Field | str]:
        for task in TASKS:
            theirs = numbers(task, "paper")
            for name, value in numbers(task, scale).items():
                yield Field(name, value, theirs[name], "hypernetwork paper, Table A3", task=task)
        for name, value in (("M", MODELS[scale]), ("knots", KNOTS), ("peak rate of the knots", RATE)):
            yield Field(name, value, SILENT, "guess")

    return Origin(lambda scale: [SOURCE | {"name": task} for task in TASKS], facts, GUESSES)


SOURCE = {"from": "generated afresh by lab.tasks from each run's seed"}


def numbers(task: str, scale: str) -> dict[str, object]:
    """What the models of a task are trained with, by name."""
    run = of_task(task, scale)
    size = {"tokens": run.task.length} if task == "logic" else {"features": run.task.features}
    return size | {
        "layers": run.model.layers,
        "heads": run.model.heads,
        "width": run.model.width,
        "key width": run.model.key_width,
        "MLP width": run.model.mlp_width,
        "steps": run.recipe.steps,
        "batch": run.recipe.batch,
        "peak rate": run.recipe.rate,
    }
