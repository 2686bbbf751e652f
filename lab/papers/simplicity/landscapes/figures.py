"""Figures 7 and 24 of the simplicity paper: models of a table looked at one by one, in weight space and in input space.

Networks remember their weights on the way. What is drawn is of the first seed; what is claimed is measured of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.landscapes import claims, plots
from lab.papers.simplicity.tables.figures import BASELINES, baseline, chosen, kept
from lab.papers.simplicity.tables.settings import (
    IAFS,
    LEARNED,
    NETWORKS,
    PREFACTORS,
    SEEDS,
    START,
    STARTS,
    TANH,
    TRIES,
    OnTables,
    network,
    tables,
)
from lab.probes import Loss, Variation, landscape
from lab.probes.calling import Model
from lab.probes.slices import alignment, slice_2d
from lab.probes.weights import Double
from lab.resolve import resolve
from lab.run import Run
from lab.spec import Knots, KnotTable, replace
from lab.tasks import Tabular

if TYPE_CHECKING:
    import pandas as pd

THEIRS = {"simplicity/fig7": "electricity", "simplicity/fig24": "electricity, MagicTelescope, covertype"}
DEPTH = 2  # hidden layers, of all networks
RADIUS = 0.5  # of the random plane, in lengths of the weights (by neuron)
CHECKPOINTS = {"smoke": 2, "laptop": 30, "paper": 50}  # on the way
AXIS, POINTS = 5.0, 101  # of the picture of a function that has no knots
SEED = 0  # of directions, paths and slices


@dataclass(frozen=True)
class Fineness:
    """How finely models are looked at. grid: of landscapes; paths, samples: of the total variation; rows: of the loss;
    slices, cells: that are drawn; planes: over which the alignment with axes is averaged."""

    grid: int
    paths: int
    samples: int
    rows: int
    slices: int
    cells: int
    planes: int


FINE = {
    "smoke": Fineness(3, 5, 10, 200, 2, 6, 2),
    "laptop": Fineness(15, 50, 50, 2_000, 3, 28, 20),
    "paper": Fineness(50, 200, 100, 10_000, 4, 60, 50),
}


class Probability(nn.Module):
    """A network with its outputs as probabilities: x (R, B, D) → (R, B, O)."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """Softmax of the network's outputs."""
        return self.model(x).softmax(-1)


def looked_at(scale: str, name: str) -> tuple[str, ...]:
    """The paper's tables of an entry, or their samples, that belong to a scale; where there is none, its last one of
    those that are not a sample."""
    found, theirs = tables(scale), THEIRS[name].split(", ")
    own = [table for table in found if table.removesuffix("_sample") in theirs]
    whole = [table for table in found if not table.endswith("_sample")]
    return tuple(own) or tuple(whole or found)[:1]


def plan(scale: str, seeds: int, names: Sequence[str]) -> list[Planned]:
    """Every network of `DEPTH` layers on each table; TanH with every prefactor, of which `val` chooses."""
    found = []
    for table in names:
        for method in NETWORKS:
            prefactors = PREFACTORS[scale] if method == TANH else (1.0,)
            for prefactor in prefactors:
                spec = network(scale, table, method, DEPTH, START if method == LEARNED else STARTS[0], prefactor)
                recipe = replace(spec.recipe, trajectory=max(1, spec.recipe.steps // CHECKPOINTS[scale]))
                labels = {
                    "table": table,
                    "method": method,
                    "start": "",
                    "layers": DEPTH,
                    "prefactor": prefactor,
                    "scale": scale,
                }
                found += [(labels, replace(spec, recipe=recipe, seed=seed)) for seed in range(seeds)]
    return found


def seven(scale: str, seeds: int) -> list[Planned]:
    """Networks of Figure 7."""
    return plan(scale, seeds, looked_at(scale, "simplicity/fig7"))


def twenty_four(scale: str, seeds: int) -> list[Planned]:
    """Networks of Figure 24."""
    return plan(scale, seeds, looked_at(scale, "simplicity/fig24"))


def measured(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """One row a number: table, method, seed, part, number, x, y, value.

    part, of every seed: "accuracy" (on `test`, 0 to 1), "course" (total variation, x: step of training), "solution"
    (that of the weights that were kept), "ambient" (its mean over the random plane), "alignment" (with axes, mean over
    planes of the input space); of the first one: "function" (number: of the input, for IAFs; else 0; x, value),
    "loss" and "complexity" (on the plane of the training, x and y), "way" (of the training in it: x, y, number: the
    checkpoint), "zoom" (complexity on the random plane), "slice" (number: which; log-odds of networks, probabilities of
    others) and "point" (the training row in it, x and y). Of the prefactors the one best on `val`. A run that diverged
    has NaN in those of every seed and nothing else. prefactor: α.
    """
    import pandas as pd

    scores = pd.DataFrame(
        [
            {name: labels[name] for name in ("table", "method", "start", "layers", "prefactor")} | kept(run)
            for labels, run in runs
        ]
    )
    rows, fine = [], FINE[runs[0][0]["scale"]]
    for (labels, run), wanted in zip(runs, chosen(scores), strict=True):
        if wanted:
            own = {"table": labels["table"], "method": labels["method"], "prefactor": labels["prefactor"]}
            own["seed"] = run.spec.seed
            rows += [own | row for row in _network(run, fine)]
    for table, scale in dict.fromkeys((labels["table"], labels["scale"]) for labels, _ in runs):
        for method, kind in BASELINES.items():
            found = baseline(table, kind, TRIES[scale])
            own = {"table": table, "method": method, "prefactor": 1.0, "seed": 0}
            rows.append(own | _row("accuracy", value=found.accuracy(found.task.split()["test"])))
            rows += [own | row for row in _inside(found.task, lambda x, f=found: f(x)[:, 1], fine, first=True)]
    return pd.DataFrame(rows)


def _row(part: str, number: int = 0, x: float = 0.0, y: float = 0.0, value: float = 0.0) -> dict:
    numbers = {"x": x, "y": y, "value": value}
    return {"part": part, "number": number} | {name: float(f"{one:.6g}") for name, one in numbers.items()}


def _network(run: Run, fine: Fineness) -> Iterator[dict]:
    """Everything about one network."""
    if run.diverged is not None:
        yield from (_row(part, value=np.nan) for part in ("accuracy", "course", "solution", "ambient", "alignment"))
        return
    first, train = run.spec.seed == 0, run.spec.task.split()["train"]
    yield _row("accuracy", value=kept(run)["accuracy"])
    model, (steps, way) = Probability(run.model()), run.trajectory
    complexity = Variation(train.inputs, train.targets, fine.paths, fine.samples, SEED)
    some = train[: fine.rows]
    loss = Loss(some.inputs, some.targets, lambda p, y: -p.gather(-1, y[..., None]).clamp_min(1e-30).log().mean((1, 2)))
    asked: dict[str, Any] = {"grid": fine.grid, "seed": SEED}
    zoom = landscape(model, {"zoom": complexity}, "random", radius=RADIUS, **asked)
    yield _row("solution", value=zoom.here["zoom"])
    yield _row("ambient", value=float(zoom.values["zoom"].mean()))
    checkpoints = Double(model).side_by_side(torch.from_numpy(way))
    yield from (_row("course", x=step, value=value) for step, value in zip(steps, complexity(checkpoints), strict=True))
    if first:
        yield from _functions(run)
        found = landscape(model, {"loss": loss, "complexity": complexity}, "pca", way, **asked)
        for name, one in {"loss": found, "complexity": found, "zoom": zoom}.items():
            yield from (
                _row(name, 0, x, y, one.values[name][j, i]) for j, y in enumerate(one.y) for i, x in enumerate(one.x)
            )
        yield from (_row("way", number, x, y) for number, (x, y) in enumerate(found.trajectory))
    network = run.model()

    def odds(x: Tensor) -> Tensor:
        outputs = network(x[None])[0]
        return outputs[:, 1] - outputs[:, 0]

    yield from _inside(run.spec.task, odds, fine, first)


def _functions(run: Run) -> Iterator[dict]:
    """The function of the hidden layers, or for IAFs those of the inputs."""
    model = run.spec.model
    found = resolve(model.phi if model.inputs is None else model.inputs, run.store)
    if isinstance(found, Knots | KnotTable):
        values, low, high = np.atleast_2d(found.values), found.low, found.high
    else:
        low, high = -AXIS, AXIS
        x = torch.linspace(low, high, POINTS)
        values = getattr(torch, found)(model.prefactor * x).numpy()[None]
    for number, one in enumerate(values):
        for x, value in zip(np.linspace(low, high, len(one)), one, strict=True):
            yield _row("function", number, x, value=value)


def _inside(task: Tabular, f: Model, fine: Fineness, first: bool) -> Iterator[dict]:
    """A function (N, D) → (N,) over planes of the input space, the same for all models of a table: through a random
    training row along two random inputs (App. E.4)."""
    inputs, rng, found = task.split()["train"].inputs, np.random.default_rng(SEED), []
    for number in range(max(fine.planes, fine.slices)):
        row, dims = int(rng.integers(len(inputs))), tuple(rng.choice(task.inputs, 2, replace=False).tolist())
        one = slice_2d(f, inputs[row], dims, fine.cells)
        found.append(alignment(one))
        if first and number < fine.slices:
            yield _row("point", number, *inputs[row, list(dims)].tolist())
            yield from (
                _row("slice", number, x, y, one.values[j, i]) for j, y in enumerate(one.y) for i, x in enumerate(one.x)
            )
    known = [value for value in found if np.isfinite(value)]
    yield _row("alignment", value=float(np.mean(known)) if known else np.nan)


def _summary(table: pd.DataFrame) -> str:
    """Complexity of the solutions and around them, and alignment, by method; mean over seeds."""
    words = []
    for name, rows in table.groupby("table", sort=False):
        here, around, along = (
            rows[rows["part"] == part].groupby("method", sort=False)["value"].mean()
            for part in ("solution", "ambient", "alignment")
        )
        told = ", ".join(f"{method} {here[method]:.2f} ({around[method]:.2f})" for method in here.index)
        axes = ", ".join(f"{method} {along[method]:.2f}" for method in along.index)
        words.append(
            f"{name}: total variation of the probabilities, in brackets its mean over the random plane,"
            f" {told}; alignment with axes (1: every change is along an input) {axes}"
        )
    return f"Mean over seeds. {'. '.join(words)}.{_identity(table)}"


def _identity(table: pd.DataFrame) -> str:
    """How far functions of the inputs are still the line that they started from."""
    own = table[(table["part"] == "function") & (table["method"] == IAFS)]
    found = [
        float(np.corrcoef(rows["x"], rows["value"])[0, 1])
        for _, rows in own.groupby(["table", "number"])
        if np.ptp(rows["value"]) > 0
    ]
    if not found:
        return ""
    median, low = f"{np.median(found):.3f}", f"{min(found):.3f}"
    return f" Functions of the inputs (IAFs) start as the identity; correlation with it: median {median}, lowest {low}."


def _notes(scale: str) -> list[str]:
    fine = FINE[scale]
    return [
        f"all networks have {DEPTH} hidden layers; α is chosen on val; hidden functions were learned from {START}",
        f"landscapes of {fine.grid} × {fine.grid} networks (paper 50 × 50), loss on {fine.rows:,} training rows,"
        f" complexity on {fine.paths} paths of {fine.samples} points (paper 200 of 100), of probabilities"
        " (paper, by its Figure 30: outputs, capped)",
        f"the random plane has directions normalized by neuron, and reaches {RADIUS:g} lengths of the weights (the"
        " paper does not say)",
        "slices of trees and k-NN are probabilities (paper: regression trees)",
    ]


def _origin(name: str) -> OnTables:
    return OnTables(partial(looked_at, name=name), THEIRS[name], without=("hidden layers",))


_PARTS = (
    "for each model its function, the loss on the plane of its training, the complexity there and on a random"
    " plane, and its answers on planes of the input space, each through a training row"
)
_SHARED: dict[str, Any] = {"measure": measured, "seeds": SEEDS, "summary": _summary, "notes": _notes}
ENTRIES = (
    Entry(
        "simplicity/fig7",
        "3.3",
        "Models of a table in weight space and in input space",
        f"One table; {_PARTS}",
        "complexity rises during training, to the highest level with input functions; around that solution it is higher"
        " still; input functions give boundaries along axes, as trees do",
        plan=seven,
        plot=plots.fig7,
        tasks=looked_at("laptop", "simplicity/fig7"),
        origin=_origin("simplicity/fig7"),
        minutes={"smoke": 0.2, "laptop": 3, "paper": 60},
        **_SHARED,
    ),
    Entry(
        "simplicity/fig24",
        "E.4",
        "Models of several tables in weight space and in input space",
        f"On each table {_PARTS}",
        "the observations are similar across data sets",
        plan=twenty_four,
        plot=plots.fig24,
        tasks=looked_at("laptop", "simplicity/fig24"),
        origin=_origin("simplicity/fig24"),
        claims=claims.FIG24,
        minutes={"smoke": 0.2, "laptop": 6, "paper": 180},
        **_SHARED,
    ),
)
