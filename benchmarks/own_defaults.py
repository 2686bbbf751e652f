"""The defaults of `lab.search` in models of one's own: where a function begins, and how fast its knots learn.

    python benchmarks/own_defaults.py                               # prints; about ten minutes of one CPU core
    python benchmarks/own_defaults.py --write benchmarks/README.md  # and puts the table into its place there

Three data sets that scikit-learn brings along, a perceptron with two hidden layers on each. Every start and
rate gets `SEARCHES` searches; with each function found, models are trained from scratch and measured on `val`. Nothing
looks at the split `test`. The learning rate of the weights is GELU's best on `val`, for all alike. With --store what is
trained is kept, and a killed run goes on where it was.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import torch
from report import heading, machine, publish, table_parser
from sklearn import datasets
from sklearn.preprocessing import StandardScaler
from torch import nn

from lab.data import Data
from lab.own.search import known, recipe_of, task
from lab.run import Run, complete
from lab.spec import UNCHANGED, Learned, ModuleSearch, Part, RunSpec, replace
from lab.statistics import half_width
from lab.store import Store

SPLITS = {"search": 0.2, "val": 0.3, "test": 0.1}
STARTS = ("zero", "identity", "relu", "gelu")
KNOT_RATES = (0.0005, 0.001, 0.002, 0.005, 0.02)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
SEARCHES, MODELS, SEEDS = 3, 4, 4
STEPS, BATCH, WIDTH = 400, 64, 32
FIRST_SEED = 500_000  # of the models that measure a function; searches have seeds from 0


def tables() -> list[Data]:
    """Two of classes and one of values, with columns of mean 0 and standard deviation 1."""
    data_sets = []
    sets = {
        name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in ("digits", "breast_cancer", "diabetes")
    }
    for name, (X, y) in sets.items():
        y = ((y - y.mean()) / y.std()).astype(np.float32) if y.dtype.kind == "f" else y
        data_sets.append(Data.from_arrays(StandardScaler().fit_transform(X), y, name, SPLITS))
    return data_sets


def maker_of(data: Data) -> Callable[[int], nn.Module]:
    """A perceptron with two hidden layers."""
    inputs, outputs = data.inputs.shape[1], len(data.classes) or 1

    def make(seed: int) -> nn.Module:
        return nn.Sequential(
            nn.Linear(inputs, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, outputs)
        )

    return make


def scores(runs: Sequence[RunSpec], metric: str, store: Store) -> np.ndarray:
    """(runs, 2): in percent on `val`, at the end and as a mean over training; 0 where a run diverged."""
    read = [Run(run, store) for run in runs]
    pairs = [(0.0, 0.0) if r.diverged else (r.score(metric, "val")[-1], r.score(metric, "val").mean()) for r in read]
    return 100 * np.array(pairs)


def measure(data: Data, store: Store) -> tuple[float, dict[tuple[str, float], np.ndarray]]:
    """The rate of the weights; by start and knot rate what each search's function gains over GELU, (searches, 2)."""
    _, model = known(data, maker_of(data), nn.GELU, "perceptron", None)
    given, metric = task(data), next(iter(data.metrics))

    def runs(part: Part, rate: float, first: int) -> list[RunSpec]:
        recipe = recipe_of(STEPS, rate, batch=BATCH)
        return [RunSpec(given, replace(model, phi=part), recipe, first + s, ("val",)) for s in range(SEEDS)]

    def trained(specs: list) -> None:
        complete(specs, store, "cpu", sys.stderr.isatty(), workers=1)

    trained([run for rate in RATES for run in runs(UNCHANGED, rate, 2 * FIRST_SEED)])
    best = max(RATES, key=lambda rate: scores(runs(UNCHANGED, rate, 2 * FIRST_SEED), metric, store)[:, 0].mean())
    searches = {
        (start, knot_rate): [
            ModuleSearch(given, model, recipe_of(STEPS, best, batch=BATCH), MODELS, -8.0, 8.0, 161, knot_rate, start, s)
            for s in range(SEARCHES)
        ]
        for start in STARTS
        for knot_rate in KNOT_RATES
    }
    trained([search for several in searches.values() for search in several])
    parts = {key: [Learned(search, "phi") for search in several] for key, several in searches.items()}
    base = runs(UNCHANGED, best, FIRST_SEED)
    trained(base + [run for several in parts.values() for part in several for run in runs(part, best, FIRST_SEED)])
    level = scores(base, metric, store).mean(0)
    return best, {
        key: np.array([scores(runs(part, best, FIRST_SEED), metric, store).mean(0) - level for part in several])
        for key, several in parts.items()
    }


def table(results: dict[str, tuple[float, dict[tuple[str, float], np.ndarray]]]) -> str:
    """The table as Markdown."""
    rates = ", ".join(f"{name} {rate:g}" for name, (rate, _) in results.items())
    lines = [
        f"{machine()}, one thread. {date.today():%d %B %Y}, torch {torch.__version__}.",
        "",
        f"Points on `val` above GELU, mean of {SEARCHES} searches with {SEEDS} models each, ± the half-width of a 95 % "
        "interval over the searches of all data sets: accuracy (digits, breast_cancer) or R² (diabetes) at "
        f"the end of {STEPS} steps, and as a mean over training. Rates of the weights, GELU's best on `val`: {rates}.",
        "",
        *heading(["start", "knot rate", *results, "all, at the end", "all, over training"]),
    ]
    for start, knot_rate in next(iter(results.values()))[1]:
        each = [gains[start, knot_rate] for _, gains in results.values()]
        ends = " | ".join(f"{gains[:, 0].mean():+.1f}" for gains in each)
        joined = np.concatenate(each)
        whole = " | ".join(f"{values.mean():+.2f} ± {half_width(values):.2f}" for values in joined.T)
        lines.append(f"| {start} | {knot_rate:g} | {ends} | {whole} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = table_parser(__doc__)
    parser.add_argument("--store", type=Path, help="folder that keeps what is trained")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(asked.store or folder)
        publish(table({data.name: measure(data, store) for data in tables()}), asked.write, "own_defaults")


if __name__ == "__main__":
    main()
