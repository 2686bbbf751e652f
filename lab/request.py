"""What a call of `lab.search` or `lab.train` asks for, in the terms of the papers' settings."""

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from lab import tasks
from lab.catalogue.registry import setting
from lab.data import Data
from lab.errors import ArgumentError, KeywordError, check_above_zero, check_choice, check_whole, shown
from lab.models.hyper import METHODS
from lab.nonlinearity.functions import GATES
from lab.nonlinearity.part import Function, as_fixed_part
from lab.own.search import USUAL
from lab.run import MOST_SEEDS, MOST_WIDTH, Run
from lab.spec import EpisodeSpec, RunSpec, SearchSpec, TwoLossSpec, own_table
from lab.spec.recipes import Steps
from lab.task_names import HELP, STREAMS, TEXT_HELP, unknown_task
from lab.tasks import Logic, Sraven, TableTask
from lab.tasks.named import table_named
from lab.tasks.text import text_named
from lab.training.constant_rate import OPTIMIZERS

PARTS = ("mlp", "attention")  # where a non-linearity can be learned
BOTH = "both"  # of them
MOST_LAYERS = 1000
NAMES = USUAL | {"phi": "mlp", "activation": "mlp", "data": "task", "n_seeds": "seeds"}  # here, by those elsewhere
OF_MODELS = ("model", "replace", "functions")  # arguments of lab.compare
Recipe = TypeVar("Recipe", bound=Steps)


def check_keywords(call: Callable, given: Mapping[str, Any]) -> None:
    """Says what an argument is called here that has another name elsewhere. given: keywords with their values.

    >>> def train(task, rate=None): ...
    >>> check_keywords(train, {"rate": 0.1})
    >>> check_keywords(train, {"lr": 0.1})
    Traceback (most recent call last):
    lab.errors.KeywordError: lr=0.1: lab.train has rate=; give rate=0.1
    """
    known = list(inspect.signature(call).parameters)
    for name, value in given.items():
        if name in known:
            continue
        said = f"{name}={shown(value)}: lab.{call.__name__}"
        if name in OF_MODELS:
            raise KeywordError(f"{said} trains the lab's own models; yours are trained by lab.compare")
        if (here := NAMES.get(name)) in known:
            advice = f"{here}=, a number of batches" if name == "epochs" else f"{here}={shown(value)}"
            raise KeywordError(f"{said} has {here}=; give {advice}")
        raise KeywordError(f"{said} has {', '.join(known)}")


def meant(task: Any) -> Any:
    """The task that is meant: an algorithmic task or a text by its name, or itself; a table, also of a `lab.Data`.

    >>> meant("memorize"), meant("ab mod 5").modulus
    ('memorize', 5)
    """
    if task is None:
        raise ArgumentError(f"task=None: give {', '.join(tasks.NAMES)}; {TEXT_HELP}; or {HELP}")
    if isinstance(task, (list, tuple, dict)) or hasattr(task, "shape"):
        what = type(task).__name__
        raise ArgumentError(f"the task is a {what}; of arrays make a lab.Data: lab.Data.from_arrays(X, y)")
    if isinstance(task, Data):
        return own_table(task)
    if not isinstance(task, str) or task in tasks.NAMES or text_named(task) is not None:
        return task
    if task.lower() in STREAMS:
        said = f"give lab.tasks.{task.capitalize()}(), which lab.train takes, and lab.search does not"
        raise ArgumentError(f"unknown task {shown(task)}; {said}")
    table = table_named(task)
    if table is None:
        raise unknown_task(task)
    return table


def searched(
    task: Any, scale: str, learn: str | Sequence[str] | None, seed: int, by: str | None
) -> SearchSpec | EpisodeSpec | TwoLossSpec:
    """The search that `lab.search` makes, named by the arguments that it has.

    >>> searched("ab mod 5", "smoke", "layers", 0, None).learn
    'layers'
    """
    task, words = meant(task), None if learn is None else words_of(learn)
    of = setting(task, scale)
    if isinstance(task, TableTask):
        return of.search(" + ".join(words or ("shared",)), seed, "episodes" if by is None else by)
    if by not in (None, "two_loss"):
        raise ArgumentError(f"by={shown(by)}: {of.task_name} is searched by two_loss; episodes are for tables")
    return of.search(parts_of(words or ("mlp",)), seed)


def words_of(learn: str | Sequence[str]) -> tuple[str, ...]:
    """What to search for, as words.

    >>> words_of("mlp"), words_of(["attention", "mlp"])
    (('mlp',), ('attention', 'mlp'))
    """
    words = (learn,) if isinstance(learn, str) else learn
    if not isinstance(words, Sequence) or not words or not all(isinstance(word, str) for word in words):
        raise ArgumentError(
            f"learn={shown(learn)}: name what to search for: of an algorithmic task mlp or attention or both, of a"
            " table shared, layers or inputs"
        )
    return tuple(words)


def parts_of(learn: tuple[str, ...]) -> tuple[str, ...]:
    """What to search for, in the order of figures' own searches: one search has one name.

    >>> parts_of(("attention", "mlp", "mlp")), parts_of(("both",))
    (('mlp', 'attention'), ('mlp', 'attention'))
    """
    if learn == (BOTH,):
        return PARTS
    if not set(learn) <= set(PARTS):
        raise ArgumentError(f"learn={shown(learn)}: name what to search for, mlp or attention or both")
    return tuple(part for part in PARTS if part in learn)


def recipe_of(
    recipe: Recipe,
    steps: int | None = None,
    rate: float | None = None,
    batch: int | None = None,
    optimizer: str | None = None,
    trajectory: int | None = None,
) -> Recipe:
    """A task's recipe with what is asked for in place of its own.

    >>> from lab.spec import AdamTrapezoid
    >>> recipe_of(AdamTrapezoid(500, 0.002, 64), steps=2000, rate=0.1)  # doctest: +ELLIPSIS
    AdamTrapezoid(steps=2000, rate=0.1, batch=64, ...)
    """
    changes: dict[str, Any] = {}
    if rate is not None:
        changes["rate"] = check_above_zero("rate", rate)
    if batch is not None:
        changes["batch"] = check_whole("batch", batch)
    if optimizer is not None:
        if not hasattr(recipe, "optimizer"):
            raise ArgumentError(f"optimizer={shown(optimizer)}: this task is trained with Adam alone; leave it out")
        changes["optimizer"] = check_choice("optimizer", optimizer, OPTIMIZERS)
    if trajectory is not None:
        if not hasattr(recipe, "trajectory"):
            said = f"trajectory={shown(trajectory)}: only models of tables remember their weights on the way"
            raise ArgumentError(said)
        changes["trajectory"] = check_whole("trajectory", trajectory, 1)
    if steps is not None:
        recipe = recipe.taking(check_whole("steps", steps))
    return dataclasses.replace(recipe, **changes)  # type: ignore[type-var]


def planned(
    task: Any,
    mlp: Function | None,
    attention: Function,
    seeds: int,
    scale: str,
    width: int | None,
    layers: int | None,
) -> list[RunSpec]:
    """The runs that `lab.train` makes of its arguments of these names, with the task's own recipe.

    >>> runs = planned("copy", "relu", "softmax", 1, "smoke", None, 3)
    >>> [(spec.model.mlp, spec.model.layers, spec.seed) for spec in runs]
    [('relu', 3, 0)]
    >>> planned("copy", "swiglu", "softmax", 1, "smoke", None, 3)[0].model.gated
    True
    """
    is_stream = isinstance(task, (Logic, Sraven))
    task = task if is_stream else meant(task)
    on_table = isinstance(task, TableTask)
    changes: dict[str, Any] = dict(_sizes(width, layers))
    if not is_stream and not on_table and isinstance(mlp, str) and mlp in GATES:
        mlp, changes["gated"] = GATES[mlp], True
    given = ("relu" if on_table else "gelu") if mlp is None else mlp
    changes["phi" if on_table else "mlp"] = as_fixed_part(given, "mlp")
    check_whole("seeds", seeds, 1, MOST_SEEDS)
    method = check_choice("attention", attention, METHODS) if is_stream else None
    if on_table and (not isinstance(attention, str) or attention != "softmax"):
        raise ArgumentError(f"attention={shown(attention)}: the models of a table have none; leave it out")
    if not is_stream and isinstance(attention, str) and attention in METHODS and attention != "softmax":
        said = f"attention={attention!r} is for Logic and Sraven"
        raise ArgumentError(f"{said}; for this task give 'softmax', an activation or a lab.Spline")
    runs = setting(task, scale, method).runs(seeds)
    if not is_stream and not on_table:
        changes["attention"] = as_fixed_part(attention, "attention")
    return [dataclasses.replace(run, model=dataclasses.replace(run.model, **changes)) for run in runs]


def _sizes(width: int | None, layers: int | None) -> dict[str, int]:
    """The sizes of a model that are given."""
    sizes = {} if width is None else {"width": check_whole("width", width, 1, MOST_WIDTH)}
    return sizes if layers is None else sizes | {"layers": check_whole("layers", layers, 1, MOST_LAYERS)}


def alike(like: Run, phi: Function | None, seeds: int | None, width: int | None, layers: int | None) -> list[RunSpec]:
    """The spec of a run with another function in the place of its own; of other sizes, or from several seeds.

    >>> from lab.api import train
    >>> run = train("ab mod 5", seeds=1, scale="smoke", progress=False)[0]
    >>> [(spec.model.phi, spec.seed, spec.task.modulus) for spec in alike(run, "tanh", 2, None, None)]
    [('tanh', 0, 5), ('tanh', 1, 5)]
    """
    if not isinstance(like, Run) or not isinstance(like.spec, RunSpec):
        raise ArgumentError(f"like={shown(like)}: give a run, such as lab.train('memorize')[0]")
    model, changes = like.spec.model, dict[str, Any](_sizes(width, layers))
    if phi is not None:
        place = next((name for name in ("mlp", "phi", "phi0") if name in getattr(model, "parts", {})), None)
        if place is None:
            raise ArgumentError(f"phi={shown(phi)}: a {type(model).__name__} has no function whose place it could take")
        changes["phi" if place == "phi0" else place] = as_fixed_part(phi, "phi")
    spec = dataclasses.replace(like.spec, model=dataclasses.replace(model, **changes))
    if seeds is None:
        return [spec]
    return [dataclasses.replace(spec, seed=seed) for seed in range(check_whole("seeds", seeds, 1, MOST_SEEDS))]
