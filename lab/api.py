"""What a notebook calls: learn a non-linearity, train with it, look at those that are known."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import pandas as pd
from torch import nn

from lab.catalogue.registry import papers_with
from lab.data import Data
from lab.errors import ArgumentError, KeywordError, check_whole, shown
from lab.nonlinearity.part import Function
from lab.own.search import Replaced, search_data
from lab.places import SHIPPED
from lab.request import alike, check_keywords, planned, recipe_of, searched
from lab.run import MOST_SEED, Run, Runs, complete, warn_of_revisions
from lab.scale import BEST, largest_first
from lab.search_results import EpisodeResult, SearchResult
from lab.spec import EpisodeSpec, OwnTask, object_of
from lab.store import Store, as_store
from lab.tasks import Logic, Sraven, TableTask, Task, Text, load
from lab.training import live

P = ParamSpec("P")
T = TypeVar("T")


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
    keep: int | None = None,
    model: Callable[[int], nn.Module] | None = None,
    replace: Replaced | None = None,
    **settings: Any,
) -> SearchResult | EpisodeResult:
    """Learn a non-linearity for a task. A search that the store has is read, not repeated.

    task: the name of an algorithmic task, or a `lab.Task` of your own; a text ("shakespeare", "shakespeare gpt2", or a
        `lab.tasks.Text`); or a table: a task of `lab.tasks`, its name ("ab mod 27", "mnist_sample as numbers",
        "bank-marketing"), or a `lab.Data` whose examples are rows of numbers.
    scale: "smoke" (seconds, for tests), "laptop" or "paper".
    learn: for a table "shared" (one function for all layers, the default), "layers" (one for each layer) or "inputs"
        (one for each input); else "mlp" (the default), "attention" or "both".
    by: "two_loss" (Algorithm 1 of the transformers paper), or "episodes" (Algorithm 1 of the simplicity paper): for
        tables only, and their default.
    device: "auto" (a GPU if there is one), "cpu" or "cuda".
    keep: so many checkpoints of the functions are kept, as by `lab.train`: `.checkpoints` are the steps, `.at(step)`
        the functions; `lab.explore` has a slider over them.

    One function for all activations of your own model, on a `lab.Data` (by="two_loss" unless said otherwise):

    model: a function of a seed that returns a `torch.nn.Module`; your code, unchanged.
    replace: which activations: a class (`torch.nn.GELU`) or a pattern of names ("*.act"), as for `lab.swap`.
    settings: those of training, as for `lab.compare`: steps (1000), rate (1e-3; by episodes 1e-2), batch, optimizer,
        schedule, …, threads, name, side_by_side. Those of the function: low (-8), high (8), knots (161), start ("gelu",
        another name, or "zero" if all layers have residual branches) and spline_rate. By two losses: spline_rate
        (.0005, chosen on validation data of three tables by benchmarks/own_defaults.py) and models (4), which share the
        function; they learn on `train`, the function on `search`. By episodes, for models that train in seconds and
        have no batch norm: episodes (100), each with fresh models and one step longer than the last, up to `steps`;
        restarts (2), the best of which on `val` is kept; window (5), the number of last steps through which the
        function is differentiated; spline_rate (.05), the length of the function's step. Their steps have a constant
        rate; schedule, momentum and precision are of the models that decide between restarts.

    Raises ArgumentError for a wrong argument, LabError where data are not here or the store cannot be written.

    >>> search("memorize", scale="smoke", progress=False).spline
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
            task, model, replace, by, seed=seed, device=device, store=store, progress=progress, keep=keep, **settings
        )
    store, spec = as_store(store), searched(task, scale, learn, check_whole("seed", seed, 0, MOST_SEED), by)
    complete([spec], store, device, progress, keep=keep)
    return EpisodeResult(spec, store) if isinstance(spec, EpisodeSpec) else SearchResult(spec, store)


def _hinted(call: Callable[P, T]) -> Callable[P, T]:
    """The same function, which knows what its arguments are called elsewhere."""

    @functools.wraps(call)
    def hinting(*args: P.args, **given: P.kwargs) -> T:
        check_keywords(call, given)
        return call(*args, **given)

    return hinting


@_hinted
def train(
    task: str | Task | Logic | Sraven | TableTask | Text | Data | None = None,
    mlp: Function | None = None,
    attention: Function = "softmax",
    seeds: int | None = None,
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
    like: Run | None = None,
    phi: Function | None = None,
    trajectory: int | None = None,
    keep: int | None = None,
) -> Runs:
    """Train models for a task from scratch, one run for each seed. Runs that the store has are read, not repeated.

    task: as for `search`, or a `Logic` or a `Sraven`. On a `lab.Data`, models train on its `train` and `search`.
    mlp: the non-linearity: a name ("gelu", "xielu", … of docs/functions.md; one that learns has its own parameters in
        each run, shared by all layers), for a task with tokens a gate ("swiglu", "geglu"), one in the zoo
        ("transformers/memorize"), a frozen `Spline`, a polynomial of one (`phi.chebyshev(18)`), what `search` gives; or
        a module without weights or a function of a tensor, such as torch.sin: without a name of the lab it becomes
        `Spline.from_function(torch.sin)`. Default: GELU; for a table ReLU.
    attention: "softmax", or a function as for mlp; for a `Logic` or a `Sraven` a name of `lab.models.hyper`; a table
        has none.
    steps: of training. Up to the task's own number it stops early, on the same schedule; beyond, the schedule is as
        long as that. width: of the residual stream, or of hidden layers. layers, rate (the peak, above 0), batch: in
        place of the task's own. optimizer: "sgd", "rmsprop", "adam", "muon", "grokfast" or
        "perpgrad", for tables only.
    seeds: how many runs, 6 unless it is said. scale, device: as for `search`.
    like: a run, in the place of a task: the same data, model and settings, with phi in the place of its function, and
        what else is given; the same seed, unless seeds is. A `lab.LabWarning` says where it was trained by another
        revision of the lab's arithmetic.
    trajectory: for tables, remember the weights every so many steps, as `run.trajectory`.
    keep: keep so many checkpoints of each run, 2 to 1000, after steps on a logarithmic scale from 0 to the last (fewer
        where steps are few): `run.checkpoints` are the steps, `run.model(step)` the models, `run.trajectory` all
        weights; explorers of the run have a slider over them. They lie beside the run, whose key is the same, and take
        `keep` × 4 bytes a weight: 20 of a transformer with 50,000 weights 4 MB, of one with a million 80 MB; while it
        trains, as much memory. A run that is there without them is trained again, as one line says.

    Returns `Runs`: `.accuracy` (runs, evaluations), 0 to 1, at `.steps`; `.table`, a data frame. Raises ArgumentError
    and LabError as `search`.

    >>> runs = train("memorize", mlp="relu", seeds=2, scale="smoke", progress=False)
    >>> runs.accuracy.shape == (2, len(runs.steps))
    True
    >>> train(Sraven(features=1), attention="hyla", seeds=1, scale="smoke", progress=False)[0].spec.task_name
    'sraven'
    >>> train("ab mod 5", seeds=2, scale="smoke", progress=False).accuracy.shape
    (2, 3)
    >>> train("memorize", seeds=1, scale="smoke", progress=False, keep=4)[0].checkpoints.tolist()
    [0, 1, 3, 6]
    >>> sorted(train("moby_dick", seeds=1, scale="smoke", progress=False).scores)
    ['accuracy_test', 'bits_test', 'loss_test']
    """
    if like is None:
        if phi is not None:
            raise KeywordError(f"phi={shown(phi)}: lab.train has mlp=; give mlp={shown(phi)}; phi= goes with like=")
        specs = planned(task, mlp, attention, 6 if seeds is None else seeds, scale, width, layers)
    elif task is None and mlp is None and attention == "softmax":
        specs = alike(like, phi, seeds, width, layers)
    else:
        raise ArgumentError("like= has the run's own task and model; give phi=, to take the place of its function")
    store, recipe = as_store(store), recipe_of(specs[0].recipe, steps, rate, batch, optimizer, trajectory)
    specs = [dataclasses.replace(spec, recipe=recipe) for spec in specs]
    complete(specs, store, device, progress, keep=keep)
    runs = [Run(spec, store) for spec in specs]
    if like is not None:  # which may have come with the lab
        warn_of_revisions([like, *runs])
    return Runs(runs)


def fit(model: nn.Module, like: Run, seed: int = 0) -> pd.DataFrame:
    """Train a decoder from elsewhere, a Hugging Face GPT-2 or a module of your own, as a run on an algorithmic task was
    trained: on its data, with its recipe.

    model: tokens (batch, length) int64 → logits (batch, length, vocabulary), or an object that has them as `logits`;
        causal. It is trained where it is. seed: of the order of examples.

    One row an evaluation: seed, step, loss (nats a token, on `test`), accuracy (0 to 1), diverged; `lab.plot` draws
    tables of these with a column `method`. Raises ArgumentError for a run on another kind of task.

    >>> run = train("memorize", seeds=1, scale="smoke", progress=False)[0]
    >>> size = len(load("memorize").vocabulary)
    >>> fit(nn.Embedding(size, size), run)["step"].tolist()  # guesses the next token from the last one alone
    [2, 4, 6]
    """
    if not isinstance(like, Run) or not isinstance(like.spec.task, (str, OwnTask)):
        expected = "give a run on an algorithmic task, as lab.train('memorize', seeds=1)[0]"
        raise ArgumentError(f"like={shown(like)}: {expected}")
    name, recipe = like.spec.task, like.spec.recipe
    task = load(name, like.spec.task_seed) if isinstance(name, str) else object_of(name)
    return live.fit(model, task, recipe, seed)


def trained(
    task: str = "sraven",
    method: str = "softmax",
    seed: int = 0,
    scale: str = BEST,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
) -> Run:
    """One run of the hypernetwork paper's figures, for looking into it: from the store, else as shipped with the lab
    (data/runs), else trained now.

    task: "sraven", or "logic" as in the figures on its latent codes. method: "softmax", "linear", "hyla", or another of
    `lab.models.hyper`. scale: "best" is the largest at which the run is here, else laptop. device: as for `search`.
    Raises ArgumentError for a wrong argument.

    >>> run = trained("logic", "hyla", scale="smoke", progress=False)
    >>> run.spec.task.length, run.spec.model.network, sorted(run.scores)[:2]
    (16, 'pair', ['mse_ood', 'mse_test'])
    """
    if not isinstance(task, str) or task not in ("sraven", "logic"):
        raise ArgumentError(f"task={shown(task)}: give sraven or logic; for any other task there is `lab.train`")
    seed, store = check_whole("seed", seed, 0, MOST_SEED), as_store(store, shipped=SHIPPED)
    (paper,) = papers_with("run_of_codes")
    specs = [dataclasses.replace(paper.run_of_codes(task, method, each), seed=seed) for each in largest_first(scale)]
    spec = next((spec for spec in specs if store.has(spec)), specs[-1])
    complete([spec], store, device, progress)
    return Run(spec, store)
