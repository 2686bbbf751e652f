"""What a notebook calls: learn a non-linearity, train with it, look at those that are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from torch import nn

from lab import tasks
from lab.catalogue import zoo as catalogue
from lab.data import Data
from lab.errors import ArgumentError, check_choice, check_number, check_whole, shown
from lab.models.methods import METHODS
from lab.nonlinearity import zoo as functions
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.own.search import search_data
from lab.own.settings import Replaced
from lab.papers.hypernetwork.settings import READ_HELD_OUT, logic, of_task, read_length, sraven
from lab.papers.simplicity.defaults import of_table
from lab.papers.transformers.defaults import of_sequences
from lab.papers.transformers.language.settings import language
from lab.papers.transformers.settings import Setting
from lab.run import MOST_SEED, MOST_SEEDS, MOST_WIDTH, Run, Runs, complete
from lab.scale import check_scale
from lab.search_results import EpisodeResult, SearchResult
from lab.spec import EpisodeSpec, Part, SearchSpec, TwoLossSpec, by_episodes, own_table
from lab.store import SHIPPED, Store, as_store
from lab.tasks import Logic, Sraven, TableTask, Task, Text
from lab.tasks.named import HELP, TEXT_HELP, table_named
from lab.tasks.text import text_named
from lab.training.optimizers import RULES

if TYPE_CHECKING:
    import pandas as pd

MOST_LAYERS = 1000
PARTS = ("mlp", "attention")  # where a non-linearity can be learned


def search(
    task: str | Task | TableTask | Text | Data,
    scale: str = "laptop",
    learn: str | Sequence[str] | None = None,
    seed: int = 0,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    by: str | None = None,
    *,
    model: Callable[[int], nn.Module] | None = None,
    replace: Replaced | None = None,
    **settings: Any,
) -> SearchResult | EpisodeResult:
    """Learn a non-linearity for a task, or read it from the store.

    task: an algorithmic one by name; a `lab.Task` of your own; a text ("shakespeare", "shakespeare gpt2", or a
    `lab.tasks.Text`); or a table, as a task of `lab.tasks` or by its name ("ab mod 27", "mnist_sample as numbers",
    "bank-marketing"), or a `lab.Data` whose examples are rows of numbers. learn: of a table one function for all layers
    ("shared", default), one a layer ("layers"), or one an input ("inputs"); of others "mlp" (default) or "attention" or
    both. by: "two_loss" (Algorithm 1 of the transformers paper), or "episodes" (Algorithm 1 of the simplicity paper),
    for tables alone and their default.

    On a `lab.Data` with a model of your own, one function for all its activations:
    model: a function of a seed that returns a `torch.nn.Module`; your code, unchanged.
    replace: which activations: a class (`torch.nn.GELU`), a pattern of names ("*.act"), as for `lab.swap`.
    Further settings, as `lab.compare` has them: steps (1000), rate (1e-3), batch, optimizer, schedule, …, name,
        side_by_side. models (4): how many share the function; they follow `train`, the function `search`. low (-8),
        high (8), knots (161), start ("gelu", another name, or "zero", where all layers have residual branches),
        spline_rate (.0005): of the function. The rate was chosen on validation data of three tables, where higher ones
        did worse and starts could not be told apart (benchmarks/own_defaults.py).
    By "episodes", each of which trains fresh models with the function fixed, for models that train in seconds: episodes
        (100), each a step longer than the one before it and at most `steps`; restarts (2), of which the best on `val`
        is kept; window (5), the last steps of an episode, through which the function is differentiated; spline_rate
        (.05), the length of the function's step after each. It takes models without statistics of batches.

    >>> found = search("memorize", scale="smoke", progress=False)
    >>> found.spline
    Spline((361,) knots on [-20, 20])
    >>> search("ab mod 5", scale="smoke", progress=False).spline
    Spline((21,) knots on [-2, 2])
    >>> import torch
    >>> X = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    >>> make = lambda seed: nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2))
    >>> data = Data.from_arrays(X, X.prod(1) > 0, name="signs")
    >>> search(data, model=make, replace=nn.GELU, models=2, steps=20, progress=False).spline
    Spline((161,) knots on [-8, 8])
    >>> search(data, scale="smoke", progress=False).spline  # in the lab's own perceptrons
    Spline((21,) knots on [-5, 5])
    """
    if model is not None or replace is not None or settings:
        if isinstance(task, Data) and (learn is not None or scale != "laptop"):
            given = "learn" if learn is not None else "scale"
            raise ArgumentError(f"{given} is for the papers' tasks; on a lab.Data, give replace= and steps=")
        return search_data(
            task, model, replace, by, seed=seed, device=device, store=store, progress=progress, **settings
        )
    store, seed = as_store(store), check_whole("seed", seed, 0, MOST_SEED)
    found, words = _of(task, scale), None if learn is None else _words(learn)
    spec: SearchSpec | EpisodeSpec | TwoLossSpec
    if isinstance(found, Setting):
        if by not in (None, "two_loss"):
            raise ArgumentError(f"by={shown(by)}: {found.task_name} is searched by two_loss; episodes are for tables")
        spec = dataclasses.replace(found.search(_parts(words or ("mlp",))), seed=seed)
    else:
        table = found
        learned, by = " + ".join(words or ("shared",)), "episodes" if by is None else by
        spec = of_table(table, check_scale(scale)).search(learned, seed, by)
    complete([spec], store, device, progress)
    return EpisodeResult(spec, store) if by_episodes(spec) else SearchResult(spec, store)


def train(
    task: str | Task | Logic | Sraven | TableTask | Text | Data,
    mlp: nn.Module | Part | None = None,
    attention: nn.Module | Part = "softmax",
    seeds: int = 6,
    scale: str = "laptop",
    steps: int | None = None,
    width: int | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
    *,
    layers: int | None = None,
    rate: float | None = None,
    batch: int | None = None,
    optimizer: str | None = None,
) -> Runs:
    """Train a task's model from scratch (stage II, or a baseline), one run a seed, or read the runs from the store.

    task: as for `search`, or a `Logic` or a `Sraven`; on a `lab.Data`, models train on its `train` and `search`. mlp: a
    name ("gelu", "identity", …; None: GELU, on a table ReLU), a `Spline`, or a polynomial of one (`phi.chebyshev(18)`).
    steps: stop after so many. width: of the residual stream, or of hidden layers. layers, rate (the peak), batch:
    others than the task's own. optimizer: of a table "sgd", "rmsprop" or "adam"; on other tasks there is one. On a
    `Logic` or a `Sraven`, attention is a name of `lab.models.methods`; a table has none.

    >>> runs = train("memorize", mlp="relu", seeds=2, scale="smoke", progress=False)
    >>> runs.accuracy.shape == (2, len(runs.steps))
    True
    >>> train(Sraven(features=1), attention="hyla", seeds=1, scale="smoke", progress=False)[0].spec.task_name
    'sraven'
    >>> train("ab mod 5", seeds=2, scale="smoke", progress=False).accuracy.shape
    (2, 3)
    >>> sorted(train("moby_dick", seeds=1, scale="smoke", progress=False).scores)
    ['accuracy_test', 'bits_test', 'loss_test']
    """
    found = None if isinstance(task, (Logic, Sraven)) else _of(task, scale)
    table = None if isinstance(found, Setting) else found
    mlp = as_part(("gelu" if table is None else "relu") if mlp is None else mlp, "mlp")
    changes: dict[str, Any] = {}
    if mlp == "softmax":
        raise ArgumentError("mlp='softmax': softmax is an attention; name a non-linearity such as 'gelu'")
    if width is not None:
        changes["width"] = check_whole("width", width, 1, MOST_WIDTH)
    if layers is not None:
        changes["layers"] = check_whole("layers", layers, 1, MOST_LAYERS)
    store = as_store(store)
    check_whole("seeds", seeds, 1, MOST_SEEDS)
    if isinstance(task, (Logic, Sraven)):
        runs = of_task(task, scale, check_choice("attention", attention, METHODS)).runs(seeds)
        specs = [dataclasses.replace(run, model=dataclasses.replace(run.model, mlp=mlp, **changes)) for run in runs]
    elif table is not None:
        if not isinstance(attention, str) or attention != "softmax":
            raise ArgumentError(f"attention={shown(attention)}: the models of a table have none; leave it out")
        runs = of_table(table, check_scale(scale)).runs(seeds)
        specs = [dataclasses.replace(run, model=dataclasses.replace(run.model, phi=mlp, **changes)) for run in runs]
    else:
        assert isinstance(found, Setting)
        specs = found.runs(seeds, mlp=mlp, attention=as_part(attention, "attention"), **changes)
    recipe = _recipe(specs[0].recipe, steps, rate, batch, optimizer)
    specs = [dataclasses.replace(spec, recipe=dataclasses.replace(spec.recipe, **recipe)) for spec in specs]
    complete(specs, store, device, progress)
    return Runs([Run(spec, store) for spec in specs])


def _recipe(
    recipe: Any, steps: int | None, rate: float | None, batch: int | None, optimizer: str | None
) -> dict[str, Any]:
    """What is to be changed of a recipe."""
    changes: dict[str, Any] = {}
    if steps is not None:
        changes["stop"] = check_whole("steps", steps)
    if rate is not None:
        changes["rate"] = check_number("rate", rate, 0)
    if batch is not None:
        changes["batch"] = check_whole("batch", batch)
    if optimizer is not None:
        if not hasattr(recipe, "optimizer"):
            raise ArgumentError(f"optimizer={shown(optimizer)}: this task is trained with Adam alone; leave it out")
        changes["optimizer"] = check_choice("optimizer", optimizer, RULES)
    return changes


def trained(
    task: str = "sraven",
    method: str = "softmax",
    seed: int = 0,
    scale: str = "laptop",
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
) -> Run:
    """One run of the hypernetwork paper's figures, for looking into it: from the store, or as it came with the lab
    (data/runs), or else trained now.

    task: "sraven", or "logic" as where its latent codes are looked at. method: "softmax", "linear", "hyla", or another
    of `lab.models.methods`.

    >>> run = trained("logic", "hyla", scale="smoke", progress=False)
    >>> run.spec.task.length, run.spec.model.network, sorted(run.scores)[:2]
    (16, 'pair', ['mse_ood', 'mse_test'])
    """
    if not isinstance(task, str) or task not in ("sraven", "logic"):
        raise ArgumentError(f"task={shown(task)}: give sraven or logic; for any other task there is `lab.train`")
    if task == "sraven":
        found = sraven(scale, method)
    else:
        found = logic(scale, method, read_length(check_scale(scale)), READ_HELD_OUT)
    store = as_store(store, shipped=SHIPPED)
    spec = dataclasses.replace(found.runs(1)[0], seed=check_whole("seed", seed, 0, MOST_SEED))
    complete([spec], store, device, progress)
    return Run(spec, store)


@overload
def zoo(name: None = None, folder: str | Path | None = None) -> pd.DataFrame: ...
@overload
def zoo(name: str, folder: str | Path | None = None) -> Spline: ...
def zoo(name: str | None = None, folder: str | Path | None = None) -> Spline | pd.DataFrame:
    """A learned non-linearity by its name, frozen; without a name, the table of all there are.

    folder: your own zoo; default: the folder that LAB_ZOO names, if it does.

    One row a function: task; part of the model it was learned for; paper whose method found it; scale; then what it
    gains: accuracy on `test`, mean over training, of models that use it minus that of models with GELU and softmax (of
    the simplicity paper: with ReLU), in percentage points, paired by seed. gain: mean over `seeds` runs of each kind.
    low, high: its 95 % interval (Student's t). steps: of training. measured: where the runs are, "transformers/fig10"
    for shipped results, "store" for yours; empty where nothing was trained with the function. Then the device of its
    search, the commit of the lab that wrote the file, and the search's key. problem: of files that cannot be read,
    where there are any.

    Raises ArgumentError for an unknown name, LabError for a file that is damaged or of a newer schema.

    >>> zoo("transformers/memorize").spacing < 1
    True
    >>> table = zoo()
    >>> table.task["transformers/addmod"], table.scale["transformers/addmod"], int(table.seeds["transformers/addmod"])
    ('addmod', 'laptop', 6)
    """
    return catalogue.table(folder) if name is None else functions.zoo(name, folder)


def _parts(learn: tuple[str, ...]) -> tuple[str, ...]:
    """What to search for, in the order of figures' own searches: one search has one name."""
    if not set(learn) <= set(PARTS):
        raise ArgumentError(f"learn={shown(learn)}: name what to search for, mlp or attention or both")
    return tuple(part for part in PARTS if part in learn)


def _of(task: str | Task | TableTask | Text | Data, scale: str) -> Setting | TableTask:
    """The settings of an algorithmic task or a text; or the table that is meant."""
    if task is None:
        raise ArgumentError(f"task=None: give {', '.join(tasks.NAMES)}; {TEXT_HELP}; or {HELP}")
    if isinstance(task, (Task, Text)) or task in tasks.NAMES:
        return of_sequences(task, scale)
    if isinstance(task, Data):
        return own_table(task)
    if not isinstance(task, str):
        return task
    if text_named(task) is not None:
        return language(task, scale)
    table = table_named(task)
    if table is None:
        raise ArgumentError(f"unknown task {shown(task)}; known: {', '.join(tasks.NAMES)}; {TEXT_HELP}; or {HELP}")
    return table


def _words(learn: str | Sequence[str]) -> tuple[str, ...]:
    words = (learn,) if isinstance(learn, str) else learn
    if not isinstance(words, Sequence) or not words or not all(isinstance(word, str) for word in words):
        raise ArgumentError(
            f"learn={shown(learn)}: name what to search for: of an algorithmic task mlp or attention or both, of a"
            " table shared, layers or inputs"
        )
    return tuple(words)
