"""What training gives back: one run, several runs, a search; and `train` and `search`, which make them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor, nn

from lab import engine, tasks
from lab.errors import ArgumentError, check_whole
from lab.nonlinearity.part import as_part
from lab.nonlinearity.spline import Spline
from lab.papers.hypernetwork.settings import READ_HELD_OUT, logic, of_task, read_length, sraven
from lab.papers.simplicity.defaults import of_table
from lab.papers.transformers.settings import setting
from lab.scale import check_scale
from lab.spec import EpisodeSpec, Part, RunSpec, SearchSpec, TwoLossSpec, key, replace, to_json
from lab.store import SHIPPED, Store
from lab.tasks import Logic, Sraven, TableTask
from lab.tasks.named import HELP, table_named
from lab.training.fleet import build, model_of

PARTS = ("mlp", "attention")  # where a non-linearity can be learned


@dataclass(frozen=True, eq=False)
class Stored:
    """What the store keeps of a spec, read when asked."""

    spec: engine.Spec
    store: Store

    @property
    def provenance(self) -> dict:
        """Key, spec, device, wall time."""
        return {"key": key(self.spec), "spec": json.loads(to_json(self.spec))} | self._stored[2]

    @cached_property
    def _stored(self) -> tuple[dict[str, np.ndarray], dict[str, Tensor], dict]:
        return self.store.load(self.spec)


@dataclass(frozen=True, eq=False)
class Run(Stored):
    """One trained model, read from the store when asked."""

    spec: RunSpec

    @property
    def key(self) -> str:
        """The name of the run in the store."""
        return key(self.spec)

    @property
    def steps(self) -> np.ndarray:
        """Steps at which it was evaluated, (T,)."""
        return self._stored[0]["steps"]

    @property
    def loss(self) -> np.ndarray:
        """Mean training loss since the evaluation before, in nats, (T,)."""
        return self._stored[0]["loss"]

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Everything that was measured at these steps, each (T,), by <score>_<split>: "accuracy_test", "r2_ood", …"""
        return {name: values for name, values in self._stored[0].items() if name not in ("steps", "loss")}

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy on the first evaluated split (`test`, unless asked otherwise), 0 to 1, (T,)."""
        return self.accuracy_on(self.spec.evaluate[0])

    def accuracy_on(self, split: str) -> np.ndarray:
        """Accuracy on a split that was followed during training, (T,)."""
        return self.score("accuracy", split)

    def score(self, name: str, split: str) -> np.ndarray:
        """A score ("accuracy", "r2", …) on a split that was followed during training, (T,)."""
        if split not in self.spec.evaluate:
            raise ArgumentError(f"split {split!r} was not evaluated during training; there are: {self.spec.evaluate}")
        if f"{name}_{split}" not in self.scores:
            known = ", ".join(self.scores)
            raise ArgumentError(f"{self.spec.task_name} is not measured by {name!r}; there are: {known}")
        return self.scores[f"{name}_{split}"]

    @property
    def diverged(self) -> tuple[int, float] | None:
        """Step and value of the first loss that was not finite, or None."""
        found = self._stored[2]["diverged"]
        return None if found is None else (found[0], float(found[1]))

    @property
    def notes(self) -> dict:
        """Device, wall time in seconds and size of the fleet it was trained in."""
        return self._stored[2]

    def model(self) -> nn.Module:
        """The trained model, with a run axis of length 1."""
        modules = [build([engine.resolve(part, self.store)]) for part in self.spec.model.parts.values()]
        model = model_of([self.spec], modules)
        weights = {name: weight for name, weight in self._stored[1].items() if name != "trajectory"}
        missing, unexpected = model.load_state_dict(weights, strict=False)
        if unexpected or any("phi" not in name.split(".") for name in missing):
            raise ValueError(
                f"run {self.key}: its weights do not fit its spec (missing {missing}, unexpected {unexpected})"
            )
        return model.requires_grad_(False)

    @property
    def trajectory(self) -> tuple[np.ndarray, np.ndarray]:
        """Steps (S,), and the weights after them, flat, in the order of `model().parameters()` without knots, (S, P).

        Those of training itself: what is evaluated and kept is a mean over its last steps.
        """
        if (path := self._stored[1].get("trajectory")) is None:
            raise ArgumentError("this run's weights were not remembered on its way; set trajectory= in its Descent")
        return np.arange(len(path)) * self.spec.recipe.trajectory, path.numpy()


class Runs(Sequence[Run]):
    """Runs of one task and shape, one a seed."""

    def __init__(self, runs: Sequence[Run]):
        self._runs = list(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: int) -> Run:
        return self._runs[index]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def steps(self) -> np.ndarray:
        """Steps of evaluation, (T,)."""
        return self[0].steps

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy by run and step, (R, T), 0 to 1."""
        return np.stack([run.accuracy for run in self])

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Every score by run and step, (R, T), by <score>_<split>."""
        return {name: np.stack([run.scores[name] for run in self]) for name in self[0].scores}


@dataclass(frozen=True, eq=False)
class SearchResult(Stored):
    """What a search by two losses found: stage I, or on a table."""

    spec: SearchSpec | TwoLossSpec

    @property
    def spline(self) -> Spline:
        """The learned function for the MLP, frozen; for the attention where only that was searched for."""
        return self.splines.get("mlp") or next(iter(self.splines.values()))

    @cached_property
    def splines(self) -> dict[str, Spline]:
        """The learned functions by part: "mlp", "attention"; of perceptrons "phi", or "phi0", "phi1", …; "inputs"."""
        found = self._stored[1]  # a file has no order
        parts = sorted(found, key=lambda part: (part != "mlp", part))
        return {part: Spline(found[part], self.spec.low, self.spec.high) for part in parts}

    @property
    def functions(self) -> dict[str, Spline]:
        """As `splines`: what every kind of search has."""
        return self.splines

    @property
    def history(self) -> dict[str, np.ndarray]:
        """search_loss (steps,): mean over models of the loss on `search`; loss (T, M): on `train`, at steps (T,)."""
        return self._stored[0]


@dataclass(frozen=True, eq=False)
class EpisodeResult(Stored):
    """What a search by episodes found."""

    spec: EpisodeSpec

    @property
    def winner(self) -> int:
        """The restart whose function did best when models were trained with it from scratch."""
        return self._stored[2]["winner"]

    @property
    def spline(self) -> Spline:
        """The winner's function; of several (layers, input dimensions) the first."""
        return next(iter(self.splines().values()))

    @property
    def functions(self) -> dict[str, Spline]:
        """The winner's functions by name: what every kind of search has."""
        return self.splines()

    def splines(self, restart: int | None = None) -> dict[str, Spline]:
        """Functions of a restart, or of the winner, by their names in `Perceptron.parts`; "inputs" has one a row."""
        end = f"@{self.winner if restart is None else restart}"
        found = {n.removesuffix(end): values for n, values in self._stored[1].items() if n.endswith(end)}
        return {name: Spline(found[name], self.spec.low, self.spec.high) for name in sorted(found)}

    @property
    def results(self) -> np.ndarray:
        """Accuracy and loss on the watched split of the models that decided, (restarts, models, 2)."""
        return self._stored[0]["results"]

    @property
    def history(self) -> dict[str, np.ndarray]:
        """By episode and restart: see `lab.training.episodes.Episodes.arrays`."""
        return self._stored[0]


def search(task: str | TableTask, scale: str = "laptop", learn: str | Sequence[str] | None = None, seed: int = 0,
           device: str = "auto", store: Store | None = None, progress: bool = True, by: str | None = None
           ) -> SearchResult | EpisodeResult:  # fmt: skip
    """Learn a non-linearity for a task, or read it from the store.

    task: an algorithmic one by name; or a table, as a task of `lab.tasks` or by its name ("ab mod 27", "mnist_sample as
    numbers", "bank-marketing"). learn: of an algorithmic task "mlp" (default) or "attention" or both; of a table one
    function for all layers ("shared", default), one a layer ("layers"), or one an input ("inputs"). by: "two_loss"
    (Algorithm 1 of the transformers paper), the only one for algorithmic tasks, or "episodes" (Algorithm 1 of the
    simplicity paper), the default for tables.

    >>> found = search("memorize", scale="smoke", progress=False)
    >>> found.spline
    Spline((361,) knots on [-20, 20])
    >>> search("ab mod 5", scale="smoke", progress=False).spline
    Spline((21,) knots on [-2, 2])
    """
    store, seed = store or Store(), check_whole("seed", seed, 0)
    table = _table(task)
    if table is None:
        if by not in (None, "two_loss"):
            raise ArgumentError(f"by={by!r}: {task} is searched by two_loss; episodes are for tables")
        spec = replace(setting(task, scale).search(_parts(("mlp",) if learn is None else learn)), seed=seed)
    else:
        learn = "shared" if learn is None else learn if isinstance(learn, str) else " + ".join(learn)
        spec = of_table(table, check_scale(scale)).search(learn, seed, by or "episodes")
    complete([spec], store, device, progress)
    return EpisodeResult(spec, store) if isinstance(spec, EpisodeSpec) else SearchResult(spec, store)


def train(
    task: str | Logic | Sraven | TableTask,
    mlp: nn.Module | Part | None = None,
    attention: nn.Module | Part = "softmax",
    seeds: int = 6,
    scale: str = "laptop",
    steps: int | None = None,
    width: int | None = None,
    device: str = "auto",
    store: Store | None = None,
    progress: bool = True,
) -> Runs:
    """Train a task's model from scratch (stage II, or a baseline), one run a seed, or read the runs from the store.

    task: as for `search`, or a `Logic` or a `Sraven`. mlp: a name ("gelu", "identity", …; None: GELU, on a table ReLU),
    a `Spline`, or a polynomial of one (`phi.chebyshev(18)`). steps: stop after so many. width: of the residual stream,
    or of hidden layers. On a `Logic` or a `Sraven`, attention is a name of `lab.models.methods`; a table has none.

    >>> runs = train("memorize", mlp="relu", seeds=2, scale="smoke", progress=False)
    >>> runs.accuracy.shape == (2, len(runs.steps))
    True
    >>> train(Sraven(features=1), attention="hyla", seeds=1, scale="smoke", progress=False)[0].spec.task_name
    'sraven'
    >>> train("ab mod 5", seeds=2, scale="smoke", progress=False).accuracy.shape
    (2, 3)
    """
    table = None if isinstance(task, (Logic, Sraven)) else _table(task)
    mlp, changes = as_part(mlp or ("gelu" if table is None else "relu")), {}
    if mlp == "softmax":
        raise ArgumentError("mlp='softmax': softmax is an attention; name a non-linearity such as 'gelu'")
    if width is not None:
        changes["width"] = check_whole("width", width)
    check_whole("seeds", seeds)
    if isinstance(task, (Logic, Sraven)):
        runs = of_task(task, scale, attention).runs(seeds)
        specs = [replace(run, model=replace(run.model, mlp=mlp, **changes)) for run in runs]
    elif table is not None:
        if attention != "softmax":
            raise ArgumentError(f"attention={attention!r}: the models of a table have none; leave it out")
        runs = of_table(table, check_scale(scale)).runs(seeds)
        specs = [replace(run, model=replace(run.model, phi=mlp, **changes)) for run in runs]
    else:
        specs = setting(task, scale).runs(seeds, mlp=mlp, attention=as_part(attention), **changes)
    if steps is not None:
        specs = [replace(spec, recipe=replace(spec.recipe, stop=check_whole("steps", steps))) for spec in specs]
    store = store or Store()
    complete(specs, store, device, progress)
    return Runs([Run(spec, store) for spec in specs])


def trained(task: str = "sraven", method: str = "softmax", seed: int = 0, scale: str = "laptop", device: str = "auto",
            store: Store | None = None, progress: bool = True) -> Run:  # fmt: skip
    """One run of the hypernetwork paper's figures, for looking into it: from the store, or as it came with the lab
    (data/runs), or else trained now.

    task: "sraven", or "logic" as where its latent codes are looked at. method: "softmax", "linear", "hyla", or another
    of `lab.models.methods`.

    >>> run = trained("logic", "hyla", scale="smoke", progress=False)
    >>> run.spec.task.length, run.spec.model.network, sorted(run.scores)[:2]
    (16, 'pair', ['mse_ood', 'mse_test'])
    """
    if task not in ("sraven", "logic"):
        raise ArgumentError(f"task={task!r}: give sraven or logic; for any other task there is `lab.train`")
    if task == "sraven":
        found = sraven(scale, method)
    else:
        found = logic(scale, method, read_length(check_scale(scale)), READ_HELD_OUT)
    spec, store = replace(found.runs(1)[0], seed=check_whole("seed", seed, 0)), store or Store(shipped=SHIPPED)
    complete([spec], store, device, progress)
    return Run(spec, store)


def complete(specs: Sequence[engine.Spec], store: Store, device: str = "auto", progress: bool = True,
             workers: int | None = None) -> None:  # fmt: skip
    """`engine.complete` with a progress bar in training steps."""
    engine.choose_device(device)  # before there is a bar
    if not progress:  # and no need of what draws it
        engine.complete(specs, store, device, workers)
        return
    from tqdm.auto import tqdm

    with tqdm(total=0, unit="step", unit_scale=True, leave=False, dynamic_ncols=True, delay=0.3) as bar:

        def report(done: int, total: int, what: str) -> None:
            bar.total, bar.desc = total, what
            bar.update(done - bar.n)

        engine.complete(specs, store, device, workers, report)


def _parts(learn: Sequence[str]) -> tuple[str, ...]:
    """What to search for, in the order of figures' own searches: one search has one name."""
    learn = (learn,) if isinstance(learn, str) else tuple(learn)
    if not learn or not set(learn) <= set(PARTS):
        raise ArgumentError(f"learn={learn!r}: name what to search for, mlp or attention or both")
    return tuple(part for part in PARTS if part in learn)


def _table(task: str | TableTask) -> TableTask | None:
    """The table that is meant, None for an algorithmic task."""
    if not isinstance(task, str):
        return task
    table = None if task in tasks.NAMES else table_named(task)
    if task not in tasks.NAMES and table is None:
        raise ArgumentError(f"unknown task {task!r}; known: {', '.join(tasks.NAMES)}; or {HELP}")
    return table
