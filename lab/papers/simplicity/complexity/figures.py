"""Appendix F of the simplicity paper: how its measure of complexity is taken, and how it compares with another one.

Figure 30 shows paths that models are followed on, Figure 29 the total variation and the Fourier complexity of many
models. Both have perceptrons with tanh(αx); those of Figure 30 are among those of Figure 29.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from lab.correlations import rank_correlation
from lab.papers.claims import Claim, Verdict, on_every_reading
from lab.papers.entry import Entry, Planned
from lab.papers.simplicity.complexity import plots
from lab.papers.simplicity.complexity.settings import FEW, LAYERS, PREFACTORS, SEEDS, TABLES, origin, tanh
from lab.probes import fourier_complexity, total_variation
from lab.probes.calling import Model, function_of, values
from lab.probes.complexity import variations
from lab.probes.paths import draw
from lab.run import Run
from lab.scale import COMMON, SCALES
from lab.tasks.table import TableSplit

if TYPE_CHECKING:
    import pandas as pd

PATHS, SAMPLES, SEED = 200, 100, 0  # App. F; the seed of the paths, the same for all models
SHOWN = 6  # the first of the paths
DEPTH = 2  # hidden layers of the models that are followed on them
CLOSE = 0.9  # rank correlation from which on we call it a very close one; chosen before any was measured
PROBABILITY, LOGIT = "probability", "before the softmax"


def many(scale: str, seeds: int) -> list[Planned]:
    """Every prefactor with every number of layers."""
    prefactors = FEW if scale == "smoke" else PREFACTORS
    return [
        ({"prefactor": prefactor, "layers": layers}, tanh(scale, prefactor, layers, seed))
        for layers in LAYERS[scale]
        for prefactor in prefactors
        for seed in range(seeds)
    ]


def few(scale: str, seeds: int) -> list[Planned]:
    """Three prefactors."""
    return [
        ({"prefactor": prefactor}, tanh(scale, prefactor, DEPTH, seed)) for prefactor in FEW for seed in range(seeds)
    ]


def measured(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """Both measures of each run, of its outputs before the softmax and of its probabilities: prefactor, layers, seed,
    output, tv (in units of the output), tv_low, tv_high, fourier (cycles a path), fourier_low, fourier_high, accuracy
    (on `test`, 0 to 1, NaN for a run that diverged), diverged."""
    import pandas as pd

    rows = []
    for labels, run in runs:
        about = labels | {"seed": run.spec.seed, "accuracy": _accuracy(run), "diverged": run.diverged is not None}
        table = run.spec.task.split(run.spec.task_seed)["train"]
        asked = {"points": table.inputs, "labels": table.targets, "paths": PATHS, "samples": SAMPLES, "seed": SEED}
        for output, f in _outputs(run).items():
            row: dict[str, object] = {"output": output}
            for name, measure in (("tv", total_variation), ("fourier", fourier_complexity)):
                one = measure(f, **asked)
                row |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
            rows.append(about | row)
    return pd.DataFrame(rows)


def followed(runs: Sequence[tuple[dict, Run]]) -> pd.DataFrame:
    """Models on the first paths: prefactor, seed, path, along (0 to 1), value (probability of class 1), truth (class
    ids at the ends, the straight line between them elsewhere), distance (to the nearest training point, in input space,
    where each column covers [-1, 1]), tv (total variation of that path)."""
    import pandas as pd

    parts = []
    for labels, run in runs:
        table = run.spec.task.split(run.spec.task_seed)["train"]
        points, truth = path_points(table)
        course = values(_outputs(run)[PROBABILITY], points, table.inputs)[:, 1]
        number = np.arange(SHOWN).repeat(SAMPLES)
        parts.append(
            pd.DataFrame(
                labels
                | {
                    "seed": run.spec.seed,
                    "path": number,
                    "along": np.tile(np.linspace(0, 1, SAMPLES), SHOWN).round(5),
                    "value": course.astype(float).round(5),
                    "truth": truth.round(5),
                    "distance": nearest(points, table.inputs.double().numpy()).round(5),
                    "tv": variations(course.reshape(SHOWN, SAMPLES))[number].round(5),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def path_points(table: TableSplit) -> tuple[np.ndarray, np.ndarray]:
    """Points of the first paths on which complexity is measured, (SHOWN · SAMPLES, D), and the straight line from the
    class of a path's start to that of its end, (SHOWN · SAMPLES,)."""
    # the class travels along as one more column: paths are drawn by the labels, whatever the points are
    both = np.column_stack([table.inputs.double().numpy(), table.targets.numpy()])
    way = draw(both, table.targets, PATHS, SAMPLES, SEED)[0].points(slice(0, SHOWN))
    return way[:, :-1], way[:, -1]


def nearest(points: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Euclidean distance of each point (P, D) from the nearest one of the data (N, D), (P,).

    >>> nearest(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 3.0]])).tolist()
    [1.0]
    """
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=1).fit(data).kneighbors(points)[0][:, 0]


def _outputs(run: Run) -> dict[str, Model]:
    """What a run's model answers, (N, D) → (N, 2)."""
    logits = function_of(run.model())

    def probabilities(x: Tensor) -> Tensor:
        return logits(x).softmax(-1)

    return {PROBABILITY: probabilities, LOGIT: logits}


def _accuracy(run: Run) -> float:
    """On test rows, with the weights that were kept."""
    if run.diverged is not None:
        return float("nan")
    return float(run.accuracy_on("test")[run.steps == run.notes["kept"]].item())


def correlation(table: pd.DataFrame) -> float:
    """Spearman's rank correlation of the two measures over the models of a table, NaN for fewer than 3 different ones.

    >>> import pandas as pd
    >>> round(correlation(pd.DataFrame({"tv": [1, 2, 5], "fourier": [0.1, 0.2, 0.3]})), 9)
    1.0
    """
    return float(table["tv"].corr(table["fourier"], method="spearman"))


def _correlated(table: pd.DataFrame) -> Verdict:
    """Rank correlation over models (prefactors and layers, each the mean of its seeds). The paper does not say of which
    output."""
    table = table[~table["diverged"].astype(bool)]
    verdicts = []
    for output, rows in table.groupby("output", sort=False):
        means = rows.groupby(["prefactor", "layers"])[["tv", "fourier"]].mean()
        verdicts.append(Verdict(rank_correlation(means["tv"], means["fourier"], "models"), above=CLOSE, case=output))
    return on_every_reading({f"of {_called(one.case)}": replace(one, case="") for one in verdicts})


def other_table(table: pd.DataFrame, scale: str) -> str:
    """The table that models are trained on, where it is not the paper's."""
    ours, theirs = TABLES[scale], TABLES["paper"]
    return "" if ours == theirs else f"{ours} in place of {theirs}"


def _correlation_summary(table: pd.DataFrame) -> str:
    text = ", ".join(
        f"{correlation(rows):.2f} for the {_called(output)}" for output, rows in table.groupby("output", sort=False)
    )
    models = len(table.drop_duplicates(["prefactor", "layers", "seed"]))
    return f"Spearman correlation of the two measures over {models} models: {text}."


def _called(output: str) -> str:
    return "probabilities" if output == PROBABILITY else "outputs before the softmax"


def _paths_summary(table: pd.DataFrame) -> str:
    means = table.drop_duplicates(["prefactor", "seed", "path"]).groupby("prefactor")["tv"].mean()
    text = ", ".join(f"{value:.2f} with α = {prefactor:g}" for prefactor, value in means.items())
    return f"Total variation of the probability, mean of these {table['path'].nunique()} paths: {text}."


_HOW = f"{PATHS} straight paths of {SAMPLES} points between training examples of different classes"


def _many_notes(scale: str) -> list[str]:
    return [
        "the paper does not say which Fourier-based measure of prior work it has, nor whether outputs are taken"
        " before or after the softmax: here the mean frequency, weighted by amplitude, and both"
    ]


def _few_notes(scale: str) -> list[str]:
    return [
        "three models on the same paths (paper: one, which it does not name); probabilities, which lie in [0, 1]"
        " (paper: outputs, capped to it)"
    ]


CORRELATED = (
    Claim(
        "correlated",
        "TV and a Fourier-based measure are very closely correlated (by rank: over .9)",
        _correlated,
        decides="to know the paper's Fourier measure and output",
        stands_in=other_table,
    ),
)
_ONE = dict.fromkeys(SCALES, 1)
_TASKS = tuple(dict.fromkeys(TABLES.values()))
ENTRIES = (
    Entry(
        "simplicity/fig29",
        "F",
        "Total variation against Fourier complexity",
        f"Two measures of the complexity of a model's function, on the same {_HOW}; one mark a model, tanh(αx) networks"
        " that differ in α, number of layers and seed",
        "very closely correlated; the total variation tells small values apart as well as large ones",
        plan=many,
        measure=measured,
        plot=plots.fig29,
        tasks=_TASKS,
        origin=origin(LAYERS),
        seeds=SEEDS,
        summary=_correlation_summary,
        notes=_many_notes,
        claims=CORRELATED,
        minutes={"smoke": 0.2, "laptop": 4, "paper": 5},
    ),
    Entry(
        "simplicity/fig30",
        "F",
        "Paths that the total variation is measured on",
        f"What three tanh(αx) networks answer on the first {SHOWN} of {_HOW}; total variation adds up a"
        " line's ups and downs, once the straight line between its ends is taken away",
        "a model need not pass through the classes at the ends",
        plan=few,
        measure=followed,
        plot=plots.fig30,
        tasks=_TASKS,
        origin=origin(dict.fromkeys(COMMON, (DEPTH,)), named=False),
        seeds=_ONE,
        summary=_paths_summary,
        notes=_few_notes,
        minutes={"smoke": 0.1, "laptop": 1, "paper": 1},
    ),
)
